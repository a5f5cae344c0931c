"""A dataset card in Markdown: datasheet and data statement, with the figures of the build filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from nikawa.printable import plain_markdown
from nikawa.records import Card, Record
from nikawa.reporting.tables import TextTable

BUILT = "build.json"
"""The files that a build writes next to its dataset."""


class StageFigures(Record, frozen=True, kw_only=True):
    """What went into a stage, came out and was dropped."""

    name: str
    title: str
    """The rule of the stage in words."""
    read: dict[str, int]
    """Set of the recipe to items."""
    wrote: dict[str, int]
    dropped: dict[str, int]
    """Reason to how many."""


class AskFigures(Record, frozen=True, kw_only=True):
    """What people were asked, and how far they agreed."""

    name: str
    title: str
    form: str
    """The form of the question, as the recipe names it."""
    items: int
    answers: int
    workers: int
    each: int
    """Workers who were asked about each item."""
    simulated: int
    """Of the answers, those that no person gave."""
    agreement: dict[str, float]
    """Measure to its value."""
    notes: tuple[str, ...] = ()
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The 95% interval of a measure of agreement, over items."""
    machines: str | UnsetType = UNSET
    """Models compared with the workers, in a paragraph; omitted where no model answered."""


class CheckFigures(Record, frozen=True, kw_only=True):
    """What a check of the finished dataset found."""

    check: str
    where: str
    count: int


class Figures(Record, frozen=True, kw_only=True):
    """The figures of a build."""

    stages: tuple[StageFigures, ...]
    asks: tuple[AskFigures, ...]
    licences: dict[str, int]
    """Source items by licence."""
    labels: dict[str, dict[str, int]]
    """By split, how often each label occurs."""
    characters: dict[str, float]
    """Mean length of each input."""
    workers_are: Literal["persons", "columns", "simulated", "unknown", "none"]
    answers: int
    """Over all questions."""
    simulated: int
    """Of the answers, those that no person gave."""
    chosen: tuple[str, ...] = ()
    """What the papers leave open and the recipe chose."""
    findings: tuple[CheckFigures, ...] = ()
    spans: dict[str, dict[str, int]] = field(default_factory=dict)
    """By split, how often each label of spans occurs, where the gold is spans."""


class Built(Record, frozen=True, kw_only=True):
    """`build.json`: the parts of a release, and its figures."""

    recipe: str
    version: str
    key: str
    """The digest of the parts of the release: recipe, sets, settings, answers. An amended release has another."""
    nikawa: str
    """The version of Nikawa that built it."""
    config: dict[str, Any]
    figures: Figures


def format_card(card: Card, figures: Figures) -> str:
    """The whole card in Markdown, with front matter that hubs of datasets read.

    `figures` are those of the build; for a dataset made elsewhere they have no stages, and the card then omits
    how it was collected.
    """
    parts = [
        *describe_release(card, figures),
        *describe_composition(card, figures),
        *describe_process(figures),
        *describe_workers(card, figures),
        *describe_use(card, figures),
    ]
    return "\n\n".join(parts) + "\n"


def describe_release(card: Card, figures: Figures) -> Iterator[str]:
    """The front matter that hubs of datasets read, the title, a warning where workers were simulated, and the motivation."""
    languages = "\n".join(f"- {language}" for language in card.languages)
    # Hubs know the licences of Creative Commons by their short names, others as such.
    licence = f"license: other\nlicense_name: {_quoted(card.licence)}"
    if re.fullmatch(r"CC(0| BY)[-A-Z ]*( [0-9.]+)?", card.licence):
        licence = f"license: {card.licence.lower().replace(' ', '-')}"
    yield f"---\npretty_name: {_quoted(card.title)}\nlanguage:\n{languages}\n{licence}\nversion: {_quoted(card.version)}\n---"
    yield f"# {card.title}"
    if figures.simulated:
        share = f"{figures.simulated:,} of {figures.answers:,}"
        yield f"> **The workers are simulated** ({share} answers). This release only shows how the dataset is made. Do not use its labels as gold labels."
    yield card.description
    yield "## Motivation"
    yield f"Version {card.version}, licence {card.licence}. Home: {card.homepage}"
    yield f"Procedure: {card.citation}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def describe_composition(card: Card, figures: Figures) -> Iterator[str]:
    """The content of the dataset: texts, labels by split, lengths, licences of the sources."""
    yield "## Composition"
    yield f"Texts: {card.source}"
    table = _label_table(figures.labels)
    if figures.spans:  # spans by label, then the items that contain them
        spans = _label_table(figures.spans)
        are_trees = {name for counts in figures.labels.values() for name in counts} == {"tree"}
        heading, parts = ("relation", "words") if are_trees else ("spans", "spans")
        total = [f"all {parts}", *spans.rows[-1][1:]]
        rows = [*spans.rows[:-1], total, ["items", *table.rows[-1][1:]]]
        table = TextTable((heading, *spans.columns[1:]), rows, spans.numbers)
    yield table.markdown()
    lengths = ", ".join(f"{name} {mean:g}" for name, mean in figures.characters.items())
    if lengths:
        yield f"Characters on average: {lengths}."
    licences = ", ".join(f"{name} ({count:,} items)" for name, count in figures.licences.items())
    if licences:
        yield f"Licences of the sources: {licences}."
    yield "`lineage.jsonl` lists the sources, judgements, rules and dropped siblings of every example."


