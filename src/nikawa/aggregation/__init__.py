"""From judgements to gold: agreement, rules and models of aggregation, worker quality.

`MajorityVote`, `DawidSkene` and `MACE` are for notebooks: each has `fit_predict(DataFrame)`, as in crowd-kit.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nikawa.aggregation.estimators import MACE as MACE
    from nikawa.aggregation.estimators import DawidSkene as DawidSkene
    from nikawa.aggregation.estimators import MajorityVote as MajorityVote

__all__ = ["MACE", "DawidSkene", "MajorityVote"]


def __getattr__(name: str) -> Any:
    """Import an estimator when it is first used: the modules of this folder are imported without numpy."""
    if name in __all__:
        return getattr(import_module("nikawa.aggregation.estimators"), name)
    raise AttributeError(f"module 'nikawa.aggregation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
