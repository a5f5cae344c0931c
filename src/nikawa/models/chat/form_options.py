"""Tasks that choose one of several answers: labels of texts and pairs, choices, relations."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.chat.forms import Form, labels_of, object_of, words_of
from nikawa.models.chat.reading import Options, read_option
from nikawa.records import SPAN_INPUTS, Example, Span


class Labels(Form):
    """One label of the task's; asked for by a letter, or by its name where there are more labels than letters."""

    choice = True

    def options(self, example: Example) -> Options:
        """The labels, in the order of the task."""
        labels = labels_of(self.task)
        keys = (
            tuple(ascii_uppercase[: len(labels)]) if len(labels) <= len(ascii_uppercase) else labels
        )
        return Options(keys, words_of(self.template, labels), labels)

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
        return object_of({"answer": {"type": "string", "enum": list(keys)}})

    def read(self, example: Example, text: str) -> Any:
        """The label a text names."""
        return read_option(text, self.options(example))


class Choice(Labels):
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
        return object_of({"answer": {"type": "string", "enum": list(ascii_uppercase[:count])}})


class Relation(Labels):
    """The relation between two marked entities, by its name; structured output comes before log-probabilities."""

    def options(self, example: Example) -> Options:
        """The relations, in the order of the task."""
        labels = labels_of(self.task)
        return Options(labels, words_of(self.template, labels), labels)

    def slots(self, example: Example) -> dict[str, str]:
        """The text, the entities, and the text with both marked."""
        found = super().slots(example)
        names = [name for name in SPAN_INPUTS if name in self.task.inputs]
        spans = {name: span_of(example, name) for name in names}
        text = example.inputs.get("text")
        if not isinstance(text, str):
            return found
        found |= {name: text[span.start : span.end] for name, span in spans.items()}
        if len(spans) == 2 and "text" in self.task.inputs:
            found["marked"] = _marked(text, spans)
        return found


def span_of(example: Example, name: str) -> Span:
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
