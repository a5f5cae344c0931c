"""Custom datasets: infer the tasks of a folder or records file from the shape of its records.

The question is the key of gold, the kind of task follows from inputs and gold (the table of
docs/records.md), and the labels are those of all splits. A dataset whose card has the name of a
registered dataset has its tasks. A folder with hidden labels lists its tasks itself, because they cannot be
inferred from labels.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.keys import read_notice
from nikawa.datasets.load import load
from nikawa.datasets.names import SPLIT_ALIASES, benchmarks, suites, tasks
from nikawa.datasets.views import SEEN
from nikawa.errors import BadInput
from nikawa.io.remote import RemotePath, is_address, to_path
from nikawa.records import Dataset, Example, Kind, Span, Task
from nikawa.spec import name_and_split

SHAPES_PAGE = "docs/records.md shows the shapes of tasks"
NLI = ("entailment", "contradiction", "neutral")
"""The order of inference labels, as in the papers' tables."""
NO_RELATION = "no_relation"
"""The label for no relation: it comes first, and F1 ignores it."""
SHAPES: Mapping[Kind, tuple[str, ...]] = {
    "relation": ("text", "subject", "object"),
    "tree": ("text", "words"),
    "dialogue": ("turns",),
    "choice": ("question", "choices"),
    "reading": ("context", "question"),
    "inference": ("premise", "hypothesis"),
    "similarity": ("sentence1", "sentence2"),
    "text": ("text",),
}
"""Kind to the inputs that identify it, the most specific first."""
BUILT_HERE = "made here: nikawa build "
"""What the homepage of a dataset begins with that the recipe of a published one made."""
USUAL_METRICS: Mapping[Kind, tuple[str, ...]] = {
    "text": ("accuracy", "macro-f1"),
    "inference": ("accuracy", "macro-f1"),
    "similarity": ("pearson", "spearman"),
    "choice": ("accuracy",),
    "reading": ("jsquad-em", "jsquad-f1"),
    "tagging": ("entity-macro-f1", "char-macro-f1"),
    "relation": ("accuracy", "macro-f1"),
    "tree": ("uas", "las"),
    "dialogue": ("jga", "slot-f1"),
}
"""The usual metrics of a kind."""
KOREAN_READING_METRICS = ("klue-em", "rouge-w")
"""The metrics of reading in Korean: those of KLUE-MRC."""
RELATION_METRICS = ("relation-micro-f1", "macro-f1")
"""The metrics of relations among which `NONE` is one."""

ByQuestion = dict[str, dict[Kind | None, list[tuple[str, Example]]]]
"""Question to kind (None: of no shape known here) to examples with their splits."""


def is_custom(dataset: str) -> bool:
    """Whether a task's dataset is a path, not the name of a registered one."""
    return dataset not in benchmarks()


def custom_tasks(path: str, read: Callable[[str], Dataset] = load) -> list[Task]:
    """Return the tasks of a dataset folder or records file, in the order of their questions.

    Each is named after the file or folder, with the question if there are several; its dataset
    is the path. Raises `BadInput` if no gold has a known shape, or if the gold of one question has
    several.
    """
    file = to_path(path)
    if isinstance(file, RemotePath) and str(file) != file.address:
        cure = "copy it to this machine, or set the credentials outside the address"
        what = "a run records where its dataset is, and this address has a password"
        raise BadInput(what, file=file, cure=cure)
    place = str(file)
    place = place if place not in benchmarks() else f"./{place}"
    if ":" in (to_path(place).name if is_address(place) else place):
        raise BadInput(
            "has a colon in its name; a colon separates a dataset from its split",
            file=place,
            cure="rename it",
        )
    dataset = read(place)
    notice = read_notice(to_path(place))
    by_question = group_by_question(dataset)
    made = list(notice.tasks if notice else registered_tasks(dataset, by_question))
    made = made or list(inferred_tasks(dataset, by_question, place))
    if not made:
        raise _no_tasks(by_question, place)
    name = custom_name(place)
    if len(made) == 1:
        return [replace(made[0], name=name, dataset=place)]
    return [replace(task, name=f"{name}-{task.question}", dataset=place) for task in made]


