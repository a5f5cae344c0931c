"""Text from disk, line by line, with every way a text file can be broken told apart.

Only LF ends a line (U+2028 and its kin are text), so that line numbers agree with any editor and tool.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from nikawa.errors import BadInput

WHOLE_LIMIT = 2 * 1024**3
"""Bytes above which a file that must be read in one piece is refused."""

_PIECE = 1 << 14
"""Packed bytes taken at a time: well-packed text may grow a thousandfold."""

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
        return cast(BinaryIO, io.BufferedReader(ZstdReader(raw), 1 << 20))
    return raw


class ZstdReader(io.RawIOBase):
    """Decompressed bytes of a zstd file. Unlike the library's own reader it refuses a file cut short."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with as much as is ready."""
        while not self._ready:
            packed = self._packed()
            if not packed:
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = self._frame.decompress(packed)
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _packed(self) -> bytes:
        """The next packed bytes: what follows a finished frame, else more of the file."""
        rest = self._frame.unused_data if self._frame and self._frame.eof else b""
        packed = rest or self._raw.read(_PIECE)
        if not packed and self._frame is not None and not self._frame.eof:
            raise EOFError("the end is missing")
        return packed


def read_raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, undecoded line with its LF); CR LF is refused here, the rest by `decode_line`."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if raw.endswith((b"\r\n", b"\r")):
                decode_line(raw, path, number)
            yield number, raw


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
        guess = guess_encoding(line)
        raise BadInput(
            f"byte {problem.start + 1} is not UTF-8 ({f'perhaps {guess}' if guess else 'a damaged file?'})",
            file=path,
            line=number,
            cure=f"convert it, e.g. with iconv -f {guess} -t UTF-8" if guess else "fetch or save it again",
        ) from None


_JAPANESE = re.compile("[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_FEW_KANA = 0.3
"""Share of kana below which a text that decodes as Japanese is doubted: Korean bytes make rows of kanji."""


def guess_encoding(data: bytes) -> str | None:
    """The likeliest encoding of text that is not UTF-8, as iconv calls it; for the message only.

    Most bytes decode in several ways; the one that gives the most Japanese, or the most Hangul, is taken.
    """
    found = {name: _likeness(data, name) for name in ("cp932", "euc-jp", "cp949")}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > 0 else None


def _likeness(data: bytes, encoding: str) -> float:
    """The share of letters that belong to the encoding's language, among all that are not ASCII."""
    try:
        letters = [c for c in data.decode(encoding) if not c.isascii()]
    except UnicodeDecodeError:
        return 0.0
    text = "".join(letters)
    if encoding == "cp949":  # the bytes of kanji make syllables too, but rare ones, which EUC-KR spells out
        return sum(len(c.encode("euc_kr")) == 2 for c in _HANGUL.findall(text)) / len(text)
    share = len(_JAPANESE.findall(text)) / len(text)
    return share if len(_KANA.findall(text)) >= _FEW_KANA * len(text) else share / 2


def read_whole(path: Path) -> str:
    """The text of a file that makes sense only in one piece, such as one JSON document."""
    if path.is_file() and path.stat().st_size > WHOLE_LIMIT:
        raise BadInput(
            f"is one document of {path.stat().st_size / 1024**3:.1f} GiB",
            file=path,
            cure="convert it to JSON lines",
        )
    return "\n".join(line for _, line in read_lines(path))
