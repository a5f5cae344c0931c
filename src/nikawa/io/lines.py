"""Read text files line by line, with a separate error for every way a text file can be broken.

Only LF ends a line (U+2028 and its kin are text), so that line numbers agree with any editor and
tool. A byte order mark at the start of a file and a CR before LF, as Windows tools write them, are
no part of the text.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.limits import read_limits, refuse_wide_text, write_size
from nikawa.io.pipes import hold_pipe
from nikawa.io.remote import UNFINISHED, RemotePath, open_remote, to_path

_MIN_PACKED_BYTES, _MAX_PACKED_BYTES = 1 << 9, 1 << 13
"""Compressed bytes to read at a time: four of them may expand to 128 KiB, so one read gives at most
256 MiB."""
_UNPACKED_BYTES = 1 << 20
"""The approximate target size of a chunk."""
_MIN_BYTES_OF_BOMB = 1 << 28
"""Unpacked bytes below which no file is refused for packing too well."""


class ZstdReader(io.RawIOBase):
    """Decompressed bytes of a zstd file.

    Unlike the library's own reader it refuses a file cut short.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=read_limits().window)
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
        """Return the next compressed bytes: the rest after a finished frame, else more of the file."""
        rest = self._frame.unused_data if self._frame and self._frame.eof else b""
        packed = rest or self._raw.read(self._piece)
        if not packed and self._frame is not None and not self._frame.eof:
            raise EOFError("the end is missing")
        return packed


class XzReader(io.RawIOBase):
    """Decompressed bytes of an xz file.

    Unlike the library's own reader it refuses a file that wants a window of gigabytes.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._unpacker: lzma.LZMADecompressor | None = None
        self._rest = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with as much as comes of the next bytes."""
        while True:
            if self._unpacker is None or self._unpacker.eof:
                self._rest = self._rest or self._raw.read(_BUFFER_BYTES)
                if self._unpacker is not None:  # streams may follow each other, with zeros between
                    self._rest = self._rest.lstrip(b"\0")
                    if not self._rest and (more := self._raw.read(_BUFFER_BYTES)):
                        self._rest = more
                        continue
                if not self._rest:
                    return 0
                # the decoder needs little more than its window
                memory = read_limits().window + (1 << 20)
                self._unpacker = lzma.LZMADecompressor(memlimit=memory)
            packed = b""
            if self._unpacker.needs_input:
                packed, self._rest = self._rest or self._raw.read(_BUFFER_BYTES), b""
                if not packed:
                    raise EOFError("the end is missing")
            data = self._unpacker.decompress(packed, len(buffer))
            if self._unpacker.eof:
                self._rest = self._unpacker.unused_data
            if data:
                buffer[: len(data)] = data
                return len(data)


class _Unpacked(io.RawIOBase):
    """Unpacked bytes of a file, as long as they do not grow out of all proportion to its packed
    bytes.
    """

    def __init__(self, source: Any, packed: BinaryIO, path: Path) -> None:
        self._source, self._packed, self._path = source, packed, path
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._source.readinto(buffer)
        self._size += count
        if self._size > _MIN_BYTES_OF_BOMB:
            limits = read_limits()
            if self._size > limits.ratio * self._packed.tell():
                what = f"unpacks to more than {limits.ratio:,} times its size"
                raise BadInput(what, file=self._path, cure=limits.cure("ratio"))
        return count


CRS = (b"\r\n", b"\r")
"""Line endings that are refused if a file must be exactly as published or written."""
_BUFFER_BYTES = 1 << 17
_MIN_LONG_LINE = 1 << 16
"""Bytes below which no line is too long under any limit of sense."""
_PART_BYTES = 1 << 20
"""Bytes of a document read at a time."""
_BLOCK_BYTES = 1 << 14
"""Bytes of lines decoded at a time: few enough to stay in the processor's cache."""

