"""What the models of structured answers share: which kinds they take, which inputs they may see, how they are keyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.records import Example, Kind, Task


def check_kind(name: str, kinds: Sequence[Kind], task: Task) -> None:
    """Refuse a task of another kind."""
    if task.kind not in kinds:
        raise BadInput(
            f"{name} does not answer {task.kind} tasks", cure=f"it answers: {', '.join(kinds)}"
        )


def visible(task: Task, example: Example) -> Mapping[str, Any]:
    """The inputs of an example that the task names."""
    return {name: example.inputs[name] for name in task.inputs if name in example.inputs}


def drawn(seed: int, *key: object) -> bytes:
    """Bytes to sort by: an order that depends on the seed and on what is ordered, not on where it stood."""
    return blake2b("\0".join(map(str, (seed, *key))).encode(), digest_size=8).digest()


def sklearn(module: str) -> Any:
    """A module of scikit-learn."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise missing_extra("the package 'scikit-learn'", "models") from None
