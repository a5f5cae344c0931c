"""Learn a vocabulary: characters, sub-words, or sub-words that no morpheme boundary runs through.

Pieces come from byte-pair merges (Sennrich et al. 2016, doi:10.18653/v1/P16-1162) over the stretches of a sample; for
`morphemes` the stretches are cut at morpheme boundaries first, for `subwords` they are not, and nothing else differs.
Each piece then gets the logarithm of its relative frequency, counted anew `ROUNDS` times with the pieces the model
itself chooses, still inside the boundaries. The released tokenizer finds the likeliest pieces by these scores alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.io.lines import read_lines
from nikawa.pretrain.tokenizer import BLANK, CUT, FIRST, bare, library, normaliser, splitter
from nikawa.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS = ("characters", "subwords", "morphemes")
SIZES = {"characters": 8_000, "subwords": 16_000, "morphemes": 16_000}
"""Pieces at most, if no number is given: characters are fewer where the alphabet ends."""
FLOOR = 5
"""Times a character must occur to be a piece of its own; a rarer one could not be learned and is spelled in bytes."""
MERGED = 1 / 3
"""Share of the room that is kept for longer pieces where all characters would take more.

Of a fourth, a third, a half and two thirds, a third or a fourth gave the fewest pieces at 600 and 1,000 pieces of Japanese.
"""
SAMPLE = 8_000_000
"""Characters that sub-words are learned from."""
LONGEST_PIECE = 12
ROUNDS = 2
BATCH = 2_000
_WIDEST = 0x110000

Cuts = Callable[[Sequence[str]], Iterable[Sequence[int]]]
"""For each text the places (ascending) at which a morpheme begins."""
Lines = Callable[[], Iterable[str]]


class Plan(NamedTuple):
    """What vocabulary to learn."""

    language: str
    kind: str
    size: int = 0
    """Pieces in all, those that stand for nothing in a text among them; 0: the default of the kind."""
    seed: int = 0
    sample: int = SAMPLE
    cuts: Cuts | None = None
    """Needed for `morphemes`."""

    @property
    def pieces(self) -> int:
        """Pieces in all."""
        return self.size or SIZES[self.kind]


class Learned(NamedTuple):
    """A vocabulary."""

    pieces: list[tuple[str, float]]
    """Pieces of text with their scores, without the special ones."""
    alphabet: int
    """Characters that are pieces."""
    characters: int
    """Characters of text it was learned from."""
    sampled: int
    """Of these, those sub-words were learned from."""
    crowded: int = 0
    """Characters often enough to be pieces for which there was no room."""


class VocabularyReport(Record, frozen=True, kw_only=True):
    """What a vocabulary is, as `vocabulary.json` says it."""

    language: str
    tokenizer: str
    size: int
    first_piece: int
    """Smaller numbers are special pieces and bytes."""
    alphabet: int
    floor: int
    characters: int
    sampled: int
    seed: int
    segmenter: str
    """What told morphemes while it was learned; nothing is needed to use it."""
    normal_form: str
    crowded: int | msgspec.UnsetType = msgspec.UNSET
    """Characters often enough to be pieces that are spelled in bytes for want of room; not said where there are none."""

    @property
    def roomy(self) -> int:
        """A number of pieces with room for those too, in round hundreds."""
        whole = self.alphabet + (self.crowded or 0)
        room = whole if self.tokenizer == "characters" else whole / (1 - MERGED)
        return -(-int(room + FIRST + 1) // 100) * 100


def learn_vocabulary(lines: Lines, plan: Plan) -> Learned:
    """Learn pieces and scores from text; `lines` is asked for twice."""
    check_vocabulary(plan.kind, plan.size)
    if plan.kind == "morphemes" and plan.cuts is None:
        raise ValueError("morphemes need a segmenter")
    normal = normaliser(plan.language)
    counts = _characters(lines(), normal)
    total = int(counts.sum())
    room = plan.pieces - FIRST
    often = _often(counts)
    alphabet = often[: room if plan.kind == "characters" else int(room * (1 - MERGED))]
    share = 1.0 if total <= plan.sample else plan.sample / total
    sample = [normal.normalize_str(line) for line in lines() if _drawn(line, plan.seed, share)]
    if not sample:
        raise BadInput("there is no text to learn a vocabulary from", cure="name more text")
    cut = list(_cut(sample, plan.cuts)) if plan.kind == "morphemes" and plan.cuts else sample
    names = (
        _single(cut, plan, alphabet, room)
        if plan.kind == "characters"
        else _merged(cut, plan, alphabet)
    )
    crowded = len(often) - len(alphabet)
    return Learned(
        _scored(cut, plan.language, names), len(alphabet), total, sum(map(len, sample)), crowded
    )


def check_vocabulary(kind: str, size: int = 0) -> None:
    """Refuse a kind that is none, and a size (0: the default) that no text can be written with."""
    if kind not in KINDS:
        raise unknown("tokenizer", kind, KINDS)
    least = FIRST + 100
    if (pieces := size or SIZES[kind]) < least:
        cure = f"say --vocabulary {least} or more: {FIRST} pieces are bytes and special ones"
        raise BadInput(f"a vocabulary of {pieces} pieces holds no text", cure=cure)


def _drawn(line: str, seed: int, share: float) -> bool:
    return bool(line) and crc32(line.encode(), seed) < share * 2**32


def _characters(lines: Iterable[str], normal: Any) -> NDArray[np.int64]:
    """How often each character occurs, by its code."""
    import numpy as np

    counts = np.zeros(_WIDEST, np.int64)
    held: list[str] = []
    for line in _ended(lines):
        if line is not None:
            held.append(line)
        if held and (line is None or len(held) >= BATCH):
            text = normal.normalize_str("".join(held))
            counts += np.bincount(
                np.frombuffer(text.encode("utf-32-le"), np.uint32), minlength=_WIDEST
            )
            held = []
    return counts


def _ended(lines: Iterable[str]) -> Iterator[str | None]:
    yield from lines
    yield None


def _often(counts: NDArray[np.int64]) -> list[str]:
    """Characters often enough to be pieces, the most frequent first; a blank is written `BLANK`."""
    import numpy as np

    counts = counts.copy()
    counts[ord(" ")] = counts[ord(CUT)] = counts[ord(BLANK)] = 0
    order = np.argsort(-counts, kind="stable")
    often = int((counts >= FLOOR).sum()) or int((counts > 0).sum())
    return [BLANK, *map(chr, order[:often].tolist())]


def _cut(sample: Sequence[str], cuts: Cuts) -> Iterator[str]:
    """The texts with a mark at each morpheme boundary; a blank belongs to what stands behind it."""
    for text, places in zip(sample, cuts(sample), strict=True):
        parts, at = [], 0
        for place in places:
            if at < place < len(text) and text[place - 1] != " ":
                parts.append(text[at:place])
                at = place
        yield CUT.join((*parts, text[at:]))


def _merged(cut: Sequence[str], plan: Plan, alphabet: list[str]) -> list[str]:
    """The alphabet and the pieces merged from it."""
    t = library()
    learner = t.Tokenizer(t.models.BPE())
    learner.pre_tokenizer = splitter(plan.language, learning=True)
    trainer = t.trainers.BpeTrainer(
        vocab_size=plan.pieces - FIRST,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=LONGEST_PIECE,
        min_frequency=2,
        show_progress=False,
    )
    learner.train_from_iterator(cut, trainer)
    found: dict[str, int] = learner.get_vocab()
    return sorted(found, key=lambda piece: found[piece])


def _single(cut: Sequence[str], plan: Plan, alphabet: list[str], room: int) -> list[str]:
    """The alphabet and, where blanks part words, the characters that begin one."""
    if plan.language != "ko":
        return alphabet
    import numpy as np

    starts = np.zeros(_WIDEST, np.int64)
    for text in cut:
        for word in text.split():
            starts[ord(word[0])] += 1
    order = np.argsort(-starts, kind="stable")[
        : min(int((starts >= FLOOR).sum()), room - len(alphabet))
    ]
    own = set(alphabet)
    return [*alphabet, *(BLANK + chr(code) for code in order.tolist() if chr(code) in own)]


def _scored(cut: Sequence[str], language: str, names: Sequence[str]) -> list[tuple[str, float]]:
    """Each piece with the logarithm of its relative frequency, under the pieces the model itself chooses."""
    import numpy as np

    scores = np.array([-10.0 + 0.1 * len(name) for name in names])  # at first the fewest pieces win
    for _ in range(ROUNDS):
        tokenizer = bare(language, list(zip(names, scores.tolist(), strict=True)))
        counts = np.zeros(len(names) + 1, np.int64)
        for start in range(0, len(cut), BATCH):
            found = tokenizer.encode_batch_fast(list(cut[start : start + BATCH]))
            counts += np.bincount(
                np.concatenate([_ids(each) for each in found]), minlength=len(counts)
            )
        scores = np.log(np.maximum(counts[1:], 0.5) / max(1, int(counts[1:].sum())))
    return list(zip(names, scores.tolist(), strict=True))


def _ids(encoding: Any) -> NDArray[np.int64]:
    import numpy as np

    return np.array(encoding.ids, np.int64)


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a prepared text, without the blank ones between documents."""
    return (line for _, line in read_lines(path) if line)
