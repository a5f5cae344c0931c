"""How a kind of task is asked and its answers are read; the kinds are in the files beside this one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any, ClassVar

import msgspec

from nikawa.errors import BadInput
from nikawa.models.chat.prompts import Template
from nikawa.models.chat.reading import (
    Options,
    Unreadable,
    count_occurrence,
    find_json,
    find_spans,
    quote,
    read_number,
    read_option,
)
from nikawa.records import SPAN_INPUTS, Example, Span, Task


class Questions(ABC):
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


def label_words(template: Template, labels: Sequence[str]) -> tuple[str, ...]:
    """The words labels are shown by; their own names where the prompt has no others."""
    return tuple(template.labels.get(label, label) for label in labels)


def require_labels(task: Task) -> tuple[str, ...]:
    """The labels of a task, which must have some."""
    if not task.labels:
        raise BadInput(f"the task {task.name} has no list of labels", cure="name its labels")
    return task.labels


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has just these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def find_list(text: str, field: str) -> list[Any]:
    """The list an answer holds, under its field or bare."""
    found = find_json(text, (dict, list))
    if isinstance(found, dict):
        found = found.get(field)
    if not isinstance(found, list):
        raise Unreadable(f"{quote(text)} holds no list of {field}")
    return found


class LabelQuestions(Questions):
    """One label of the task's; asked for by a letter, or by its name where there are more labels than letters."""

    choice = True

    def options(self, example: Example) -> Options:
        """The labels, in the order of the task."""
        labels = require_labels(self.task)
        keys = (
            tuple(ascii_uppercase[: len(labels)]) if len(labels) <= len(ascii_uppercase) else labels
        )
        return Options(keys, label_words(self.template, labels), labels)

    def common(self) -> dict[str, str]:
        """The options are the same for all."""
        return {"options": self.options(Example(id="", inputs={})).shown()}

    def answer(self, example: Example, gold: Any) -> Any:
        """The key of the label."""
        options = self.options(example)
        if gold not in options.values:
            raise BadInput(
                f"example {example.id!r} has the label {gold!r}",
                cure="the task knows no such label",
            )
        return options.key_of(gold)

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """One of the keys."""
        keys = self.options(Example(id="", inputs={})).keys
        return object_schema({"answer": {"type": "string", "enum": list(keys)}})

    def read(self, example: Example, text: str) -> Any:
        """The label a text names."""
        return read_option(text, self.options(example))


class ChoiceQuestions(LabelQuestions):
    """One of the choices an example brings with it; the answer is its place."""

    def options(self, example: Example) -> Options:
        """The choices under letters."""
        found = example.inputs.get("choices") if "choices" in self.task.inputs else None
        if not isinstance(found, list | tuple) or not 0 < len(found) <= len(ascii_uppercase):
            what = f"example {example.id!r} has no list of up to {len(ascii_uppercase)} choices"
            raise BadInput(what, cure="leave `choices` among the inputs")
        words = tuple(str(choice).strip() for choice in found)
        return Options(tuple(ascii_uppercase[: len(found)]), words, tuple(range(len(found))))

    def common(self) -> dict[str, str]:
        """Nothing is the same for all."""
        return {}

    def slots(self, example: Example) -> dict[str, str]:
        """The question, with its choices."""
        return {**super().slots(example), "options": self.options(example).shown()}

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """One of the letters that the example has."""
        count = len(self.options(example).keys) if example else len(ascii_uppercase)
        return object_schema({"answer": {"type": "string", "enum": list(ascii_uppercase[:count])}})


class RelationQuestions(LabelQuestions):
    """The relation between two marked entities, by its name; structured output comes before log-probabilities."""

    def options(self, example: Example) -> Options:
        """The relations, in the order of the task."""
        labels = require_labels(self.task)
        return Options(labels, label_words(self.template, labels), labels)

    def slots(self, example: Example) -> dict[str, str]:
        """The text, the entities, and the text with both marked."""
        found = super().slots(example)
        names = [name for name in SPAN_INPUTS if name in self.task.inputs]
        spans = {name: require_span(example, name) for name in names}
        text = example.inputs.get("text")
        if not isinstance(text, str):
            return found
        found |= {name: text[span.start : span.end] for name, span in spans.items()}
        if len(spans) == 2 and "text" in self.task.inputs:
            found["marked"] = _marked(text, spans)
        return found


def require_span(example: Example, name: str) -> Span:
    """An input that must be a span."""
    value = example.inputs.get(name)
    if isinstance(value, Span):
        return value
    try:
        return msgspec.convert(value, Span)
    except msgspec.ValidationError:
        raise BadInput(
            f"example {example.id!r} has no span {name!r}", cure="see docs/records.md for its shape"
        ) from None


def _marked(text: str, spans: dict[str, Span]) -> str:
    """`<subject>…</subject>`, also where one entity holds the other."""
    marks = [(span.start, 1, -span.end, f"<{name}>") for name, span in spans.items()]
    marks += [(span.end, 0, -span.start, f"</{name}>") for name, span in spans.items()]
    for place, _, _, mark in sorted(marks, reverse=True):
        text = text[:place] + mark + text[place:]
    return text


