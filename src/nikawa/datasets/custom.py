"""Tasks of a dataset of one's own: what a folder or records file asks is told by the shape of its records.

The question is the key of gold, the kind follows from inputs and gold (the table of docs/records.md), labels are those
met in all splits. A dataset whose card bears the name of a registered one is asked that one's questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.base import RunProtocol
from nikawa.datasets.load import load, peek
from nikawa.datasets.names import SPLIT_ALIASES, benchmarks, suites, tasks, tasks_of
from nikawa.datasets.shapes import inputs_of, kind_of, labels_of, metrics_of, scale_of
from nikawa.datasets.views import SEEN, marked_views
from nikawa.errors import BadInput
from nikawa.records import Card, Dataset, Example, Kind, Task
from nikawa.spec import name_and_split

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
            asked = [
                task for task in own_tasks(name[:place], read) if task.question == name[place + 1 :]
            ]
            if asked:
                return asked
    head, _ = name_and_split(name)
    if head != name and head.strip() and Path(head).exists():
        raise BadInput(
            f"{name} names a split", cure=f"a task is asked of a whole dataset: write {head}"
        )
    if "/" in name:
        raise BadInput("no such file or folder", file=name, cure="check the path")
    return tasks_of(name)


def own_tasks(path: str, read: Callable[[str], Dataset] = load) -> list[Task]:
    """The tasks of a dataset folder or records file, in the order their questions are met."""
    place = str(Path(path))
    place = place if place not in benchmarks() else f"./{place}"
    if ":" in place:
        raise BadInput(
            "has a colon in its name, which parts a dataset from its split",
            file=place,
            cure="rename it",
        )
    dataset = read(place)
    found = _read(dataset)
    known = list(_registered(dataset, found))
    asked = known or list(_inferred(dataset, found, place))
    if not asked:
        raise _nothing(dataset, found, place)
    name = _name(place)
    return [
        replace(t, name=name if len(asked) == 1 else f"{name}-{t.question}", dataset=place)
        for t in asked
    ]


def typed(task: Task) -> str:
    """What a user writes for a task: its name, or the path of its dataset, with the question where there are several."""
    if not is_own(task.dataset):
        return task.name
    return task.dataset if task.name == _name(task.dataset) else f"{task.dataset}-{task.question}"


def name_of(dataset: str) -> str:
    """What a dataset is called in titles: its name, or that of its folder or file, in characters that fit everywhere."""
    return _name(dataset) if is_own(dataset) else dataset


def _name(place: str) -> str:
    base = Path(place).resolve().name
    plain = (
        re.sub(r"[^\w.-]+", "-", base if Path(place).is_dir() else base.split(".")[0]).strip("-.")
        or "own"
    )
    return (
        f"own-{plain}" if plain in tasks() or plain in benchmarks() or plain in suites() else plain
    )


def _read(dataset: Dataset) -> Found:
    found: Found = {}
    for split, examples in dataset.splits.items():
        for example in examples:
            if example.origin is not None and example.origin.gold == "hidden":
                continue
            for question, value in example.gold.items():
                kinds = found.setdefault(question, {})
                kinds.setdefault(kind_of(example.inputs, question, value), []).append(
                    (split, example)
                )
    return found


def _registered(dataset: Dataset, found: Found) -> Iterator[Task]:
    """The tasks of the registered dataset that the card names, where the records fit them."""
    for task in benchmarks()[dataset.card.name].tasks if dataset.card.name in benchmarks() else ():
        kinds = found.get(task.question, {})
        examples = [example for _, example in kinds.get(task.kind, ()) if task.asks(example)]
        if examples and set(labels_of(task.kind, task.question, examples)) <= set(task.labels):
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
    labels = labels_of(kind, question, examples)
    metrics = metrics_of(kind, labels, dataset.language)
    return Task(
        name="",
        dataset="",
        kind=kind,
        question=question,
        inputs=inputs_of(kind, examples),
        labels=labels,
        metrics=metrics,
        scale=scale_of([e.gold[question] for e in examples]) if kind == "similarity" else None,
    )


def _mixed(
    question: str, kinds: Mapping[Kind | None, Sequence[tuple[str, Example]]], place: str
) -> BadInput:
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


def canonical(dataset: Dataset) -> Dataset:
    """The dataset with the usual names of its splits: `valid` and `trial` are `dev`, unless there is one."""
    have = dataset.splits
    if not any(name in SPLIT_ALIASES for name in have):
        return dataset
    names = {n: a if (a := SPLIT_ALIASES.get(n, n)) not in have else n for n in have}
    if len(set(names.values())) < len(names):
        return dataset
    return replace(dataset, splits={names[name]: examples for name, examples in have.items()})


def training_splits(dataset: Dataset) -> list[str]:
    """Splits that are parts of train, each leaving kinds of items out: the items of the other splits bear their marks."""
    return marked_views(dataset.splits)


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


def declared_protocol(dataset: str) -> RunProtocol:
    """How models are run on a dataset, registered or custom."""
    if is_own(dataset):
        return RunProtocol(divide=divide_by_marks)
    return benchmarks()[dataset].protocol


def has_numbered_labels(task: Task) -> bool:
    """Whether answers without ids that are numbers mean places in the task's labels, as official tools write them."""
    if is_own(task.dataset) or not task.labels:
        return False
    return benchmarks()[task.dataset].numbered_labels


def card_of(dataset: str) -> tuple[Card, str]:
    """The card of a dataset, registered or one's own, and its language."""
    if not is_own(dataset):
        return benchmarks()[dataset].card, benchmarks()[dataset].language
    found = peek(dataset, PEEKED)
    return found.card, found.language
