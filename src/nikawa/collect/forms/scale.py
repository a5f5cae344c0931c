"""A scale with anchors: how similar two sentences are, 0 to 5 (JSTS, KLUE-STS).

An answer is `{"score": 4}`. A control item is right within the tolerance of its gold, and two workers disagree
where they are further apart than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import Answer, Form, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, check_choice, make_guideline, show_texts
from nikawa.records import Example


class Scale(FormSettings, frozen=True, kw_only=True):
    """The question, its ends and steps."""

    question: str = "score"
    low: float = 0.0
    high: float = 5.0
    step: Annotated[float, Meta(gt=0)] = 1.0
    """The distance of two numbers that can be chosen."""
    anchors: dict[str, str] = msgspec.field(default_factory=dict)
    """What a number stands for, by number (`"0" = "…"`); empty: the words of the form, which are for 0 to 5."""
    tolerance: Annotated[float, Meta(ge=0)] = 1.0
    """How far from its gold a control item may be answered, and from each other answers that do not disagree."""
    shows: tuple[str, ...] = ()
    """The inputs to show, in this order; empty: all texts."""
    quick: bool = False
    """Whether a choice is sent at once; it can be undone."""

    def __post_init__(self) -> None:
        if not 1 <= (self.high - self.low) / self.step <= 100:
            raise ValueError(
                "the scale needs 2 to 101 numbers; set low below high, and a step that fits"
            )


def is_number(value: object) -> bool:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """A number of the scale."""

    def is_step(number: Any) -> bool:
        if not is_number(number) or not options.low <= number <= options.high:
            return False
        steps = (number - options.low) / options.step
        return bool(abs(steps - round(steps)) < 1e-6)

    return check_choice(answer, options, is_step)


def is_near_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the number is within the tolerance of the gold."""
    right = gold.get(options.question)
    number = answer.get(options.question)
    if right is None or not is_number(right) or number is None:
        return False
    return bool(abs(float(number) - float(right)) <= options.tolerance + 1e-9)


def are_apart(answers: Sequence[Answer], options: Options) -> bool:
    """Whether two numbers are further apart than the tolerance."""
    values: list[Any] = [answer.get(options.question) for answer in answers]
    numbers = [float(value) for value in values if is_number(value)]
    return bool(numbers) and max(numbers) - min(numbers) > options.tolerance + 1e-9


def offer_steps(_example: Example, options: Options) -> dict[str, Offer]:
    """The numbers of the scale, each with its anchor where there is one."""
    count = round((options.high - options.low) / options.step)
    exact = [round(options.low + options.step * place, 9) for place in range(count + 1)]
    steps = tuple(int(number) if number == int(number) else number for number in exact)
    words = tuple(options.anchors.get(f"{number:g}", "") for number in exact)
    return {options.question: Offer(steps, words if any(words) else (), is_ordered=True)}


FORM = Form(
    name="scale",
    title={"ja": "0〜5点で評価する", "ko": "0~5점으로 평가하기", "en": "0 to 5 with anchors"},
    questions=("score",),
    inputs=(),
    validate=validate,
    settings=Scale,
    gold_matches=is_near_gold,
    differ=are_apart,
    view=show_texts,
    offers=offer_steps,
    words={
        "ja": {
            "prompt": "二つの文の意味はどのくらい似ていますか。",
            "anchor_0": "意味がまったく違う",
            "anchor_1": "意味は違うが、話題は同じ",
            "anchor_2": "意味は違うが、細かい点に共通するところがある",
            "anchor_3": "おおむね同じだが、重要な点が違うか欠けている",
            "anchor_4": "ほぼ同じで、細かい点だけが違う",
            "anchor_5": "同じ意味",
        },
        "ko": {
            "prompt": "두 문장의 의미는 얼마나 비슷합니까?",
            "anchor_0": "의미가 전혀 다르다",
            "anchor_1": "의미는 다르지만 주제가 같다",
            "anchor_2": "의미는 다르지만 공통된 내용이 조금 있다",
            "anchor_3": "대체로 같지만 중요한 내용이 다르거나 빠졌다",
            "anchor_4": "거의 같고 사소한 내용만 다르다",
            "anchor_5": "의미가 같다",
        },
        "en": {
            "prompt": "How similar in meaning are the two sentences?",
            "anchor_0": "Nothing in common",
            "anchor_1": "Different meaning, same topic",
            "anchor_2": "Different meaning, some details shared",
            "anchor_3": "Roughly the same, something important differs or is missing",
            "anchor_4": "Almost the same, only details differ",
            "anchor_5": "The same meaning",
        },
    },
    guideline=make_guideline(
        ja=(
            "単語ではなく意味を比べてください。同じ単語が多くても、意味が違えば低い点数を付けてください。",
            "各点数の説明を読み、最も近いものを選んでください。",
        ),
        ko=(
            "단어가 아니라 의미를 비교해 주세요. 같은 단어가 많아도 의미가 다르면 낮은 점수를 주세요.",
            "각 점수의 설명을 읽고 가장 가까운 것을 골라 주세요.",
        ),
        en=(
            "Compare the meanings. Give a low score if the meanings differ, even if the sentences share many words.",
            "Choose the score whose description fits best.",
        ),
    ),
    sample=Sample(
        inputs={
            "sentence1": "강가에서 두 사람이 낚시를 한다.",
            "sentence2": "두 사람이 강에서 물고기를 잡는다.",
        },
        answer={"score": 4},
        refused=(
            {},
            {"score": 6},
            {"score": -1},
            {"score": 2.5},
            {"score": True},
            {"score": "4"},
            {"score": None},
        ),
    ),
)
