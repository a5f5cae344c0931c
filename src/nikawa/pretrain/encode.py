"""Lines to pieces, and which pieces begin a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from nikawa.errors import BadInput, missing_extra

CHUNK = 1 << 19
"""Bytes of text a process encodes at a time."""

Words = Callable[[Sequence[str]], list[list[int]]]
"""For each line the places, rising, at which a word starts."""


class Known(msgspec.Struct, frozen=True):
    """What a pack must know of its tokenizer."""

    vocabulary: int
    special: dict[str, int]
    first_piece: int
    tokenizer: str


@dataclass(frozen=True)
class Lines:
    """Some lines of a text; an empty one parts two documents."""

    lines: tuple[str, ...]
    end: int
    """Bytes of the text up to here."""


@dataclass(frozen=True)
class Encoded:
    """The pieces of some lines."""

    ids: np.ndarray
    begins: np.ndarray
    lines: int
    parts: int
    """Beginnings of a document, but that of the first."""
    characters: int


def chunks(text: Path, size: int = CHUNK) -> Iterator[Lines]:
    """The lines of a file, some at a time, with one empty line before each document but the first."""
    waiting: list[str] = []
    held = end = 0
    parted, begun = False, False
    with text.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = _decoded(raw, text, number).strip()
            end += len(raw)
            held += len(raw)
            if line:
                waiting += ["", line] if parted and begun else [line]
                parted, begun = False, True
            else:
                parted = True
            if held >= size:
                yield Lines(tuple(waiting), end)
                waiting, held = [], 0
    if waiting:
        yield Lines(tuple(waiting), end)


def _decoded(raw: bytes, text: Path, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            "is not UTF-8",
            file=text,
            line=number,
            cure="clean the text first: nikawa pretrain does",
        ) from None


def fingerprint(tokenizer: Path) -> str:
    """What a tokenizer is known by."""
    path = tokenizer / "tokenizer.json"
    if not path.is_file():
        raise BadInput("no such file", file=path, cure="name the folder of a tokenizer")
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Reader:
    """A tokenizer folder and where words start; travels to other processes as it is."""

    folder: Path
    words: Words | None = None

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise missing_extra("the package 'tokenizers'", "encoder") from None
        path = self.folder / "tokenizer.json"
        try:
            found = Tokenizer.from_file(str(path))
        except Exception as problem:  # the library raises no class of its own
            cure = "make a tokenizer first: nikawa pretrain --only vocabulary"
            raise BadInput(
                f"cannot be read: {str(problem).splitlines()[0]}", file=path, cure=cure
            ) from None
        found.no_truncation()
        found.no_padding()
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded tokenizer behind: each process loads its own."""
        return {"folder": self.folder, "words": self.words}

    def known(self) -> Known:
        """What the pack must say of the tokenizer."""
        tokenizer, special = self._tokenizer, {}
        for name in ("pad", "cls", "sep", "mask"):
            found = tokenizer.token_to_id(f"[{name.upper()}]")
            if found is None:
                raise BadInput(
                    f"has no piece [{name.upper()}]",
                    file=self.folder,
                    cure="take a tokenizer made by nikawa pretrain",
                )
            special[name] = found
        return Known(
            tokenizer.get_vocab_size(), special, self._first(special), fingerprint(self.folder)
        )

    def _first(self, special: dict[str, int]) -> int:
        path = self.folder / "vocabulary.json"
        if path.is_file():
            told = msgspec.json.decode(path.read_bytes()).get("first_piece")
            if isinstance(told, int):
                return told
        return 1 + max(special.values())

    def encode(self, chunk: Lines) -> Encoded:
        """The pieces of a chunk, with [SEP] where an empty line stands."""
        made = self._tokenizer.encode_batch(list(chunk.lines), add_special_tokens=False)
        sizes = np.fromiter((len(one.ids) for one in made), dtype=np.int64, count=len(made))
        ids = np.fromiter(
            chain.from_iterable(one.ids for one in made), dtype=np.int64, count=sizes.sum()
        )
        flat = chain.from_iterable(chain.from_iterable(one.offsets for one in made))
        spans = np.fromiter(flat, dtype=np.int64, count=2 * sizes.sum()).reshape(-1, 2)
        line = np.repeat(np.arange(len(made)), sizes)
        begins = self._begins(chunk.lines, line, self._lettered(ids, line, spans))
        parts = np.flatnonzero([not line for line in chunk.lines])
        at = np.concatenate(([0], np.cumsum(sizes)))[parts]
        sep: int = self._tokenizer.token_to_id("[SEP]")
        return Encoded(
            np.insert(ids, at, sep),
            np.insert(begins, at, True),
            len(chunk.lines) - len(parts),
            len(parts),
            sum(map(len, chunk.lines)),
        )

    @cached_property
    def _bytes(self) -> np.ndarray:
        """For each id the byte it stands for, or -1."""
        found = np.full(self._tokenizer.get_vocab_size(), -1)
        for byte in range(256):
            piece = self._tokenizer.token_to_id(f"<0x{byte:02X}>")
            if piece is not None:
                found[piece] = byte
        return found

    def _lettered(self, ids: np.ndarray, line: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Give bytes the place of their letter: the library gives all bytes of a run of unknown letters the same span."""
        value = self._bytes[ids]
        if not (value >= 0).any():
            return spans
        fresh = np.ones(len(ids), dtype=bool)
        fresh[1:] = (spans[1:] != spans[:-1]).any(axis=1) | (line[1:] != line[:-1])
        letter = np.cumsum((value >= 0) & (value & 0xC0 != 0x80))
        run = np.maximum.accumulate(np.where(fresh, np.arange(len(ids)), 0))
        first = spans[:, 0] + np.where(value >= 0, letter - letter[run], 0)
        return np.stack(
            (np.minimum(first, np.maximum(spans[:, 1] - 1, spans[:, 0])), spans[:, 1]), axis=1
        )

    def _begins(self, lines: Sequence[str], line: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Whether the first character of each piece that is no blank begins a word."""
        text = "\n".join(lines)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        blank = _among(codes, lambda letter: letter.isspace())
        bases = np.concatenate(([0], np.cumsum([len(line) + 1 for line in lines])))[:-1]
        starts = (
            _starts(codes, blank)
            if self.words is None
            else _told(self.words(lines), bases, len(codes))
        )
        first, last = spans[:, 0] + bases[line], spans[:, 1] + bases[line]
        seen = _next(~blank)[np.minimum(first, len(codes) - 1)] if len(codes) else first
        empty = seen >= last
        before = np.concatenate(([-1], first[:-1]))
        begins = (
            (starts[np.minimum(seen, len(codes) - 1)] | empty) & (first != before)
            if len(first)
            else empty
        )
        begins[1:] &= ~empty[:-1] | (
            line[1:] != line[:-1]
        )  # a blank alone belongs to the word behind it
        begins |= np.concatenate(([-1], line[:-1])) != line
        found: np.ndarray = begins
        return found


def _next(wanted: np.ndarray) -> np.ndarray:
    """For each place the nearest wanted one from there on; the length where there is none."""
    places = np.where(wanted, np.arange(len(wanted)), len(wanted))
    found: np.ndarray = np.minimum.accumulate(places[::-1])[::-1]
    return found


def _told(words: list[list[int]], bases: np.ndarray, size: int) -> np.ndarray:
    counts = [len(places) for places in words]
    places = np.fromiter(chain.from_iterable(words), dtype=np.int64, count=sum(counts))
    starts = np.zeros(size, dtype=bool)
    starts[places + np.repeat(bases, counts)] = True
    return starts


def _starts(codes: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """Words begin after blanks, and punctuation stands alone."""
    mark = _among(codes, lambda letter: unicodedata.category(letter)[0] in "PS")
    edge = blank | mark
    starts = mark.copy()
    starts[:1] = True
    starts[1:] |= edge[:-1]
    return starts


def _among(codes: np.ndarray, wanted: Callable[[str], bool]) -> np.ndarray:
    """Which characters are wanted; each distinct one is asked about once."""
    letters, where = np.unique(codes, return_inverse=True)
    answers = np.fromiter(
        (wanted(chr(letter)) for letter in letters), dtype=bool, count=len(letters)
    )
    found: np.ndarray = answers[where]
    return found
