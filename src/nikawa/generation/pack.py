"""A pack: a folder with `pack.toml` (see `pack_head`) and template files. Everything a generator needs but the words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.generation.notation import Notation, parse_block, read_blocks
from nikawa.generation.notation_jamp import parse_row, read_rows
from nikawa.generation.template import TIME_KINDS, WORD_KINDS, Template, find_unbound_names
from nikawa.generation.template_errors import Position, TemplateError, Trouble
from nikawa.generation.time_sampling import Cell, cells_of, unreachable_cells
from nikawa.generation.time_spans import SPANS, TimeSpan
from nikawa.generation.times import MAX_YEAR, TIME_WORDS, UNITS, Format, Measure, formats_by_name
from nikawa.io.by_hand import read_whole

PACK_FILE = "pack.toml"
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


class PackHead(_Part, frozen=True, kw_only=True):
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


def read_head(path: Path) -> PackHead:
    """The head of a pack as written."""
    if not path.is_file():
        raise BadInput(
            f"holds no {PACK_FILE}",
            file=path.parent,
            cure="see docs/templates.md for what a pack is",
        )
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), PackHead)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(
            f"is not TOML: {problem}", file=path, cure="mend the line it names"
        ) from None
    except msgspec.ValidationError as problem:
        raise BadInput(
            str(problem), file=path, cure="see docs/templates.md for what pack.toml holds"
        ) from None


def notation_of(head: PackHead, path: Path) -> Notation:
    """What the templates of a pack may say."""
    if head.language not in TIME_WORDS:
        raise BadInput(
            f"there is no language {head.language!r}",
            file=path,
            cure=suggest(head.language, TIME_WORDS),
        )
    known = formats_by_name(head.language)
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


def spans_of(head: PackHead, path: Path) -> tuple[TimeSpan, ...]:
    """The spans a pack names, its own among them."""
    for unit in (unit for table in head.span.values() for unit in table.window):
        if unit not in UNITS:
            raise BadInput(f"{unit!r} is not a unit", file=path, cure=suggest(unit, UNITS))
    known = {**SPANS, **{name: _span(name, table, path) for name, table in head.span.items()}}
    for name in head.spans:
        if name not in known:
            raise BadInput(f"there is no span {name!r}", file=path, cure=suggest(name, known))
    return tuple(known[name] for name in head.spans)


def _span(name: str, table: SpanTable, path: Path) -> TimeSpan:
    (short, long), (first, last) = table.interval, table.years
    if not (
        0 < short <= long
        and 0 < first <= last <= MAX_YEAR - long
        and all(n > 0 for n in table.window.values())
    ):
        raise BadInput(
            f"span {name!r} has no values",
            file=path,
            cure="write the smaller number first, none below 1",
        )
    starts = {unit: _starts(unit, width, table.years) for unit, width in table.window.items()}
    return TimeSpan(name, table.interval, table.window, starts, table.years)


def _starts(unit: str, width: int, years: tuple[int, int]) -> tuple[int, int]:
    """Where a window may start so that every month and day has its last value."""
    first, last = {"year": years, "month": (1, 12), "day": (1, 28), "hour": (0, 23)}[unit]
    return first, max(first, last - width + 1)


def rules_of(head: PackHead, path: Path) -> dict[str, Rule]:
    """Training split to what it leaves out."""
    return {name: dict(_rule(head, name, path, ())) for name in head.split}


def _rule(
    head: PackHead, name: str, path: Path, below: tuple[str, ...]
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


Parsed = tuple[str, Position, Callable[[], Template]]


def read_file(
    path: Path, notation: Notation, taken: Collection[str] = ()
) -> tuple[list[Template], list[Trouble]]:
    """The templates of a file and its faults; a `.tsv` is in the authors' notation, anything else in the native one."""
    templates: list[Template] = []
    troubles: list[Trouble] = []
    seen: dict[str, str] = dict.fromkeys(taken, "another file")
    for entry in _authors(path) if path.suffix == ".tsv" else _native(path, notation):
        if isinstance(entry, TemplateError):
            troubles.append(entry.trouble())
            continue
        name, at, parse = entry
        if name in seen:
            what = f"template {name} was in {seen[name]} already"
            troubles.append(
                TemplateError("duplicate-id", what, at, "give each template its own id").trouble(
                    name
                )
            )
            continue
        seen[name] = f"line {at.line}"
        try:
            template = parse()
        except TemplateError as mistake:
            troubles += [fault.trouble(name) for fault in (mistake, *mistake.others)]
        else:
            templates.append(template)
            troubles += find_unbound_names(template)
    if not templates and not troubles:
        troubles.append(
            TemplateError("syntax", "holds no template", Position(1, 1), "write one").trouble()
        )
    return templates, troubles


