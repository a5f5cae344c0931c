"""Slots of the native notation: `{agent ガ}`, `{verb1 他 ガ ヲ past}`, `{time1 -1day}`, `{以内に|で}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from nikawa.errors import suggest
from nikawa.generation.conditions import (
    NEVER,
    And,
    Condition,
    parse_condition,
    parse_slot_name,
    write_condition,
)
from nikawa.generation.template import (
    INFLECTED,
    TIME_KINDS,
    WORD_KINDS,
    Choice,
    Element,
    Literal,
    Side,
    Template,
    Time,
    Word,
    merge_literals,
    refuse_too_many_times,
    settled,
)
from nikawa.generation.template_errors import Position, TemplateError, TemplateErrors
from nikawa.generation.times import INTERVAL_FORMATS, POINT_FORMATS, Format, formats_by_name
from nikawa.io.by_hand import read_lines

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
            object.__setattr__(self, "formats", formats_by_name(self.language))

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms words take in this language."""
        if self.language == "ko":
            from nikawa.text.korean_forms import FORMS as KOREAN

            return tuple(KOREAN)
        from nikawa.text.conjugate import FORMS

        return tuple(FORMS)


def parse_side(
    text: str, at: Position, notation: Notation, faults: TemplateErrors | None = None
) -> Side:
    """The elements of a sentence; faults are added to `faults`, or the first of them is raised."""
    elements: list[Element] = []
    position = 0
    met = TemplateErrors() if faults is None else faults
    for found in _SLOT.finditer(text):
        elements.append(_literal(text[position : found.start()], at.later(position), met))
        elements.append(_slot(found[1], at.later(found.start()), notation, met))
        position = found.end()
    elements.append(_literal(text[position:], at.later(position), met))
    if faults is None:
        met.refuse()
    return merge_literals(elements)


def _literal(text: str, at: Position, faults: TemplateErrors) -> Literal:
    """Text between slots; a brace in it was meant for a slot, and a full-width one is taken for no other."""
    wide = [found.start() for found in re.finditer("｛", text)] or [text.find("｝")]
    for position in (place for place in wide if place >= 0):
        what = f"a full-width {text[position]!r}"
        faults.append(
            TemplateError(
                "syntax", what, at.later(position), "write { and }, which a slot stands in"
            )
        )
    for mark in "{}" if max(wide) < 0 else "":
        if mark in text:
            cure = "close it with }" if mark == "{" else "open it with {"
            faults.append(
                TemplateError("syntax", f"a lone {mark!r}", at.later(text.index(mark)), cure)
            )
            break
    faults.hide_times |= bool(re.search("[{}｛｝]", text))
    return Literal(text, at)


def _slot(inside: str, at: Position, notation: Notation, faults: TemplateErrors) -> Element:
    if "|" in inside:
        return Choice(f"[{inside.replace('|', ',')}]", tuple(inside.split("|")), at)
    words = [(found[0], at.later(1 + found.start())) for found in re.finditer(r"[^\s,、]+", inside)]
    if not words:
        faults.append(
            TemplateError("syntax", "an empty slot", at, "write a name between the braces")
        )
        return Literal("")
    (head, place), *rest = words
    head, plus, particle = head.partition("+")
    if plus:
        rest.insert(0, (f"+{particle}", place.later(len(head))))
    name = parse_slot_name(head)
    known = (*notation.kinds, *TIME_KINDS)
    if name is None or name[0] not in known:
        kind = re.sub(r"[_\d]+$", "", head)
        faults.append(
            TemplateError("unknown-slot", f"{head!r} is not a slot", place, suggest(kind, known))
        )
        faults.hide_times |= bool(get_close_matches(kind, TIME_KINDS))
        return Literal("")
    written = f"{{{inside}}}"
    if name[0] in TIME_KINDS:
        return _time(Time(*name, at=at, written=written), rest, faults)
    form = "dictionary" if name[0] in INFLECTED else ""
    return _word(Word(*name, form=form, at=at, written=written), rest, notation, faults)


def _time(time: Time, words: list[tuple[str, Position]], faults: TemplateErrors) -> Time:
    for word, at in words:
        if (found := _DAYS.fullmatch(word)) and time.kind == "time":
            time = replace(time, days=int(found[1]))
        elif (found := _APART.fullmatch(word)) and time.kind == "time":
            other = parse_slot_name(found[1])
            time = replace(
                time, apart=(f"{other[0]}_{other[1]}" if other else found[1], int(found[2]))
            )
        elif word.startswith("+"):
            time = replace(time, particle=word[1:])
        else:
            cure = "write for example {time1 -1day} or {time2 !=time1-1day}"
            faults.append(
                TemplateError("syntax", f"{word!r} says nothing about a {time.kind}", at, cure)
            )
    return time


