"""Nikawa: one toolkit for the whole life of a language-understanding benchmark.

    import nikawa as nk

    jnli = nk.load("jnli:dev")
    nk.score("jnli", "answers.jsonl")

`dir(nikawa)` lists the public names. Each is imported when you first use it. docs/python.md shows how to use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nikawa.version import __version__ as __version__

if TYPE_CHECKING:
    from nikawa import aggregation as aggregation
    from nikawa import agreement as agreement
    from nikawa.api import aggregate as aggregate
    from nikawa.api import agree as agree
    from nikawa.api import analyse as analyse
    from nikawa.api import clean as clean
    from nikawa.api import compare as compare
    from nikawa.api import export as export
    from nikawa.api import generate as generate
    from nikawa.api import hide_labels as hide_labels
    from nikawa.api import import_table as import_table
    from nikawa.api import import_task as import_task
    from nikawa.api import judge as judge
    from nikawa.api import load as load
    from nikawa.api import load_task as load_task
    from nikawa.api import model as model
    from nikawa.api import pair as pair
    from nikawa.api import perturb as perturb
    from nikawa.api import probe_memory as probe_memory
    from nikawa.api import read_judgements as read_judgements
    from nikawa.api import recheck as recheck
    from nikawa.api import report as report
    from nikawa.api import run as run
    from nikawa.api import score as score
    from nikawa.api import score_many as score_many
    from nikawa.api import score_versions as score_versions
    from nikawa.api import split as split
    from nikawa.api import submit as submit
    from nikawa.api import tag as tag
    from nikawa.errors import BadInput as BadInput
    from nikawa.errors import NikawaError as NikawaError
    from nikawa.metrics import Metric as Metric
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

_FUNCTIONS = (
    "agree",
    "aggregate",
    "analyse",
    "clean",
    "compare",
    "export",
    "generate",
    "hide_labels",
    "import_table",
    "import_task",
    "judge",
    "load",
    "load_task",
    "model",
    "pair",
    "perturb",
    "probe_memory",
    "read_judgements",
    "recheck",
    "report",
    "run",
    "score",
    "score_many",
    "score_versions",
    "split",
    "submit",
    "tag",
)
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
_ERRORS = ("BadInput", "NikawaError")
_MODULES = ("aggregation", "agreement")
"""Modules with their own public names: `nk.agreement.krippendorff_alpha`, `nk.aggregation.DawidSkene`."""
_HOME = {
    **dict.fromkeys(_FUNCTIONS, "nikawa.api"),
    **dict.fromkeys(_RECORDS, "nikawa.records"),
    **dict.fromkeys(_ERRORS, "nikawa.errors"),
    "Metric": "nikawa.metrics",
}

__all__ = [*_FUNCTIONS, *_RECORDS, *_ERRORS, "Metric", *_MODULES]  # noqa: PLE0604  (names, built from the tables above)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import nikawa` costs nothing."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"nikawa.{name}")
    raise AttributeError(f"module 'nikawa' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, for completion in a notebook; imported modules are not among them."""
    return sorted([*__all__, "__version__"])
