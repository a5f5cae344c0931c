"""A pack: a folder with `pack.toml` and template files. Everything a generator needs but the words.

What `pack.toml` may say:

    name = "temporal-ja"
    language = "ja"
    title = "Temporal inference"
    licence = "Apache-2.0"
    templates = ["templates.txt"]        # native notation, or JAMP's .tsv; "data:jamp/…" lies with the published data
    lexicon = "ja"                       # a shipped lexicon, or a path from this folder

    # all of the following may be left out
    description = "…"
    slots = ["adjective"]                # kinds of word slots in addition to agent, noun, place, verb
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

    [[known]]                            # what `nikawa data check` finds and is by design
    check = "repeated-pairs"
    where = "test"                       # every place when left out
    reason = "few words fill its cells"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from nikawa.datasets import benchmarks
from nikawa.datasets.card import check_dataset_name
from nikawa.datasets.known import KnownFinding
from nikawa.datasets.locate import repository_folder
from nikawa.errors import BadInput, MissingData, suggest, unknown
from nikawa.generation.notation import Notation, parse_block, read_blocks
from nikawa.generation.notation_jamp import parse_row, read_rows
from nikawa.generation.template import (
    TIME_KINDS,
    WORD_KINDS,
    ProblemCell,
    Template,
    find_unbound_names,
)
from nikawa.generation.template_errors import Position, TemplateError, Trouble
from nikawa.generation.time_spans import SPANS, TimeSpan
from nikawa.generation.times import MAX_YEAR, TIME_WORDS, UNITS, Format, Quantity, formats_by_name
from nikawa.io.file_names import to_file_name
from nikawa.io.folders import check_split_names
from nikawa.io.hand_edited import read_whole
from nikawa.io.toml import parse_toml

PACKS = Path(__file__).parent / "packs"
PACK_FILE = "pack.toml"
DEFAULT_PACK = "temporal-ja"
"""The pack that is meant where none is named."""
DATA_PREFIX = "data:"
"""What the name of a template file begins with that lies with the published data."""
COLUMNS = ("category", "time_format", "time_span", "template")
"""What a split may choose by."""
_START_RANGES = {"month": (1, 12), "day": (1, 28), "hour": (0, 23)}
Rule = Mapping[str, frozenset[str]]
"""Column to the words whose problems are left out."""
FindFile = Callable[[str], Path]
"""Where a file of the published data lies: `jamp/dataset/…` to a path."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of `pack.toml`."""


class SpanTable(_Table, frozen=True):
    """`[span.NAME]`."""

    interval: tuple[int, int] = (1, 9)
    """The shortest and the longest interval, in the largest unit of the times."""
    years: tuple[int, int] = (2000, 2020)
    hours: tuple[int, int] = (0, 23)
    """The first and the last hour of the day that a time may have."""
    window: dict[str, int] = {}
    """Smallest unit to the number of neighbouring values that all points of a problem share."""


class MeasureTable(_Table, frozen=True):
    """`[measure.NAME]`."""

    text: str
    """The text around the number, with `{}` in its place."""
    low: int
    high: int
    step: int = 1
    near: int = 4
    """How many neighbouring values a short span has."""


class CellTable(_Table, frozen=True):
    """`[cells.SPLIT]`."""

    per: int = 10
    """Problems of each cell, unless the command says otherwise."""
    formats: Literal["all", "test"] = "all"
    """`test`: only the format that a template names for tests."""


BY_DESIGN = (
    KnownFinding(
        check="broken-groups",
        reason="the splits of a pack are made from the same templates: what differs are words, times and formats",
    ),
    *(
        KnownFinding(
            check="giveaway",
            where=f"{field} in *",
            reason="it names the template or the cell, which has one label; no model is shown it",
        )
        for field in ("id", "group", "tags", "meta.*")
    ),
)
"""What `nikawa data check` finds in datasets of any pack: a label follows from the cell."""


