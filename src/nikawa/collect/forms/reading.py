"""Write questions of given types on a passage and mark their answers in it (KLUE-MRC).

An answer is `{"questions": [{"type": "paraphrase", "question": "…", "answer": "…", "start": 22}]}`, the place counted in
characters. There are three types: `paraphrase` (other words than the passage), `several` (several sentences are needed)
and `unanswerable`; of the last, the answer is a plausible wrong one. The page shows how much of a question is copied from
the passage. Each question becomes an example for the form `reading-answers`: others mark its answer or say that it has no answer.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    FormSettings,
    WritingForm,
    make_guideline,
    only_answer,
    pick_texts,
    show_inputs,
)
from nikawa.collect.forms._rules import check_marked, check_texts
from nikawa.records import Example
from nikawa.text.copied import copied_share

Type = Literal["paraphrase", "several", "unanswerable"]
PARAPHRASE, SEVERAL, UNANSWERABLE = "paraphrase", "several", "unanswerable"
TYPES: tuple[Type, ...] = ("paraphrase", "several", "unanswerable")
"""The types in the order of KLUE-MRC, which numbers them from 1."""
KEYS = {"type", "question", "answer"}


class Reading(FormSettings, frozen=True, kw_only=True):
    """Which questions a passage gets, and what they must keep to."""

    question: str = "questions"
    types: Annotated[tuple[Type, ...], Meta(min_length=1, max_length=20)] = TYPES
    """The types of the questions, in their order, each as often as it is named; the input `types` of an item goes before."""
    longest: Annotated[int, Meta(ge=1, le=1000)] = 100
    """Most characters of an answer."""
    most_copied: Annotated[float, Meta(ge=0, le=1)] = 0.7
    """The share of a question that may be copied from the passage; 1 allows everything."""


def list_types(example: Example, options: Options) -> tuple[str, ...]:
    """The types of the questions that are asked for; raises `ValueError` for one that does not exist."""
    given = example.inputs.get("types")
    if not isinstance(given, list | tuple) or not given:
        return tuple(options.types)
    odd = [name for name in given if name not in TYPES]
    if odd or len(given) > 20:
        raise ValueError(f"{odd[0]!r} is not a type of question" if odd else "more than 20 types")
    return tuple(given)


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A question of each type, none twice, none mostly copied, each with an answer that the passage has at its place."""
    rows = only_answer(answer, options.question)
    if not isinstance(rows, list) or not rows or not all(map(is_question, rows)):
        return [Problem(REFUSED)]
    if tuple(row["type"] for row in rows) != list_types(example, options):
        return [Problem(REFUSED)]
    problems = check_texts([row["question"].strip() for row in rows])
    unsound = {problem.where for problem in problems}
    context = str(example.inputs.get("context", ""))
    for place, row in enumerate(rows):
        text, question, where = row["answer"], row["question"], f"text-{place}"
        start = row.get("start", context.find(text))
        faults = check_marked(text, start, context, options.longest, f"answer-{place}")
        if not faults and text.strip() in question:
            faults = [Problem("answer_told", where=where)]
        if where not in unsound:
            share = copied_share(question, context)
            if share > options.most_copied:
                numbers = {"share": _percent(share), "most": _percent(options.most_copied)}
                problems.append(Problem("copied_much", numbers, where))
        problems += faults
    return problems


def _percent(share: float) -> int:
    return round(100 * share)


def is_question(value: object) -> bool:
    """Whether something is a question of a type with its answer, and where the answer is if it says so."""
    if not isinstance(value, dict) or not KEYS <= value.keys() <= KEYS | {"start"}:
        return False
    are_texts = all(isinstance(value[name], str) for name in KEYS)
    return are_texts and type(value.get("start", 0)) is int


