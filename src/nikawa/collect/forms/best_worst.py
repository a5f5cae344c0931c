"""Best-worst scaling: of a few texts the best and the worst.

An answer is `{"best": "A", "worst": "C"}`: letters name the input `choices` in its order, from A. The page shows them in an
order of its own for each worker and item. `nikawa aggregate --rank best-worst` makes scores of the judgements: how often a
text was the best less how often it was the worst, over how often it was shown (Louviere and Woodworth 1991).
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from nikawa.collect.form import REFUSED, Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, list_choices, make_guideline, pick_texts
from nikawa.records import Example

MIN_CHOICES, MAX_CHOICES = 3, 9


class BestWorst(FormSettings, frozen=True, kw_only=True):
    """What its judgements are called; `names` says what best and worst mean: `{best = "most polite", …}`."""

    question: str = "best"


def name_choices(example: Example) -> dict[str, str]:
    """The choices by their letters; raises `ValueError` where they are too few, too many, or not different texts."""
    choices = list_choices(example)
    if not MIN_CHOICES <= len(choices) <= MAX_CHOICES:
        raise ValueError(f"it has {len(choices)} choices, not {MIN_CHOICES} to {MAX_CHOICES}")
    if len(set(choices)) < len(choices):
        raise ValueError("two of its choices are the same")
    return dict(zip(ascii_uppercase, choices, strict=False))


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """Two different choices."""
    if not set(answer) <= {options.question, "worst"}:
        return [Problem(REFUSED)]
    letters = name_choices(example)
    problems = [
        Problem(code, where=question)
        for question, code in ((options.question, "best_missing"), ("worst", "worst_missing"))
        if not isinstance(answer.get(question), str) or answer[question] not in letters
    ]
    if not problems and answer[options.question] == answer["worst"]:
        return [Problem("best_is_worst", where="worst")]
    return problems


def mislead(
    gold: Mapping[str, Any], example: Example, options: Options, chance: float
) -> Answer | None:
    """The gold the other way round; of one that is not known, any other."""
    letters = list(name_choices(example))
    best, worst = gold.get(options.question), gold.get("worst")
    rest = [letter for letter in letters if letter not in (best, worst)]
    other = rest[int(chance * len(rest))]
    if best is None:
        return {options.question: worst, "worst": other}
    return {options.question: worst or other, "worst": best}


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """What the texts are about, and the texts to choose from."""
    context = pick_texts(example, ("source", "title", "context", "text", "question"))
    return {**context, "choices": list(name_choices(example).values())}


def offer(example: Example, options: Options) -> dict[str, Offer]:
    """Each choice by its letter, as the best and as the worst."""
    letters = name_choices(example)
    one = Offer(tuple(letters), tuple(letters.values()))
    return {options.question: one, "worst": one}


FORM = Form(
    name="best-worst",
    title={
        "ja": "最も良いものと最も良くないものを選ぶ",
        "ko": "가장 좋은 것과 가장 좋지 않은 것 고르기",
        "en": "The best and the worst of a few",
    },
    questions=("best", "worst"),
    inputs=("choices",),
    optional=("source", "title", "context", "text", "question"),
    validate=validate,
    settings=BestWorst,
    view=view,
    offers=offer,
    mislead=mislead,
    words={
        "ja": {
            "prompt": "最も良いものと、最も良くないものを一つずつ選んでください。",
            "title_best": "最も良い",
            "title_worst": "最も良くない",
            "pole": "{pole}：{text}",
            "question_worst": "最も良くないものはどれですか。",
            "best_missing": "最も良いものを選んでください",
            "worst_missing": "最も良くないものを選んでください",
            "best_is_worst": "同じものは選べません",
            "key_poles": "最も良いもの、次に最も良くないもの（もう一度で取り消し）",
        },
        "ko": {
            "prompt": "가장 좋은 것과 가장 좋지 않은 것을 하나씩 골라 주세요.",
            "title_best": "가장 좋음",
            "title_worst": "가장 좋지 않음",
            "pole": "{pole}: {text}",
            "question_worst": "가장 좋지 않은 것은 어느 것입니까?",
            "best_missing": "가장 좋은 것을 골라 주세요",
            "worst_missing": "가장 좋지 않은 것을 골라 주세요",
            "best_is_worst": "같은 것을 고를 수 없습니다",
            "key_poles": "가장 좋은 것, 그다음 가장 좋지 않은 것(다시 누르면 취소)",
        },
        "en": {
            "prompt": "Choose the best one and the worst one.",
            "title_best": "Best",
            "title_worst": "Worst",
            "pole": "{pole}: {text}",
            "question_worst": "Which one is the worst?",
            "best_missing": "Choose the best one",
            "worst_missing": "Choose the worst one",
            "best_is_worst": "Choose two different ones",
            "key_poles": "The best, then the worst (again removes it)",
        },
    },
    guideline=make_guideline(
        ja=(
            "すべて読んでから、最も当てはまるものと、最も当てはまらないものを一つずつ選んでください。",
            "残りのものに順位を付ける必要はありません。",
            "差が小さくても、必ず一つずつ選んでください。並び順は毎回変わります。",
        ),
        ko=(
            "모두 읽은 다음 가장 알맞은 것과 가장 알맞지 않은 것을 하나씩 골라 주세요.",
            "나머지의 순위는 정하지 않아도 됩니다.",
            "차이가 작아도 반드시 하나씩 골라 주세요. 순서는 매번 바뀝니다.",
        ),
        en=(
            "Read all texts. Then choose the one that fits the question most and the one that fits it least.",
            "You need not rank the others.",
            "Choose one of each even if the difference is small. The order changes from item to item.",
        ),
    ),
    sample=Sample(
        inputs={
            "question": "どれがいちばん丁寧ですか。",
            "choices": [
                "ちょっと待って。",
                "少々お待ちください。",
                "待ってろ。",
                "少し待ってください。",
            ],
        },
        answer={"best": "B", "worst": "C"},
        refused=(
            {},
            {"best": "B"},
            {"best": "B", "worst": "B"},
            {"best": "E", "worst": "A"},
            {"best": 1, "worst": 2},
            {"best": ["B"], "worst": "C"},
            {"best": "B", "worst": "C", "more": 1},
        ),
    ),
)
