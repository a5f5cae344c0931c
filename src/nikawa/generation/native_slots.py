"""Slots of the native notation: `{agent ガ}`, `{verb1 他 ガ ヲ past}`, `{time1 -1day}`, `{以内に|で}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from nikawa.errors import suggest
from nikawa.generation.condition_text import slot_name
from nikawa.generation.mistakes import At, Faults, Mistake
from nikawa.generation.template import (
    INFLECTED,
    TIME_KINDS,
    WORD_KINDS,
    Choice,
    Element,
    Literal,
    Side,
    Time,
    Word,
    joined,
)
from nikawa.generation.time import Format, formats

CASES = {
    "ja": ("ガ", "ヲ", "ニ", "デ", "ト", "ヘ", "カラ", "マデ", "ヨリ", "ノ", "ノ~ヲ"),
    "ko": ("이/가", "을/를", "에", "에서", "에게", "와/과", "(으)로", "까지", "부터", "보다"),
}
"""Cases by language; a number after one tells several agents of one verb apart."""
VOICES = {
    "他": True,
    "自": False,
    "transitive": True,
    "intransitive": False,
    "타": True,
    "자": False,
}
WANTS = ("point", "within", "during", "again")
_SLOT = re.compile(r"\{([^{}]*)\}")
_APART = re.compile(r"!=([A-Za-z]+_?\d*)([+-]\d+)days?")
_DAYS = re.compile(r"([+-]\d+)days?")


@dataclass(frozen=True)
class Notation:
    """What a pack lets its templates say."""

    language: str = "ja"
    kinds: tuple[str, ...] = WORD_KINDS
    formats: Mapping[str, Format] = field(default_factory=dict)
    """The times' formats by name; all of the language's when left out."""
    measures: Mapping[str, Format] = field(default_factory=dict)
    """The measures of number slots, by name."""

    def __post_init__(self) -> None:
        if not self.formats:
            object.__setattr__(self, "formats", formats(self.language))

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms words take in this language."""
        if self.language == "ko":
            from nikawa.text.korean_forms import FORMS as KOREAN

            return tuple(KOREAN)
        from nikawa.text.conjugate import FORMS

        return tuple(FORMS)


def parse_side(text: str, at: At, notation: Notation, faults: Faults | None = None) -> Side:
    """The elements of a sentence; faults are added to `faults`, or the first of them is raised."""
    elements: list[Element] = []
    position = 0
    met = Faults() if faults is None else faults
    for found in _SLOT.finditer(text):
        elements.append(_literal(text[position : found.start()], at.later(position), met))
        elements.append(_slot(found[1], at.later(found.start()), notation, met))
        position = found.end()
    elements.append(_literal(text[position:], at.later(position), met))
    if faults is None:
        met.refuse()
    return joined(elements)


def _literal(text: str, at: At, faults: Faults) -> Literal:
    """Text between slots; a brace in it was meant for a slot, and a full-width one is taken for no other."""
    wide = [found.start() for found in re.finditer("｛", text)] or [text.find("｝")]
    for position in (place for place in wide if place >= 0):
        what = f"a full-width {text[position]!r}"
        faults.append(
            Mistake("syntax", what, at.later(position), "write { and }, which a slot stands in")
        )
    for mark in "{}" if max(wide) < 0 else "":
        if mark in text:
            cure = "close it with }" if mark == "{" else "open it with {"
            faults.append(Mistake("syntax", f"a lone {mark!r}", at.later(text.index(mark)), cure))
            break
    faults.hide_times |= bool(re.search("[{}｛｝]", text))
    return Literal(text, at)


def _slot(inside: str, at: At, notation: Notation, faults: Faults) -> Element:
    if "|" in inside:
        return Choice(f"[{inside.replace('|', ',')}]", tuple(inside.split("|")), at)
    words = [(found[0], at.later(1 + found.start())) for found in re.finditer(r"[^\s,、]+", inside)]
    if not words:
        faults.append(Mistake("syntax", "an empty slot", at, "write a name between the braces"))
        return Literal("")
    (head, place), *rest = words
    head, plus, particle = head.partition("+")
    if plus:
        rest.insert(0, (f"+{particle}", place.later(len(head))))
    name = slot_name(head)
    known = (*notation.kinds, *TIME_KINDS)
    if name is None or name[0] not in known:
        kind = re.sub(r"[_\d]+$", "", head)
        faults.append(
            Mistake("unknown-slot", f"{head!r} is not a slot", place, suggest(kind, known))
        )
        faults.hide_times |= bool(get_close_matches(kind, TIME_KINDS))
        return Literal("")
    written = f"{{{inside}}}"
    if name[0] in TIME_KINDS:
        return _time(Time(*name, at=at, written=written), rest, faults)
    form = "dictionary" if name[0] in INFLECTED else ""
    return _word(Word(*name, form=form, at=at, written=written), rest, notation, faults)


def _time(time: Time, words: list[tuple[str, At]], faults: Faults) -> Time:
    for word, at in words:
        if (found := _DAYS.fullmatch(word)) and time.kind == "time":
            time = replace(time, days=int(found[1]))
        elif (found := _APART.fullmatch(word)) and time.kind == "time":
            other = slot_name(found[1])
            time = replace(
                time, apart=(f"{other[0]}_{other[1]}" if other else found[1], int(found[2]))
            )
        elif word.startswith("+"):
            time = replace(time, particle=word[1:])
        else:
            cure = "write for example {time1 -1day} or {time2 !=time1-1day}"
            faults.append(Mistake("syntax", f"{word!r} says nothing about a {time.kind}", at, cure))
    return time


def _word(word: Word, words: list[tuple[str, At]], notation: Notation, faults: Faults) -> Word:
    cases = CASES.get(notation.language, ())
    for text, at in words:
        bare = text.rstrip("0123456789")
        form = text.replace("-", "_")
        if text.startswith("+"):
            word = replace(word, particle=text[1:])
        elif bare in cases:
            word = (
                replace(word, frame=(*word.frame, text))
                if word.kind == "verb"
                else replace(word, case=text)
            )
        elif word.kind == "verb" and text in VOICES:
            word = replace(word, transitive=VOICES[text])
        elif word.kind == "verb" and text in WANTS:
            word = replace(word, wants=text)
        elif word.form and form in notation.forms:
            word = replace(word, form=form)
        else:
            faults.append(_unfit(word, text, at, notation))
    return word


def _unfit(word: Word, text: str, at: At, notation: Notation) -> Mistake:
    cases = CASES.get(notation.language, ())
    if word.kind == "verb":
        return Mistake(
            "form",
            f"{text!r} is no form, case, voice or time of a verb",
            at,
            suggest(text, (*notation.forms, *cases, *VOICES, *WANTS)),
        )
    if word.form:
        return Mistake("form", f"{text!r} is no form", at, suggest(text, notation.forms))
    return Mistake("case", f"{text!r} is no case", at, suggest(text, cases))
