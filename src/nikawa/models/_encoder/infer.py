"""Answers from a trained model: long rows with long rows, in large batches, back in the order of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nikawa.models._encoder.store import Rows, Store, plan

Outputs = Callable[[Any, dict[str, Any]], tuple[Any, ...]]
TOKENS = 16384
"""Sub-words in a batch on a card; a processor takes fewer."""


def infer(model: Any, rows: Rows, outputs: Outputs, device: Any, low: bool = False) -> list[tuple[np.ndarray, ...]]:  # fmt: skip
    """The outputs of every row, in order."""
    import torch

    if not len(rows):
        return []
    model.to(device)
    store = Store(rows, device)
    sizes = store.row_lengths()
    longest = int(sizes.max())
    found: list[tuple[np.ndarray, ...]] = [()] * len(rows)
    held: list[tuple[Any, tuple[Any, ...]]] = []
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=low):
        for length, batch in _batches(sizes, longest, store.width, device.type == "cuda"):
            at = torch.tensor(batch, device=device)
            held.append((batch, outputs(model, store.gather(at, length))))
    for batch, tensors in held:  # copied once everything is under way, so that the device never waits
        arrays = [t.float().cpu().numpy() for t in tensors]
        for place, row in enumerate(batch):
            if row < len(rows):
                found[row] = tuple(array[place] for array in arrays)
    return found


def _batches(sizes: np.ndarray, longest: int, width: int, card: bool) -> list[tuple[int, list[int]]]:
    room = TOKENS if card else TOKENS // 8
    order = np.argsort(sizes, kind="stable")
    made: list[tuple[int, list[int]]] = []
    for group in plan(sizes, 1, longest, order):
        if made and made[-1][0] == group.length and len(made[-1][1]) * group.length * width < room:
            made[-1][1].append(group.rows[0])
        else:
            made.append((group.length, [group.rows[0]]))
    return made
