"""sure-choice: one of a set of labels, and how sure the worker is.

An answer is `{"label": "polite", "sure": 2}`. Two workers disagree where their labels differ, however sure they are. The
page is `pages/forms/sure-choice.html`, the script `pages/static/sure-choice.js`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms import FormSettings, Labels, make_guideline, show_texts
from nikawa.records import Example

SURE = (1, 2, 3)
"""Not sure, fairly sure, quite sure."""


class SureChoice(FormSettings, frozen=True, kw_only=True):
    """The labels of the form, set with `--set` or in project.toml."""

    labels: Labels = ("polite", "plain")
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts."""


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """All that is wrong with an answer. It comes from a browser, so it may be anything."""
    if not answer.keys() <= {"label", "sure"}:
        return [Problem(REFUSED)]
    problems = []
    label = answer.get("label")
    if not isinstance(label, str) or label not in options.labels:
        problems.append(Problem("choose_one", where="label"))
    sure = answer.get("sure")
    if type(sure) is not int or sure not in SURE:
        problems.append(Problem("how_sure", where="sure"))
    return problems


def labels_differ(answers: Sequence[Answer], _options: Options) -> bool:
    """Whether two workers chose different labels."""
    return len({str(answer.get("label")) for answer in answers}) > 1


FORM = Form(
    name="sure-choice",
    title={
        "ja": "一つ選び、確信度も答える",
        "ko": "하나 고르고 확신 정도도 답하기",
        "en": "Choose one and say how sure you are",
    },
    questions=("label", "sure"),
    inputs=(),
    validate=validate,
    assets=Path(__file__).parent / "pages",
    template="sure-choice.html",
    settings=SureChoice,
    differ=labels_differ,
    view=show_texts,
    words={
        "ja": {
            "prompt": "この文は丁寧体ですか、普通体ですか。",
            "label_polite": "丁寧体（です・ます）",
            "label_plain": "普通体（だ・である）",
            "sure": "どのくらい確かですか。",
            "sure_1": "自信がない",
            "sure_2": "だいたい確か",
            "sure_3": "確か",
            "sure_note": "迷ったときは、選んだうえで「自信がない」にしてください。",
            "how_sure": "どのくらい確かかも選んでください",
            "key_sure": "確かさを選ぶ",
        },
        "ko": {
            "prompt": "이 문장은 높임말입니까, 반말입니까?",
            "label_polite": "높임말",
            "label_plain": "반말",
            "sure": "얼마나 확신합니까?",
            "sure_1": "자신이 없다",
            "sure_2": "대체로 확신한다",
            "sure_3": "확신한다",
            "sure_note": "망설여지면 하나를 고른 다음 '자신이 없다'를 선택해 주세요.",
            "how_sure": "얼마나 확신하는지도 골라 주세요",
            "key_sure": "확신 정도 고르기",
        },
        "en": {
            "prompt": "Is this sentence polite or plain?",
            "label_polite": "Polite",
            "label_plain": "Plain",
            "sure": "How sure are you?",
            "sure_1": "Not sure",
            "sure_2": "Fairly sure",
            "sure_3": "Quite sure",
            "sure_note": "If you hesitate, choose one and mark it as “Not sure”.",
            "how_sure": "Say how sure you are, too",
            "key_sure": "Choose how sure you are",
        },
    },
    guideline=make_guideline(
        ja=(
            "文末の言い方を見てください。「です」「ます」で終われば丁寧体です。",
            "最後に、自分の答えにどのくらい自信があるかを選んでください。",
        ),
        ko=(
            "문장 끝의 말투를 보세요. '-습니다'나 '-요'로 끝나면 높임말입니다.",
            "마지막으로 자신의 답을 얼마나 확신하는지 골라 주세요.",
        ),
        en=(
            "Look at how the sentence ends: in Japanese, です and ます are polite.",
            "Then say how sure you are of your answer.",
        ),
    ),
    sample=Sample(
        inputs={"text": "明日は早く出かけます。"},
        answer={"label": "polite", "sure": 3},
        refused=(
            {},
            {"label": "polite"},
            {"label": "rude", "sure": 1},
            {"label": "plain", "sure": 4},
            {"label": "plain", "sure": True},
            {"label": "plain", "sure": 1, "more": 1},
        ),
    ),
)
