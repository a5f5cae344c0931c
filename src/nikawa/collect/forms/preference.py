"""Pairwise preference: which of two texts is better, by how much, and why.

An answer is `{"better": "a", "by": 2, "why": ["natural"]}`: `better` is `a`, `b` or `tie`, `by` counts steps and is 0 for a
tie, `why` lists reasons. Which text a page shows first is drawn for each worker and item, so a habit of choosing the first
one does not favour either; the answer always names the inputs `a` and `b`. `nikawa aggregate --rank bradley-terry` makes
scores of the judgements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Mirror, Offer, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, make_guideline, pick_texts
from nikawa.records import Example

SIDES = ("a", "b")
TIE = "tie"
CONTEXT = ("source", "title", "context", "text", "question")
"""Inputs that both texts are about, shown above them."""


class Preference(FormSettings, frozen=True, kw_only=True):
    """The parts of the question, and the reasons."""

    question: str = "better"
    ties: bool = True
    """Whether `tie` is an answer."""
    by: bool = True
    """Whether the worker also says by how much: the question `by`."""
    steps: Annotated[int, Meta(ge=2, le=3)] = 2
    """How many steps the question `by` has."""
    why: bool = True
    """Whether the worker may give reasons: the question `why`."""
    need_why: bool = False
    """Whether a reason must be given, except for a tie."""
    reasons: Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)] = (
        "correct",
        "complete",
        "natural",
        "clear",
        "other",
    )
    """The reasons in the order of the page; `names` says what each is called there."""


def validate(answer: Answer, _example: Example, options: Options) -> list[Problem]:
    """A side or a tie; steps that fit it; reasons that are offered, each once."""
    better = options.question
    fields = {better} | ({"by"} if options.by else set()) | ({"why"} if options.why else set())
    if not set(answer) <= fields:
        return [Problem(REFUSED)]
    chosen = answer.get(better)
    if not isinstance(chosen, str) or chosen not in (*SIDES, *((TIE,) if options.ties else ())):
        return [Problem("choose_one", where=better)]
    if options.by:
        by = answer.get("by")
        low, high = (0, 0) if chosen == TIE else (1, options.steps)
        if type(by) is not int or not low <= by <= high:
            return [Problem("by_wrong", {"most": options.steps}, where="by")]
    if "why" in answer:
        why = answer["why"]
        if not isinstance(why, list) or not why or not all(isinstance(one, str) for one in why):
            return [Problem(REFUSED, where="why")]
        if len(set(why)) < len(why) or not set(why) <= set(options.reasons):
            return [Problem(REFUSED, where="why")]
    elif options.why and options.need_why and chosen != TIE:
        return [Problem("why_missing", where="why")]
    return []


def is_right(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the right text was preferred; by how much and why do not count."""
    return bool(answer.get(options.question) == gold.get(options.question))


def do_differ(answers: Sequence[Answer], options: Options) -> bool:
    """Whether workers prefer different texts."""
    return len({str(answer.get(options.question)) for answer in answers}) > 1


def mislead(
    gold: Mapping[str, Any], _example: Example, options: Options, chance: float
) -> Answer | None:
    """The other text, or either of a tie."""
    right = gold.get(options.question)
    others = [side for side in SIDES if side != right]
    answer: Answer = {options.question: others[int(chance * len(others))]}
    return {**answer, "by": 1} if options.by else answer


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """What the texts are about, and the two texts."""
    return pick_texts(example, (*CONTEXT, *SIDES))


def offer(_example: Example, options: Options) -> dict[str, Offer]:
    """The texts by their place, how much better one is, and the reasons."""
    sides = (*SIDES, *((TIE,) if options.ties else ()))
    messages = ("first_better", "second_better", "about_equal")[: len(sides)]
    offers = {options.question: Offer(sides, messages=messages, is_fixed=True)}
    if options.by:
        steps = ("by_1", "by_3") if options.steps == 2 else ("by_1", "by_2", "by_3")
        low = 0 if options.ties else 1
        offers["by"] = Offer(
            tuple(range(low, options.steps + 1)),
            messages=("by_0", *steps)[low:],
            is_ordered=True,
        )
    if options.why:
        offers["why"] = Offer(
            options.reasons, most=len(options.reasons), is_ranking=True, is_set=True
        )
    return offers


def turn_inputs(example: Example) -> Example:
    """The item with the texts exchanged."""
    inputs = dict(example.inputs)
    turned = {**inputs, "a": inputs["b"], "b": inputs["a"]}
    return msgspec.structs.replace(example, inputs=turned)


def turn_answer(answer: Answer, options: Options) -> Answer:
    """The answer to the item with the texts exchanged, and back."""
    sides = {"a": "b", "b": "a"}
    better = options.question
    return {
        name: sides.get(value, value) if name == better and isinstance(value, str) else value
        for name, value in answer.items()
    }


