"""Rows of sub-words, kept flat and gathered into padded batches of a few fixed lengths.

Every sequence lies in one long array; a batch is gathered by offsets where the data lies (on the card, inside a
captured graph), so no row is padded twice and no batch crosses to the device while training.
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
FINER = (40, 80, 112, 144, 160, 224, 288, 352)
"""Lengths between them, used where enough batches have them: each costs a captured graph."""
ENOUGH = 100
"""Batches of a training that are worth a length of their own."""


@dataclass
class Rows:
    """What a head makes of examples: rows of the same width (sequences a row: 5 for five choices, else 1)."""

    width: int = 1
    tokens: dict[str, list[np.ndarray]] = field(default_factory=dict)
    """By name, one array a sequence, all names of one sequence of equal length (`input_ids`, `token_type_ids`)."""
    dense: dict[str, np.ndarray] = field(default_factory=dict)
    """By name, one entry a row: labels, positions."""
    pads: dict[str, int] = field(default_factory=dict)
    """What fills up each of `tokens`; 0 unless named."""
    owner: list[int] = field(default_factory=list)
    """The example each row came from; a long paragraph makes several rows."""
    notes: list[Any] = field(default_factory=list)
    """What the head needs to read the answer back, a row; never leaves the host."""
    lost: Counter[str] = field(default_factory=Counter)
    """Characters that no piece stands for, where characters were asked for."""
    cost: float | None = None
    """Pieces a character, once it was asked for."""

    def __len__(self) -> int:
        return len(self.owner)


class Store:
    """The rows as tensors on one device, with a last row that counts for nothing and fills incomplete batches."""

    def __init__(self, rows: Rows, device: Any) -> None:
        import torch

        self.n, self.width, self.device = len(rows), rows.width, device
        first = next(iter(rows.tokens.values()))
        sizes = [len(s) for s in first] + [1] * rows.width
        self.sizes = np.array(sizes, dtype=np.int64)
        self.lengths = torch.tensor(sizes, device=device)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.starts = torch.tensor(starts, device=device)
        self.pads = {name: rows.pads.get(name, 0) for name in rows.tokens}
        self.tokens = {
            name: _flat(list(parts), rows.width, self.pads[name], device)
            for name, parts in rows.tokens.items()
        }
        self.dense = {name: _with_ignored(values, device) for name, values in rows.dense.items()}

    def row_lengths(self) -> np.ndarray:
        """The longest sequence of each row."""
        longest: np.ndarray = self.sizes.reshape(-1, self.width).max(axis=1)[: self.n]
        return longest

    def gather(self, rows: Any, length: int) -> dict[str, Any]:
        """The batch of these rows (a tensor of row numbers), padded to `length`; runs inside a captured graph."""
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


def _flat(parts: list[np.ndarray], width: int, pad: int, device: Any) -> Any:
    import torch

    parts += [np.array([pad], dtype=np.int64)] * width
    return torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(device)


def _with_ignored(values: np.ndarray, device: Any) -> Any:
    """The values and one more row: no number for scores, `IGNORED` for labels."""
    import torch

    filler: float = float("nan") if values.dtype.kind == "f" else IGNORED
    more = np.full((1, *values.shape[1:]), filler, dtype=values.dtype)
    whole = np.concatenate([values, more])
    return torch.from_numpy(whole.astype(np.float32 if values.dtype.kind == "f" else np.int64)).to(
        device
    )


@dataclass(frozen=True)
class Batch:
    """Row numbers, filled up to the batch size with the empty row, and the length to pad to."""

    rows: tuple[int, ...]
    length: int


def bucket(length: int, longest: int, lengths: Sequence[int] = LENGTHS) -> int:
    """The smallest fixed length that holds `length`."""
    return next((size for size in (*lengths, longest) if length <= size <= longest), longest)


def lengths_for(sizes: np.ndarray, batch: int, epochs: float) -> tuple[int, ...]:
    """The lengths a training pads to: finer ones where many batches gain by them. Told by the rows, not by the device."""
    every = sorted((*LENGTHS, *FINER))
    rows = np.bincount(np.searchsorted(every, sizes), minlength=len(every))
    return tuple(
        n
        for n, count in zip(every, rows, strict=False)
        if n in LENGTHS or count * epochs >= ENOUGH * batch
    )


def plan(
    sizes: np.ndarray, batch: int, longest: int, order: np.ndarray, lengths: Sequence[int] = LENGTHS
) -> list[Batch]:
    """Batches of rows alike in length, in the order given; as many as without buckets.

    What is left over of a length moves up to the next, so that one batch at most is incomplete.
    """
    waiting: dict[int, list[int]] = {}
    for row in order.tolist():
        waiting.setdefault(bucket(int(sizes[row]), longest, lengths), []).append(row)
    made: list[Batch] = []
    over: list[int] = []
    for length in sorted(waiting):
        rows = over + waiting[length]
        whole = len(rows) - len(rows) % batch
        made += [Batch(tuple(rows[i : i + batch]), length) for i in range(0, whole, batch)]
        over = rows[whole:]
    if over:
        filler = [len(sizes)] * (batch - len(over))
        made.append(Batch(tuple(over + filler), max(waiting)))
    return made


def shuffled(n: int, seed: int, epoch: int) -> np.ndarray:
    """The order of an epoch: the same for a seed on any machine."""
    return np.random.default_rng([seed, epoch]).permutation(n)


def epoch_plan(
    store: Store, batch: int, longest: int, key: tuple[int, int], lengths: Sequence[int] = LENGTHS
) -> list[Batch]:
    """The batches of one epoch (seed and number), themselves in random order."""
    made = plan(store.row_lengths(), batch, longest, shuffled(store.n, *key), lengths)
    order = np.random.default_rng([*key, 1]).permutation(len(made))
    return [made[i] for i in order]
