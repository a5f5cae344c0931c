"""Answer a multiple choice: a question and its choices, of which one is right (JCommonsenseQA).

An answer is `{"choice": 0}`: the number of the choice in the order of the example, from 0.
"""

from __future__ import annotations

from typing import Any

from nikawa.collect.form import Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import (
    FormSettings,
    check_choice,
    list_choices,
    make_guideline,
    pick_texts,
)
from nikawa.records import Example


class MultipleChoice(FormSettings, frozen=True, kw_only=True):
    """The question its judgements carry."""

    question: str = "choice"
    quick: bool = False
    """Whether a choice is sent at once; it can be undone."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """The number of a choice, from 0."""
    count = len(list_choices(example))
    return check_choice(answer, options, lambda choice: type(choice) is int and 0 <= choice < count)


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The question, its choices, and a text it is about where there is one."""
    return {
        **pick_texts(example, ("title", "context")),
        "question": example.inputs["question"],
        "choices": list_choices(example),
    }


def offer_choices(example: Example, options: Options) -> dict[str, Offer]:
    """The numbers of the choices, each with its words."""
    choices = tuple(list_choices(example))
    return {options.question: Offer(tuple(range(len(choices))), choices)}


FORM = Form(
    name="multiple-choice",
    title={"ja": "選択肢から答える", "ko": "선택지에서 답하기", "en": "Answer a multiple choice"},
    questions=("choice",),
    inputs=("question", "choices"),
    validate=validate,
    settings=MultipleChoice,
    view=view,
    offers=offer_choices,
    words={
        "ja": {"prompt": "質問の答えを一つ選んでください。"},
        "ko": {"prompt": "질문의 답을 하나 골라 주세요."},
        "en": {"prompt": "Choose the answer to the question."},
    },
    guideline=make_guideline(
        ja=(
            "質問を読み、答えとして最も適切なものを一つ選んでください。",
            "調べずに、普段の知識で答えてください。",
        ),
        ko=(
            "질문을 읽고 답으로 가장 알맞은 것을 하나 골라 주세요.",
            "검색하지 말고 평소 알고 있는 지식으로 답해 주세요.",
        ),
        en=(
            "Read the question and choose the best answer.",
            "Do not look anything up. Answer from what you know.",
        ),
    ),
    sample=Sample(
        inputs={"question": "雨の日に道で差すものは？", "choices": ["傘", "箸", "針", "旗", "栓"]},
        answer={"choice": 0},
        refused=(
            {},
            {"choice": 5},
            {"choice": -1},
            {"choice": "傘"},
            {"choice": True},
            {"choice": 0.0},
        ),
    ),
)
