"""How each kind of task is asked and its answers are read: one class a kind, `QUESTIONS` has them
all.

Tasks that choose one of several answers (labels, choices, relations) are asked by a letter or a
name; similarity by a number, reading by words of the text; entities, dependency trees and dialogue
states by a structure, always as JSON.
"""

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
    AnswerOptions,
    Unreadable,
    count_occurrence,
    find_json,
    find_list,
    find_spans,
    quote,
    read_number,
    read_option,
)
from nikawa.records import SPAN_INPUTS, Example, Kind, Span, Task

MAX_LETTERS = len(ascii_uppercase)
NO_ANSWER_LABEL = "none"
"""The label whose word stands for "there is no answer in the text"."""
QUOTES = ("「」", "『』", '""', "''", "“”", "‘’", "``", "《》")
ROLES = {
    "ja": {"user": "ユーザー", "sys": "システム"},
    "ko": {"user": "사용자", "sys": "시스템"},
    "en": {"user": "User", "sys": "System"},
}
"""Who speaks in a dialogue, by language."""
_LEAD = re.compile(
    r"(?:答え|回答|解答|정답|답변|답|answer)\s*(?:は|은|는)?\s*[::]\s*", re.IGNORECASE
)


class Questions(ABC):
    """The questions of one task in one language; what all kinds share."""

    tokens: ClassVar[int] = 64
    """Tokens an answer may take."""
    is_choice: ClassVar[bool] = False
    """Whether log-probabilities can choose the answer."""
    by_letter: ClassVar[bool] = False
    """Whether the answer is a letter, so that its first token decides."""
    is_structured: ClassVar[bool] = False
    """Whether the answer is JSON however it is asked for."""
    is_constrained: ClassVar[bool] = True
    """Whether a server that can hold an answer to a schema should."""

    def __init__(
        self, task: Task, template: Template, language: str, pool: Sequence[Example] = ()
    ) -> None:
        self.task, self.template, self.language, self.pool = task, template, language, pool

    def options(self, example: Example) -> AnswerOptions | None:
        """The answers to choose from."""
        return None

    def common_slots(self) -> dict[str, str]:
        """The slots that are the same for all examples."""
        return {}

    def slots(self, example: Example) -> dict[str, str]:
        """All slots of one example: of its inputs only those the task lets a model see."""
        slots = self.common_slots()
        for name in self.task.inputs:
            value = example.inputs.get(name)
            if isinstance(value, str):
                slots[name] = value
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """The gold as it stands in the JSON of an answer."""
        return gold

    @abstractmethod
    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """The JSON schema of an answer.

        It is the same for all examples, except those with options of their own.
        """

    def format_gold(self, example: Example, gold: Any, as_json: bool) -> str:
        """The gold as a few-shot example shows it."""
        value = self.to_answer(example, gold)
        if as_json or self.is_structured:
            field = next(iter(self.schema(example)["properties"]))
            return msgspec.json.encode({field: value}).decode()
        return str(value)

    @abstractmethod
    def read(self, example: Example, text: str) -> Any:
        """The answer in a text; raises `Unreadable`."""

    def labels(self) -> tuple[str, ...]:
        """The labels of the task, which must have some."""
        if not self.task.labels:
            what = f"the task {self.task.name} has no list of labels"
            raise BadInput(what, cure="name its labels")
        return self.task.labels

    def label_options(self, keys: tuple[str, ...]) -> AnswerOptions:
        """The labels of the task under these keys, by the words of the prompt or by their own
        names.
        """
        labels = self.labels()
        words = tuple(self.template.labels.get(label, label) for label in labels)
        return AnswerOptions(keys, words, labels)


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has just these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(field: str, properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with a list of such objects under one field."""
    return object_schema({field: {"type": "array", "items": object_schema(properties)}})


class LabelQuestions(Questions):
    """One label of the task's.

    The model answers by letter, or by name where there are more labels than letters.
    """

    is_choice = True
    by_letter = True

    def options(self, example: Example) -> AnswerOptions:
        """The labels, in the order of the task."""
        labels = self.labels()
        letters = tuple(ascii_uppercase[: len(labels)])
        return self.label_options(letters if len(labels) <= MAX_LETTERS else labels)

    def common_slots(self) -> dict[str, str]:
        """The options are the same for all."""
        return {"options": self.options(Example(id="", inputs={})).format()}

    def to_answer(self, example: Example, gold: Any) -> Any:
        """The key of the label."""
        options = self.options(example)
        if gold not in options.values:
            what = f"example {example.id!r} has the label {gold!r}"
            raise BadInput(what, cure="the task knows no such label")
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

    def options(self, example: Example) -> AnswerOptions:
        """The choices under letters."""
        choices = example.inputs.get("choices") if "choices" in self.task.inputs else None
        if not isinstance(choices, list | tuple) or not 0 < len(choices) <= MAX_LETTERS:
            what = f"example {example.id!r} has no list of up to {MAX_LETTERS} choices"
            raise BadInput(what, cure="leave `choices` among the inputs")
        letters = tuple(ascii_uppercase[: len(choices)])
        words = tuple(str(choice).strip() for choice in choices)
        return AnswerOptions(letters, words, tuple(range(len(choices))))

    def common_slots(self) -> dict[str, str]:
        """Nothing is the same for all."""
        return {}

    def slots(self, example: Example) -> dict[str, str]:
        """The question, with its choices."""
        return {**super().slots(example), "options": self.options(example).format()}

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """One of the letters that the example has."""
        count = len(self.options(example).keys) if example else MAX_LETTERS
        return object_schema({"answer": {"type": "string", "enum": list(ascii_uppercase[:count])}})


class RelationQuestions(LabelQuestions):
    """The relation between two marked entities, by its name.

    Structured output comes before log-probabilities.
    """

    by_letter = False

    def options(self, example: Example) -> AnswerOptions:
        """The relations, in the order of the task."""
        return self.label_options(self.labels())

    def slots(self, example: Example) -> dict[str, str]:
        """The text, the entities, and the text with both marked."""
        slots = super().slots(example)
        names = [name for name in SPAN_INPUTS if name in self.task.inputs]
        spans = {name: _require_span(example, name) for name in names}
        text = example.inputs.get("text")
        if not isinstance(text, str):
            return slots
        for name, span in spans.items():
            slots[name] = text[span.start : span.end]
        if len(spans) == 2 and "text" in self.task.inputs:
            slots["marked"] = mark_spans(text, spans)
        return slots


def _require_span(example: Example, name: str) -> Span:
    """An input that must be a span."""
    value = example.inputs.get(name)
    if isinstance(value, Span):
        return value
    try:
        return msgspec.convert(value, Span)
    except msgspec.ValidationError:
        what = f"example {example.id!r} has no span {name!r}"
        raise BadInput(what, cure="see docs/records.md for its shape") from None


def mark_spans(text: str, spans: dict[str, Span]) -> str:
    """`<subject>…</subject>`, also where one entity holds the other."""
    marks = [(span.start, 1, -span.end, f"<{name}>") for name, span in spans.items()]
    marks += [(span.end, 0, -span.start, f"</{name}>") for name, span in spans.items()]
    for place, _, _, mark in sorted(marks, reverse=True):
        text = text[:place] + mark + text[place:]
    return text


class SimilarityQuestions(Questions):
    """A number on the scale of the task, with one decimal."""

    tokens = 32

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest, 0 to 5 where the task does not say."""
        return self.task.scale or (0.0, 5.0)

    def common_slots(self) -> dict[str, str]:
        """The ends of the scale."""
        low, high = self.scale
        return {"low": f"{low:g}", "high": f"{high:g}"}

    def slots(self, example: Example) -> dict[str, str]:
        """The sentences in the order of the task's inputs, whatever they are called there."""
        slots = super().slots(example)
        texts = [slots[name] for name in self.task.inputs if name in slots]
        for number, text in enumerate(texts, start=1):
            slots[f"sentence{number}"] = text
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """The score as it is asked for."""
        return round(float(gold), 1)

    def format_gold(self, example: Example, gold: Any, as_json: bool) -> str:
        """`3.4`, or the same inside JSON."""
        if as_json:
            return super().format_gold(example, gold, as_json)
        return f"{self.to_answer(example, gold):.1f}"

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A number; not every server holds to its bounds, so they are checked when it is read."""
        return object_schema({"score": {"type": "number"}})

    def read(self, example: Example, text: str) -> float:
        """The one number of a text."""
        return read_number(text, *self.scale)


class ReadingQuestions(Questions):
    """Words of the text as they stand there, or the word that says there is no answer."""

    tokens = 128
    is_constrained = False

    @property
    def no_answer(self) -> str:
        """The word for no answer."""
        return self.template.labels.get(NO_ANSWER_LABEL, NO_ANSWER_LABEL)

    def common_slots(self) -> dict[str, str]:
        """How to say that there is no answer."""
        return {"none": self.no_answer}

    def to_answer(self, example: Example, gold: Any) -> Any:
        """The first of the answers."""
        return gold[0]["text"] if gold else self.no_answer

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A text."""
        return object_schema({"answer": {"type": "string"}})

    def read(self, example: Example, text: str) -> str:
        """The first line, without a lead ("答え:") and without quotes around it that the text does
        not have.
        """
        fields = find_json(text)
        if fields is not None and len(fields) == 1 and text.lstrip("` json\n").startswith("{"):
            value = next(iter(fields.values()))
            text = value if isinstance(value, str) and value.strip() else self.no_answer
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        if _LEAD.match(line):
            line = _LEAD.sub("", line, count=1).strip()
        if line not in str(example.inputs.get("context", "")):
            line = remove_quotes(line)
        if not line:
            raise Unreadable("the answer is empty")
        return "" if line.rstrip("。.") == self.no_answer else line


def remove_quotes(line: str) -> str:
    """The line without one pair of quotes around the whole of it."""
    inner = line[1:-1]
    for pair in QUOTES:
        opening, closing = pair[0], pair[1]
        is_quoted = len(line) > 2 and line[0] == opening and line[-1] == closing
        if is_quoted and opening not in inner and closing not in inner:
            return inner.strip()
    return line


class _LabelledQuestions(Questions):
    """A structure whose parts bear labels of the task."""

    is_structured = True

    def common_slots(self) -> dict[str, str]:
        """The labels and what they mean."""
        return {"options": self.label_options(self.labels()).format()}

    def label_by_name(self) -> dict[str, str]:
        """Each label by its own name and by the word it is shown by, whatever the case."""
        options = self.label_options(self.labels())
        words = [word.casefold() for word in options.words]
        names = [label.casefold() for label in options.keys]
        by_word = dict(zip(words, options.keys, strict=True))
        return by_word | dict(zip(names, options.keys, strict=True))


class TaggingQuestions(_LabelledQuestions):
    """Entities by their words and which of the places that hold them is meant."""

    tokens = 1024

    def to_answer(self, example: Example, gold: Any) -> Any:
        """Text, occurrence and label of each span."""
        text = example.inputs["text"]
        return [
            {
                "text": text[span.start : span.end],
                "occurrence": count_occurrence(text, span),
                "label": span.label,
            }
            for span in gold
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of entities."""
        fields = {
            "text": {"type": "string"},
            "occurrence": {"type": "integer"},
            "label": {"type": "string", "enum": list(self.labels())},
        }
        return list_schema("entities", fields)

    def read(self, example: Example, text: str) -> list[Span]:
        """The spans; one that is not in the text makes the whole answer unreadable."""
        source = str(example.inputs.get("text", ""))
        return find_spans(source, find_list(text, "entities"), self.label_by_name())


class TreeQuestions(_LabelledQuestions):
    """The head and label of each word."""

    tokens = 2048

    def slots(self, example: Example) -> dict[str, str]:
        """The words, one a line, with number, form, lemma and part of speech."""
        slots = super().slots(example)
        if "words" in self.task.inputs:
            lines = []
            for number, word in enumerate(example.inputs["words"], start=1):
                cells = (str(number), word["form"], word.get("lemma", ""), word.get("pos", ""))
                lines.append("\t".join(map(str, cells)).rstrip())
            slots["words"] = "\n".join(lines)
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """One entry a word."""
        forms = [word["form"] for word in example.inputs["words"]]
        rows = zip(forms, gold["heads"], gold["labels"], strict=True)
        return [
            {"index": number, "word": form, "head": head, "label": label}
            for number, (form, head, label) in enumerate(rows, start=1)
        ]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of words."""
        fields = {
            "index": {"type": "integer"},
            "word": {"type": "string"},
            "head": {"type": "integer"},
            "label": {"type": "string", "enum": list(self.labels())},
        }
        return list_schema("words", fields)

    def read(self, example: Example, text: str) -> dict[str, Any]:
        """Heads and labels of all words; a word too many or too few makes the answer unreadable."""
        count = len(example.inputs.get("words", ()))
        label_by_name = self.label_by_name()
        rows: dict[int, tuple[int, str]] = {}
        for row in find_list(text, "words"):
            if not isinstance(row, dict):
                raise Unreadable("a word is not an object")
            index, head = row.get("index"), row.get("head")
            if not isinstance(index, int) or not 1 <= index <= count:
                raise Unreadable(f"there is no word {index!r}")
            if not isinstance(head, int) or not 0 <= head <= count or head == index:
                raise Unreadable(f"word {index} cannot have the head {head!r}")
            name = str(row.get("label"))
            label = label_by_name.get(name.casefold())
            if label is None:
                raise Unreadable(f"{quote(name)} is no label")
            if rows.setdefault(index, (head, label)) != (head, label):
                raise Unreadable(f"word {index} has two heads")
        numbers = range(1, count + 1)
        if missing := [number for number in numbers if number not in rows]:
            raise Unreadable(f"word {missing[0]} has no head")
        heads = [rows[number][0] for number in numbers]
        labels = [rows[number][1] for number in numbers]
        return {"heads": heads, "labels": labels}


class DialogueQuestions(Questions):
    """The state after the last turn: slots with their values."""

    is_structured = True
    tokens = 512

    def slot_names(self) -> list[str]:
        """The slots that the prompt lists, and those of the examples to learn from."""
        names = set(self.template.labels)
        for example in self.pool:
            for entry in example.gold.get(self.task.question, ()):
                names.add(entry.rpartition("-")[0])
        return sorted(names)

    def common_slots(self) -> dict[str, str]:
        """The slots, one a line, with what they mean where the prompt says so."""
        names = tuple(self.slot_names())
        words = tuple(self.template.labels.get(name, name) for name in names)
        return {"options": AnswerOptions(names, words, names).format() or "-"}

    def slots(self, example: Example) -> dict[str, str]:
        """The turns, one a line, each with who speaks."""
        slots = super().slots(example)
        roles = ROLES.get(self.language, ROLES["en"])
        if "turns" in self.task.inputs:
            lines = []
            for turn in example.inputs["turns"]:
                speaker = roles.get(turn["role"], turn["role"])
                lines.append(f"{speaker}: {turn['text']}")
            slots["turns"] = "\n".join(lines)
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """Slot and value of each entry."""
        parts = (entry.rpartition("-") for entry in gold)
        return [{"slot": slot, "value": value} for slot, _, value in parts]

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """A list of slots with values; only known slots where there are some."""
        names = self.slot_names()
        slot = {"type": "string", "enum": names} if names else {"type": "string"}
        return list_schema("state", {"slot": slot, "value": {"type": "string"}})

    def read(self, example: Example, text: str) -> list[str]:
        """The entries as `domain-slot-value`, each once, in the order of the answer."""
        known = set(self.slot_names())
        entries: dict[str, None] = {}
        for row in find_list(text, "state"):
            fields = row if isinstance(row, dict) else {}
            slot, value = fields.get("slot"), fields.get("value")
            if not isinstance(slot, str) or not isinstance(value, str) or not value.strip():
                raise Unreadable("an entry is not a slot with a value")
            slot, value = slot.strip(), value.strip()
            if known and slot not in known:
                raise Unreadable(f"there is no slot {quote(slot)}")
            if value != "none":
                entries[f"{slot}-{value}"] = None
        return list(entries)


QUESTIONS: dict[Kind, type[Questions]] = {
    "text": LabelQuestions,
    "inference": LabelQuestions,
    "similarity": SimilarityQuestions,
    "choice": ChoiceQuestions,
    "reading": ReadingQuestions,
    "tagging": TaggingQuestions,
    "relation": RelationQuestions,
    "tree": TreeQuestions,
    "dialogue": DialogueQuestions,
}