def _word(
    word: Word, words: list[tuple[str, Position]], notation: Notation, faults: TemplateErrors
) -> Word:
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


def _unfit(word: Word, text: str, at: Position, notation: Notation) -> TemplateError:
    cases = CASES.get(notation.language, ())
    if word.kind == "verb":
        return TemplateError(
            "form",
            f"{text!r} is no form, case, voice or time of a verb",
            at,
            suggest(text, (*notation.forms, *cases, *VOICES, *WANTS)),
        )
    if word.form:
        return TemplateError("form", f"{text!r} is no form", at, suggest(text, notation.forms))
    return TemplateError("case", f"{text!r} is no case", at, suggest(text, cases))


FIELDS = {
    "category": "category",
    "premise": "premise",
    "hypothesis": "hypothesis",
    "given": "given",
    "entails": "entails",
    "entails when": "entails",
    "contradicts": "contradicts",
    "contradicts when": "contradicts",
    "formats": "formats",
    "test format": "test",
    "note": "note",
}
"""What a line may begin with, and what it is called inside."""
_HEAD = re.compile(r"template\s+(\S+)\s*")
_FIELD = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*[:：]\s*")


@dataclass
class Block:
    """The lines of one template, taken apart."""

    id: str
    at: Position
    fields: dict[str, tuple[str, Position]] = field(default_factory=dict)


def read_blocks(path: Path) -> Iterator[Block | TemplateError]:
    """Every block of a file; a line that fits none comes as a `Mistake`."""
    block: Block | None = None
    last = ""
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            if head := _HEAD.fullmatch(line):
                if block is not None:
                    yield block
                block, last = Block(head[1], Position(number, head.start(1) + 1)), ""
            else:
                last = _add(block, line, Position(number, 1), last)
        except TemplateError as mistake:
            yield mistake
    if block is not None:
        yield block


def _add(block: Block | None, line: str, at: Position, last: str) -> str:
    """Put a line into its field; returns the field's name."""
    if block is None:
        raise TemplateError(
            "syntax", "a template must begin first", at, "write a line such as: template my-first"
        )
    found = _FIELD.match(line)
    if found is None:
        if not last or not line[:1].isspace():
            raise TemplateError(
                "syntax",
                "a field name is missing",
                at,
                f"begin the line with one of: {', '.join(FIELDS)}",
            )
        text, first = block.fields[last]
        block.fields[last] = (text + ("\n" if last == "note" else "") + line.strip(), first)
        return last
    name = FIELDS.get(" ".join(found[1].lower().split()))
    if name is None:
        raise TemplateError(
            "syntax",
            f"{found[1]!r} is not a field",
            at.later(found.start(1)),
            suggest(found[1], FIELDS),
        )
    if name in block.fields:
        raise TemplateError(
            "syntax", f"{found[1]!r} is given twice", at.later(found.start(1)), "keep one of them"
        )
    block.fields[name] = (line[found.end() :].rstrip(), at.later(found.end()))
    return name


def parse_block(block: Block, notation: Notation) -> Template:
    """The template of one block; the `Mistake` that says why there is none knows all of them."""
    faults = TemplateErrors()
    return settled(_parsed(block, notation, faults), faults)


def _parsed(block: Block, notation: Notation, faults: TemplateErrors) -> Template:
    """The template as far as it can be read."""
    for name in ("premise", "hypothesis", "category"):
        if not block.fields.get(name, ("", block.at))[0]:
            what = f"template {block.id} has no {name}"
            faults.append(TemplateError("syntax", what, block.at, f"add a line: {name}: …"))
    premise, hypothesis = (
        parse_side(*block.fields.get(name, ("", block.at)), notation, faults)
        for name in ("premise", "hypothesis")
    )
    both = (*premise, *hypothesis)
    faults.tried(lambda: refuse_too_many_times(both, block.at), None)
    given = _condition(block, "given", faults)
    test = block.fields.get("test")
    return Template(
        id=block.id,
        premise=premise,
        hypothesis=hypothesis,
        entails=_condition(block, "entails", faults),
        contradicts=_condition(block, "contradicts", faults),
        given=(given,) if "given" in block.fields else (),
        formats=faults.tried(lambda: _formats(block, notation, both), ()),
        test_format=faults.tried(lambda: _format(*test, notation), None)
        if test and test[0] != "none"
        else None,
        category=block.fields.get("category", ("", block.at))[0],
        language=notation.language,
        note=block.fields.get("note", ("", block.at))[0],
        at=block.at,
        places={name: at for name, (_, at) in block.fields.items()},
        written={name: text for name, (text, _) in block.fields.items()},
    )


