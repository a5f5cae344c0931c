"""The figures of a build for its card: counts by stage, agreement, workers, licences, labels, lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from nikawa.recipes.recipe import Ask, Stage, recipes
from nikawa.recipes.store import Done, Measured, Store
from nikawa.records import Dataset, Example, Span
from nikawa.reporting.card import AskFigures, CheckFigures, Figures, StageFigures

Splits = Mapping[str, Sequence[Example]]


def figures_of(store: Store, splits: Splits) -> Figures:
    """All figures of a finished build."""
    done = {
        stage.name: store.done(stage) or Done(stage=stage.name, key="")
        for stage in store.recipe.stages
    }
    asks = [_ask(store, s, done[s.name]) for s in store.recipe.stages if isinstance(s, Ask)]
    stages = [s for s in store.recipe.stages if isinstance(s, Stage)]
    simulated, answers = sum(ask.simulated for ask in asks), sum(ask.answers for ask in asks)
    return Figures(
        stages=tuple(_stage(stage, done[stage.name]) for stage in stages),
        asks=tuple(asks),
        licences=dict(sorted(Counter(_licences(store, stages)).items())),
        labels=_labels(store.recipe.question, splits),
        spans=_spans(store.recipe.question, splits),
        characters=_characters(splits),
        workers_are=_workers_are(answers, simulated, any(found.columns for found in done.values())),
        answers=answers,
        simulated=simulated,
        chosen=store.recipe.notes,
        findings=tuple(_findings(splits)),
    )


def plain_figures(dataset: Dataset) -> Figures:
    """What a dataset that no build made tells by itself."""
    return Figures(
        stages=(),
        asks=(),
        licences={},
        labels=_labels(_first_question(dataset), dataset.splits),
        spans=_spans(_first_question(dataset), dataset.splits),
        characters=_characters(dataset.splits),
        workers_are=dataset.card.workers_are,
        answers=0,
        simulated=0,
        findings=tuple(_findings(dataset.splits)),
    )


def relabelled(figures: Figures, dataset: Dataset, recipe: str) -> Figures:
    """The figures of a build with the labels of a corrected release counted anew."""
    known = recipe in recipes()
    question = recipes()[recipe].question if known else _first_question(dataset)
    labels, spans = _labels(question, dataset.splits), _spans(question, dataset.splits)
    return replace(figures, labels=labels, spans=spans)


def _first_question(dataset: Dataset) -> str:
    golds = (example.gold for examples in dataset.splits.values() for example in examples)
    return next((question for gold in golds for question in gold), "label")


def _findings(splits: Splits) -> Iterator[CheckFigures]:
    """What the examples show by themselves: damaged texts, repetition, leakage between splits."""
    from nikawa.checks.leaks import split_leaks
    from nikawa.checks.quality import repetition_findings, text_findings

    whole = {split: tuple(examples) for split, examples in splits.items()}
    for check in (text_findings, repetition_findings, split_leaks):
        for finding in check("", whole):
            yield CheckFigures(check=finding.check, where=finding.where, count=finding.count)


def _workers_are(
    answers: int, simulated: int, columns: bool
) -> Literal["persons", "columns", "simulated", "none"]:
    if not answers:
        return "none"
    return "simulated" if simulated else "columns" if columns else "persons"


def _stage(stage: Stage, done: Done) -> StageFigures:
    wrote = {name: done.wrote[name] for name in stage.sets if name in done.wrote}
    return StageFigures(
        name=stage.name, title=stage.title, read=done.read, wrote=wrote, dropped=done.dropped
    )


def _ask(store: Store, ask: Ask, done: Done) -> AskFigures:
    return AskFigures(
        name=ask.name,
        title=ask.title,
        form=ask.form,
        items=sum(done.read.values()),
        answers=sum(done.wrote.values()),
        workers=done.workers,
        each=getattr(store.config, ask.workers),
        simulated=done.simulated,
        notes=done.notes,
        agreement={_name(measured): measured.value for measured in done.agreement},
        intervals={
            _name(measured): (measured.low, measured.high)
            for measured in done.agreement
            if measured.low is not None and measured.high is not None
        },
    )


def _name(measured: Measured) -> str:
    return f"{measured.name} ({measured.level})" if measured.name == "alpha" else measured.name


def _licences(store: Store, stages: Sequence[Stage]) -> Iterator[str]:
    """The licence of each source item, at the first stage that read it: a later one may read another source beside it."""
    seen: set[tuple[Any, Any]] = set()
    for stage in stages:
        if any(name in store.recipe.sources for name in stage.reads):
            sources = [trace.source for trace in store.trace(stage) if trace.source is not None]
            places = [(source.get("file"), source.get("line")) for source in sources]
            for source, place in zip(sources, places, strict=True):
                if place not in seen:
                    yield str(source.get("licence", "not stated"))
            seen.update(places)


def _labels(question: str, splits: Splits) -> dict[str, dict[str, int]]:
    """By split how often each label occurs; scores by whole numbers, lists by length."""
    return {
        split: dict(
            sorted(Counter(_label(example.gold.get(question)) for example in examples).items())
        )
        for split, examples in splits.items()
    }


def _spans(question: str, splits: Splits) -> dict[str, dict[str, int]]:
    """By split how often each label of spans occurs; empty where the gold is no spans."""
    spans = {
        split: Counter(
            part.label
            for example in examples
            for part in _listed(example.gold.get(question))
            if isinstance(part, Span)
        )
        for split, examples in splits.items()
    }
    return (
        {split: dict(sorted(each.items())) for split, each in spans.items()}
        if any(spans.values())
        else {}
    )


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _label(value: Any) -> str:
    if isinstance(value, float):
        low = min(int(value), 4)
        return f"{low} to {low + 1}"
    if isinstance(value, str | int):
        return str(value)
    return f"{len(value)} of them" if isinstance(value, list) else "none"


def _characters(splits: Splits) -> dict[str, float]:
    """Mean length of each input text."""
    total: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for examples in splits.values():
        for example in examples:
            for name, value in example.inputs.items():
                if isinstance(value, str):
                    total[name] += len(value)
                    count[name] += 1
    return {name: round(total[name] / count[name], 1) for name in count}
