"""Where work is done: in this process, in a pool of processes, on a Ray cluster, or by a custom executor. One file each.

A file next to this one declares `EXECUTOR`; adding an executor needs nothing else. Another package lists its executors as entry
points (`nikawa.executors`). Items (such as runs) are values that name their inputs, and results are in files. An executor on the
same disk calls `work` on each item. One on other machines uses the item's `Errand`: it sends the inputs by content and brings the
results back. `ordered.map_in_order` is for stages that read a stream in chunks.
"""

from __future__ import annotations

import sys
from functools import cache

from nikawa.execute.base import (
    Errand,
    ExecuteOptions,
    Executor,
    ExecutorKind,
    FunctionWithFiles,
    Killed,
    Resources,
    TravellingWork,
    Work,
    WorkProgress,
    open_executor,
)
from nikawa.registry import Registry, collect_plugins

__all__ = [
    "Errand",
    "ExecuteOptions",
    "Executor",
    "ExecutorKind",
    "FunctionWithFiles",
    "Killed",
    "Resources",
    "TravellingWork",
    "Work",
    "WorkProgress",
    "executors",
    "open_executor",
]


@cache
def executors() -> Registry[ExecutorKind]:
    """Executors by name."""
    table: Registry[ExecutorKind] = Registry("executor")
    here = sys.modules[__name__]
    for kind in collect_plugins(ExecutorKind, "EXECUTOR", "nikawa.executors", here):
        table.add(kind.name, kind)
    return table
