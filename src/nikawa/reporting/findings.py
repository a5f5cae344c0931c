"""What a report tells of a dataset: its card, how far people agreed, what the texts give away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import card_and_language, is_custom
from nikawa.datasets.reader import ExampleReader
from nikawa.errors import BadInput, MissingData
from nikawa.generation.card import made_by
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import read_json
from nikawa.recipes.release import BUILT, Built
from nikawa.records import Card, Record
from nikawa.reporting.card import Figures
from nikawa.reporting.fragments import slug
from nikawa.reporting.page_data import Note
from nikawa.reporting.sources import address, inside
from nikawa.reporting.systems import TaskRuns

if TYPE_CHECKING:
    from nikawa.aggregation.agree import AgreeReport
    from nikawa.checks.probe import ArtifactReport
    from nikawa.reporting.card import Figures


def judgements_of(dataset: str) -> str:
    """The judgements that are kept beside the splits of a folder; empty where there are none."""
    path = Path(dataset) / JUDGEMENTS
    return str(path) if is_custom(dataset) and path.is_file() else ""


def hides(dataset: str, data: Path | None = None) -> bool:
    """Whether labels of a folder are hidden: how often workers gave each answer would then tell of them."""
    splits = ExampleReader(data).own(dataset).splits
    return any(example.hidden for examples in splits.values() for example in examples)


def figures_of(dataset: str) -> Figures | None:
    """The figures of the build that made a folder; None where none did."""
    path = Path(dataset) / BUILT
    return read_json(path, Built).figures if is_custom(dataset) and path.is_file() else None


def asked(figures: Figures) -> Iterator[tuple[tuple[str, int, str], tuple[str, ...]]]:
    """The agreement of a build: where each figure stands in its file, and a row of what was asked, of whom, and the figure."""
    for i, ask in enumerate(figures.asks):
        for name, value in ask.agreement.items():
            words = (
                f"{ask.items:,}",
                f"{ask.workers:,}" + (" (some simulated)" if ask.simulated else ""),
            )
            yield ("asks", i, name), (ask.title, *words, name, f"{value:.3f}")


def data_commands(datasets: Iterable[str]) -> list[str]:
    """What makes the datasets anew, where their cards tell."""
    own = {name: made_by(card_and_language(name)[0]) for name in datasets if is_custom(name)}
    return [f"{line} --out {quote(name)}" for name, line in own.items() if line]


FOLDER = "dataset"
"""Where the files of findings are, beside the page."""

LABELLED = ("text", "inference", "relation")
SHOWN = 10
RESAMPLES = 200
SIDES = {"inference": "hypothesis"}
"""The input a worker wrote, which gives labels away; all inputs together elsewhere."""
MEASURES = {
    "alpha": "Krippendorff's alpha",
    "percent": "agreement of pairs",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "unanimous": "items with one answer",
    "majority": "items with a majority only",
    "none": "items without one",
    "individual-is-majority": "answers that are the majority's",
}


@dataclass(frozen=True)
class Finding:
    """A note of the page, and what stands behind it as a file beside the page."""

    note: Note
    file: str = ""
    whole: Record | None = None


def findings(part: TaskRuns, data: Path | None) -> tuple[Finding, ...]:
    """The findings about the dataset of a task."""
    name = part.task.dataset
    card = Finding(card_note(card_and_language(name)[0], name))
    return (*agreement(part, data), *artifacts(part, data), card)


def _place(part: TaskRuns, what: str) -> str:
    """The file of what was found."""
    return f"{FOLDER}/{address(slug(part.name))}-{what}.json"


def card_note(card: Card, name: str) -> Note:
    """What the card says."""
    rows = [
        ("version", card.version),
        ("licence", card.licence),
        ("texts", card.source),
        ("labels", card.labels),
        ("workers", card.workers),
        ("made by", made_by(card)),
        *(("known problem", problem) for problem in card.problems),
    ]
    shown = tuple((name, words) for name, words in rows if words)
    line = f"nikawa data show {quote(name)}"
    return Note(
        title=f"The card of {card.name}", columns=("", ""), rows=shown, command=line, folded=True
    )


def agreement(part: TaskRuns, data: Path | None) -> Iterator[Finding]:
    """Agreement of the published judgements, where there are any here."""
    if is_custom(part.task.dataset):
        yield from own_agreement(part, data)
        return
    if benchmarks()[part.task.dataset].judgements is None:
        return
    from nikawa.aggregation.agree import AgreeOptions, agree

    spec = part.task.dataset
    line = f"nikawa agree {spec} --question {part.task.question} --resamples {RESAMPLES}"
    try:
        found = agree(
            spec, data, AgreeOptions(question=part.task.question, resamples=RESAMPLES)
        ).report
    except MissingData as problem:
        yield Finding(Note(title="Agreement", text=f"Not measured: {problem}", command=line))
        return
    except BadInput:  # the dataset publishes no answers to this question
        return
    yield Finding(_agreed(found, _place(part, "agreement"), line), _place(part, "agreement"), found)


def own_agreement(part: TaskRuns, data: Path | None) -> Iterator[Finding]:
    """Agreement of the judgements beside a dataset of one's own, or of the build that made it."""
    from nikawa.aggregation.agree import AgreeOptions, agree

    name, question = part.task.dataset, part.task.question
    spec, figures = judgements_of(name), figures_of(name)
    if figures is not None and not spec:
        kept = replace(figures, labels={}, spans={}) if hides(name, data) else figures
        yield _built(kept, _place(part, "build"), name)
    if not spec:
        return
    line = f"nikawa agree {quote(spec)} --question {question} --examples {quote(name)} --resamples {RESAMPLES}"
    try:
        found = agree(
            spec, data, AgreeOptions(question=question, examples=name, resamples=RESAMPLES)
        ).report
    except BadInput as problem:
        yield Finding(Note(title="Agreement", text=f"Not measured: {problem}", command=line))
        return
    told = replace(found, workers_are=card_and_language(name)[0].workers_are)
    told = replace(told, distribution={}) if hides(name, data) else told
    yield Finding(_agreed(told, _place(part, "agreement"), line), _place(part, "agreement"), told)