def group_by_question(dataset: Dataset) -> ByQuestion:
    """The examples whose gold is not hidden, by question and by the kind of task that their shape
    speaks of.
    """
    groups: ByQuestion = {}
    for split, examples in dataset.splits.items():
        for example in examples:
            if example.hidden:
                continue
            for question, value in example.gold.items():
                kind = kind_of(example.inputs, question, value)
                groups.setdefault(question, {}).setdefault(kind, []).append((split, example))
    return groups


def registered_tasks(dataset: Dataset, by_question: ByQuestion) -> Iterator[Task]:
    """Return the tasks of the registered dataset that the card names, or whose recipe built it, if the records fit them."""
    names = (dataset.card.name, dataset.card.homepage.removeprefix(BUILT_HERE))
    name = next((name for name in names if name in benchmarks()), None)
    if name is None:
        return
    for task in benchmarks()[name].tasks:
        pairs = by_question.get(task.question, {}).get(task.kind, ())
        examples = [example for _, example in pairs if task.asks(example)]
        if examples and set(labels_of(task.kind, task.question, examples)) <= set(task.labels):
            yield task


def inferred_tasks(dataset: Dataset, by_question: ByQuestion, place: str) -> Iterator[Task]:
    """A task of each question whose gold has a shape that is known."""
    for question, kinds in by_question.items():
        kind = next((kind for kind in kinds if kind is not None), None)
        if kind is None:
            continue
        if len(kinds) > 1:
            shapes = []
            for other, ((split, example), *_) in kinds.items():
                shape = "has another shape" if other is None else f"is {other}"
                shapes.append(f"{split}/{example.id} {shape}")
            what = f"the gold {question!r} has several shapes: {', '.join(shapes)}"
            cure = f"use one kind of task per question; {SHAPES_PAGE}"
            raise BadInput(what, file=place, cure=cure)
        examples = [example for _, example in kinds[kind]]
        labels = labels_of(kind, question, examples)
        if labels and dataset.card.label_sets and question in dataset.card.label_sets:
            labels = order_labels({*labels, *dataset.card.label_sets[question]})
        scores = [example.gold[question] for example in examples]
        yield Task(
            name="",
            dataset="",
            kind=kind,
            question=question,
            inputs=inputs_of(kind, examples),
            labels=labels,
            metrics=metrics_of(kind, labels, dataset.language),
            scale=scale_of(scores) if kind == "similarity" else None,
        )


def _no_tasks(by_question: ByQuestion, place: str) -> BadInput:
    if not by_question:
        cure = "add gold to its records; nikawa aggregate makes gold from judgements"
        return BadInput("has no gold, so it has no task", file=place, cure=cure)
    question, kinds = next(iter(by_question.items()))
    split, example = kinds[None][0]
    what = f"no kind of task has the inputs {', '.join(example.inputs)} and the gold {question!r} of {split}/{example.id}"
    return BadInput(what, file=place, cure=SHAPES_PAGE)


def custom_name(place: str) -> str:
    """A name after a file or folder that no registered thing has."""
    base = to_path(place).resolve().name
    stem = base if to_path(place).is_dir() else base.split(".")[0]
    name = re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "own"
    is_taken = name in tasks() or name in benchmarks() or name in suites()
    return f"own-{name}" if is_taken else name


def with_usual_splits(dataset: Dataset) -> Dataset:
    """The dataset with the usual names of its splits: `valid` and `trial` are `dev`, unless there
    is one.
    """
    names = {}
    for split in dataset.splits:
        usual = SPLIT_ALIASES.get(split, split)
        names[split] = split if usual in dataset.splits else usual
    if len(set(names.values())) < len(names):
        return dataset
    return replace(dataset, splits={names[name]: rows for name, rows in dataset.splits.items()})


