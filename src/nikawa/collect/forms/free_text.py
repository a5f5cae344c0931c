"""Free text: one or several texts, by rules that the settings give.

An answer is `{"text": "…"}`, or `{"text": ["…", "…"]}` where the setting `texts` asks for several. Lengths, script, forbidden
words, patterns, negations, and what a text shares with the inputs are checked while it is typed. Each text becomes
an example for others to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Options, Problem, Sample, WriterExample
from nikawa.collect.forms._base import (
    FormSettings,
    WritingForm,
    make_guideline,
    only_answer,
    pick_texts,
)
from nikawa.collect.forms._rules import MAX_TEXT_CHARS, check_texts, count_negations, is_far
from nikawa.collect.forms._scripts import SCRIPTS, Script, name_script_fault
from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.text.copied import copied_share

Share = Annotated[float, Meta(ge=0, le=1)]
Chars = Annotated[int, Meta(ge=1, le=MAX_TEXT_CHARS)]


class PatternRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A regular expression that each text must match somewhere, or may not match."""

    pattern: Annotated[str, Meta(min_length=1, max_length=500)]
    """As Python's `re` has it."""
    says: Annotated[str, Meta(min_length=1, max_length=300)]
    """What the worker reads where a text breaks the rule."""
    refuse: bool = False
    """Whether a text may not match it."""
    warning: bool = False
    """Whether a text that breaks it is accepted anyway."""


class FreeText(FormSettings, frozen=True, kw_only=True):
    """How many texts, and what they must keep to."""

    question: str = "text"
    texts: Annotated[int, Meta(ge=0, le=50)] = 0
    """How many texts a worker writes, as a list; 0: one text, which is the answer itself."""
    lines: bool = False
    """Whether a text may have several lines."""
    shortest: Chars = 1
    """Fewest characters of a text."""
    longest: Chars = MAX_TEXT_CHARS
    """Most characters of a text."""
    script: Script = "any"
    """The script a text must have a letter of; `any` accepts all."""
    forbidden: tuple[str, ...] = ()
    """Words that no text may contain."""
    contains: tuple[str, ...] = ()
    """Inputs whose text each text must contain."""
    omits: tuple[str, ...] = ()
    """Inputs whose text no text may contain."""
    source: str = "text"
    """The input that `most_copied` and `edit_distance` compare with."""
    most_copied: Share = 1.0
    """The share of a text that may be copied from the source, in runs of three letters or more; 1 allows everything."""
    edit_distance: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """A text this far from the source or more is refused: Levenshtein over the longer text; 1 allows everything."""
    negated: Annotated[int, Meta(ge=-1)] = -1
    """How many of the texts may have more negations than the source; -1: all."""
    rules: tuple[PatternRule, ...] = ()
    """Rules of the project's own."""


def check_settings(options: Options, _paths: Mapping[str, Path]) -> Options:
    """Refuse a pattern that is not sound, and lengths that no text can have."""
    fault = BadInput(
        f"[form_settings] of the form free-text: shortest = {options.shortest} is more than longest = {options.longest}",
        file="project.toml",
        cure="lower one or raise the other",
    )
    if options.shortest > options.longest:
        raise fault
    for number, rule in enumerate(options.rules, start=1):
        try:
            re.compile(rule.pattern)
        except (re.error, OverflowError, RecursionError) as problem:
            what = f"[form_settings] of the form free-text: the pattern {rule.pattern!r} of rule {number} is not a regular expression ({problem})"
            raise BadInput(what, file="project.toml", cure="correct it") from None
    return options


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """As many texts as asked for, each by the rules."""
    value = only_answer(answer, options.question)
    given = value if options.texts else [value]
    if not isinstance(given, list) or len(given) != (options.texts or 1):
        return [Problem(REFUSED)]
    if not all(isinstance(text, str) for text in given):
        return [Problem(REFUSED)]
    texts = [text.strip() for text in given]
    problems = [
        problem
        for problem in check_texts(texts)
        if not (options.lines and problem.code == "text_lines")
    ]
    unsound = {problem.where for problem in problems}
    source = str(example.inputs.get(options.source, "")).strip()
    allowed, negated = count_negations(source), 0
    for place, text in enumerate(texts):
        where = f"text-{place}"
        if where in unsound:
            continue
        problems += find_problems(text, source, example, options, where)
        negated += count_negations(text) > allowed
        if negated > options.negated >= 0 and count_negations(text) > allowed:
            problems.append(Problem("text_negated", {"most": options.negated}, where))
    return problems


def find_problems(
    text: str, source: str, example: Example, options: Options, where: str
) -> Iterator[Problem]:
    """What is wrong with one text: the first of the built-in rules it breaks, then all of the project's own."""
    fault = _find_first(text, source, example, options)
    if fault is not None:
        yield msgspec.structs.replace(fault, where=where)
    for rule in options.rules:
        if bool(re.search(rule.pattern, text, re.MULTILINE)) is rule.refuse:
            yield Problem("text_rule", {"says": rule.says}, where, rule.warning)