def _built(figures: Figures, place: str, name: str) -> Finding:
    rows = list(asked(figures))
    columns = ("asked", "items", "workers", "agreement", "value")
    note = Note(
        title="Agreement",
        text="Of those who were asked when the dataset was built.",
        columns=columns,
        rows=tuple(row for _, row in rows),
        numbers=("items", "value"),
        source=place,
        sources=tuple(inside(place, first, i, "agreement", last) for (first, i, last), _ in rows),
        command=f"nikawa data show {quote(name)}",
    )
    return Finding(note, place, figures)


def _agreed(found: AgreeReport, place: str, line: str) -> Note:
    known = [(i, m) for i, m in enumerate(found.measures) if m.value is not None]
    columns = ("measure", "level", "value", "95% interval")
    return Note(
        title="Agreement of simulated workers" if found.workers_are == "simulated" else "Agreement",
        text=f"{found.items:,} items, {found.workers:,} workers ({found.workers_are}), {found.answers:,} answers.",
        columns=columns,
        rows=tuple(
            (MEASURES.get(m.name, m.name), m.level, f"{m.value:.3f}", _range(m.low, m.high))
            for _, m in known
        ),
        numbers=columns[2:],
        source=place,
        sources=tuple(inside(place, "measures", i) for i, _ in known),
        command=line,
    )


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def artifacts(part: TaskRuns, data: Path | None) -> Iterator[Finding]:
    """Words that go with a label more than chance allows, in what was learned from."""
    train = [name for s in part.systems for name in s.spec.protocol.train]
    if part.task.kind not in LABELLED or not train:
        return
    from nikawa.checks.probe import Options
    from nikawa.checks.probe import artifacts as probe

    spec, side = train[0], SIDES.get(part.task.kind, "both")
    line = f"nikawa probe artifacts {quote(spec)} --side {side} --question {part.task.question}"
    try:
        found = probe(spec, data, Options(side=side, question=part.task.question)).report
    except BadInput as problem:
        yield Finding(Note(title="Artifacts", text=f"Not tested: {problem}", command=line))
        return
    yield Finding(
        _given_away(found, _place(part, "artifacts"), line), _place(part, "artifacts"), found
    )


def _given_away(found: ArtifactReport, place: str, line: str) -> Note:
    over = [(i, pair) for i, pair in enumerate(found.over) if pair.label not in found.uneven]
    columns = ("word", "label", "examples", "share")
    return Note(
        title="Artifacts",
        text=_told(found, len({pair.token for _, pair in over})),
        columns=columns,
        rows=tuple(
            (p.token, p.label, f"{p.count:,} of {p.n:,}", f"{p.share:.2f}") for _, p in over[:SHOWN]
        ),
        numbers=columns[2:],
        source=place,
        sources=tuple(inside(place, "over", i) for i, _ in over[:SHOWN]),
        command=line,
    )


def _told(found: ArtifactReport, tokens: int) -> str:
    said = (
        f"{found.dataset}, {' and '.join(found.sides)}: of {found.vocabulary:,} words, {tokens:,} go with a label more often than "
        f"chance allows (binomial test, {found.alpha:g} over the vocabulary)."
    )
    if found.uneven:
        said += f" Left out: {', '.join(found.uneven)}, so frequent that any common word would be over the line."
    return said
