"""Acceptability: would speakers say a sentence? With its minimal pair next to it (JCoLA).

An answer is `{"label": "acceptable"}`. If the item has the input `other`, a sentence that differs in one place, the
page shows both next to each other and marks the place. With the setting `other` the worker judges both sentences, each by itself: the
second answer is the question `other`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from nikawa.collect.form import REFUSED, Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, Labels, make_guideline, pick_texts
from nikawa.records import Example

ACCEPTABILITY = ("acceptable", "unacceptable")


class Acceptability(FormSettings, frozen=True, kw_only=True):
    """The labels, and whether both sentences of a pair are judged."""

    question: str = "label"
    labels: Labels = ACCEPTABILITY
    """The labels in the order of the page; `names` says what each is called there."""
    other: bool = False
    """Whether the other sentence of a pair is judged too: the question `other`."""
    quick: bool = False
    """Whether a choice is sent at once, where one sentence is judged; it can be undone."""


def list_questions(example: Example, options: Options) -> tuple[str, ...]:
    """The questions about an item: two if both sentences are judged and there is a second one."""
    is_pair = isinstance(example.inputs.get("other"), str)
    return (options.question, "other") if options.other and is_pair else (options.question,)


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A label for each sentence that is judged."""
    questions = list_questions(example, options)
    if not set(answer) <= set(questions):
        return [Problem(REFUSED)]
    return [
        Problem("choose_one", where=question)
        for question in questions
        if not isinstance(answer.get(question), str) or answer[question] not in options.labels
    ]


def find_difference(one: str, other: str) -> dict[str, list[int]]:
    """Where two sentences differ: what is left of each without the beginning and the end that they share.

    >>> find_difference("犬が走る。", "犬を走る。")
    {'text': [1, 2], 'other': [1, 2]}
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    tails = zip(reversed(one[same:]), reversed(other[same:]), strict=False)
    end = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], tails))
    return {"text": [same, len(one) - end], "other": [same, len(other) - end]}


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The situation, the sentence, and the other sentence with the place where they differ."""
    shown: dict[str, Any] = pick_texts(example, ("situation", "text", "other"))
    if "other" in shown:
        shown["difference"] = find_difference(shown["text"], shown["other"])
    return shown


def offer_labels(example: Example, options: Options) -> Mapping[str, Offer]:
    """The labels, for each sentence that is judged."""
    return {question: Offer(options.labels) for question in list_questions(example, options)}


FORM = Form(
    name="acceptability",
    title={
        "ja": "文が自然に言えるか判断する",
        "ko": "자연스러운 문장인지 판단하기",
        "en": "Is a sentence acceptable",
    },
    questions=("label", "other"),
    inputs=("text",),
    optional=("situation", "other"),
    validate=validate,
    settings=Acceptability,
    view=view,
    offers=offer_labels,
    words={
        "ja": {
            "prompt": "この文は、自然な文として言えますか。",
            "prompt_both": "二つの文は、それぞれ自然な文として言えますか。",
            "label_acceptable": "言える",
            "label_unacceptable": "言えない",
            "input_situation": "場面",
            "to_judge": "判断する文",
            "to_compare": "比べる文",
            "input_other": "もう一つの文",
            "title_label": "文1",
            "title_other": "文2",
            "question_other": "もう一つの文は、自然な文として言えますか。",
        },
        "ko": {
            "prompt": "이 문장은 자연스럽게 말할 수 있는 문장입니까?",
            "prompt_both": "두 문장은 각각 자연스럽게 말할 수 있는 문장입니까?",
            "label_acceptable": "말할 수 있다",
            "label_unacceptable": "말할 수 없다",
            "input_situation": "상황",
            "to_judge": "판단할 문장",
            "to_compare": "비교할 문장",
            "input_other": "다른 문장",
            "title_label": "문장 1",
            "title_other": "문장 2",
            "question_other": "다른 문장은 자연스럽게 말할 수 있는 문장입니까?",
        },
        "en": {
            "prompt": "Can you say this sentence?",
            "prompt_both": "Can you say these sentences? Judge each by itself.",
            "label_acceptable": "Yes, it is a possible sentence",
            "label_unacceptable": "No, a speaker would not say it",
            "input_situation": "Situation",
            "to_judge": "Sentence to judge",
            "to_compare": "For comparison",
            "input_other": "The other sentence",
            "title_label": "Sentence 1",
            "title_other": "Sentence 2",
            "question_other": "Can you say the other sentence?",
        },
    },
    guideline=make_guideline(
        ja=(
            "声に出して読むつもりで、その言語を普段使う人が実際に言いそうな文かどうかを判断してください。",
            "学校の文法や、正しい・美しい言葉づかいかどうかは問いません。内容が事実かどうかも関係ありません。",
            "言う場面が一つでも思い浮かべば「言える」を選んでください。場面が書かれているときは、その場面で判断してください。",
            "似た文が横にあるときは、違う部分に色が付いています。比べるための文です。片方が言えても、もう片方が言えないとは限りません。",
        ),
        ko=(
            "소리 내어 읽는다고 생각하고, 그 언어를 쓰는 사람이 실제로 말할 만한 문장인지 판단해 주세요.",
            "학교 문법에 맞는지, 표현이 바르고 고운지는 묻지 않습니다. 내용이 사실인지도 상관없습니다.",
            "말할 수 있는 상황이 하나라도 떠오르면 ‘말할 수 있다’를 골라 주세요. 상황이 적혀 있으면 그 상황에서 판단해 주세요.",
            "비슷한 문장이 옆에 있으면 다른 부분에 색이 있습니다. 비교를 위한 문장이며, 한쪽을 말할 수 있다고 다른 쪽을 말할 수 없는 것은 아닙니다.",
        ),
        en=(
            "Read the sentence as if aloud. Decide whether a speaker of the language would say it.",
            "School grammar and good style do not matter, and neither does whether the content is true.",
            "If you can think of one situation in which somebody would say it, it is possible. If a situation is given, judge for that one.",
            "A similar sentence may be next to it, with the difference marked. It is there for comparison: both may be possible, or neither.",
        ),
    ),
    sample=Sample(
        inputs={
            "text": "窓辺の猫をひなたが寝ている。",
            "other": "窓辺の猫がひなたで寝ている。",
        },
        answer={"label": "unacceptable", "other": "acceptable"},
        refused=(
            {},
            {"label": "unacceptable"},
            {"label": "maybe", "other": "acceptable"},
            {"label": ["acceptable"], "other": "acceptable"},
            {"label": "acceptable", "other": "acceptable", "more": 1},
        ),
        settings={"other": True},
    ),
)
