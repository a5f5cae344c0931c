"""The parts of an analysis as they are written down; `results` holds the whole and tells the units."""

from __future__ import annotations

from typing import Any

from msgspec import field

from nikawa.records import Record, Unit
from nikawa.stats.results import CrossCell, Figure


class CrossTable(Record, frozen=True, kw_only=True):
    """Gold label by similarity."""

    metric: str
    unit: Unit
    labels: tuple[str, ...]
    bins: tuple[str, ...]
    """`4-5` holds 5, `4-5 without 5` is the last bin of Table 9."""
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
    """Answers of about the same confidence; bins hold equally many."""

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
    """What is wrong among the most confident answers."""

    coverage: float
    risk: float
    threshold: float
    """The confidence from which on answers are kept."""


class Calibration(Record, frozen=True, kw_only=True):
    """Whether probabilities mean what they say."""

    n: int
    left_out: int
    """Items without probabilities."""
    accuracy: float
    confidence: float
    ece: float
    """Expected calibration error over bins of equal size."""
    ece_sd: float | None
    ece_chance: float
    """What a perfectly calibrated model with these confidences stays below in 95 of 100 draws."""
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


class OverlapBin(Record, frozen=True, kw_only=True):
    """Items of about the same overlap; bins hold about equally many."""

    n: int
    least: float
    most: float
    mean: float
    value: float | None
    low: float | None
    high: float | None


class Overlap(Record, frozen=True, kw_only=True):
    """Share of the tokens of one input that are in another, and what it has to do with being right."""

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
