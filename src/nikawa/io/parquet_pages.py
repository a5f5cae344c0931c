"""Check the pages of a Parquet file before anything is decompressed.

The metadata of a Parquet file may be wrong; a reader allocates the sizes in the header of each
page. A page of a kilobyte may expand to 2 GB, or repeat one text of a dictionary a million
times. Headers are Thrift structures in the compact protocol
(https://github.com/apache/parquet-format, `parquet.thrift`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from nikawa.errors import BadInput
from nikawa.io.limits import ReadLimits, read_limits, write_size

_HEADER_BYTES = 1 << 12
"""Bytes read for a header at first; statistics of long texts make it longer."""
_MAX_HEADER_BYTES = 1 << 24
_DICTIONARY_PAGE = 2
_DATA_HEADERS = (5, 8)
"""Fields of a header that describe the values of a page: data pages of version 1 and version 2."""
_DICTIONARY_HEADER = 7
_PAGE = {
    1: True,
    2: True,
    3: True,
    5: {1: True, 2: True},
    7: {1: True, 2: True},
    8: {1: True, 4: True},
}
"""Fields to keep of a page header: kind, sizes; for the three forms of a page, values and encoding."""
_COLUMN = {3: [True], 5: True, 9: True, 11: True}
"""Fields to keep of a column: path, number of values, offsets of its data and its dictionary."""
_FOOTER = {2: [{3: True, 4: True, 5: True}], 4: [{1: [{3: _COLUMN}]}]}
"""Fields to keep of a file: repetition, name and number of parts of each element of its schema; row groups."""
_REPEATED = 2
MAX_DEPTH = 64
MAX_FIELDS = 2_000_000
"""Fields kept of the metadata of a file."""
_DELTA_BYTE_ARRAY = 7
"""The encoding that repeats the beginning of the text before: a page may grow to its square."""
MAX_HELD_BYTES = 192 * 10**6
"""Bytes that a batch of rows may take."""
MAX_SPELLED_BYTES = 4 * 10**6
"""Bytes of a dictionary whose texts are spelled out for each row; writers make them of 1 MB. Of larger
ones pyarrow keeps every text that it met in a row group, which is more than a few rows take."""


class _CutShort(Exception):
    """A header goes on after the bytes that were read."""


class ThriftReader:
    """Reads structures of the compact protocol, as mappings of field numbers to values.

    Only what is `wanted` is kept: a mapping of field numbers to True, to such a mapping for a
    structure, or to a list of one for a list.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self._kept = 0

    def byte(self) -> int:
        """The next byte."""
        if self.at >= len(self.data):
            raise _CutShort
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """A number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number in it does not end")

    def struct(self, wanted: Mapping[int, Any], depth: int = 0) -> dict[int, Any]:
        """The wanted fields of a structure."""
        if depth > MAX_DEPTH:
            raise ValueError("its metadata nests too deeply")
        fields: dict[int, Any] = {}
        name = 0
        while head := self.byte():
            name = name + (head >> 4) if head >> 4 else self._zigzag()
            want = wanted.get(name)
            value = self._value(head & 0x0F, want, depth)
            if want is not None:
                self._kept += 1
                if self._kept > MAX_FIELDS:
                    raise ValueError("its metadata does not end")
                fields[name] = value
        return fields

    def _zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int, want: Any, depth: int, *, in_list: bool = False) -> Any:
        if kind in (1, 2):  # true, false
            return self.byte() == 1 if in_list else kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):  # integers of 16, 32 and 64 bits
            return self._zigzag()
        if kind == 7:  # a number of 8 bytes
            return self._take(8)
        if kind == 8:
            return self._take(self.varint())
        if kind in (9, 10):
            return self._list(want, depth + 1)
        if kind == 12:
            return self.struct(want if isinstance(want, Mapping) else {}, depth + 1)
        raise ValueError("its metadata contains an unknown type")

    def _list(self, want: Any, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise ValueError("its metadata nests too deeply")
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.varint()
        if count > len(self.data) - self.at:  # an item takes a byte at least
            raise _CutShort
        inner, items = want[0] if isinstance(want, list) else None, []
        for _ in range(count):
            item = self._value(head & 0x0F, inner, depth, in_list=True)
            if inner is not None:
                self._kept += 1
                if self._kept > MAX_FIELDS:
                    raise ValueError("its metadata does not end")
                items.append(item)
        return items

    def _take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise _CutShort
        return self.data[self.at - count : self.at]


@dataclass(frozen=True)
class Chunk:
    """A column of a row group."""

    name: str
    """Its path, parts joined by dots."""
    values: int
    offset: int
    """The offset of its first page."""
    is_nested: bool
    """Whether a row may have many values of it."""


def read_chunks(stream: BinaryIO, path: Path) -> Iterator[list[Chunk]]:
    """The columns of each row group, by the metadata at the end of a file.

    It is parsed here because pyarrow ends the process over some that are damaged.
    """
    limits = read_limits()
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 8))
    (length,) = struct.unpack("<I", stream.read(4))
    if length > limits.settings:
        what = f"has metadata of more than {write_size(limits.settings)}"
        raise BadInput(what, file=path, cure=limits.cure("settings", "write larger row groups"))
    stream.seek(max(0, size - 8 - length))
    try:
        footer = ThriftReader(stream.read(length)).struct(_FOOTER)
        nested = dict(find_nested(footer[2]))
        for group in footer[4]:
            columns = []
            for column in group[1]:
                about = column[3]
                name = b".".join(about[3]).decode()
                offsets = [offset for offset in (about[9], about.get(11)) if offset]
                columns.append(Chunk(name, about[5], min(offsets), nested[name]))
            yield columns
    except (_CutShort, KeyError, UnicodeDecodeError, IndexError, AttributeError):
        raise ValueError("its metadata is damaged") from None


def find_nested(schema: Sequence[Mapping[int, Any]]) -> Iterator[tuple[str, bool]]:
    """(Path, whether any part of it repeats) of each column, by the schema as it is stored: parts
    before what they hold.
    """
    ahead: list[tuple[tuple[str, ...], bool]] = [((), False)]
    for place, element in enumerate(schema):
        above, repeats = ahead.pop()
        repeats = repeats or (place > 0 and element.get(3) == _REPEATED)
        name = (*above, element[4].decode()) if place else ()
        count = element.get(5, 0)
        if len(name) > MAX_DEPTH or len(ahead) + count > MAX_FIELDS:
            raise ValueError("its schema nests too deeply")
        if count:
            ahead.extend([(name, repeats)] * count)
        elif name:
            yield ".".join(name), repeats
        if not ahead:
            break


@dataclass(frozen=True)
class Page:
    """The content of a page header."""

    is_dictionary: bool
    values: int
    """Values, null ones too."""
    size: int
    """Bytes, unpacked."""
    packed: int
    repeats: bool
    """Whether a value may repeat part of the one before, so that each may be as long as the page."""


def read_page_header(stream: BinaryIO, offset: int) -> tuple[Page, int]:
    """Return the page whose header is at an offset, and the end of its bytes."""
    count = _HEADER_BYTES
    while True:
        stream.seek(offset)
        data = stream.read(count)
        reader = ThriftReader(data)
        try:
            fields = reader.struct(_PAGE)
            break
        except _CutShort:
            if len(data) < count or count >= _MAX_HEADER_BYTES:
                raise ValueError("a page header is cut short") from None
            count *= 16
    size, packed = fields.get(2), fields.get(3)
    about = next((fields[name] for name in _DATA_HEADERS if name in fields), None)
    is_dictionary = fields.get(1) == _DICTIONARY_PAGE
    if is_dictionary:
        about = fields.get(_DICTIONARY_HEADER)
    if not isinstance(size, int) or not isinstance(packed, int) or size < 0 or packed < 0:
        raise ValueError("a page header has no sizes")
    values, encoding = 0, None
    if isinstance(about, dict):
        values = about.get(1, 0)
        encoding = about.get(4 if 8 in fields else 2)
    repeats = encoding == _DELTA_BYTE_ARRAY
    return Page(is_dictionary, values, size, packed, repeats), offset + reader.at + packed


def read_pages(stream: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """The pages of a column of a row group."""
    offset, left = chunk.offset, chunk.values
    while left > 0:
        page, offset = read_page_header(stream, offset)
        if not page.is_dictionary:
            left -= page.values
        if not page.packed and page.values <= 0:
            raise ValueError("a page is empty")
        yield page


@dataclass(frozen=True)
class ReadPlan:
    """How to read a file with little memory."""

    rows: int
    """Rows at a time."""
    dictionaries: tuple[str, ...]
    """Columns of texts that are kept as numbers into a dictionary: spelled out for each row they
    might take too much."""


def is_read_at_once(stream: BinaryIO, path: Path) -> bool:
    """Whether a row group takes little memory as numbers into dictionaries: no lists, and no page that may grow.

    Raises `ValueError` or `OSError` if the file is damaged.
    """
    limits = read_limits()
    for chunks in read_chunks(stream, path):
        held = 0
        for chunk in chunks:
            for page in read_pages(stream, chunk):
                if chunk.is_nested or page.repeats or page.size > limits.page:
                    return False
                held += page.size
        if held > MAX_HELD_BYTES:
            return False
    return True


def plan_reading(stream: BinaryIO, path: Path, most: int) -> ReadPlan:
    """Return how to read a file: `most` rows at a time if that is small enough.

    Raises `BadInput` for a page that expands beyond the limit, for a column of lists that is
    too long for one row group, and for rows that are too long; ValueError or OSError if the file
    is damaged.
    """
    limits = read_limits()
    rows, dictionaries = most, set()
    for chunks in read_chunks(stream, path):
        flat = []
        for chunk in chunks:
            pages = []
            for page in read_pages(stream, chunk):
                if page.size > limits.page:
                    what = f"holds a page that unpacks to more than {write_size(limits.page)}"
                    cure = limits.cure("page", "write smaller pages")
                    raise BadInput(what, file=path, cure=cure)
                pages.append(page)
            count = sum(page.values for page in pages if not page.is_dictionary)
            if chunk.is_nested:
                refuse_long_lists(chunk.name, count, pages, limits, path)
            else:
                flat.append(pages)
            largest = max((page.size for page in pages if page.is_dictionary), default=0)
            is_large = largest * count > MAX_HELD_BYTES
            if is_large and (chunk.is_nested or largest > MAX_SPELLED_BYTES):
                dictionaries.add(chunk.name)
        rows = choose_rows(flat, rows, path)
    return ReadPlan(rows, tuple(sorted(dictionaries)))


def refuse_long_lists(
    name: str, count: int, pages: Sequence[Page], limits: ReadLimits, path: Path
) -> None:
    """Refuse a column of lists that could have all values of its row group in one row."""
    size = sum(page.size for page in pages)
    if count > limits.values:
        what = f"column {name!r} has {count:,} values in one row group"
        raise BadInput(what, file=path, cure=limits.cure("values", "write smaller row groups"))
    longest = max((page.size for page in pages if page.repeats), default=0)
    if size > limits.document or longest * count > limits.document:
        what = f"column {name!r} may unpack to more than {write_size(limits.document)} in one row group"
        raise BadInput(what, file=path, cure=limits.cure("document", "write smaller row groups"))


def choose_rows(columns: Sequence[Sequence[Page]], most: int, path: Path) -> int:
    """Return the largest number of rows for which no batch takes more than `MAX_HELD_BYTES` in all columns."""
    rows = most
    while sum(measure_batch(pages, rows) for pages in columns) > MAX_HELD_BYTES:
        if rows == 1:
            what = f"holds a row that may unpack to more than {write_size(MAX_HELD_BYTES)}"
            raise BadInput(what, file=path, cure="write smaller pages")
        rows = max(1, rows // 4)
    return rows


def measure_batch(pages: Sequence[Page], rows: int) -> int:
    """Return the maximum bytes of any `rows` consecutive rows of a column."""
    dictionary = max((page.size for page in pages if page.is_dictionary), default=0)
    data = [page for page in pages if not page.is_dictionary]
    most = first = taken = held = 0
    for page in data:
        held += page.size
        taken += page.values
        while data[first] is not page and taken - data[first].values - page.values + 1 >= rows:
            taken -= data[first].values
            held -= data[first].size
            first += 1
        most = max(most, held)
    if any(page.repeats for page in data):
        most = max(most, min(rows, max(page.values for page in data)) * max(p.size for p in data))
    # a row may hold the longest text of a dictionary, which may be nearly all of it
    if dictionary <= MAX_SPELLED_BYTES:
        dictionary *= min(rows, sum(page.values for page in data))
    return dictionary + most
