"""Split a dataset: a dataset folder with a card, the sizes and labels of its parts, and what leaks between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nikawa.checks.leaks import grouped_by_premise, split_leaks
from nikawa.checks.quality import distribution, tops
from nikawa.datasets import Benchmark, load
from nikawa.datasets.names import find_benchmark
from nikawa.datasets.views import source_of, views_of
from nikawa.errors import BadInput, listed
from nikawa.io.atomic import refuse_existing
from nikawa.io.folders import CARD, check_split_name, write_folder
from nikawa.models import Trainable, model
from nikawa.models.folds import DEFAULT_FOLDS, predict_out_of_fold
from nikawa.records import Card, Dataset, Example, Finding, Record, Task
from nikawa.splitting import Options, parse_sizes, splitters
from nikawa.splitting.base import Signal, asked
from nikawa.splitting.built_gold import described, keep_lineage, made_of
from nikawa.splitting.report import shares, word_function

MODEL = "char-linear"
WHOLE = frozenset({"group", "least-artifact"})
"""Ways to split that keep groups whole."""
Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much, where that is known."""


@dataclass(frozen=True)
class Request:
    """What to split into, and how."""

    by: str = "random"
    sizes: str = "0.8,0.1,0.1"
    names: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    analyser: str = ""
    """What cuts texts into words: an analyser, or blanks when empty."""
    model: str = MODEL
    """The hypothesis-only model of a least-artifact split."""
    out: Path | None = None
    overwrite: bool = False
    card: Mapping[str, str] = field(default_factory=dict)
    """What is said of the dataset on its card."""


class SplitReport(Record, frozen=True, kw_only=True):
    """What a dataset was split into."""

    dataset: str
    by: str
    seed: int
    asked: dict[str, int]
    sizes: dict[str, int]
    labels: dict[str, dict[str, dict[str, float]]]
    """Part to question to label to share."""
    measured: dict[str, dict[str, float]]
    """Part to what the way of splitting is about: unseen terms, word overlap, unseen entities, …"""
    leaks: tuple[Finding, ...]
    views: dict[str, str] = msgspec.field(default_factory=dict)
    """Splits that were left out, each with the one it is a part of."""
    out: str | None


def split(
    spec: str,
    *,
    data: Path | None = None,
    request: Request | None = None,
    progress: Progress | None = None,
) -> SplitReport:
    """Split a dataset given as `load` takes it; the splits it has are thrown together first, less those that repeat others."""
    how, tell = request or Request(), progress or (lambda what, done, total: None)
    splitter = splitters()[how.by]
    if how.out is not None:
        refuse_existing(how.out / CARD, how.overwrite)
    tell(f"reading {spec}", 0, None)
    dataset, views = without_repeats(load(spec, data=data), spec)
    examples = pooled(dataset)
    sizes = parse_sizes(how.sizes, len(examples), how.names)
    for name in sizes:
        check_split_name(name)
    tell(f"splitting {spec}", 0, None)
    options = _options(how, lambda: _task(spec, dataset, examples, how.options), tell)
    parts = splitter.split(examples, sizes, options)
    _refuse_empty(parts, sizes, how)
    order = {example.id: place for place, example in enumerate(examples)}
    splits = {name: tuple(sorted(part, key=lambda e: order[e.id])) for name, part in parts.items()}
    made = _write(_dataset(dataset, splits, how), spec, how)
    tell("looking for what leaks", 0, 1)
    return replace(_report(made, sizes, how, options), views=views)


def _write(dataset: Dataset, spec: str, how: Request) -> Dataset:
    """The dataset with its card filled, written where that was asked for."""
    aggregated = made_of(spec)
    made = described(dataset, aggregated, how.card)
    if how.out is not None:
        write_folder(made, how.out, overwrite=how.overwrite)
        if aggregated is not None:
            keep_lineage(made, aggregated, f"{how.by}, seed {how.options.seed}", how.out)
    return made


def without_repeats(dataset: Dataset, spec: str) -> tuple[Dataset, dict[str, str]]:
    """The dataset without splits that are parts of others, and those with what they are parts of."""
    benchmark = find_benchmark(spec)
    views = views_of(dataset.splits, benchmark)
    if benchmark is not None:
        _refuse_parts(dataset, views, benchmark)
    kept = {name: examples for name, examples in dataset.splits.items() if name not in views}
    return replace(dataset, splits=kept), views


def _refuse_parts(dataset: Dataset, views: Mapping[str, str], benchmark: Benchmark) -> None:
    """Refuse parts of a split that is not here: they overlap, and none of them stands for all."""
    for name, other in views.items():
        held = {example.id for example in dataset.splits[other]}
        if other in benchmark.views and any(
            example.id not in held for example in dataset.splits[name]
        ):
            what = f"{name} and {other} are parts of {source_of(name, benchmark.views)}, which is not here"
            cure = f"run: nikawa data fetch {benchmark.name}, or split one of them: {benchmark.name}:{other}"
            raise BadInput(what, cure=cure)


