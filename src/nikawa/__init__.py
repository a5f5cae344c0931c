"""Nikawa: one toolkit for the whole life of a language-understanding benchmark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nikawa.version import __version__ as __version__

if TYPE_CHECKING:
    from nikawa.datasets import load as load
    from nikawa.datasets import load_task as load_task
    from nikawa.datasets import read_judgements as read_judgements
    from nikawa.records import Card as Card
    from nikawa.records import Dataset as Dataset
    from nikawa.records import Example as Example
    from nikawa.records import Judgement as Judgement
    from nikawa.records import Origin as Origin
    from nikawa.records import Prediction as Prediction
    from nikawa.records import Run as Run
    from nikawa.records import Score as Score
    from nikawa.records import Span as Span
    from nikawa.records import Task as Task

_RECORDS = (
    "Card",
    "Dataset",
    "Example",
    "Judgement",
    "Origin",
    "Prediction",
    "Run",
    "Score",
    "Span",
    "Task",
)
_LOADERS = ("load", "load_task", "read_judgements")
_HOME = {**dict.fromkeys(_RECORDS, "nikawa.records"), **dict.fromkeys(_LOADERS, "nikawa.datasets")}

__all__ = [*_RECORDS, *_LOADERS]  # noqa: PLE0604  (names, built from the tables above)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `import nikawa` costs nothing."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'nikawa' has no attribute {name!r}")
