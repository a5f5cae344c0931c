"""Ways to split a dataset: one file per family, found by scan.

Each sorts examples into named parts.
"""

from __future__ import annotations

import sys
from functools import cache

from nikawa.registry import Registry, collect_plugins
from nikawa.splitting.base import Parts, Sizes, Splitter, SplitterSettings, parse_sizes

__all__ = ["Parts", "Sizes", "Splitter", "SplitterSettings", "parse_sizes", "splitters"]


@cache
def splitters() -> Registry[Splitter]:
    """All ways to split, by name."""
    table: Registry[Splitter] = Registry("way to split")
    here = sys.modules[__name__]
    for splitter in collect_plugins(Splitter, "SPLITTERS", "nikawa.splitters", here):
        table.add(splitter.name, splitter)
    return table