_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError)
_KINDS = ((stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"), (stat.S_ISSOCK, "socket"))


def check_openable(path: Path) -> None:
    """Refuse a path that is not a regular file, and a device without an end.

    A pipe is read if it is the shell's `<(…)` or standard input. One that
    has a name in a folder is refused, because its other end may never be opened; so are devices.
    The null device is an empty file, and a terminal is read until its end is typed.
    A file at an address is checked when it is opened.
    """
    path = to_path(path)
    if isinstance(path, RemotePath):
        return
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return
        if stat.S_ISDIR(mode):
            raise BadInput("is a folder, not a file", file=path, cure="pass a file inside it")
        target = path.resolve()
    except FileNotFoundError:
        raise BadInput("no such file", file=path, cure="check the path") from None
    except PermissionError:
        raise BadInput(
            "cannot be read: permission denied", file=path, cure="check its permissions"
        ) from None
    except (OSError, ValueError, RuntimeError) as problem:  # links in a circle, an impossible name
        reason = getattr(problem, "strerror", None) or str(problem)
        raise BadInput(f"cannot be opened ({reason})", file=path, cure="check the path") from None
    cure = "write the data to a file and pass that file"
    if stat.S_ISFIFO(mode):
        # the shell's pipes and standard input have no name in any folder
        if not target.exists() or path.parts[:2] in (("/", "dev"), ("/", "proc")):
            return
        raise BadInput("is a named pipe, not a regular file", file=path, cure=cure)
    if stat.S_ISCHR(mode) and (path.samefile(os.devnull) or _is_terminal(path)):
        return
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "special file")
    raise BadInput(f"is a {kind}, not a regular file", file=path, cure=cure)


def _is_terminal(path: Path) -> bool:
    """Whether a device is the terminal of this program: any other could wait for ever."""
    about = path.stat()
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            is_same = os.path.samestat(about, os.fstat(descriptor))
            if is_same and os.isatty(descriptor):
                return True
    return False


def open_packed(path: Path) -> BufferedReader:
    """Open a file for reading its raw bytes; `check_openable` describes what is refused."""
    path = to_path(path)
    if not isinstance(path, RemotePath):
        check_openable(path)
        if (path.parent / UNFINISHED).exists():
            raise describe_unfinished(path.parent)
        return open_unfinished(path)
    return open_remote(path)


def open_unfinished(path: Path) -> BufferedReader:
    """The same for a file of a folder that its own writer has not finished, which others must not read."""
    if isinstance(path, RemotePath):
        return open_remote(path, is_own=True)
    try:
        return cast(BufferedReader, path.open("rb", buffering=_BUFFER_BYTES))
    except FileNotFoundError:
        raise BadInput("no such file", file=path, cure="check the path") from None
    except PermissionError:
        raise BadInput(
            "cannot be read: permission denied", file=path, cure="check its permissions"
        ) from None


def describe_unfinished(folder: Path) -> BadInput:
    """The error for a folder whose writer has not ended."""
    cure = "run the command that writes it again: it keeps the shards that are finished"
    return BadInput("is incomplete: not all its shards are written", file=folder, cure=cure)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a plain, `.gz`, `.zst` or `.xz` file for reading.

    Raises `BadInput` for a missing or broken file, and for a path that is not a file (see `check_openable`).
    A pipe can be opened as often as a file, because its data is stored.
    """
    path = to_path(path)
    raw = open_packed(path)
    try:
        with raw if isinstance(path, RemotePath) else hold_pipe(raw, path) as whole:
            if path.suffix == ".gz":
                unpacked: Any = gzip.GzipFile(fileobj=whole)
            elif path.suffix == ".zst":
                unpacked = ZstdReader(whole)
            elif path.suffix == ".xz":
                unpacked = XzReader(whole)
            else:
                yield whole
                return
            limited = _Unpacked(unpacked, whole, path)
            yield cast(BinaryIO, io.BufferedReader(limited, _BUFFER_BYTES))
    except _BROKEN as problem:
        what = f"cannot be decompressed ({str(problem) or 'unexpected end'})"
        raise BadInput(what, file=path, cure="fetch or compress it again") from None


def read_bytes(path: Path, name: str = "document") -> bytes:
    """All bytes of a file, unpacked; more than the limit called `name` is refused."""
    limits = read_limits()
    limit: int = getattr(limits, name)
    parts, size = [], 0
    with open_bytes(path) as stream:
        while part := stream.read(_PART_BYTES):
            parts.append(part)
            size += len(part)
            if size > limit:
                what = f"is one document of more than {write_size(limit)}"
                cure = limits.cure(name, "convert it to JSON lines" if name == "document" else "")
                raise BadInput(what, file=path, cure=cure)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def opening(path: Path, size: int = 64) -> bytes:
    """Return the beginning of a file, without a byte order mark and leading spaces."""
    with open_bytes(path) as stream:
        return stream.read(size + len(BOM_UTF8)).removeprefix(BOM_UTF8)[:size].lstrip()


def read_blocks_of_lines(path: Path) -> Iterator[bytes]:
    """Yield blocks of whole lines with LF line endings; only the last line may lack its LF."""
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
    limit = read_limits().line
    with open_bytes(path) as stream:
        started, size = [], 0
        while size < limit and (data := stream.read1(_BLOCK_BYTES)):  # type: ignore[attr-defined]  # it is buffered
            end = data.rfind(b"\n") + 1
            started.append(data[:end] if end else data)
            size += len(data)
            if end:
                yield b"".join(started)
                started, size = [data[end:]], len(data) - end
        if size:
            yield b"".join(started)


def count_line_feeds(block: bytes) -> int:
    """How many lines end in a block; several times as fast where numpy is loaded."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return block.count(b"\n")
    return int(numpy.count_nonzero(numpy.frombuffer(block, dtype=numpy.uint8) == ord("\n")))


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, undecoded line with its LF) of an open file.

    `decode_line` raises the error for a faulty line.
    """
    return enumerate(iter(partial(stream.readline, read_limits().line), b""), start=1)


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
            reason = "the last line has no line feed, so the file may be truncated"
            cure = f"{reason}; fetch or write it again"
            raise BadInput("ends in the middle of a line", file=path, line=number, cure=cure)
        yield number, line


def decode_line(raw: bytes, path: Path, number: int, *, limited: bool = True) -> str:
    """Decode one raw line, or raise `BadInput` with the fault.

    Without `limited`, its length is not checked.
    """
    line = raw[:-1] if raw.endswith(b"\n") else raw
    if limited and len(line) >= _MIN_LONG_LINE:
        refuse_long_line(len(line), path, number)
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
    """Guess the encoding of text that is not UTF-8, by its name in iconv; it is used only in messages.

    Most bytes decode in several ways; the guess is the encoding that gives the most Japanese or the most Hangul.
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