NONE = "none"
"""The label whose word stands for "there is no answer in the text"."""
QUOTES = ("「」", "『』", '""', "''", "“”", "‘’", "``", "《》")

_LEAD = re.compile(
    r"(?:答え|回答|解答|정답|답변|답|answer)\s*(?:は|은|는)?\s*[::]\s*", re.IGNORECASE
)


class SimilarityQuestions(Questions):
    """A number on the scale of the task, with one decimal."""

    tokens = 32

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest, 0 to 5 where the task does not say."""
        return self.task.scale or (0.0, 5.0)

    def common(self) -> dict[str, str]:
        """The ends of the scale."""
        low, high = self.scale
        return {"low": f"{low:g}", "high": f"{high:g}"}

    def slots(self, example: Example) -> dict[str, str]:
        """The sentences in the order of the task's inputs, whatever they are called there."""
        found = super().slots(example)
        texts = [found[name] for name in self.task.inputs if name in found]
        return {**found, **{f"sentence{i}": text for i, text in enumerate(texts, start=1)}}

    def answer(self, example: Example, gold: Any) -> Any:
        """The score as it is asked for."""
        return round(float(gold), 1)

    def shown(self, example: Example, gold: Any, as_json: bool) -> str:
        """`3.4`, or the same inside JSON."""
        return (
            super().shown(example, gold, as_json)
            if as_json
            else f"{self.answer(example, gold):.1f}"
        )

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A number; not every server holds to its bounds, so they are checked when it is read."""
        return object_schema({"score": {"type": "number"}})

    def read(self, example: Example, text: str) -> float:
        """The one number of a text."""
        return read_number(text, *self.scale)


class ReadingQuestions(Questions):
    """Words of the text as they stand there, or the word that says there is no answer."""

    tokens = 128
    constrained = False

    @property
    def none(self) -> str:
        """The word for no answer."""
        return self.template.labels.get(NONE, NONE)

    def common(self) -> dict[str, str]:
        """How to say that there is no answer."""
        return {"none": self.none}

    def answer(self, example: Example, gold: Any) -> Any:
        """The first of the answers."""
        return gold[0]["text"] if gold else self.none

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A text."""
        return object_schema({"answer": {"type": "string"}})

    def read(self, example: Example, text: str) -> str:
        """The first line, without a lead ("答え:") and without quotes around it that the text does not have."""
        found = find_json(text)
        if found is not None and len(found) == 1 and text.lstrip("` json\n").startswith("{"):
            value = next(iter(found.values()))
            text = value if isinstance(value, str) and value.strip() else self.none
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        line = _LEAD.sub("", line, count=1).strip() if _LEAD.match(line) else line
        line = line if line in str(example.inputs.get("context", "")) else _unquoted(line)
        if not line:
            raise Unreadable("the answer is empty")
        return "" if line.rstrip("。.") == self.none else line


def _unquoted(line: str) -> str:
    for pair in QUOTES:
        first, last, inner = pair[0], pair[1], line[1:-1]
        if (
            len(line) > 2
            and line[0] == first
            and line[-1] == last
            and first not in inner
            and last not in inner
        ):
            return inner.strip()
    return line


ROLES = {
    "ja": {"user": "ユーザー", "sys": "システム"},
    "ko": {"user": "사용자", "sys": "시스템"},
    "en": {"user": "User", "sys": "System"},
}


class _Labelled(Questions):
    """A structure whose parts bear labels of the task."""

    structured = True

    def common(self) -> dict[str, str]:
        """The labels and what they mean."""
        labels = require_labels(self.task)
        return {"options": Options(labels, label_words(self.template, labels), labels).shown()}

    def label_of(self) -> dict[str, str]:
        """Each label by its own name and by the word it is shown by, whatever the case."""
        labels = require_labels(self.task)
        words = zip(label_words(self.template, labels), labels, strict=True)
        return {word.casefold(): label for word, label in words} | {
            label.casefold(): label for label in labels
        }


