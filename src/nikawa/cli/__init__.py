"""The command line: one file a verb, found by scanning this folder; each is a thin call of the API."""

from nikawa.cli._main import main

__all__ = ["main"]
