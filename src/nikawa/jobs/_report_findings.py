"""What a report tells of a dataset: its card, how far people agreed, what the texts give away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from nikawa.benchmarks import benchmarks
from nikawa.benchmarks.own import card_of, is_own
from nikawa.errors import BadInput, MissingData
from nikawa.jobs._report_runs import TaskRuns
from nikawa.records import Card
from nikawa.report.page_data import Note

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


def findings(part: TaskRuns, data: Path | None) -> tuple[Note, ...]:
    """The findings about the dataset of a task."""
    name = part.task.dataset
    found = [*agreement(part, data), *artifacts(part, data), card_note(card_of(name)[0], name)]
    return tuple(found)


def card_note(card: Card, name: str) -> Note:
    """What the card says."""
    rows = [
        ("version", card.version), ("licence", card.licence), ("texts", card.source), ("labels", card.labels),
        ("workers", card.workers), *(("known problem", problem) for problem in card.problems),
    ]  # fmt: skip
    shown = tuple((name, words) for name, words in rows if words)
    line = f"nikawa data show {quote(name)}"
    return Note(title=f"The card of {card.name}", columns=("", ""), rows=shown, command=line, folded=True)


def agreement(part: TaskRuns, data: Path | None) -> Iterator[Note]:
    """Agreement of the published judgements, where there are any here."""
    if is_own(part.task.dataset) or benchmarks()[part.task.dataset].judgements is None:
        return
    from nikawa.jobs.agree import Options, agree

    spec = part.task.dataset
    line = f"nikawa agree {spec} --question {part.task.question} --resamples {RESAMPLES}"
    try:
        found = agree(spec, data, Options(question=part.task.question, resamples=RESAMPLES)).report
    except MissingData as problem:
        yield Note(title="Agreement", text=f"Not measured: {problem}", command=line)
        return
    except BadInput:  # the dataset publishes no answers to this question
        return
    rows = tuple(
        (MEASURES.get(m.name, m.name), m.level, f"{m.value:.3f}", _range(m.low, m.high))
        for m in found.measures
        if m.value is not None
    )
    text = (
        f"{found.items:,} items, {found.workers:,} workers ({found.workers_are}), {found.answers:,} answers."
    )
    columns = ("measure", "level", "value", "95% interval")
    yield Note(title="Agreement", text=text, columns=columns, rows=rows, numbers=columns[2:], command=line)


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def artifacts(part: TaskRuns, data: Path | None) -> Iterator[Note]:
    """Words that go with a label more than chance allows, in what was learned from."""
    train = [name for s in part.systems for name in s.spec.protocol.train]
    if part.task.kind not in LABELLED or not train:
        return
    from nikawa.jobs.probe import Options
    from nikawa.jobs.probe import artifacts as probe

    spec, side = train[0], SIDES.get(part.task.kind, "both")
    line = f"nikawa probe artifacts {quote(spec)} --side {side} --question {part.task.question}"
    try:
        found = probe(spec, data, Options(side=side, question=part.task.question)).report
    except BadInput as problem:
        yield Note(title="Artifacts", text=f"Not tested: {problem}", command=line)
        return
    over = [pair for pair in found.over if pair.label not in found.uneven]
    rows = tuple((p.token, p.label, f"{p.count:,} of {p.n:,}", f"{p.share:.2f}") for p in over[:SHOWN])
    text = (
        f"{spec}, {'hypothesis' if side == 'hypothesis' else 'all texts'}: of {found.vocabulary:,} words, "
        f"{len({pair.token for pair in over}):,} go with a label more often than chance allows "
        f"(binomial test, {found.alpha:g} over the vocabulary)."
    )
    if found.uneven:
        text += (
            f" Left out: {', '.join(found.uneven)}, so frequent that any common word would be over the line."
        )
    columns = ("word", "label", "examples", "share")
    yield Note(title="Artifacts", text=text, columns=columns, rows=rows, numbers=columns[2:], command=line)
