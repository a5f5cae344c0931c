"""The sizes an encoder comes in: ModernBERT with full attention in every layer, as transformers loads it.

Rotary positions need no learned table, so a model trained mostly on short windows reads long ones; no biases and
fused projections make it fast; normalisation before each part lets a short training take a high rate.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nikawa.errors import unknown

LONGEST = 512
"""Pieces of the longest input: the longest contexts of reading tasks with their question."""
ROTATION = 10_000.0
ROUND = 64
"""Rows of the embedding are a multiple of this, as matrix units like it; the tail stands for no piece."""


class Size(msgspec.Struct, frozen=True):
    """Width and depth of a network, and the learning rate that suits it."""

    width: int
    layers: int
    heads: int
    inner: int
    """Width of the gated part."""
    rate: float

    def body(self) -> int:
        """Weights of all layers, which every piece meets."""
        return self.layers * (4 * self.width**2 + 3 * self.width * self.inner)

    def parameters(self, vocabulary: int) -> int:
        """All weights at this number of pieces; the embedding is shared with the output."""
        rows = padded(vocabulary)
        scales = self.width * (2 * self.layers - 1 + 3)  # the first layer has one scale less
        return self.body() + rows * self.width + rows + self.width**2 + scales

    def operations(self, length: int, vocabulary: int, share: float) -> float:
        """Floating-point operations of learning one piece: forward once, backward twice."""
        attention = 2 * self.layers * self.width * length
        head = share * (self.width**2 + self.width * padded(vocabulary))
        return 6 * (self.body() + attention + head)


SIZES: dict[str, Size] = {
    "tiny": Size(128, 2, 2, 256, 3e-3),
    "mini": Size(256, 12, 4, 640, 2e-3),
    "small": Size(512, 12, 8, 1280, 1e-3),
}


def size_of(name: str) -> Size:
    """The size of this name."""
    if name not in SIZES:
        raise unknown("size", name, SIZES)
    return SIZES[name]


def padded(vocabulary: int) -> int:
    """Rows of the embedding for this number of pieces."""
    return -(-vocabulary // ROUND) * ROUND


def config_of(size: Size, vocabulary: int, special: dict[str, int]) -> Any:
    """The configuration transformers builds and loads the model by; `special`: ids of pad, cls, sep."""
    from transformers import ModernBertConfig

    rotation = {"rope_type": "default", "rope_theta": ROTATION}
    return ModernBertConfig(
        vocab_size=padded(vocabulary),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner,
        max_position_embeddings=LONGEST,
        layer_types=["full_attention"] * size.layers,
        rope_parameters={"full_attention": dict(rotation), "sliding_attention": dict(rotation)},
        # no objective of masked pieces teaches the first piece to stand for the text
        classifier_pooling="mean",
        pad_token_id=special["pad"],
        cls_token_id=special["cls"],
        bos_token_id=special["cls"],
        sep_token_id=special["sep"],
        eos_token_id=special["sep"],
    )
