"""One file a head: how a kind of task becomes rows, what is learned, and how the answer is read back."""

from __future__ import annotations

import sys
from functools import cache

from nikawa.errors import BadInput, unknown
from nikawa.models.encoder.heads._base import Head
from nikawa.records import Kind, Task
from nikawa.registry import scan

__all__ = ["Head", "head_for", "kinds"]

FIRST = ("choice", "dialogue", "relation", "sequence", "span", "tagging", "tree")
"""The heads that kinds have unless another is asked for."""


@cache
def _heads() -> dict[str, Head]:
    """Each head by its file's name, with hyphens."""
    found = {
        m.__name__.rpartition(".")[2].replace("_", "-"): m.HEAD for m in scan(sys.modules[__name__])
    }
    return dict(sorted(found.items(), key=lambda item: (item[0] not in FIRST, item[0])))


def kinds() -> tuple[Kind, ...]:
    """The kinds of task that have a head."""
    return tuple(dict.fromkeys(kind for head in _heads().values() for kind in head.kinds))


def head_for(task: Task, name: str = "auto") -> Head:
    """The head of a task's kind, or the one of this name, which must answer the kind."""
    if name not in {"auto", *_heads()}:
        raise unknown("head", name, _heads())
    able = {own: head for own, head in _heads().items() if task.kind in head.kinds}
    if name != "auto" and name not in able:
        raise BadInput(
            f"the head {name} does not answer {task.kind} tasks",
            cure=f"heads that do: {', '.join(able)}",
        )
    if not able:
        raise BadInput(f"no head answers {task.kind} tasks", cure=f"kinds: {', '.join(kinds())}")
    return next(iter(able.values())) if name == "auto" else able[name]
