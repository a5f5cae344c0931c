"""What fine-tuning in bf16 on a GPU does faster with kernels of its own, written in Triton.

- `FusedAdamW`: the norm of all gradients, clipping, AdamW and the bf16 copies of the weights in
  three kernels, whatever the number of parameters.
- `FastLayers` gives the layers of an encoder other ways to compute the same: the gradient of a
  bias by a kernel that sums columns; query, key and value by one product; GELU with the gradient of
  its bias; dense, dropout, residual and LayerNorm of a block as one.

Everything works inside a captured CUDA graph, sums in a fixed order and rounds where torch rounds,
so that a run repeats bit for bit. Dropout draws one seed a layer from torch's generator and hashes
the place of each value with it; a restored random state brings the same masks.

AdamW: Loshchilov and Hutter (2019), as `torch.optim.AdamW` computes it.
"""

# ruff: noqa: N803 - constants of a kernel are written in capitals, as Triton does
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import nn

BETAS = (0.9, 0.999)
EPSILON = 1e-8
BLOCK = 4096
"""Values of a parameter that one program of the optimiser works on."""
UPDATE_WARPS = 8
ROWS, COLUMNS = 32, 128
"""The tile of a matrix that is read at once where columns are summed."""
PROGRAMS = 264
"""Programs that share the rows of a sum: two for each multiprocessor of the largest GPUs. The number
is fixed, so that sums do not depend on the GPU."""
GELU_PROGRAMS, GELU_ROWS, GELU_WARPS = 1056, 16, 2
"""Programs, rows read at once and warps of a program of GELU's way back: the fastest on an H200."""
NORM_PROGRAMS, NORM_ROWS, NORM_WARPS = 264, 2, 4
"""The same for LayerNorm's way back."""
MAX_WIDTH = 4096
"""The widest row that one program normalises."""


# The optimiser


