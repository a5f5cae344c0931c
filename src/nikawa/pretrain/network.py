"""The network as transformers builds it, computed in our own way: without padding, fused, and only
where it counts.

The weights stay those of `ModernBertForMaskedLM` or `LlamaForCausalLM`, in float32; products are
taken in bf16 on a GPU. The vocabulary of a masked model is projected to at the masked places alone.
A causal model sees earlier tokens of the same document alone: a window may hold several.
`matches_transformers` compares the two ways of computing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nikawa.pretrain.settings import (
    NORM_EPSILON,
    ROTARY_BASE,
    Size,
    make_causal_config,
    make_config,
)


def build_model(
    size: Size, vocabulary: int, special: dict[str, int], seed: int, *, causal: bool = False
) -> Any:
    """A model with fresh weights, by the seed alone."""
    import torch
    from transformers import LlamaForCausalLM, ModernBertForMaskedLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if causal:
            return LlamaForCausalLM(make_causal_config(size, vocabulary, special))
        return ModernBertForMaskedLM(make_config(size, vocabulary, special))


def compute_layer(
    x: Any, y: Any, weights: tuple[Any, ...], angles: tuple[Any, Any]
) -> tuple[Any, Any]:
    """One layer: attention, then the gated part, each added to `x`.

    `y` is `x` normalised, in the format of products. It ends with the normalisation that comes
    next, so that every layer is the same code and a sum and its normalisation are one pass over
    memory.
    """
    import torch.nn.functional as F  # noqa: N812  (its name everywhere)

    qkv, out, second, inner, outer, following = weights
    rows, length, width = x.shape
    cos, sin = angles
    low = y.dtype
    parts = F.linear(y, qkv.to(low)).view(rows, length, 3, -1, cos.shape[-1]).unbind(2)
    query = rotate_halves(parts[0], cos, sin).transpose(1, 2)
    key = rotate_halves(parts[1], cos, sin).transpose(1, 2)
    y = F.scaled_dot_product_attention(query, key, parts[2].transpose(1, 2))
    y = y.transpose(1, 2).reshape(rows, length, width)
    x = x + F.linear(y, out.to(low))
    y = F.linear(F.layer_norm(x, (width,), second).to(low), inner.to(low))
    left, gate = y.chunk(2, dim=-1)
    x = x + F.linear(F.gelu(left) * gate, outer.to(low))
    return x, F.layer_norm(x, (width,), following).to(low)


def rotate_halves(x: Any, cos: Any, sin: Any) -> Any:
    """Rotate the two halves of each head by the angle of its place."""
    import torch

    one, two = x.float().chunk(2, dim=-1)
    return (x * cos + torch.cat((-two, one), dim=-1) * sin).to(x.dtype)


def compute_losses(y: Any, gold: Any, weights: tuple[Any, ...]) -> tuple[Any, Any]:
    """The loss of each predicted place, and its logits.

    `y` are the states there, `gold` the tokens, `weights` those of the head: dense, norm, embedding
    table, bias.
    """
    import torch.nn.functional as F  # noqa: N812

    dense, norm, table, bias = weights
    low = y.dtype
    y = F.gelu(F.linear(y, dense.to(low))).float()
    y = F.layer_norm(y, (y.shape[-1],), norm).to(low)
    logits = F.linear(y, table.to(low), bias.to(low)).float()
    return F.cross_entropy(logits, gold, reduction="none"), logits


@dataclass
class Network:
    """The parts of a model in the order they are computed.

    `fuse` makes them faster where it can.
    """

    model: Any
    low: Any
    """The number format of products."""
    parts: ClassVar[tuple[Callable[..., Any], ...]] = (compute_layer, compute_losses)
    """The functions that compute one layer and the losses."""
    layer: Callable[..., Any] = field(init=False)
    losses: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        self.unfuse()

    @property
    def is_fused(self) -> bool:
        """Whether `fuse` was called."""
        return self.layer is not self.parts[0]

    def unfuse(self) -> None:
        """Undo `fuse`."""
        self.layer, self.losses = self.parts

    def fuse(self) -> None:
        """Compile one layer and the output: all layers share the code, so this takes seconds, not
        minutes.
        """
        import torch

        torch.compiler.reset()  # shapes of an earlier training must not count against this one's
        self.layer, self.losses = (torch.compile(part, dynamic=False) for part in self.parts)

    def states(self, ids: Any) -> Any:
        """What the layers make of windows of tokens."""
        import torch.nn.functional as F  # noqa: N812

        base = self.model.model
        table, scale = base.embeddings.tok_embeddings.weight, base.embeddings.norm.weight
        x = F.layer_norm(F.embedding(ids, table), (table.shape[1],), scale)
        y = x.to(self.low)  # the first layer takes it as it is
        angles = rotary_angles(
            ids.shape[1], table.shape[1] // base.config.num_attention_heads, ids.device
        )
        next_norms = [*(layer.attn_norm for layer in base.layers[1:]), base.final_norm]
        for layer, next_norm in zip(base.layers, next_norms, strict=True):
            attention, gated = layer.attn, layer.mlp
            weights = (
                attention.Wqkv,
                attention.Wo,
                layer.mlp_norm,
                gated.Wi,
                gated.Wo,
                next_norm,
            )
            x, y = self.layer(x, y, tuple(w.weight for w in weights), angles)
        return y

    def predict(self, y: Any, at: Any, gold: Any) -> tuple[Any, Any]:
        """The losses at flat places `at`, and the logits there."""
        head, out = self.model.head, self.model.decoder
        weights = (head.dense.weight, head.norm.weight, out.weight, out.bias)
        losses: tuple[Any, Any] = self.losses(y.reshape(-1, y.shape[-1])[at], gold, weights)
        return losses

    def loss(self, batch: Any) -> Any:
        """The mean loss of a batch."""
        each, _ = self.predict(self.states(batch.ids), batch.at, batch.gold)
        return (each * batch.weight).sum() / batch.weight.sum().clamp(min=1)


def compute_causal_layer(
    x: Any, y: Any, weights: tuple[Any, ...], angles: tuple[Any, Any], mask: Any
) -> tuple[Any, Any]:
    """One layer of a causal model, as `compute_layer`; `mask` is added to the attention scores."""
    import torch.nn.functional as F  # noqa: N812

    query, key, value, out, second, gate, inner, outer, following = weights
    rows, length, width = x.shape
    cos, sin = angles
    low = y.dtype
    shape = (rows, length, -1, cos.shape[-1])
    queries, keys = (
        rotate_halves(F.linear(y, weight.to(low)).view(shape), cos, sin).transpose(1, 2)
        for weight in (query, key)
    )
    values = F.linear(y, value.to(low)).view(shape).transpose(1, 2)
    y = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    y = y.transpose(1, 2).reshape(rows, length, width)
    x = x + F.linear(y, out.to(low))
    y = F.rms_norm(x, (width,), second, NORM_EPSILON).to(low)
    y = F.silu(F.linear(y, gate.to(low))) * F.linear(y, inner.to(low))
    x = x + F.linear(y, outer.to(low))
    return x, F.rms_norm(x, (width,), following, NORM_EPSILON).to(low)


def compute_causal_losses(y: Any, gold: Any, table: Any) -> tuple[Any, Any]:
    """The loss of each place, and its logits; `table` is the embedding table."""
    import torch.nn.functional as F  # noqa: N812

    logits = F.linear(y, table.to(y.dtype)).float()
    return F.cross_entropy(logits, gold, reduction="none"), logits


class CausalNetwork(Network):
    """The parts of a causal model."""

    parts: ClassVar[tuple[Callable[..., Any], ...]] = (compute_causal_layer, compute_causal_losses)

    def states(self, ids: Any) -> Any:
        """What the layers make of windows of tokens, each token with those before it in its
        document.
        """
        import torch.nn.functional as F  # noqa: N812

        base = self.model.model
        table = base.embed_tokens.weight
        x = F.embedding(ids, table)
        width = table.shape[1]
        y = F.rms_norm(x, (width,), base.layers[0].input_layernorm.weight, NORM_EPSILON)
        y = y.to(self.low)
        heads = base.config.num_attention_heads
        angles = rotary_angles(ids.shape[1], width // heads, ids.device)
        mask = mask_documents(ids, self.model.config.bos_token_id, self.low)
        next_norms = [*(layer.input_layernorm for layer in base.layers[1:]), base.norm]
        for layer, next_norm in zip(base.layers, next_norms, strict=True):
            attention, gated = layer.self_attn, layer.mlp
            weights = (
                attention.q_proj,
                attention.k_proj,
                attention.v_proj,
                attention.o_proj,
                layer.post_attention_layernorm,
                gated.gate_proj,
                gated.up_proj,
                gated.down_proj,
                next_norm,
            )
            x, y = self.layer(x, y, tuple(w.weight for w in weights), angles, mask)
        return y

    def predict(self, y: Any, at: Any, gold: Any) -> tuple[Any, Any]:
        """The losses of all places, or those at `at`, and the logits there."""
        flat = y.reshape(-1, y.shape[-1])
        flat = flat if at is None else flat[at]
        losses: tuple[Any, Any] = self.losses(flat, gold, self.model.lm_head.weight)
        return losses


def mask_documents(ids: Any, first: int, dtype: Any) -> Any:
    """What is added to the attention scores: nothing for tokens of the same document up to this one,
    minus infinity for others.

    A document begins with the token `first`. Positions need not start again with it: rotary
    positions count distances alone.
    """
    import torch

    rows, length = ids.shape
    document = (ids == first).cumsum(dim=1)
    visible = (document[:, :, None] == document[:, None, :]).tril()
    mask = torch.zeros((rows, 1, length, length), dtype=dtype, device=ids.device)
    return mask.masked_fill(~visible[:, None], float("-inf"))


def open_network(model: Any, low: Any) -> Network:
    """The network that computes a model of this kind."""
    is_causal = model.config.model_type == "llama"
    return CausalNetwork(model, low) if is_causal else Network(model, low)


def rotary_angles(length: int, width: int, device: Any) -> tuple[Any, Any]:
    """Cosine and sine of each place's angles, ready to be spread over the heads."""
    import torch

    speed = ROTARY_BASE ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
    angles = torch.arange(length, device=device, dtype=torch.float32)[:, None] * speed
    angles = torch.cat((angles, angles), dim=-1)[:, None, :]
    return angles.cos(), angles.sin()


def matches_transformers(model: Any, seed: int = 0) -> bool:
    """Whether transformers computes what we compute, on a few random tokens."""
    import torch

    rows = model.config.vocab_size
    ids = torch.arange(48).mul(7919).add(seed).remainder(rows).view(2, 24)
    if model.config.model_type == "llama":  # the first token of a document only as the first
        ids[ids == model.config.bos_token_id] += 1
    was = model.training
    with torch.no_grad():
        ours = open_network(model, torch.float32)
        _, logits = ours.predict(ours.states(ids), torch.arange(48), ids.reshape(-1))
        model.eval()
        theirs = model(input_ids=ids).logits.reshape(48, rows)
        model.train(was)
    return bool(torch.allclose(logits, theirs, atol=1e-3, rtol=1e-3))