def view(form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The passage, its title, and the types of questions that are asked for."""
    return {**show_inputs(form, example, options), "types": list(list_types(example, options))}


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """A question each, for others to answer; they do not see its type."""
    texts = pick_texts(example, ("title", "context"))
    return [
        WriterExample({**texts, "question": row["question"]}, row["type"])
        for row in answer[options.question]
    ]


FORM = WritingForm(
    name="reading",
    script="reading.js",
    title={
        "ja": "段落から3種類の質問を作る",
        "ko": "문단에서 세 유형의 질문 만들기",
        "en": "Questions of three types on a paragraph",
    },
    questions=("questions",),
    inputs=("context",),
    optional=("title",),
    validate=validate,
    settings=Reading,
    to_judge=to_judge,
    view=view,
    words={
        "ja": {
            "prompt": "段落を読んで質問を書き、段落から答えを選択してください。",
            "field": "質問 {number}",
            "answer_field": "答え {number}",
            "wrong_field": "答えに見える箇所 {number}",
            "answer_none": "段落内の答えをドラッグして選択してください",
            "wrong_none": "答えのように見えて誤りである箇所をドラッグして選択してください",
            "answer_missing": "段落から選択してください",
            "answer_absent": "選択した箇所が段落内にありません",
            "answer_told": "答えが質問に含まれています",
            "copied_share": "段落と同じ表現：{share}%（{most}%まで）",
            "copied_much": "段落と同じ表現が{share}%あります（{most}%まで）。別の表現に言い換えてください",
            "key_write": "質問を書く",
            "label_paraphrase": "言い換え",
            "label_several": "複数の文",
            "label_unanswerable": "答えなし",
            "type_paraphrase": "段落とは違う表現で質問してください。",
            "type_several": "二つ以上の文を合わせて読まないと答えられない質問にしてください。",
            "type_unanswerable": "段落に関係はあるが、段落からは答えられない質問にしてください。答えのように見える箇所も選択してください。",
        },
        "ko": {
            "prompt": "문단을 읽고 질문을 쓴 뒤 문단에서 답을 선택해 주세요.",
            "field": "질문 {number}",
            "answer_field": "답 {number}",
            "wrong_field": "답처럼 보이는 부분 {number}",
            "answer_none": "문단에서 답을 드래그하여 선택해 주세요",
            "wrong_none": "답처럼 보이지만 답이 아닌 부분을 드래그하여 선택해 주세요",
            "answer_missing": "문단에서 선택해 주세요",
            "answer_absent": "선택한 부분이 문단에 없습니다",
            "answer_told": "답이 질문에 들어 있습니다",
            "copied_share": "문단과 같은 표현: {share}%({most}%까지)",
            "copied_much": "문단과 같은 표현이 {share}%입니다({most}%까지). 다른 표현으로 바꿔 주세요",
            "key_write": "질문 쓰기",
            "label_paraphrase": "바꿔 쓰기",
            "label_several": "여러 문장",
            "label_unanswerable": "답 없음",
            "type_paraphrase": "문단과 다른 표현으로 질문해 주세요.",
            "type_several": "두 문장 이상을 함께 읽어야 답할 수 있는 질문을 써 주세요.",
            "type_unanswerable": "문단과 관련은 있지만 문단만으로는 답할 수 없는 질문을 써 주세요. 답처럼 보이는 부분도 선택해 주세요.",
        },
        "en": {
            "prompt": "Read the paragraph, write the questions, and mark the answers in it.",
            "field": "Question {number}",
            "answer_field": "Answer {number}",
            "wrong_field": "Plausible wrong answer {number}",
            "answer_none": "Mark the answer in the paragraph",
            "wrong_none": "Mark what looks like the answer and is not",
            "answer_missing": "Mark it in the paragraph",
            "answer_absent": "The paragraph does not contain it there",
            "answer_told": "The answer is in the question",
            "copied_share": "Same words as the paragraph: {share}% (up to {most}%)",
            "copied_much": "{share}% of the question is copied from the paragraph (up to {most}%). Use other words.",
            "key_write": "Write the question",
            "label_paraphrase": "Paraphrase",
            "label_several": "Several sentences",
            "label_unanswerable": "No answer",
            "type_paraphrase": "Ask in other words than the paragraph.",
            "type_several": "Ask something that needs two or more sentences together.",
            "type_unanswerable": "Ask something related that the paragraph does not answer. Mark what looks like an answer.",
        },
    },
    guideline=make_guideline(
        ja=(
            "段落を読めば答えが一つに決まる質問を書いてください。答えは段落中の表現そのままで、できるだけ短く、過不足なく選択してください。",
            "言い換え：段落の文をそのまま写さず、別の語や言い回しで質問してください。",
            "複数の文：一つの文だけでは答えられず、二つ以上の文を合わせると答えられる質問にしてください。",
            "答えなし：段落の話題に沿っていて、答えられそうに見えるが、段落には答えがない質問にしてください。急いで読む人が選びそうな箇所を選択してください。",
            "「これ」「それ」などの指示語だけで指さないでください。",
        ),
        ko=(
            "문단만 읽으면 답이 하나로 정해지는 질문을 써 주세요. 답은 문단에 있는 표현 그대로, 가능한 한 짧게, 그러나 필요한 내용이 빠지지 않도록 선택해 주세요.",
            "바꿔 쓰기: 문단의 문장을 그대로 옮기지 말고 다른 단어와 표현으로 질문해 주세요.",
            "여러 문장: 한 문장만으로는 답할 수 없고 두 문장 이상을 함께 읽어야 답할 수 있는 질문을 써 주세요.",
            "답 없음: 문단의 주제와 관련이 있고 답이 있을 것처럼 보이지만 문단에는 답이 없는 질문을 써 주세요. 급하게 읽는 사람이 고를 만한 부분을 선택해 주세요.",
            "‘이것’, ‘그것’ 같은 지시어만으로 가리키지 마세요.",
        ),
        en=(
            "Ask questions with exactly one answer in the paragraph. The answer is a span of the paragraph, as short as possible but complete.",
            "Paraphrase: do not copy a sentence of the paragraph. Ask in other words.",
            "Several sentences: no sentence alone answers the question, but two or more together do.",
            "No answer: the question fits the paragraph and seems to have an answer, but the paragraph does not give it. Mark what a hasty reader would choose.",
            "Do not refer to things only with “this” or “it”.",
        ),
    ),
    sample=Sample(
        inputs={
            "title": "灯台",
            "context": "岬の灯台は明治の中ごろに建てられた。はじめは石油ランプを使い、のちに電灯に替わった。",
        },
        answer={
            "questions": [
                {
                    "type": "paraphrase",
                    "question": "できた当時の明かりは何でしたか？",
                    "answer": "石油ランプ",
                    "start": 22,
                },
                {
                    "type": "unanswerable",
                    "question": "電気を引いたのは何年ですか？",
                    "answer": "明治の中ごろ",
                    "start": 5,
                },
            ]
        },
        refused=(
            {},
            {"questions": []},
            {"questions": [{"type": "paraphrase", "question": "何ですか？"}]},
            {
                "questions": [
                    {
                        "type": "several",
                        "question": "明かりは何でしたか？",
                        "answer": "石油ランプ",
                        "start": 22,
                    },
                    {
                        "type": "unanswerable",
                        "question": "電気は何年に来ましたか？",
                        "answer": "明治の中ごろ",
                        "start": 5,
                    },
                ]
            },
            {
                "questions": [
                    {
                        "type": "paraphrase",
                        "question": "岬の灯台は明治の中ごろに建てられたか？",
                        "answer": "石油ランプ",
                        "start": 22,
                    },
                    {
                        "type": "unanswerable",
                        "question": "電気は何年に来ましたか？",
                        "answer": "明治の中ごろ",
                        "start": 5,
                    },
                ]
            },
            {
                "questions": [
                    {
                        "type": "paraphrase",
                        "question": "明かりは何でしたか？",
                        "answer": "石油ランプ",
                        "start": 22,
                    },
                    {
                        "type": "unanswerable",
                        "question": "電気は何年に来ましたか？",
                        "answer": "大正",
                    },
                ]
            },
            {
                "questions": [
                    {
                        "type": "paraphrase",
                        "question": "石油ランプでしたか？",
                        "answer": "石油ランプ",
                        "start": 22,
                    },
                    {
                        "type": "unanswerable",
                        "question": "",
                        "answer": "明治の中ごろ",
                        "start": 5,
                    },
                ]
            },
            {"questions": [{"type": 1, "question": 1, "answer": 2}]},
        ),
        settings={"types": ["paraphrase", "unanswerable"]},
    ),
)
