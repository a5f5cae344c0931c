"""Rows of sub-words, stored flat and gathered into padded batches of a few fixed lengths.

All sequences are in one long array. A batch is gathered by offsets on the device that holds the data
(on the GPU, inside a captured graph), so no row is padded twice and no batch is copied to the device
during training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

IGNORED = -100
"""A label that counts for nothing; `nan` for scores."""
LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512)
"""The lengths batches are padded to."""
FINER_LENGTHS = (40, 80, 112, 144, 160, 224, 288, 352)
"""Lengths between them, used where enough batches have them: each costs a captured graph."""
STEPS_IN_OCTAVE = 4
"""Numbers of tokens of packed batches between one distance from the usual number and twice it."""
MIN_BATCHES_FOR_LENGTH = 100
"""Batches of a training that are worth a finer length."""


@dataclass
class Rows:
    """The rows that a head makes from examples.

    Each row has `width` sequences (5 for five choices, else 1).
    """

    width: int = 1
    tokens: dict[str, list[np.ndarray]] = field(default_factory=dict)
    """By name, one array per sequence, all names of one sequence of equal length (`input_ids`,
    `token_type_ids`)."""
    dense: dict[str, np.ndarray] = field(default_factory=dict)
    """By name, one entry per row: labels, positions."""
    pads: dict[str, int] = field(default_factory=dict)
    """The padding of each of `tokens`; 0 unless named."""
    owner: list[int] = field(default_factory=list)
    """The number of the example each row came from; a long paragraph has several rows."""
    notes: list[Any] = field(default_factory=list)
    """By row, what the head needs to read the answer back; it never leaves the host."""
    lost: Counter[str] = field(default_factory=Counter)
    """Characters that no sub-word represents, if the head reads characters."""
    cost: float | None = None
    """Sub-words per character, once it was computed."""

    def __len__(self) -> int:
        return len(self.owner)

    @classmethod
    def one_each(cls, count: int, width: int = 1) -> Rows:
        """Rows for so many examples, one each; their tokens are still to come."""
        return cls(width=width, owner=list(range(count)))


class RowStore:
    """The rows as tensors on one device, with a last empty row that fills incomplete batches and
    counts for nothing.
    """

    def __init__(self, rows: Rows, device: Any) -> None:
        import torch

        self.n = len(rows)
        self.width = rows.width
        self.device = device
        first = next(iter(rows.tokens.values()))
        sizes = [len(s) for s in first] + [1] * rows.width
        self.sizes = np.array(sizes, dtype=np.int64)
        self.lengths = torch.tensor(sizes, device=device)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.starts = torch.tensor(starts, device=device)
        self.pads = {name: rows.pads.get(name, 0) for name in rows.tokens}
        self.tokens = {}
        for name, parts in rows.tokens.items():
            padding = [np.array([self.pads[name]], dtype=np.int64)] * rows.width
            flat = np.concatenate([*parts, *padding]).astype(np.int64)
            self.tokens[name] = torch.from_numpy(flat).to(device)
        self.dense = {}
        for name, values in rows.dense.items():
            is_score = values.dtype.kind == "f"
            filler: float = float("nan") if is_score else IGNORED
            empty = np.full((1, *values.shape[1:]), filler, dtype=values.dtype)
            whole = np.concatenate([values, empty]).astype(np.float32 if is_score else np.int64)
            self.dense[name] = torch.from_numpy(whole).to(device)

    def row_lengths(self) -> np.ndarray:
        """The longest sequence of each row."""
        longest: np.ndarray = self.sizes.reshape(-1, self.width).max(axis=1)[: self.n]
        return longest

    def row_tokens(self) -> np.ndarray:
        """The tokens of each row, and of the empty row."""
        tokens: np.ndarray = self.sizes.reshape(-1, self.width).sum(axis=1)
        return tokens

    def gather(self, rows: Any, length: int) -> dict[str, Any]:
        """The batch of these rows (a tensor of row numbers), padded to `length`.

        Can be captured in a CUDA graph.
        """
        import torch

        width = self.width
        which = (rows[:, None] * width + torch.arange(width, device=rows.device)).reshape(-1)
        steps = torch.arange(length, device=rows.device)
        size = self.lengths[which][:, None]
        real = steps < size
        place = self.starts[which][:, None] + torch.minimum(steps[None, :], size - 1)
        batch = {
            name: torch.where(real, flat[place], self.pads[name])
            for name, flat in self.tokens.items()
        }
        batch["attention_mask"] = real.long()
        if width > 1:
            batch = {name: value.view(-1, width, length) for name, value in batch.items()}
        return batch | {name: values[rows] for name, values in self.dense.items()}


@dataclass(frozen=True)
class Batch:
    """Row numbers, filled up to the batch size with the empty row, and the length to pad to."""

    rows: tuple[int, ...]
    length: int
    tokens: int = 0
    """The tokens to pack the batch into, filler included; 0: it is padded."""


def choose_lengths(sizes: np.ndarray, batch: int, epochs: float) -> tuple[int, ...]:
    """The lengths a training pads to: finer ones if many batches benefit.

    The choice depends on the rows alone, so it is the same on every device.
    """
    every = sorted((*LENGTHS, *FINER_LENGTHS))
    rows = np.bincount(np.searchsorted(every, sizes), minlength=len(every))
    lengths = []
    for length, count in zip(every, rows, strict=False):
        if length in LENGTHS or count * epochs >= MIN_BATCHES_FOR_LENGTH * batch:
            lengths.append(length)
    return tuple(lengths)


def plan_batches(
    sizes: np.ndarray, batch: int, longest: int, order: np.ndarray, lengths: Sequence[int] = LENGTHS
) -> list[Batch]:
    """Batches of rows alike in length, in the order given; as many as without fixed lengths.

    A row is padded to the smallest of `lengths` that holds it, but to no more than `longest`. What
    is left over of a length moves up to the next, so that one batch at most is incomplete.
    """
    allowed = [length for length in (*lengths, longest) if length <= longest]
    waiting: dict[int, list[int]] = {}
    for row in order.tolist():
        size = int(sizes[row])
        padded = next((length for length in allowed if size <= length), longest)
        waiting.setdefault(padded, []).append(row)
    batches: list[Batch] = []
    rest: list[int] = []
    for length in sorted(waiting):
        rows = rest + waiting[length]
        whole = len(rows) - len(rows) % batch
        batches += [Batch(tuple(rows[i : i + batch]), length) for i in range(0, whole, batch)]
        rest = rows[whole:]
    if rest:
        filler = [len(sizes)] * (batch - len(rest))
        batches.append(Batch(tuple(rest + filler), max(waiting)))
    return batches


def shuffle_rows(n: int, seed: int, epoch: int) -> np.ndarray:
    """The order of the rows in an epoch: the same for a seed on any machine."""
    return np.random.default_rng([seed, epoch]).permutation(n)


def plan_epoch(
    store: RowStore,
    batch: int,
    longest: int,
    key: tuple[int, int],
    lengths: Sequence[int] = LENGTHS,
) -> list[Batch]:
    """The batches of one epoch, in random order; `key` is the seed and the number of the epoch."""
    batches = plan_batches(
        store.row_lengths(), batch, longest, shuffle_rows(store.n, *key), lengths
    )
    order = np.random.default_rng([*key, 1]).permutation(len(batches))
    return [batches[i] for i in order]


def plan_packed_epoch(
    store: RowStore, batch: int, longest: int, key: tuple[int, int]
) -> list[Batch]:
    """The batches of one epoch for packing: each has rows of all lengths, so that all have about as
    many tokens.

    `key` is the seed and the number of the epoch. One batch at most is incomplete.
    """
    count = -(-store.n // batch)
    if not count:
        return []
    draw = np.random.default_rng([*key, 2])
    tokens = store.row_tokens()
    order = shuffle_rows(store.n, *key)
    order = order[np.argsort(tokens[order], kind="stable")]
    dealt = np.full((batch, count), store.n)
    missing = set(draw.permutation(batch)[: batch * count - store.n].tolist())
    start = 0
    for place in range(batch):  # the rows from short to long, one to each batch
        end = start + count - (place in missing)
        dealt[place, : end - start] = draw.permutation(order[start:end])
        start = end
    sums = tokens[dealt].sum(axis=0)
    packed = round_tokens(sums, float(tokens[:-1].mean()) * batch)
    fits = packed[: count - 1][packed[: count - 1] >= sums[-1]]
    if missing and len(fits):  # an incomplete batch needs no shape of its own
        packed[-1] = fits.min()
    batches = [  # the longest rows first: on a GPU the work that is left at the end is small
        Batch(tuple(rows[::-1]), longest, int(size))
        for rows, size in zip(dealt.T.tolist(), packed, strict=True)
    ]
    return [batches[i] for i in draw.permutation(count)]


def round_tokens(sums: np.ndarray, usual: float) -> np.ndarray:
    """The tokens that batches of so many are packed into: multiples of `packing_step` around the
    usual number, coarser ones far from it, so that long rows do not make hundreds of graphs.

    >>> round_tokens(np.array([800, 801, 1500, 4000]), 810).tolist()
    [800, 816, 1584, 4400]
    """
    step = packing_step(usual)
    middle = round(usual / step) * step
    apart = sums - middle
    octaves = np.floor(np.log2(np.maximum(np.abs(apart), 1) / (STEPS_IN_OCTAVE * step)))
    grain = step * 2 ** np.maximum(octaves, 0).astype(np.int64)
    rounded: np.ndarray = middle - (-apart // grain) * grain
    return rounded


def packing_step(tokens: float) -> int:
    """What the tokens of a packed batch are a multiple of: about a 64th of them.

    >>> packing_step(3600), packing_step(800)
    (64, 16)
    """
    return int(min(256, max(16, 2 ** round(np.log2(max(1.0, tokens / 64))))))
