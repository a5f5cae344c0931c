"""What a run works on: the training examples, those to choose on, and the sets to answer, as its value names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets import tasks
from nikawa.datasets.custom import declared_protocol
from nikawa.datasets.reader import ExampleReader, with_full_reference
from nikawa.datasets.subsets import fold_of, hold_out, hold_rows, share_of, shots_of
from nikawa.errors import BadInput
from nikawa.records import Example, Task
from nikawa.runs.value import FILE, RunSpec
from nikawa.spec import name_and_split

SELECT = "select"
"""The name of the set that settings are chosen on."""


@dataclass(frozen=True)
class Material:
    """The examples of a run, gold and all."""

    task: Task
    """The task as published; `seen` has the inputs the model sees."""
    seen: Task
    train: list[Example]
    select: list[Example]
    sets: dict[str, list[Example]]
    """Name of a file of answers to the examples it answers."""
    folds: dict[str, int] = field(default_factory=dict)
    """Example to fold, where the set is answered by models of its other folds."""

    def parts(self) -> Iterator[tuple[int, list[Example], list[Example]]]:
        """(Fold, what is learned from, what is answered) where there are folds."""
        (examples,) = self.sets.values()
        for fold in sorted(set(self.folds.values())):
            asked = [e for e in examples if self.folds[e.id] == fold]
            yield fold, [e for e in examples if self.folds[e.id] != fold], asked


def task_of(spec: RunSpec) -> Task:
    """The task of a run: its own where it brings one, else as registered."""
    return spec.own if isinstance(spec.own, Task) else tasks()[spec.task]


def gather(spec: RunSpec, reader: ExampleReader) -> Material:
    """Read what a run names, and hold it against the digests the run was planned with."""
    _check(spec, reader)
    task, protocol = task_of(spec), spec.protocol
    seen = replace(task, inputs=spec.variation.inputs) if spec.variation.inputs else task
    learned = _training(spec, task, reader)
    rest, select = _selection(spec, task, learned, reader)
    if spec.stage == "selection":
        return Material(task, seen, varied(spec, task, rest), select, {SELECT: select})
    if protocol.folds:
        name = protocol.evaluate[0]
        together = declared_protocol(task.dataset).fold_unit
        numbers = fold_of(rest, protocol.folds, name, together)
        folds = {e.id: numbers[together(e)] for e in rest}
        return Material(task, seen, [], select, {set_name(name, task): rest}, folds)
    sets = {set_name(name, task): list(reader.examples(name, task)) for name in protocol.evaluate}
    return Material(task, seen, varied(spec, task, rest), select, sets)


def _check(spec: RunSpec, reader: ExampleReader) -> None:
    if isinstance(spec.own, Task) and not Path(spec.own.dataset).exists():
        cure = "bring it back, or start from the folder that nikawa run was started in"
        raise BadInput("the dataset of the run is not here", file=spec.own.dataset, cure=cure)
    for wanted in spec.data:
        if wanted.version == FILE:
            continue
        here = reader.describe(wanted.name)
        if here.digest != wanted.digest:
            what = f"{wanted.name} here is not the data the run was planned with ({wanted.version}, {wanted.digest})"
            raise BadInput(what, cure="bring that data, or plan the run anew with the same command")


def _training(spec: RunSpec, task: Task, reader: ExampleReader) -> list[Example]:
    names = spec.protocol.train
    found: list[Example] = []
    for name in names:
        examples = reader.training(name, task, spec.variation.labels)
        found += (
            examples
            if len(names) == 1
            else [with_full_reference(name, example) for example in examples]
        )
    return found


def _selection(
    spec: RunSpec, task: Task, learned: list[Example], reader: ExampleReader
) -> tuple[list[Example], list[Example]]:
    """What is left to learn from, and what is chosen on."""
    protocol, cell_of = spec.protocol, declared_protocol(task.dataset).cell_of
    if not protocol.select:
        return learned, []
    if not protocol.select_share:
        return learned, list(reader.training(protocol.select, task, {}))
    if cell_of is not None and all(name.startswith(f"{task.dataset}:") for name in protocol.train):
        held = hold_rows(learned, 1, cell_of, protocol.select)
        return [e for e in learned if e.id not in held], [e for e in learned if e.id in held]
    return hold_out(learned, protocol.select_share, protocol.select)


def varied(spec: RunSpec, task: Task, examples: list[Example]) -> list[Example]:
    """The share or the shots that are learned from."""
    if spec.variation.share != 1.0:
        examples = share_of(examples, spec.variation.share, spec.seed)
    return (
        shots_of(task, examples, spec.variation.shots, spec.seed)
        if spec.variation.shots
        else examples
    )


def set_name(name: str, task: Task) -> str:
    """What the file of answers to a set is called: `test`, or `jsick.test` for one of another dataset."""
    dataset, split = name_and_split(name)
    return split if dataset == task.dataset else f"{dataset}.{split}"


def bare(task: Task, examples: Sequence[Example]) -> list[Example]:
    """What a model may see when it answers: ids and the inputs of the task."""
    return [
        Example(id=e.id, inputs={name: e.inputs[name] for name in task.inputs}) for e in examples
    ]


def to_learn(task: Task, examples: Sequence[Example]) -> list[Example]:
    """What a model may see when it learns: the same, the gold of the question, and which belong together."""
    return [
        Example(
            id=e.id,
            inputs={name: e.inputs[name] for name in task.inputs},
            gold={task.question: e.gold[task.question]},
            group=e.group,
        )
        for e in examples
    ]
