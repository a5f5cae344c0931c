"""Text to one long stream of pieces: lines run on, documents are parted by [SEP], windows of any length are cut later.

With each piece goes a bit, whether it begins a word, for whole-word masking. Chunks of lines are encoded by several
processes and written in order: the same bytes whatever their number. A pack is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import tee
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from nikawa.errors import BadInput
from nikawa.execute.ordered import map_ordered
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.pretrain.encode import Encoded, Lines, Reader, Words, chunks

META, PIECES, BEGINS = "pack.json", "pieces.bin", "words.bin"
SQUEEZED = ".xz"
CHUNKS_AHEAD = 4
"""Chunks each process may be ahead of the writer."""

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class PackOptions:
    """How to pack; the pack is the same whatever the workers."""

    words: Words | None = None
    """Where the words of lines start; without it, at blanks and punctuation."""
    workers: int = 1
    progress: Progress = lambda _what, _done, _total: None
    overwrite: bool = False


class PackMeta(msgspec.Struct, frozen=True):
    """What is known of a pack."""

    pieces: int
    words: int
    lines: int
    documents: int
    characters: int
    vocabulary: int
    special: dict[str, int]
    """Ids of pad, cls, sep and mask."""
    first_piece: int
    """The first id of an ordinary piece: those before are special, placeholders or bytes."""
    tokenizer: str
    """Fingerprint of the tokenizer."""
    fingerprint: str
    """Fingerprint of the pieces and word beginnings."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """How a piece is stored."""
        return np.dtype("<u2" if self.vocabulary <= 1 << 16 else "<u4")


@dataclass(frozen=True)
class Packed:
    """A pack on disk."""

    folder: Path
    meta: PackMeta

    @property
    def pieces(self) -> int:
        """How many pieces it holds."""
        return self.meta.pieces

    @property
    def documents(self) -> int:
        """How many documents."""
        return self.meta.documents

    @property
    def lines(self) -> int:
        """How many lines."""
        return self.meta.lines

    def ids(self) -> np.ndarray:
        """The pieces; read from disk as they are used, unless the pack is squeezed."""
        return self._read(PIECES, self.meta.dtype, self.meta.pieces)

    def begins(self) -> np.ndarray:
        """Which pieces begin a word."""
        bits = self._read(BEGINS, np.dtype("u1"), -(-self.meta.pieces // 8))
        return np.unpackbits(bits, count=self.meta.pieces, bitorder="little").view(bool)

    def _read(self, name: str, kind: np.dtype[Any], count: int) -> np.ndarray:
        path = self.folder / name
        found: np.ndarray
        if path.is_file():
            found = np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)
        else:
            found = np.frombuffer(_opened(self.folder / (name + SQUEEZED)), kind)
        if len(found) != count:
            raise BadInput(
                f"holds {len(found):,} entries, not {count:,}",
                file=path,
                cure="pack the text again",
            )
        return found


def pack(tokenizer: Path, text: Path, out: Path, options: PackOptions | None = None) -> Packed:
    """Encode the lines of a text file (a blank line between documents) into the folder `out`."""
    options = options or PackOptions()
    refuse_existing(out, options.overwrite)
    reader = Reader(tokenizer, options.words)
    known = reader.known()
    total = text.stat().st_size
    with atomic_folder(out, overwrite=options.overwrite) as folder:
        tally = _Tally(known.vocabulary)
        with (folder / PIECES).open("wb") as ids, (folder / BEGINS).open("wb") as bits:
            work, written = tee(chunks(text))
            encodings = map_ordered(reader.encode, work, options.workers, ahead=CHUNKS_AHEAD)
            for lines, encoded in zip(written, encodings, strict=True):
                tally.write(lines, encoded, ids, bits)
                options.progress("packing", lines.end, total)
            tally.flush(bits)
            options.progress("packing", total, total)
        if not tally.pieces:
            raise BadInput("holds no text", file=text, cure="give a text with a sentence a line")
        meta = PackMeta(
            tally.pieces,
            tally.words,
            tally.lines,
            tally.parts + 1,
            tally.characters,
            **msgspec.structs.asdict(known),
            fingerprint=tally.fingerprint(),
        )
        (folder / META).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
    return Packed(out, meta)


def open_pack(folder: Path) -> Packed:
    """A pack, squeezed or not."""
    path = folder / META
    try:
        return Packed(folder, msgspec.json.decode(path.read_bytes(), type=PackMeta))
    except FileNotFoundError:
        raise BadInput(
            "is no pack", file=folder, cure="pack a text first: nikawa pretrain --only pack"
        ) from None
    except msgspec.DecodeError as problem:
        raise BadInput(
            f"cannot be read: {problem}", file=path, cure="pack the text again"
        ) from None


def shrink(folder: Path, out: Path, *, overwrite: bool = False) -> Packed:
    """The same pack as small as it gets, to be carried to another machine."""
    import lzma

    found = open_pack(folder)
    # pieces are pairs of bytes: positions count modulo the width of a piece
    pairs = {"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 1, "pb": 1}
    with atomic_folder(out, overwrite=overwrite) as place:
        (place / META).write_bytes((folder / META).read_bytes())
        for name in (PIECES, BEGINS):
            with lzma.open(place / (name + SQUEEZED), "wb", filters=[pairs]) as file:
                for block in _blocks(folder / name):
                    file.write(block)
    return Packed(out, found.meta)


def _blocks(path: Path, size: int = 1 << 22) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(size):
            yield block


def _opened(path: Path) -> bytes:
    import lzma

    try:
        return lzma.decompress(path.read_bytes())
    except (FileNotFoundError, lzma.LZMAError) as problem:
        why = "is missing" if isinstance(problem, FileNotFoundError) else f"is damaged: {problem}"
        raise BadInput(
            why, file=path, cure="pack the text again, or carry the pack over again"
        ) from None


class _Tally:
    """Writes chunks one after the other, and counts."""

    def __init__(self, vocabulary: int) -> None:
        self.kind = np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")
        self.pieces = self.words = self.lines = self.parts = self.characters = 0
        self._digests = blake2b(digest_size=16), blake2b(digest_size=16)
        self._rest = np.zeros(0, dtype=bool)

    def write(self, lines: Lines, encoded: Encoded, ids: BinaryIO, bits: BinaryIO) -> None:
        """Add a chunk."""
        stored = encoded.ids.astype(self.kind)
        ids.write(stored.data)
        self._digests[0].update(stored.data)
        self._digests[1].update(encoded.begins.data)
        waiting = np.concatenate((self._rest, encoded.begins))
        whole = len(waiting) // 8 * 8
        bits.write(np.packbits(waiting[:whole], bitorder="little").data)
        self._rest = waiting[whole:]
        self.pieces += len(stored)
        self.words += int(encoded.begins.sum())
        self.lines += encoded.lines
        self.parts += encoded.parts
        self.characters += encoded.characters

    def fingerprint(self) -> str:
        """The same for the same pieces and beginnings, however they came in chunks."""
        return blake2b(b"".join(d.digest() for d in self._digests), digest_size=16).hexdigest()

    def flush(self, bits: BinaryIO) -> None:
        """Write the last bits."""
        bits.write(np.packbits(self._rest, bitorder="little").data)


def joined(ids: np.ndarray, begins: Sequence[bool] | np.ndarray) -> np.ndarray:
    """Pieces and word beginnings in one array, as training reads them: twice the id, plus one at a beginning."""
    together: np.ndarray = ids.astype(np.int32)
    together <<= 1
    together |= np.asarray(begins, dtype=bool)
    return together