class TaggingQuestions(_Labelled):
    """Entities by their words and which of the places that hold them is meant."""

    tokens = 1024

    def answer(self, example: Example, gold: Any) -> Any:
        """Text, occurrence and label of each span."""
        text = example.inputs["text"]
        return [
            {
                "text": text[s.start : s.end],
                "occurrence": count_occurrence(text, s),
                "label": s.label,
            }
            for s in gold
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of entities."""
        fields = {
            "text": {"type": "string"},
            "occurrence": {"type": "integer"},
            "label": {"type": "string", "enum": list(require_labels(self.task))},
        }
        return object_schema({"entities": {"type": "array", "items": object_schema(fields)}})

    def read(self, example: Example, text: str) -> list[Span]:
        """The spans; one that is not in the text makes the whole answer unreadable."""
        return find_spans(
            str(example.inputs.get("text", "")), find_list(text, "entities"), self.label_of()
        )


class TreeQuestions(_Labelled):
    """The head and label of each word."""

    tokens = 2048

    def slots(self, example: Example) -> dict[str, str]:
        """The words, one a line, with number, form, lemma and part of speech."""
        found = super().slots(example)
        if "words" in self.task.inputs:
            rows = enumerate(example.inputs["words"], start=1)
            found["words"] = "\n".join(
                f"{i}\t{w['form']}\t{w.get('lemma', '')}\t{w.get('pos', '')}".rstrip()
                for i, w in rows
            )
        return found

    def answer(self, example: Example, gold: Any) -> Any:
        """One entry a word."""
        forms = [word["form"] for word in example.inputs["words"]]
        rows = zip(forms, gold["heads"], gold["labels"], strict=True)
        return [
            {"index": i, "word": f, "head": h, "label": r}
            for i, (f, h, r) in enumerate(rows, start=1)
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of words."""
        fields = {
            "index": {"type": "integer"},
            "word": {"type": "string"},
            "head": {"type": "integer"},
            "label": {"type": "string", "enum": list(require_labels(self.task))},
        }
        return object_schema({"words": {"type": "array", "items": object_schema(fields)}})

    def read(self, example: Example, text: str) -> dict[str, Any]:
        """Heads and labels of all words; a word too many or too few makes the answer unreadable."""
        count, known = len(example.inputs.get("words", ())), self.label_of()
        rows: dict[int, tuple[int, str]] = {}
        for row in find_list(text, "words"):
            index, head, label = _row(row, count, known)
            if rows.setdefault(index, (head, label)) != (head, label):
                raise Unreadable(f"word {index} has two heads")
        if missing := [i for i in range(1, count + 1) if i not in rows]:
            raise Unreadable(f"word {missing[0]} has no head")
        ordered = [rows[i] for i in range(1, count + 1)]
        return {"heads": [head for head, _ in ordered], "labels": [label for _, label in ordered]}


def _row(row: Any, count: int, known: dict[str, str]) -> tuple[int, int, str]:
    if not isinstance(row, dict):
        raise Unreadable("a word is not an object")
    index, head = row.get("index"), row.get("head")
    if not isinstance(index, int) or not 1 <= index <= count:
        raise Unreadable(f"there is no word {index!r}")
    if not isinstance(head, int) or not 0 <= head <= count or head == index:
        raise Unreadable(f"word {index} cannot have the head {head!r}")
    label = known.get(str(row.get("label")).casefold())
    if label is None:
        raise Unreadable(f"{quote(str(row.get('label')))} is no label")
    return index, head, label


class DialogueQuestions(Questions):
    """The state after the last turn: slots with their values."""

    structured = True
    tokens = 512

    def slot_names(self) -> list[str]:
        """The slots that the prompt lists, and those of the examples to learn from."""
        states = (example.gold.get(self.task.question, ()) for example in self.pool)
        met = {entry.rpartition("-")[0] for state in states for entry in state}
        return sorted({*self.template.labels, *met})

    def common(self) -> dict[str, str]:
        """The slots, one a line, with what they mean where the prompt says so."""
        names = self.slot_names()
        return {"options": "\n".join(self._line(name) for name in names) or "-"}

    def _line(self, name: str) -> str:
        word = self.template.labels.get(name, name)
        return name if word == name else f"{name}: {word}"

    def slots(self, example: Example) -> dict[str, str]:
        """The turns, one a line, each with who speaks."""
        found, roles = super().slots(example), ROLES.get(self.language, ROLES["en"])
        if "turns" in self.task.inputs:
            turns = example.inputs["turns"]
            found["turns"] = "\n".join(
                f"{roles.get(t['role'], t['role'])}: {t['text']}" for t in turns
            )
        return found

    def answer(self, example: Example, gold: Any) -> Any:
        """Slot and value of each entry."""
        parts = (entry.rpartition("-") for entry in gold)
        return [{"slot": slot, "value": value} for slot, _, value in parts]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of slots with values; only known slots where there are some."""
        names = self.slot_names()
        slot = {"type": "string", "enum": names} if names else {"type": "string"}
        return object_schema(
            {
                "state": {
                    "type": "array",
                    "items": object_schema({"slot": slot, "value": {"type": "string"}}),
                }
            }
        )

    def read(self, example: Example, text: str) -> list[str]:
        """The entries as `domain-slot-value`, each once, in the order of the answer."""
        known = set(self.slot_names())
        found: dict[str, None] = {}
        for row in find_list(text, "state"):
            slot, value = (
                (row.get("slot"), row.get("value")) if isinstance(row, dict) else (None, None)
            )
            if not isinstance(slot, str) or not isinstance(value, str) or not value.strip():
                raise Unreadable("an entry is not a slot with a value")
            slot = slot.strip()
            if known and slot not in known:
                raise Unreadable(f"there is no slot {quote(slot)}")
            if value.strip() != "none":
                found[f"{slot}-{value.strip()}"] = None
        return list(found)
