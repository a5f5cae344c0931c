"""Studies that anyone can make again with one command: `python -m studies.NAME --out DIR`."""
