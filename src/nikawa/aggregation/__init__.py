"""From judgements to gold: agreement, rules and models of aggregation, worker quality.

`MajorityVote`, `DawidSkene` and `MACE` are for notebooks: each has `fit_predict(DataFrame)`, as in crowd-kit. `rank_compared`
with `RankOptions` scores what workers compared.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nikawa.aggregation.estimators import MACE as MACE
    from nikawa.aggregation.estimators import DawidSkene as DawidSkene
    from nikawa.aggregation.estimators import MajorityVote as MajorityVote
    from nikawa.aggregation.ranking import RankOptions as RankOptions
    from nikawa.aggregation.ranking import rank_compared as rank_compared

_HOMES = {
    "MACE": "estimators",
    "DawidSkene": "estimators",
    "MajorityVote": "estimators",
    "RankOptions": "ranking",
    "rank_compared": "ranking",
}
__all__ = ["MACE", "DawidSkene", "MajorityVote", "RankOptions", "rank_compared"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: the modules of this folder are imported without numpy."""
    if name in _HOMES:
        return getattr(import_module(f"nikawa.aggregation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'nikawa.aggregation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
