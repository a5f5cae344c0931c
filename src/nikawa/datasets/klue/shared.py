"""What the KLUE datasets share: where the files lie, JSON arrays by record, column files, hidden
test labels, card lines.

The column files (NER, DP) hold comment lines, then sentences of a `## guid<TAB>text` line and rows.
They are read whole: their rows are so short that going line by line costs ten times the parsing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from nikawa.datasets.base import Source
from nikawa.datasets.load import guess_split
from nikawa.datasets.locate import find_files
from nikawa.errors import BadInput, suggest
from nikawa.io.json import json_fault
from nikawa.io.limits import refuse_large_json, refuse_wide_text
from nikawa.io.lines import decode_line, read_bytes
from nikawa.records import Card, Dataset, Example

T = TypeVar("T")


class HasGuid(Protocol):
    """A record that its file names."""

    @property
    def guid(self) -> str:
        """The id of its example."""


R = TypeVar("R", bound=HasGuid)

CURE = "is this the published file? fetch it again"
"""What to do about a file that is not as published."""

make_card = partial(
    Card,
    version="1.1",
    languages=("ko",),
    licence="CC BY-SA 4.0",
    citation="Park, Moon, Kim, Cho et al. (2021). KLUE: Korean Language Understanding Evaluation. NeurIPS Datasets and Benchmarks.",
    homepage="https://github.com/KLUE-benchmark/KLUE",
)
"""The card of a dataset of KLUE; given here is what all of them share."""


def sources(stem: str, suffix: str) -> tuple[Source, ...]:
    """The three splits as upstream lays them out: `klue-nli-v1.1/klue-nli-v1.1_dev.json`."""
    return tuple(
        Source(split, (f"klue_benchmark/{stem}-v*/{stem}-v*_{split}.{suffix}",))
        for split in ("train", "dev", "test")
    )


def published_files(
    where: Sequence[Source], folder: Path, version: str | None = None
) -> Iterator[tuple[str, Path]]:
    """(split, file) for the files of a dataset that are here, newest version unless one is asked
    for.
    """
    for source in where:
        for path in find_files(source, folder, version):
            yield source.split, path


def read_text(path: Path) -> str:
    """A whole text file at once. CR LF is let pass: the published STS file has it throughout."""
    data = read_bytes(path).replace(b"\r\n", b"\n")
    refuse_wide_text(data, path)
    if not data.strip():
        raise BadInput("is empty", file=path, cure="fetch it again")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or text.startswith("\ufeff") or "\0" in text:
        for number, line in enumerate(BytesIO(data), start=1):
            decode_line(line, path, number, limited=False)  # one of them raises, with its place
    return text


def read_document(path: Path, kind: type[T]) -> T:
    """Decode a file that is one JSON document."""
    text = read_text(path)
    refuse_large_json(text.encode(), path)
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as problem:
        byte = re.search(r"byte (\d+)", str(problem))
        line = text.encode()[: int(byte[1])].count(b"\n") + 1 if byte else None
        raise BadInput(
            json_fault(problem, text, path, line).what, file=path, line=line, cure=CURE
        ) from None


def read_array(path: Path, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield (record number from 1, record) of a file that is one JSON array.

    Records are decoded one by one, so that an error names the record and its line.
    """
    decoder = msgspec.json.Decoder(kind)
    raws = read_document(path, list[msgspec.Raw])
    if not raws:
        raise BadInput("holds no record", file=path, cure=CURE)
    for number, raw in enumerate(raws, start=1):
        try:
            yield number, decoder.decode(raw)
        except (msgspec.DecodeError, RecursionError) as problem:
            what = json_fault(problem, bytes(raw), path, None).what
            line = _line_of_record(path, raws, number)
            raise BadInput(f"record {number}: {what}", file=path, line=line, cure=CURE) from None


class PublishedRecord(NamedTuple, Generic[R]):
    """A record and where it was published."""

    split: str
    path: Path
    number: int
    """Counted from 1 in its file."""
    row: R