class PackHead(_Table, frozen=True, kw_only=True):
    """`pack.toml` as written."""

    name: str
    version: str = "1"
    """Goes up when the problems of a seed change; an old version is called `name@version`."""
    language: str
    title: str
    licence: str
    templates: tuple[str, ...]
    """Files next to it, or `data:…` for files of the published data."""
    lexicon: str = ""
    """A folder next to it, or a shipped lexicon; if empty, the lexicon of the language."""
    description: str = ""
    slots: tuple[str, ...] = ()
    """Kinds of word slots in addition to those every pack has."""
    formats: tuple[str, ...] = ()
    """The formats that times may have; all when empty."""
    spans: tuple[str, ...] = ("random", "short")
    phenomenon: tuple[str, ...] = ()
    """Tokens that are what the pack tests (かもしれない in a pack on modality). They may go with a
    label: the artifact gate lists them and does not count them."""
    known: tuple[KnownFinding, ...] = ()
    """What `nikawa data check` finds in every dataset of the pack, in addition to `BY_DESIGN`."""
    span: dict[str, SpanTable] = {}
    measure: dict[str, MeasureTable] = {}
    cells: dict[str, CellTable] = msgspec.field(
        default_factory=lambda: {"train": CellTable(), "test": CellTable(per=2, formats="test")}
    )
    split: dict[str, dict[str, list[str] | str]] = {}
    """Training split to what it leaves out, by column, or to the split it `extends`."""

    @property
    def first_split(self) -> str:
        """The split that models are trained on."""
        return next(iter(self.cells))


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
    """Training split to what it leaves out."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.head.name

    @property
    def file(self) -> Path:
        """The file that describes the pack; the template file if there is no pack file."""
        head = self.folder / PACK_FILE
        return head if head.is_file() or not self.sources else self.sources[0]

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

    def cells(self, split: str = "train") -> tuple[ProblemCell, ...]:
        """The cells a split is made of, in template order."""
        cells: list[ProblemCell] = []
        for template in self.templates:
            cells += template.cells(self._split_formats(template, split), self.spans)
        return tuple(cells)

    def unreachable(self, split: str = "train") -> tuple[ProblemCell, ...]:
        """Cells of a label the template has elsewhere, but not in this format and span."""
        cells: list[ProblemCell] = []
        for template in self.templates:
            cells += template.unreachable_cells(self._split_formats(template, split), self.spans)
        return tuple(cells)

    def _split_formats(self, template: Template, split: str) -> tuple[Format, ...] | None:
        """The formats that a split has of a template; None for all."""
        if split not in self.head.cells:
            raise unknown(f"split of {self.name}", split, self.head.cells)
        if self.head.cells[split].formats == "all":
            return None
        return (template.test_format,) if template.test_format else template.formats[-1:]

    def is_seen(self, split: str, meta: Mapping[str, Any]) -> bool:
        """Whether problems of this kind are in the training data of a split of `[split.…]`."""
        if split not in self.rules:
            raise unknown(f"training split of {self.name}", split, self.rules)
        for column, words in self.rules[split].items():
            if str(meta.get(column)) in words:
                return False
        return True


def pack_names() -> tuple[str, ...]:
    """The packs that ship, each in its current version."""
    names = (head.parent.name for head in PACKS.glob(f"*/{PACK_FILE}"))
    return tuple(sorted(name for name in names if "@" not in name))


def open_pack(spec: str | None, data: Path | None = None) -> Pack:
    """The pack a user names; without a name the temporal one.

    `data` is the folder of the published data.

    >>> open_pack("comparative-ja").language
    'ja'
    """
    return load_pack(spec or DEFAULT_PACK, find=partial(find_data_file, data=data))


def find_data_file(name: str, data: Path | None) -> Path:
    """Where a file of published data lies: `jamp/dataset/…` in the data folder or a clone next to
    it.
    """
    dataset, _, rest = name.partition("/")
    if dataset not in benchmarks():
        raise unknown("dataset", dataset, benchmarks())
    path = repository_folder(benchmarks()[dataset], data) / rest
    if not path.is_file():
        cure = f"run: nikawa data fetch {dataset}, or set NIKAWA_DATA"
        raise MissingData(f"{name} is not here", file=path, cure=cure)
    return path


def load_pack(spec: str | Path, *, find: FindFile | None = None) -> Pack:
    """A shipped pack by name, a pack folder, or a template file alone (JAMP's .tsv or the native
    notation).
    """
    pack, troubles = read_pack(spec, find=find)
    for path, trouble in troubles:
        at = Position(trouble.line, trouble.column)
        raise TemplateError(trouble.check, trouble.what, at, trouble.cure, path)
    return pack


def read_pack(
    spec: str | Path, *, find: FindFile | None = None
) -> tuple[Pack, list[tuple[Path, Trouble]]]:
    """The pack as far as it can be read, and every trouble met on the way."""
    root, head = _find_head(spec)
    head_path = root / PACK_FILE
    check_names(head, head_path)
    notation = _notation_of(head, head_path)
    templates: list[Template] = []
    sources: list[Path] = []
    troubles: list[tuple[Path, Trouble]] = []
    for name in head.templates:
        path = root / name
        if name.startswith(DATA_PREFIX):
            if find is None:
                what = f"{name} lies with the published data"
                raise BadInput(what, file=head_path, cure="say where the data is")
            path = find(name.removeprefix(DATA_PREFIX))
        ids = {template.id for template in templates}
        own_templates, own_troubles = read_templates(path, notation, ids)
        templates += own_templates
        sources += [path] * len(own_templates)
        troubles += [(path, trouble) for trouble in own_troubles]
    spans, rules = spans_of(head, head_path), rules_of(head, head_path)
    return Pack(head, root, tuple(templates), tuple(sources), spans, rules), troubles


def _find_head(spec: str | Path) -> tuple[Path, PackHead]:
    """The folder and head of the pack that a user means.

    A template file takes the head of the pack it belongs to, if any.
    """
    path = Path(spec)
    if isinstance(spec, str) and not path.exists():
        spec = _find_version(spec)
    is_shipped = isinstance(spec, str) and (PACKS / spec / PACK_FILE).is_file()
    # The folder of a dataset may have the name of the pack it was made from.
    if is_shipped and not (path / PACK_FILE).is_file():
        path = PACKS / spec
    elif not path.exists():
        if "/" in str(spec) or path.suffix:
            raise BadInput("no such file or folder", file=spec, cure="check the path")
        raise unknown("pack", str(spec), pack_names())
    folder = path if path.is_dir() else path.parent
    if path.is_dir() or path.name == PACK_FILE:
        return folder, read_head(folder / PACK_FILE)
    if (folder / PACK_FILE).is_file():
        head = read_head(folder / PACK_FILE)
        if path.name in head.templates:
            return folder, msgspec.structs.replace(head, templates=(path.name,))
    head = PackHead(
        name=to_file_name(path.stem.replace(":", "-")),
        language="ja",
        title=path.name,
        licence="not stated",
        templates=(path.name,),
        lexicon="ja",
    )
    return folder, head


def _find_version(spec: str) -> str:
    """The folder of a shipped pack in the version that a user names.

    `temporal-ja@1` is a folder of its own; `temporal-ja@2` is `temporal-ja` while 2 is current.
    """
    name, at, version = spec.partition("@")
    if not at or name not in pack_names() or (PACKS / spec / PACK_FILE).is_file():
        return spec
    if read_head(PACKS / name / PACK_FILE).version == version:
        return name
    old = sorted(head.parent.name for head in PACKS.glob(f"{name}@*/{PACK_FILE}"))
    raise unknown(f"version of {name}", spec, (name, *old))


def read_templates(
    path: Path, notation: Notation, taken: Collection[str] = ()
) -> tuple[list[Template], list[Trouble]]:
    """The templates of a file and its troubles.

    A `.tsv` is in JAMP's notation, anything else in the native one.

    `taken` are the ids of other files, which may not come again.
    """
    templates: list[Template] = []
    troubles: list[Trouble] = []
    seen: dict[str, str] = dict.fromkeys(taken, "another file")
    for entry in _read_entries(path, notation):
        if isinstance(entry, TemplateError):
            troubles.append(entry.to_trouble())
            continue
        id, at, parse = entry
        if id in seen:
            what = f"template {id} was in {seen[id]} already"
            error = TemplateError("duplicate-id", what, at, "give each template its own id")
            troubles.append(error.to_trouble(id))
            continue
        seen[id] = f"line {at.line}"
        try:
            template = parse()
        except TemplateError as first:
            troubles += [error.to_trouble(id) for error in (first, *first.others)]
        else:
            templates.append(template)
            troubles += [error.to_trouble(id) for error in find_unbound_names(template)]
    if not templates and not troubles:
        error = TemplateError("syntax", "holds no template", Position(1, 1), "write one")
        troubles.append(error.to_trouble())
    return templates, troubles


def _read_entries(
    path: Path, notation: Notation
) -> Iterator[tuple[str, Position, Callable[[], Template]] | TemplateError]:
    """Id and position of each template of a file, and what parses it.

    A line that fits none gives an error.
    """
    if path.suffix == ".tsv":
        for row, positions in read_rows(path):
            yield row["id"], positions["id"], partial(parse_row, row, positions)
        return
    for block in read_blocks(path):
        if isinstance(block, TemplateError):
            yield block
        else:
            yield block.id, block.at, partial(parse_block, block, notation)


def read_head(path: Path) -> PackHead:
    """The head of a pack as written."""
    if not path.is_file():
        cure = "see docs/templates.md for what a pack is"
        raise BadInput(f"holds no {PACK_FILE}", file=path.parent, cure=cure)
    try:
        return msgspec.convert(parse_toml(read_whole(path), path), PackHead)
    except msgspec.ValidationError as error:
        cure = "see docs/templates.md for what pack.toml holds"
        raise BadInput(str(error), file=path, cure=cure) from None


def check_names(head: PackHead, path: Path) -> None:
    """Refuse names of a pack that cannot be those of a dataset and its files; `path` is the file of
    the head, for errors.
    """
    check_dataset_name(head.name, path)
    check_split_names((*head.cells, *head.split), path)
    for name in head.split:
        if name in head.cells:
            what = f"there are both [cells.{name}] and [split.{name}], which would share a file"
            raise BadInput(what, file=path, cure="rename one of them")


def _notation_of(head: PackHead, path: Path) -> Notation:
    """What the templates of a pack may say; `path` is the file of the head, for errors."""
    if head.language not in TIME_WORDS:
        cure = suggest(head.language, TIME_WORDS)
        raise BadInput(f"there is no language {head.language!r}", file=path, cure=cure)
    formats = formats_by_name(head.language)
    for name in head.formats:
        if name not in formats:
            raise BadInput(f"{name!r} is not a format", file=path, cure=suggest(name, formats))
    measures = {}
    for name, table in head.measure.items():
        if table.text.count("{}") != 1:
            what = f"the text of measure {name!r} needs one {{}}"
            raise BadInput(what, file=path, cure="put it where the number goes")
        is_range = 0 <= table.low <= table.high
        if not is_range or table.step <= 0 or table.near <= 0:
            cure = "low <= high, step and near above 0"
            raise BadInput(f"measure {name!r} has no values", file=path, cure=cure)
        measure = Quantity(name, **msgspec.structs.asdict(table))
        measures[name] = Format("number", (name,), measure)
    for kind in head.slots:
        if kind in TIME_KINDS or not kind.isascii() or not kind.isalpha():
            cure = "use a word of Latin letters"
            raise BadInput(f"{kind!r} cannot name a slot", file=path, cure=cure)
    chosen = {name: formats[name] for name in head.formats or formats}
    return Notation(head.language, (*WORD_KINDS, *head.slots), chosen, measures, head.spans)


def spans_of(head: PackHead, path: Path) -> tuple[TimeSpan, ...]:
    """The spans a pack names, its own among them."""
    for table in head.span.values():
        for unit in table.window:
            if unit not in UNITS:
                raise BadInput(f"{unit!r} is not a unit", file=path, cure=suggest(unit, UNITS))
    spans = dict(SPANS)
    for name, table in head.span.items():
        (short, long), (first, last) = table.interval, table.years
        is_interval = 0 < short <= long
        is_years = 0 < first <= last <= MAX_YEAR - long
        is_window = all(n > 0 for n in table.window.values())
        is_hours = 0 <= table.hours[0] <= table.hours[1] <= 23
        if not (is_interval and is_years and is_window and is_hours):
            cure = "write the smaller number first, none below 1"
            raise BadInput(f"span {name!r} has no values", file=path, cure=cure)
        # A window starts where every month and every day still has its last value.
        ranges = {**_START_RANGES, "year": table.years, "hour": table.hours}
        starts = {}
        for unit, width in table.window.items():
            low, high = ranges[unit]
            starts[unit] = (low, max(low, high - width + 1))
        spans[name] = TimeSpan(name, table.interval, table.window, starts, table.years, table.hours)
    for name in head.spans:
        if name not in spans:
            raise BadInput(f"there is no span {name!r}", file=path, cure=suggest(name, spans))
    return tuple(spans[name] for name in head.spans)


def rules_of(head: PackHead, path: Path) -> dict[str, Rule]:
    """Training split to what it leaves out."""

    def read_rule(name: str, extended_by: tuple[str, ...]) -> dict[str, frozenset[str]]:
        if name not in head.split or name in extended_by:
            cure = suggest(name, head.split)
            raise BadInput(f"split {name!r} cannot be extended", file=path, cure=cure)
        dropped: dict[str, frozenset[str]] = {}
        for column, words in head.split[name].items():
            if column == "extends" and isinstance(words, str):
                more = read_rule(words, (*extended_by, name))
            elif column in COLUMNS and isinstance(words, list):
                more = {column: frozenset(words)}
            else:
                cure = suggest(column, (*COLUMNS, "extends"))
                raise BadInput(f"split {name!r} cannot choose by {column!r}", file=path, cure=cure)
            for other, others in more.items():
                dropped[other] = dropped.get(other, frozenset()) | others
        return dropped

    return {name: read_rule(name, ()) for name in head.split}
