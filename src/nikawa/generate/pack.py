"""A pack: a folder with `pack.toml` and template files. Everything a generator needs but the words.

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.generate.mistakes import At, Mistake, Trouble
from nikawa.generate.native_slots import Notation
from nikawa.generate.reading import read_file
from nikawa.generate.spans import SPANS, Span
from nikawa.generate.template import TIME_KINDS, WORD_KINDS, Template
from nikawa.generate.time import SURFACES, UNITS, Format, Measure, formats
from nikawa.generate.times import Cell, cells_of, unreachable_cells
from nikawa.io.lines import read_whole

PACKS = Path(__file__).parent / "packs"
HEAD = "pack.toml"
DATA = "data:"
Find = Callable[[str], Path]
"""Where a file of the published data lies: `jamp/dataset/…` to a path."""
COLUMNS = ("category", "time_format", "time_span", "template")
"""What a split may choose by."""


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


Rule = Mapping[str, frozenset[str]]
"""Column to the words whose problems are left out."""


@dataclass(frozen=True)
class Pack:
    """A pack once read."""

    head: Head
    folder: Path
    templates: tuple[Template, ...]
    sources: tuple[Path, ...]
    """The file of each template."""
    spans: tuple[Span, ...]
    rules: Mapping[str, Rule]

    @property
    def name(self) -> str:
        """Its name."""
        return self.head.name

    @property
    def language(self) -> str:
        """The language of its templates."""
        return self.head.language

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of its templates, in order of appearance."""
        return tuple(dict.fromkeys(template.category for template in self.templates))

    def __getitem__(self, id: str) -> Template:
        for template in self.templates:
            if template.id == id:
                return template
        raise unknown(f"template of {self.name}", id, [template.id for template in self.templates])

    def cells(self, split: str = "train") -> tuple[Cell, ...]:
        """The cells a split is made of, in template order."""
        return tuple(
            cell for t in self.templates for cell in cells_of(t, self._formats(t, split), self.spans)
        )

    def unreachable(self, split: str = "train") -> tuple[Cell, ...]:
        """Cells of a label the template has elsewhere, but not in this format and span."""
        return tuple(
            cell for t in self.templates for cell in unreachable_cells(t, self._formats(t, split), self.spans)
        )

    def _formats(self, template: Template, split: str) -> tuple[Format, ...] | None:
        if split not in self.head.cells:
            raise unknown(f"split of {self.name}", split, self.head.cells)
        if self.head.cells[split].formats == "all":
            return None
        return (template.test_format,) if template.test_format else template.formats[-1:]

    def seen(self, split: str, meta: Mapping[str, Any]) -> bool:
        """Whether problems of this kind are in the training data of a split of `[split.…]`."""
        if split not in self.rules:
            raise unknown(f"training split of {self.name}", split, self.rules)
        return not any(str(meta.get(column)) in words for column, words in self.rules[split].items())


def pack_names() -> tuple[str, ...]:
    """The packs that ship."""
    return tuple(sorted(head.parent.name for head in PACKS.glob(f"*/{HEAD}")))


def load_pack(spec: str | Path, *, find: Find | None = None) -> Pack:
    """A shipped pack by name, a pack folder, or a template file alone (the authors' .tsv or the native notation)."""
    pack, troubles = survey(spec, find=find)
    for path, trouble in troubles:
        raise Mistake(trouble.check, trouble.what, At(trouble.line, trouble.column), trouble.cure, path)
    return pack


def survey(spec: str | Path, *, find: Find | None = None) -> tuple[Pack, list[tuple[Path, Trouble]]]:
    """The pack as far as it can be read, and every fault met on the way."""
    folder = _folder(spec)
    head = _read_head(folder / HEAD) if folder.is_dir() else _lone(folder)
    root = folder if folder.is_dir() else folder.parent
    notation = _notation(head, root / HEAD)
    templates: list[Template] = []
    sources: list[Path] = []
    troubles: list[tuple[Path, Trouble]] = []
    for name in head.templates:
        path = _located(name, root, find)
        read, bad = read_file(path, notation, {template.id for template in templates})
        templates += read
        sources += [path] * len(read)
        troubles += [(path, trouble) for trouble in bad]
    spans, rules = _spans(head, root / HEAD), _rules(head, root / HEAD)
    return Pack(head, root, tuple(templates), tuple(sources), spans, rules), troubles


