"""The kernels of packed batches, written in Triton: where each token lies, rows moved there and
back, the of_joint of small tables, and attention within each sequence.

Attention has query, key and value in one matrix, its softmax takes one pass over the keys (Dao
2023), and its dropout hashes the place of each weight. Sums have a fixed order, so that a run
repeats bit for bit.
"""

# ruff: noqa: N803 - constants of a kernel are written in capitals, as Triton does
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from dataclasses import dataclass
from math import e, log2
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

LOG2_E = log2(e)


class Tile(NamedTuple):
    """What a program of attention looks at together, at most, and how it is compiled."""

    queries: int
    keys: int
    warps: int
    stages: int

    def fit(self, longest: int) -> tuple[int, int]:
        """The queries and keys for sequences that are not longer than this."""
        needed = max(16, triton.next_power_of_2(longest))
        return min(self.queries, needed), min(self.keys, needed)


FORWARD = Tile(64, 32, 4, 3)
BACKWARD = Tile(64, 64, 4, 1)
SUM_PROGRAMS = 384
"""Programs that share the sums of a small table."""


class Layout(NamedTuple):
    """Where the sequences of a batch are in the one row of tokens, and back."""

    starts: Any
    """Where each sequence starts, and where the last one ends. Sequences of filler come last."""
    longest: int
    """The most tokens of a sequence."""
    place: Any
    """For each token where it is in the padded batch; 0 for filler."""
    source: Any
    """The same, but -1 for filler."""
    position: Any
    """For each token where it is in its sequence."""
    back: Any
    """For each place of the padded batch the token; -1 for padding."""


@dataclass(frozen=True)
class AttentionShape:
    """What the kernels must know of an attention."""

    heads: int
    dim: int
    scale: float
    share: float
    """What dropout drops."""


@triton.jit
def _mix(x):
    """A hash of 32 bits."""
    x ^= x >> 16
    x *= 0x7FEB352D
    x ^= x >> 15
    x *= 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def _hash_rows(seed, row):
    """What the hash of each weight of a row begins with."""
    x = _mix(row.to(tl.uint32) * 0x9E3779B1 ^ (seed & 0xFFFFFFFF).to(tl.uint32))
    return x + ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)


@triton.jit
def _keep_weights(hashes, column, threshold):
    """Whether the weight of each row and column is kept."""
    x = _mix(hashes[:, None] ^ (column.to(tl.uint32) * 0x85EBCA6B)[None, :])
    return x >= threshold.to(tl.uint32)


@triton.jit
def _read_rows(values, start, row, size, width, DIM: tl.constexpr):
    offsets = (start + row).to(tl.int64)[:, None] * width + tl.arange(0, DIM)[None, :]
    return tl.load(values + offsets, mask=(row < size)[:, None], other=0.0)


@triton.jit
def _write_rows(values, start, row, size, width, content, DIM: tl.constexpr):
    offsets = (start + row).to(tl.int64)[:, None] * width + tl.arange(0, DIM)[None, :]
    tl.store(values + offsets, content.to(values.dtype.element_ty), mask=(row < size)[:, None])


