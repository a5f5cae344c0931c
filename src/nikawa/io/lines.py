"""Text from disk, line by line, with every way a text file can be broken told apart.

Only LF ends a line (U+2028 and its kin are text), so that line numbers agree with any editor and
tool. A byte order mark at the start of a file and a CR before LF, as Windows tools write them, are
no part of the text.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.pipes import hold_pipe

_MIN_PACKED_BYTES, _MAX_PACKED_BYTES = 1 << 9, 1 << 14
"""Packed bytes taken at a time: four of them may stand for 128 KiB, so well-packed data is taken in
sips."""
_UNPACKED_BYTES = 1 << 20
"""About how much a piece should grow to."""


class ZstdReader(io.RawIOBase):
    """Decompressed bytes of a zstd file.

    Unlike the library's own reader it refuses a file cut short.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._unpacker = raw, zstandard.ZstdDecompressor()
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = memoryview(b"")
        self._piece = _MIN_PACKED_BYTES

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
                self._frame = self._unpacker.decompressobj()
            self._ready = memoryview(self._frame.decompress(packed))
            grown = len(self._ready) > _UNPACKED_BYTES
            self._piece = (
                max(_MIN_PACKED_BYTES, self._piece // 2)
                if grown
                else min(_MAX_PACKED_BYTES, self._piece * 2)
            )
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _packed(self) -> bytes:
        """The next packed bytes: what follows a finished frame, else more of the file."""
        rest = self._frame.unused_data if self._frame and self._frame.eof else b""
        packed = rest or self._raw.read(self._piece)
        if not packed and self._frame is not None and not self._frame.eof:
            raise EOFError("the end is missing")
        return packed


WHOLE_LIMIT = 256 * 1024**2
"""Bytes above which a file that must be read in one piece is refused: decoded it takes several
times that."""
LINE_LIMIT = 256 * 1024**2
"""Bytes above which a line is refused: a file without line feeds must not fill the memory."""
CRS = (b"\r\n", b"\r")
"""Ends of lines that are refused where a file must be as it was published or written."""
_BUFFER_BYTES = 1 << 17
_BLOCK_BYTES = 1 << 14
"""Bytes of lines decoded at a time: few enough to stay in the processor's cache."""

_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a plain, `.gz`, `.zst` or `.xz` file for reading.

    A missing or broken one is a `BadInput`.
    A pipe can be opened as often as a file: what came through it is held.
    """
    try:
        raw = path.open("rb", buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        raise BadInput("no such file", file=path, cure="check the path") from None
    except IsADirectoryError:
        raise BadInput("is a folder, not a file", file=path, cure="name a file inside it") from None
    except PermissionError:
        raise BadInput("may not be read", file=path, cure="check its permissions") from None
    try:
        with hold_pipe(raw, path) as whole:
            if path.suffix == ".gz":
                unpacked: Any = gzip.GzipFile(fileobj=whole)
            elif path.suffix == ".zst":
                unpacked = ZstdReader(whole)
            elif path.suffix == ".xz":
                unpacked = lzma.LZMAFile(whole)  # noqa: SIM115  (closed with the whole)
            else:
                yield whole
                return
            yield cast(BinaryIO, io.BufferedReader(unpacked, _BUFFER_BYTES))
    except _BROKEN as problem:
        what = f"cannot be decompressed ({str(problem) or 'unexpected end'})"
        raise BadInput(what, file=path, cure="fetch or compress it again") from None


def opening(path: Path, size: int = 64) -> bytes:
    """How a file begins, without a byte order mark and blanks."""
    with open_bytes(path) as stream:
        return stream.read(size).removeprefix(BOM_UTF8).lstrip()


def read_blocks_of_lines(path: Path) -> Iterator[bytes]:
    """Whole lines, as many as come at a time, ended by LF alone; only the very last may lack it."""
    is_first = True
    for block in read_blocks(path):
        plain = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        if is_first:
            plain, is_first = plain.removeprefix(BOM_UTF8), False
            if not plain:
                continue
        yield plain


def read_blocks(path: Path) -> Iterator[bytes]:
    """Bytes of a file in stretches that end with a line; a line that is too long breaks it off."""
    with open_bytes(path) as stream:
        started, size = [], 0
        while size < LINE_LIMIT and (data := stream.read1(_BLOCK_BYTES)):  # type: ignore[attr-defined]  # it is buffered
            end = data.rfind(b"\n") + 1
            started.append(data[:end] if end else data)
            size += len(data)
            if end:
                yield b"".join(started)
                started, size = [data[end:]], len(data) - end
        if size:
            yield b"".join(started)


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """(Number from 1, undecoded line with its LF) of an open file.

    `decode_line` refuses what is wrong with one.
    """
    return enumerate(iter(partial(stream.readline, LINE_LIMIT), b""), start=1)


def read_raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, undecoded line with its LF).

    CR LF is refused here, the rest by `decode_line`.
    """
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            if raw.endswith(CRS):
                decode_line(raw, path, number)
            yield number, raw


def read_plain_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, undecoded line, ended by LF alone and without a byte order mark)."""
    with open_bytes(path) as stream:
        for number, raw in numbered_lines(stream):
            line = raw.removeprefix(BOM_UTF8) if number == 1 else raw
            if line:
                yield number, line[:-2] + b"\n" if line.endswith(b"\r\n") else line


def read_lines(path: Path, *, ended: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its end). Memory stays flat.

    With `ended` a last line without LF is refused: the file may be cut short. Some published files
    end so.
    """
    for number, raw in read_plain_lines(path):
        line = decode_line(raw, path, number)
        if ended and not raw.endswith(b"\n"):
            reason = "each line ends in a line feed: the file may be cut short"
            cure = f"{reason}, fetch or write it again"
            raise BadInput("breaks off", file=path, line=number, cure=cure)
        yield number, line


