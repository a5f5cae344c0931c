"""Write a hypothesis for each label, of balanced length (KLUE-NLI).

The worker sees a premise and writes one hypothesis for each label. An answer is `{"hypotheses": ["…", "…", "…"]}` in
the order of the labels; each becomes a pair for others to judge, who do not see the label it was written for.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nikawa.collect.form import Answer, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    RELATIONS,
    FormSettings,
    Labels,
    WritingForm,
    make_guideline,
    only_answer,
)
from nikawa.collect.forms._rules import check_written, count_negations
from nikawa.records import Example


class Hypotheses(FormSettings, frozen=True, kw_only=True):
    """The labels a hypothesis is written for, and how lengths and negations are balanced."""

    question: str = "hypotheses"
    labels: Labels = RELATIONS
    """The labels in the order of the fields."""
    ratio: Annotated[float, Meta(ge=1)] = 1.8
    """Maximum ratio of the lengths of the longest and the shortest hypothesis."""
    shortest: Annotated[int, Meta(ge=1)] = 5
    """Fewest characters of a hypothesis."""
    negated_alone: bool = False
    """Whether the contradiction may be the only one with a negation; otherwise the worker sees a warning."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A hypothesis a label, none of them the premise, of similar length."""
    count = len(options.labels)
    texts, problems, sound = check_written(only_answer(answer, options.question), count)
    if not texts:
        return problems
    premise = str(example.inputs.get("premise", "")).strip()
    for where, text in sound.items():
        if text == premise:
            problems.append(Problem("text_same", where=where))
        elif len(text) < options.shortest:
            problems.append(Problem("text_short", {"least": options.shortest}, where))
    return [*problems, *check_balance(texts, options)]


def check_balance(texts: list[str], options: Options) -> list[Problem]:
    """Problems of length and negation: a hypothesis that differs in them gives its label away (KLUE, 3.3)."""
    problems = []
    lengths = [len(text) for text in texts if text]
    if len(lengths) > 1 and max(lengths) > options.ratio * min(lengths):
        place = max(range(len(texts)), key=lambda n: len(texts[n]))
        values = {"longest": max(lengths), "shortest": min(lengths)}
        problems.append(Problem("text_unbalanced", values, f"text-{place}"))
    hypotheses = zip(options.labels, texts, strict=True)
    negated = [label for label, text in hypotheses if count_negations(text)]
    if negated == ["contradiction"] and not options.negated_alone:
        place = options.labels.index("contradiction")
        problems.append(Problem("text_negated", where=f"text-{place}", warning=True))
    return problems


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """A pair a hypothesis."""
    premise = example.inputs["premise"]
    texts = zip(options.labels, answer[options.question], strict=True)
    return [WriterExample({"premise": premise, "hypothesis": text}, label) for label, text in texts]


FORM = WritingForm(
    name="write-hypotheses",
    title={"ja": "仮説を書く", "ko": "가설 쓰기", "en": "Write hypotheses"},
    questions=("hypotheses",),
    inputs=("premise",),
    validate=validate,
    settings=Hypotheses,
    to_judge=to_judge,
    words={
        "ja": {
            "prompt": "前提を読み、仮説を一つずつ書いてください。仮説の長さはそろえてください。",
            "label_entailment": "必ず正しい仮説",
            "label_contradiction": "必ず誤りになる仮説",
            "label_neutral": "どちらとも言えない仮説",
            "text_same": "前提と同じです",
            "text_short": "短すぎます。{least}文字以上で書いてください",
            "text_unbalanced": "長さの差が大きすぎます（{shortest}文字と{longest}文字）。長さをそろえてください",
            "text_negated": "否定表現が「必ず誤りになる仮説」だけにあります。できれば否定を使わずに書いてください",
        },
        "ko": {
            "prompt": "전제를 읽고 가설을 하나씩 써 주세요. 가설의 길이는 비슷하게 맞춰 주세요.",
            "label_entailment": "반드시 참인 가설",
            "label_contradiction": "반드시 거짓인 가설",
            "label_neutral": "참·거짓을 판단할 수 없는 가설",
            "text_same": "전제와 같습니다",
            "text_short": "너무 짧습니다. {least}자 이상 써 주세요",
            "text_unbalanced": "길이 차이가 너무 큽니다({shortest}자와 {longest}자). 비슷하게 맞춰 주세요",
            "text_negated": "부정 표현이 ‘반드시 거짓인 가설’에만 있습니다. 가능하면 부정 표현 없이 써 주세요",
        },
        "en": {
            "prompt": "Read the premise and write one hypothesis of each kind, of similar length.",
            "label_entailment": "Must be true",
            "label_contradiction": "Must be false",
            "label_neutral": "May be either",
            "text_same": "This is the same as the premise",
            "text_short": "Too short: write at least {least} characters",
            "text_unbalanced": "The lengths differ too much ({shortest} and {longest} characters). Make them similar.",
            "text_negated": "Only the false hypothesis contains a negation. If you can, write it without one.",
        },
    },
    guideline=make_guideline(
        ja=(
            "三つの仮説の長さをそろえてください。「どちらとも言えない仮説」だけが長くならないようにしてください。",
            "同じ表現（特に否定）を繰り返し使わないでください。類義語、対義語、語順、数などを使い、さまざまな方法で書いてください。",
            "前提にない指示語（「その人」など）を使わず、その文だけで意味が通るように書いてください。",
        ),
        ko=(
            "세 가설의 길이를 비슷하게 맞춰 주세요. ‘참·거짓을 판단할 수 없는 가설’만 길어지지 않게 해 주세요.",
            "같은 표현(특히 부정)을 반복하지 마세요. 유의어, 반의어, 어순, 수 등을 활용해 다양하게 써 주세요.",
            "전제에 없는 지시어(‘그 사람’ 등)를 쓰지 말고, 그 문장만으로 의미가 통하게 써 주세요.",
        ),
        en=(
            "Write hypotheses of similar length. The one that may be either must not be the longest.",
            "Do not repeat the same words, especially negation. Vary synonyms, opposites, word order and numbers.",
            "Write sentences that make sense on their own, without pronouns that are not in the premise.",
        ),
    ),
    sample=Sample(
        inputs={"premise": "할머니는 아침마다 시장에서 두부를 두 모 산다."},
        answer={
            "hypotheses": [
                "할머니는 매일 시장에 간다.",
                "할머니는 두부를 밤에 산다.",
                "할머니는 두부를 좋아한다.",
            ]
        },
        refused=(
            {},
            {"hypotheses": []},
            {"hypotheses": "할머니는 매일 시장에 간다."},
            {"hypotheses": ["할머니는 매일 시장에 간다.", "할머니는 두부를 밤에 산다.", " "]},
            {"hypotheses": ["할머니는 매일 시장에 간다.", "할머니는 두부를 밤에 산다.", "산다."]},
            {
                "hypotheses": [
                    "할머니는 매일 시장에 간다.",
                    "할머니는 두부를 밤에 산다.",
                    "할머니는 두부를 좋아해서 집에 돌아오는 길에 늘 한 모를 이웃집 아이에게 나누어 준다.",
                ]
            },
            {
                "hypotheses": [
                    "할머니는 아침마다 시장에서 두부를 두 모 산다.",
                    "할머니는 두부를 밤에 시장에서 산다.",
                    "할머니는 두부를 무척 좋아한다.",
                ]
            },
        ),
    ),
)
