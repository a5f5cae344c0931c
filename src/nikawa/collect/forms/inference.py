"""Three-way inference: premise to hypothesis, and where asked whether the sentences are natural (JSICK-stress).

An answer is `{"label": "entailment", "naturalness": "natural"}`, the second only where the project asks for it. Each
question becomes a separate judgement.
"""

from __future__ import annotations

import re
from typing import Any

from nikawa.collect.form import (
    REFUSED,
    Answer,
    Form,
    Offer,
    Options,
    Problem,
    Sample,
    plain_view,
)
from nikawa.collect.forms._base import RELATIONS, FormSettings, make_guideline
from nikawa.records import Example

NATURALNESS = ("natural", "premise", "hypothesis", "both")
"""Which of the sentences is unnatural."""


class Inference(FormSettings, frozen=True, kw_only=True):
    """Whether naturalness is asked too."""

    question: str = "label"
    naturalness: bool = False
    """Whether the worker also says which of the sentences is unnatural: the question `naturalness`."""
    quick: bool = False
    """Whether a choice is sent at once, where naturalness is not asked."""


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """A relation, and an answer about naturalness where it is asked."""
    labels: dict[str, tuple[str, ...]] = {options.question: RELATIONS}
    if options.naturalness:
        labels["naturalness"] = NATURALNESS
    if not set(answer) <= set(labels):
        return [Problem(REFUSED)]
    return [
        Problem("choose_one", where=question)
        for question, known in labels.items()
        if not isinstance(answer.get(question), str) or answer[question] not in known
    ]


_POINTS = {
    "ja": (
        "二つの文は同じ場面について述べているものとして判断してください。",
        "**必ず正しい**: 前提が正しければ、仮説も必ず正しい。",
        "**必ず誤り**: 前提が正しければ、仮説は必ず誤り。",
        "**どちらとも言えない**: 正しい場合もあれば、正しくない場合もある。",
    ),
    "ko": (
        "두 문장이 같은 상황을 설명한다고 가정하고 판단해 주세요.",
        "**반드시 참**: 전제가 참이면 가설도 반드시 참이다.",
        "**반드시 거짓**: 전제가 참이면 가설은 반드시 거짓이다.",
        "**참·거짓을 판단할 수 없음**: 참일 수도 있고 거짓일 수도 있다.",
    ),
    "en": (
        "Assume that the two sentences describe the same scene.",
        "**It must be true**: whenever the premise is true, so is the hypothesis.",
        "**It must be false**: whenever the premise is true, the hypothesis is false.",
        "**It may be either**: it can be true, and it can be false.",
    ),
}
_NATURAL = {
    "ja": "自然さは、意味の関係とは別に、表現として不自然かどうかだけで判断してください。",
    "ko": "자연스러움은 의미 관계와 별개로, 표현이 어색한지만 보고 답해 주세요.",
    "en": "Judge naturalness separately from meaning. Look only at the wording.",
}


def parse_votes(text: str) -> list[tuple[str, int]]:
    """How often each label was given, from what a build writes of earlier answers.

    >>> parse_votes("entailment x2, neutral x1")
    [('entailment', 2), ('neutral', 1)]
    """
    return [(label, int(count)) for label, count in re.findall(r"(\S+) x(\d+)(?:, |$)", text)]


def view(form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The two sentences, and how often each label was given before, if the item contains it."""
    shown = plain_view(form, example, options)
    votes = example.inputs.get("votes")
    if isinstance(votes, str) and (counts := parse_votes(votes)):
        shown["votes"] = counts
    return shown


def make_guidelines(options: Options) -> dict[str, str]:
    """The guideline; naturalness is explained where it is asked."""
    if not options.naturalness:
        return make_guideline(**_POINTS)
    points = {language: (*texts, _NATURAL[language]) for language, texts in _POINTS.items()}
    return make_guideline(**points)


def offer_relations(_example: Example, options: Options) -> dict[str, Offer]:
    """The relations, and which sentence is unnatural where that is asked."""
    relations = {options.question: Offer(RELATIONS)}
    return {**relations, "naturalness": Offer(NATURALNESS)} if options.naturalness else relations


FORM = Form(
    name="inference",
    title={"ja": "推論の関係を選ぶ", "ko": "추론 관계 고르기", "en": "Premise and hypothesis"},
    questions=("label", "naturalness"),
    inputs=("premise", "hypothesis"),
    optional=("votes",),
    validate=validate,
    settings=Inference,
    view=view,
    offers=offer_relations,
    sets={"naturalness": True},
    words={
        "ja": {
            "prompt": "前提が正しいとき、仮説は正しいと言えますか。",
            "label_entailment": "必ず正しい",
            "label_contradiction": "必ず誤り",
            "label_neutral": "どちらとも言えない",
            "input_votes": "作業者の回答",
            "vote": "{label}：{count}人",
            "question_naturalness": "日本語として不自然な文はありますか。",
            "label_natural": "どちらも自然",
            "label_premise": "前提が不自然",
            "label_hypothesis": "仮説が不自然",
            "label_both": "どちらも不自然",
        },
        "ko": {
            "prompt": "전제가 참일 때 가설도 참이라고 할 수 있습니까?",
            "label_entailment": "반드시 참",
            "label_contradiction": "반드시 거짓",
            "label_neutral": "참·거짓을 판단할 수 없음",
            "input_votes": "작업자의 답",
            "vote": "{label}: {count}명",
            "question_naturalness": "어색한 문장이 있습니까?",
            "label_natural": "둘 다 자연스러움",
            "label_premise": "전제가 어색함",
            "label_hypothesis": "가설이 어색함",
            "label_both": "둘 다 어색함",
        },
        "en": {
            "prompt": "If the premise is true, is the hypothesis true?",
            "label_entailment": "It must be true",
            "label_contradiction": "It must be false",
            "label_neutral": "It may be either",
            "input_votes": "Workers' answers",
            "vote": "{label}: {count}",
            "question_naturalness": "Is either sentence unnatural?",
            "label_natural": "Both are natural",
            "label_premise": "The premise is unnatural",
            "label_hypothesis": "The hypothesis is unnatural",
            "label_both": "Both are unnatural",
        },
    },
    guideline=make_guidelines(Inference(naturalness=True)),
    guided=make_guidelines,
    sample=Sample(
        inputs={
            "premise": "男の子が公園で赤い凧を揚げている。",
            "hypothesis": "子どもが屋外で遊んでいる。",
        },
        answer={"label": "entailment", "naturalness": "natural"},
        refused=(
            {},
            {"label": "entailment"},
            {"label": "yes", "naturalness": "natural"},
            {"label": "entailment", "naturalness": ["premise"]},
            {"label": "entailment", "naturalness": "natural", "score": 1},
        ),
        settings={"naturalness": True},
    ),
)
