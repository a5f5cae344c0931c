"""Attention to a shared part and to a row's own tokens, joined by their softmax sums.

All rows of a batch see the same shared part. Copying its keys and values into every row costs more
memory traffic than the attention itself, so the two parts are computed apart. With outputs o1, o2
and log-sums l1, l2 of the exponentials, the joint softmax is

    o = (exp(l1) o1 + exp(l2) o2) / (exp(l1) + exp(l2))

as in cascade inference (Juravsky et al. 2024, "Hydragen"). Heads that share keys (grouped-query
attention) become further queries of one key head, so keys are not repeated either.

Transformers calls `attend` by name: `install` registers it, and a model that supports attention
backends uses it after `model.set_attn_implementation(NAME)`. The shared part arrives as the keyword
argument `shared_prefix` of the model's forward pass.
"""

from __future__ import annotations

from typing import Any

NAME = "nikawa_shared_prefix"


def install() -> None:
    """Make `attend` known to transformers under `NAME`."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    shared_prefix: list[tuple[Any, Any]] | None = None,
    softcap: float | None = None,
    **options: Any,
) -> tuple[Any, None]:
    """Attention of one layer: rows, tokens, heads, dimensions."""
    if shared_prefix is None and query.shape[2] > 1 and softcap is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        output: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return output
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    rows, heads, tokens, size = query.shape
    key_heads = key.shape[1]
    groups = heads // key_heads
    grouped = query.reshape(rows, key_heads, groups * tokens, size)
    bias = make_additive(attention_mask, query, key.shape[2])
    if bias is not None and groups > 1:
        bias = bias.repeat(1, 1, groups, 1)
    own, own_sum = attend_with_sum(grouped, key, value, bias, scale, softcap)
    if shared_prefix is not None:
        keys, values = shared_prefix[module.layer_idx]
        # every row asks the same keys: one long row of queries
        flat = grouped.transpose(0, 1).reshape(1, key_heads, rows * groups * tokens, size)
        part, part_sum = attend_with_sum(flat, keys, values, None, scale, softcap)
        shape = (key_heads, rows, groups * tokens)
        part = part.reshape(*shape, size).transpose(0, 1)
        part_sum = part_sum.reshape(shape).transpose(0, 1)
        own = join_parts(own, own_sum, part, part_sum)
    joined = own.reshape(rows, heads, tokens, size)
    return joined.transpose(1, 2).contiguous(), None


def make_additive(mask: Any, query: Any, keys: int) -> Any:
    """A mask to add to the weights; transformers passes booleans, or nothing if it is causal."""
    import torch

    tokens = query.shape[2]
    if mask is None and tokens > 1:
        ones = torch.ones((1, 1, tokens, keys), dtype=torch.bool, device=query.device)
        mask = ones.tril(keys - tokens)
    if mask is None or mask.dtype != torch.bool:
        return mask
    bias = torch.zeros(mask.shape, dtype=query.dtype, device=query.device)
    return bias.masked_fill_(~mask, torch.finfo(query.dtype).min)


def attend_with_sum(
    query: Any, key: Any, value: Any, bias: Any, scale: float, softcap: float | None = None
) -> tuple[Any, Any]:
    """Attention, and the logarithm of the sum of exponentials of each query.

    `softcap` limits the weights before the softmax, as Gemma 2 does; no fused kernel has it.
    """
    import torch

    aten = torch.ops.aten
    is_fused = query.device.type == "cuda" and query.dtype in (torch.bfloat16, torch.float16)
    if is_fused and softcap is None:
        if bias is None:
            output, sums, *_ = aten._scaled_dot_product_flash_attention(
                query, key, value, 0.0, False, False, scale=scale
            )
            return output, sums
        wide = bias.expand(query.shape[0], query.shape[1], -1, -1)
        output, sums, *_ = aten._scaled_dot_product_efficient_attention(
            query, key, value, wide, True, 0.0, False, scale=scale
        )
        return output, sums[..., : query.shape[2]]
    weights = (query @ key.transpose(-1, -2)).float() * scale
    if softcap is not None:
        weights = (weights / softcap).tanh() * softcap
    if bias is not None:
        weights = weights + bias
    sums = weights.logsumexp(-1)
    return (weights - sums[..., None]).exp().to(value.dtype) @ value, sums


def join_parts(first: Any, first_sum: Any, second: Any, second_sum: Any) -> Any:
    """The attention over two sets of keys from the attention over each."""
    share = (second_sum - first_sum).sigmoid()[..., None].to(first.dtype)
    return first.lerp(second, share)
