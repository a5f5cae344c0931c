"""Tasks answered by a number or by words: similarity, reading."""

from __future__ import annotations

import re
from typing import Any

from nikawa.models.chat.forms import Form, object_of
from nikawa.models.chat.reading import Unreadable, json_in, read_number
from nikawa.records import Example

NONE = "none"
"""The label whose word stands for "there is no answer in the text"."""
QUOTES = ("「」", "『』", '""', "''", "“”", "‘’", "``", "《》")

_LEAD = re.compile(
    r"(?:答え|回答|解答|정답|답변|답|answer)\s*(?:は|은|는)?\s*[::]\s*", re.IGNORECASE
)


class Similarity(Form):
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
        return object_of({"score": {"type": "number"}})

    def read(self, example: Example, text: str) -> float:
        """The one number of a text."""
        return read_number(text, *self.scale)


class Reading(Form):
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
        return object_of({"answer": {"type": "string"}})

    def read(self, example: Example, text: str) -> str:
        """The first line, without a lead ("答え:") and without quotes around it that the text does not have."""
        found = json_in(text)
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
