"""Single choice: one of a set of labels about the texts of an item.

An answer is `{"label": "positive"}`. A control item is right where the label is its gold; two workers disagree where
their labels differ. Any input that is a text is shown, so the form fits sentences, pairs and dialogues alike.
"""

from __future__ import annotations

from nikawa.collect.form import Form, Sample
from nikawa.collect.forms._base import (
    RELATIONS,
    FormSettings,
    Labels,
    check_label,
    make_guideline,
    offer_labels,
    show_texts,
)


class Choice(FormSettings, frozen=True, kw_only=True):
    """The question and its labels."""

    question: str = "label"
    labels: Labels = RELATIONS
    """The labels in the order of the page; `names` says what each is called there."""
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts and lists of words."""
    quick: bool = False
    """Whether a choice is sent at once; it can be undone."""


FORM = Form(
    name="choice",
    title={"ja": "一つ選ぶ", "ko": "하나 고르기", "en": "Choose one"},
    questions=("label",),
    inputs=(),
    validate=check_label,
    settings=Choice,
    view=show_texts,
    offers=offer_labels,
    words={
        "ja": {
            "prompt": "当てはまるものを一つ選んでください。",
            "label_entailment": "含意",
            "label_contradiction": "矛盾",
            "label_neutral": "中立",
            "label_yes": "はい",
            "label_no": "いいえ",
            "label_positive": "肯定的",
            "label_negative": "否定的",
        },
        "ko": {
            "prompt": "알맞은 것을 하나 골라 주세요.",
            "label_entailment": "함의",
            "label_contradiction": "모순",
            "label_neutral": "중립",
            "label_yes": "예",
            "label_no": "아니요",
            "label_positive": "긍정",
            "label_negative": "부정",
        },
        "en": {
            "prompt": "Choose the option that fits.",
            "label_entailment": "Entailment",
            "label_contradiction": "Contradiction",
            "label_neutral": "Neutral",
            "label_yes": "Yes",
            "label_no": "No",
            "label_positive": "Positive",
            "label_negative": "Negative",
        },
    },
    guideline=make_guideline(
        ja=(
            "文を最初から最後まで読んでください。",
            "最もよく当てはまるものを一つ選んでください。迷ったときは、書かれている内容だけで判断してください。",
        ),
        ko=(
            "글을 처음부터 끝까지 읽어 주세요.",
            "가장 알맞은 것을 하나 골라 주세요. 판단하기 어려우면 글에 쓰인 내용만으로 결정해 주세요.",
        ),
        en=(
            "Read the text from beginning to end.",
            "Choose the option that fits best. If you are unsure, judge only by what is written.",
        ),
    ),
    sample=Sample(
        inputs={"text": "この店のうどんは汁まで飲み干したくなる。"},
        answer={"label": "positive"},
        refused=({}, {"label": "so-so"}, {"label": ["positive"]}, {"label": "positive", "more": 1}),
        settings={
            "labels": ["positive", "negative"],
            "names": {"positive": "肯定的", "negative": "否定的"},
        },
    ),
)