def _folder(spec: str | Path) -> Path:
    if Path(spec).exists():
        return Path(spec)
    if isinstance(spec, str) and (PACKS / spec / HEAD).is_file():
        return PACKS / spec
    if "/" in str(spec) or Path(spec).suffix:
        raise BadInput("no such file or folder", file=spec, cure="check the path")
    raise unknown("pack", str(spec), pack_names())


def _lone(path: Path) -> Head:
    """A head for a template file that has none."""
    return Head(
        name=path.stem,
        language="ja",
        title=path.name,
        licence="not stated",
        templates=(path.name,),
        lexicon="ja",
    )


def _read_head(path: Path) -> Head:
    if not path.is_file():
        raise BadInput(f"holds no {HEAD}", file=path.parent, cure="see docs/templates.md for what a pack is")
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), Head)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"is not TOML: {problem}", file=path, cure="mend the line it names") from None
    except msgspec.ValidationError as problem:
        raise BadInput(
            str(problem), file=path, cure="see docs/templates.md for what pack.toml holds"
        ) from None


def _notation(head: Head, path: Path) -> Notation:
    if head.language not in SURFACES:
        raise BadInput(
            f"there is no language {head.language!r}", file=path, cure=suggest(head.language, SURFACES)
        )
    known = formats(head.language)
    for name in head.formats:
        if name not in known:
            raise BadInput(f"{name!r} is not a format", file=path, cure=suggest(name, known))
    measures = {
        name: Format("number", (name,), Measure(name, m.text, m.low, m.high, m.step, m.near))
        for name, m in head.measure.items()
    }
    for kind in head.slots:
        if kind in TIME_KINDS or not kind.isascii() or not kind.isalpha():
            raise BadInput(f"{kind!r} cannot name a slot", file=path, cure="use a word of Latin letters")
    chosen = {name: known[name] for name in head.formats or known}
    return Notation(head.language, (*WORD_KINDS, *head.slots), chosen, measures)


def _located(name: str, root: Path, find: Find | None) -> Path:
    if not name.startswith(DATA):
        return root / name
    if find is None:
        raise BadInput(f"{name} lies with the published data", file=root / HEAD, cure="say where the data is")
    return find(name.removeprefix(DATA))


def _spans(head: Head, path: Path) -> tuple[Span, ...]:
    for unit in (unit for table in head.span.values() for unit in table.window):
        if unit not in UNITS:
            raise BadInput(f"{unit!r} is not a unit", file=path, cure=suggest(unit, UNITS))
    known = {**SPANS, **{name: _span(name, table) for name, table in head.span.items()}}
    for name in head.spans:
        if name not in known:
            raise BadInput(f"there is no span {name!r}", file=path, cure=suggest(name, known))
    return tuple(known[name] for name in head.spans)


def _span(name: str, table: SpanTable) -> Span:
    starts = {unit: _starts(unit, width, table.years) for unit, width in table.window.items()}
    return Span(name, table.interval, table.window, starts, table.years)


def _starts(unit: str, width: int, years: tuple[int, int]) -> tuple[int, int]:
    """Where a window may start so that every month and day has its last value."""
    first, last = {"year": years, "month": (1, 12), "day": (1, 28), "hour": (0, 23)}[unit]
    return first, max(first, last - width + 1)


def _rules(head: Head, path: Path) -> dict[str, Rule]:
    return {name: dict(_rule(head, name, path, ())) for name in head.split}


def _rule(head: Head, name: str, path: Path, below: tuple[str, ...]) -> Iterator[tuple[str, frozenset[str]]]:
    if name not in head.split or name in below:
        raise BadInput(f"split {name!r} cannot be extended", file=path, cure=suggest(name, head.split))
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
