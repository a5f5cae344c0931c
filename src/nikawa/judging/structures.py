"""Answers with a structure, as a model is asked for them: a tree word by word, the states of a dialogue turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from nikawa.collect.form import Form
from nikawa.collect.forms._dialogue import USER, OntologySettings
from nikawa.io.ontology import DONTCARE, Ontology

BLANK = "…"
"""Stands for what is asked."""
Structure = Literal["tree", "states"]


def find_structure(form: Form) -> Structure | None:
    """The structure that a form asks for, if it is one of this file; None: another one, or none."""
    answer = {} if form.sample is None else form.sample.answer
    (value, *more) = answer.values() or [None]
    if more:
        return None
    if isinstance(value, dict) and value.keys() == {"heads", "labels"} and "words" in form.inputs:
        return "tree"
    has_ontology = form.settings is not None and issubclass(form.settings, OntologySettings)
    if isinstance(value, list) and has_ontology and "turns" in form.inputs:
        return "states"
    return None


class ReplyFault(ValueError):
    """What makes a reply no answer, in a message of this package."""

    def __init__(self, message: str, value: Any) -> None:
        super().__init__(f"{message}: {value}")
        self.message = message
        self.value = value


@dataclass(frozen=True)
class TreeField:
    """A dependency tree: a head and a relation for each word."""

    question: str
    words: tuple[str, ...]
    """The words, with their tags."""
    labels: tuple[str, ...]
    """The relations, in the order in which they are shown."""
    names: tuple[str, ...]
    """What each relation is called."""
    begun: Mapping[str, Sequence[Any]] | None
    """The tree that the page begins with."""

    message: ClassVar[str] = "tree"
    shows: ClassVar[tuple[str, ...]] = ("words", "tree", "answers")
    """Inputs that it shows itself, or that no model sees: the trees of other workers."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        size = len(self.words)
        number = {"type": "integer", "minimum": 0, "maximum": size}
        word = {
            "type": "object",
            "properties": {
                "word": {**number, "minimum": 1},
                "head": number,
                "label": {"type": "string", "enum": list(self.labels)},
            },
            "required": ["word", "head", "label"],
            "additionalProperties": False,
        }
        return {"type": "array", "items": word, "minItems": size, "maxItems": size}

    def shape(self) -> Any:
        """The answer with blanks in place of what is asked."""
        return [{"word": n, "head": BLANK, "label": BLANK} for n in range(1, len(self.words) + 1)]

    def show(self, words: Mapping[str, str]) -> Iterator[str]:
        """The words with their numbers, and the tree to begin with."""
        numbered = (f"{n}. {word}" for n, word in enumerate(self.words, start=1))
        yield "\n".join((f"{words['words']}:", *numbered))
        if self.begun is not None:
            pairs = zip(self.begun["heads"], self.begun["labels"], strict=True)
            arcs = (f"{n} → {head}: {label or BLANK}" for n, (head, label) in enumerate(pairs, 1))
            yield "\n".join((f"{words['input_begun']}:", *arcs))

    def choices(self) -> Iterator[str]:
        """The relations."""
        for label, name in zip(self.labels, self.names, strict=True):
            yield f"{label}: {name}" if name != label else label

    def read(self, value: Any) -> Any:
        """The tree that a reply means; anything else as it is, for the form to refuse. Raises `ReplyFault`."""
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return value
        size = len(self.words)
        rows = {str(one.get("word")).strip(): one for one in value}
        numbers = list(map(str, range(1, size + 1)))
        if len(value) != size or rows.keys() != set(numbers):
            raise ReplyFault("tree_words", size)
        heads = [_read_number(rows[number].get("head")) for number in numbers]
        labels = [rows[number].get("label") for number in numbers]
        for number, (head, label) in enumerate(zip(heads, labels, strict=True), start=1):
            if type(head) is not int or not 0 <= head <= size or head == number:
                raise ReplyFault("tree_head", f"{number} → {head}")
            if label not in self.labels:
                raise ReplyFault("not_offered", label)
        return {"heads": heads, "labels": labels}


def _read_number(value: Any) -> Any:
    """A number, also where it is written as a text."""
    is_text = isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal()
    return int(value) if is_text else value


@dataclass(frozen=True)
class StatesField:
    """The state of a dialogue after each turn of the user."""

    question: str
    turns: tuple[Mapping[str, str], ...]
    ontology: Ontology
    begun: Sequence[Sequence[str]] | None
    """The states that the page begins with."""

    message: ClassVar[str] = "states"
    shows: ClassVar[tuple[str, ...]] = ("turns", "states")

    @property
    def count(self) -> int:
        """The turns of the user."""
        return sum(turn["role"] == USER for turn in self.turns)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        state = {"type": "array", "items": {"type": "string"}}
        return {"type": "array", "items": state, "minItems": self.count, "maxItems": self.count}

    def shape(self) -> Any:
        """The answer with blanks in place of what is asked."""
        return [[BLANK]] * self.count

    def show(self, words: Mapping[str, str]) -> Iterator[str]:
        """The turns, those of the user with their numbers, and the states to begin with."""
        lines, number = [f"{words['dialogue']}:"], 0
        for turn in self.turns:
            role = turn["role"]
            number += role == USER
            place = f"{number}. " if role == USER else ""
            lines.append(f"{place}{words[f'role_{role}']}: {turn['text']}")
        yield "\n".join(lines)
        if self.begun is not None:
            states = (
                f"{n}. {msgspec.json.encode(one).decode()}" for n, one in enumerate(self.begun, 1)
            )
            yield "\n".join((f"{words['input_begun']}:", *states))

    def choices(self) -> Iterator[str]:
        """The slots with their values."""
        for name, slot in self.ontology.slots():
            values = (*slot.values, *(() if slot.kind == "offer" else (DONTCARE,)))
            yield f"{name}: {', '.join(values)}"

    def read(self, value: Any) -> Any:
        """The states of a reply; anything else as it is, for the form to refuse. Raises `ReplyFault`."""
        if not isinstance(value, list) or not all(isinstance(one, list) for one in value):
            return value
        if len(value) != self.count:
            raise ReplyFault("states_count", self.count)
        for entry in (entry for state in value for entry in state):
            if not isinstance(entry, str) or not self.ontology.allows(entry):
                raise ReplyFault("not_offered", entry)
        return value
