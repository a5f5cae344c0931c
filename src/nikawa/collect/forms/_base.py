"""Parts that forms share: common settings, the checks of a choice, the inputs that are shown, guidelines.

A form that asks for texts of the worker's own is declared with `WritingForm` and checks them with `_rules.check_written`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Offer, Options, Problem, keeps_rules
from nikawa.records import Example, Span

MISSING = object()
"""What `only_answer` returns for an answer that contains other questions."""
Labels = Annotated[tuple[str, ...], Meta(min_length=2, max_length=200)]
Count = Annotated[int, Meta(ge=1, le=50)]
WritingForm = partial(Form, script="write.js", gold_matches=keeps_rules)
"""A form that asks for texts of the worker's own: its answers are never compared with each other."""
RELATIONS = ("entailment", "contradiction", "neutral")

_REPORTING = {
    "ja": "個人情報や差別的な表現を含む文、偏見のある文、文字化けなどで読めない文、どうしても判断できない問題は、回答せずに「報告する」から報告してください。",
    "ko": "개인정보, 혐오 표현, 편견이 있는 글, 글자가 깨져 읽을 수 없는 글, 도저히 판단할 수 없는 글은 답하지 말고 ‘신고하기’로 신고해 주세요.",
    "en": "If a text contains personal data, hate speech or bias, is unreadable, or cannot be decided, do not answer. Use Report instead.",
}
_TITLES = {"ja": "作業ガイドライン", "ko": "작업 지침", "en": "Guideline"}


class FormSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of every form."""

    prompt: str = ""
    """The question above the fields; empty: the default text of the form."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of labels, inputs and fields on the page, by the names that are stored."""


def only_answer(answer: Answer, question: str) -> Any:
    """The answer to the only question of a form, None if it is missing; `MISSING` if the answer contains other questions."""
    return answer.get(question) if set(answer) <= {question} else MISSING


def check_choice(
    answer: Answer, options: Options, is_choice: Callable[[Any], bool]
) -> list[Problem]:
    """Whether the answer to the form's one question is a choice that the form offers.

    `is_choice` gets what was answered, None where nothing was: a page may send anything.
    """
    choice = only_answer(answer, options.question)
    if choice is MISSING:
        return [Problem(REFUSED)]
    return [] if is_choice(choice) else [Problem("choose_one", where=options.question)]


def check_label(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """Whether the answer is one of the labels; the rule of a form that offers just these."""
    return check_choice(
        answer, options, lambda label: isinstance(label, str) and label in options.labels
    )


def offer_labels(_example: Example, options: Options) -> dict[str, Offer]:
    """The labels of a form that offers just these."""
    return {options.question: Offer(options.labels)}


READING_ORDER = (
    "source",
    "english",
    "title",
    "context",
    "text",
    "premise",
    "hypothesis",
    "sentence1",
    "sentence2",
    "question",
)
"""The default order of texts. Records store inputs alphabetically, but a premise is read before its hypothesis."""


def pick_texts(example: Example, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inputs that are texts, in the order asked for, or all as they are read."""
    if not names:
        place = {name: n for n, name in enumerate(READING_ORDER)}
        names = tuple(sorted(example.inputs, key=lambda name: place.get(name, len(place))))
    inputs = ((name, example.inputs.get(name)) for name in names)
    return {name: text for name, text in inputs if isinstance(text, str)}


def show_texts(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The texts and lists of words the setting `shows` names, or all; a text with its spans, which the page draws into it."""
    shown = pick_texts(example, options.shows)
    for name in options.shows or sorted(example.inputs):
        words = example.inputs.get(name)
        if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
            shown[name] = list(words)
    if options.shows:
        shown = {name: shown[name] for name in options.shows if name in shown}
    if "text" in shown and (spans := find_spans(example)):
        shown["spans"] = spans
        shown.pop(MARKED, None)
    return shown


MARKED = "marked"
"""A text with its spans written into it, for spreadsheets: a page that draws the spans does not show it."""


def find_spans(example: Example) -> list[dict[str, Any]]:
    """The spans of an example's text: its input `spans`, else its subject and object; none where two overlap."""
    length = len(str(example.inputs.get("text", "")))
    rows = example.inputs.get("spans")
    parsed: list[tuple[int, int, str] | None]
    if isinstance(rows, list | tuple):
        parsed = [parse_span(row, length) for row in rows]
    else:
        marks = {
            name: parse_span(example.inputs.get(name), length) for name in ("subject", "object")
        }
        parsed = [mark and (mark[0], mark[1], name) for name, mark in marks.items()]
    spans = sorted(span for span in parsed if span is not None)
    are_apart = all(before[1] <= after[0] for before, after in pairwise(spans))
    if not are_apart or len(spans) < len(parsed):
        return []
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


def show_inputs(form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The texts among the inputs the form names, the optional ones first."""
    return pick_texts(example, (*form.optional, *form.inputs))


def list_choices(example: Example) -> list[str]:
    """The choices of a multiple choice; none where the input is something else."""
    choices = example.inputs.get("choices")
    return [str(choice) for choice in choices] if isinstance(choices, list | tuple) else []


def parse_span(value: Any, length: int) -> tuple[int, int, str] | None:
    """Start, end and label of a span in a text of this length; None if the value is not a valid span.

    >>> parse_span({"start": 0, "end": 3, "label": "PS"}, 10)
    (0, 3, 'PS')
    """
    if isinstance(value, Span):
        value = {"start": value.start, "end": value.end, "label": value.label}
    if not isinstance(value, dict) or not value.keys() <= {"start", "end", "label"}:
        return None
    start = value.get("start")
    end = value.get("end")
    label = value.get("label", "")
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        return None
    return (start, end, label) if 0 <= start < end <= length else None


def make_guideline(**points: tuple[str, ...]) -> dict[str, str]:
    """A guideline by language: a heading, numbered points, and how to report.

    Each argument is a language with its points: `make_guideline(ja=("…", "…"), en=("…", "…"))`.
    """
    return {
        language: format_guideline(language, (*texts, _REPORTING[language]))
        for language, texts in points.items()
    }


def format_guideline(language: str, points: tuple[str, ...]) -> str:
    """A guideline of just these points: a heading, and the points numbered."""
    lines = [f"{number}. {text}\n" for number, text in enumerate(points, start=1)]
    return f"# {_TITLES[language]}\n\n{''.join(lines)}"