class RowLines:
    """Yield lines for a CSV reader, whose rows may span several lines; an endless row is an error.

    The consumer of the rows sets `size` to 0 after each row.
    """

    def __init__(self, lines: Iterable[str], path: Path, separator: str) -> None:
        self._lines, self._path, self._separator = enumerate(lines, start=1), path, separator
        self.size = 0
        """Characters of the row so far."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = next(self._lines)
        self.size += len(line)
        if self.size >= _MIN_LONG_LINE:
            refuse_long_line(self.size, self._path, number)
            refuse_many_cells(line, self._separator, self._path, number)
        return line


def refuse_many_cells(line: str, separator: str, path: Path, number: int) -> None:
    """Refuse a line of more cells than a row may have."""
    limits = read_limits()
    if len(line) > limits.cells and line.count(separator) >= limits.cells:
        what = f"has more than {limits.cells:,} cells"
        raise BadInput(what, file=path, line=number, cure=limits.cure("cells"))


def refuse_long_line(size: int, path: Path, number: int) -> None:
    """Refuse a line, or a record of several lines, that has too many bytes to be held."""
    limits = read_limits()
    if size >= limits.line:
        what = f"is longer than {write_size(limits.line)}"
        cure = limits.cure("line", "write one record per line")
        raise BadInput(what, file=path, line=number, cure=cure)


def read_text(path: Path, name: str = "document") -> bytes:
    """Read the text of a file that must be read as a whole, as UTF-8 with LF line endings.

    It stays in bytes because one rare character makes every character of a Python text take four. `name` is
    the limit that applies.
    """
    data = read_bytes(path, name).removeprefix(BOM_UTF8)
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    try:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(data), _PART_BYTES):
            decoder.decode(data[start : start + _PART_BYTES])
        decoder.decode(b"", final=True)
        is_sound = not (b"\0" in data or b"\r\n" in data or data.endswith(b"\r"))
        is_sound = is_sound and not data.startswith(BOM_UTF8)
    except UnicodeDecodeError:
        is_sound = False
    if not is_sound:
        for number, line in enumerate(BytesIO(data), start=1):
            # a line of a document may be as long as the document
            decode_line(line, path, number, limited=False)
    return data.removesuffix(b"\n")


def read_whole(path: Path) -> str:
    """Read the text of a file that must be read as a whole, such as one JSON document."""
    data = read_text(path)
    refuse_wide_text(data, path)
    return data.decode()
