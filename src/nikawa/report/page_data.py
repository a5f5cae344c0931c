"""What a report page shows, as plain values: jobs fill it, the page draws it, `numbers.json` holds it.

Values are in `unit`, as the official scorer reports. `source` names the file a number is from, as an address from the
folder of the page, and the place in it: `FILE#/pointer` (RFC 6901), several with blanks between them.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import field
from msgspec.structs import replace

from nikawa.analyse.results import Analysis, Curve, PartialInput, Stress, Suspects
from nikawa.records import Record, Unit
from nikawa.report.page_source import NUMBERS, inside

T = TypeVar("T")


class Number(Record, frozen=True, kw_only=True):
    """One figure with what is known of its spread."""

    value: float | None
    unit: Unit = "percent"
    low: float | None = None
    high: float | None = None
    """The 95% interval over examples (and seeds, where there are several)."""
    sd: float | None = None
    """Over seeds."""
    n: int = 0
    source: str = ""
    few: bool = False
    """Whether it has no interval because too few examples, or groups of them, stand behind it."""


class SystemRow(Record, frozen=True, kw_only=True):
    """One system on one set."""

    system: str
    model: str = ""
    trained: str = ""
    """What it learned from, where that is not the training data of the task."""
    varied: bool = False
    """Whether it departs from the task in other ways, such as inputs left out."""
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    metrics: dict[str, Number]
    ties: dict[str, str] = field(default_factory=dict)
    """Metric to letters: systems that share one cannot be told apart."""
    unanswered: dict[str, int] = field(default_factory=dict)
    """Reason to count over all seeds."""
    lost: str = ""
    """Where these counts are."""


class PairRow(Record, frozen=True, kw_only=True):
    """Two systems; positive differences favour the second."""

    metric: str
    first: str
    second: str
    difference: Number
    p: float | None
    p_holm: float | None
    smallest: float | None
    wins: int
    losses: int
    source: str = ""
    """The answers that were compared."""


class PartRow(Record, frozen=True, kw_only=True):
    """A system on a further set, or on a part of one."""

    set: str
    where: str
    metric: str
    system: str
    number: Number


class Analysed(Record, frozen=True, kw_only=True):
    """The analysis of a system on the main set."""

    system: str
    analysis: Analysis
    source: str


class Sourced(Record, Generic[T], frozen=True, kw_only=True):
    """Something found in several runs, and where that is."""

    found: T
    source: str


class Note(Record, frozen=True, kw_only=True):
    """A finding in words, or a small table of them."""

    title: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numbers: tuple[str, ...] = ()
    """Columns that hold numbers."""
    source: str = ""
    sources: tuple[str, ...] = ()
    """Of each row."""
    command: str = ""
    folded: bool = False
    """Whether it is to be opened first."""


class Section(Record, frozen=True, kw_only=True):
    """One task."""

    name: str
    title: str
    dataset: str
    kind: str
    language: str
    set: str
    n: int
    protocol: str
    protocol_why: str
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[SystemRow, ...]
    pairs: tuple[PairRow, ...] = ()
    parts: tuple[PartRow, ...] = ()
    analysed: tuple[Analysed, ...] = ()
    curves: tuple[Sourced[Curve], ...] = ()
    stress: tuple[Sourced[Stress], ...] = ()
    partial: tuple[Sourced[PartialInput], ...] = ()
    suspects: tuple[Sourced[Suspects], ...] = ()
    derived: tuple[str, ...] = ()
    """Sets whose examples were made from others, such as perturbed ones."""
    findings: tuple[Note, ...] = ()
    """About the dataset: agreement, artifacts, known problems."""
    place: str = ""
    """Where this is in `numbers.json`."""


class RunRow(Record, frozen=True, kw_only=True):
    """Where a number's answers came from."""

    folder: str
    """As an address from the folder of the page."""
    task: str
    system: str
    seed: int
    settings: dict[str, Any]
    data: tuple[tuple[str, str, str, int], ...]
    """Name, version, digest and size of every set."""
    packages: dict[str, str]
    python: str


class Page(Record, frozen=True, kw_only=True):
    """The whole report."""

    title: str
    version: str
    """Of nikawa."""
    systems: tuple[str, ...]
    sections: tuple[Section, ...]
    runs: tuple[RunRow, ...]
    commands: tuple[str, ...]
    """What makes the runs anew, then the report."""
    rounds: int
    """Resamples of intervals over seeds and of paired tests."""
    tests: int
    """Paired tests corrected together."""
    made: str = ""
    """When, where that was asked for."""


def placed(page: Page) -> Page:
    """The page with the place of each section in `numbers.json`."""
    sections = (replace(s, place=inside(NUMBERS, "sections", i)) for i, s in enumerate(page.sections))
    return replace(page, sections=tuple(sections))
