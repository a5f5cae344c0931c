"""Text from disk, line by line, with every way a text file can be broken told apart.

Only LF ends a line (U+2028 and its kin are text), so that line numbers agree with any editor and tool.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from nikawa.errors import BadInput

WHOLE_LIMIT = 2 * 1024**3
"""Bytes above which a file that must be read in one piece is refused."""

_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a plain, `.gz` or `.zst` file for reading; a missing or broken one is a `BadInput`."""
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise BadInput("no such file", file=path, cure="check the path") from None
    except IsADirectoryError:
        raise BadInput("is a folder, not a file", file=path, cure="name a file inside it") from None
    except PermissionError:
        raise BadInput("may not be read", file=path, cure="check its permissions") from None
    try:
        with raw:
            yield _decompressed(raw, path.suffix)
    except _BROKEN as problem:
        reason = str(problem) or "unexpected end"
        raise BadInput(
            f"cannot be decompressed ({reason})", file=path, cure="fetch or compress it again"
        ) from None


def _decompressed(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if suffix == ".zst":
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, reader), 1 << 20))
    return raw


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its LF). Memory stays flat."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            yield number, decode_line(raw, path, number)


def decode_line(raw: bytes, path: Path, number: int) -> str:
    """One raw line as text, or the `BadInput` that says what is wrong with it."""
    line = raw[:-1] if raw.endswith(b"\n") else raw
    if number == 1 and line.startswith(b"\xef\xbb\xbf"):
        raise BadInput(
            "starts with a byte order mark", file=path, line=1, cure="save it as UTF-8 without BOM"
        )
    if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("is UTF-16", file=path, line=1, cure="save it as UTF-8")
    if line.endswith(b"\r"):
        raise BadInput("ends in CR LF", file=path, line=number, cure="convert it, e.g. with dos2unix")
    if b"\0" in line:
        raise BadInput("holds a NUL character", file=path, line=number, cure="remove it")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"byte {problem.start + 1} is not UTF-8 ({guess_encoding(line)})",
            file=path,
            line=number,
            cure="convert it, e.g. with iconv -t UTF-8",
        ) from None


def guess_encoding(data: bytes) -> str:
    """The likeliest encoding of text that is not UTF-8, for the message only."""
    for encoding in ("cp932", "euc_jp", "cp949"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return f"perhaps {encoding}"
    return "a damaged file?"


def read_whole(path: Path) -> str:
    """The text of a file that makes sense only in one piece, such as one JSON document."""
    if path.is_file() and path.stat().st_size > WHOLE_LIMIT:
        raise BadInput(
            f"is one document of {path.stat().st_size / 1024**3:.1f} GiB",
            file=path,
            cure="convert it to JSON lines",
        )
    return "\n".join(line for _, line in read_lines(path))
