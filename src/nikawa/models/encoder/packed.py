"""Fine-tuning without padding: the sequences of a batch one after the other, as one row of tokens.

`PackedEncoder` gives an encoder that is built as BERT a second way to compute the same: its
embeddings take the tokens of a batch without the padding, its attention looks at one sequence at a
time, and what leaves the last layer is padded again (with zeros), so that no head has to know. It
is used for a training if it gives the same vectors as the padded way on the first batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from nikawa.models.encoder.kernels import (
    DropoutSeeds,
    FastLayers,
    JointProjection,
    sum_columns,
    weight_gradient,
)
from nikawa.models.encoder.packed_kernels import (
    AttentionShape,
    Layout,
    attend,
    attend_backward,
    make_layout,
    pick_rows,
    sum_by_index,
)

SMALL_TABLE = 4096
"""The most entries of a table whose gradient is computed by `sum_by_index`."""
ROUNDING_OF_VECTORS, ROUNDING_OF_ATTENTION = 0.15, 0.05
"""How far apart the packed and the padded way may be, as a share of how far vectors are from their
mean: more than bf16 explains, and much less than a wrong position or another attention gives."""
HEAD_SIZES = (16, 32, 64, 128)


class _Pad(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """The vectors of a packed batch as a padded one, with zeros."""

    @staticmethod
    def forward(ctx: Any, vectors: Any, layout: Layout) -> Any:
        ctx.layout = layout
        padded = pick_rows(vectors.contiguous(), layout.back)
        return padded.view(-1, layout.longest, vectors.shape[-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        flat = gradients[0].reshape(-1, gradients[0].shape[-1]).contiguous()
        return pick_rows(flat, ctx.layout.source), None


class _SmallEmbedding(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """The entries of a small table of vectors."""

    @staticmethod
    def forward(ctx: Any, weight: Any, index: Any, padding: int | None) -> Any:
        ctx.save_for_backward(index)
        ctx.entries, ctx.padding = len(weight), padding
        return nn.functional.embedding(index, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (index,) = ctx.saved_tensors
        gradient = gradients[0].reshape(-1, gradients[0].shape[-1]).contiguous()
        sums = sum_by_index(gradient, index.reshape(-1).contiguous(), ctx.entries)
        if ctx.padding is not None:
            sums[ctx.padding] = 0
        return sums, None, None


class _PackedAttention(torch.autograd.Function):  # type: ignore[misc] # torch has no types here
    """Query, key and value by one product, and attention within each sequence."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Any,
        weight: Any,
        bias: Any,
        layout: Layout,
        attention: AttentionShape,
        seed: Any,
        *own: Any,
    ) -> Any:
        """`weight` and `bias` are those of the layers `own`, one below the other."""
        joint = nn.functional.linear(x, weight, bias)
        out, norms = attend(joint, layout, attention, seed)
        ctx.save_for_backward(x, weight, joint, out, norms, seed)
        ctx.layout, ctx.attention, ctx.n = layout, attention, len(own) // 2
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight, joint, out, norms, seed = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        of_joint = attend_backward(joint, out, norms, gradient, ctx.layout, ctx.attention, seed)
        weights = weight_gradient(of_joint, x).chunk(ctx.n)
        biases = sum_columns(of_joint).chunk(ctx.n)
        of_x = of_joint @ weight if ctx.needs_input_grad[0] else None
        return of_x, None, None, None, None, None, *weights, *biases


