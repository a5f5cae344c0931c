"""Where an example came from: source, judgements, rules, the drops of its siblings, split, tags,
versions.

`lineage.jsonl` in a dataset folder has one line per example. Next to it, `lineage.index` has (hash
of the reference, offset of the line), sorted, so that one example of 100,000 is found with a few
reads. Without a fitting index the file is read through.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from nikawa.datasets.load import find_hidden_references
from nikawa.errors import BadInput, list_names, suggest
from nikawa.io.folders import CARD, split_files
from nikawa.io.json import decode_json, encode_json, read_json
from nikawa.io.limits import read_limits
from nikawa.io.lines import open_bytes, read_raw_lines
from nikawa.records import Card, Judgement, Record, reference

LINEAGE, INDEX = "lineage.jsonl", "lineage.index"
_ENTRY = struct.Struct(">8sQ")
"""An entry of the index: hash of a reference, offset of its line; the head has the same form."""
_HEAD = struct.Struct(">8sQ")
_MAGIC = b"nikawa-l"
MAX_IDS_COMPARED = 2000
"""Ids looked at to suggest a near one."""


class Step(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A stage that passed an item on."""

    stage: str
    """A stage of the recipe, or `aggregate` or `split`."""
    item: str
    rule: str = ""
    """The basis of the decision, in words."""
    parents: tuple[str, ...] = ()
    """The items that this one was made of."""


