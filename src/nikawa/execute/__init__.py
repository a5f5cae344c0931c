"""Where runs are done: in this process, in a pool of processes, or by an executor of one's own. One file each.

A file beside this one declares `EXECUTOR`; nothing else is touched to add one. Runs are values that name their inputs
and results lie in files, so an executor only has to call `work` on each run somewhere that sees both.
"""

from __future__ import annotations

import sys
from functools import cache

from nikawa.execute.base import Executor, ExecutorKind, Work, entered
from nikawa.registry import Registry, scan

__all__ = ["Executor", "ExecutorKind", "Work", "entered", "executors"]


@cache
def executors() -> Registry[ExecutorKind]:
    """Executors by name."""
    table: Registry[ExecutorKind] = Registry("executor")
    for module in scan(sys.modules[__name__]):
        kind = getattr(module, "EXECUTOR", None)
        if kind is not None:
            table.add(kind.name, kind)
    return table
