"""The results of analyses as written to `analyses/*.json`; this module computes nothing.

Values of the task's metrics are in `unit` (percent or fraction, as the official scorer reports); shares, probabilities
and errors of probabilities are fractions. None means not defined. With several seeds, a value is the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import UNSET, UnsetType, field

from nikawa.checks.overlap import OverlapBin
from nikawa.errors import BadInput
from nikawa.io.file_names import MAX_NAME_BYTES, join_inside, to_file_name
from nikawa.io.json import read_json
from nikawa.metrics.units import convert_table
from nikawa.records import Record, Unit
from nikawa.stats.results import CrossCell, Figure, Slice
from nikawa.tables import ResultTable, ShownAsTables, format_cell

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
    "NoSuspects",
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


class CrossTable(Record, frozen=True, kw_only=True):
    """Gold label by similarity."""

    metric: str
    unit: Unit
    labels: tuple[str, ...]
    bins: tuple[str, ...]
    """`4-5` includes 5, `4-5 without 5` is the last bin of Table 9."""
    cells: tuple[CrossCell, ...]


class ClassScore(Record, frozen=True, kw_only=True):
    """How well one label is found; fractions."""

    label: str
    gold: int
    answered: float
    precision: Figure
    recall: Figure
    f1: Figure


class Confusion(Record, frozen=True, kw_only=True):
    """Gold label to answer to count (mean over seeds), and each label on its own."""

    labels: tuple[str, ...]
    columns: tuple[str, ...]
    """The labels, then other answers, then `(unread)`."""
    counts: dict[str, dict[str, float]]
    classes: tuple[ClassScore, ...]


class ReliabilityBin(Record, frozen=True, kw_only=True):
    """Answers of about the same confidence; bins have equal size."""

    n: int
    least: float
    most: float
    """Lowest and highest confidence in it."""
    confidence: float
    """Mean probability of the answer."""
    accuracy: float
    low: float
    high: float
    """Wilson's 95% interval of the accuracy."""


class CoveragePoint(Record, frozen=True, kw_only=True):
    """The share of wrong answers among the most confident ones."""

    coverage: float
    risk: float
    threshold: float
    """The confidence from which on answers are kept."""


class Calibration(Record, frozen=True, kw_only=True):
    """How well probabilities match the share of correct answers."""

    n: int
    left_out: int
    """Items without probabilities."""
    accuracy: float
    confidence: float
    ece: float
    """Expected calibration error over bins of equal size."""
    ece_sd: float | None
    ece_chance: float
    """The ECE that a perfectly calibrated model with these confidences stays below in 95 of 100 draws."""
    brier: Figure
    """Squared error summed over labels, mean over items: 0 to 2."""
    nll: Figure
    """Negative log-likelihood of gold, in nats; probabilities below 1e-12 count as that."""
    aurc: float
    """Area under the risk-coverage curve: lower is better."""
    aurc_best: float
    """The area for the same accuracy if every wrong answer were less sure than every right one."""
    bins: tuple[ReliabilityBin, ...]
    coverage: tuple[CoveragePoint, ...]


class Overlap(Record, frozen=True, kw_only=True):
    """Share of the tokens of one input that are in another, and its relation to the score."""

    of: str
    inside: str
    """Tokens of `of` (question, hypothesis) that are found in `inside` (context, premise)."""
    segmentation: str
    n: int
    mean: Figure
    """Mean share over items."""
    pooled: float
    """Tokens found over all tokens."""
    labels: dict[str, float] = field(default_factory=dict)
    """Mean share by gold label."""
    metric: str
    unit: Unit
    bins: tuple[OverlapBin, ...]
    correlation: Figure
    """Spearman's rho between overlap and the score of an item."""


class Surprise(Record, frozen=True, kw_only=True):
    """A wrong answer that was given with confidence, or far from gold."""

    example: str
    gold: Any
    answer: Any
    """The most frequent answer over seeds; the mean where answers are scores."""
    p_gold: float | None = None
    p_answer: float | None = None
    bits: float | None = None
    """-log2 of the probability of gold."""
    error: float | None = None
    """Distance of scores, or 1 less the score of the item."""
    wrong: int
    """Seeds that got it wrong."""
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)


def title_system(model: str, variation: str) -> str:
    """A model and how it departs from the task as published: `tohoku-bert (hypothesis only)`."""
    return f"{model} ({variation})" if variation else model


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
    """Folders of the runs, one per seed, relative to the folder of `analyses/`."""
    trained: int = 0
    """Examples learned from (mean over seeds)."""

    @property
    def title(self) -> str:
        """The model and how it departs from the task, for headings."""
        return title_system(self.model, self.variation)


class Analysis(ShownAsTables, Record, frozen=True, kw_only=True):
    """One system on one set: `analyses/TASK--MODEL--HASH--SET.json`."""

    main_table: ClassVar[str] = "slices"
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "slices": ("by", "where", "n", "value", "low", "high", "rest", "p_holm")
    }

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
    """For each metadata key without slices, the reason (too many values, the same on all items)."""
    cross: CrossTable | None = None
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    no_calibration: str = ""
    """The reason for a missing calibration."""
    overlap: Overlap | None = None
    no_overlap: str = ""
    surprises: tuple[Surprise, ...] = ()
    surprises_by: str = ""
    """`probability`, `error` or `score`."""

    def headline(self) -> str:
        """The system, the set and the score."""
        score = f"{self.metric} {format_cell(self.score.value)} ({self.unit})"
        return f"{self.system.task}, {self.system.title}, {self.set}, n {self.n:,}, {score}"


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


