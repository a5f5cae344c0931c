"""Write questions on a paragraph and mark their answers in it (JSQuAD).

An answer is `{"questions": [{"question": "…", "answer": "…", "start": 22}]}`, the place counted in characters. Each
question becomes an example for the form `further-answers`: others mark its answer without seeing the writer's.
"""

from __future__ import annotations

from nikawa.collect.form import REFUSED, Answer, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    Count,
    FormSettings,
    WritingForm,
    make_guideline,
    only_answer,
    pick_texts,
    show_inputs,
)
from nikawa.collect.forms._rules import check_marked, check_texts
from nikawa.records import Example

KEYS = {"question", "answer"}


class WriteQuestion(FormSettings, frozen=True, kw_only=True):
    """How many questions a paragraph gets."""

    question: str = "questions"
    texts: Count = 1
    """How many questions a worker writes for each paragraph."""
    longest: Count = 50
    """Most characters of an answer."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """The required number of different questions, each with an answer that the paragraph contains at the given place."""
    pairs = only_answer(answer, options.question)
    if not isinstance(pairs, list) or len(pairs) != options.texts or not all(map(is_pair, pairs)):
        return [Problem(REFUSED)]
    problems = check_texts([pair["question"].strip() for pair in pairs])
    context = str(example.inputs.get("context", ""))
    for place, pair in enumerate(pairs):
        text = pair["answer"]
        start = pair.get("start", context.find(text))
        faults = check_marked(text, start, context, options.longest, f"answer-{place}")
        if not faults and text.strip() in pair["question"]:
            faults = [Problem("answer_told", where=f"text-{place}")]
        problems += faults
    return problems


def is_pair(value: object) -> bool:
    """Whether something is a question with its answer, and where the answer is if it says so."""
    if not isinstance(value, dict) or not KEYS <= value.keys() <= KEYS | {"start"}:
        return False
    are_texts = isinstance(value["question"], str) and isinstance(value["answer"], str)
    return are_texts and type(value.get("start", 0)) is int


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """A question each, for others to mark its answer."""
    texts = pick_texts(example, ("title", "context"))
    return [
        WriterExample({**texts, "question": pair["question"]}) for pair in answer[options.question]
    ]


FORM = WritingForm(
    name="write-question",
    script="write-question.js",
    title={
        "ja": "段落から質問と答えを作る",
        "ko": "문단에서 질문과 답 만들기",
        "en": "Question with its answer marked",
    },
    questions=("questions",),
    inputs=("context",),
    optional=("title",),
    validate=validate,
    settings=WriteQuestion,
    to_judge=to_judge,
    view=show_inputs,
    words={
        "ja": {
            "prompt": "段落を読めば答えられる質問を書き、段落から答えを選択してください。",
            "field": "質問 {number}",
            "answer_field": "答え {number}",
            "answer_none": "段落内の答えをドラッグして選択してください",
            "answer_missing": "段落から答えを選択してください",
            "answer_absent": "答えが段落内にありません",
            "answer_told": "質問に答えが含まれています",
        },
        "ko": {
            "prompt": "문단을 읽으면 답할 수 있는 질문을 쓰고, 문단에서 답을 선택해 주세요.",
            "field": "질문 {number}",
            "answer_field": "답 {number}",
            "answer_none": "문단에서 답을 드래그하여 선택해 주세요",
            "answer_missing": "문단에서 답을 선택해 주세요",
            "answer_absent": "답이 문단에 없습니다",
            "answer_told": "질문에 답이 포함되어 있습니다",
        },
        "en": {
            "prompt": "Write a question that the paragraph answers, and mark the answer in the paragraph.",
            "field": "Question {number}",
            "answer_field": "Answer {number}",
            "answer_none": "Mark the answer in the paragraph",
            "answer_missing": "Mark the answer in the paragraph",
            "answer_absent": "The answer is not in the paragraph",
            "answer_told": "The question contains the answer",
        },
    },
    guideline=make_guideline(
        ja=(
            "段落だけを読めば答えが一つに決まる質問を書いてください。",
            "答えは段落内の文字列です。できるだけ短く、過不足なく選択してください。",
            "段落の文をそのまま使わず、自分の言葉で質問してください。「この」「それ」などの指示語だけで指し示さないでください。",
        ),
        ko=(
            "문단만 읽으면 답이 하나로 정해지는 질문을 써 주세요.",
            "답은 문단에 있는 표현 그대로입니다. 가능한 한 짧게, 그러나 필요한 내용이 빠지지 않도록 선택해 주세요.",
            "문단의 문장을 그대로 옮기지 말고 자신의 말로 질문해 주세요. ‘이것’, ‘그것’ 같은 지시어만으로 가리키지 마세요.",
        ),
        en=(
            "Ask a question that has exactly one answer in the paragraph.",
            "The answer is a span of the paragraph. Mark it as short as possible, but completely.",
            "Use your own words instead of copying a sentence. Do not refer to things only with “this” or “it”.",
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
                    "question": "建った当時の明かりは何でしたか？",
                    "answer": "石油ランプ",
                    "start": 22,
                }
            ]
        },
        refused=(
            {},
            {"questions": []},
            {"questions": [{"question": "何ですか？"}]},
            {"questions": [{"question": "", "answer": "石油ランプ", "start": 22}]},
            {"questions": [{"question": "何でしたか？", "answer": "ろうそく"}]},
            {"questions": [{"question": "何でしたか？", "answer": "石油ランプ", "start": 3}]},
            {"questions": [{"question": "何でしたか？", "answer": "石油ランプ", "start": -40}]},
            {"questions": [{"question": "何でしたか？", "answer": "", "start": 0}]},
            {
                "questions": [
                    {"question": "石油ランプでしたか？", "answer": "石油ランプ", "start": 22}
                ]
            },
            {"questions": [{"question": 1, "answer": 2}]},
        ),
    ),
)
