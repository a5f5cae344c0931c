"""Ranked choice: up to three labels, the best first (KLUE-TC)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import (
    FIELDS,
    MISSING,
    Asked,
    Count,
    Labels,
    guide,
    only,
    show_texts,
)
from nikawa.records import Example


class Ranked(Asked, frozen=True, kw_only=True):
    """The question, its labels and how many may be ranked."""

    question: str = "label"
    labels: Labels = ("정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠")
    most: Count = 3
    shows: tuple[str, ...] = ()


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """One label at least, none twice, not more than asked for."""
    given = only(answer, options.question)
    if not isinstance(given, list) or not all(isinstance(label, str) for label in given):
        return (
            [Problem("choose_one", where=options.question)]
            if given is not MISSING
            else [Problem(REFUSED)]
        )
    if not given:
        return [Problem("choose_one", where=options.question)]
    if len(given) > options.most:
        return [Problem("rank_most", {"most": options.most}, options.question)]
    good = len(set(given)) == len(given) and set(given) <= set(options.labels)
    return [] if good else [Problem(REFUSED, where=options.question)]


def first_is(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the first label is the gold, or the first of the gold."""
    right = gold.get(options.question)
    wanted = right[0] if isinstance(right, list) and right else right
    return bool(answer.get(options.question, [None])[0] == wanted)


def firsts(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two rankings begin with different labels."""
    return len({tuple((answer.get(options.question) or [None])[:1]) for answer in answers}) > 1


FORM = Form(
    name="ranked",
    title={
        "ja": "順位をつけて三つまで選ぶ",
        "ko": "순위를 매겨 셋까지 고르기",
        "en": "Up to three, ranked",
    },
    questions=("label",),
    inputs=(),
    validate=validate,
    template=FIELDS,
    settings=Ranked,
    gold_matches=first_is,
    differ=firsts,
    view=show_texts,
    words={
        "ja": {
            "prompt": "あてはまるものを、一番よくあてはまる順に {most} つまで選んでください。",
            "rank_most": "選べるのは {most} つまでです",
            "rank_place": "{place} 位",
            "rank_none": "まだ選んでいません",
        },
        "ko": {
            "prompt": "알맞은 것을 가장 알맞은 순서로 {most}개까지 골라 주세요.",
            "rank_most": "{most}개까지 고를 수 있습니다",
            "rank_place": "{place}순위",
            "rank_none": "아직 고르지 않았습니다",
        },
        "en": {
            "prompt": "Choose up to {most}, the best first.",
            "rank_most": "{most} at most can be chosen",
            "rank_place": "Place {place}",
            "rank_none": "Nothing chosen yet",
        },
    },
    guideline=guide(
        ja=(
            "一番よくあてはまるものを最初に選んでください。",
            "ほかにもあてはまるものがあれば、続けて選んでください。無理に増やす必要はありません。",
            "もう一度押すと取り消せます。",
        ),
        ko=(
            "가장 알맞은 것을 먼저 골라 주세요.",
            "다른 것도 알맞으면 이어서 골라 주세요. 억지로 늘릴 필요는 없습니다.",
            "다시 누르면 취소됩니다.",
        ),
        en=(
            "Choose the one that fits best first.",
            "Where others fit too, choose them next; there is no need to fill all places.",
            "Press one again to take it back.",
        ),
    ),
    sample=Sample(
        inputs={"text": "동네 도서관, 주말마다 별 관측 교실 연다"},
        answer={"label": ["생활문화", "IT과학"]},
        refused=(
            {},
            {"label": []},
            {"label": "정치"},
            {"label": ["정치", "정치"]},
            {"label": ["정치", "경제", "사회", "세계"]},
            {"label": ["날씨"]},
            {"label": [["정치"]]},
        ),
    ),
)
