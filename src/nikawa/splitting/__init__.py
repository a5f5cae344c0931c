"""Ways to split a dataset: one file a family, found by scan; each sorts examples into named parts."""

from __future__ import annotations

import sys
from functools import cache

from nikawa.registry import Registry, scan
from nikawa.splitting.base import Options, Parts, Sizes, Splitter, parse_sizes

__all__ = ["Options", "Parts", "Sizes", "Splitter", "parse_sizes", "splitters"]


@cache
def splitters() -> Registry[Splitter]:
    """All ways to split, by name."""
    table: Registry[Splitter] = Registry("way to split")
    for module in scan(sys.modules[__name__]):
        for found in getattr(module, "SPLITTERS", ()):
            table.add(found.name, found)
    return table