def _find_first(text: str, source: str, example: Example, options: Options) -> Problem | None:
    if len(text) < options.shortest:
        return Problem("text_short", {"least": options.shortest})
    if len(text) > options.longest:
        return Problem("text_long", {"most": options.longest})
    if not SCRIPTS[options.script].search(text):
        return Problem(name_script_fault(options.script))
    for word in options.forbidden:
        if word in text:
            return Problem("text_forbidden", {"word": word})
    inputs = pick_texts(example)
    if text in inputs.values():
        return Problem("text_same")
    for name in options.contains:
        if (needed := inputs.get(name, "")) and needed not in text:
            return Problem("text_lacks", {"word": needed})
    for name in options.omits:
        if (word := inputs.get(name, "")) and word in text:
            return Problem("text_forbidden", {"word": word})
    if source and (share := copied_share(text, source)) > options.most_copied:
        numbers = {"share": round(100 * share), "most": round(100 * options.most_copied)}
        return Problem("text_copied", numbers)
    if source and options.edit_distance < 1 and is_far(source, text, options.edit_distance):
        return Problem("text_far")
    return None


def view(_form: Any, example: Example, _options: Options) -> dict[str, Any]:
    """All texts."""
    return pick_texts(example)


def to_judge(answer: Answer, example: Example, options: Options) -> list[WriterExample]:
    """An example a text; the text is called `written` where an input has the name of the question."""
    inputs = pick_texts(example)
    name = "written" if options.question in inputs else options.question
    value = answer[options.question]
    texts = value if isinstance(value, list) else [value]
    return [WriterExample({**inputs, name: text.strip()}) for text in texts]


FORM = WritingForm(
    name="free-text",
    title={"ja": "自由に書く", "ko": "자유롭게 쓰기", "en": "Free text"},
    questions=("text",),
    inputs=(),
    validate=validate,
    settings=FreeText,
    prepare=check_settings,
    to_judge=to_judge,
    view=view,
    words={
        "ja": {
            "prompt": "読んで、回答を書いてください。",
            "field": "回答 {number}",
            "field_one": "回答",
            "text_short": "{least}文字以上で書いてください",
            "text_rule": "{says}",
            "text_forbidden": "「{word}」は使えません",
            "text_lacks": "「{word}」を使ってください",
            "text_copied": "元の文と同じ表現が{share}%あります（{most}%まで）。別の表現で書いてください",
            "text_far": "元の文と違いすぎます。元の文の一部を変えて書いてください",
            "text_same": "示された文と同じです",
            "text_negated": "否定を使える文は{most}個までです",
            "not_japanese": "日本語で書いてください",
            "not_korean": "韓国語で書いてください",
            "not_any": "文字で書いてください",
            "not_script": "指定された言語の文字で書いてください",
        },
        "ko": {
            "prompt": "읽고 답을 써 주세요.",
            "field": "답 {number}",
            "field_one": "답",
            "text_short": "{least}자 이상 써 주세요",
            "text_rule": "{says}",
            "text_forbidden": "‘{word}’: 쓸 수 없는 말입니다",
            "text_lacks": "다음 말을 써 주세요: ‘{word}’",
            "text_copied": "원문과 같은 표현이 {share}%입니다({most}%까지). 다른 표현으로 써 주세요",
            "text_far": "원문과 너무 다릅니다. 원문의 일부를 바꿔 써 주세요",
            "text_same": "제시된 글과 같습니다",
            "text_negated": "부정 표현을 쓸 수 있는 글은 {most}개까지입니다",
            "not_japanese": "일본어로 써 주세요",
            "not_korean": "한국어로 써 주세요",
            "not_any": "글자로 써 주세요",
            "not_script": "지정된 언어의 글자로 써 주세요",
        },
        "en": {
            "prompt": "Read the text and write your answer.",
            "field": "Answer {number}",
            "field_one": "Answer",
            "text_short": "Write {least} characters or more",
            "text_rule": "{says}",
            "text_forbidden": "“{word}” cannot be used",
            "text_lacks": "Use “{word}”",
            "text_copied": "{share}% of the text is copied (up to {most}%). Use other words.",
            "text_far": "Too different from the given text. Change only a part of it.",
            "text_same": "This is one of the given texts",
            "text_negated": "At most {most} may use a negation",
            "not_japanese": "Write it in Japanese",
            "not_korean": "Write it in Korean",
            "not_any": "Write it in letters",
            "not_script": "Write it in the script of the language that is asked for",
        },
    },
    guideline=make_guideline(
        ja=(
            "示された文を最初から最後まで読んでから書いてください。",
            "文法的に正しく、意味の通る文を、自分の言葉で書いてください。",
        ),
        ko=(
            "제시된 글을 처음부터 끝까지 읽은 뒤 써 주세요.",
            "문법에 맞고 의미가 통하는 글을 자신의 말로 써 주세요.",
        ),
        en=(
            "Read the given text from beginning to end before you write.",
            "Write grammatical text that makes sense, in your own words.",
        ),
    ),
    sample=Sample(
        inputs={"text": "港の朝市では、漁師が取れたての魚をその場で焼いて売っている。"},
        answer={"text": "朝市に行けば、焼きたての魚が食べられる。"},
        refused=(
            {},
            {"text": ""},
            {"text": "朝市だ。"},
            {"text": "朝市では肉も焼いている、と言う人もいる"},
            {"text": "漁師が取れたての魚をその場で焼いて売っている。"},
            {"text": "港の朝市では、漁師が取れたての魚をその場で焼いて売っている。"},
            {"text": "KANARI OISHII SAKANA GA ARU."},
            {"text": "絶対に朝市で魚を食べるべきだ。"},
            {"text": ["朝市に行けば、焼きたての魚が食べられる。"]},
            {"text": 3},
        ),
        settings={
            "shortest": 10,
            "script": "japanese",
            "most_copied": 0.6,
            "forbidden": ["絶対"],
            "rules": [{"pattern": "[。！？]$", "says": "句点で終えてください"}],
        },
    ),
)
