"""What analyses of runs find, as it is written to `analyses/*.json`: nothing here computes.

Values of the task's metrics are in `unit` (percent or fraction, as the official scorer reports); shares, probabilities
and errors of probabilities are fractions. None stands for what is not defined. Over several seeds a value is the mean.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from nikawa.analysis.result_parts import (
    Calibration,
    ClassScore,
    Confusion,
    CoveragePoint,
    CrossTable,
    Overlap,
    OverlapBin,
    ReliabilityBin,
    Surprise,
)
from nikawa.records import Record, Unit
from nikawa.stats.results import CrossCell, Figure, Slice

__all__ = [
    "Across",
    "Analysis",
    "Calibration",
    "ClassScore",
    "Confusion",
    "CoveragePoint",
    "CrossCell",
    "CrossTable",
    "Curve",
    "CurvePoint",
    "Figure",
    "Index",
    "Overlap",
    "OverlapBin",
    "PartialInput",
    "ReliabilityBin",
    "Slice",
    "Stress",
    "StressCell",
    "Surprise",
    "Suspect",
    "Suspects",
    "System",
]


class System(Record, frozen=True, kw_only=True):
    """A model under one protocol; its runs differ in their seeds alone."""

    task: str
    kind: str
    dataset: str
    language: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    variation: str = ""
    """How it departs from the task as published, in words (`hypothesis only`); empty: not at all."""
    inputs: tuple[str, ...] = ()
    """The inputs that were kept, where some were left out."""
    share: float = 1.0
    shots: int = 0
    train: tuple[str, ...] = ()
    mark: str = ""
    """How the sets depart from train, dev and test as published."""
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    """Folders of the runs, one a seed, below the folder that holds `analyses/`."""
    trained: int = 0
    """Examples learned from (mean over seeds)."""

    @property
    def title(self) -> str:
        """The model and how it departs, for headings."""
        return f"{self.model} ({self.variation})" if self.variation else self.model


class Analysis(Record, frozen=True, kw_only=True):
    """One system on one set: `analyses/TASK--MODEL--HASH--SET.json`."""

    system: System
    set: str
    n: int
    unanswered: float
    metric: str
    """The metric of slices, cells and bins."""
    unit: Unit
    better: Literal["higher", "lower"] = "higher"
    score: Figure
    resamples: int
    seed: int
    """Of the resampling."""
    slices: tuple[Slice, ...] = ()
    not_sliced: dict[str, str] = field(default_factory=dict)
    """Key of meta to why it was not sliced by (too many values, the same on all items)."""
    cross: CrossTable | None = None
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    no_calibration: str = ""
    """Why there is none."""
    overlap: Overlap | None = None
    no_overlap: str = ""
    surprises: tuple[Surprise, ...] = ()
    surprises_by: str = ""
    """`probability`, `error` or `score`."""


class PartialInput(Record, frozen=True, kw_only=True):
    """What a model reaches without some of the inputs, against always giving the most frequent gold label."""

    task: str
    set: str
    model: str
    inputs: tuple[str, ...]
    seeds: tuple[int, ...]
    n: int
    score: Figure
    """Accuracy, in percent."""
    majority: float
    majority_label: str
    difference: Figure
    p: float
    p_holm: float
    full: float | None = None
    """The same model with all inputs, where that was run."""


class CurvePoint(Record, frozen=True, kw_only=True):
    """One share of the training data."""

    share: float
    shots: int
    trained: int
    score: Figure
    seeds: tuple[int, ...]


class Curve(Record, frozen=True, kw_only=True):
    """A learning curve."""

    task: str
    set: str
    model: str
    metric: str
    unit: Unit
    points: tuple[CurvePoint, ...]
    """From few training examples to many."""
    doubling: Figure | None = None
    """What the last doubling of the training data brought, with the interval of that difference over items."""


class StressCell(Record, frozen=True, kw_only=True):
    """How alike the answers to originals and to perturbed versions are, in percent (mean over seeds)."""

    operation: str
    case: str
    gold: str
    """"" for all together, as for `case`."""
    n: int
    value: float | None
    low: float | None
    high: float | None
    sd: float | None
    to_neutral: float | None
    human: float | None
    human_n: int


class Stress(Record, frozen=True, kw_only=True):
    """Consistency of one system under perturbation."""

    task: str
    model: str
    variation: str
    seeds: tuple[int, ...]
    measure: Literal["same", "pearson"]
    cells: tuple[StressCell, ...]


class Suspect(Record, frozen=True, kw_only=True):
    """An item whose gold label several models, or a confident one, speak against."""

    example: str
    """Full reference: `jsick:test/33`."""
    gold: Any
    suggested: Any
    p_gold: float
    p_suggested: float
    """Mean over systems; the share of runs where a model gives no probabilities."""
    against: int
    """Systems whose answer (over seeds) is not gold."""
    systems: int
    suggest: int
    """Systems that answer `suggested`."""
    tags: tuple[str, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict)


class Suspects(Record, frozen=True, kw_only=True):
    """Suspected label errors of one set, the likeliest first: `analyses/suspects/TASK--SET/`.

    Systems that learned from the items have no say; where a set was answered in folds, no model saw what it answered.
    """

    task: str
    set: str
    systems: tuple[str, ...]
    n: int
    """Items looked at."""
    thresholds: dict[str, float]
    """Label to the mean probability it gets where it is gold: an item is suspect where another label reaches its own."""
    total: int
    """Suspects found; `items` holds the likeliest."""
    items: tuple[Suspect, ...]
    sheet: str = ""
    """The folder of the task sheet, below `analyses/`."""


class Across(Record, frozen=True, kw_only=True):
    """What is seen only in several runs: `analyses/across.json`."""

    partial: tuple[PartialInput, ...] = ()
    curves: tuple[Curve, ...] = ()
    stress: tuple[Stress, ...] = ()
    suspects: tuple[Suspects, ...] = ()


class Index(Record, frozen=True, kw_only=True):
    """What was analysed: `analyses/index.json`, written last."""

    analyses: tuple[str, ...]
    """File names beside it, one an `Analysis`."""
    across: str = "across.json"
    left_out: dict[str, str] = field(default_factory=dict)
    """Run to why it was left out."""
    command: str = ""
    """What makes them anew."""
