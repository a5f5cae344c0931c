"""Other tools, run for real: each writes the files that `tests/seams` reads.

`make interop` runs every module of this folder called `make_*.py`, then the walks of `tests/seams`.
A module installs its tool in an environment of its own (`environments.py`), runs it on items written
here, and leaves the tool's own output, cut small, in `tests/seams/data/TOOL/`, where `make test` reads it.
"""
