"""The figures of a build for its card: counts by stage, agreement, workers, licences, labels,
lengths.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from nikawa.datasets.trees import is_tree
from nikawa.recipes.recipe import Ask, Stage, recipes
from nikawa.recipes.store import Done, Store
from nikawa.records import Dataset, Example, Span
from nikawa.reporting.card import AskFigures, CheckFigures, Figures, StageFigures

WorkersAre = Literal["persons", "columns", "simulated", "unknown", "none"]
Splits = Mapping[str, Sequence[Example]]


def figures_of(store: Store, splits: Splits) -> Figures:
    """All figures of a finished build."""
    done = {
        stage.name: store.done(stage) or Done(stage=stage.name, key="")
        for stage in store.recipe.stages
    }
    asks, stages, sourced = [], [], []
    for stage in store.recipe.stages:
        if isinstance(stage, Ask):
            asks.append(ask_figures(store, stage, done[stage.name]))
            continue
        stages.append(stage_figures(stage, done[stage.name]))
        if any(name in store.recipe.sources for name in stage.reads):
            sourced.append(stage)
    simulated, answers = sum(ask.simulated for ask in asks), sum(ask.answers for ask in asks)
    workers_are: WorkersAre = "persons"
    if not answers:
        workers_are = "none"
    elif simulated:
        workers_are = "simulated"
    elif any(result.columns for result in done.values()):
        workers_are = "columns"
    return replace(
        example_figures(store.recipe.question, splits, workers_are),
        stages=tuple(stages),
        asks=tuple(asks),
        licences=dict(sorted(Counter(source_licences(store, sourced)).items())),
        answers=answers,
        simulated=simulated,
        chosen=store.recipe.notes,
    )


def plain_figures(dataset: Dataset) -> Figures:
    """What a dataset that no build made tells by itself."""
    return example_figures(first_question(dataset), dataset.splits, dataset.card.workers_are)


def example_figures(question: str, splits: Splits, workers_are: WorkersAre) -> Figures:
    """The figures that follow from the examples alone."""
    return Figures(
        stages=(),
        asks=(),
        licences={},
        labels=count_labels(question, splits),
        spans=count_spans(question, splits),
        characters=mean_characters(splits),
        workers_are=workers_are,
        answers=0,
        simulated=0,
        findings=tuple(check_figures(splits)),
    )


def recount_labels(figures: Figures, dataset: Dataset, recipe: str) -> Figures:
    """The figures of a build with the labels of a corrected release counted again."""
    known = recipe in recipes()
    question = recipes()[recipe].question if known else first_question(dataset)
    labels, spans = count_labels(question, dataset.splits), count_spans(question, dataset.splits)
    return replace(figures, labels=labels, spans=spans)


def first_question(dataset: Dataset) -> str:
    """The question of the first gold answer; `label` where no example has gold."""
    golds = (example.gold for examples in dataset.splits.values() for example in examples)
    return next((question for gold in golds for question in gold), "label")


def check_figures(splits: Splits) -> Iterator[CheckFigures]:
    """What the examples show by themselves: damaged texts, repetition, leakage between splits."""
    from nikawa.checks.leaks import split_leaks
    from nikawa.checks.quality import repetition_findings, text_findings

    whole = {split: tuple(examples) for split, examples in splits.items()}
    for check in (text_findings, repetition_findings, split_leaks):
        for finding in check("", whole):
            yield CheckFigures(check=finding.check, where=finding.where, count=finding.count)


def stage_figures(stage: Stage, done: Done) -> StageFigures:
    """What a stage read, wrote and dropped."""
    wrote = {name: done.wrote[name] for name in stage.sets if name in done.wrote}
    return StageFigures(
        name=stage.name, title=stage.title, read=done.read, wrote=wrote, dropped=done.dropped
    )


def ask_figures(store: Store, ask: Ask, done: Done) -> AskFigures:
    """Who answered an `Ask`, and how far the answers agree."""
    agreement, intervals = {}, {}
    for measured in done.agreement:
        name = measured.name
        if name == "alpha":
            name = f"alpha ({measured.level})"
        agreement[name] = measured.value
        if measured.low is not None and measured.high is not None:
            intervals[name] = (measured.low, measured.high)
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
        agreement=agreement,
        intervals=intervals,
        machines=done.machines or UNSET,
    )


def source_licences(store: Store, stages: Sequence[Stage]) -> Iterator[str]:
    """The licence of each source item, at the first stage that read it: a later one may read
    another source next to it.

    Args:
        stages: the stages that read a source, in order.
    """
    seen: set[tuple[Any, Any]] = set()
    for stage in stages:
        sources = [trace.source for trace in store.trace(stage) if trace.source is not None]
        places = [(source.get("file"), source.get("line")) for source in sources]
        for source, place in zip(sources, places, strict=True):
            if place not in seen:
                yield str(source.get("licence", "not stated"))
        seen.update(places)


TREE = "tree"
"""What a tree counts as; its relations are counted in the place of spans."""


def count_labels(question: str, splits: Splits) -> dict[str, dict[str, int]]:
    """By split how often each label occurs; scores by whole numbers, lists by length."""
    counts = {}
    for split, examples in splits.items():
        labels = Counter(
            label_name(example.gold.get(question), example.meta.get("question_type"))
            for example in examples
        )
        counts[split] = dict(sorted(labels.items()))
    return counts


def count_spans(question: str, splits: Splits) -> dict[str, dict[str, int]]:
    """By split how often each label of spans, or each relation of trees, occurs; empty for other gold."""
    counts = {}
    for split, examples in splits.items():
        golds = [example.gold.get(question) for example in examples]
        parts = [part for gold in golds if isinstance(gold, list) for part in gold]
        labels = Counter(part.label for part in parts if isinstance(part, Span))
        trees = (gold for gold in golds if gold is not None and is_tree(gold))
        labels.update(label for tree in trees for label in tree["labels"])
        counts[split] = dict(sorted(labels.items()))
    return counts if any(counts.values()) else {}


def label_name(value: Any, kind: Any = None) -> str:
    """What a gold answer counts as; `kind` is the type of a question on a passage.

    >>> label_name(2.4), label_name(["a", "b"]), label_name([], 3)
    ('2 to 3', '2 of them', 'type 3, no answer')
    """
    if kind is not None and isinstance(value, list):
        return f"type {kind}, {'answer' if value else 'no answer'}"
    if is_tree(value):
        return TREE
    if isinstance(value, float):
        low = min(int(value), 4)
        return f"{low} to {low + 1}"
    if isinstance(value, str | int):
        return str(value)
    return f"{len(value)} of them" if isinstance(value, list) else "none"


def mean_characters(splits: Splits) -> dict[str, float]:
    """Mean length of each input text."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for examples in splits.values():
        for example in examples:
            for name, value in example.inputs.items():
                if isinstance(value, str):
                    lengths[name].append(len(value))
    return {name: round(sum(each) / len(each), 1) for name, each in lengths.items()}