class PackedEncoder:
    """The packed way of an encoder, used inside `use`, until `restore`."""

    def __init__(self, base: Any, layers: FastLayers, offset: int) -> None:
        """`offset` is the number of the first position."""
        self._base, self._offset = base, offset
        self._tokens = 0
        self._layout: Layout | None = None
        self._watched: list[tuple[Any, Any]] | None = None
        self._seeds = DropoutSeeds()
        self._parts: list[tuple[Any, Any]] = []
        """The modules whose `forward` is replaced, and the one that was set before, if any."""
        for number, (part, joint) in enumerate(layers.attentions):
            self._replace(part, self._attention_forward(part, joint, number))
        self._seeds.n = len(layers.attentions)
        self._replace(base.embeddings, self._embeddings_forward(base.embeddings.forward))
        for part in base.embeddings.children():
            if part is not base.get_input_embeddings() and _is_small_table(part):
                self._replace(part, self._table_forward(part))
        self._replace(base.encoder, self._encoder_forward(base.encoder.forward))
        self._replace(base, self._base_forward(base.forward))

    def _replace(self, part: Any, forward: Callable[..., Any]) -> None:
        self._parts.append((part, vars(part).get("forward")))
        part.forward = forward

    def restore(self) -> None:
        """Give the modules their own `forward` again."""
        for part, forward in reversed(self._parts):
            if forward is None:
                del part.forward
            else:
                part.forward = forward
        self._parts = []

    @contextmanager
    def use(self, tokens: int) -> Iterator[None]:
        """Inside the block the encoder packs a batch into so many tokens; into none: it pads."""
        self._tokens = tokens
        try:
            yield
        finally:
            self._tokens = 0

    def agrees(self, model: Any, compute: Callable[[], Any], tokens: int) -> bool:
        """Whether the packed way can be used for a loss of the model.

        It can if the encoder is called once, with a batch of so many tokens, and gives the same
        vectors up to rounding; and if the kernels of the backward pass run on this GPU.
        """
        seen: list[tuple[Any, Any]] = []
        self._watched = seen
        was_training = model.training
        enough = -(-tokens // 16) * 16
        model.eval()
        try:
            with torch.no_grad():
                compute()
                with self.use(enough):
                    compute()
            self._watched = None
            model.train()
            devices = [self._base.device] if self._base.device.type == "cuda" else []
            with torch.random.fork_rng(devices), self.use(enough):
                compute().backward()
        except Exception:  # whatever it is, the padded way is there
            return False
        finally:
            self._watched = None
            model.train(was_training)
            model.zero_grad(set_to_none=True)
        if len(seen) != 2:
            return False
        (mask, padded), (_, packed) = seen
        if padded.shape != packed.shape or int(mask.sum()) != tokens:
            return False
        padded, packed = padded[mask > 0].float(), packed[mask > 0].float()
        return _distance(packed, padded) <= ROUNDING_OF_VECTORS

    def _base_forward(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def forward(
            input_ids: Any = None,
            attention_mask: Any = None,
            token_type_ids: Any = None,
            **more: Any,
        ) -> Any:
            inputs = {"input_ids": input_ids, "token_type_ids": token_type_ids, **more}
            is_plain = all(v is None or name == "return_dict" for name, v in more.items())
            if self._tokens and is_plain and attention_mask is not None:
                self._layout = make_layout(attention_mask, self._tokens)
            try:
                mask = None if self._layout is not None else attention_mask
                result = own(**inputs, attention_mask=mask)
            finally:
                self._layout = None
            if self._watched is not None:
                if result.get("hidden_states") is not None or result.get("attentions") is not None:
                    raise ValueError("layers are asked for")
                self._watched.append((attention_mask, result.last_hidden_state))
            return result

        return forward

    def _embeddings_forward(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def forward(
            input_ids: Any = None, token_type_ids: Any = None, position_ids: Any = None, **more: Any
        ) -> Any:
            layout = self._layout
            if layout is not None:
                # Numbers of 32 bits are sorted in half the time, which the backward pass does.
                input_ids = input_ids.reshape(-1)[layout.place][None].int()
                if token_type_ids is not None:
                    token_type_ids = token_type_ids.reshape(-1)[layout.place][None]
                position_ids = layout.position[None]
                if self._offset:
                    position_ids = position_ids + self._offset
                if token_type_ids is None:
                    position_ids = position_ids.long()
            return own(
                input_ids=input_ids,
                token_type_ids=token_type_ids,
                position_ids=position_ids,
                **more,
            )

        return forward

    def _table_forward(self, part: Any) -> Callable[..., Any]:
        own = part.forward

        def forward(index: Any) -> Any:
            if self._layout is None:
                return own(index)
            return _SmallEmbedding.apply(part.weight, index, part.padding_idx)

        return forward

    def _encoder_forward(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*inputs: Any, **more: Any) -> Any:
            result = own(*inputs, **more)
            if self._layout is not None:
                result.last_hidden_state = _Pad.apply(result.last_hidden_state[0], self._layout)
            return result

        return forward

    def _attention_forward(
        self, part: Any, joint: JointProjection, number: int
    ) -> Callable[..., Any]:
        own = part.forward

        def forward(hidden_states: Any, *inputs: Any, **more: Any) -> Any:
            if self._layout is None:
                return own(hidden_states, *inputs, **more)
            heads, dim = part.num_attention_heads, part.attention_head_size
            share = part.dropout.p if part.training else 0.0
            if share:
                seed = self._seeds.draw(number, hidden_states.device)
            else:
                seed = hidden_states.new_zeros(1, dtype=torch.long)
            out = _PackedAttention.apply(
                hidden_states[0],
                joint.weight,
                joint.bias,
                self._layout,
                AttentionShape(heads, dim, dim**-0.5, share),
                seed,
                *joint.parameters(),
            )
            return out[None], None

        return forward


def pack_encoder(model: Any, layers: FastLayers) -> PackedEncoder | None:
    """The packed way of a model's encoder; None if it is not built as BERT."""
    base = getattr(model, "base_model", None)
    parts = [getattr(base, name, None) for name in ("embeddings", "encoder")]
    if not all(isinstance(part, nn.Module) for part in (base, *parts)) or not layers.attentions:
        return None
    if getattr(base.config, "is_decoder", False):  # type: ignore[union-attr]  # a module, as seen
        return None
    inside = {id(part) for part in base.encoder.modules()}  # type: ignore[union-attr]
    if not all(id(part) in inside and _attends(part) for part, _ in layers.attentions):
        return None
    if len(layers.attentions) != getattr(base.config, "num_hidden_layers", 0):  # type: ignore[union-attr]
        return None
    offset = _find_offset(base)
    return None if offset is None else PackedEncoder(base, layers, offset)


def _distance(vectors: Any, expected: Any) -> float:
    """How far apart two matrices are, as a share of how far the rows are from their mean."""
    return float((vectors - expected).norm() / (expected - expected.mean(0)).norm())


def _is_small_table(part: Any) -> bool:
    if type(part) is not nn.Embedding or part.num_embeddings > SMALL_TABLE:
        return False
    return part.max_norm is None and not part.scale_grad_by_freq and not part.sparse


def _has_dropout(part: Any) -> bool:
    return isinstance(getattr(part, "dropout", None), nn.Dropout)


def _attends(part: Any) -> bool:
    """Whether a layer is the usual attention over its query, key and value, on a trial input."""
    heads, dim = (
        getattr(part, name, None) for name in ("num_attention_heads", "attention_head_size")
    )
    if not isinstance(heads, int) or dim not in HEAD_SIZES or not _has_dropout(part):
        return False
    weight = part.query.weight
    if weight.shape[0] != heads * dim:
        return False
    draw = torch.Generator().manual_seed(0)
    trial = 2 * torch.randn((2, 5, weight.shape[1]), generator=draw)
    trial = trial.to(weight.device, weight.dtype)
    was_training = part.training
    part.eval()
    try:
        with torch.no_grad():
            own = part(trial)
            q, k, v = (
                layer(trial).view(2, 5, heads, dim).transpose(1, 2).float()
                for layer in (part.query, part.key, part.value)
            )
            expected = ((q @ k.transpose(2, 3)) * dim**-0.5).softmax(-1) @ v
            expected = expected.transpose(1, 2).reshape(2, 5, heads * dim)
    except Exception:  # attention that needs more than vectors fails in its own way
        return False
    finally:
        part.train(was_training)
    if not isinstance(own, tuple) or len(own) != 2 or own[0].shape != expected.shape:
        return False
    return _distance(own[0].float().flatten(0, 1), expected.flatten(0, 1)) <= ROUNDING_OF_ATTENTION


def _find_offset(base: Any) -> int | None:
    """The number of an encoder's first position: 0, or behind that of its padding; None for others."""
    padding: int | None = getattr(base.config, "pad_token_id", None)
    positions = getattr(base.config, "max_position_embeddings", 0)
    was_training = base.training
    base.eval()
    try:
        words = base.get_input_embeddings()
        ids = [number for number in range(min(words.num_embeddings, 8)) if number != padding]
        trial = torch.tensor([ids], device=words.weight.device)
        places = torch.arange(len(ids), device=trial.device)[None]
        with torch.no_grad():
            expected = base.embeddings(input_ids=trial)
            for offset in (0,) if padding is None else (0, padding + 1):
                if offset + len(ids) > positions:  # a GPU does not survive reading beyond
                    return None
                found = base.embeddings(input_ids=trial, position_ids=places + offset)
                if torch.equal(found, expected):
                    return offset
    except Exception:  # embeddings that take no positions, or need more than numbers of tokens
        return None
    finally:
        base.train(was_training)
    return None
