"""Learn a vocabulary: characters, sub-words, or sub-words that no morpheme boundary runs through.

Tokens come from byte-pair merges (Sennrich et al. 2016, doi:10.18653/v1/P16-1162) over the
stretches of a sample; for `morphemes` the stretches are cut at morpheme boundaries first, for
`subwords` they are not, and nothing else differs. Each token then gets the logarithm of its
relative frequency, counted again `SCORING_ROUNDS` times with the tokens the model itself chooses,
still inside the boundaries. The released tokenizer finds the likeliest tokens by these scores
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import map_in_order
from nikawa.io.lines import read_lines
from nikawa.pretrain.tokenizer import (
    BLANK,
    CUT,
    FIRST_TEXT_ID,
    build_learner,
    import_tokenizers,
    make_normaliser,
    make_splitter,
)
from nikawa.records import Record
from nikawa.text.morpheme_starts import find_starts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_SIZES = {"characters": 8_000, "subwords": 16_000, "morphemes": 16_000}
"""By kind, tokens at most if no number is given: characters are fewer where the alphabet ends."""
MIN_CHARACTER_COUNT = 5
"""Times a character must occur to be a separate token; a rarer one could not be learned and is
spelled in bytes."""
MERGED_SHARE = 1 / 3
"""Share of the room that is kept for longer tokens where all characters would take more.