def _refuse_empty(
    parts: Mapping[str, Sequence[Example]], sizes: Mapping[str, int], how: Request
) -> None:
    """A part that nothing came into is no split, unless 0 was asked for."""
    said = dict(zip(sizes, (word.strip() for word in how.sizes.split(",")), strict=True))
    empty = [name for name, part in parts.items() if not part and said[name] != "0"]
    if empty:
        total, whole = sum(map(len, parts.values())), how.by in WHOLE
        why = "a group is not parted" if whole else "there are too few"
        cure = "ask for larger parts" + (
            ", or name what makes a smaller group with --field" if whole else ""
        )
        raise BadInput(f"{listed(empty)} would be empty: of {total:,} examples {why}", cure=cure)


def pooled(dataset: Dataset) -> list[Example]:
    """The examples of all splits; an id that two of them use gets the split's name before it."""
    uses = Counter(example.id for examples in dataset.splits.values() for example in examples)
    found = [
        example if uses[example.id] == 1 else replace(example, id=f"{split}-{example.id}")
        for split, examples in dataset.splits.items()
        for example in examples
    ]
    if not found:
        raise BadInput(f"{dataset.name} holds no examples", cure="name a dataset that holds some")
    if len({example.id for example in found}) != len(found):
        raise BadInput(f"{dataset.name} uses ids more than once", cure="give each example its own")
    return found


def _options(how: Request, task: Callable[[], Task], tell: Progress) -> Options:
    options = changed(how.options, words=word_function(how.analyser))
    if how.by == "least-artifact":
        return changed(options, signal=hypothesis_only(task(), how, tell))
    return options


def hypothesis_only(task: Task, how: Request, tell: Progress) -> Signal:
    """Probabilities from a model that sees the hypothesis alone and never the premise set it is asked about."""
    if not isinstance(model(how.model), Trainable):
        raise BadInput(f"the model {how.model} does not learn", cure=f"use {MODEL}")

    def signal(examples: Sequence[Example], groups: Sequence[str]) -> list[dict[str, float]]:
        fresh = _Folds(how.model, tell)
        found = predict_out_of_fold(fresh, task, examples, groups, seed=how.options.seed)
        if any(prediction.scores is None for prediction in found):
            raise BadInput(f"the model {how.model} gives no probabilities", cure=f"use {MODEL}")
        return [prediction.scores or {} for prediction in found]

    return signal


class _Folds:
    """Makes a model for each fold, and tells which is at work and how far it is."""

    def __init__(self, name: str, tell: Progress) -> None:
        self.name, self.tell, self.begun = name, tell, 0

    def __call__(self) -> Trainable:
        """The model of the next fold."""
        self.begun += 1
        what = f"{self.name}, model {self.begun} of {DEFAULT_FOLDS}"
        self.tell(what, self.begun - 1, DEFAULT_FOLDS)
        made = model(
            self.name, progress=lambda step, done, total: self.tell(f"{what}: {step}", done, total)
        )
        assert isinstance(made, Trainable)
        return made


def _task(spec: str, dataset: Dataset, examples: Sequence[Example], options: Options) -> Task:
    """The inference task with the hypothesis as its only input."""
    question = asked(examples, options)
    benchmark = find_benchmark(spec)
    known = benchmark.tasks if benchmark else ()
    labels = tuple(sorted({str(example.gold[question]) for example in examples}))
    made = Task(
        name=f"{dataset.name}, hypothesis only",
        dataset=dataset.name,
        kind="inference",
        question=question,
        inputs=("hypothesis",),
        labels=labels,
        metrics=(),
    )
    found = next((task for task in known if task.question == question), made)
    return replace(found, inputs=("hypothesis",))


def _dataset(dataset: Dataset, splits: dict[str, tuple[Example, ...]], how: Request) -> Dataset:
    kind = "" if how.by == "random" else f" ({splitters()[how.by].title})"
    told = f"Split again by nikawa split --by {how.by} --sizes {how.sizes} --seed {how.options.seed}{kind}."
    card: Card = replace(
        dataset.card, description=f"{dataset.card.description.rstrip('. ')}. {told}"
    )
    return replace(dataset, card=card, splits=splits)


def _report(made: Dataset, sizes: dict[str, int], how: Request, options: Options) -> SplitReport:
    bins = tops(made.splits)
    counts = {name: distribution(part, bins) for name, part in made.splits.items()}
    return SplitReport(
        dataset=made.name,
        by=how.by,
        seed=how.options.seed,
        asked=dict(sizes),
        sizes={name: len(part) for name, part in made.splits.items()},
        labels={
            name: {question: _shares(found) for question, found in by_question.items()}
            for name, by_question in counts.items()
        },
        measured=shares(how.by, made.splits, options),
        leaks=tuple(split_leaks(made.name, grouped_by_premise(made.splits))),
        out=None if how.out is None else str(how.out),
    )


def _shares(counts: dict[str, int]) -> dict[str, float]:
    total = max(sum(counts.values()), 1)
    return {label: count / total for label, count in counts.items()}
