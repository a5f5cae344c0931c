"""The content of a report page as plain values: jobs fill it, the page draws it, `numbers.json` stores it.

Values are in `unit`, as the official scorer reports; `nikawa.reporting.units` makes the page that is drawn of them. `source` names the file a number is from, as an address from the
folder of the page, and the place in it: `FILE#/pointer` (RFC 6901), several with blanks between them.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from nikawa.analysis.results import Analysis, Curve, NoSuspects, PartialInput, Stress, Suspects
from nikawa.records import Record, Unit
from nikawa.reporting.sources import NUMBERS, inside


class Trace(Record, frozen=True, kw_only=True):
    """The loss of one run by step."""

    seed: int
    points: tuple[tuple[int, float], ...]
    """Step and mean loss since the one before; of very many some are left out."""
    source: str
    end: str
    """Where the last of them is."""


class TrainingCurves(Record, frozen=True, kw_only=True):
    """How a system learned."""

    system: str
    traces: tuple[Trace, ...]
    runs: int
    """Of which so many are traced."""
    folds: int = 0
    """Above 0: the figures are those of the last fold's model."""


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
    """Whether it has no interval because it is based on too few examples or groups."""
    by: Literal["t"] | UnsetType = UNSET
    """`t` where the interval is Student's, over examples and seeds; else it is the middle of resamples."""


class UnreadAnswer(Record, frozen=True, kw_only=True):
    """An answer that could not be read, as an example of a panel."""

    example: str
    text: str
    """The beginning of what the system wrote; empty where it wrote nothing."""
    why: str


class SystemRow(Record, frozen=True, kw_only=True):
    """One system on one set."""

    system: str
    """Unique in a section: its model, and the difference from other systems with that model."""
    model: str = ""
    trained: str = ""
    """What it learned from, where that is not the training data of the task."""
    varied: bool = False
    """Whether it departs from the task in other ways, such as inputs left out."""
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    """Their folders, as addresses from the folder of the page, in the order of seeds."""
    metrics: dict[str, Number]
    ties: dict[str, str] = field(default_factory=dict)
    """The letters by metric: systems that share one are not significantly different."""
    unanswered: dict[str, int] = field(default_factory=dict)
    """Reason to count over all seeds."""
    lost: str = ""
    """Where these counts are."""
    unread: tuple[UnreadAnswer, ...] | UnsetType = UNSET
    """The first of them; unset where all could be read."""
    unread_source: str | UnsetType = UNSET
    """The answers that they are from."""
    undefined: str | UnsetType = UNSET
    """Why it is in no comparison: too few of its answers could be read."""


class PairRow(Record, frozen=True, kw_only=True):
    """Two systems; positive differences favour the second."""

    metric: str
    first: str
    second: str
    difference: Number
    p: float | None
    """Two-sided, of the paired test; None where it cannot be made."""
    p_holm: float | None
    """Corrected over all tests of the report."""
    smallest: float | None
    """The smallest difference that the test would have detected."""
    wins: int
    """Items on which the second is better; 0 for both where a metric has no score of an item."""
    losses: int
    source: str = ""
    """The answers that were compared."""


class PartRow(Record, frozen=True, kw_only=True):
    """A system on a further set, or on a part of one."""

    set: str
    where: str
    """Which part, such as `seen`; empty for the whole set."""
    metric: str
    system: str
    number: Number


class Analysed(Record, frozen=True, kw_only=True):
    """The analysis of a system on the main set."""

    system: str
    analysis: Analysis
    source: str


class SourcedFinding(Record, Generic[T], frozen=True, kw_only=True):
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
    """Columns with numbers."""
    source: str = ""
    sources: tuple[str, ...] = ()
    """Of each row."""
    command: str = ""
    folded: bool = False
    """Whether it is to be opened first."""


class Chooser(Record, frozen=True, kw_only=True):
    """A system whose settings were chosen."""

    system: str
    set: str
    """What they were chosen on: a set, or the training data some examples were kept out of."""
    kept_out: bool
    """Whether these examples were kept out of the training data."""
    n: int
    """How many examples they were chosen on."""
    seeds: tuple[int, ...]
    """The seeds that chose."""


