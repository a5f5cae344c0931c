"""Tasks of a dataset of one's own: what a folder or records file asks is told by the shape of its records.

The question is the key of gold, the kind follows from inputs and gold (the table of docs/records.md), labels are those
met in all splits. A dataset whose card bears the name of a registered one is asked that one's questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nikawa.benchmarks.load import load, peek
from nikawa.benchmarks.names import benchmarks, suites, tasks, tasks_of
from nikawa.errors import BadInput
from nikawa.records import Card, Dataset, Example, Kind, Span, Task

ORDINARY = ("train", "dev", "test")
SEEN = ("seen", "unseen")
"""What the meta of a test item says, under the name of a training split, of its own kind."""
NLI = ("entailment", "contradiction", "neutral")
NONE = "no_relation"
"""The relation that is none: it comes first, where F1 leaves it out."""
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
"""Kind to the inputs that tell it, the more telling first."""
METRICS: Mapping[Kind, tuple[str, ...]] = {
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
KOREAN_READING = ("klue-em", "rouge-w")
PEEKED = 20
"""Examples a split that tell the language of a file without a card."""
SHAPES_PAGE = "docs/records.md shows the shapes of tasks"

Found = dict[str, dict[Kind | None, list[tuple[str, Example]]]]
"""Question to kind (None: of no shape known here) to examples with their splits."""


def is_own(dataset: str) -> bool:
    """Whether a task's dataset is a path, not the name of a registered one."""
    return dataset not in benchmarks()


def named_tasks(name: str, read: Callable[[str], Dataset] = load) -> list[Task]:
    """The tasks a name stands for: as registered, else those of a dataset folder or records file of one's own.

    `my-data` has all its tasks, `my-data-label` the one that asks for the label. `read` loads a path.
    """
    if name in tasks() or name in benchmarks() or name in suites():
        return tasks_of(name)
    if name.strip() and Path(name).exists():
        return own_tasks(name, read)
    for place in (found.start() for found in reversed(list(re.finditer("-", name)))):
        if name[:place].strip() and Path(name[:place]).exists():
            asked = [task for task in own_tasks(name[:place], read) if task.question == name[place + 1 :]]
            if asked:
                return asked
    head, colon, _ = name.partition(":")
    if colon and head.strip() and Path(head).exists():
        raise BadInput(f"{name} names a split", cure=f"a task is asked of a whole dataset: write {head}")
    if "/" in name:
        raise BadInput("no such file or folder", file=name, cure="check the path")
    return tasks_of(name)


def own_tasks(path: str, read: Callable[[str], Dataset] = load) -> list[Task]:
    """The tasks of a dataset folder or records file, in the order their questions are met."""
    place = str(Path(path))
    place = place if place not in benchmarks() else f"./{place}"
    if ":" in place:
        raise BadInput(
            "has a colon in its name, which parts a dataset from its split", file=place, cure="rename it"
        )
    dataset = read(place)
    found = _read(dataset)
    known = list(_registered(dataset, found))
    asked = known or list(_inferred(dataset, found, place))
    if not asked:
        raise _nothing(dataset, found, place)
    name = _name(place)
    return [
        replace(t, name=name if len(asked) == 1 else f"{name}-{t.question}", dataset=place) for t in asked
    ]


def typed(task: Task) -> str:
    """What a user writes for a task: its name, or the path of its dataset, with the question where there are several."""
    if not is_own(task.dataset):
        return task.name
    return task.dataset if task.name == _name(task.dataset) else f"{task.dataset}-{task.question}"


def _name(place: str) -> str:
    """What its tasks are called: as the folder or file is, in characters that fit everywhere."""
    base = Path(place).resolve().name
    plain = (
        re.sub(r"[^\w.-]+", "-", base if Path(place).is_dir() else base.split(".")[0]).strip("-.") or "own"
    )
    return f"own-{plain}" if plain in tasks() or plain in benchmarks() or plain in suites() else plain


def _read(dataset: Dataset) -> Found:
    found: Found = {}
    for split, examples in dataset.splits.items():
        for example in examples:
            if example.origin is not None and example.origin.gold == "hidden":
                continue
            for question, value in example.gold.items():
                kinds = found.setdefault(question, {})
                kinds.setdefault(_kind(example.inputs, question, value), []).append((split, example))
    return found


def _kind(inputs: Mapping[str, Any], question: str, value: Any) -> Kind | None:
    """The kind of task that has such inputs and such gold."""
    shape = next((kind for kind, names in SHAPES.items() if all(name in inputs for name in names)), None)
    if shape is None or question == "binary":  # a similarity cut in two, told beside it
        return None
    if shape in ("inference", "similarity"):
        return "inference" if isinstance(value, str) else "similarity" if _is_number(value) else None
    if shape == "text":
        return "text" if isinstance(value, str) else "tagging" if _is_spans(value) else None
    return shape if FITS[shape](value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Span) for part in value)