def _authors(path: Path) -> Iterator[Parsed | TemplateError]:
    for row, places in read_rows(path):
        yield row["id"], places["id"], lambda row=row, places=places: parse_row(row, places)  # type: ignore[misc]


def _native(path: Path, notation: Notation) -> Iterator[Parsed | TemplateError]:
    for block in read_blocks(path):
        if isinstance(block, TemplateError):
            yield block
        else:
            yield block.id, block.at, lambda block=block: parse_block(block, notation)  # type: ignore[misc]


__all__ = [
    "PACKS",
    "PACK_FILE",
    "FindFile",
    "Pack",
    "PackHead",
    "Rule",
    "load_pack",
    "pack_names",
    "read_pack",
]

PACKS = Path(__file__).parent / "packs"
DATA = "data:"
FindFile = Callable[[str], Path]
"""Where a file of the published data lies: `jamp/dataset/…` to a path."""


@dataclass(frozen=True)
class Pack:
    """A pack once read."""

    head: PackHead
    folder: Path
    templates: tuple[Template, ...]
    sources: tuple[Path, ...]
    """The file of each template."""
    spans: tuple[TimeSpan, ...]
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
            cell
            for t in self.templates
            for cell in cells_of(t, self._formats(t, split), self.spans)
        )

    def unreachable(self, split: str = "train") -> tuple[Cell, ...]:
        """Cells of a label the template has elsewhere, but not in this format and span."""
        return tuple(
            cell
            for t in self.templates
            for cell in unreachable_cells(t, self._formats(t, split), self.spans)
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
        return not any(
            str(meta.get(column)) in words for column, words in self.rules[split].items()
        )


def pack_names() -> tuple[str, ...]:
    """The packs that ship."""
    return tuple(sorted(head.parent.name for head in PACKS.glob(f"*/{PACK_FILE}")))


def load_pack(spec: str | Path, *, find: FindFile | None = None) -> Pack:
    """A shipped pack by name, a pack folder, or a template file alone (the authors' .tsv or the native notation)."""
    pack, troubles = read_pack(spec, find=find)
    for path, trouble in troubles:
        raise TemplateError(
            trouble.check, trouble.what, Position(trouble.line, trouble.column), trouble.cure, path
        )
    return pack


def read_pack(
    spec: str | Path, *, find: FindFile | None = None
) -> tuple[Pack, list[tuple[Path, Trouble]]]:
    """The pack as far as it can be read, and every fault met on the way."""
    root, head = _head_of(_folder(spec))
    notation = notation_of(head, root / PACK_FILE)
    templates: list[Template] = []
    sources: list[Path] = []
    troubles: list[tuple[Path, Trouble]] = []
    for name in head.templates:
        path = _located(name, root, find)
        read, bad = read_file(path, notation, {template.id for template in templates})
        templates += read
        sources += [path] * len(read)
        troubles += [(path, trouble) for trouble in bad]
    spans, rules = spans_of(head, root / PACK_FILE), rules_of(head, root / PACK_FILE)
    return Pack(head, root, tuple(templates), tuple(sources), spans, rules), troubles


def _folder(spec: str | Path) -> Path:
    shipped = PACKS / spec
    named = isinstance(spec, str) and (shipped / PACK_FILE).is_file()
    if (
        named and not (Path(spec) / PACK_FILE).is_file()
    ):  # a dataset made from a pack may lie in a folder of its name
        return shipped
    if Path(spec).exists():
        return Path(spec)
    if "/" in str(spec) or Path(spec).suffix:
        raise BadInput("no such file or folder", file=spec, cure="check the path")
    raise unknown("pack", str(spec), pack_names())


def _head_of(path: Path) -> tuple[Path, PackHead]:
    """The folder and head of a pack; a template file takes the head of the pack it belongs to, if any."""
    if path.is_dir() or path.name == PACK_FILE:
        folder = path if path.is_dir() else path.parent
        return folder, read_head(folder / PACK_FILE)
    if (path.parent / PACK_FILE).is_file():
        head = read_head(path.parent / PACK_FILE)
        if path.name in head.templates:
            return path.parent, msgspec.structs.replace(head, templates=(path.name,))
    return path.parent, PackHead(
        name=path.stem,
        language="ja",
        title=path.name,
        licence="not stated",
        templates=(path.name,),
        lexicon="ja",
    )


def _located(name: str, root: Path, find: FindFile | None) -> Path:
    if not name.startswith(DATA):
        return root / name
    if find is None:
        raise BadInput(
            f"{name} lies with the published data",
            file=root / PACK_FILE,
            cure="say where the data is",
        )
    return find(name.removeprefix(DATA))
