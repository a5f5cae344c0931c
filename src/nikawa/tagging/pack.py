"""A tag pack: one TOML file that lists the morphemes of each phenomenon.

The packs in the folder `packs` are found by their file names; you name your own pack by its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.json import plain_fault
from nikawa.io.lines import read_text
from nikawa.io.toml import parse_toml
from nikawa.records import Record
from nikawa.registry import Registry, collect_plugins
from nikawa.tagging.terms import alternatives, parse_terms
from nikawa.text import ANALYSERS

FOLDER = Path(__file__).parent / "packs"
SUFFIX = ".toml"
GUIDE = "see docs/tags.md"


class TagName(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A second name and a description of a tag."""

    alias: str = ""
    """A second name, such as the short one in a paper."""
    about: str = ""


class Pattern(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One morpheme, by dictionary form and part of speech, that gives an example a tag."""

    tag: str
    base: str
    """Dictionary form; `|` separates alternatives, a final `...` matches any continuation."""
    pos: str
    """The analyser's tag fields joined by commas; alternatives and `...` as in `base`."""
    before: str = ""
    """Terms `base/pos` that the morphemes right before must meet, in text order; `!` negates one.
    """
    after: str = ""
    """The same for the morphemes right after."""
    earlier: str = ""
    """Terms that morphemes earlier in the sentence must meet, in any order and place; `!` says that
    none may."""
    later: str = ""
    """The same for morphemes later in the sentence."""
    cancel: bool = False
    """Whether a match takes the tag away from this morpheme instead of giving it."""
    hit: str = ""
    """A sentence the pattern must match."""
    miss: str = ""
    """A similar sentence that must not get the tag; for a pattern that cancels, one that gets it."""


class Pack(Record, frozen=True, kw_only=True):
    """The patterns for one language and analyser, and their provenance."""

    name: str
    title: str
    language: str
    analyser: str
    licence: str
    provenance: str
    default: bool = False
    """Whether it is the default pack of its language."""
    tags: dict[str, TagName]
    patterns: tuple[Pattern, ...]
    known: dict[str, str] = msgspec.field(default_factory=dict)
    """Examples (`jsick:train/1`) whose published tags are known to differ, and why."""

    @property
    def names(self) -> dict[str, str]:
        """Every name and alias to the name."""
        names = {}
        for name, tag in self.tags.items():
            for alias in (name, tag.alias):
                if alias:
                    names[alias] = name
        return names


@cache
def pack_files() -> Registry[Path]:
    """The files of the packs in Nikawa, and of those that other packages declare as entry points."""
    table: Registry[Path] = Registry("tag pack")
    files = [
        *FOLDER.glob(f"*{SUFFIX}"),
        *collect_plugins(Path, "TAG_PACKS", "nikawa.tag_packs"),
    ]
    for file in sorted(files, key=lambda file: file.name.removesuffix(SUFFIX)):
        table.add(file.name.removesuffix(SUFFIX), file)
    return table


def pack_names() -> list[str]:
    """The names of all packs that can be found by name."""
    return list(pack_files())


def find_pack(name: str) -> Pack:
    """A pack by name (`jsick`), or by the path of its file (`mine.toml`).

    Raises BadInput for an unknown name, and for a file that is not a valid pack.

    >>> find_pack("jsick").language
    'ja'
    """
    if name in pack_files():
        return _read_by_name(name)
    if name.endswith(SUFFIX) or "/" in name:
        return read_pack(Path(name))
    raise unknown("tag pack", name, pack_names())


def default_pack(language: str) -> Pack:
    """The default pack of a language."""
    defaults = default_packs()
    if language not in defaults:
        known = ", ".join(f"{pack.name} ({code})" for code, pack in defaults.items())
        raise BadInput(
            f"no tag pack is for the language {language!r}", cure=f"pass --pack: {known}, or a file"
        )
    return defaults[language]


def default_packs() -> dict[str, Pack]:
    """Language to its default pack."""
    packs = [find_pack(name) for name in pack_names()]
    return {pack.language: pack for pack in packs if pack.default}


@cache
def _read_by_name(name: str) -> Pack:
    return read_pack(pack_files()[name])


def read_pack(path: Path) -> Pack:
    """Read and check a pack; a fault names file, line and cure."""
    text = read_text(path, "settings").decode()
    pack = decode_pack(text, path)
    if pack.name != path.name.removesuffix(SUFFIX):
        raise _fault(
            f"the name of the pack is {pack.name!r}, but its file is {path.name!r}",
            path,
            "rename one of them",
        )
    _check_head(pack, path)
    seen: dict[tuple[str, ...], int] = {}
    for number, pattern in enumerate(pack.patterns, start=1):
        line = line_of(text, number)
        for key in _spell_out_pattern(pattern, pack, path, line):
            if key in seen:
                what = (
                    f"{key[1]} {key[2]} is a pattern of {key[0]} twice, first on line {seen[key]}"
                )
                raise _fault(what, path, "remove one of them", line)
            seen[key] = line or number
    return pack


def decode_pack(text: str, path: Path) -> Pack:
    """The pack of a TOML text.

    A fault names the line: that of the text, or of the pattern it is in.
    """
    raw: dict[str, Any] = {}
    try:
        raw = parse_toml(text, path, GUIDE)
        return msgspec.convert(raw, Pack)
    except msgspec.ValidationError as problem:
        fault = plain_fault(str(problem))
        inside = re.search(r"patterns\[(\d+)\]", fault)
        line = line_of(text, int(inside[1]) + 1) if inside else None
        raise _fault(fault, path, GUIDE, line) from None


def line_of(text: str, pattern: int) -> int | None:
    """The line of a pattern, counted from 1: every pattern has one `base`."""
    bases = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith("#"):
            continue
        bases += len(re.findall(r"(?:^|[{,\s])base\s*=", line))
        if bases >= pattern:
            return number
    return None


def _check_head(pack: Pack, path: Path) -> None:
    """Refuse empty fields, an unknown analyser, names that two tags share, and tags without a
    pattern.
    """
    for field in ("name", "title", "language", "analyser", "licence", "provenance"):
        if not str(getattr(pack, field)).strip():
            raise _fault(f"{field} is empty", path, GUIDE)
    if pack.analyser not in ANALYSERS:
        raise _fault(
            f"there is no analyser {pack.analyser!r}", path, suggest(pack.analyser, ANALYSERS)
        )
    if ANALYSERS[pack.analyser].language not in ("", pack.language):
        raise _fault(f"the analyser {pack.analyser} does not read {pack.language!r}", path, GUIDE)
    if len(pack.names) != sum(1 + bool(tag.alias) for tag in pack.tags.values()):
        raise _fault("two tags share a name or an alias", path, "rename one of them")
    unused = sorted(set(pack.tags) - {pattern.tag for pattern in pack.patterns})
    if unused:
        raise _fault(f"the tag {unused[0]!r} has no pattern", path, "write one, or remove the tag")


def _spell_out_pattern(
    pattern: Pattern, pack: Pack, path: Path, line: int | None
) -> Iterator[tuple[str, ...]]:
    """The pattern without alternatives: one key per base form and part of speech."""
    if pattern.tag not in pack.tags:
        raise _fault(
            f"there is no tag {pattern.tag!r}", path, suggest(pattern.tag, pack.tags), line
        )
    try:
        parse_terms(f"{pattern.before} {pattern.after} {pattern.earlier} {pattern.later}")
        for base in alternatives(pattern.base):
            for pos in alternatives(pattern.pos):
                context = (pattern.before, pattern.after, pattern.earlier, pattern.later)
                yield (pattern.tag, base, pos, *context)
    except ValueError as problem:
        raise _fault(str(problem), path, GUIDE, line) from None


def _fault(what: str, path: Path, cure: str, line: int | None = None) -> BadInput:
    return BadInput(what, file=path, line=line, cure=cure)
