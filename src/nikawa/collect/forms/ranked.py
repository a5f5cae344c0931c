"""Ranked choice: up to three labels, the best first (KLUE-TC).

An answer is `{"label": ["생활문화", "IT과학"]}`, the best first. Only the first counts for control items and for
disagreement; `nikawa aggregate --rule first+votes:2/3` takes it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nikawa.collect.form import REFUSED, Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import (
    MISSING,
    Count,
    FormSettings,
    Labels,
    make_guideline,
    only_answer,
    show_texts,
)
from nikawa.records import Example


class Ranked(FormSettings, frozen=True, kw_only=True):
    """The question, its labels and how many may be ranked."""

    question: str = "label"
    labels: Labels = ("정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠")
    """The labels in the order of the page; the default are the topics of KLUE-TC."""
    most: Count = 3
    """How many labels may be ranked."""
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts."""


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """One label at least, none twice, not more than asked for."""
    labels = only_answer(answer, options.question)
    if labels is MISSING:
        return [Problem(REFUSED)]
    is_list = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    if not is_list or not labels:
        return [Problem("choose_one", where=options.question)]
    if len(labels) > options.most:
        return [Problem("rank_most", {"most": options.most}, options.question)]
    if len(set(labels)) < len(labels) or not set(labels) <= set(options.labels):
        return [Problem(REFUSED, where=options.question)]
    return []


def first_is_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the first label is the gold, or the first of the gold."""
    right = gold.get(options.question)
    best = right[0] if isinstance(right, list) and right else right
    return bool(answer.get(options.question, [None])[0] == best)


def firsts_differ(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two rankings begin with different labels."""
    rankings = [answer.get(options.question) or [None] for answer in answers]
    return len({ranking[0] for ranking in rankings}) > 1


def offer_ranking(_example: Example, options: Options) -> dict[str, Offer]:
    """The labels, of which some are ranked."""
    return {options.question: Offer(options.labels, most=options.most, is_ranking=True)}


FORM = Form(
    name="ranked",
    title={
        "ja": "順位を付けて三つまで選ぶ",
        "ko": "순위를 매겨 세 개까지 고르기",
        "en": "Up to three, ranked",
    },
    questions=("label",),
    inputs=(),
    validate=validate,
    settings=Ranked,
    gold_matches=first_is_gold,
    differ=firsts_differ,
    view=show_texts,
    offers=offer_ranking,
    words={
        "ja": {
            "prompt": "当てはまるものを、最もよく当てはまる順に{most}つまで選んでください。",
            "rank_most": "選べるのは{most}つまでです",
            "rank_place": "{place}位",
            "rank_none": "まだ選んでいません",
        },
        "ko": {
            "prompt": "알맞은 것을 관련이 큰 순서로 {most}개까지 골라 주세요.",
            "rank_most": "{most}개까지 고를 수 있습니다",
            "rank_place": "{place}순위",
            "rank_none": "아직 고르지 않았습니다",
        },
        "en": {
            "prompt": "Choose up to {most} options, the best one first.",
            "rank_most": "You can choose at most {most}",
            "rank_place": "Place {place}",
            "rank_none": "Nothing chosen yet",
        },
    },
    guideline=make_guideline(
        ja=(
            "最もよく当てはまるものを最初に選んでください。",
            "ほかにも当てはまるものがあれば、続けて選んでください。一つだけでもかまいません。",
            "もう一度押すと選択を取り消せます。",
        ),
        ko=(
            "가장 알맞은 것을 먼저 골라 주세요.",
            "다른 것도 알맞으면 이어서 골라 주세요. 하나만 골라도 됩니다.",
            "다시 누르면 선택이 취소됩니다.",
        ),
        en=(
            "Choose the best option first.",
            "If others fit too, choose them next. One choice is enough.",
            "Press an option again to remove it.",
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
