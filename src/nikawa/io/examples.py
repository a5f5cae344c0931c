"""Examples to and from disk: the older name of `nikawa.io.records`."""

from __future__ import annotations

from nikawa.io.records import read_examples, write_records

__all__ = ["read_examples", "write_records"]
