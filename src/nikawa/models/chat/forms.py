"""How a kind of task is asked and its answers are read; the kinds are in the files beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from nikawa.errors import BadInput
from nikawa.models.chat.reading import Options, Unreadable, json_in, quoted
from nikawa.models.chat.template import Template
from nikawa.records import Example, Task


class Form(ABC):
    """One task in one language; what all kinds share."""

    tokens: ClassVar[int] = 64
    """Tokens an answer may take."""
    choice: ClassVar[bool] = False
    """Whether log-probabilities can choose the answer."""
    structured: ClassVar[bool] = False
    """Whether the answer is JSON however it is asked for."""
    constrained: ClassVar[bool] = True
    """Whether a server that can hold an answer to a schema should."""

    def __init__(
        self, task: Task, template: Template, language: str, pool: Sequence[Example] = ()
    ) -> None:
        self.task, self.template, self.language, self.pool = task, template, language, pool

    def options(self, example: Example) -> Options | None:
        """The answers to choose from."""
        return None

    def common(self) -> dict[str, str]:
        """The slots that are the same for all examples."""
        return {}

    def slots(self, example: Example) -> dict[str, str]:
        """All slots of one example: of its inputs only those the task lets a model see."""
        seen = {name: example.inputs.get(name) for name in self.task.inputs}
        return {
            **self.common(),
            **{name: value for name, value in seen.items() if isinstance(value, str)},
        }

    def answer(self, example: Example, gold: Any) -> Any:
        """The value that stands in the JSON of an answer."""
        return gold

    @abstractmethod
    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """The JSON schema of an answer; the same for all examples, but for those that bring their own options."""

    def shown(self, example: Example, gold: Any, as_json: bool) -> str:
        """An answer as an example shows it."""
        value = self.answer(example, gold)
        if as_json or self.structured:
            field = next(iter(self.schema(example)["properties"]))
            return msgspec.json.encode({field: value}).decode()
        return str(value)

    @abstractmethod
    def read(self, example: Example, text: str) -> Any:
        """The answer in a text; raises `Unreadable`."""


def words_of(template: Template, labels: Sequence[str]) -> tuple[str, ...]:
    """The words labels are shown by; their own names where the prompt has no others."""
    return tuple(template.labels.get(label, label) for label in labels)


def labels_of(task: Task) -> tuple[str, ...]:
    """The labels of a task, which must have some."""
    if not task.labels:
        raise BadInput(f"the task {task.name} has no list of labels", cure="name its labels")
    return task.labels


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has just these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_in(text: str, field: str) -> list[Any]:
    """The list an answer holds, under its field or bare."""
    found = json_in(text, (dict, list))
    if isinstance(found, dict):
        found = found.get(field)
    if not isinstance(found, list):
        raise Unreadable(f"{quoted(text)} holds no list of {field}")
    return found
