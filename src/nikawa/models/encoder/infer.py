"""Answers from a trained model: long rows with long rows, in large batches of few shapes, back in the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from nikawa.models.encoder.store import LENGTHS, Rows, Store

Outputs = Callable[[Any, dict[str, Any]], tuple[Any, ...]]
TOKENS = 32768
"""Sub-words in a batch on a card; a processor takes fewer."""


def infer(
    model: Any, rows: Rows, outputs: Outputs, device: Any, low: bool = False
) -> list[tuple[np.ndarray, ...]]:
    """The outputs of every row, in order; with `low` in bf16."""
    return inferred(model, rows, outputs, device, low)[0]


def inferred(
    model: Any, rows: Rows, outputs: Outputs, device: Any, low: bool = False
) -> tuple[list[tuple[np.ndarray, ...]], set[int]]:
    """The outputs of every row, in order, and the rows whose outputs are no numbers."""
    import torch

    if not len(rows):
        return [], set()
    card = device.type == "cuda"
    used = _lighter(model, device) if low and card else model.to(device)
    store = Store(rows, device)
    found: list[tuple[np.ndarray, ...]] = [()] * len(rows)
    held: list[tuple[np.ndarray, tuple[Any, ...]]] = []
    casts = torch.autocast(device.type, torch.bfloat16) if low and not card else nullcontext()
    with torch.inference_mode(), casts, _attention(card):
        for length, batch in _batches(store.row_lengths(), store.width, card):
            at = torch.from_numpy(batch).to(device)
            held.append((batch, outputs(used, store.gather(at, length))))
    strange: set[int] = set()
    for (
        batch,
        tensors,
    ) in held:  # copied once everything is under way, so that the device never waits
        arrays = [t.float().cpu().numpy() for t in tensors]
        for place, row in enumerate(batch.tolist()):
            if row < len(rows):
                found[row] = tuple(array[place] for array in arrays)
        if not all(np.isfinite(array).all() for array in arrays):
            strange |= {
                r
                for r in batch.tolist()
                if r < len(rows) and not all(np.isfinite(a).all() for a in found[r])
            }
    return found, strange


def _lighter(model: Any, device: Any) -> Any:
    """A copy in bf16; the model itself keeps its float32 weights."""
    from copy import deepcopy

    import torch

    return deepcopy(model).to(device, torch.bfloat16)


def _attention(card: bool) -> Any:
    """Kernels that need no plan for each new shape: answers are asked once, not thousands of times."""
    if not card:
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel(
        [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    )


def _batches(sizes: np.ndarray, width: int, card: bool) -> Iterator[tuple[int, np.ndarray]]:
    """Rows of one fixed length together; on a card filled up with the empty row to a power of two."""
    longest = int(sizes.max())
    lengths = np.array([*(n for n in LENGTHS if n < longest), longest])
    kinds = np.searchsorted(lengths, sizes)
    for kind in np.unique(kinds):
        length = int(lengths[kind])
        which = np.flatnonzero(kinds == kind)
        most = max(1, (TOKENS if card else TOKENS // 16) // (length * width))
        most = 1 << (most.bit_length() - 1)
        for start in range(0, len(which), most):
            batch = which[start : start + most]
            size = 1 << (len(batch) - 1).bit_length() if card else len(batch)
            yield length, np.concatenate([batch, np.full(size - len(batch), len(sizes))])
