"""What forms share: common settings, reading an answer and the inputs of an example, guidelines."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem
from nikawa.records import Example, Span

FIELDS_TEMPLATE = "_fields.html"
"""The template of forms whose script fills the page."""
MISSING = object()
Labels = Annotated[tuple[str, ...], Meta(min_length=2, max_length=200)]
Count = Annotated[int, Meta(ge=1, le=50)]
RELATIONS = ("entailment", "contradiction", "neutral")

_REPORTING = {
    "ja": "個人情報、差別的な表現、偏見のある文、壊れた文、どうしても判断できないものは、答えずに「報告する」から知らせてください。",
    "ko": "개인정보, 혐오 표현, 편견이 있는 글, 깨진 글, 도저히 판단할 수 없는 글은 답하지 말고 '신고하기'로 알려 주세요.",
    "en": "Where a text holds personal data, hate or bias, is broken, or cannot be decided, do not answer: use Report.",
}
_TITLES = {"ja": "作業の手引き", "ko": "작업 지침", "en": "Guideline"}


class FormSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of every form."""

    prompt: str = ""
    """What the worker is asked, above the fields; empty: the form's own words."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """What a label, an input or a field is called on the page, where it is not its own name."""


def only_answer(answer: Answer, question: str) -> Any:
    """The answer to the one question of a form, None where there is none; `MISSING` where something else is there."""
    return answer.get(question) if set(answer) <= {question} else MISSING


def check_label(answer: Answer, options: Options) -> list[Problem]:
    """Whether the answer is one of the labels."""
    label = only_answer(answer, options.question)
    if label is MISSING:
        return [Problem(REFUSED)]
    if isinstance(label, str) and label in options.labels:
        return []
    return [Problem("choose_one", where=options.question)]


READING_ORDER = (
    "title",
    "context",
    "text",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "question",
)
"""How texts follow each other where nobody says: records are stored by the alphabet, a premise is read first."""


def pick_texts(example: Example, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inputs that are texts, in the order asked for, or all as they are read."""
    if not names:
        place = {name: n for n, name in enumerate(READING_ORDER)}
        names = tuple(sorted(example.inputs, key=lambda name: place.get(name, len(place))))
    inputs = ((name, example.inputs.get(name)) for name in names)
    return {name: text for name, text in inputs if isinstance(text, str)}


def show_texts(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The texts the setting `shows` names, or all."""
    return pick_texts(example, options.shows)


def list_choices(example: Example) -> list[str]:
    """The choices of a multiple choice; none where the input is something else."""
    choices = example.inputs.get("choices")
    return [str(choice) for choice in choices] if isinstance(choices, list | tuple) else []


def parse_span(value: Any, length: int) -> tuple[int, int, str] | None:
    """Start, end and label of something given as a span of a text so long; None where it is none."""
    if isinstance(value, Span):
        value = {"start": value.start, "end": value.end, "label": value.label}
    if not isinstance(value, dict) or not value.keys() <= {"start", "end", "label"}:
        return None
    start, end, label = value.get("start"), value.get("end"), value.get("label", "")
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        return None
    return (start, end, label) if 0 <= start < end <= length else None


def make_guideline(**points: tuple[str, ...]) -> dict[str, str]:
    """A guideline by language: a heading, numbered points, and how to report."""
    guideline = {}
    for language, texts in points.items():
        numbered = enumerate((*texts, _REPORTING[language]), start=1)
        lines = [f"{number}. {text}\n" for number, text in numbered]
        guideline[language] = f"# {_TITLES[language]}\n\n{''.join(lines)}"
    return guideline