FORM = Form(
    name="preference",
    title={
        "ja": "二つの文章を比べる",
        "ko": "두 글 비교하기",
        "en": "Which of two texts is better",
    },
    questions=("better", "by", "why"),
    inputs=("a", "b"),
    optional=CONTEXT,
    validate=validate,
    settings=Preference,
    gold_matches=is_right,
    differ=do_differ,
    view=view,
    offers=offer,
    mirror=Mirror(turn_inputs, turn_answer),
    mislead=mislead,
    words={
        "ja": {
            "prompt": "どちらの文章が良いですか。",
            "text_1": "文章1",
            "text_2": "文章2",
            "input_a": "文章1",
            "input_b": "文章2",
            "label_a": "文章1",
            "label_b": "文章2",
            "label_tie": "同じくらい",
            "prefer_1": "{text}のほうが少し良い",
            "prefer_2": "{text}のほうが良い",
            "prefer_3": "{text}のほうがずっと良い",
            "about_equal": "同じくらい",
            "first_better": "文章1のほうが良い",
            "second_better": "文章2のほうが良い",
            "question_by": "どのくらい差がありますか。",
            "by_0": "差はない",
            "by_1": "少し良い",
            "by_2": "良い",
            "by_3": "ずっと良い",
            "question_why": "理由（いくつでも）",
            "label_correct": "内容が正しい",
            "label_complete": "必要なことがそろっている",
            "label_natural": "表現が自然",
            "label_clear": "わかりやすい",
            "label_other": "その他",
            "by_wrong": "差の大きさを選んでください",
            "why_missing": "理由を一つ以上選んでください",
            "key_why": "理由を選ぶ・取り消す",
        },
        "ko": {
            "prompt": "어느 글이 더 좋습니까?",
            "text_1": "글 1",
            "text_2": "글 2",
            "input_a": "글 1",
            "input_b": "글 2",
            "label_a": "글 1",
            "label_b": "글 2",
            "label_tie": "비슷하다",
            "prefer_1": "‘{text}’ 쪽이 조금 더 좋다",
            "prefer_2": "‘{text}’ 쪽이 더 좋다",
            "prefer_3": "‘{text}’ 쪽이 훨씬 더 좋다",
            "about_equal": "비슷하다",
            "first_better": "‘글 1’ 쪽이 더 좋다",
            "second_better": "‘글 2’ 쪽이 더 좋다",
            "question_by": "차이가 얼마나 됩니까?",
            "by_0": "차이가 없다",
            "by_1": "조금 더 좋다",
            "by_2": "더 좋다",
            "by_3": "훨씬 더 좋다",
            "question_why": "이유(여러 개 가능)",
            "label_correct": "내용이 맞다",
            "label_complete": "필요한 내용이 다 있다",
            "label_natural": "표현이 자연스럽다",
            "label_clear": "이해하기 쉽다",
            "label_other": "기타",
            "by_wrong": "차이의 정도를 골라 주세요",
            "why_missing": "이유를 하나 이상 골라 주세요",
            "key_why": "이유 고르기·취소하기",
        },
        "en": {
            "prompt": "Which text is better?",
            "text_1": "Text 1",
            "text_2": "Text 2",
            "input_a": "Text 1",
            "input_b": "Text 2",
            "label_a": "Text 1",
            "label_b": "Text 2",
            "label_tie": "About equal",
            "prefer_1": "{text} is slightly better",
            "prefer_2": "{text} is better",
            "prefer_3": "{text} is much better",
            "about_equal": "About equal",
            "first_better": "Text 1 is better",
            "second_better": "Text 2 is better",
            "question_by": "How large is the difference?",
            "by_0": "No difference",
            "by_1": "Slightly better",
            "by_2": "Better",
            "by_3": "Much better",
            "question_why": "Reasons (any number)",
            "label_correct": "The content is correct",
            "label_complete": "Nothing is missing",
            "label_natural": "The wording is natural",
            "label_clear": "Easy to understand",
            "label_other": "Other",
            "by_wrong": "Choose how large the difference is",
            "why_missing": "Choose at least one reason",
            "key_why": "Choose or remove a reason",
        },
    },
    guideline=make_guideline(
        ja=(
            "二つの文章を最後まで読んでから、全体としてどちらが良いかを選んでください。",
            "長さや並び順ではなく、内容と表現で判断してください。並び順は毎回変わります。",
            "差が感じられないときだけ「同じくらい」を選んでください。",
            "決め手になった理由を選んでください。",
        ),
        ko=(
            "두 글을 끝까지 읽은 다음 전체적으로 어느 쪽이 더 좋은지 골라 주세요.",
            "길이나 놓인 순서가 아니라 내용과 표현으로 판단해 주세요. 순서는 매번 바뀝니다.",
            "차이를 느낄 수 없을 때만 ‘비슷하다’를 골라 주세요.",
            "판단의 근거가 된 이유를 골라 주세요.",
        ),
        en=(
            "Read both texts to the end, then choose the one that is better as a whole.",
            "Judge content and wording, not length or position. The order of the texts changes from item to item.",
            "Choose “About equal” only if you see no difference.",
            "Choose the reasons that decided it.",
        ),
    ),
    sample=Sample(
        inputs={
            "question": "霧はどうして朝に出やすいのですか。",
            "a": "夜のあいだに地面が冷え、近くの空気も冷えて水蒸気が小さな水の粒になるからです。",
            "b": "朝は霧が出る時間だからです。",
        },
        answer={"better": "a", "by": 2, "why": ["correct", "clear"]},
        refused=(
            {},
            {"better": "c", "by": 1},
            {"better": "a", "by": 0},
            {"better": "tie", "by": 1},
            {"better": "a", "by": 3},
            {"better": "a", "by": True},
            {"better": "a", "by": 1, "why": "clear"},
            {"better": "a", "by": 1, "why": ["clear", "clear"]},
            {"better": "a", "by": 1, "more": 1},
        ),
    ),
)
