"""Translate a sentence, or correct a translation (JSICK).

The worker sees the sentence and, where the item has one, a translation to correct in the field. An answer is
`{"japanese": "…"}`; sentence and translation together become an example for others to judge.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from nikawa.collect.form import Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    FormSettings,
    WritingForm,
    make_guideline,
    only_answer,
    pick_texts,
)
from nikawa.collect.forms._rules import check_written
from nikawa.records import Example

SCRIPTS = {
    "japanese": re.compile("[ぁ-んァ-ヶ]"),
    "korean": re.compile("[가-힣]"),
    "any": re.compile(r"\w"),
}


class Translation(FormSettings, frozen=True, kw_only=True):
    """What is translated, and into what."""

    question: str = "japanese"
    source: str = "english"
    """The input that is translated."""
    begun: str = "japanese"
    """The input a translation to correct is in, where the item has one."""
    script: Literal["japanese", "korean", "any"] = "japanese"
    """The script a translation must hold."""


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """One line in the language asked for, which is not the sentence itself."""
    source = str(example.inputs.get(options.source, "")).strip()
    _, problems, sound = check_written([only_answer(answer, options.question)], 1)
    for where, text in sound.items():
        if text == source:
            problems.append(Problem("text_same", where=where))
        elif not SCRIPTS[options.script].search(text):
            problems.append(Problem(f"not_{options.script}", where=where))
    return problems


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """All texts; a translation to correct goes into the field."""
    shown = pick_texts(example)
    begun = shown.pop(options.begun, "") if options.begun != options.source else ""
    shown = {name: text for name, text in shown.items() if text}
    return {**shown, "begun": begun} if begun else shown


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """The text with its translation."""
    return [WriterExample({**pick_texts(example), options.question: answer[options.question]})]


FORM = WritingForm(
    name="translation",
    title={
        "ja": "翻訳する・訳文を修正する",
        "ko": "번역하기·번역 고치기",
        "en": "Translate, or correct a translation",
    },
    questions=("japanese",),
    inputs=(),
    validate=validate,
    settings=Translation,
    to_judge=to_judge,
    view=view,
    words={
        "ja": {
            "prompt": "文を翻訳してください。",
            "prompt_begun": "訳文を確認し、必要に応じて修正してください。修正する箇所がなければ、そのまま送信してください。",
            "field": "訳文",
            "input_english": "英文",
            "input_check": "確認してほしい点",
            "text_same": "元の文と同じです",
            "not_japanese": "日本語で書いてください",
            "not_korean": "韓国語で書いてください",
            "not_any": "文字で書いてください",
        },
        "ko": {
            "prompt": "문장을 번역해 주세요.",
            "prompt_begun": "번역문을 확인하고 필요하면 고쳐 주세요. 고칠 곳이 없으면 그대로 제출해 주세요.",
            "field": "번역문",
            "input_english": "영문",
            "input_check": "확인할 사항",
            "text_same": "원문과 같습니다",
            "not_japanese": "일본어로 써 주세요",
            "not_korean": "한국어로 써 주세요",
            "not_any": "글자로 써 주세요",
        },
        "en": {
            "prompt": "Translate the sentence.",
            "prompt_begun": "Check the translation and correct any errors. If it is correct, submit it without changes.",
            "field": "Translation",
            "input_english": "English",
            "input_check": "Points to check",
            "text_same": "This is the original sentence",
            "not_japanese": "Write it in Japanese",
            "not_korean": "Write it in Korean",
            "not_any": "Write it in letters",
        },
    },
    guideline=make_guideline(
        ja=(
            "意味を足したり省いたりせず、自然な文に訳してください。",
            "同じ語は同じ訳語に統一し、否定、数、単数・複数の違いが伝わるように訳してください。",
            "訳文が正しければ、そのまま送信してください。",
        ),
        ko=(
            "의미를 더하거나 빼지 말고 자연스러운 문장으로 번역해 주세요.",
            "같은 단어는 같은 번역어로 통일하고 부정, 수, 단수·복수의 차이가 드러나게 번역해 주세요.",
            "번역문이 맞으면 그대로 제출해 주세요.",
        ),
        en=(
            "Translate into a natural sentence. Do not add or omit anything.",
            "Translate the same word in the same way. Keep negation, numbers, and the difference between singular and plural.",
            "If a translation is correct, submit it without changes.",
        ),
    ),
    sample=Sample(
        inputs={
            "english": "Two cats are asleep on a bench.",
            "japanese": "二匹の猫がベンチで寝る。",
        },
        answer={"japanese": "二匹の猫がベンチで寝ている。"},
        refused=(
            {},
            {"japanese": ""},
            {"japanese": "Two cats are asleep on a bench."},
            {"japanese": "猫二匹睡眠"},
            {"japanese": ["二匹の猫がベンチで寝ている。"]},
        ),
    ),
)