def decode_line(raw: bytes, path: Path, number: int) -> str:
    """One raw line as text, or the `BadInput` that says what is wrong with it."""
    line = raw[:-1] if raw.endswith(b"\n") else raw
    if len(line) >= LINE_LIMIT:
        what = f"is longer than {LINE_LIMIT >> 20} MiB"
        cure = "write one record a line, each ended by a line feed"
        raise BadInput(what, file=path, line=number, cure=cure)
    if number == 1 and line.startswith(BOM_UTF8):
        has_cr = line.endswith(b"\r")
        what = "starts with a byte order mark" + (" and ends its lines in CR LF" if has_cr else "")
        cure = "save it as UTF-8 without BOM" + (", lines ended by LF" if has_cr else "")
        raise BadInput(what, file=path, line=1, cure=cure)
    if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("is UTF-16", file=path, line=1, cure="save it as UTF-8")
    if line.endswith(b"\r"):
        what = "ends in CR LF" if raw.endswith(b"\n") else "ends in CR"
        cure = "save it with lines ended by LF, as most editors can, or run dos2unix"
        raise BadInput(what, file=path, line=number, cure=cure)
    if b"\0" in line:
        raise BadInput("holds a NUL character", file=path, line=number, cure="remove it")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as problem:
        guess, cure = guess_encoding(line), "fetch or save it again"
        reason = "a damaged file?"
        if guess:
            reason, cure = f"perhaps {guess}", f"convert it, e.g. with iconv -f {guess} -t UTF-8"
        what = f"byte {problem.start + 1} is not UTF-8 ({reason})"
        raise BadInput(what, file=path, line=number, cure=cure) from None


_JAPANESE = re.compile("[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_MIN_SHARE_OF_KANA = 0.3
"""Share of kana below which a text that decodes as Japanese is doubted: Korean bytes make rows of
kanji."""


def guess_encoding(data: bytes) -> str | None:
    """The likeliest encoding of text that is not UTF-8, as iconv calls it; for the message only.

    Most bytes decode in several ways; the one that gives the most Japanese, or the most Hangul, is
    taken.
    """
    shares = {name: measure_language_share(data, name) for name in ("cp932", "euc-jp", "cp949")}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] > 0 else None


def measure_language_share(data: bytes, encoding: str) -> float:
    """The share of letters that belong to the encoding's language, among all that are not ASCII."""
    try:
        text = "".join(c for c in data.decode(encoding) if not c.isascii())
    except UnicodeDecodeError:
        return 0.0
    if encoding == "cp949":
        # the bytes of kanji make syllables too, but rare ones, which EUC-KR spells out
        return sum(len(c.encode("euc_kr")) == 2 for c in _HANGUL.findall(text)) / len(text)
    share = len(_JAPANESE.findall(text)) / len(text)
    return share if len(_KANA.findall(text)) >= _MIN_SHARE_OF_KANA * len(text) else share / 2


def read_whole(path: Path) -> str:
    """The text of a file that makes sense only in one piece, such as one JSON document."""
    if path.is_file() and path.stat().st_size > WHOLE_LIMIT:
        raise _too_long(path)
    size, lines = 0, []
    for number, raw in read_plain_lines(path):
        size += len(raw)
        if size > WHOLE_LIMIT:
            raise _too_long(path)
        lines.append(decode_line(raw, path, number))
    return "\n".join(lines)


def _too_long(path: Path) -> BadInput:
    what = f"is one document of more than {WHOLE_LIMIT >> 20} MiB"
    return BadInput(what, file=path, cure="convert it to JSON lines")
