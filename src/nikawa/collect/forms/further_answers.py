"""Mark the answer to a question in its paragraph: further answers to questions others wrote (JSQuAD).

An answer is `{"answer": "…", "start": 25}`, counted in characters. A control item is right where the text is one of
its gold answers, wherever it is; two workers disagree where the places they marked share nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import Count, FormSettings, make_guideline, show_inputs
from nikawa.collect.forms._rules import check_marked
from nikawa.records import Example


class FurtherAnswers(FormSettings, frozen=True, kw_only=True):
    """The question of its judgements; the position of the answer is the question `start`."""

    question: str = "answer"
    longest: Count = 50
    """Most characters of an answer."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A stretch of the paragraph."""
    text = answer.get(options.question, "")
    if not set(answer) <= {options.question, "start"} or not isinstance(text, str):
        return [Problem(REFUSED)]
    context = str(example.inputs.get("context", ""))
    start = answer.get("start", context.find(text))
    return check_marked(text, start, context, options.longest, "answer-0")


def is_gold_text(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the text is that of a gold answer, wherever it is; gold is a text, a span with one, or a list of these."""
    known = gold.get(options.question, gold.get("answers"))
    rights = known if isinstance(known, list) else [known]
    texts = [right.get("text") if isinstance(right, dict) else right for right in rights]
    text = answer.get(options.question)
    return isinstance(text, str) and text in texts


def are_apart(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two answers mark places that share nothing: a longer and a shorter answer are two ways to be right."""
    pairs = combinations(answers, 2)
    return not all(share_a_place(one, other, options.question) for one, other in pairs)


def share_a_place(one: Answer, other: Answer, question: str) -> bool:
    """Whether two marked texts overlap; without places, whether one holds the other."""
    first = str(one.get(question, ""))
    second = str(other.get(question, ""))
    start, later = one.get("start"), other.get("start")
    if type(start) is int and type(later) is int:
        return start < later + len(second) and later < start + len(first)
    return first in second or second in first


FORM = Form(
    name="further-answers",
    title={
        "ja": "質問の答えを段落から選ぶ",
        "ko": "문단에서 질문의 답 고르기",
        "en": "Mark the answer to a question",
    },
    questions=("answer", "start", "answers"),
    inputs=("context", "question"),
    optional=("title",),
    validate=validate,
    script="write-question.js",
    settings=FurtherAnswers,
    gold_matches=is_gold_text,
    differ=are_apart,
    view=show_inputs,
    words={
        "ja": {
            "prompt": "質問の答えを段落から選択してください。",
            "answer_field": "答え",
            "answer_none": "段落内の答えをドラッグして選択してください",
            "answer_missing": "段落から答えを選択してください",
            "answer_absent": "答えが段落内にありません",
        },
        "ko": {
            "prompt": "질문의 답을 문단에서 선택해 주세요.",
            "answer_field": "답",
            "answer_none": "문단에서 답을 드래그하여 선택해 주세요",
            "answer_missing": "문단에서 답을 선택해 주세요",
            "answer_absent": "답이 문단에 없습니다",
        },
        "en": {
            "prompt": "Mark the answer to the question in the paragraph.",
            "answer_field": "Answer",
            "answer_none": "Mark the answer in the paragraph",
            "answer_missing": "Mark the answer in the paragraph",
            "answer_absent": "The answer is not in the paragraph",
        },
    },
    guideline=make_guideline(
        ja=(
            "質問の答えになる箇所を、段落からできるだけ短く、過不足なく選択してください。",
            "段落を読んでも答えられない場合は、「判断できない」を選んで報告してください。",
        ),
        ko=(
            "질문의 답이 되는 부분을 문단에서 가능한 한 짧게, 그러나 필요한 내용이 빠지지 않도록 선택해 주세요.",
            "문단만으로 답할 수 없으면 ‘판단할 수 없음’으로 신고해 주세요.",
        ),
        en=(
            "Mark the answer to the question. Keep it as short as possible, but complete.",
            "If the paragraph does not answer the question, report the item with “Cannot decide”.",
        ),
    ),
    sample=Sample(
        inputs={
            "title": "등대",
            "context": "섬의 등대는 백 년 전에 세워졌다. 처음에는 석유등을 썼고 나중에 전등으로 바뀌었다.",
            "question": "처음에 쓰던 불은 무엇인가?",
        },
        answer={"answer": "석유등", "start": 25},
        refused=(
            {},
            {"answer": ""},
            {"answer": "촛불"},
            {"answer": "석유등", "start": 1},
            {"answer": "석유등", "start": "25"},
            {"answer": ["석유등"]},
            {"answer": "석유등", "more": 1},
        ),
    ),
)
