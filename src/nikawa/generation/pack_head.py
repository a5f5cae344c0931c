"""`pack.toml`: what it may say, and what it means.

name = "temporal-ja"
language = "ja"
title = "Temporal inference"
licence = "Apache-2.0"
templates = ["templates.txt"]        # native notation, or the authors' .tsv; "data:jamp/…" lies with the published data
lexicon = "ja"                       # a shipped lexicon, or a path from this folder

# all of the following may be left out
description = "…"
slots = ["adjective"]                # kinds of word slots beside agent, noun, place, verb
formats = ["年", "年月"]              # formats of times; all when left out
spans = ["random", "short"]

[span.near]                          # a span of your own, to be named in `spans`
interval = [1, 2]
years = [1990, 1999]
window = { hour = 4, day = 5 }       # smallest unit: how many neighbouring values

[measure.cm]                         # a measure for {number1}
text = "{}センチ"
low = 150
high = 190

[cells.train]                        # what a split is made of; these two are the default
per = 10
[cells.test]
per = 2
formats = "test"                     # only the test format of each template

[split.easy]                         # training splits: what they leave out, by column
category = ["…"]
time_format = ["年月日"]
time_span = ["short"]
[split.hard]
extends = "easy"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nikawa.errors import BadInput, suggest
from nikawa.generation.native_slots import Notation
from nikawa.generation.spans import SPANS, Span
from nikawa.generation.template import TIME_KINDS, WORD_KINDS
from nikawa.generation.time import LAST_YEAR, SURFACES, UNITS, Format, Measure, formats
from nikawa.io.by_hand import read_whole

HEAD = "pack.toml"
COLUMNS = ("category", "time_format", "time_span", "template")
"""What a split may choose by."""
Rule = Mapping[str, frozenset[str]]
"""Column to the words whose problems are left out."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of `pack.toml`."""


class SpanTable(_Part, frozen=True):
    """`[span.NAME]`."""

    interval: tuple[int, int] = (1, 9)
    years: tuple[int, int] = (2000, 2020)
    window: dict[str, int] = {}


class MeasureTable(_Part, frozen=True):
    """`[measure.NAME]`."""

    text: str
    low: int
    high: int
    step: int = 1
    near: int = 4


class CellTable(_Part, frozen=True):
    """`[cells.SPLIT]`."""

    per: int = 10
    formats: Literal["all", "test"] = "all"


class Head(_Part, frozen=True, kw_only=True):
    """`pack.toml` as written."""

    name: str
    language: str
    title: str
    licence: str
    templates: tuple[str, ...]
    lexicon: str = ""
    description: str = ""
    slots: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    spans: tuple[str, ...] = ("random", "short")
    span: dict[str, SpanTable] = {}
    measure: dict[str, MeasureTable] = {}
    cells: dict[str, CellTable] = msgspec.field(
        default_factory=lambda: {"train": CellTable(), "test": CellTable(per=2, formats="test")}
    )
    split: dict[str, dict[str, list[str] | str]] = {}


def read_head(path: Path) -> Head:
    """The head of a pack as written."""
    if not path.is_file():
        raise BadInput(
            f"holds no {HEAD}", file=path.parent, cure="see docs/templates.md for what a pack is"
        )
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), Head)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(
            f"is not TOML: {problem}", file=path, cure="mend the line it names"
        ) from None
    except msgspec.ValidationError as problem:
        raise BadInput(
            str(problem), file=path, cure="see docs/templates.md for what pack.toml holds"
        ) from None


def notation_of(head: Head, path: Path) -> Notation:
    """What the templates of a pack may say."""
    if head.language not in SURFACES:
        raise BadInput(
            f"there is no language {head.language!r}",
            file=path,
            cure=suggest(head.language, SURFACES),
        )
    known = formats(head.language)
    for name in head.formats:
        if name not in known:
            raise BadInput(f"{name!r} is not a format", file=path, cure=suggest(name, known))
    measures = {name: _measure(name, table, path) for name, table in head.measure.items()}
    for kind in head.slots:
        if kind in TIME_KINDS or not kind.isascii() or not kind.isalpha():
            raise BadInput(
                f"{kind!r} cannot name a slot", file=path, cure="use a word of Latin letters"
            )
    chosen = {name: known[name] for name in head.formats or known}
    return Notation(head.language, (*WORD_KINDS, *head.slots), chosen, measures)


def _measure(name: str, table: MeasureTable, path: Path) -> Format:
    if table.text.count("{}") != 1:
        raise BadInput(
            f"the text of measure {name!r} needs one {{}}",
            file=path,
            cure="put it where the number goes",
        )
    if not (0 <= table.low <= table.high and table.step > 0 and table.near > 0):
        raise BadInput(
            f"measure {name!r} has no values", file=path, cure="low <= high, step and near above 0"
        )
    return Format(
        "number", (name,), Measure(name, table.text, table.low, table.high, table.step, table.near)
    )


def spans_of(head: Head, path: Path) -> tuple[Span, ...]:
    """The spans a pack names, its own among them."""
    for unit in (unit for table in head.span.values() for unit in table.window):
        if unit not in UNITS:
            raise BadInput(f"{unit!r} is not a unit", file=path, cure=suggest(unit, UNITS))
    known = {**SPANS, **{name: _span(name, table, path) for name, table in head.span.items()}}
    for name in head.spans:
        if name not in known:
            raise BadInput(f"there is no span {name!r}", file=path, cure=suggest(name, known))
    return tuple(known[name] for name in head.spans)


def _span(name: str, table: SpanTable, path: Path) -> Span:
    (short, long), (first, last) = table.interval, table.years
    if not (
        0 < short <= long
        and 0 < first <= last <= LAST_YEAR - long
        and all(n > 0 for n in table.window.values())
    ):
        raise BadInput(
            f"span {name!r} has no values",
            file=path,
            cure="write the smaller number first, none below 1",
        )
    starts = {unit: _starts(unit, width, table.years) for unit, width in table.window.items()}
    return Span(name, table.interval, table.window, starts, table.years)


def _starts(unit: str, width: int, years: tuple[int, int]) -> tuple[int, int]:
    """Where a window may start so that every month and day has its last value."""
    first, last = {"year": years, "month": (1, 12), "day": (1, 28), "hour": (0, 23)}[unit]
    return first, max(first, last - width + 1)


def rules_of(head: Head, path: Path) -> dict[str, Rule]:
    """Training split to what it leaves out."""
    return {name: dict(_rule(head, name, path, ())) for name in head.split}


def _rule(
    head: Head, name: str, path: Path, below: tuple[str, ...]
) -> Iterator[tuple[str, frozenset[str]]]:
    if name not in head.split or name in below:
        raise BadInput(
            f"split {name!r} cannot be extended", file=path, cure=suggest(name, head.split)
        )
    dropped: dict[str, frozenset[str]] = {}
    for column, words in head.split[name].items():
        if column == "extends" and isinstance(words, str):
            for inherited, more in _rule(head, words, path, (*below, name)):
                dropped[inherited] = dropped.get(inherited, frozenset()) | more
        elif column in COLUMNS and isinstance(words, list):
            dropped[column] = dropped.get(column, frozenset()) | frozenset(words)
        else:
            cure = suggest(column, (*COLUMNS, "extends"))
            raise BadInput(f"split {name!r} cannot choose by {column!r}", file=path, cure=cure)
    yield from dropped.items()
