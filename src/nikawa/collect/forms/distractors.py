"""Add wrong choices to a question, with the filters checked while typing (JCommonsenseQA).

The second step of JCommonsenseQA: a question with three choices gets two more that are wrong. An answer is
`{"distractors": ["…", "…"]}`; the question with all its choices becomes an example for `multiple-choice`.
"""

from __future__ import annotations

from typing import Any

from nikawa.collect.form import Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    Count,
    FormSettings,
    WritingForm,
    list_choices,
    make_guideline,
    only_answer,
    pick_texts,
)
from nikawa.collect.forms._rules import check_written
from nikawa.records import Example


class Distractors(FormSettings, frozen=True, kw_only=True):
    """How many are added."""

    question: str = "distractors"
    texts: Count = 2
    """How many wrong choices a worker writes."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """So many words that are neither in the question nor a choice already."""
    question = str(example.inputs.get("question", ""))
    known = {choice.strip() for choice in list_choices(example)}
    _, problems, sound = check_written(only_answer(answer, options.question), options.texts)
    for where, text in sound.items():
        if text in question:
            problems.append(Problem("distractor_asked", where=where))
        elif text in known:
            problems.append(Problem("distractor_known", where=where))
    return problems


def view(_form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The question with its choices, the correct one, and their source if the item has one."""
    inputs = example.inputs
    shown = {
        **pick_texts(example, ("source",)),
        "question": inputs["question"],
        "choices": [str(choice) for choice in inputs["choices"]],
    }
    return {**shown, "answer": str(inputs["answer"])} if "answer" in inputs else shown


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """The question with all its choices, the new ones behind the others."""
    choices = [*example.inputs["choices"], *answer[options.question]]
    return [WriterExample({**example.inputs, "choices": choices})]


FORM = WritingForm(
    name="distractors",
    title={"ja": "誤りの選択肢を追加する", "ko": "오답 선택지 추가하기", "en": "Add wrong choices"},
    questions=("distractors",),
    inputs=("question", "choices"),
    optional=("source", "answer"),
    validate=validate,
    settings=Distractors,
    to_judge=to_judge,
    view=view,
    words={
        "ja": {
            "prompt": "質問の答えにならない選択肢を{texts}つ書いてください。",
            "field": "選択肢 {number}",
            "input_choices": "現在の選択肢",
            "right_choice": "正解",
            "distractor_asked": "質問に含まれる語です",
            "distractor_known": "すでに選択肢にある語です",
        },
        "ko": {
            "prompt": "질문의 답이 되지 않는 선택지를 {texts}개 써 주세요.",
            "field": "선택지 {number}",
            "input_choices": "현재 선택지",
            "right_choice": "정답",
            "distractor_asked": "질문에 포함된 단어입니다",
            "distractor_known": "이미 선택지에 있는 단어입니다",
        },
        "en": {
            "prompt": "Write {texts} choices that do not answer the question.",
            "field": "Choice {number}",
            "input_choices": "Choices so far",
            "right_choice": "correct",
            "distractor_asked": "This word is in the question",
            "distractor_known": "This is already a choice",
        },
    },
    guideline=make_guideline(
        ja=(
            "正解ではないものの、よく考えないと選んでしまいそうな語を書いてください。",
            "質問に含まれる語や、すでにある選択肢と同じ語は使えません。同じ意味の語も避けてください。",
        ),
        ko=(
            "정답은 아니지만, 깊이 생각하지 않으면 고를 만한 단어를 써 주세요.",
            "질문에 있는 단어나 기존 선택지와 같은 단어는 쓸 수 없습니다. 의미가 같은 단어도 피해 주세요.",
        ),
        en=(
            "Write words that are wrong but that a careless reader might choose.",
            "Do not use words of the question or the existing choices. Avoid their synonyms too.",
        ),
    ),
    sample=Sample(
        inputs={
            "question": "野菜を切るとき下に敷くものは？",
            "choices": ["鍋", "まな板", "冷蔵庫"],
            "answer": "まな板",
        },
        answer={"distractors": ["座布団", "鍋敷き"]},
        refused=(
            {},
            {"distractors": ["座布団"]},
            {"distractors": ["座布団", "座布団"]},
            {"distractors": ["座布団", "野菜"]},
            {"distractors": ["鍋", "座布団"]},
            {"distractors": ["", "座布団"]},
            {"distractors": "座布団"},
        ),
    ),
)
