"""What forms share: common settings, reading an answer, guidelines."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import Answer, Form, Options
from nikawa.records import Example, Span

FIELDS = "_fields.html"
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


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of every form."""

    prompt: str = ""
    """What the worker is asked, above the fields; empty: the form's own words."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """What a label, an input or a field is called on the page, where it is not its own name."""


def only(answer: Answer, question: str) -> Any:
    """The answer to the one question of a form, None where there is none; `MISSING` where something else is there."""
    return answer.get(question) if set(answer) <= {question} else MISSING


READ = ("title", "context", "text", "premise", "hypothesis", "sentence1", "sentence2", "question")
"""How texts follow each other where nobody says: records are stored by the alphabet, a premise is read first."""


def texts_of(example: Example, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inputs that are texts, in the order asked for, or all as they are read."""
    place = {name: n for n, name in enumerate(READ)}
    wanted = names or tuple(sorted(example.inputs, key=lambda name: place.get(name, len(READ))))
    return {
        name: example.inputs[name] for name in wanted if isinstance(example.inputs.get(name), str)
    }


def show_texts(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The texts the setting `shows` names, or all."""
    return texts_of(example, options.shows)


def span_of(value: Any, length: int) -> tuple[int, int, str] | None:
    """Start, end and label of something given as a span of a text so long; None where it is none."""
    if isinstance(value, Span):
        value = {"start": value.start, "end": value.end, "label": value.label}
    if not isinstance(value, dict) or not {"start", "end"} <= value.keys() <= {
        "start",
        "end",
        "label",
    }:
        return None
    start, end, label = value["start"], value["end"], value.get("label", "")
    whole = type(start) is int and type(end) is int and isinstance(label, str)
    return (start, end, label) if whole and 0 <= start < end <= length else None


def guide(**points: tuple[str, ...]) -> dict[str, str]:
    """A guideline by language: a heading, numbered points, and how to report."""
    return {
        language: f"# {_TITLES[language]}\n\n"
        + "".join(
            f"{n}. {point}\n" for n, point in enumerate((*given, _REPORTING[language]), start=1)
        )
        for language, given in points.items()
    }