def _label_table(labels: Mapping[str, Mapping[str, int]]) -> TextTable:
    """One row per label, one column per split, and the totals of both."""
    splits = list(labels)
    rows = []
    for name in sorted({name for counts in labels.values() for name in counts}):
        counts = [labels[split].get(name, 0) for split in splits]
        rows.append([name, *(f"{count:,}" for count in (*counts, sum(counts)))])
    sizes = [sum(labels[split].values()) for split in splits]
    rows.append(["all", *(f"{size:,}" for size in (*sizes, sum(sizes)))])
    return TextTable(("label", *splits, "total"), rows, (*splits, "total"))


def describe_process(figures: Figures) -> Iterator[str]:
    """The stages of the build with what each read, wrote and dropped; nothing for a dataset made elsewhere."""
    if not figures.stages:
        return
    yield "## Collection process"
    rows = [
        [
            stage.name,
            " ".join(stage.title.split()),
            _counts(stage.read),
            _counts(stage.wrote),
            _counts(stage.dropped),
        ]
        for stage in figures.stages
    ]
    yield TextTable(("stage", "rule", "in", "out", "dropped"), rows).markdown()
    if figures.chosen:
        yield "Choices that the paper leaves open:"
        yield "\n".join(f"- {note}" for note in figures.chosen)


def _counts(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{name} {count:,}" for name, count in counts.items())


def describe_workers(card: Card, figures: Figures) -> Iterator[str]:
    """Who judged, what they were asked, and how far they agreed."""
    yield "## Workers and agreement"
    who = (
        "It is not stated whether workers are persons"
        if figures.workers_are == "unknown"
        else f"Workers are {figures.workers_are}"
    )
    yield f"{plain_markdown(card.labels)} {who}: {card.workers}."
    rows = [
        [
            ask.name,
            ask.title,
            f"{ask.items:,}",
            str(ask.each),
            f"{ask.workers:,}",
            f"{ask.answers:,}",
        ]
        for ask in figures.asks
    ]
    columns = ("question", "type", "items", "workers per item", "workers", "answers")
    if rows:
        yield TextTable(columns, rows, columns[2:]).markdown()
    yield from describe_agreement(figures)
    notes = [f"- {ask.name}: {note}" for ask in figures.asks for note in ask.notes]
    if notes:
        yield "\n".join(notes)


def describe_agreement(figures: Figures) -> Iterator[str]:
    """The measures with their intervals; a release of before these were kept has none."""
    columns = ["asked", "agreement", "value"]
    has_intervals = any(ask.intervals for ask in figures.asks)
    if has_intervals:
        columns.append("95% interval")
    rows = []
    for ask in figures.asks:
        for name, value in ask.agreement.items():
            row = [ask.name, name, f"{value:.3f}"]
            if has_intervals:
                interval = ask.intervals.get(name)
                row.append(f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "")
            rows.append(row)
    if rows:
        yield TextTable(columns, rows, columns[2:]).markdown()


def describe_use(card: Card, figures: Figures) -> Iterator[str]:
    """Known problems, what checks found, and the data statement."""
    yield "## Uses and known problems"
    problems = list(card.problems) or ["No problems are known yet."]
    yield "\n".join(f"- {problem}" for problem in problems)
    yield "Checks of texts, repetition and leakage (`nikawa data check`):"
    rows = [[one.check, one.where, f"{one.count:,}"] for one in figures.findings]
    yield (
        TextTable(("check", "where", "count"), rows, ("count",)).markdown()
        if rows
        else "No problems found."
    )
    if not figures.stages:  # made elsewhere: how it was judged is not ours to state
        return
    yield "## Data statement"
    yield (
        f"Language varieties: {', '.join(card.languages)}. Speakers: the writers of the sources named above. "
        f"Workers: {card.workers or 'none'}; their demographics were not collected. "
        "Situation: written text, judged one item at a time on task sheets."
    )
    yield "## Maintenance"
    yield "A corrected version keeps the old labels in the lineage. `build.json` contains all settings and counts of this build."