def _condition(block: Block, name: str, faults: TemplateErrors) -> Condition:
    written = block.fields.get(name)
    never: Condition = NEVER
    return never if written is None else faults.tried(lambda: parse_condition(*written), never)


def _formats(block: Block, notation: Notation, elements: Side) -> tuple[Format, ...]:
    kinds = {e.kind for e in elements if isinstance(e, Time)}
    offered: tuple[Format, ...] = ()
    if "number" in kinds:
        if kinds & {"time", "interval", "unit"}:
            raise TemplateError(
                "format", "numbers and times in one template", block.at, "split it in two"
            )
        offered = tuple(notation.measures.values())
    elif kinds:
        pool = POINT_FORMATS if "time" in kinds else INTERVAL_FORMATS
        offered = tuple(fmt for fmt in pool if fmt in notation.formats.values())
    text, at = block.fields.get("formats", ("all", block.at))
    if kinds and text not in ("all", "none"):
        offered = _chosen(text, at, notation, offered)
    if kinds and not offered:
        cure = "declare a [measure.…] in pack.toml" if "number" in kinds else "allow at least one"
        raise TemplateError("format", "no format is left for its times", at, cure)
    return offered


def _chosen(
    text: str, at: Position, notation: Notation, offered: tuple[Format, ...]
) -> tuple[Format, ...]:
    """The formats a line names, or all but those."""
    but = re.match(r"all but\s+", text)
    start = but.end() if but else 0
    named = {
        _format(w[0], at.later(w.start()), notation)
        for w in re.finditer(r"[^\s,、]+", text)
        if w.start() >= start
    }
    return tuple(fmt for fmt in offered if (fmt in named) != bool(but))


def _format(name: str, at: Position, notation: Notation) -> Format:
    known = {**notation.formats, **notation.measures}
    if name not in known:
        raise TemplateError("format", f"{name!r} is not a format", at, suggest(name, known))
    return known[name]


WIDTH = 18


def write_native(template: Template) -> str:
    """The block of lines that `native` reads back to an equal template."""
    lines = [f"template {template.id}"]
    lines += [f"  {f'{name}:':{WIDTH}} {text}" for name, text in _fields(template)]
    return "\n".join(lines) + "\n"


def _fields(template: Template) -> Iterator[tuple[str, str]]:
    yield "category", template.category
    yield "premise", _write_side(template.premise)
    yield "hypothesis", _write_side(template.hypothesis)
    if template.given:
        given = template.given[0] if len(template.given) == 1 else And(template.given)
        yield "given", write_condition(given)
    if template.entails != NEVER:
        yield "entails when", write_condition(template.entails)
    if template.contradicts != NEVER:
        yield "contradicts when", write_condition(template.contradicts)
    if template.formats not in ((), POINT_FORMATS, INTERVAL_FORMATS):
        yield "formats", " ".join(fmt.name(template.language) for fmt in template.formats)
    if template.test_format:
        yield "test format", template.test_format.name(template.language)
    if template.note:
        yield "note", template.note.replace("\n", "\n" + " " * (WIDTH + 3))


def _write_side(side: Side) -> str:
    return "".join(_write_element(element) for element in side)


def _write_element(element: Element) -> str:
    match element:
        case Literal(text):
            return text
        case Choice(_, options):
            return "{" + "|".join(options) + "}"
        case Time():
            return _braced(element.slot, _time_details(element))
        case Word():
            return _braced(element.slot, _word_details(element))


def _braced(slot: str, words: Iterator[str]) -> str:
    kind, _, index = slot.rpartition("_")
    return "{" + " ".join((f"{kind}{index}", *words)) + "}"


def _time_details(time: Time) -> Iterator[str]:
    if time.days:
        yield f"{time.days:+d}day"
    if time.apart:
        yield f"!={time.apart[0]}{time.apart[1]:+d}day"
    if time.particle:
        yield f"+{time.particle}"


def _word_details(word: Word) -> Iterator[str]:
    if word.case:
        yield word.case
    if word.transitive is not None:
        yield "transitive" if word.transitive else "intransitive"
    yield from word.frame
    if word.wants:
        yield word.wants
    if word.form and word.form != "dictionary":
        yield word.form
    if word.particle:
        yield f"+{word.particle}"
