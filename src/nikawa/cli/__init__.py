"""The command line: one file a verb, found by scanning this folder.

Each is a thin call of the API.
"""

from nikawa.cli.terminal.app import main

__all__ = ["main"]
