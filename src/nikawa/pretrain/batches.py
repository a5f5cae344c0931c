"""Batches to learn from: windows of a packed stream, drawn on the device that holds it.

The order of a round over the text, and where its windows begin, come from (seed, length, round)
alone, so any step can be looked up without the ones before it.

Every word of a window gets a number from (seed, step, place) and the words of the smallest numbers
are predicted until a fixed count of tokens is reached; a word that would not fit whole is left out.
Of the chosen tokens 80% become [MASK], 10% another token, 10% stay (Devlin et al. 2019). Nothing is
remembered between steps: a resumed training draws the same.

A causal model predicts the next token of every window instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.pretrain.settings import TrainSettings

MAX_DRAW = 0xFFFF_FFFF
_CHOICE, _FATE, _OTHER = 0x1F12_3BB5, 0x3C6E_F372, 0x5A1D_4C27
"""What makes the three draws of one place differ."""


@dataclass(frozen=True)
class MaskVocabulary:
    """The parts of a vocabulary that masking needs: `first` to `end` are the tokens that may replace
    another.
    """

    cls: int
    """Id of the token that begins a window."""
    sep: int
    """Id of the token that ends a window and parts documents."""
    mask: int
    first: int
    end: int


@dataclass(frozen=True)
class Batch:
    """A batch ready to be learned.

    `at` are flat places, `weight` 0 where a row has fewer tokens to predict.
    """

    ids: Any
    """Windows, with words hidden where masked words are predicted."""
    at: Any
    """None: every place predicts."""
    gold: Any
    """The tokens to predict at these places."""
    weight: Any


class WindowOrder:
    """Where the windows of each step begin.

    A round takes all windows once, shifted a little from the last round's.
    """

    def __init__(
        self, tokens: int, length: int, rows: int, seed: int, file: Path | None = None
    ) -> None:
        self.span, self.rows, self.seed = length - 2, rows, seed
        if tokens < self.span:
            what = f"has {tokens:,} tokens, but a window needs {self.span}"
            raise BadInput(what, file=file, cure="add text")
        self.windows = max(1, tokens // self.span - 1)
        """Windows of a round."""
        self._slack = tokens - self.windows * self.span
        self._last_round: tuple[int, np.ndarray] | None = None

    def starts(self, first: int, steps: int) -> np.ndarray:
        """The beginnings of the windows of steps `first` to `first + steps`, one row per step."""
        places = np.arange(first * self.rows, (first + steps) * self.rows)
        rounds = places // self.windows
        starts = np.empty(len(places), dtype=np.int64)
        for number in range(int(rounds[0]), int(rounds[-1]) + 1):
            in_round = rounds == number
            starts[in_round] = self._draw_round(number)[places[in_round] % self.windows]
        return starts.reshape(steps, self.rows)

    def _draw_round(self, number: int) -> np.ndarray:
        """The beginnings of all windows of a round, in the order they are taken.

        The last round is kept.
        """
        if self._last_round is None or self._last_round[0] != number:
            draw = np.random.default_rng([self.seed, self.span, number])
            shift = int(draw.integers(min(self.span, self._slack + 1)))
            self._last_round = (number, draw.permutation(self.windows) * self.span + shift)
        return self._last_round[1]


def cut_windows(
    stream: Any, starts: Any, length: int, vocabulary: MaskVocabulary
) -> tuple[Any, Any]:
    """Windows [CLS] … [SEP] of the stream, and where words begin in them."""
    import torch
    from torch.nn.functional import pad

    inside = torch.arange(length - 2, device=starts.device)
    windows = stream[starts[:, None] + inside].long()
    # the stream stores twice the id, plus one if a word begins
    ids = pad(windows >> 1, (1, 0), value=vocabulary.cls)
    ids = pad(ids, (0, 1), value=vocabulary.sep)
    begins = (windows & 1).bool()
    return ids, pad(begins, (1, 1), value=True)


def mask_words(
    ids: Any, begins: Any, step: Any, vocabulary: MaskVocabulary, *, seed: int, share: float
) -> Batch:
    """Choose and hide words of windows `ids` whose words begin where `begins` is true.

    `step` is a tensor with the number of the step, so that a captured graph draws again each time;
    `share` of the tokens are predicted.
    """
    import torch

    rows, length = ids.shape
    count = count_masked(length, share)
    places = torch.arange(rows * length, device=ids.device).view(rows, length)
    fixed = (ids == vocabulary.cls) | (ids == vocabulary.sep)
    word = torch.where(begins | fixed, places, 0).cummax(dim=1).values
    keys = torch.where(fixed, MAX_DRAW + 1, draw_numbers(word, step, seed, _CHOICE))
    order = keys.sort(dim=1, stable=True)
    edge = order.values[:, count : count + 1]
    chosen, inside = keys < edge, order.values[:, :count] < edge
    fate = draw_numbers(places, step, seed, _FATE)
    size = vocabulary.end - vocabulary.first
    other = vocabulary.first + draw_numbers(places, step, seed, _OTHER) % size
    other_or_same = torch.where(fate < int(0.9 * MAX_DRAW), other, ids)
    hidden = torch.where(fate < int(0.8 * MAX_DRAW), vocabulary.mask, other_or_same)
    at = (order.indices[:, :count] + places[:, :1]).reshape(-1)
    return Batch(
        ids=torch.where(chosen, hidden, ids),
        at=at,
        gold=ids.reshape(-1)[at],
        weight=inside.reshape(-1).float(),
    )


def shift_tokens(ids: Any) -> Batch:
    """Let every place of windows `ids` predict the token after it.

    The marks at both ends of a window are no text: neither what follows the first nor the last is
    predicted.
    """
    import torch

    weight = torch.ones(ids.shape, device=ids.device)
    weight[:, 0] = 0
    weight[:, -2:] = 0
    gold = torch.roll(ids, -1, dims=1)
    return Batch(ids=ids, at=None, gold=gold.reshape(-1), weight=weight.reshape(-1))


def draw_batch(
    stream: Any,
    starts: Any,
    length: int,
    step: Any,
    vocabulary: MaskVocabulary,
    settings: TrainSettings,
    seed: int,
) -> Batch:
    """The windows that begin at `starts`, as the objective of the settings needs them."""
    ids, begins = cut_windows(stream, starts, length, vocabulary)
    if settings.is_causal:
        return shift_tokens(ids)
    return mask_words(ids, begins, step, vocabulary, seed=seed, share=settings.mask)


def count_masked(length: int, share: float) -> int:
    """Places of a row that are predicted: one more than the share asks, as the word at the edge is
    left out.
    """
    return min(length - 3, round(share * length) + 1)


def draw_numbers(places: Any, step: Any, seed: int, lane: int) -> Any:
    """A number under 2**32 for each place, by seed, step and lane."""
    start = mix_bits((step + (seed * 0x9E37_79B1 & MAX_DRAW)) & MAX_DRAW)
    return mix_bits((mix_bits((places ^ lane) & MAX_DRAW) + start) & MAX_DRAW)


def mix_bits(value: Any) -> Any:
    """A number of 32 bits for each number of 32 bits, as if drawn (a multiply-xorshift hash).

    Both factors are under 2**31, so no product leaves 64 bits: the same on every device.
    """
    value = ((value ^ (value >> 16)) * 0x21F0_AAAD) & MAX_DRAW
    value = ((value ^ (value >> 15)) * 0x735A_2D97) & MAX_DRAW
    return value ^ (value >> 15)
