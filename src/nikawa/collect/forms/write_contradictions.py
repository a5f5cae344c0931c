"""Write sentences that contradict a given one, under live rules (JNLI, step 4).

The worker sees one sentence and writes several that cannot be true together with it, few of them by a negation. An
answer is `{"contradictions": ["…", "…"]}`; each sentence becomes a pair for others to judge.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nikawa.collect.form import Answer, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import Count, FormSettings, WritingForm, make_guideline, only_answer
from nikawa.collect.forms._rules import check_written, count_negations, is_far
from nikawa.records import Example

STOP, STOPS = "。", "。."
"""The full stop that sentences are compared with, and the stops they may end in."""


class Contradictions(FormSettings, frozen=True, kw_only=True):
    """How many sentences, and what they must keep to."""

    question: str = "contradictions"
    texts: Count = 4
    """How many sentences a worker writes."""
    negated: Annotated[int, Meta(ge=0)] = 1
    """How many of the sentences may contradict by a negation."""
    edit_distance: Annotated[float, Meta(gt=0, le=1)] = 0.75
    """A sentence this far from the given one or more is refused: Levenshtein over the longer text."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """So many different sentences, few of them negated, none too far from the given one."""
    sentence = str(example.inputs.get("text", ""))
    whole = sentence.rstrip(STOPS) + STOP
    allowed = count_negations(sentence)
    negated = 0
    _, problems, sound = check_written(only_answer(answer, options.question), options.texts)
    for where, text in sound.items():
        whole_text = text.rstrip(STOPS) + STOP
        if whole_text == whole:
            problems.append(Problem("text_same", where=where))
        elif is_far(whole, whole_text, options.edit_distance):
            problems.append(Problem("text_far", where=where))
        is_negated = count_negations(text) > allowed
        negated += is_negated
        if is_negated and negated > options.negated:
            problems.append(Problem("text_negated", {"most": options.negated}, where))
    return problems


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """A pair a sentence."""
    premise = example.inputs["text"]
    return [
        WriterExample({"premise": premise, "hypothesis": text}, "contradiction")
        for text in answer[options.question]
    ]


FORM = WritingForm(
    name="write-contradictions",
    title={"ja": "矛盾する文を書く", "ko": "모순되는 문장 쓰기", "en": "Write contradictions"},
    questions=("contradictions",),
    inputs=("text",),
    validate=validate,
    settings=Contradictions,
    to_judge=to_judge,
    words={
        "ja": {
            "prompt": "この文と矛盾する文を {texts} つ書いてください。否定（「ない」「ません」など）を使えるのは {negated} つまでです。",
            "field": "文 {number}",
            "text_same": "もとの文と同じです",
            "text_far": "もとの文から離れすぎています。一部を変えて書いてください",
            "text_negated": "否定で矛盾させられるのは {most} つまでです。別の言い方にしてください",
        },
        "ko": {
            "prompt": "이 문장과 모순되는 문장을 {texts}개 써 주세요. 부정(‘않다’, ‘없다’ 등)은 {negated}개까지만 쓸 수 있습니다.",
            "field": "문장 {number}",
            "text_same": "원래 문장과 같습니다",
            "text_far": "원래 문장과 너무 다릅니다. 일부를 바꾸어 써 주세요",
            "text_negated": "부정으로 모순되게 할 수 있는 문장은 {most}개까지입니다. 다른 표현으로 써 주세요",
        },
        "en": {
            "prompt": "Write {texts} sentences that contradict this one, at most {negated} of them by a negation.",
            "field": "Sentence {number}",
            "text_same": "This is the given sentence",
            "text_far": "Too far from the given sentence: change a part of it",
            "text_negated": "At most {most} may contradict by a negation: say it in another way",
        },
    },
    guideline=make_guideline(
        ja=(
            "もとの文と同時には成り立たない文を書いてください。場面は同じものとします。",
            "もとの文の一部（動作、もの、数、場所、色など）を変えて書いてください。",
            "「ない」をつけるだけの文は一つまでです。",
            "文法として正しく、意味の通る文にしてください。",
        ),
        ko=(
            "원래 문장과 동시에 참일 수 없는 문장을 써 주세요. 장면은 같다고 봅니다.",
            "원래 문장의 일부(동작, 사물, 수, 장소, 색 등)를 바꾸어 써 주세요.",
            "부정만 붙인 문장은 하나까지입니다.",
            "문법에 맞고 뜻이 통하는 문장이어야 합니다.",
        ),
        en=(
            "Write sentences that cannot be true together with the given one, of the same scene.",
            "Change a part of it: what is done, a thing, a number, a place, a colour.",
            "At most one may be made by adding a negation.",
            "Write correct sentences that make sense.",
        ),
    ),
    sample=Sample(
        inputs={"text": "白い犬が川辺を走っている。"},
        answer={
            "contradictions": [
                "黒い犬が川辺を走っている。",
                "白い犬が川辺で寝ている。",
                "白い犬は川辺を走っていない。",
            ]
        },
        refused=(
            {},
            {"contradictions": "黒い犬が川辺を走っている。"},
            {"contradictions": ["黒い犬が川辺を走っている。"]},
            {"contradictions": ["黒い犬が川辺を走っている。", "", "白い犬が川辺で寝ている。"]},
            {
                "contradictions": [
                    "白い犬が川辺で寝ている。",
                    "黒い犬が川辺を走っている。",
                    "黒い犬が川辺を走っている。",
                ]
            },
            {
                "contradictions": [
                    "白い犬が川辺を走っている",
                    "黒い犬が川辺を走っている。",
                    "白い犬が川辺で寝ている。",
                ]
            },
            {
                "contradictions": [
                    "昨日は友人と映画を観た。",
                    "黒い犬が川辺を走っている。",
                    "白い犬が川辺で寝ている。",
                ]
            },
            {
                "contradictions": [
                    "白い犬は川辺を走っていない。",
                    "白い犬は川辺にいない。",
                    "白い犬が川辺で寝ている。",
                ]
            },
            {"contradictions": [1, 2, 3]},
        ),
        settings={"texts": 3},
    ),
)
