"""Write a question that one of three concepts answers, with the filters checked while typing (JCommonsenseQA).

The worker sees three related concepts and writes a question that only the named one answers. An answer is
`{"question": "…？"}`; each becomes an example for the form `distractors`, then for `multiple-choice`.
"""

from __future__ import annotations

import re
from typing import Any

from nikawa.collect.form import Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    FormSettings,
    WritingForm,
    list_choices,
    make_guideline,
    only_answer,
    pick_texts,
)
from nikawa.collect.forms._rules import check_written
from nikawa.records import Example

QUESTION_MARKS = ("？", "?")
ASKS_FOR_LENGTH = re.compile(
    r"[0-9０-９一二三四五六七八九十百]+\s*(?:文字|글자)|\b\d+[- ](?:letter|character)",
    re.IGNORECASE,
)
"""Questions that ask for a word with a certain number of characters, which the paper excludes."""


class ConceptQuestion(FormSettings, frozen=True, kw_only=True):
    """The question its judgements carry."""

    question: str = "question"


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """A question that holds no choice, asks for no number of characters, and ends in a question mark."""
    _, problems, sound = check_written([only_answer(answer, options.question)], 1)
    for where, text in sound.items():
        inside = [choice for choice in list_choices(example) if choice and choice in text]
        if inside:
            problems.append(Problem("question_holds", {"choice": inside[0]}, where))
        if ASKS_FOR_LENGTH.search(text):
            problems.append(Problem("question_characters", where=where))
        if not text.endswith(QUESTION_MARKS):
            problems.append(Problem("question_mark", where=where))
    return problems


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The concepts, the one that must be the answer, and their source if the item has one."""
    choices, answer = list_choices(example), str(example.inputs["answer"])
    return {**pick_texts(example, ("source",)), "choices": choices, "answer": answer}


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """A question with its choices, and the one that answers it."""
    return [WriterExample({**example.inputs, "question": answer[options.question]})]


FORM = WritingForm(
    name="concept-question",
    title={
        "ja": "指定の語が答えになる質問を書く",
        "ko": "지정된 단어가 답이 되는 질문 쓰기",
        "en": "Question for a concept",
    },
    questions=("question",),
    inputs=("choices", "answer"),
    optional=("source",),
    validate=validate,
    settings=ConceptQuestion,
    to_judge=to_judge,
    view=view,
    words={
        "ja": {
            "prompt": "「{answer}」だけが正解になる質問を書いてください。",
            "field": "質問",
            "input_choices": "選択肢",
            "right_choice": "正解",
            "question_holds": "選択肢の「{choice}」が質問に含まれています",
            "question_characters": "文字数を手がかりにした質問は使えません",
            "question_mark": "質問の最後に「？」を付けてください",
        },
        "ko": {
            "prompt": "‘{answer}’만 정답이 되는 질문을 써 주세요.",
            "field": "질문",
            "input_choices": "선택지",
            "right_choice": "정답",
            "question_holds": "질문에 선택지가 포함되어 있습니다: ‘{choice}’",
            "question_characters": "글자 수를 단서로 한 질문은 쓸 수 없습니다",
            "question_mark": "질문 끝에 ‘?’를 붙여 주세요",
        },
        "en": {
            "prompt": "Write a question that only “{answer}” answers.",
            "field": "Question",
            "input_choices": "Choices",
            "right_choice": "correct",
            "question_holds": "The question contains the choice “{choice}”",
            "question_characters": "Do not use the number of characters as a hint",
            "question_mark": "End it with a question mark",
        },
    },
    guideline=make_guideline(
        ja=(
            "指定された語だけが正解になり、ほかの二つは正解にならない質問を書いてください。",
            "選択肢の語を質問の中で使わないでください。",
            "「漢字二文字で」のように文字数を手がかりにしないでください。",
            "質問の最後には「？」を付けてください。",
        ),
        ko=(
            "지정된 단어만 정답이 되고 나머지 둘은 정답이 되지 않는 질문을 써 주세요.",
            "선택지의 단어를 질문에 쓰지 마세요.",
            "‘두 글자로’처럼 글자 수를 단서로 쓰지 마세요.",
            "질문 끝에는 ‘?’를 붙여 주세요.",
        ),
        en=(
            "Write a question that the named word answers and the other two do not.",
            "Do not use a word of the choices in the question.",
            "Do not use the number of characters as a hint.",
            "End the question with a question mark.",
        ),
    ),
    sample=Sample(
        inputs={"source": "台所", "choices": ["鍋", "まな板", "冷蔵庫"], "answer": "まな板"},
        answer={"question": "野菜を切るとき下に敷くものは？"},
        refused=(
            {},
            {"question": ""},
            {"question": "野菜を切るとき下に敷くもの"},
            {"question": "まな板は何に使う？"},
            {"question": "三文字で野菜を切るとき下に敷くものは？"},
            {"question": ["野菜を切るとき下に敷くものは？"]},
        ),
    ),
)
