"""One file a head: how a kind of task becomes rows, what is learned, and how the answer is read back."""

from __future__ import annotations

import sys
from functools import cache

from nikawa.errors import BadInput
from nikawa.models._encoder.heads._base import Head
from nikawa.records import Kind, Task
from nikawa.registry import scan

__all__ = ["Head", "head_for", "kinds"]


@cache
def _heads() -> dict[Kind, Head]:
    return {kind: module.HEAD for module in scan(sys.modules[__name__]) for kind in module.HEAD.kinds}


def kinds() -> tuple[Kind, ...]:
    """The kinds of task that have a head."""
    return tuple(_heads())


def head_for(task: Task) -> Head:
    """The head of a task's kind."""
    if task.kind not in _heads():
        raise BadInput(f"no head answers {task.kind} tasks", cure=f"kinds: {', '.join(_heads())}")
    return _heads()[task.kind]
