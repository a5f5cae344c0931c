"""The notation of JAMP's authors: a tab-separated file, elements separated by spaces.

A time is `tp_1`, a noun `np_1[ヲ格:1]`, a verb `vp_ta_1_past[ガ格,ヲ格:tp:1]` (ta: transitive, zi:
intransitive).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nikawa.errors import suggest
from nikawa.generation.conditions import Compare, Condition, Edge
from nikawa.generation.notation import attempt_condition, raise_errors, refuse_too_many_times
from nikawa.generation.template import (
    Choice,
    Element,
    Literal,
    Side,
    Template,
    Time,
    Word,
    merge_literals,
)
from nikawa.generation.template_errors import Position, TemplateError, TemplateErrors
from nikawa.generation.times import INTERVAL_FORMATS, POINT_FORMATS, UNITS, Format, formats_by_name
from nikawa.io.hand_edited import read_rows as read_table

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
"""The cases of JAMP's templates."""
_FIELDS = {
    "entailment": "entails",
    "contradiction": "contradicts",
    "ng time unit": "formats",
    "test time format": "test",
}
"""Columns to the fields of a template that have another name."""
_KINDS = ("agent", "np", "place", "vp_ta", "vp_zi", "stative_vp_zi", "tp", "interval", "time_unit")
_ARGUMENT = re.compile(r"(agent|np|place)_(\d+)(?:\[([^\[\]:]*):(\d+)\])?")
_VERB = re.compile(
    r"(stative_)?vp_(ta|zi)_(\d+)(?:_([a-z]+))?(?:\[([^\[\]:]*):([^\[\]:]*):(\d+)\])?"
)
_TIME = re.compile(r"tp_(\d+)(-1day|!=tp_(\d+)-1day)?|(interval|time_unit)_(\d+)")
_FORMS = {None: "dictionary", "past": "past", "prog": "te", "coni": "stem"}
_STATE_FORMS = {None: "progressive", "past": "progressive_past"}
_WANTS = {"": "", "tp": "point", "nint": "within", "cint": "during"}


Row = dict[str, str]
"""Column to cell."""
Positions = dict[str, Position]
"""Column to where its cell begins."""


def read_rows(path: Path) -> Iterator[tuple[Row, Positions]]:
    """Each row of a file, and the position of each of its cells."""
    for line, row in read_table(path, COLUMNS):
        positions, column = {}, 1
        for name, cell in row.items():
            positions[name] = Position(line, column)
            column += len(cell) + 1
        yield row, positions


def parse_row(row: Row, positions: Positions) -> Template:
    """The template of one row; if it cannot be read, a `TemplateError` contains all errors."""
    return _RowParser(row, positions).parse()