class TriedSettings(Record, frozen=True, kw_only=True):
    """One combination of settings."""

    settings: dict[str, Any]
    """Those that vary; what no model here has that tried it is left out."""
    defaults: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Setting to the systems that left it as it comes."""
    scores: dict[str, Number]
    """System to its mean over the seeds that chose."""
    seeds: dict[str, int]
    """System to how many of them there are."""
    chosen: tuple[str, ...] = ()
    """Systems that do best with it."""
    reported: tuple[str, ...] = ()
    """Systems whose scores on the page are of runs with it."""
    diverged: tuple[str, ...] = ()
    """Systems of which a training with it diverged: they have no score with it."""


class SettingChoices(Record, frozen=True, kw_only=True):
    """The settings of a task that were tried, on what they were chosen on."""

    task: str
    metric: str
    names: tuple[str, ...]
    """Settings that vary."""
    systems: tuple[Chooser, ...]
    tried: tuple[TriedSettings, ...]
    place: str = ""
    """Where this is in `numbers.json`."""

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task


class ModelNote(Record, frozen=True, kw_only=True):
    """A note of a model about its run: an input it was not trained on, a setting without effect."""

    system: str
    text: str
    source: str
    """The file that has it."""


class Section(Record, frozen=True, kw_only=True):
    """One task."""

    name: str
    """Unique on the page: with the set, or the dataset, where several sections are of one task."""
    title: str
    """Of the dataset."""
    dataset: str
    kind: str
    language: str
    set: str
    """What the scores of `rows` are of."""
    n: int
    """Examples of it that are scored: those whose labels are not hidden."""
    hidden: dict[str, int] | UnsetType = UNSET
    """The number of examples per set that are not scored because their labels are hidden; absent without one."""
    protocol: str
    """How evaluation differs from train, dev and test as published, in a word or two; empty where it does not."""
    protocol_why: str
    """Why it differs."""
    departs: Literal[True] | UnsetType = UNSET
    """Whether that is not what the field reports of this dataset either."""
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[SystemRow, ...]
    pairs: tuple[PairRow, ...] = ()
    parts: tuple[PartRow, ...] = ()
    analysed: tuple[Analysed, ...] = ()
    curves: tuple[SourcedFinding[Curve], ...] = ()
    stress: tuple[SourcedFinding[Stress], ...] = ()
    partial: tuple[SourcedFinding[PartialInput], ...] = ()
    suspects: tuple[SourcedFinding[Suspects], ...] = ()
    no_suspects: tuple[SourcedFinding[NoSuspects], ...] | UnsetType = UNSET
    """Sets without a list of suspected label errors, with the reason."""
    choices: SettingChoices | None = None
    training: tuple[TrainingCurves, ...] = ()
    derived: tuple[str, ...] = ()
    """Sets whose examples were made from others, such as perturbed ones."""
    findings: tuple[Note, ...] = ()
    """About the dataset: agreement, artifacts, known problems."""
    model_notes: tuple[ModelNote, ...] | UnsetType = UNSET
    """Notes that the models of the runs left; absent without one."""
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
    usage: dict[str, Any] | UnsetType = UNSET
    """What it used of a server: requests, tokens, cost."""


class Page(Record, frozen=True, kw_only=True):
    """The whole report."""

    title: str
    version: str
    """Of nikawa."""
    systems: tuple[str, ...]
    sections: tuple[Section, ...]
    runs: tuple[RunRow, ...]
    commands: tuple[str, ...]
    """The commands that reproduce the runs, then the report."""
    rounds: int
    """Resamples of intervals over seeds and of paired tests."""
    tests: int
    """Paired tests corrected together."""
    swaps: int | UnsetType = UNSET
    """Exchanges of answers drawn, instead of `rounds`, for metrics that are recomputed for each."""
    choices: tuple[SettingChoices, ...] = ()
    """Of tasks that have no result here."""
    choosing: tuple[RunRow, ...] = ()
    """Runs that settings were chosen by."""
    made: str = ""
    """The time, if requested."""
    converted: tuple[str, ...] | UnsetType = UNSET
    """Sections whose official scorers report fractions, in a page that prints percent; absent from `numbers.json`."""


def add_places(page: Page) -> Page:
    """The page with the place of each section, and of what was chosen, in `numbers.json`.

    Whatever draws a page needs these places; calling it twice changes nothing.
    """
    sections = []
    for i, section in enumerate(page.sections):
        place = inside(NUMBERS, "sections", i)
        choices = section.choices and replace(section.choices, place=inside(place, "choices"))
        sections.append(replace(section, place=place, choices=choices))
    others = [
        replace(one, place=inside(NUMBERS, "choices", i)) for i, one in enumerate(page.choices)
    ]
    return replace(page, sections=tuple(sections), choices=tuple(others))
