"""Multiple selection: all labels that fit a text, of which the order does not count.

An answer is `{"labels": ["sport", "world"]}`. A control item is right where the labels are those of its gold; two workers
disagree where their labels differ. A label of the setting `alone`, such as `none`, excludes all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import (
    MISSING,
    FormSettings,
    Labels,
    make_guideline,
    only_answer,
    show_texts,
)
from nikawa.errors import BadInput
from nikawa.records import Example


class MultipleSelection(FormSettings, frozen=True, kw_only=True):
    """The question, its labels and how many may be chosen."""

    question: str = "labels"
    labels: Labels = ("joy", "anger", "sadness", "surprise", "none")
    """The labels in the order of the page; `names` says what each is called there."""
    at_least: Annotated[int, Meta(ge=1, le=200)] = 1
    """The fewest labels; for texts to which no label applies, add a label and name it in `alone`."""
    at_most: Annotated[int, Meta(ge=0, le=200)] = 0
    """The most labels; 0: all."""
    alone: tuple[str, ...] = ("none",)
    """Labels that cannot be chosen together with others; those that are not among `labels` do not count."""
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts."""


def check_settings(options: Options, _paths: Mapping[str, Path]) -> Options:
    """Refuse numbers of labels that no answer can have."""
    least, most = options.at_least, options.at_most or len(options.labels)
    if least > min(most, len(options.labels)):
        what = f"[form_settings] of the form multiple-selection: at_least = {least} is more than an answer can have"
        raise BadInput(what, file="project.toml", cure="lower it, or raise at_most")
    return msgspec.structs.replace(
        options, alone=tuple(label for label in options.alone if label in options.labels)
    )


def find_most(options: Options) -> int:
    """The most labels of an answer."""
    return int(options.at_most or len(options.labels))


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """Labels, none twice, as many as asked for, none together with one that excludes others."""
    labels, where = only_answer(answer, options.question), options.question
    if labels is MISSING:
        return [Problem(REFUSED)]
    is_list = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    if not is_list or not labels:
        return [Problem("choose_some", {"least": options.at_least}, where)]
    if len(set(labels)) < len(labels) or not set(labels) <= set(options.labels):
        return [Problem(REFUSED, where=where)]
    if set(labels) & set(options.alone):
        return [] if len(labels) == 1 else [Problem("select_alone", where=where)]
    if len(labels) < options.at_least:
        return [Problem("choose_some", {"least": options.at_least}, where)]
    most = find_most(options)
    return [Problem("select_most", {"most": most}, where)] if len(labels) > most else []


def same_labels(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the labels are those of the gold, in any order."""
    right = gold.get(options.question)
    labels = answer.get(options.question)
    if not isinstance(right, list | tuple) or not isinstance(labels, list | tuple):
        return False
    return sorted(map(str, labels)) == sorted(map(str, right))


def labels_differ(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two answers have other labels."""
    return len({frozenset(answer.get(options.question) or ()) for answer in answers}) > 1


def offer_set(_example: Example, options: Options) -> dict[str, Offer]:
    """The labels, of which several may be chosen."""
    most = find_most(options)
    return {options.question: Offer(options.labels, most=most, is_ranking=True, is_set=True)}


def exchange_label(
    gold: Mapping[str, Any], _example: Example, options: Options, chance: float
) -> Answer | None:
    """The gold with another label in place of one; None where no other label can be there."""
    right = gold.get(options.question)
    if not isinstance(right, list | tuple) or not right:
        return None
    others = [label for label in options.labels if label not in (*right, *options.alone)]
    if not others:
        return None
    other = others[int(chance * len(others))]
    kept = [label for label in right[1:] if label not in options.alone]
    return {options.question: [label for label in options.labels if label in (other, *kept)]}


FORM = Form(
    name="multiple-selection",
    title={
        "ja": "当てはまるものをすべて選ぶ",
        "ko": "알맞은 것 모두 고르기",
        "en": "Choose all that fit",
    },
    questions=("labels",),
    inputs=(),
    validate=validate,
    settings=MultipleSelection,
    prepare=check_settings,
    gold_matches=same_labels,
    differ=labels_differ,
    mislead=exchange_label,
    view=show_texts,
    offers=offer_set,
    words={
        "ja": {
            "prompt": "当てはまるものをすべて選んでください。",
            "choose_some": "{least}個以上選んでください",
            "select_most": "選べるのは{most}個までです",
            "select_alone": "ほかの選択肢と一緒には選べない項目があります",
            "select_none": "まだ選んでいません",
            "key_toggle": "選択する・取り消す",
            "label_joy": "喜び",
            "label_anger": "怒り",
            "label_sadness": "悲しみ",
            "label_surprise": "驚き",
            "label_none": "どれにも当てはまらない",
        },
        "ko": {
            "prompt": "알맞은 것을 모두 골라 주세요.",
            "choose_some": "{least}개 이상 골라 주세요",
            "select_most": "{most}개까지 고를 수 있습니다",
            "select_alone": "다른 항목과 함께 고를 수 없는 항목이 있습니다",
            "select_none": "아직 고르지 않았습니다",
            "key_toggle": "선택·선택 취소",
            "label_joy": "기쁨",
            "label_anger": "분노",
            "label_sadness": "슬픔",
            "label_surprise": "놀람",
            "label_none": "해당 없음",
        },
        "en": {
            "prompt": "Choose all options that fit.",
            "choose_some": "Choose {least} or more",
            "select_most": "You can choose at most {most}",
            "select_alone": "One of these options cannot be chosen together with others",
            "select_none": "Nothing chosen yet",
            "key_toggle": "Choose, or remove",
            "label_joy": "Joy",
            "label_anger": "Anger",
            "label_sadness": "Sadness",
            "label_surprise": "Surprise",
            "label_none": "None of these",
        },
    },
    guideline=make_guideline(
        ja=(
            "文を最初から最後まで読み、当てはまるものをすべて選んでください。選ぶ順序は関係ありません。",
            "迷ったときは、書かれている内容だけで判断してください。",
            "当てはまるものがなければ、それを表す選択肢だけを選んでください。",
        ),
        ko=(
            "글을 처음부터 끝까지 읽고 알맞은 것을 모두 골라 주세요. 고르는 순서는 상관없습니다.",
            "판단하기 어려우면 글에 쓰인 내용만으로 결정해 주세요.",
            "알맞은 것이 없으면 그것을 나타내는 항목만 골라 주세요.",
        ),
        en=(
            "Read the text from beginning to end and choose all options that fit. The order does not matter.",
            "If you are unsure, judge only by what is written.",
            "If no option fits, choose only the option that says so.",
        ),
    ),
    sample=Sample(
        inputs={"text": "まさか自分の作品が選ばれるとは思わず、飛び上がって喜んだ。"},
        answer={"labels": ["joy", "surprise"]},
        refused=(
            {},
            {"labels": []},
            {"labels": "joy"},
            {"labels": ["joy", "joy"]},
            {"labels": ["joy", "fear"]},
            {"labels": ["joy", "none"]},
            {"labels": ["joy", "anger", "sadness"]},
            {"labels": [["joy"]]},
            {"labels": ["joy"], "more": 1},
        ),
        settings={"at_most": 2},
    ),
)
