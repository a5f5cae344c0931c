"""The command line: one file per command, found by scanning this folder.

Each file is a thin layer over the API.
"""

from nikawa.cli.terminal.app import main

__all__ = ["main"]