def divide_by_marks(
    training_sets: Sequence[str], examples: Sequence[Example]
) -> dict[str, list[Example]]:
    """Seen and unseen examples, where each has a mark for the one training split; else nothing."""
    if len(training_sets) != 1:
        return {}
    _, split = name_and_split(training_sets[0])
    if not split or any(example.meta.get(split) not in SEEN for example in examples):
        return {}
    return {mark: [e for e in examples if e.meta[split] == mark] for mark in SEEN}


def kind_of(inputs: Mapping[str, Any], question: str, value: Any) -> Kind | None:
    """Return the kind of task with such inputs and gold, or None for an unknown shape.

    >>> kind_of({"premise": "…", "hypothesis": "…"}, "label", "neutral")
    'inference'
    """
    shape = next(
        (kind for kind, names in SHAPES.items() if all(name in inputs for name in names)), None
    )
    if shape is None or question == "binary":  # a binary version of a similarity
        return None
    if shape in ("inference", "similarity"):
        if isinstance(value, str):
            return "inference"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # A whole number may have any number of digits; a score has to fit a float.
        return "similarity" if is_number and abs(value) <= sys.float_info.max else None
    if shape == "text":
        if isinstance(value, str):
            return "text"
        is_spans = isinstance(value, list) and all(isinstance(part, Span) for part in value)
        return "tagging" if is_spans else None
    return shape if GOLD_FITS[shape](value) else None


GOLD_FITS: Mapping[str, Callable[[Any], bool]] = {
    "relation": lambda value: isinstance(value, str),
    "tree": lambda value: isinstance(value, dict) and {"heads", "labels"} <= value.keys(),
    "dialogue": lambda value: isinstance(value, list),
    "choice": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "reading": lambda value: (
        isinstance(value, list) and all(isinstance(part, dict) and "text" in part for part in value)
    ),
}
"""Kind to whether a value can be its gold."""


def inputs_of(kind: Kind, examples: Sequence[Example]) -> tuple[str, ...]:
    """The inputs a model may see."""
    first = examples[0].inputs
    if kind in ("inference", "similarity"):
        return SHAPES["inference"] if "premise" in first else SHAPES["similarity"]
    if kind == "reading" and all("title" in example.inputs for example in examples):
        return ("title", *SHAPES["reading"])
    return SHAPES["text" if kind == "tagging" else kind]


def labels_of(kind: Kind, question: str, examples: Iterable[Example]) -> tuple[str, ...]:
    """Return the labels that occur, in the usual order if there is one."""
    golds = (example.gold[question] for example in examples)
    if kind in ("text", "inference", "relation"):
        met = set(golds)
    elif kind == "tagging":
        met = {span.label for spans in golds for span in spans}
    elif kind == "tree":
        met = {label for tree in golds for label in tree["labels"]}
    else:
        return ()
    return order_labels(met)


def order_labels(labels: set[str]) -> tuple[str, ...]:
    """The labels in the order of the papers' tables where they have one, then by name."""
    first = [label for label in (*NLI, NO_RELATION) if label in labels]
    return (*first, *sorted(labels - set(first)))


def scale_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the usual scale that covers all scores: 0 or 1 to 1 or 5; else their own bounds.

    >>> scale_of([0.5, 3.2]), scale_of([0.1, 0.9]), scale_of([1, 7])
    ((0.0, 5.0), (0.0, 1.0), (1.0, 7.0))
    """
    low, high = min(values), max(values)
    least = float(floor(low)) if low < 0 else float(low >= 1)
    if high <= 1 and least <= 0:
        return least, 1.0
    return least, 5.0 if high <= 5 else float(ceil(high))


def metrics_of(kind: Kind, labels: Sequence[str], language: str) -> tuple[str, ...]:
    """The usual metrics of a kind.

    >>> metrics_of("reading", (), "ko")
    ('klue-em', 'rouge-w')
    """
    if kind == "reading" and language == "ko":
        return KOREAN_READING_METRICS
    return RELATION_METRICS if kind == "relation" and NO_RELATION in labels else USUAL_METRICS[kind]
