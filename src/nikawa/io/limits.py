"""The limits of all readers: how much they read, decompress and keep in memory.

A file of a kilobyte can expand to gigabytes: compressed, repeated by a Parquet dictionary, or as JSON
whose every `[]` becomes an object of 56 bytes. Each limit below is far above the needs of normal files,
and a refused file takes less than 1 GB of memory. Corpora and records are streamed, so their
length has no limit; only data that must be in memory at once has one.

Each limit is a setting: an environment variable with a number, or a size such as `512MB` or `2GiB`.
The message that refuses a file names the variable.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from nikawa.errors import BadInput

UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)", re.IGNORECASE)


@dataclass(frozen=True)
class ReadLimits:
    """The limits of every reader. `read_limits` returns those of this process."""

    document: int = field(default=256 * 10**6, metadata={"variable": "NIKAWA_MAX_DOCUMENT"})
    """Uncompressed bytes of a file that must be read as a whole, or of a member of an archive."""
    settings: int = field(default=16 * 10**6, metadata={"variable": "NIKAWA_MAX_SETTINGS"})
    """Bytes of a file of settings (TOML), a guideline, or a list of names: written by hand."""
    line: int = field(default=64 * 10**6, metadata={"variable": "NIKAWA_MAX_LINE"})
    """Bytes of a line, and of a record that takes several lines."""
    decoded: int = field(default=512 * 10**6, metadata={"variable": "NIKAWA_MAX_DECODED"})
    """Bytes of memory that one decoded line or document may take, by `estimate_decoded`."""
    ratio: int = field(default=2000, metadata={"variable": "NIKAWA_MAX_RATIO"})
    """The maximum compression ratio of a long file. Text has a ratio of 3 to 50."""
    window: int = field(default=128 << 20, metadata={"variable": "NIKAWA_MAX_WINDOW"})
    """The maximum window of a decompressor in bytes, which it keeps in memory: `xz -9` needs 64 MiB."""
    page: int = field(default=64 * 10**6, metadata={"variable": "NIKAWA_MAX_PAGE"})
    """Bytes of a page of a Parquet file, unpacked; writers make pages of 1 MB."""
    cells: int = field(default=2_000_000, metadata={"variable": "NIKAWA_MAX_CELLS"})
    """Cells of a row of a table."""
    values: int = field(default=8_000_000, metadata={"variable": "NIKAWA_MAX_VALUES"})
    """Values of a column of lists in one row group of a Parquet file."""
    pipe: int = field(default=64 * 10**9, metadata={"variable": "NIKAWA_MAX_PIPE"})
    """Bytes from a pipe, which are stored on disk so that they can be read again."""
    nesting: int = field(default=200, metadata={"variable": "NIKAWA_MAX_NESTING"})
    """Levels of lists and mappings inside each other in a document or in settings."""

    def variable(self, name: str) -> str:
        """The environment variable that sets a limit."""
        return str(type(self).__dataclass_fields__[name].metadata["variable"])

    def cure(self, name: str, instead: str = "") -> str:
        """Return the cure for a file that exceeds the limit called `name`.

        >>> ReadLimits().cure("line", "write one record per line")
        'write one record per line, or raise the limit with NIKAWA_MAX_LINE=128MB if you trust the file'
        """
        twice = 2 * getattr(self, name)
        value = str(twice) if name in ("ratio", "cells", "values", "nesting") else write_size(twice)
        raised = f"raise the limit with {self.variable(name)}={value} if you trust the file"
        return f"{instead}, or {raised}" if instead else raised


@cache
def read_limits() -> ReadLimits:
    """Return the limits of this process: the defaults, or the values of environment variables.

    The environment is read once, before the first file.
    """
    given = {}
    for part in fields(ReadLimits):
        variable = part.metadata["variable"]
        if value := os.environ.get(variable):
            given[part.name] = parse_size(value, variable)
    return ReadLimits(**given)


def parse_size(text: str, name: str) -> int:
    """A number of bytes (or of things) as people write it; `name` is the setting it is for.

    >>> parse_size("512MB", "NIKAWA_MAX_LINE"), parse_size("1.5 GiB", "NIKAWA_MAX_LINE")
    (512000000, 1610612736)
    """
    match = _SIZE.fullmatch(text.strip())
    factor = UNITS.get(match[2].lower()) if match else None
    size = int(float(match[1]) * factor) if match and factor else 0
    if size < 1:
        cure = "write a number, or a size such as 512MB or 2GiB"
        raise BadInput(f"{name}={text!r} is not a size", cure=cure)
    return size


def write_size(size: int) -> str:
    """A size as `parse_size` reads it and people like it.

    >>> write_size(64_000_000), write_size(128 << 20), write_size(1500)
    ('64MB', '128MiB', '1500')
    """
    for unit in ("tb", "gb", "mb", "tib", "gib", "mib", "kb", "kib"):
        if size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit.upper().replace('I', 'i')}"
    return str(size)


_SURROGATE = re.compile(rb"\\u[dD]|[\xf0-\xf4]")
CHECKED_BYTES = 1 << 20
"""Bytes of JSON above which the decoded size is estimated; less is never too much."""


def estimate_decoded(data: bytes) -> int:
    """Estimate an upper bound of the memory that a JSON text takes as Python values.

    The estimate counts the objects that brackets, commas and colons can create, with their size in CPython,
    and the texts: one character beyond the Basic Multilingual Plane makes every
    character of its text take 4 bytes, and any other non-ASCII character 2 bytes.
    """
    is_narrow = data.isascii() and b"\\u" not in data
    width = 4 if _SURROGATE.search(data) else 1 if is_narrow else 2
    return (
        len(data) * width
        + data.count(b",") * 88
        + data.count(b":") * 100
        + data.count(b"[") * 96
        + data.count(b"{") * 232
    )


def refuse_large_json(data: bytes, path: Path, line: int | None = None) -> None:
    """Refuse a JSON text that would take too much memory when decoded."""
    if len(data) < CHECKED_BYTES:
        return
    limits = read_limits()
    estimate = estimate_decoded(data)
    if estimate > limits.decoded:
        size = f"{estimate // 10**6:,} MB"
        what = f"is {len(data) // 10**6:,} MB of JSON that may take {size} of memory"
        cure = limits.cure("decoded", "write smaller records, one per line")
        raise BadInput(what, file=path, line=line, cure=cure)


def refuse_wide_text(data: bytes, path: Path) -> None:
    """Refuse a text that would take too much memory as characters."""
    if len(data) < CHECKED_BYTES:
        return
    limits = read_limits()
    size = len(data) * (4 if _SURROGATE.search(data) else 1 if data.isascii() else 2)
    if size > limits.decoded:
        what = f"is a text that may take {size // 10**6:,} MB of memory"
        raise BadInput(what, file=path, cure=limits.cure("decoded", "divide the file"))


_PAIR = re.compile(rb"\[\]|\{\}")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def is_nested_deeper(data: bytes, levels: int) -> bool:
    """Whether a JSON text nests more than `levels` levels deep.

    >>> is_nested_deeper(b'[{"a": "[[["}]', 2), is_nested_deeper(b'[{"a": [1]}]', 2)
    (False, True)
    """
    if data.count(b"[") + data.count(b"{") <= levels:
        return False
    brackets = _STRINGS.sub(b"", data).translate(None, _NO_BRACKETS)
    # each round removes the innermost pairs, so that the rest has one level less
    for _ in range(levels):
        left = _PAIR.sub(b"", brackets)
        if len(left) == len(brackets):  # flat, or brackets that do not match: no matter of depth
            return len(left) > 2 * levels
        brackets = left
    return bool(brackets)
