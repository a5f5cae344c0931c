"""Which fields of a record or columns of a table hold the id and the answer."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from nikawa.io.answers.base import ANSWER_NAMES, ID_NAMES, LABEL_NAME, SCORE_NAMES, Given, id_text

MISSING = object()
CURE = f"name the id one of {', '.join(ID_NAMES)} and the answer one of {', '.join((*ANSWER_NAMES, LABEL_NAME))}"


class Fields(NamedTuple):
    """Names of the fields to take; empty where a record has none."""

    id: str
    answer: str
    scores: str


class Unfit(ValueError):
    """A record that cannot be used: what is wrong, and the cure."""

    def __init__(self, what: str, cure: str = CURE) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


def find_fields(row: Mapping[str, Any], known: Container[str]) -> Fields:
    """The fields of `row`; `Unfit` where they are missing or could be meant in two ways."""
    named = [name for name in ID_NAMES if name in row]
    if not named:
        raise Unfit(f"has no id (it has: {', '.join(map(str, row)) or 'nothing'})")
    own = next((name for name in named if id_text(row[name]) in known), named[0])
    scores = next((name for name in SCORE_NAMES if name in row), "")
    return Fields(own, _answer_field(row, bool(scores)), scores)


def _answer_field(row: Mapping[str, Any], has_scores: bool) -> str:
    answers = [name for name in ANSWER_NAMES if name in row]
    if len(answers) > 1:
        raise Unfit(
            f"holds both {answers[0]!r} and {answers[1]!r}",
            "keep the one that is the model's answer",
        )
    if answers:
        return answers[0]
    if LABEL_NAME in row or has_scores:
        return LABEL_NAME if LABEL_NAME in row else ""
    raise Unfit(f"has no answer (it has: {', '.join(map(str, row))})")


def given(row: Mapping[str, Any], fields: Fields, place: int) -> Given | None:
    """The answer of a record, or None where it has other fields than the ones before it."""
    value = row.get(fields.id, MISSING)
    answer = row.get(fields.answer, MISSING) if fields.answer else None
    if value is MISSING or answer is MISSING:
        return None
    name = value if type(value) is str else id_text(value)
    if not name:
        raise Unfit(f"the id {value!r} is no text and no whole number", "write the published id")
    scores = row.get(fields.scores) if fields.scores else None
    return Given(place, name, answer, scores, _text(row.get("raw")), _text(row.get("why")))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