class _RowParser:
    """Reads one row; what is wrong is added to `errors`, and reading goes on."""

    def __init__(self, row: Row, positions: Positions) -> None:
        self.row, self.positions = row, positions
        self.errors = TemplateErrors()
        self.voices: dict[str, bool | None] = {}
        """Slot of a verb to whether it is transitive, by its first use."""

    def parse(self) -> Template:
        """The template; all errors of the row are raised together."""
        row, positions, errors = self.row, self.positions, self.errors
        premise, hypothesis = self.parse_side("premise"), self.parse_side("hypothesis")
        both = (*premise, *hypothesis)
        errors.may_hide_times = bool(errors)  # what could not be read may be a time
        errors.attempt(lambda: refuse_too_many_times(both, positions["id"]), None)
        entails, contradicts = (
            attempt_condition(row[name], positions[name], errors)
            for name in ("entailment", "contradiction")
        )
        template = Template(
            id=row["id"],
            premise=premise,
            hypothesis=hypothesis,
            entails=entails,
            contradicts=contradicts,
            given=self.infer_given(premise),
            formats=errors.attempt(lambda: self.allow_formats(both), ()),
            test_format=errors.attempt(self.parse_test_format, None),
            category=row["category"],
            at=positions["id"],
            positions={_FIELDS.get(name, name): at for name, at in positions.items()},
        )
        raise_errors(template, errors)
        return template

    def parse_side(self, column: str) -> Side:
        """The elements of the sentence in a column."""
        text, at = self.row[column], self.positions[column]
        elements: list[Element] = []
        for part in re.finditer(r"[^ ]+", text):
            try:
                element = self.parse_element(part[0], at.forward(part.start()))
            except TemplateError as error:
                self.errors.append(error)
            else:
                elements.append(element)
        if not text.strip(" "):
            cure = "write the elements, separated by spaces"
            self.errors.append(TemplateError("syntax", "the sentence is empty", at, cure))
        return tuple(map(self.drop_repeated_voice, merge_literals(elements)))

    def drop_repeated_voice(self, element: Element) -> Element:
        """Every use of a verb repeats ta or zi; only the first declares it, and one that differs is
        left for the check.
        """
        if not isinstance(element, Word) or element.transitive is None:
            return element
        first = self.voices.get(element.slot)
        if first is None:
            self.voices[element.slot] = element.transitive
            return element
        return replace(element, transitive=None) if first == element.transitive else element

    def parse_element(self, word: str, at: Position) -> Element:
        """A choice `[a,b]`, a text, an argument, a verb or a time."""
        if word.startswith("["):
            options = tuple(word[1:-1].split(","))
            if not word.endswith("]") or "[" in word[1:] or len(options) < 2:
                raise TemplateError("syntax", f"{word!r} is not a choice", at, "write [最初,最後]")
            return Choice(word, options, at)
        if not re.search(r"[A-Za-z_\[\]]", word):
            return Literal(word, at)
        if match := _ARGUMENT.fullmatch(word):
            kind, index, case, _ = match.groups()
            return Word(
                "noun" if kind == "np" else kind,
                int(index),
                case=_parse_case(case, at.forward(match.start(3))) if case is not None else "",
                at=at,
                source=word,
            )
        if match := _VERB.fullmatch(word):
            return self.parse_verb(match, at)
        if match := _TIME.fullmatch(word):
            point, change, other, kind, index = match.groups()
            if kind:
                kind = "unit" if kind == "time_unit" else kind
                return Time(kind, int(index), at=at, source=word)
            days = -1 if change == "-1day" else 0
            apart = (f"time_{other}", -1) if other else None
            return Time("time", int(point), days, apart, at=at, source=word)
        name = re.match(r"[A-Za-z_]*[A-Za-z]", word)
        if name and name[0] in _KINDS:
            cure = "a slot is written like np_1[ヲ格:1] or vp_ta_1_past"
            raise TemplateError("syntax", f"{word!r} cannot be read", at, cure)
        start = re.search(r"[A-Za-z\[\]_]", word)
        cure = suggest(name[0], _KINDS) if name else "separate slots from text by spaces"
        at = at.forward(start.start() if start else 0)
        raise TemplateError("unknown-slot", f"{word!r} is not a slot", at, cure)

    def parse_verb(self, match: re.Match[str], at: Position) -> Word:
        """The verb of a match of `_VERB`; a state is a form of its own."""
        stative, voice, index, form, cases, wants, _ = match.groups()
        form_at = at.forward(match.start(4))
        if form not in _FORMS:
            cure = suggest(form, [name for name in _FORMS if name])
            raise TemplateError("form", f"{form!r} is not a form", form_at, cure)
        if (wants or "") not in _WANTS:
            what, cure = f"{wants!r} is not a time type", suggest(wants, _WANTS)
            raise TemplateError("syntax", what, at.forward(match.start(6)), cure)
        frame, column = [], match.start(5)
        for case in cases.split(",") if cases is not None else ():
            frame.append(_parse_case(case, at.forward(column)))
            column += len(case) + 1
        if stative and form not in _STATE_FORMS:
            cure = "leave it out, or write past"
            raise TemplateError("form", f"a state has no form {form!r}", form_at, cure)
        return Word(
            "verb",
            int(index),
            _STATE_FORMS[form] if stative else _FORMS[form],
            frame=tuple(frame),
            transitive=voice == "ta",
            wants=_WANTS[wants or ""],
            at=at,
            source=match[0],
        )

    def infer_given(self, premise: Side) -> tuple[Condition, ...]:
        """A premise `A以来…。現在、Bである` takes for granted that its present does not lie before A."""
        since = now = ""
        for before, time, after in zip(("", *premise), premise, (*premise[1:], ""), strict=False):
            if isinstance(time, Time) and time.kind == "time":
                if isinstance(after, Literal) and after.text.startswith("以来"):
                    since = time.slot
                if isinstance(before, Literal) and re.search("現在、?$", before.text):
                    now = time.slot
        if not since or not now:
            return ()
        return (Compare("<=", Edge(since, "start"), Edge(now, "start")),)

    def allow_formats(self, elements: Side) -> tuple[Format, ...]:
        """All formats but those that the row bans.

        `year` bans the formats whose largest unit it is, `year.day` the one from year down to day.
        """
        text, at = self.row["ng time unit"], self.positions["ng time unit"]
        kinds = {e.kind for e in elements if isinstance(e, Time)}
        formats: tuple[Format, ...] = ()
        if kinds:
            formats = POINT_FORMATS if "time" in kinds else INTERVAL_FORMATS
        banned: set[Format] = set()
        column = 0
        for word in text.split(",") if text != "None" else ():
            first, dot, last = word.partition(".")
            for unit in (first, last) if dot else (first,):
                if unit not in UNITS:
                    what, cure = f"{unit!r} is not a unit", suggest(unit, UNITS)
                    raise TemplateError("format", what, at.forward(column), cure)
            for fmt in formats:
                ends_there = not dot or (fmt.kind == "point" and fmt.smallest == last)
                if fmt.largest == first and ends_there:
                    banned.add(fmt)
            column += len(word) + 1
        allowed = tuple(fmt for fmt in formats if fmt not in banned)
        if formats and not allowed:
            what = "no format is left for its times"
            raise TemplateError("format", what, at, "allow at least one")
        return allowed

    def parse_test_format(self) -> Format | None:
        """The format that test problems have, None where the row names none."""
        text, at = self.row["test time format"], self.positions["test time format"]
        if text == "None":
            return None
        known = formats_by_name("ja")
        if text not in known:
            what, cure = f"{text!r} is not a time format", suggest(text, known)
            raise TemplateError("format", what, at, cure)
        return known[text]


def _parse_case(text: str, at: Position) -> str:
    """`ヲ格` is ヲ, `ガ格2` ガ2, `ノ格~ヲ格` ノ~ヲ."""
    match = re.fullmatch(r"(.+?)格(\d?)", text.replace("格~", "~"))
    if match is None or match[1] not in CASES:
        cure = suggest(text, [f"{case}格" for case in CASES])
        raise TemplateError("case", f"{text!r} is not a case", at, cure)
    return match[1] + match[2]