class Sibling(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An item made of the same parents that was dropped."""

    item: str
    stage: str
    """The stage that dropped it."""
    why: str
    detail: str = ""


class Change(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A gold answer that a later version corrected."""

    version: str
    """The version that brought the new answer."""
    question: str
    before: Any
    after: Any
    why: str = ""
    by: str = ""
    """Who decided it."""


class Lineage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The complete history of a released example."""

    example: str
    """Full reference."""
    item: str
    """Its name during the build."""
    split: str
    recipe: str
    """The builder of the dataset: a recipe, or `aggregate`."""
    version: str
    nikawa: str
    """The version of Nikawa that built it."""
    inputs: dict[str, Any]
    gold: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    sources: tuple[dict[str, Any], ...] = ()
    """The items of source files it goes back to: item, file, line, and url and licence where known.
    """
    steps: tuple[Step, ...] = ()
    """In their order."""
    judgements: tuple[Judgement, ...] = ()
    siblings: tuple[Sibling, ...] = ()
    siblings_more: int = 0
    """Dropped siblings that are not listed."""
    changes: tuple[Change, ...] = ()
    """Corrections since it was first released."""


def write_lineage(folder: Path, entries: Iterable[Lineage]) -> int:
    """Write the lineage of a dataset and its index into a folder that is being filled; returns how
    many.
    """
    index: list[tuple[bytes, int]] = []
    with (folder / LINEAGE).open("wb") as stream:
        for entry in entries:
            index.append((_hash(entry.example), stream.tell()))
            stream.write(encode_json(entry) + b"\n")
        size = stream.tell()
    with (folder / INDEX).open("wb") as stream:
        stream.write(_HEAD.pack(_MAGIC, size))
        for entry_hash, offset in sorted(index):
            stream.write(_ENTRY.pack(entry_hash, offset))
    return len(index)


def read_lineage(folder: Path) -> Iterator[Lineage]:
    """Every entry, in the order of the release."""
    path = _file(folder)
    for number, line in read_raw_lines(path):
        yield decode_json(line, Lineage, path, number)


def hide_lineage(entry: Lineage) -> Lineage:
    """Return the lineage of a hidden example without everything that may reveal its label: workers' answers,
    the basis of decisions, the reasons for dropped siblings, corrections.
    """
    replace = msgspec.structs.replace
    return replace(
        entry,
        gold={},
        tags=(),
        steps=tuple(replace(step, rule="") for step in entry.steps),
        judgements=(),
        siblings=(),
        changes=(),
    )


def find_lineage(example: str, folder: Path) -> Lineage:
    """Return the lineage of an example given as `jnli:dev/12`, `dev/12`, or `12` if only one split has it.

    The lineage of a hidden example does not reveal its label (see `hide_lineage`).
    Raises `BadInput` if no example or several have that id; the error suggests similar ids.
    """
    path = _file(folder)
    entries = [find_entry(path, name) for name in possible_references(example, folder)]
    lineages = [entry for entry in entries if entry is not None]
    if len(lineages) == 1:
        (entry,) = lineages
        return hide_lineage(entry) if entry.example in find_hidden_references(folder) else entry
    if lineages:
        several = list_names(entry.example for entry in lineages)
        raise BadInput(
            f"several splits have {example!r}", file=path, cure=f"write one of: {several}"
        )
    known = []
    for number, line in read_raw_lines(path):
        if number > MAX_IDS_COMPARED:
            break
        known.append(decode_json(line, _Name, path, number).example.partition(":")[2])
    cure = suggest(example.rpartition(":")[2], known)
    raise BadInput(f"has no example {example!r}", file=path, cure=cure)


class _Name(msgspec.Struct):
    """An entry, of which only the reference is decoded."""

    example: str


def _file(folder: Path) -> Path:
    path = folder / LINEAGE
    if not path.is_file():
        cure = "pass the folder of a dataset that nikawa build made, or that nikawa split made from one or from aggregated gold: --in DIR"
        raise BadInput("has no lineage", file=folder, cure=cure)
    return path


def possible_references(example: str, folder: Path) -> list[str]:
    """Return the references that a text may mean.

    Ids may contain colons and slashes themselves.
    """
    name, splits = read_json(folder / CARD, Card).name, list(split_files(folder))
    split, slash, rest = example.partition("/")
    if example.startswith(tuple(f"{name}:{known}/" for known in splits)):
        return [example]
    if slash and split in splits:
        return [reference(name, split, rest)]
    return [example, *(reference(name, known, example) for known in splits)]


def _hash(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()


def find_entry(path: Path, name: str) -> Lineage | None:
    """Find a line by the index if it fits the file, else by reading the whole file."""
    index = path.with_name(INDEX)
    if index.is_file():
        with open_bytes(index) as stream:
            head = stream.read(_HEAD.size)
            if len(head) == _HEAD.size and _HEAD.unpack(head) == (_MAGIC, path.stat().st_size):
                return search_index(path, name, stream)
    encoded = msgspec.json.encode(name)
    for number, line in read_raw_lines(path):
        if encoded in line:  # decode only lines that contain the reference
            entry = decode_json(line, Lineage, path, number)
            if entry.example == name:
                return entry
    return None


def search_index(path: Path, name: str, index: BinaryIO) -> Lineage | None:
    """Binary search in the sorted index, then every line whose hash is the same."""
    name_hash, low = _hash(name), 0
    high = count = (index.seek(0, 2) - _HEAD.size) // _ENTRY.size
    while low < high:
        middle = (low + high) // 2
        if _index_entry(index, middle)[0] < name_hash:
            low = middle + 1
        else:
            high = middle
    with open_bytes(path) as stream:
        while low < count:
            entry_hash, offset = _index_entry(index, low)
            if entry_hash != name_hash:
                break
            if offset >= path.stat().st_size:
                what, cure = f"points outside {LINEAGE}", "remove it; it is only an index"
                raise BadInput(what, file=path.with_name(INDEX), cure=cure)
            stream.seek(offset)
            entry = decode_json(stream.readline(read_limits().line), Lineage, path)
            if entry.example == name:
                return entry
            low += 1
    return None


def _index_entry(index: BinaryIO, place: int) -> tuple[bytes, int]:
    index.seek(_HEAD.size + place * _ENTRY.size)
    entry: tuple[bytes, int] = _ENTRY.unpack(index.read(_ENTRY.size))
    return entry
