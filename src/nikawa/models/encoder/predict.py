"""Outputs of a trained model: rows alike in length together, in large batches of few shapes, back
in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import numpy as np

from nikawa.models.encoder.batches import LENGTHS, Rows, RowStore

Outputs = Callable[[Any, dict[str, Any]], tuple[Any, ...]]
"""From a model and a batch to tensors with one entry per row."""
GPU_BATCH_TOKENS, CPU_BATCH_TOKENS = 32768, 2048
"""Sub-words in a batch."""


def compute_outputs(
    model: Any, rows: Rows, outputs: Outputs, device: Any, bf16: bool = False
) -> tuple[list[tuple[np.ndarray, ...]], set[int]]:
    """The outputs of every row, in order, and the numbers of the rows whose outputs are not finite."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if not len(rows):
        return [], set()
    on_gpu = device.type == "cuda"
    precision: Any = nullcontext()
    if bf16 and on_gpu:  # a copy: the model itself keeps its float32 weights
        model = deepcopy(model).to(device, torch.bfloat16)
    else:
        model = model.to(device)
        if bf16:
            precision = torch.autocast(device.type, torch.bfloat16)
    store = RowStore(rows, device)
    pending: list[tuple[np.ndarray, tuple[Any, ...]]] = []
    attention: Any = nullcontext()
    if on_gpu:  # kernels that need no plan for each new shape: answers are computed once
        attention = sdpa_kernel(
            [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        )
    with torch.inference_mode(), precision, attention:
        for length, batch in _plan_answer_batches(store.row_lengths(), store.width, on_gpu):
            numbers = torch.from_numpy(batch).to(device)
            pending.append((batch, outputs(model, store.gather(numbers, length))))
    results: list[tuple[np.ndarray, ...]] = [()] * len(rows)
    not_finite: set[int] = set()
    for batch, tensors in pending:  # copied once everything is under way: the device never waits
        arrays = [tensor.float().cpu().numpy() for tensor in tensors]
        all_finite = all(np.isfinite(array).all() for array in arrays)
        for place, row in enumerate(batch.tolist()):
            if row >= len(rows):
                continue
            results[row] = tuple(array[place] for array in arrays)
            if not all_finite and not all(np.isfinite(array).all() for array in results[row]):
                not_finite.add(row)
    return results, not_finite


def _plan_answer_batches(
    sizes: np.ndarray, width: int, on_gpu: bool
) -> Iterator[tuple[int, np.ndarray]]:
    """Rows of one fixed length together.

    On a GPU they are padded with the empty row to a power of two.
    """
    longest = int(sizes.max())
    lengths = np.array([*(n for n in LENGTHS if n < longest), longest])
    classes = np.searchsorted(lengths, sizes)
    tokens = GPU_BATCH_TOKENS if on_gpu else CPU_BATCH_TOKENS
    for number in np.unique(classes):
        length = int(lengths[number])
        members = np.flatnonzero(classes == number)
        most = max(1, tokens // (length * width))
        most = 1 << (most.bit_length() - 1)
        for start in range(0, len(members), most):
            batch = members[start : start + most]
            size = 1 << (len(batch) - 1).bit_length() if on_gpu else len(batch)
            yield length, np.concatenate([batch, np.full(size - len(batch), len(sizes))])