@triton.jit
def _square_gradients(addresses, chunks, partial, first, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    chunk = first + tl.program_id(0)
    parameter = tl.load(chunks + 4 * chunk)
    start = tl.load(chunks + 4 * chunk + 1)
    size = tl.load(chunks + 4 * chunk + 3)
    if EVEN:
        size = tl.multiple_of(size, 8)
    gradient = tl.load(addresses + parameter).to(tl.pointer_type(tl.bfloat16))
    gradient = tl.multiple_of(gradient, 16)
    places = tl.arange(0, BLOCK)
    values = tl.load(gradient + start + places, mask=places < size, other=0.0).to(tl.float32)
    tl.store(partial + chunk, tl.sum(values * values))


@triton.jit
def _choose_factors(partial, schedule, at, factors, n, last, clip, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    places = tl.arange(0, BLOCK)
    for first in range(0, n, BLOCK):
        total += tl.load(partial + first + places, mask=first + places < n, other=0.0)
    norm = tl.sqrt(tl.sum(total))
    step = tl.load(at)
    row = schedule + 3 * tl.minimum(step, last)
    scale = tl.where(clip > 0, tl.minimum(clip / (norm + 1e-6), 1.0), 1.0)
    tl.store(factors, scale)
    tl.store(factors + 1, tl.load(row))
    tl.store(factors + 2, tl.load(row + 1))
    tl.store(factors + 3, tl.load(row + 2))
    tl.store(at, step + 1)


@triton.jit
def _update_weights(
    gradients,
    weights,
    chunks,
    decays,
    factors,
    masters,
    means,
    squares,
    beta1,
    beta2,
    epsilon,
    first,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    chunk = first + tl.program_id(0)
    parameter = tl.load(chunks + 4 * chunk)
    start = tl.load(chunks + 4 * chunk + 1)
    place = tl.load(chunks + 4 * chunk + 2)
    size = tl.load(chunks + 4 * chunk + 3)
    if EVEN:  # then whole groups of 16 bytes are inside or outside, and are read at once
        size = tl.multiple_of(size, 8)
    gradient = tl.load(gradients + parameter).to(tl.pointer_type(tl.bfloat16))
    weight = tl.load(weights + parameter).to(tl.pointer_type(tl.bfloat16))
    gradient = tl.multiple_of(gradient, 16)
    weight = tl.multiple_of(weight, 16)
    start = tl.multiple_of(start, BLOCK)
    place = tl.multiple_of(place, 64)
    scale = tl.load(factors)
    rate = tl.load(factors + 1)
    correction1 = tl.load(factors + 2)
    correction2 = tl.load(factors + 3)
    decay = tl.load(decays + parameter)
    places = tl.arange(0, BLOCK)
    valid = places < size
    g = tl.load(gradient + start + places, mask=valid, other=0.0).to(tl.float32) * scale
    p = tl.load(masters + place + places, mask=valid, other=0.0)
    m = tl.load(means + place + places, mask=valid, other=0.0)
    v = tl.load(squares + place + places, mask=valid, other=0.0)
    p = p * (1.0 - rate * decay)
    m = m + (1.0 - beta1) * (g - m)
    v = beta2 * v + (1.0 - beta2) * g * g
    p = p - rate / correction1 * m / (tl.sqrt(v) / correction2 + epsilon)
    tl.store(masters + place + places, p, mask=valid)
    tl.store(means + place + places, m, mask=valid)
    tl.store(squares + place + places, v, mask=valid)
    tl.store(weight + start + places, p.to(tl.bfloat16), mask=valid)


class FusedAdamW:
    """AdamW with clipping over bf16 weights, with float32 masters and moments.

    `masters`, `means` and `squares` are lists of tensors, one a parameter, over one block of memory
    each. `at` counts the steps and is moved on by `step`.
    """

    def __init__(
        self,
        weights: Sequence[Any],
        decays: Sequence[float],
        rates: Sequence[float],
        at: Any,
        clip: float,
    ) -> None:
        """`rates` holds the learning rate of each step; the last one stays."""
        self._weights, self._at, self._clip = list(weights), at, clip
        device = self._weights[0].device
        places, chunks, end = [], [], 0
        for number, weight in enumerate(self._weights):
            places.append(end)
            n = weight.numel()
            chunks += [
                (number, start, end + start, min(BLOCK, n - start)) for start in range(0, n, BLOCK)
            ]
            end += -(-n // 64) * 64
        self._memory = [torch.zeros(end, device=device) for _ in range(3)]
        self.masters, self.means, self.squares = (
            [
                memory[place : place + weight.numel()].view(weight.shape)
                for place, weight in zip(places, self._weights, strict=True)
            ]
            for memory in self._memory
        )
        for master, weight in zip(self.masters, self._weights, strict=True):
            master.copy_(weight.detach())
        chunks.sort(key=lambda chunk: chunk[3] % 8 > 0)
        even = sum(chunk[3] % 8 == 0 for chunk in chunks)
        self._launches = [(0, even, True), (even, len(chunks) - even, False)]
        """First chunk, number of chunks, and whether their sizes are even."""
        self._chunks = torch.tensor(chunks, dtype=torch.long, device=device)
        self._decays = torch.tensor(decays, dtype=torch.float32, device=device)
        schedule = [
            (rate, 1 - BETAS[0] ** step, (1 - BETAS[1] ** step) ** 0.5)
            for step, rate in enumerate(rates, 1)
        ]
        # Beyond the last step the rate stays, and the corrections are as good as one.
        self._schedule = torch.tensor(schedule, dtype=torch.float32, device=device)
        self._partial = torch.zeros(len(chunks), device=device)
        self._factors = torch.zeros(4, device=device)
        self._weight_addresses = self._new_table([weight.data_ptr() for weight in self._weights])
        self._gradient_addresses = self._new_table([0] * len(self._weights))
        self._known: list[int] = []
        self._tables: list[Any] = []
        """Tables that captured graphs read."""
        self._captured: list[list[int]] = []

    def _new_table(self, addresses: Sequence[int]) -> Any:
        return torch.tensor(addresses, dtype=torch.long, device=self._at.device)

    def prepare_capture(self) -> None:
        """Call before a graph that holds one step is captured."""
        self._tables.append(self._new_table([0] * len(self._weights)))

    def finish_capture(self) -> None:
        """Call after the capture: writes where the graph's gradients are."""
        self._tables[-1].copy_(self._new_table(self._captured.pop()))

    def step(self) -> None:
        """Clip the gradients, update the masters, and copy them to the weights."""
        for weight in self._weights:
            if not weight.grad.is_contiguous() or weight.grad.data_ptr() % 16:
                weight.grad = weight.grad.clone(memory_format=torch.contiguous_format)
        addresses = [weight.grad.data_ptr() for weight in self._weights]
        if self._at.is_cuda and torch.cuda.is_current_stream_capturing():
            table = self._tables[-1]
            self._captured.append(addresses)
        else:
            table = self._gradient_addresses
            if addresses != self._known:
                table.copy_(self._new_table(addresses))
                self._known = addresses
        for first, count, even in self._launches:
            if count:
                _square_gradients[(count,)](
                    table,
                    self._chunks,
                    self._partial,
                    first,
                    EVEN=even,
                    BLOCK=BLOCK,
                    num_warps=UPDATE_WARPS,
                )
        _choose_factors[(1,)](
            self._partial,
            self._schedule,
            self._at,
            self._factors,
            len(self._chunks),
            len(self._schedule) - 1,
            self._clip,
            BLOCK=8192,
            num_warps=16,
        )
        for first, count, even in self._launches:
            if count:
                _update_weights[(count,)](
                    table,
                    self._weight_addresses,
                    self._chunks,
                    self._decays,
                    self._factors,
                    *self._memory,
                    *BETAS,
                    EPSILON,
                    first,
                    EVEN=even,
                    BLOCK=BLOCK,
                    num_warps=UPDATE_WARPS,
                )


# Sums over columns


@triton.jit
def _sum_rows(values, partial, rows, columns, share, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    place = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(part * share, tl.minimum((part + 1) * share, rows), ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row[:, None] < rows) & (place[None, :] < columns)
        offsets = row[:, None].to(tl.int64) * columns + place[None, :]
        sums += tl.load(values + offsets, mask=valid, other=0.0).to(tl.float32)
    tl.store(partial + part * columns + place, tl.sum(sums, 0), mask=place < columns)


@triton.jit
def _sum_parts(partial, out, parts, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    place = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, parts, ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row[:, None] < parts) & (place[None, :] < columns)
        sums += tl.load(partial + row[:, None] * columns + place[None, :], mask=valid, other=0.0)
    tl.store(out + place, tl.sum(sums, 0).to(out.dtype.element_ty), mask=place < columns)


def _split_rows(rows: int, columns: int, programs: int, step: int) -> tuple[int, int]:
    """In how many parts the rows are summed, and the rows of a part."""
    parts = max(1, min(-(-rows // step), programs // -(-columns // COLUMNS)))
    share = -(-rows // (parts * step)) * step
    return -(-rows // share), share


def _add_parts(partial: Any, dtype: Any) -> Any:
    """The sum over the rows of a float32 matrix, rounded to the type."""
    parts, columns = partial.shape
    out = torch.empty(columns, dtype=dtype, device=partial.device)
    _sum_parts[(-(-columns // 16),)](
        partial, out, parts, columns, ROWS=128, COLUMNS=16, num_warps=8
    )
    return out


def sum_columns(values: Any) -> Any:
    """The sum over the rows of a contiguous matrix, in float32, rounded once to the matrix's type."""
    rows, columns = values.shape
    if not rows:
        return values.sum(0)
    parts, share = _split_rows(rows, columns, PROGRAMS, ROWS)
    partial = torch.empty((parts, columns), device=values.device)
    grid = (-(-columns // COLUMNS), parts)
    _sum_rows[grid](values, partial, rows, columns, share, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4)
    return _add_parts(partial, values.dtype)


# Layers


def _flat(values: Any) -> Any:
    """The values as a contiguous matrix."""
    return values.reshape(-1, values.shape[-1]).contiguous()


def weight_gradient(gradient: Any, x: Any) -> Any:
    """The gradient of a linear layer's weights, from that of its output and from its input."""
    return gradient.t() @ x.reshape(-1, x.shape[-1])


class _Linear(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """A linear layer whose bias gradient is `sum_columns`."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight = ctx.saved_tensors
        gradient = _flat(gradients[0])
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            (gradient @ weight).view(x.shape) if needs_x else None,
            weight_gradient(gradient, x) if needs_weight else None,
            sum_columns(gradient) if needs_bias else None,
        )


class _JointLinear(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """Several linear layers of one input as one product."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, *own: Any) -> Any:
        """`weight` and `bias` are the layers' own, one below the other."""
        ctx.save_for_backward(x, weight)
        ctx.n = len(own) // 2
        return nn.functional.linear(x, weight, bias).chunk(ctx.n, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight = ctx.saved_tensors
        gradient = torch.cat([part.reshape(-1, part.shape[-1]) for part in gradients], -1)
        weights = weight_gradient(gradient, x).chunk(ctx.n)
        biases = sum_columns(gradient).chunk(ctx.n)
        of_x = (gradient @ weight).view(x.shape) if ctx.needs_input_grad[0] else None
        return of_x, None, None, *weights, *biases


class JointProjection:
    """Query, key and value of one attention, whose weights lie one below the other.

    The first layer that is called computes all, and keeps the others' values until they are asked
    for with the same input.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        with torch.no_grad():
            self.weight = torch.cat([layer.weight for layer in layers])
            self.bias = torch.cat([layer.bias for layer in layers])
        self._layers = list(layers)
        for layer, weight, bias in zip(
            layers, self.weight.chunk(len(layers)), self.bias.chunk(len(layers)), strict=True
        ):
            layer.weight.data, layer.bias.data = weight, bias
        self._input: Any = None
        self._left: dict[int, Any] = {}

    def parameters(self) -> list[Any]:
        """The weights of the layers, then their biases."""
        return [layer.weight for layer in self._layers] + [layer.bias for layer in self._layers]

    def project(self, number: int, x: Any) -> Any:
        """What the layer of this number gives for the input."""
        if number == 0:
            values = _JointLinear.apply(x, self.weight, self.bias, *self.parameters())
            self._input, self._left = x, dict(enumerate(values))
        if self._input is not x or number not in self._left:
            return nn.functional.linear(x, self._layers[number].weight, self._layers[number].bias)
        value = self._left.pop(number)
        if not self._left:
            self._input = None
        return value


@triton.jit
def _gelu_slopes(
    before,
    gradient,
    out,
    partial,
    rows,
    columns,
    share,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    place = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(part * share, tl.minimum((part + 1) * share, rows), ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row[:, None] < rows) & (place[None, :] < columns)
        offsets = row[:, None].to(tl.int64) * columns + place[None, :]
        x = tl.load(before + offsets, mask=valid, other=0.0).to(tl.float32)
        g = tl.load(gradient + offsets, mask=valid, other=0.0).to(tl.float32)
        below = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
        density = tl.exp(-0.5 * x * x) * 0.3989422804014327
        slope = (g * (below + x * density)).to(out.dtype.element_ty)
        tl.store(out + offsets, slope, mask=valid)
        sums += slope.to(tl.float32)
    tl.store(partial + part * columns + place, tl.sum(sums, 0), mask=place < columns)


class _DenseGelu(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """A linear layer and GELU; one pass back gives the slopes and their sums."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any) -> Any:
        before = nn.functional.linear(x, weight, bias)
        ctx.save_for_backward(x, weight, before)
        return nn.functional.gelu(before)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight, before = ctx.saved_tensors
        gradient, before = _flat(gradients[0]), _flat(before)
        rows, columns = before.shape
        parts, share = _split_rows(rows, columns, GELU_PROGRAMS, GELU_ROWS)
        partial = torch.empty((parts, columns), device=x.device)
        slopes = torch.empty_like(before)
        _gelu_slopes[(-(-columns // COLUMNS), parts)](
            before,
            gradient,
            slopes,
            partial,
            rows,
            columns,
            share,
            ROWS=GELU_ROWS,
            COLUMNS=COLUMNS,
            num_warps=GELU_WARPS,
        )
        return (
            (slopes @ weight).view(x.shape) if ctx.needs_input_grad[0] else None,
            weight_gradient(slopes, x),
            _add_parts(partial, x.dtype),
        )


@triton.jit
def _keep(seed, places, threshold):
    """Whether each place is kept: a hash of seed and place against the threshold."""
    x = places.to(tl.uint32) * 0x9E3779B1
    x ^= (seed & 0xFFFFFFFF).to(tl.uint32)
    x ^= x >> 16
    x *= 0x85EBCA6B
    x ^= x >> 13
    x += ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)
    x *= 0xC2B2AE35
    x ^= x >> 16
    x *= 0x27D4EB2F
    x ^= x >> 15
    return x >= threshold.to(tl.uint32)


@triton.jit
def _normalise_sums(
    dense,
    residual,
    scale,
    shift,
    out,
    total,
    centre,
    spread,
    seed,
    columns,
    epsilon,
    threshold,
    keep_scale,
    DROPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    valid = place < columns
    offsets = row.to(tl.int64) * columns + place
    x = tl.load(dense + offsets, mask=valid, other=0.0).to(tl.float32)
    if DROPS:
        kept = _keep(tl.load(seed), row * columns + place, threshold)
        x = tl.where(kept, x * keep_scale, 0.0).to(out.dtype.element_ty).to(tl.float32)
    x += tl.load(residual + offsets, mask=valid, other=0.0).to(tl.float32)
    rounded = x.to(out.dtype.element_ty)
    tl.store(total + offsets, rounded, mask=valid)
    x = rounded.to(tl.float32)
    mean = tl.sum(x) / columns
    apart = tl.where(valid, x - mean, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(apart * apart) / columns + epsilon)
    gamma = tl.load(scale + place, mask=valid, other=0.0).to(tl.float32)
    beta = tl.load(shift + place, mask=valid, other=0.0).to(tl.float32)
    tl.store(out + offsets, (apart * inverse * gamma + beta).to(out.dtype.element_ty), mask=valid)
    tl.store(centre + row, mean)
    tl.store(spread + row, inverse)


@triton.jit
def _denormalise(
    gradient,
    total,
    centre,
    spread,
    scale,
    of_residual,
    of_dense,
    partial,
    seed,
    rows,
    columns,
    threshold,
    keep_scale,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    part = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < columns
    gamma = tl.load(scale + place, mask=inside, other=0.0).to(tl.float32)
    of_scale = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    of_shift = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    of_bias = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for first in range(part * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        valid = (row[:, None] < rows) & inside[None, :]
        places = row[:, None] * columns + place[None, :]
        offsets = row[:, None].to(tl.int64) * columns + place[None, :]
        g = tl.load(gradient + offsets, mask=valid, other=0.0).to(tl.float32)
        x = tl.load(total + offsets, mask=valid, other=0.0).to(tl.float32)
        inverse = tl.load(spread + row, mask=row < rows, other=0.0)
        mean = tl.load(centre + row, mask=row < rows, other=0.0)
        normal = tl.where(valid, (x - mean[:, None]) * inverse[:, None], 0.0)
        scaled = g * gamma[None, :]
        mean1 = tl.sum(scaled, 1) / columns
        mean2 = tl.sum(scaled * normal, 1) / columns
        slope = inverse[:, None] * (scaled - mean1[:, None] - normal * mean2[:, None])
        slope = slope.to(of_residual.dtype.element_ty)
        tl.store(of_residual + offsets, slope, mask=valid)
        below = slope.to(tl.float32)
        if DROPS:
            kept = _keep(tl.load(seed), places, threshold)
            slope = tl.where(kept, below * keep_scale, 0.0).to(of_residual.dtype.element_ty)
            tl.store(of_dense + offsets, slope, mask=valid)
            below = slope.to(tl.float32)
        of_scale += g * normal
        of_shift += g
        of_bias += tl.where(valid, below, 0.0)
    sums = partial + part * 3 * columns + place
    tl.store(sums, tl.sum(of_scale, 0), mask=inside)
    tl.store(sums + columns, tl.sum(of_shift, 0), mask=inside)
    tl.store(sums + 2 * columns, tl.sum(of_bias, 0), mask=inside)


class _Output(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """LayerNorm of the residual and the dropped-out values of a linear layer."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Any,
        residual: Any,
        weight: Any,
        bias: Any,
        scale: Any,
        shift: Any,
        settings: tuple[float, float],
        seed: Any,
    ) -> Any:
        """`settings`: the share that is dropped, and LayerNorm's epsilon."""
        share, epsilon = settings
        dense, residual = _flat(nn.functional.linear(x, weight, bias)), _flat(residual)
        rows, columns = dense.shape
        out, total = torch.empty_like(dense), torch.empty_like(dense)
        centre, spread = torch.empty((2, rows), device=x.device)
        ctx.dropping = (
            min(int(share * 2**32), 2**32 - 1),
            1 / (1 - share) if share < 1 else 0.0,
            share > 0,
            triton.next_power_of_2(columns),
        )
        threshold, keep_scale, drops, block = ctx.dropping
        _normalise_sums[(rows,)](
            dense,
            residual,
            scale,
            shift,
            out,
            total,
            centre,
            spread,
            seed,
            columns,
            epsilon,
            threshold,
            keep_scale,
            DROPS=drops,
            BLOCK=block,
            num_warps=2,
        )
        ctx.save_for_backward(x, weight, scale, total, centre, spread, seed)
        return out.view(*x.shape[:-1], columns)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight, scale, total, centre, spread, seed = ctx.saved_tensors
        gradient = _flat(gradients[0])
        rows, columns = gradient.shape
        threshold, keep_scale, drops, block = ctx.dropping
        of_residual = torch.empty_like(gradient)
        of_dense = torch.empty_like(gradient) if drops else of_residual
        parts = min(-(-rows // NORM_ROWS), NORM_PROGRAMS)
        partial = torch.empty((parts, 3 * columns), device=x.device)
        _denormalise[(parts,)](
            gradient,
            total,
            centre,
            spread,
            scale,
            of_residual,
            of_dense,
            partial,
            seed,
            rows,
            columns,
            threshold,
            keep_scale,
            DROPS=drops,
            ROWS=NORM_ROWS,
            BLOCK=block,
            num_warps=NORM_WARPS,
        )
        of_scale, of_shift, of_bias = _add_parts(partial, x.dtype).chunk(3)
        return (
            (of_dense @ weight).view(x.shape),
            of_residual.view(gradients[0].shape),
            weight_gradient(of_dense, x),
            of_bias,
            of_scale,
            of_shift,
            None,
            None,
        )


class DropoutSeeds:
    """The seeds of dropout, one a layer, drawn together when the first layer of a pass asks."""

    def __init__(self) -> None:
        self.n = 0
        self._values: Any = None

    def draw(self, number: int, device: Any) -> Any:
        """The seed of the layer of this number, on the device."""
        if number == 0 or self._values is None or len(self._values) != self.n:
            self._values = torch.empty(self.n, dtype=torch.long, device=device).random_()
        return self._values[number : number + 1]


def _is_plain_linear(part: Any) -> bool:
    return type(part) is nn.Linear and part.bias is not None


def _learns(part: Any) -> bool:
    return all(parameter.requires_grad for parameter in part.parameters())


def _child_types(part: Any) -> dict[str, Any]:
    return {name: type(child) for name, child in part.named_children()}


class FastLayers:
    """What the layers of one model compute instead, until `restore`."""

    def __init__(self, model: Any) -> None:
        self._layers: list[Any] = []
        self._seeds = DropoutSeeds()
        self.attentions: list[tuple[Any, JointProjection]] = []
        """Each attention whose query, key and value are one product, and that product."""
        taken: set[int] = set()
        for part in model.modules():
            if _is_output(part):
                self._replace_output(part)
            elif _is_gelu(part):
                self._replace(part, _gelu_forward(part))
            elif (projections := _find_projections(part)) is not None:
                joint = JointProjection(projections)
                self.attentions.append((part, joint))
                for number, layer in enumerate(projections):
                    self._replace(layer, _projection_forward(joint, number))
                taken.update(map(id, projections))
                continue
            else:
                continue
            taken.add(id(part.dense))
        for part in model.modules():
            if _is_plain_linear(part) and id(part) not in taken:
                self._replace(part, _linear_forward(part))

    def _replace(self, part: Any, forward: Callable[..., Any]) -> None:
        part.forward = forward
        self._layers.append(part)

    def _replace_output(self, part: Any) -> None:
        number = self._seeds.n
        self._seeds.n += 1
        self._replace(part, _output_forward(part, self._seeds, number))

    def restore(self) -> None:
        """Give the layers their own ways back."""
        for part in self._layers:
            del part.forward
        self._layers = []


def _linear_forward(part: Any) -> Callable[..., Any]:
    def forward(x: Any) -> Any:
        return _Linear.apply(x, part.weight, part.bias)

    return forward


def _projection_forward(joint: JointProjection, number: int) -> Callable[..., Any]:
    def forward(x: Any) -> Any:
        return joint.project(number, x)

    return forward


def _gelu_forward(part: Any) -> Callable[..., Any]:
    def forward(hidden_states: Any) -> Any:
        return _DenseGelu.apply(hidden_states, part.dense.weight, part.dense.bias)

    return forward


def _output_forward(part: Any, seeds: DropoutSeeds, number: int) -> Callable[..., Any]:
    dense, norm, dropout = part.dense, part.LayerNorm, part.dropout

    def forward(hidden_states: Any, input_tensor: Any) -> Any:
        share = dropout.p if part.training else 0.0
        if share:
            seed = seeds.draw(number, hidden_states.device)
        else:
            seed = hidden_states.new_zeros(1, dtype=torch.long)
        return _Output.apply(
            hidden_states,
            input_tensor,
            dense.weight,
            dense.bias,
            norm.weight,
            norm.bias,
            (share, norm.eps),
            seed,
        )

    return forward


def _is_output(part: Any) -> bool:
    """Whether a layer is LayerNorm(dropout(dense(x)) + y): by its parts, and by trying it."""
    types = _child_types(part)
    if types != {"dense": nn.Linear, "LayerNorm": nn.LayerNorm, "dropout": nn.Dropout}:
        return False
    dense, norm = part.dense, part.LayerNorm
    if not (_is_plain_linear(dense) and norm.elementwise_affine and norm.bias is not None):
        return False
    if not _learns(part) or norm.normalized_shape != (dense.out_features,):
        return False
    return dense.out_features <= MAX_WIDTH and _computes(
        part,
        (dense.in_features, dense.out_features),
        lambda x, y: norm(dense(x) + y),
    )


def _is_gelu(part: Any) -> bool:
    """Whether a layer is GELU(dense(x))."""
    children = _child_types(part)
    if set(children) - {"intermediate_act_fn"} != {"dense"} or not _is_plain_linear(part.dense):
        return False
    return _learns(part) and _computes(
        part, (part.dense.in_features,), lambda x: nn.functional.gelu(part.dense(x))
    )


def _find_projections(part: Any) -> list[Any] | None:
    """Query, key and value of an attention that can be computed by one product."""
    layers = [getattr(part, name, None) for name in ("query", "key", "value")]
    if not all(_is_plain_linear(layer) and _learns(layer) for layer in layers):
        return None
    shapes = {layer.weight.shape for layer in layers if layer is not None}
    if len(shapes) != 1 or layers[0].out_features % 8:  # type: ignore[union-attr]  # all are linear
        return None  # views of one memory must begin where kernels can read 16 bytes at once
    return layers


def _computes(part: Any, widths: Sequence[int], expected: Callable[..., Any]) -> bool:
    """Whether a layer computes what is expected, without dropout, on a fixed trial input."""
    weight = next(part.parameters())
    trial = [
        torch.linspace(-2, 2, 3 * width, device=weight.device).sin().to(weight.dtype).view(3, width)
        for width in widths
    ]
    was_training = part.training
    part.eval()
    try:
        with torch.no_grad():
            own, wanted = part(*trial), expected(*trial)
    except (TypeError, ValueError, RuntimeError):
        return False
    finally:
        part.train(was_training)
    return (
        isinstance(own, torch.Tensor)
        and own.shape == wanted.shape
        and bool(torch.equal(own, wanted))
    )


@cache
def run_here() -> bool:
    """Whether these kernels run on the present GPU, tried once: Triton needs a C compiler, too."""
    values = torch.ones((3, 8), dtype=torch.bfloat16, device="cuda")
    try:
        return bool((sum_columns(values) == 3).all())
    except Exception:
        return False
