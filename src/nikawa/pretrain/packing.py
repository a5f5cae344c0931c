"""Text to one long stream of tokens: lines are joined, documents are separated by [SEP], windows of any
length are cut later.

With each token goes a bit, whether it begins a word, for whole-word masking. Chunks of lines are
encoded by several processes and written in order: the same bytes whatever their number. A pack is
written whole or not at all.
"""

from __future__ import annotations

import lzma
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np

from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions, FunctionWithFiles
from nikawa.execute.ordered import map_in_order
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.json import read_json
from nikawa.io.lines import numbered_lines, open_bytes, open_packed, read_bytes, refuse_long_line
from nikawa.pretrain.tokenizer import load_tokenizer
from nikawa.pretrain.vocabulary import FindStarts

META_FILE, TOKENS_FILE, WORD_STARTS_FILE = "pack.json", "pieces.bin", "words.bin"
COMPRESSED_SUFFIX = ".xz"
CHUNK_BYTES = 1 << 19
"""Bytes of text a process encodes at a time."""
CHUNKS_AHEAD = 4
"""Chunks each process may be ahead of the writer."""
_BLOCK_BYTES = 1 << 22

OnProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class PackOptions:
    """How to pack; the pack is the same whatever the workers."""

    word_starts: FindStarts | None = None
    """Where the words of lines start; without it, at blanks and punctuation."""
    where: ExecuteOptions | int = 1
    """As for `map_in_order`."""
    on_progress: OnProgress = lambda _what, _done, _total: None
    overwrite: bool = False


class TokenizerFacts(msgspec.Struct, frozen=True):
    """What a pack must know of its tokenizer."""

    vocabulary: int
    special: dict[str, int]
    """Ids of pad, cls, sep and mask."""
    first_piece: int
    """The first id of an ordinary token: those before are special, placeholders or bytes."""
    tokenizer: str
    """Fingerprint of the tokenizer."""


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
    """The first id of an ordinary token: those before are special, placeholders or bytes."""
    tokenizer: str
    """Fingerprint of the tokenizer."""
    fingerprint: str
    """Fingerprint of the tokens and word beginnings."""


