"""The questions of each kind of task: one class per kind; `QUESTIONS` lists them all.

Replies are read by the reader that reads files of answers (`nikawa.io.answers.reader`); a class
passes the options of the prompt to it.

Tasks that choose one of several answers (labels, choices, relations) are asked by a letter or a
name; similarity by a number, reading by words of the text; entities, dependency trees and dialogue
states by a structure, always as JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any, ClassVar

import msgspec

from nikawa.datasets.task_lookup import inputs_for_prompt
from nikawa.errors import BadInput
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer, Reader, Reading
from nikawa.io.answers.structures import count_occurrence
from nikawa.models.chat.prompts import Template
from nikawa.records import SPAN_INPUTS, Example, Kind, Span, Task

MAX_LETTERS = len(ascii_uppercase)
NO_ANSWER_LABEL = "none"
"""The label whose word means "the text contains no answer"."""
ROLES = {
    "ja": {"user": "ユーザー", "sys": "システム"},
    "ko": {"user": "사용자", "sys": "시스템"},
    "en": {"user": "User", "sys": "System"},
}
"""Who speaks in a dialogue, by language."""


@dataclass(frozen=True)
class AnswerOptions:
    """The answers to choose from: the key that is asked for, the word that is shown, the value that
    is meant.
    """

    keys: tuple[str, ...]
    words: tuple[str, ...]
    values: tuple[Any, ...]

    def format(self) -> str:
        """One option per line: `KEY: word`, or only the key if the word is the same."""
        pairs = zip(self.keys, self.words, strict=True)
        return "\n".join(key if key == word else f"{key}: {word}" for key, word in pairs)

    def key_of(self, value: Any) -> str:
        """The key of a value."""
        return self.keys[self.values.index(value)]


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
    """Whether to use a schema if the server supports it."""

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
        """All slots of one example, with only the inputs that the task shows."""
        slots = self.common_slots()
        inputs = inputs_for_prompt(self.task, example.inputs)
        for name in self.task.inputs:
            value = inputs.get(name)
            if isinstance(value, str):
                slots[name] = value
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """The gold as it appears in the JSON of an answer."""
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

    def offer(self) -> Offer:
        """The options of the prompt, for the reader of the replies."""
        return Offer()

    @cached_property
    def reader(self) -> Reader:
        """Reads replies: as files of answers are read, with what the prompt offers."""
        return make_reader(self.task, offer=self.offer())

    def read(self, example: Example, text: str) -> Reading:
        """The answer in a text, or the reason for a missing one."""
        return self.reader(text, example)

    def labels(self) -> tuple[str, ...]:
        """The labels of the task; raises BadInput if it has no labels."""
        if not self.task.labels:
            what = f"the task {self.task.name} has no list of labels"
            raise BadInput(what, cure="list its labels")
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
        return self._label_options

    @cached_property
    def _label_options(self) -> AnswerOptions:
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
            what = (
                f"example {example.id!r} has the label {gold!r}, which is not a label of the task"
            )
            raise BadInput(what, cure="correct the example, or list the label in the task")
        return options.key_of(gold)

    def schema(self, example: Example | None = None) -> dict[str, Any]:
        """One of the keys."""
        keys = self.options(Example(id="", inputs={})).keys
        return object_schema({"answer": {"type": "string", "enum": list(keys)}})

    def offer(self) -> Offer:
        """The letters and the words of the labels."""
        options = self.options(Example(id="", inputs={}))
        return Offer(keys=options.keys, words=dict(zip(self.labels(), options.words, strict=True)))


class ChoiceQuestions(LabelQuestions):
    """One of the choices an example brings with it; the answer is its place."""

    def options(self, example: Example) -> AnswerOptions:
        """The choices under letters."""
        choices = example.inputs.get("choices") if "choices" in self.task.inputs else None
        if not isinstance(choices, list | tuple) or not 0 < len(choices) <= MAX_LETTERS:
            what = f"example {example.id!r} needs a list of 1 to {MAX_LETTERS} choices"
            raise BadInput(what, cure="keep `choices` among the inputs")
        letters = tuple(ascii_uppercase[: len(choices)])
        words = tuple(str(choice).strip() for choice in choices)
        return AnswerOptions(letters, words, tuple(range(len(choices))))

    def common_slots(self) -> dict[str, str]:
        """Nothing is the same for all."""
        return {}

    def slots(self, example: Example) -> dict[str, str]:
        """The question, with its choices."""
        return {**super().slots(example), "options": self.options(example).format()}

    def offer(self) -> Offer:
        """Letters; the choices are the example's."""
        return Offer(keys=tuple(ascii_uppercase))

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
        raise BadInput(what, cure="see docs/records.md for its format") from None


def mark_spans(text: str, spans: dict[str, Span]) -> str:
    """`<subject>…</subject>`, also if one entity contains the other."""
    marks = [(span.start, 1, -span.end, f"<{name}>") for name, span in spans.items()]
    marks += [(span.end, 0, -span.start, f"</{name}>") for name, span in spans.items()]
    for place, _, _, mark in sorted(marks, reverse=True):
        text = text[:place] + mark + text[place:]
    return text


class SimilarityQuestions(Questions):
    """A number on the scale of the task, with one decimal place."""

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

    def offer(self) -> Offer:
        """The scale: a number outside it is not an answer."""
        return Offer(scale=self.scale)


class ReadingQuestions(Questions):
    """Words copied from the text, or the word for no answer."""

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

    def offer(self) -> Offer:
        """The word for no answer, where the prompt names it."""
        return Offer(no_answer=self.no_answer if self.template.names_slot("none") else "")


class _LabelledQuestions(Questions):
    """A structure whose parts bear labels of the task."""

    is_structured = True

    def common_slots(self) -> dict[str, str]:
        """The labels and what they mean."""
        return {"options": self.label_options(self.labels()).format()}

    def offer(self) -> Offer:
        """The words of the labels."""
        options = self.label_options(self.labels())
        return Offer(words=dict(zip(options.keys, options.words, strict=True)))


class TaggingQuestions(_LabelledQuestions):
    """Entities by their words, and the number of the occurrence that is meant."""

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


class TreeQuestions(_LabelledQuestions):
    """The head and label of each word."""

    tokens = 2048

    def slots(self, example: Example) -> dict[str, str]:
        """The words, one per line, with number, form, lemma and part of speech."""
        slots = super().slots(example)
        if "words" in self.task.inputs:
            lines = []
            for number, word in enumerate(example.inputs["words"], start=1):
                cells = (str(number), word["form"], word.get("lemma", ""), word.get("pos", ""))
                lines.append("\t".join(map(str, cells)).rstrip())
            slots["words"] = "\n".join(lines)
        return slots

    def to_answer(self, example: Example, gold: Any) -> Any:
        """One entry per word."""
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
        """The slots, one per line, with their meaning if the prompt gives it."""
        names = tuple(self.slot_names())
        words = tuple(self.template.labels.get(name, name) for name in names)
        return {"options": AnswerOptions(names, words, names).format() or "-"}

    def slots(self, example: Example) -> dict[str, str]:
        """The turns, one per line, each with its speaker."""
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
        """A list of slots with values; only known slots if there are any."""
        names = self.slot_names()
        slot = {"type": "string", "enum": names} if names else {"type": "string"}
        return list_schema("state", {"slot": slot, "value": {"type": "string"}})

    def offer(self) -> Offer:
        """The slots."""
        return Offer(slots=tuple(self.slot_names()))


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