FITS: Mapping[str, Callable[[Any], bool]] = {
    "relation": lambda value: isinstance(value, str),
    "tree": lambda value: isinstance(value, dict) and {"heads", "labels"} <= value.keys(),
    "dialogue": lambda value: isinstance(value, list),
    "choice": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "reading": lambda value: (
        isinstance(value, list) and all(isinstance(part, dict) and "text" in part for part in value)
    ),
}


def _registered(dataset: Dataset, found: Found) -> Iterator[Task]:
    """The tasks of the registered dataset that the card names, where the records fit them."""
    for task in benchmarks()[dataset.card.name].tasks if dataset.card.name in benchmarks() else ():
        kinds = found.get(task.question, {})
        examples = [example for _, example in kinds.get(task.kind, ()) if task.asks(example)]
        if examples and set(_labels(task.kind, task.question, examples)) <= set(task.labels):
            yield task


def _inferred(dataset: Dataset, found: Found, place: str) -> Iterator[Task]:
    for question, kinds in found.items():
        told = {kind: pairs for kind, pairs in kinds.items() if kind is not None}
        if not told:
            continue
        if len(kinds) > 1:
            raise _mixed(question, kinds, place)
        ((kind, pairs),) = told.items()
        yield _task(dataset, kind, question, [example for _, example in pairs])


def _task(dataset: Dataset, kind: Kind, question: str, examples: Sequence[Example]) -> Task:
    labels = _labels(kind, question, examples)
    metrics = METRICS[kind]
    if kind == "reading" and dataset.language == "ko":
        metrics = KOREAN_READING
    if kind == "relation" and NONE in labels:
        metrics = ("relation-micro-f1", "macro-f1")
    return Task(
        name="", dataset="", kind=kind, question=question, inputs=_inputs(kind, examples), labels=labels, metrics=metrics,
        scale=_scale([e.gold[question] for e in examples]) if kind == "similarity" else None,
    )  # fmt: skip


def _inputs(kind: Kind, examples: Sequence[Example]) -> tuple[str, ...]:
    first = examples[0].inputs
    if kind in ("inference", "similarity"):
        return SHAPES["inference"] if "premise" in first else SHAPES["similarity"]
    if kind == "reading" and all("title" in example.inputs for example in examples):
        return ("title", *SHAPES["reading"])
    return SHAPES["text" if kind == "tagging" else kind]


def _labels(kind: Kind, question: str, examples: Iterable[Example]) -> tuple[str, ...]:
    """The labels met, in the usual order where there is one."""
    golds = (example.gold[question] for example in examples)
    if kind in ("text", "inference", "relation"):
        met = set(golds)
    elif kind == "tagging":
        met = {span.label for spans in golds for span in spans}
    elif kind == "tree":
        met = {label for tree in golds for label in tree["labels"]}
    else:
        return ()
    first = [label for label in (*NLI, NONE) if label in met]
    return (*first, *sorted(met - set(first)))


def _scale(values: Sequence[float]) -> tuple[float, float]:
    """The usual scale that holds all scores: 0 or 1 to 1 or 5; else their own bounds."""
    low, high = min(values), max(values)
    least = floor(low) if low < 0 else float(low >= 1)
    return float(least), 1.0 if high <= 1 and least <= 0 else 5.0 if high <= 5 else float(ceil(high))


def _mixed(question: str, kinds: Mapping[Kind | None, Sequence[tuple[str, Example]]], place: str) -> BadInput:
    shown = [
        f"{pairs[0][0]}/{pairs[0][1].id} {'has another shape' if kind is None else f'is {kind}'}"
        for kind, pairs in kinds.items()
    ]
    what = f"the gold {question!r} has several shapes: {', '.join(shown)}"
    return BadInput(what, file=place, cure=f"keep one kind of task a question; {SHAPES_PAGE}")


def _nothing(dataset: Dataset, found: Found, place: str) -> BadInput:
    if not found:
        cure = "add gold to its records: nikawa aggregate makes it from judgements"
        return BadInput("has no gold, so nothing can be asked of it", file=place, cure=cure)
    (question, kinds), *_ = found.items()
    split, example = kinds[None][0]
    what = f"no kind of task has the inputs {', '.join(example.inputs)} and such a {question!r} as {split}/{example.id}"
    return BadInput(what, file=place, cure=SHAPES_PAGE)


def training_splits(dataset: Dataset) -> list[str]:
    """Splits that are parts of train, each leaving kinds of items out: the items of the other splits bear their marks."""
    more = [name for name in dataset.splits if name not in ORDINARY]
    marked = {
        key
        for split in ORDINARY[1:]
        for example in dataset.splits.get(split, ())[:1]
        for key, value in example.meta.items()
        if value in SEEN
    }
    return [name for name in more if name in marked]


def card_of(dataset: str) -> tuple[Card, str]:
    """The card of a dataset, registered or one's own, and its language."""
    if not is_own(dataset):
        return benchmarks()[dataset].card, benchmarks()[dataset].language
    found = peek(dataset, PEEKED)
    return found.card, found.language
