"""The data of a run: the training examples, the examples that choose settings, and the sets to answer,
as its spec names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from nikawa.datasets import tasks
from nikawa.datasets.reader import ExampleReader, with_full_reference
from nikawa.datasets.subsets import assign_folds, hold_out, hold_rows, take_share, take_shots
from nikawa.datasets.task_lookup import declared_protocol
from nikawa.errors import BadInput
from nikawa.io.remote import to_path
from nikawa.records import Example, Task
from nikawa.runs.records import FILE, RunSpec
from nikawa.spec import name_and_split

SELECTION_SET = "select"
"""The name of the set that settings are chosen on."""


@dataclass(frozen=True)
class RunData:
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
    folded: list[Example] = field(default_factory=list)
    """All examples that have a fold; a limited run answers the first of them only."""

    def parts(self) -> Iterator[tuple[int, list[Example], list[Example]]]:
        """(Fold, training examples, examples to answer) if there are folds."""
        (examples,) = self.sets.values()
        for fold in sorted({self.folds[example.id] for example in examples}):
            training = [example for example in self.folded if self.folds[example.id] != fold]
            held_out = [example for example in examples if self.folds[example.id] == fold]
            yield fold, training, held_out


def task_of(spec: RunSpec) -> Task:
    """The task of a run: its own task if it has one, otherwise the registered one."""
    return spec.own if isinstance(spec.own, Task) else tasks()[spec.task]


def load_run_data(spec: RunSpec, reader: ExampleReader) -> RunData:
    """Read the data of a run, and check it against the digests of its plan."""
    check_data(spec, reader)
    task, protocol = task_of(spec), spec.protocol
    seen = replace(task, inputs=spec.variation.inputs) if spec.variation.inputs else task
    rest, select = split_training(spec, task, reader)
    if not protocol.folds or spec.stage == "selection":
        train = take_training_part(spec, task, rest)
        if spec.stage == "selection":
            asked = {SELECTION_SET: take_first(spec, select)}
            return RunData(task, seen, train, select, asked)
        return RunData(task, seen, train, select, _evaluated_sets(spec, task, reader))
    name = protocol.evaluate[0]
    fold_unit = declared_protocol(task.dataset).fold_unit
    numbers = assign_folds(rest, protocol.folds, name, fold_unit)
    folds = {example.id: numbers[fold_unit(example)] for example in rest}
    answered = {set_name(name, task): take_first(spec, rest)}
    return RunData(task, seen, [], select, answered, folds, rest)


def load_answered_sets(spec: RunSpec, reader: ExampleReader) -> dict[str, list[Example]]:
    """The sets that a run answers; the training data is read only if the sets depend on it.

    See `check_data`.
    """
    if spec.protocol.folds or spec.stage == "selection":
        return load_run_data(spec, reader).sets
    return _evaluated_sets(spec, task_of(spec), reader)


def _evaluated_sets(spec: RunSpec, task: Task, reader: ExampleReader) -> dict[str, list[Example]]:
    names = spec.protocol.evaluate
    return {set_name(name, task): take_first(spec, reader.examples(name, task)) for name in names}


def take_first(spec: RunSpec, examples: Sequence[Example]) -> list[Example]:
    """The items of a set that a run answers: all, or the first ones if the run is limited.

    They are the first in the order of the set, whether their labels are hidden or not, and in any fold:
    each gets the same answer as in the run without a limit.
    """
    return list(examples[: spec.variation.limit or None])


def check_data(spec: RunSpec, reader: ExampleReader) -> None:
    """Refuse data that differs from the data of the plan: answers belong to the examples they were
    given to.
    """
    if isinstance(spec.own, Task) and not to_path(spec.own.dataset).exists():
        cure = "restore it, or change to the folder that you started nikawa run in"
        raise BadInput("the dataset of the run is missing", file=spec.own.dataset, cure=cure)
    for planned in spec.data:
        if planned.version == FILE:
            continue
        if not reader.holds(planned):
            what = f"{planned.name} has changed since the run was planned ({planned.version}, {planned.digest})"
            raise BadInput(
                what, cure="restore that data, or run the same command again to plan a new run"
            )


def split_training(
    spec: RunSpec, task: Task, reader: ExampleReader
) -> tuple[list[Example], list[Example]]:
    """The remaining training examples, and the examples that choose settings.

    The second is a separate set, a share of the training data, or empty if nothing is chosen.
    """
    protocol = spec.protocol
    training: list[Example] = []
    for name in protocol.train:
        examples = reader.training_examples(name, task, spec.variation.labels)
        if len(protocol.train) == 1:
            training += examples
        else:
            training += [with_full_reference(name, example) for example in examples]
    if not protocol.select:
        return training, []
    if not protocol.select_share:
        return training, list(reader.training_examples(protocol.select, task, {}))
    cell_of = declared_protocol(task.dataset).cell_of
    if cell_of is not None and all(name.startswith(f"{task.dataset}:") for name in protocol.train):
        held_ids = hold_rows(training, 1, cell_of, protocol.select)
        rest = [example for example in training if example.id not in held_ids]
        select = [example for example in training if example.id in held_ids]
        return rest, select
    return hold_out(training, protocol.select_share, protocol.select)


def take_training_part(spec: RunSpec, task: Task, examples: list[Example]) -> list[Example]:
    """The share or the shots that are learned from."""
    if spec.variation.share != 1.0:
        examples = take_share(examples, spec.variation.share, spec.seed)
    if spec.variation.shots:
        examples = take_shots(task, examples, spec.variation.shots, spec.seed)
    return examples


def set_name(name: str, task: Task) -> str:
    """The name of the file of answers to a set: `test`, or `jsick.test` for one of another
    dataset.
    """
    dataset, split = name_and_split(name)
    return split if dataset == task.dataset else f"{dataset}.{split}"


def strip_to_inputs(task: Task, examples: Sequence[Example]) -> list[Example]:
    """The parts of an example that a model sees when it answers: ids and the inputs of the task."""
    return [
        Example(id=example.id, inputs={name: example.inputs[name] for name in task.inputs})
        for example in examples
    ]


def strip_to_training(task: Task, examples: Sequence[Example]) -> list[Example]:
    """The parts of an example that a model sees when it learns: the same, the gold of the question, and
    the group.
    """
    return [
        Example(
            id=example.id,
            inputs={name: example.inputs[name] for name in task.inputs},
            gold={task.question: example.gold[task.question]},
            group=example.group,
        )
        for example in examples
    ]