def published_records(
    where: Sequence[Source], folder: Path, kind: type[R], version: str | None = None
) -> Iterator[PublishedRecord[R]]:
    """The records of all files of a dataset that are here; see `published_files`."""
    for split, path in published_files(where, folder, version):
        for number, row in read_array(path, kind):
            yield PublishedRecord(split, path, number, row)


def examples_of_records(
    where: Sequence[Source],
    folder: Path,
    dataset: Dataset,
    kind: type[R],
    is_meant: Callable[[R], bool],
) -> dict[str, list[Example]]:
    """The examples of each split whose published record `is_meant`, for what an example does not
    keep of it.
    """
    ids = {
        (record.split, record.row.guid)
        for record in published_records(where, folder, kind, dataset.version)
        if is_meant(record.row)
    }
    return {
        split: [example for example in examples if (split, example.id) in ids]
        for split, examples in dataset.splits.items()
    }


def _line_of_record(path: Path, raws: Sequence[msgspec.Raw], number: int) -> int:
    """The line on which record `number` begins; only a refusal pays for finding it."""
    body, start, end = read_text(path).encode(), 0, 0
    for raw in raws[:number]:
        start = body.index(bytes(raw), end)
        end = start + len(bytes(raw))
    return body.count(b"\n", 0, start) + 1


def record_error(path: Path, number: int, what: str, cure: str = CURE) -> BadInput:
    """The error for record `number` of `path`."""
    return BadInput(f"record {number}: {what}", file=path, cure=cure)


def label_gold(
    path: Path, number: int, question: str, value: str | None, labels: Sequence[str]
) -> dict[str, Any]:
    """The gold of a record with one label: empty where a test file hides it.

    Raises `BadInput` for a label that is not one of `labels`, and for none in a file other than
    test.
    """
    if not value:
        if is_test(path):
            return {}
        raise record_error(
            path, number, f"there is no {question}", "only a test file may hide its labels"
        )
    if value not in labels:
        raise record_error(path, number, f"unknown {question} {value!r}", suggest(value, labels))
    return {question: value}


def is_test(path: Path) -> bool:
    """Whether the name of a file says that it is a test file, whose labels may be hidden."""
    return guess_split(path) == "test"


_HEADER = re.compile(r"## (?P<id>\S+\d)[-_](?P<source>[A-Za-z]+)\t(?P<text>.*)")
_COMMENT = "##"


@dataclass(frozen=True, slots=True)
class Block:
    """One sentence of a column file."""

    id: str
    source: str
    header: str
    """The text of the header line, as published."""
    body: str
    """The rows, each with its line feed."""
    line: int
    """Line of the first row."""


def read_blocks(path: Path) -> Iterator[Block]:
    """The sentences of one published file."""
    line, count = 1, 0
    text, start = read_text(path), 0
    while start <= len(text):  # one by one: a file of blank lines would give millions
        end = text.find("\n\n", start)
        chunk = text[start:] if end < 0 else text[start:end]
        start = len(text) + 1 if end < 0 else end + 2
        block = parse_block(chunk, line, path)
        if block is not None:
            count += 1
            yield block
        line += chunk.count("\n") + 2
    if not count:
        raise BadInput("holds no sentence", file=path, cure=CURE)


def parse_block(chunk: str, line: int, path: Path) -> Block | None:
    """Return the sentence between two blank lines, or None if there are only comments."""
    body = chunk.strip("\n")
    line += len(chunk) - len(chunk.lstrip("\n"))
    while body.startswith(_COMMENT):
        head, _, body = body.partition("\n")
        line += 1
        header = _HEADER.fullmatch(head)
        if header:
            if not body:
                raise BadInput(f"{header['id']} has no rows", file=path, line=line - 1, cure=CURE)
            return Block(header["id"], header["source"], header["text"], body + "\n", line)
    if body:
        raise BadInput(
            "rows without a line '## guid<TAB>text' above them",
            file=path,
            line=line,
            cure="look for a stray blank line",
        )
    return None
