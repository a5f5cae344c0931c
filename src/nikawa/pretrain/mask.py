"""Whole-word masking, drawn where the data lies.

Every word of a window gets a number from (seed, step, place) and the words of the smallest numbers are predicted until
a fixed count of pieces is reached; a word that would not fit whole is left out. Of the chosen pieces 80% become [MASK],
10% another piece, 10% stay (Devlin et al. 2019). Nothing is remembered between steps: a resumed training draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BITS = 0xFFFF_FFFF
_CHOOSE, _FATE, _OTHER = 0x1F12_3BB5, 0x3C6E_F372, 0x5A1D_4C27
"""What the draws of one place are told apart by."""


@dataclass(frozen=True)
class Pieces:
    """What masking must know of a vocabulary: `first` to `end` are the pieces that may stand in for another."""

    cls: int
    sep: int
    mask: int
    first: int
    end: int


@dataclass(frozen=True)
class Masked:
    """A batch ready to be learned; `at` are flat places, `weight` 0 where a row has fewer pieces to predict."""

    ids: Any
    at: Any
    gold: Any
    weight: Any


def count_of(length: int, share: float) -> int:
    """Places of a row that are predicted: one more than the share asks, as the word at the edge is left out."""
    return min(length - 3, round(share * length) + 1)


def mixed(value: Any) -> Any:
    """A number of 32 bits for each number of 32 bits, as if drawn (a multiply-xorshift hash).

    Both factors are under 2**31, so no product leaves 64 bits: the same on every device.
    """
    value = ((value ^ (value >> 16)) * 0x21F0_AAAD) & BITS
    value = ((value ^ (value >> 15)) * 0x735A_2D97) & BITS
    return value ^ (value >> 15)


def draw(places: Any, step: Any, seed: int, lane: int) -> Any:
    """A number under 2**32 for each place, by seed, step and lane."""
    start = mixed((step + (seed * 0x9E37_79B1 & BITS)) & BITS)
    return mixed((mixed((places ^ lane) & BITS) + start) & BITS)


def masked(ids: Any, begins: Any, step: Any, settings: tuple[int, float], pieces: Pieces) -> Masked:
    """Choose and hide words of windows `ids` whose words begin where `begins` is true; settings: seed and share."""
    import torch

    seed, share = settings
    rows, length = ids.shape
    count = count_of(length, share)
    places = torch.arange(rows * length, device=ids.device).view(rows, length)
    fixed = (ids == pieces.cls) | (ids == pieces.sep)
    word = torch.where(begins | fixed, places, 0).cummax(dim=1).values
    keys = torch.where(fixed, BITS + 1, draw(word, step, seed, _CHOOSE))
    order = keys.sort(dim=1, stable=True)
    edge = order.values[:, count : count + 1]
    chosen, inside = keys < edge, order.values[:, :count] < edge
    fate = draw(places, step, seed, _FATE)
    other = pieces.first + draw(places, step, seed, _OTHER) % (pieces.end - pieces.first)
    hidden = torch.where(
        fate < int(0.8 * BITS), pieces.mask, torch.where(fate < int(0.9 * BITS), other, ids)
    )
    at = (order.indices[:, :count] + places[:, :1]).reshape(-1)
    return Masked(
        torch.where(chosen, hidden, ids), at, ids.reshape(-1)[at], inside.reshape(-1).float()
    )
