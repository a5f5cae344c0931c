"""What the name of a task or dataset stands for, be it registered or a path of the user's own.

Other modules ask here and need not know the two sorts apart: `datasets/names.py` holds what is
registered, `datasets/custom.py` infers the tasks of a folder or records file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from nikawa.datasets.base import RunProtocol
from nikawa.datasets.custom import custom_name, custom_tasks, divide_by_marks, is_custom
from nikawa.datasets.load import load, peek
from nikawa.datasets.names import benchmarks, suites, tasks, tasks_of
from nikawa.errors import BadInput
from nikawa.io.folders import is_dataset_folder
from nikawa.io.remote import mask_secrets, to_path
from nikawa.records import Card, Dataset, Task
from nikawa.spec import name_and_split

EXAMPLES_PEEKED = 20
"""Examples of each split that tell the language of a file without a card."""


def find_tasks(name: str, read: Callable[[str], Dataset] = load) -> list[Task]:
    """The tasks a name stands for: as registered, else those of a dataset folder or records file.

    `my-data` has all its tasks, `my-data-label` the one that asks for the label. `read` loads a
    path.
    """
    if name in tasks() or name in benchmarks() or name in suites():
        return tasks_of(name)
    if name.strip() and to_path(name).exists():
        return custom_tasks(name, read)
    for dash in reversed(list(re.finditer("-", name))):
        path, question = name[: dash.start()], name[dash.end() :]
        if path.strip() and (is_dataset_folder(to_path(path)) or to_path(path).is_file()):
            chosen = [task for task in custom_tasks(path, read) if task.question == question]
            if chosen:
                return chosen
    head, _ = name_and_split(name)
    if head != name and head.strip() and to_path(head).exists():
        raise BadInput(f"{name} names a split", cure=f"a task covers a whole dataset: write {head}")
    if "/" in name:
        raise BadInput("no such file or folder", file=mask_secrets(name), cure="check the path")
    return tasks_of(name)


def typed_name(task: Task) -> str:
    """What a user types for a task: its name, or the path of its dataset, with the question where
    there are several.
    """
    if not is_custom(task.dataset):
        return task.name
    if task.name == custom_name(task.dataset):
        return task.dataset
    return f"{task.dataset}-{task.question}"


def dataset_title(dataset: str) -> str:
    """What a dataset is called in titles: its name, or that of its folder or file, in characters
    that fit everywhere.
    """
    return custom_name(dataset) if is_custom(dataset) else dataset


def declared_protocol(dataset: str) -> RunProtocol:
    """How models are run on a dataset, registered or custom."""
    if is_custom(dataset):
        return RunProtocol(divide=divide_by_marks)
    return benchmarks()[dataset].protocol


def has_numbered_labels(task: Task) -> bool:
    """Whether answers without ids that are numbers mean places in the task's labels, as official
    tools write them.
    """
    if is_custom(task.dataset) or not task.labels:
        return False
    return benchmarks()[task.dataset].numbered_labels


def inputs_for_prompt(task: Task, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inputs of an example as a prompt shows them: as published, unless the dataset declares
    another form.
    """
    declared = benchmarks()[task.dataset].prompt_inputs if task.dataset in benchmarks() else None
    return inputs if declared is None else declared(inputs)


def card_and_language(dataset: str) -> tuple[Card, str]:
    """The card of a dataset, registered or custom, and its language."""
    if not is_custom(dataset):
        return benchmarks()[dataset].card, benchmarks()[dataset].language
    first = peek(dataset, EXAMPLES_PEEKED)
    return first.card, first.language