Of a fourth, a third, a half and two thirds, a third or a fourth gave the fewest tokens at 600 and
1,000 tokens of Japanese.
"""
SAMPLE_CHARS = 8_000_000
"""Characters that sub-words are learned from."""
MAX_TOKEN_CHARS = 12
SCORING_ROUNDS = 2
BATCH_LINES = 2_000
SEGMENTED_LINES = 256
"""Lines a process segments at a time."""
_CODE_POINTS = 0x110000

FindStarts = Callable[[Sequence[str]], list[list[int]]]
"""For each text the places (ascending) at which a morpheme or word begins."""


@dataclass(frozen=True)
class Segmenter:
    """Where the morphemes of texts begin, by an analyser; survives the trip to another process."""

    name: str
    where: ExecuteOptions | int = 1
    """As for `map_in_order`."""

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """For each text the places at which a morpheme begins, ascending."""
        if len(texts) < 2 * SEGMENTED_LINES:
            return find_starts(texts, self.name)
        chunks = [
            list(texts[at : at + SEGMENTED_LINES]) for at in range(0, len(texts), SEGMENTED_LINES)
        ]
        all_starts: list[list[int]] = []
        for starts in map_in_order(partial(find_starts, name=self.name), chunks, self.where):
            all_starts += starts
        return all_starts


class VocabularyOptions(NamedTuple):
    """What vocabulary to learn."""

    language: str
    kind: str
    """`characters`, `subwords` or `morphemes`."""
    size: int = 0
    """Tokens in all, those that stand for nothing in a text among them; 0: the default of the kind.
    """
    seed: int = 0
    sample: int = SAMPLE_CHARS
    segmenter: FindStarts | None = None
    """Needed for `morphemes`."""


class Vocabulary(NamedTuple):
    """A vocabulary."""

    tokens: list[tuple[str, float]]
    """Tokens of text with their scores, without the special ones."""
    alphabet: int
    """Characters that are tokens."""
    characters: int
    """Characters of text it was learned from."""
    sampled: int
    """Of these, those sub-words were learned from."""
    crowded: int = 0
    """Characters that are frequent enough to be tokens but did not fit."""


class VocabularyReport(Record, frozen=True, kw_only=True):
    """The description of a vocabulary in `vocabulary.json`."""

    language: str
    tokenizer: str
    size: int
    first_piece: int
    """Smaller numbers are special tokens and bytes."""
    alphabet: int
    floor: int
    characters: int
    sampled: int
    seed: int
    segmenter: str
    """What found morphemes while it was learned; nothing is needed to use it."""
    normal_form: str
    crowded: int | msgspec.UnsetType = msgspec.UNSET
    """Characters that are frequent enough to be tokens but are spelled in bytes for lack of room; absent
    if empty."""

    @property
    def size_for_all(self) -> int:
        """A number of tokens with room for those too, in round hundreds."""
        whole = self.alphabet + (self.crowded or 0)
        room = whole if self.tokenizer == "characters" else whole / (1 - MERGED_SHARE)
        return -(-int(room + FIRST_TEXT_ID + 1) // 100) * 100


def check_vocabulary(kind: str, size: int = 0) -> None:
    """Refuse an unknown kind, and a size (0: the default) that is too small for any text."""
    if kind not in DEFAULT_SIZES:
        raise unknown("tokenizer", kind, DEFAULT_SIZES)
    size = size or DEFAULT_SIZES[kind]
    min_size = FIRST_TEXT_ID + 100
    if size < min_size:
        reserved = f"{FIRST_TEXT_ID} of the tokens are bytes and special tokens"
        cure = f"pass --vocabulary {min_size} or more: {reserved}"
        raise BadInput(f"a vocabulary of {size} tokens is too small", cure=cure)


def learn_vocabulary(
    read_text: Callable[[], Iterable[str]], options: VocabularyOptions
) -> Vocabulary:
    """Learn tokens and scores from the lines of a text; `read_text` is called twice."""
    kind = options.kind
    check_vocabulary(kind, options.size)
    if kind == "morphemes" and options.segmenter is None:
        raise ValueError("morphemes need a segmenter")
    normaliser = make_normaliser(options.language)
    counts = count_characters(read_text(), normaliser)
    total = int(counts.sum())
    room = (options.size or DEFAULT_SIZES[kind]) - FIRST_TEXT_ID
    frequent = _find_frequent(counts)
    alphabet = frequent[: room if kind == "characters" else int(room * (1 - MERGED_SHARE))]
    share = 1.0 if total <= options.sample else options.sample / total
    sample = []
    for line in read_text():
        if line and crc32(line.encode(), options.seed) < share * 2**32:
            sample.append(normaliser.normalize_str(line))
    if not sample:
        raise BadInput("there is no text to learn a vocabulary from", cure="pass more text")
    texts = sample
    if kind == "morphemes" and options.segmenter:
        texts = list(mark_boundaries(sample, options.segmenter))
    if kind == "characters":
        names = _add_word_starts(texts, options.language, alphabet, room)
    else:
        names = merge_tokens(texts, options.language, alphabet, room)
    return Vocabulary(
        tokens=score_tokens(texts, options.language, names),
        alphabet=len(alphabet),
        characters=total,
        sampled=sum(map(len, sample)),
        crowded=len(frequent) - len(alphabet),
    )


def count_characters(lines: Iterable[str], normaliser: Any) -> NDArray[np.int64]:
    """How often each character occurs, by its code."""
    import numpy as np

    counts = np.zeros(_CODE_POINTS, np.int64)
    stream = iter(lines)
    while batch := list(islice(stream, BATCH_LINES)):
        text = normaliser.normalize_str("".join(batch))
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        counts += np.bincount(codes, minlength=_CODE_POINTS)
    return counts


def _find_frequent(counts: NDArray[np.int64]) -> list[str]:
    """Characters often enough to be tokens, the most frequent first; a blank is written `BLANK`."""
    import numpy as np

    counts = counts.copy()
    counts[ord(" ")] = counts[ord(CUT)] = counts[ord(BLANK)] = 0
    order = np.argsort(-counts, kind="stable")
    frequent = int((counts >= MIN_CHARACTER_COUNT).sum()) or int((counts > 0).sum())
    return [BLANK, *map(chr, order[:frequent].tolist())]


def mark_boundaries(texts: Sequence[str], segmenter: FindStarts) -> Iterator[str]:
    """The texts with a mark at each morpheme boundary; a blank belongs to the token after it."""
    for text, starts in zip(texts, segmenter(texts), strict=True):
        parts, at = [], 0
        for start in starts:
            if at < start < len(text) and text[start - 1] != " ":
                parts.append(text[at:start])
                at = start
        yield CUT.join((*parts, text[at:]))


def merge_tokens(texts: Sequence[str], language: str, alphabet: list[str], room: int) -> list[str]:
    """The alphabet and the tokens merged from it."""
    tokenizers = import_tokenizers()
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    learner.pre_tokenizer = make_splitter(language, learning=True)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=room,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=MAX_TOKEN_CHARS,
        min_frequency=2,
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    numbers: dict[str, int] = learner.get_vocab()
    return sorted(numbers, key=lambda token: numbers[token])


def _add_word_starts(
    texts: Sequence[str], language: str, alphabet: list[str], room: int
) -> list[str]:
    """The alphabet and, where blanks part words, the characters that begin one."""
    if language != "ko":
        return alphabet
    import numpy as np

    counts = np.zeros(_CODE_POINTS, np.int64)
    for text in texts:
        for word in text.split():
            counts[ord(word[0])] += 1
    frequent = min(int((counts >= MIN_CHARACTER_COUNT).sum()), room - len(alphabet))
    order = np.argsort(-counts, kind="stable")[:frequent]
    known = set(alphabet)
    return [*alphabet, *(BLANK + chr(code) for code in order.tolist() if chr(code) in known)]


def score_tokens(
    texts: Sequence[str], language: str, names: Sequence[str]
) -> list[tuple[str, float]]:
    """Each token with the logarithm of its relative frequency, under the tokens the model itself
    chooses.
    """
    import numpy as np

    scores = np.array([-10.0 + 0.1 * len(name) for name in names])  # at first the fewest tokens win
    for _ in range(SCORING_ROUNDS):
        learner = build_learner(language, list(zip(names, scores.tolist(), strict=True)))
        counts = np.zeros(len(names) + 1, np.int64)
        for start in range(0, len(texts), BATCH_LINES):
            encodings = learner.encode_batch_fast(list(texts[start : start + BATCH_LINES]))
            ids = np.concatenate([np.array(each.ids, np.int64) for each in encodings])
            counts += np.bincount(ids, minlength=len(counts))
        scores = np.log(np.maximum(counts[1:], 0.5) / max(1, int(counts[1:].sum())))
    return list(zip(names, scores.tolist(), strict=True))


def read_text_lines(path: Path) -> Iterator[str]:
    """The lines of a prepared text, without the blank ones between documents."""
    return (line for _, line in read_lines(path) if line)