@triton.jit
def _attend(
    joint,
    starts,
    out,
    norms,
    seed,
    tokens,
    heads,
    factor,
    threshold,
    keep_scale,
    DROPS: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    first = tl.program_id(0) * ROWS
    head = tl.program_id(1)
    start = tl.load(starts + tl.program_id(2))
    size = tl.load(starts + tl.program_id(2) + 1) - start
    width = heads * DIM
    if first < size:
        row = first + tl.arange(0, ROWS)
        q = _read_rows(joint + head * DIM, start, row, size, 3 * width, DIM)
        hashes = _hash_rows(tl.load(seed), head * tokens + start + row)
        largest = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
        total = tl.zeros((ROWS,), dtype=tl.float32)
        sums = tl.zeros((ROWS, DIM), dtype=tl.float32)
        for begin in range(0, size, COLUMNS):
            column = begin + tl.arange(0, COLUMNS)
            k = _read_rows(joint + width + head * DIM, start, column, size, 3 * width, DIM)
            v = _read_rows(joint + 2 * width + head * DIM, start, column, size, 3 * width, DIM)
            scores = tl.dot(q, tl.trans(k)) * factor
            scores = tl.where((column < size)[None, :], scores, float("-inf"))
            new = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.exp2(scores - new[:, None])
            less = tl.exp2(largest - new)
            total = total * less + tl.sum(weights, 1)
            if DROPS:
                weights = tl.where(_keep_weights(hashes, column, threshold), weights, 0.0)
            sums = sums * less[:, None] + tl.dot(weights.to(v.dtype), v)
            largest = new
        _write_rows(
            out + head * DIM, start, row, size, width, sums * keep_scale / total[:, None], DIM
        )
        places = head * tokens + start + row
        tl.store(norms + places, largest + tl.log2(total), mask=row < size)


@triton.jit
def _read_queries(
    q_part, out, gradient, norms, value, start, row, size, head, heads, tokens, DIM: tl.constexpr
):
    """What the backward pass needs of some queries: themselves, the gradient of their output, the
    norm of their weights, the mean of the gradient over the weights, and the hashes of dropout.
    """
    width = heads * DIM
    q = _read_rows(q_part, start, row, size, 3 * width, DIM)
    g = _read_rows(gradient + head * DIM, start, row, size, width, DIM)
    o = _read_rows(out + head * DIM, start, row, size, width, DIM)
    places = head * tokens + start + row
    norm = tl.load(norms + places, mask=row < size, other=0.0)
    mean = tl.sum(g.to(tl.float32) * o.to(tl.float32), 1)
    return q, g, norm, mean, _hash_rows(value, places)


@triton.jit
def _weights_and_gradients(
    q,
    k,
    v,
    g,
    norm,
    mean,
    valid,
    hashes,
    column,
    factor,
    threshold,
    keep_scale,
    DROPS: tl.constexpr,
):
    """The weights after dropout, and the gradients of the scores."""
    weights = tl.exp2(tl.dot(q, tl.trans(k)) * factor - norm[:, None])
    weights = tl.where(valid, weights, 0.0)
    of_scores = tl.dot(g, tl.trans(v))
    dropped = weights
    if DROPS:
        kept = _keep_weights(hashes, column, threshold)
        dropped = tl.where(kept, weights * keep_scale, 0.0)
        of_scores = tl.where(kept, of_scores * keep_scale, 0.0)
    return dropped, weights * (of_scores - mean[:, None])


@triton.jit
def _attend_backward(
    joint,
    starts,
    out,
    norms,
    gradient,
    of_joint,
    seed,
    tokens,
    heads,
    factor,
    scale,
    threshold,
    keep_scale,
    blocks,
    DROPS: tl.constexpr,
    DIM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The first programs of a sequence have a block of keys and sum over the queries, the others a
    block of queries and sum over the keys. A sequence whose keys are one block needs no others.
    """
    head = tl.program_id(1)
    start = tl.load(starts + tl.program_id(2))
    size = tl.load(starts + tl.program_id(2) + 1) - start
    width = heads * DIM
    value = tl.load(seed)
    q_part = joint + head * DIM
    k_part = q_part + width
    v_part = k_part + width
    if tl.program_id(0) < blocks:
        first = tl.program_id(0) * COLUMNS
        if first < size:
            column = first + tl.arange(0, COLUMNS)
            k = _read_rows(k_part, start, column, size, 3 * width, DIM)
            v = _read_rows(v_part, start, column, size, 3 * width, DIM)
            of_k = tl.zeros((COLUMNS, DIM), dtype=tl.float32)
            of_v = tl.zeros((COLUMNS, DIM), dtype=tl.float32)
            for begin in range(0, size, ROWS):
                row = begin + tl.arange(0, ROWS)
                q, g, norm, mean, hashes = _read_queries(
                    q_part, out, gradient, norms, value, start, row, size, head, heads, tokens, DIM
                )
                valid = (row < size)[:, None] & (column < size)[None, :]
                dropped, of_scores = _weights_and_gradients(
                    q,
                    k,
                    v,
                    g,
                    norm,
                    mean,
                    valid,
                    hashes,
                    column,
                    factor,
                    threshold,
                    keep_scale,
                    DROPS,
                )
                of_v += tl.dot(tl.trans(dropped.to(g.dtype)), g)
                of_scores = of_scores.to(q.dtype)
                of_k += tl.dot(tl.trans(of_scores), q)
                if size <= COLUMNS:
                    of_q = tl.dot(of_scores, k) * scale
                    _write_rows(of_joint + head * DIM, start, row, size, 3 * width, of_q, DIM)
            of_k_and_v = of_joint + width + head * DIM
            _write_rows(of_k_and_v, start, column, size, 3 * width, of_k * scale, DIM)
            _write_rows(of_k_and_v + width, start, column, size, 3 * width, of_v, DIM)
    else:
        first = (tl.program_id(0) - blocks) * ROWS
        if (first < size) & (size > COLUMNS):
            row = first + tl.arange(0, ROWS)
            q, g, norm, mean, hashes = _read_queries(
                q_part, out, gradient, norms, value, start, row, size, head, heads, tokens, DIM
            )
            of_q = tl.zeros((ROWS, DIM), dtype=tl.float32)
            for begin in range(0, size, COLUMNS):
                column = begin + tl.arange(0, COLUMNS)
                k = _read_rows(k_part, start, column, size, 3 * width, DIM)
                v = _read_rows(v_part, start, column, size, 3 * width, DIM)
                valid = (row < size)[:, None] & (column < size)[None, :]
                _, of_scores = _weights_and_gradients(
                    q,
                    k,
                    v,
                    g,
                    norm,
                    mean,
                    valid,
                    hashes,
                    column,
                    factor,
                    threshold,
                    keep_scale,
                    DROPS,
                )
                of_q += tl.dot(of_scores.to(k.dtype), k)
            _write_rows(of_joint + head * DIM, start, row, size, 3 * width, of_q * scale, DIM)


@triton.jit
def _pick_rows(values, index, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    source = tl.load(index + row).to(tl.int64)
    place = tl.arange(0, BLOCK)
    there = place < tl.where(source >= 0, width, 0)
    content = tl.load(values + source * width + place, mask=there, other=0.0)
    tl.store(out + row * width + place, content, mask=place < width)


def pick_rows(values: Any, index: Any) -> Any:
    """The rows of a contiguous matrix at these places, and zeros for a place of -1."""
    width = values.shape[-1]
    out = values.new_empty((index.numel(), width))
    block = triton.next_power_of_2(width)
    _pick_rows[(len(out),)](
        values, index, out, width, BLOCK=block, num_warps=4 if block > 256 else 1
    )
    return out


@triton.jit
def _sum_by_index(
    gradient,
    index,
    partial,
    tokens,
    entries,
    width,
    share,
    STEP: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    entry = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(2)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(part * share, tl.minimum((part + 1) * share, tokens), STEP):
        token = begin + tl.arange(0, STEP)
        number = tl.load(index + token, mask=token < tokens, other=-1)
        offsets = token.to(tl.int64)[:, None] * width + place[None, :]
        valid = (token < tokens)[:, None] & (place < width)[None, :]
        values = tl.load(gradient + offsets, mask=valid, other=0.0)
        chosen = (entry[:, None] == number[None, :]).to(values.dtype)
        sums += tl.dot(chosen, values)
    offsets = (part * entries + entry)[:, None] * width + place[None, :]
    tl.store(partial + offsets, sums, mask=(entry < entries)[:, None] & (place < width)[None, :])


def sum_by_index(gradient: Any, index: Any, entries: int) -> Any:
    """For each entry of a small table the sum of the rows with its number, in float32."""
    tokens, width = gradient.shape
    rows, columns, step = 64 if entries > 16 else 16, 64, 64
    grid = -(-entries // rows), -(-width // columns)
    parts = max(1, min(-(-tokens // step), SUM_PROGRAMS // (grid[0] * grid[1])))
    share = -(-tokens // (parts * step)) * step
    partial = torch.empty((parts, entries, width), device=gradient.device)
    _sum_by_index[(*grid, parts)](
        gradient,
        index,
        partial,
        tokens,
        entries,
        width,
        share,
        STEP=step,
        ROWS=rows,
        COLUMNS=columns,
        num_warps=4,
    )
    return partial.sum(0).to(gradient.dtype)


@triton.jit
def _lay_out(
    lengths,
    starts,
    place,
    source,
    position,
    back,
    rows,
    longest,
    tokens,
    ALL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    number = tl.program_id(0)
    sequences = tl.arange(0, ALL)
    sizes = tl.load(lengths + sequences, mask=sequences < rows, other=0).to(tl.int32)
    start = tl.sum(tl.where(sequences < number, sizes, 0))
    places = tl.arange(0, BLOCK)
    if number < rows:
        size = tl.sum(tl.where(sequences == number, sizes, 0))
        inside = places < size
        tl.store(place + start + places, number * longest + places, mask=inside)
        tl.store(source + start + places, number * longest + places, mask=inside)
        tl.store(position + start + places, places, mask=inside)
        token = tl.where(inside, start + places, -1)
        tl.store(back + number * longest + places, token, mask=places < longest)
    else:
        start = tl.minimum(start + (number - rows) * longest, tokens)
        inside = places < tl.minimum(tokens - start, longest)
        tl.store(place + start + places, 0, mask=inside)
        tl.store(source + start + places, -1, mask=inside)
        tl.store(position + start + places, 0, mask=inside)
        if number == tl.num_programs(0) - 1:
            tl.store(starts + number + 1, tokens)
    tl.store(starts + number, start)


def make_layout(mask: Any, tokens: int) -> Layout:
    """The layout of a padded batch in `tokens` tokens, which are at least those of the mask.

    Can be captured in a CUDA graph.
    """
    rows, longest = mask.shape
    sequences = rows + -(-tokens // longest)
    starts, place, source, position, back = (
        torch.empty(size, dtype=torch.int32, device=mask.device)
        for size in (sequences + 1, tokens, tokens, tokens, rows * longest)
    )
    _lay_out[(sequences,)](
        mask.sum(1),
        starts,
        place,
        source,
        position,
        back,
        rows,
        longest,
        tokens,
        ALL=triton.next_power_of_2(rows),
        BLOCK=triton.next_power_of_2(longest),
        num_warps=4,
    )
    return Layout(starts, longest, place, source, position, back)


def _dropping(attention: AttentionShape) -> tuple[int, float]:
    """The threshold of a hash, and the factor of what is kept."""
    share = attention.share
    return min(int(share * 2**32), 2**32 - 1), 1 / (1 - share) if share < 1 else 0.0


def attend(joint: Any, layout: Layout, attention: AttentionShape, seed: Any) -> tuple[Any, Any]:
    """Attention of a matrix of queries, keys and values: its values, and what the backward pass needs."""
    tokens = len(joint)
    out = joint.new_empty((tokens, attention.heads * attention.dim))
    norms = torch.empty((attention.heads, tokens), device=joint.device)
    queries, keys = FORWARD.fit(layout.longest)
    grid = (-(-layout.longest // queries), attention.heads, len(layout.starts) - 1)
    _attend[grid](
        joint,
        layout.starts,
        out,
        norms,
        seed,
        tokens,
        attention.heads,
        attention.scale * LOG2_E,
        *_dropping(attention),
        DROPS=attention.share > 0,
        DIM=attention.dim,
        ROWS=queries,
        COLUMNS=keys,
        num_warps=FORWARD.warps,
        num_stages=FORWARD.stages,
    )
    return out, norms


def attend_backward(
    joint: Any,
    out: Any,
    norms: Any,
    gradient: Any,
    layout: Layout,
    attention: AttentionShape,
    seed: Any,
) -> Any:
    """The gradient of the matrix of queries, keys and values."""
    of_joint = torch.empty_like(joint)
    arguments = (
        joint,
        layout.starts,
        out,
        norms,
        gradient,
        of_joint,
        seed,
        len(joint),
        attention.heads,
        attention.scale * LOG2_E,
        attention.scale,
        *_dropping(attention),
    )
    queries, keys = BACKWARD.fit(layout.longest)
    blocks, more = -(-layout.longest // keys), -(-layout.longest // queries)
    grid = (blocks + (more if blocks > 1 else 0), attention.heads, len(layout.starts) - 1)
    _attend_backward[grid](
        *arguments,
        blocks,
        DROPS=attention.share > 0,
        DIM=attention.dim,
        ROWS=queries,
        COLUMNS=keys,
        num_warps=BACKWARD.warps,
        num_stages=BACKWARD.stages,
    )
    return of_joint
