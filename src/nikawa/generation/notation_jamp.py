"""The JAMP authors' notation: a tab-separated file, elements separated by spaces, `tp_1`, `vp_ta_1_past[ガ格,ヲ格:tp:1]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nikawa.errors import suggest
from nikawa.generation.conditions import NEVER, Compare, Condition, Edge, parse_condition
from nikawa.generation.template import (
    Choice,
    Element,
    Literal,
    Side,
    Template,
    Time,
    Word,
    find_since_and_now,
    merge_literals,
    refuse_too_many_times,
    settled,
)
from nikawa.generation.template_errors import Position, TemplateError, TemplateErrors
from nikawa.generation.times import INTERVAL_FORMATS, POINT_FORMATS, UNITS, Format, formats_by_name
from nikawa.io.by_hand import read_rows as read_table

COLUMNS = (
    "id",
    "premise",
    "hypothesis",
    "entailment",
    "contradiction",
    "ng time unit",
    "test time format",
    "category",
)
CASES = ("ガ", "ヲ", "ニ", "マデ", "ノ~ヲ")
_KINDS = ("agent", "np", "place", "vp_ta", "vp_zi", "stative_vp_zi", "tp", "interval", "time_unit")
_ARGUMENT = re.compile(r"(agent|np|place)_(\d+)(?:\[([^\[\]:]*):(\d+)\])?")
_VERB = re.compile(
    r"(stative_)?vp_(ta|zi)_(\d+)(?:_([a-z]+))?(?:\[([^\[\]:]*):([^\[\]:]*):(\d+)\])?"
)
_TIME = re.compile(r"tp_(\d+)(-1day|!=tp_(\d+)-1day)?|(interval|time_unit)_(\d+)")
_FORMS = {None: "dictionary", "past": "past", "prog": "te", "coni": "stem"}
_WANTS = {"": "", "tp": "point", "nint": "within", "cint": "during"}


def read_rows(path: Path) -> Iterator[tuple[dict[str, str], dict[str, Position]]]:
    """Each row with the place of each of its cells."""
    for line, row in read_table(path, COLUMNS):
        places, column = {}, 1
        for name, cell in row.items():
            places[name] = Position(line, column)
            column += len(cell) + 1
        yield row, places


def parse_row(row: dict[str, str], places: dict[str, Position]) -> Template:
    """The template of one row; the `Mistake` that says why there is none knows all of them."""
    faults = TemplateErrors()
    return settled(_parsed(row, places, faults), faults)


def _parsed(row: dict[str, str], places: dict[str, Position], faults: TemplateErrors) -> Template:
    """The template as far as it can be read."""
    known: dict[str, bool | None] = {}
    premise, hypothesis = (
        tuple(_once(e, known) for e in _side(row[name], places[name], faults))
        for name in ("premise", "hypothesis")
    )
    both = (*premise, *hypothesis)
    faults.hide_times = bool(faults)  # what could not be read may be a time
    faults.tried(lambda: refuse_too_many_times(both, places["id"]), None)
    conditions = [
        _condition(row[name], places[name], faults) for name in ("entailment", "contradiction")
    ]
    banned, test = "ng time unit", "test time format"
    return Template(
        id=row["id"],
        premise=premise,
        hypothesis=hypothesis,
        entails=conditions[0],
        contradicts=conditions[1],
        given=_given(premise),
        formats=faults.tried(lambda: _formats(row[banned], places[banned], both), ()),
        test_format=faults.tried(lambda: _test_format(row[test], places[test]), None),
        category=row["category"],
        at=places["id"],
        places={_FIELDS.get(name, name): at for name, at in places.items()},
    )


def _condition(text: str, at: Position, faults: TemplateErrors) -> Condition:
    never: Condition = NEVER
    return faults.tried(lambda: parse_condition(text, at), never)


_FIELDS = {
    "entailment": "entails",
    "contradiction": "contradicts",
    "ng time unit": "formats",
    "test time format": "test",
}


def _once(element: Element, known: dict[str, bool | None]) -> Element:
    """Every use of a verb repeats ta or zi; only the first declares it, and one that differs is left for the check."""
    if not isinstance(element, Word) or element.transitive is None:
        return element
    first = known.setdefault(element.slot, None)
    if first is None:
        known[element.slot] = element.transitive
        return element
    return replace(element, transitive=None) if first == element.transitive else element


def _given(premise: Side) -> tuple[Condition, ...]:
    times = find_since_and_now(premise)
    return (
        () if times is None else (Compare("<=", Edge(times[0], "start"), Edge(times[1], "start")),)
    )


def _side(text: str, at: Position, faults: TemplateErrors) -> Side:
    elements: list[Element] = []
    for part in re.finditer(r"[^ ]+", text):
        try:
            elements.append(_element(part[0], at.later(part.start())))
        except TemplateError as mistake:
            faults.append(mistake)
    if not text.strip(" "):
        what = "the sentence is empty"
        faults.append(TemplateError("syntax", what, at, "write the elements, separated by spaces"))
    return merge_literals(elements)


def _element(word: str, at: Position) -> Element:
    if word.startswith("["):
        return _choice(word, at)
    if not re.search(r"[A-Za-z_\[\]]", word):
        return Literal(word, at)
    if found := _ARGUMENT.fullmatch(word):
        case = _case(found[3], at.later(found.start(3))) if found[3] is not None else ""
        kind = {"np": "noun"}.get(found[1], found[1])
        return Word(kind, int(found[2]), case=case, at=at, written=word)
    if found := _VERB.fullmatch(word):
        return _verb(found, at)
    if found := _TIME.fullmatch(word):
        return _time(found, at)
    raise _unknown(word, at)


def _unknown(word: str, at: Position) -> TemplateError:
    name = re.match(r"[A-Za-z_]*[A-Za-z]", word)
    if name and name[0] in _KINDS:
        return TemplateError(
            "syntax",
            f"{word!r} cannot be read",
            at,
            "a slot is written like np_1[ヲ格:1] or vp_ta_1_past",
        )
    start = re.search(r"[A-Za-z\[\]_]", word)
    cure = suggest(name[0], _KINDS) if name else "separate slots from text by spaces"
    return TemplateError(
        "unknown-slot", f"{word!r} is not a slot", at.later(start.start() if start else 0), cure
    )


def _choice(word: str, at: Position) -> Choice:
    options = tuple(word[1:-1].split(","))
    if not word.endswith("]") or "[" in word[1:] or len(options) < 2:
        raise TemplateError("syntax", f"{word!r} is not a choice", at, "write [最初,最後]")
    return Choice(word, options, at)


def _case(text: str, at: Position) -> str:
    found = re.fullmatch(r"(.+?)格(\d?)", text.replace("格~", "~"))
    if found is None or found[1] not in CASES:
        raise TemplateError(
            "case", f"{text!r} is not a case", at, suggest(text, [f"{case}格" for case in CASES])
        )
    return found[1] + found[2]


def _verb(found: re.Match[str], at: Position) -> Word:
    stative, voice, index, form, cases, wants, _ = found.groups()
    if form not in _FORMS:
        cure = suggest(form, [name for name in _FORMS if name])
        raise TemplateError("form", f"{form!r} is not a form", at.later(found.start(4)), cure)
    if (wants or "") not in _WANTS:
        raise TemplateError(
            "syntax",
            f"{wants!r} is not a time type",
            at.later(found.start(6)),
            suggest(wants, _WANTS),
        )
    frame, column = [], found.start(5)
    for case in (cases or "").split(",") if cases is not None else ():
        frame.append(_case(case, at.later(column)))
        column += len(case) + 1
    name = (
        _FORMS[form]
        if not stative
        else {"dictionary": "progressive", "past": "progressive_past"}.get(_FORMS[form])
    )
    if name is None:
        raise TemplateError(
            "form",
            f"a state has no form {form!r}",
            at.later(found.start(4)),
            "leave it out, or write past",
        )
    return Word(
        "verb",
        int(index),
        name,
        frame=tuple(frame),
        transitive=voice == "ta",
        wants=_WANTS[wants or ""],
        at=at,
        written=found[0],
    )


def _time(found: re.Match[str], at: Position) -> Time:
    point, change, other, kind, index = found.groups()
    if kind:
        return Time("unit" if kind == "time_unit" else kind, int(index), at=at, written=found[0])
    days = -1 if change == "-1day" else 0
    apart = (f"time_{other}", -1) if other else None
    return Time("time", int(point), days, apart, at=at, written=found[0])


def _formats(text: str, at: Position, elements: Side) -> tuple[Format, ...]:
    kinds = {e.kind for e in elements if isinstance(e, Time)}
    offered = POINT_FORMATS if "time" in kinds else INTERVAL_FORMATS if kinds else ()
    banned: set[Format] = set()
    column = 0
    for word in text.split(",") if text != "None" else ():
        banned.update(_banned(word, at.later(column)))
        column += len(word) + 1
    left = tuple(fmt for fmt in offered if fmt not in banned)
    if offered and not left:
        raise TemplateError("format", "no format is left for its times", at, "allow at least one")
    return left


def _banned(word: str, at: Position) -> Iterator[Format]:
    """`year` bans the formats whose largest unit it is, `year.day` the one from year down to day."""
    first, dot, last = word.partition(".")
    for unit in (first, last) if dot else (first,):
        if unit not in UNITS:
            raise TemplateError("format", f"{unit!r} is not a unit", at, suggest(unit, UNITS))
    for fmt in (*POINT_FORMATS, *INTERVAL_FORMATS):
        if fmt.largest == first and (not dot or (fmt.kind == "point" and fmt.smallest == last)):
            yield fmt


def _test_format(text: str, at: Position) -> Format | None:
    if text == "None":
        return None
    if text not in formats_by_name("ja"):
        raise TemplateError(
            "format", f"{text!r} is not a time format", at, suggest(text, formats_by_name("ja"))
        )
    return formats_by_name("ja")[text]