@dataclass(frozen=True)
class Pack:
    """A pack on disk, compressed or not."""

    folder: Path
    meta: PackMeta

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return self.meta.pieces

    def ids(self) -> np.ndarray:
        """The tokens; read from disk as they are used, unless the pack is compressed."""
        return self._read(TOKENS_FILE, _id_type(self.meta.vocabulary), self.meta.pieces)

    def begins(self) -> np.ndarray:
        """Which tokens begin a word."""
        bits = self._read(WORD_STARTS_FILE, np.dtype("u1"), -(-self.meta.pieces // 8))
        return np.unpackbits(bits, count=self.meta.pieces, bitorder="little").view(bool)

    def _read(self, name: str, kind: np.dtype[Any], count: int) -> np.ndarray:
        """The entries of a file, of which there must be `count`."""
        path = self.folder / name
        entries: np.ndarray
        try:
            if not path.is_file():
                entries = np.frombuffer(self._decompress(name, count * kind.itemsize), kind)
            elif path.stat().st_size:
                entries = np.memmap(path, kind, "r")
            else:
                entries = np.zeros(0, kind)
        except ValueError:
            what, cure = "ends in the middle of an entry", "pack the text again"
            raise BadInput(what, file=path, cure=cure) from None
        if len(entries) != count:
            what = f"has {len(entries):,} entries instead of {count:,}"
            raise BadInput(what, file=path, cure="pack the text again")
        return entries

    def _decompress(self, name: str, size: int) -> bytes:
        """The bytes of a compressed file; if it has more than `size`, a few more."""
        path = self.folder / (name + COMPRESSED_SUFFIX)
        cure = "pack the text again, or copy the packed text again"
        if not path.exists():
            raise BadInput("is missing", file=path, cure=cure)
        blocks, left = [], size + 8  # whole entries of any kind
        try:
            with open_bytes(path) as stream:
                while left > 0 and (block := stream.read(min(left, _BLOCK_BYTES))):
                    blocks.append(block)
                    left -= len(block)
        except BadInput as problem:
            raise BadInput(f"is damaged: {problem.what}", file=path, cure=cure) from None
        return b"".join(blocks)


def _id_type(vocabulary: int) -> np.dtype[Any]:
    """How a token of such a vocabulary is stored."""
    return np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")


def pack_text(tokenizer: Path, text: Path, out: Path, options: PackOptions | None = None) -> Pack:
    """Encode the lines of a text file (a blank line between documents) into the folder `out`."""
    options = options or PackOptions()
    refuse_existing(out, options.overwrite)
    encoder = LineEncoder(tokenizer, options.word_starts)
    facts = encoder.facts()
    total = text.stat().st_size
    with atomic_folder(out, overwrite=options.overwrite) as folder:
        with (
            (folder / TOKENS_FILE).open("wb") as ids,
            (folder / WORD_STARTS_FILE).open("wb") as bits,
        ):
            writer = _PackWriter(facts.vocabulary, ids, bits)
            chunks = read_chunks(text)
            encode = FunctionWithFiles(
                partial(make_encode, word_starts=options.word_starts),
                {"tokenizer": tokenizer / "tokenizer.json"},
            )
            for encoded in map_in_order(encode, chunks, options.where, ahead=CHUNKS_AHEAD):
                writer.write(encoded)
                options.on_progress("packing", encoded.end, total)
            writer.flush()
            options.on_progress("packing", total, total)
        if not writer.tokens:
            raise BadInput(
                "contains no text", file=text, cure="pass a text with one sentence per line"
            )
        meta = PackMeta(
            pieces=writer.tokens,
            words=writer.words,
            lines=writer.lines,
            documents=writer.breaks + 1,
            characters=writer.characters,
            **msgspec.structs.asdict(facts),
            fingerprint=writer.fingerprint(),
        )
        (folder / META_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
    return Pack(out, meta)


def open_pack(folder: Path) -> Pack:
    """A pack, compressed or not."""
    path = folder / META_FILE
    if not path.is_file():
        cure = "pack a text first: nikawa pretrain --only pack"
        raise BadInput("is not packed text", file=folder, cure=cure)
    try:
        return Pack(folder, msgspec.json.decode(read_bytes(path), type=PackMeta))
    except msgspec.DecodeError as problem:
        what = f"cannot be read: {problem}"
        raise BadInput(what, file=path, cure="pack the text again") from None


def compress_pack(folder: Path, out: Path, *, overwrite: bool = False) -> Pack:
    """The same pack as small as it gets, to be carried to another machine."""
    pack = open_pack(folder)
    # tokens are pairs of bytes: positions count modulo the width of a token
    pairs = {"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 1, "pb": 1}
    with atomic_folder(out, overwrite=overwrite) as place:
        (place / META_FILE).write_bytes((folder / META_FILE).read_bytes())
        for name in (TOKENS_FILE, WORD_STARTS_FILE):
            compressed = place / (name + COMPRESSED_SUFFIX)
            with (
                (folder / name).open("rb") as source,
                lzma.open(compressed, "wb", filters=[pairs]) as target,
            ):
                while block := source.read(_BLOCK_BYTES):
                    target.write(block)
    return Pack(out, pack.meta)


def join_stream(ids: np.ndarray, begins: Sequence[bool] | np.ndarray) -> np.ndarray:
    """Tokens and word beginnings in one array, as training reads them: twice the id, plus one at a
    beginning.
    """
    stream: np.ndarray = ids.astype(np.int32)
    stream <<= 1
    stream |= np.asarray(begins, dtype=bool)
    return stream


def tokenizer_fingerprint(folder: Path) -> str:
    """What identifies the tokenizer of a folder."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise BadInput("no such file", file=path, cure="pass the folder of a tokenizer")
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class LineChunk:
    """Some lines of a text; an empty one parts two documents."""

    lines: tuple[str, ...]
    end: int
    """Bytes of the text up to here."""


@dataclass(frozen=True)
class EncodedChunk:
    """The tokens of some lines."""

    ids: np.ndarray
    begins: np.ndarray
    lines: int
    breaks: int
    """Beginnings of a document, but that of the first."""
    characters: int
    end: int
    """Bytes of the text up to here."""


def make_encode(
    files: Mapping[str, Path], word_starts: FindStarts | None
) -> Callable[[LineChunk], EncodedChunk]:
    """What encodes chunks on the machine that has these files: `tokenizer` is a `tokenizer.json`."""
    return LineEncoder(files["tokenizer"].parent, word_starts).encode


def read_chunks(text: Path, size: int = CHUNK_BYTES) -> Iterator[LineChunk]:
    """The lines of a file, some at a time, with one empty line before each document but the first."""
    lines: list[str] = []
    held = end = 0
    after_blank, has_begun = False, False
    with open_packed(text) as file:
        for number, raw in numbered_lines(file):
            refuse_long_line(len(raw), text, number)
            try:
                line = raw.decode("utf-8").strip()
            except UnicodeDecodeError:
                cure = "clean the text first; nikawa pretrain does this"
                raise BadInput("is not UTF-8", file=text, line=number, cure=cure) from None
            end += len(raw)
            held += len(raw)
            if line:
                lines += ["", line] if after_blank and has_begun else [line]
                after_blank, has_begun = False, True
            else:
                after_blank = True
            if held >= size:
                yield LineChunk(tuple(lines), end)
                lines, held = [], 0
    if lines:
        yield LineChunk(tuple(lines), end)


@dataclass(frozen=True)
class LineEncoder:
    """A tokenizer folder and where words start; travels to other processes as it is."""

    folder: Path
    word_starts: FindStarts | None = None

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = load_tokenizer(self.folder)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _bytes(self) -> np.ndarray:
        """For each id the byte it stands for, or -1."""
        table = np.full(self._tokenizer.get_vocab_size(), -1)
        for byte in range(256):
            token = self._tokenizer.token_to_id(f"<0x{byte:02X}>")
            if token is not None:
                table[token] = byte
        return table

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded tokenizer behind: each process loads its own."""
        return {"folder": self.folder, "word_starts": self.word_starts}

    def facts(self) -> TokenizerFacts:
        """The description of the tokenizer in the packed text."""
        special: dict[str, int] = {}
        for role in ("pad", "cls", "sep", "mask"):
            name = f"[{role.upper()}]"
            token = self._tokenizer.token_to_id(name)
            if token is None:
                cure = "use a tokenizer made by nikawa pretrain"
                raise BadInput(f"has no token {name}", file=self.folder, cure=cure)
            special[role] = token
        first = None
        report = self.folder / "vocabulary.json"
        if report.is_file():
            first = read_json(report, cast("type[dict[str, Any]]", dict)).get("first_piece")
        return TokenizerFacts(
            vocabulary=self._tokenizer.get_vocab_size(),
            special=special,
            first_piece=first if isinstance(first, int) else 1 + max(special.values()),
            tokenizer=tokenizer_fingerprint(self.folder),
        )

    def encode(self, chunk: LineChunk) -> EncodedChunk:
        """The tokens of a chunk, with [SEP] for an empty line."""
        encodings = self._tokenizer.encode_batch(list(chunk.lines), add_special_tokens=False)
        sizes = np.fromiter((len(e.ids) for e in encodings), np.int64, len(encodings))
        count = sizes.sum()
        ids = np.fromiter(chain.from_iterable(e.ids for e in encodings), np.int64, count)
        offsets = chain.from_iterable(chain.from_iterable(e.offsets for e in encodings))
        spans = np.fromiter(offsets, np.int64, 2 * count).reshape(-1, 2)
        line = np.repeat(np.arange(len(encodings)), sizes)
        begins = self._find_begins(chunk.lines, line, self._spread_bytes(ids, line, spans))
        breaks = np.flatnonzero([not text for text in chunk.lines])
        at = np.concatenate(([0], np.cumsum(sizes)))[breaks]
        separator: int = self._tokenizer.token_to_id("[SEP]")
        return EncodedChunk(
            ids=np.insert(ids, at, separator),
            begins=np.insert(begins, at, True),
            lines=len(chunk.lines) - len(breaks),
            breaks=len(breaks),
            characters=sum(map(len, chunk.lines)),
            end=chunk.end,
        )

    def _spread_bytes(self, ids: np.ndarray, line: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Give bytes the place of their letter: the library gives all bytes of a run of unknown
        letters the same span.
        """
        value = self._bytes[ids]
        if not (value >= 0).any():
            return spans
        starts, ends = spans[:, 0], spans[:, 1]
        is_new = np.ones(len(ids), dtype=bool)
        is_new[1:] = line[1:] != line[:-1]
        is_new[1:] |= (spans[1:] != spans[:-1]).any(axis=1)
        letter = np.cumsum((value >= 0) & (value & 0xC0 != 0x80))
        run = np.maximum.accumulate(np.where(is_new, np.arange(len(ids)), 0))
        first = starts + np.where(value >= 0, letter - letter[run], 0)
        last = np.maximum(ends - 1, starts)
        return np.stack((np.minimum(first, last), ends), axis=1)

    def _find_begins(self, lines: Sequence[str], line: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Whether the first character of each non-blank token begins a word."""
        text = "\n".join(lines)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        blank = _test_characters(codes, str.isspace)
        sizes = [len(text) + 1 for text in lines]
        bases = np.concatenate(([0], np.cumsum(sizes)))[:-1]
        if self.word_starts is None:
            # Words begin after blanks, and each punctuation mark is a separate word.
            mark = _test_characters(codes, lambda letter: unicodedata.category(letter)[0] in "PS")
            edge = blank | mark
            starts = mark.copy()
            starts[:1] = True
            starts[1:] |= edge[:-1]
        else:
            places = self.word_starts(lines)
            counts = [len(of_line) for of_line in places]
            starts = np.zeros(len(codes), dtype=bool)
            inside = np.fromiter(chain.from_iterable(places), np.int64)
            starts[inside + np.repeat(bases, counts)] = True
        first, last = spans[:, 0] + bases[line], spans[:, 1] + bases[line]
        # for each character, the next non-blank character
        solid = np.where(blank, len(codes), np.arange(len(codes)))
        nearest = np.minimum.accumulate(solid[::-1])[::-1]
        seen = nearest[np.minimum(first, len(codes) - 1)] if len(codes) else first
        empty = seen >= last
        begins = empty
        if len(first):
            before = np.concatenate(([-1], first[:-1]))
            begins = (starts[np.minimum(seen, len(codes) - 1)] | empty) & (first != before)
        # a blank alone belongs to the word behind it
        begins[1:] &= ~empty[:-1] | (line[1:] != line[:-1])
        begins |= np.concatenate(([-1], line[:-1])) != line
        return np.asarray(begins)


def _test_characters(codes: np.ndarray, test: Callable[[str], bool]) -> np.ndarray:
    """Which characters pass a test; each distinct one is tested once."""
    letters, where = np.unique(codes, return_inverse=True)
    answers = np.fromiter((test(chr(letter)) for letter in letters), bool, len(letters))
    passed: np.ndarray = answers[where]
    return passed


class _PackWriter:
    """Writes chunks one after the other, and counts."""

    def __init__(self, vocabulary: int, ids: BinaryIO, bits: BinaryIO) -> None:
        self._id_type, self._ids, self._bits = _id_type(vocabulary), ids, bits
        self.tokens = self.words = self.lines = self.breaks = self.characters = 0
        self._digests = blake2b(digest_size=16), blake2b(digest_size=16)
        self._rest = np.zeros(0, dtype=bool)

    def write(self, encoded: EncodedChunk) -> None:
        """Add a chunk."""
        ids = encoded.ids.astype(self._id_type)
        self._ids.write(ids.data)
        self._digests[0].update(ids.data)
        self._digests[1].update(encoded.begins.data)
        waiting = np.concatenate((self._rest, encoded.begins))
        whole = len(waiting) // 8 * 8
        self._bits.write(np.packbits(waiting[:whole], bitorder="little").data)
        self._rest = waiting[whole:]
        self.tokens += len(ids)
        self.words += int(encoded.begins.sum())
        self.lines += encoded.lines
        self.breaks += encoded.breaks
        self.characters += encoded.characters

    def flush(self) -> None:
        """Write the last bits."""
        self._bits.write(np.packbits(self._rest, bitorder="little").data)

    def fingerprint(self) -> str:
        """The same for the same tokens and beginnings, however they came in chunks."""
        return blake2b(b"".join(d.digest() for d in self._digests), digest_size=16).hexdigest()