class StressFigure(Record, frozen=True, kw_only=True):
    """The agreement of answers to originals and to perturbed versions, in percent; None if it cannot be computed."""

    operation: str
    case: str
    """"" for all cases together."""
    gold: str
    """"" for all labels together."""
    n: int
    value: float | None
    low: float | None
    high: float | None


class StressCell(StressFigure, frozen=True, kw_only=True):
    """The figure of a system: the mean over its seeds."""

    sd: float | None
    """Over seeds; None where there is one."""
    to_neutral: float | None
    """Of the items first answered otherwise, how many became neutral; None for scores."""
    human: float | None
    """The same of people, on the items that they judged."""
    human_n: int


class Stress(Record, frozen=True, kw_only=True):
    """Consistency of one system under perturbation."""

    task: str
    model: str
    variation: str
    seeds: tuple[int, ...]
    measure: Literal["same", "pearson"]
    cells: tuple[StressCell, ...]

    @property
    def title(self) -> str:
        """The model and how it departs from the task, for headings."""
        return title_system(self.model, self.variation)


class Suspect(Record, frozen=True, kw_only=True):
    """An item whose gold label several models, or one confident model, contradict."""

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

    Systems that learned from the items do not count; with folds, no model saw the items it answered.
    """

    task: str
    set: str
    systems: tuple[str, ...]
    n: int
    """Items looked at."""
    thresholds: dict[str, float]
    """The mean probability of each label on items where it is gold: an item is suspect if another label reaches its mean."""
    total: int
    """The number of suspects; `items` has the most likely ones."""
    items: tuple[Suspect, ...]
    sheet: str = ""
    """The folder of the task sheet, below `analyses/`."""


class NoSuspects(Record, frozen=True, kw_only=True):
    """A set with labels for which suspects cannot be computed."""

    task: str
    set: str
    why: str
    """Such as `the model returns no probabilities, and there is no second system`."""


class Across(Record, frozen=True, kw_only=True):
    """Analyses of several runs: `analyses/across.json`."""

    partial: tuple[PartialInput, ...] = ()
    curves: tuple[Curve, ...] = ()
    stress: tuple[Stress, ...] = ()
    suspects: tuple[Suspects, ...] = ()
    no_suspects: tuple[NoSuspects, ...] | UnsetType = UNSET
    """Sets without a list of suspects, with the reason; absent if there is no such set."""


class Index(Record, frozen=True, kw_only=True):
    """What was analysed: `analyses/index.json`, written last."""

    analyses: tuple[str, ...]
    """File names in the same folder, one per `Analysis`."""
    across: str = "across.json"
    left_out: dict[str, str] = field(default_factory=dict)
    """The reason for each run that was left out."""
    command: str = ""
    """The command that reproduces them."""


INDEX, ACROSS, ANALYSES, SUSPECTS = "index.json", "across.json", "analyses", "suspects"


@dataclass(frozen=True, repr=False)
class Analyses(ShownAsTables):
    """The analyses of some runs."""

    main_table: ClassVar[str] = "systems"

    index: Index
    each: tuple[Analysis, ...]
    """One per system and set, in the order of the index."""
    across: Across

    def list_tables(self) -> list[ResultTable]:
        """Every system and set with its score, then the slices of each."""
        heads = ("task", "model", "variation", "set", "metric", "unit", "value", "low", "high", "n")
        systems, slices = [], []
        for each in self.each:
            system, score = each.system, each.score
            key = (system.task, system.model, system.variation, each.set, each.metric, each.unit)
            systems.append((*key, score.value, score.low, score.high, each.n))
            for part in each.slices:
                values = (part.value, part.low, part.high, part.rest, part.p_holm)
                slices.append((*key, part.by, part.where, part.n, *values))
        columns = (*heads[:6], "by", "where", "n", "value", "low", "high", "rest", "p_holm")
        return [ResultTable("systems", heads, systems), ResultTable("slices", columns, slices)]

    def shown_tables(self) -> list[ResultTable]:
        """The tables with scores in percent."""
        return [convert_table(table) for table in ShownAsTables.shown_tables(self)]


def name_file(stem: str, set_name: str) -> str:
    """The file of the analysis of a system on a set; `stem` is the name of the system's files."""
    return f"{to_file_name(f'{stem}--{set_name}', MAX_NAME_BYTES - len('.json'))}.json"


def read_analyses(folder: Path) -> Analyses:
    """The analyses of `folder`, or of `folder/analyses`."""
    place = folder if (folder / INDEX).is_file() else folder / ANALYSES
    if not (place / INDEX).is_file():
        cure = f"run: nikawa analyse {folder}"
        raise BadInput("contains no analyses", file=folder, cure=cure)
    index = read_json(place / INDEX, Index)
    each = tuple(read_json(join_inside(place, name), Analysis) for name in index.analyses)
    return Analyses(index, each, read_json(join_inside(place, index.across), Across))
