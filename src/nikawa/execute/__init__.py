"""Where work is done: in this process, in a pool of processes, or by a custom executor. One file each.

A file next to this one declares `EXECUTOR`; adding an executor needs nothing else. Items (such as runs) are values that name
their inputs, and results are in files, so an executor only has to call `work` on each item somewhere that sees both.
`ordered.map_ordered` is for stages that read a stream in chunks.
"""

from __future__ import annotations

import sys
from functools import cache

from nikawa.execute.base import Executor, ExecutorKind, Killed, Work, open_executor
from nikawa.registry import Registry, collect_plugins

__all__ = ["Executor", "ExecutorKind", "Killed", "Work", "executors", "open_executor"]


@cache
def executors() -> Registry[ExecutorKind]:
    """Executors by name."""
    table: Registry[ExecutorKind] = Registry("executor")
    here = sys.modules[__name__]
    for kind in collect_plugins(ExecutorKind, "EXECUTOR", "nikawa.executors", here):
        table.add(kind.name, kind)
    return table
