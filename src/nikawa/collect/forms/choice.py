"""Single choice: one of a set of labels about the texts of an item."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem
from nikawa.records import Example


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The question and its labels."""

    question: str = "label"
    labels: Annotated[tuple[str, ...], Meta(min_length=2, max_length=200)] = (
        "entailment",
        "contradiction",
        "neutral",
    )
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts."""


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """One of the labels."""
    if set(answer) != {options.question}:
        return [Problem(REFUSED)]
    return (
        [] if answer[options.question] in options.labels else [Problem("choose_one", where=options.question)]
    )


def view(_form: Form, example: Example, options: Options) -> dict[str, object]:
    """The texts asked for, or all."""
    names = options.shows or list(example.inputs)
    return {name: example.inputs[name] for name in names if isinstance(example.inputs.get(name), str)}


FORM = Form(
    name="choice",
    title={"ja": "一つ選ぶ", "ko": "하나 고르기", "en": "Choose one"},
    questions=("label",),
    inputs=(),
    validate=validate,
    settings=Choice,
    view=view,
)
