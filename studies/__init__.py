"""Studies that you can reproduce with one command: `python -m studies.NAME --out DIR`."""
