"""Translate a sentence, or correct a translation (JSICK), from any language into any other.

The worker sees the sentence and, where the item has one, a translation to correct in the field. An answer is
`{"japanese": "…"}`; sentence and translation together become an example for others to judge. The settings `source_language` and
`target_language` name the languages; inputs and answers are then called after them, so that `ko` and `en` translate the input
`korean` into the answer `english`, unless the settings say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import Answer, Form, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    FormSettings,
    WritingForm,
    make_guideline,
    only_answer,
    pick_texts,
)
from nikawa.collect.forms._rules import check_written
from nikawa.collect.forms._scripts import SCRIPTS, Script, name_script_fault
from nikawa.records import Example

LANGUAGES: dict[str, tuple[str, Script]] = {
    "ar": ("arabic", "arabic"),
    "de": ("german", "latin"),
    "el": ("greek", "greek"),
    "en": ("english", "latin"),
    "es": ("spanish", "latin"),
    "fr": ("french", "latin"),
    "he": ("hebrew", "hebrew"),
    "hi": ("hindi", "devanagari"),
    "id": ("indonesian", "latin"),
    "it": ("italian", "latin"),
    "ja": ("japanese", "japanese"),
    "ko": ("korean", "korean"),
    "nl": ("dutch", "latin"),
    "pl": ("polish", "latin"),
    "pt": ("portuguese", "latin"),
    "ru": ("russian", "cyrillic"),
    "th": ("thai", "thai"),
    "tr": ("turkish", "latin"),
    "uk": ("ukrainian", "cyrillic"),
    "vi": ("vietnamese", "latin"),
    "zh": ("chinese", "han"),
}
"""What inputs and answers in a language are called, and its script; any other language has its own tag as name, and any script."""
UNKNOWN = "und"
"""The tag of a language that is not known; the page does not name it."""
Tag = Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class Translation(FormSettings, frozen=True, kw_only=True):
    """What is translated, and into what."""

    source_language: Tag = "en"
    """The language of the sentence, as a tag such as `ko` or `zh-Hant`."""
    target_language: Tag = "ja"
    """The language of the translation."""
    question: str = "japanese"
    source: str = "english"
    """The input that is translated."""
    begun: str = "japanese"
    """The input a translation to correct is in, where the item has one."""
    script: Script = "japanese"
    """The script a translation must have a letter of; `any` accepts all."""


def find_language(tag: str) -> tuple[str, Script]:
    """The name of inputs and answers in a language, and its script.

    >>> find_language("zh-Hant"), find_language("eo")
    (('chinese', 'han'), ('eo', 'any'))
    """
    return LANGUAGES.get(tag.partition("-")[0], (tag, "any"))


def name_after_languages(options: Options, _paths: Mapping[str, Path]) -> Options:
    """The settings with names and script of the languages, where these are not English and Japanese and nothing else is set."""
    name, script = find_language(options.target_language)
    derived = {
        "source": find_language(options.source_language)[0],
        "question": name,
        "begun": name,
        "script": script,
    }
    if derived["source"] == name:
        derived["source"] = (
            "text"  # a text put into other words, or another variety of its language
        )
    if (options.source_language, options.target_language) == ("en", "ja"):
        return _guess_languages(options)
    usual = Translation()
    changes = {
        setting: value
        for setting, value in derived.items()
        if getattr(options, setting) == getattr(usual, setting)
    }
    return msgspec.structs.replace(options, **changes)


def _guess_languages(options: Options) -> Options:
    """The languages of settings that only name inputs and script, as those of earlier versions do."""
    tags = {name: tag for tag, (name, _) in LANGUAGES.items()}
    tags |= {"japanese": "ja", "korean": "ko", "english": "en"}
    usual = Translation()
    source, target = options.source_language, options.target_language
    if options.source != usual.source:
        source = tags.get(options.source, UNKNOWN)
    if options.script == "korean":
        target = "ko"
    elif options.question != usual.question:
        target = tags.get(options.question, UNKNOWN)
    return msgspec.structs.replace(options, source_language=source, target_language=target)


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """One line in the language asked for, which is not the sentence itself."""
    source = str(example.inputs.get(options.source, "")).strip()
    _, problems, sound = check_written([only_answer(answer, options.question)], 1)
    for where, text in sound.items():
        if text == source:
            problems.append(Problem("text_same", where=where))
        elif not SCRIPTS[options.script].search(text):
            problems.append(Problem(name_script_fault(options.script), where=where))
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
    prepare=name_after_languages,
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
            "not_script": "指定された言語の文字で書いてください",
            "field_in": "訳文（{language}）",
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
            "not_script": "지정된 언어의 글자로 써 주세요",
            "field_in": "번역문({language})",
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
            "not_script": "Write it in the script of the language that is asked for",
            "field_in": "Translation ({language})",
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
