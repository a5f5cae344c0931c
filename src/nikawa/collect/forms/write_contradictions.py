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
            "prompt": "この文と矛盾する文を{texts}つ書いてください。否定（「ない」「ません」など）を使えるのは{negated}つまでです。",
            "field": "文{number}",
            "text_same": "元の文と同じです",
            "text_far": "元の文と違いすぎます。元の文の一部を変えて書いてください",
            "text_negated": "否定を使って矛盾させる文は{most}つまでです。別の表現で書いてください",
        },
        "ko": {
            "prompt": "이 문장과 모순되는 문장을 {texts}개 써 주세요. 부정 표현(‘않다’, ‘없다’ 등)은 {negated}개까지만 쓸 수 있습니다.",
            "field": "문장 {number}",
            "text_same": "원문과 같습니다",
            "text_far": "원문과 너무 다릅니다. 원문의 일부를 바꿔 써 주세요",
            "text_negated": "부정 표현으로 모순되게 쓸 수 있는 문장은 {most}개까지입니다. 다른 표현으로 써 주세요",
        },
        "en": {
            "prompt": "Write {texts} sentences that contradict this one, with a negation in at most {negated} of them.",
            "field": "Sentence {number}",
            "text_same": "This is the same as the given sentence",
            "text_far": "Too different from the given sentence. Change only a part of it.",
            "text_negated": "At most {most} may use a negation. Write this one differently.",
        },
    },
    guideline=make_guideline(
        ja=(
            "元の文と同時には成り立たない文を書いてください。同じ場面を述べているものとします。",
            "元の文の一部（動作、物、数、場所、色など）を変えて書いてください。",
            "「ない」などの否定を付けただけの文は一つまでです。",
            "文法的に正しく、意味の通る文にしてください。",
        ),
        ko=(
            "원문과 동시에 참일 수 없는 문장을 써 주세요. 같은 상황을 설명한다고 가정합니다.",
            "원문의 일부(동작, 사물, 수, 장소, 색 등)를 바꿔 써 주세요.",
            "부정 표현만 붙인 문장은 하나까지만 쓸 수 있습니다.",
            "문법에 맞고 의미가 통하는 문장을 써 주세요.",
        ),
        en=(
            "Write sentences that cannot be true at the same time as the given one. Assume the same scene.",
            "Change a part of the sentence: an action, a thing, a number, a place or a colour.",
            "At most one sentence may only add a negation.",
            "Write grammatical sentences that make sense.",
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
