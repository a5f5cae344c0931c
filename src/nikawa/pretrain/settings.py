"""How an encoder is trained: its size, everything else that decides its weights, and where and how
exactly it is computed.

The sizes are ModernBERT with full attention in every layer, as transformers loads it. Rotary
positions need no learned table, so a model trained mostly on short windows reads long ones; no
biases and fused projections make it fast; normalisation before each part lets a short training take
a high rate.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from nikawa.errors import BadInput, unknown

MAX_INPUT_TOKENS = 512
"""Tokens of the longest input: the longest contexts of reading tasks with their question."""
ROTARY_BASE = 10_000.0
NORM_EPSILON = 1e-5
"""Added to the mean square in the normalisation of causal models."""
OBJECTIVES = ("masked", "causal")
EMBEDDING_MULTIPLE = 64
"""Rows of the embedding are a multiple of this, as matrix units like it; the tail stands for no
token."""


class Size(msgspec.Struct, frozen=True):
    """Width and depth of a network, and the learning rate that suits it."""

    width: int
    layers: int
    heads: int
    inner: int
    """Width of the gated part."""
    rate: float

    def body(self) -> int:
        """Weights of all layers, which every token meets."""
        return self.layers * (4 * self.width**2 + 3 * self.width * self.inner)

    def parameters(self, vocabulary: int) -> int:
        """All weights at this number of tokens; the embedding is shared with the output."""
        rows = pad_vocabulary(vocabulary)
        scales = self.width * (2 * self.layers - 1 + 3)  # the first layer has one scale less
        return self.body() + rows * self.width + rows + self.width**2 + scales

    def operations(self, length: int, vocabulary: int, share: float) -> float:
        """Floating-point operations of learning one token: forward once, backward twice.

        `share` of the tokens are predicted. A causal model computes the masked half of the attention
        too, and its head is a little smaller.
        """
        attention = 2 * self.layers * self.width * length
        head = share * (self.width**2 + self.width * pad_vocabulary(vocabulary))
        return 6 * (self.body() + attention + head)


SIZES: dict[str, Size] = {
    "tiny": Size(128, 2, 2, 256, 3e-3),
    "mini": Size(256, 12, 4, 640, 2e-3),
    "small": Size(512, 12, 8, 1280, 1e-3),
}


def find_size(name: str) -> Size:
    """The size of this name."""
    if name not in SIZES:
        raise unknown("size", name, SIZES)
    return SIZES[name]


def pad_vocabulary(vocabulary: int) -> int:
    """Rows of the embedding for this number of tokens."""
    return -(-vocabulary // EMBEDDING_MULTIPLE) * EMBEDDING_MULTIPLE


def make_config(size: Size, vocabulary: int, special: dict[str, int]) -> Any:
    """The configuration transformers builds and loads the model by.

    `special`: ids of pad, cls, sep.
    """
    from transformers import ModernBertConfig

    rotation = {"rope_type": "default", "rope_theta": ROTARY_BASE}
    return ModernBertConfig(
        vocab_size=pad_vocabulary(vocabulary),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner,
        max_position_embeddings=MAX_INPUT_TOKENS,
        layer_types=["full_attention"] * size.layers,
        rope_parameters={"full_attention": dict(rotation), "sliding_attention": dict(rotation)},
        # no objective of masked tokens teaches the first token to stand for the text
        classifier_pooling="mean",
        pad_token_id=special["pad"],
        cls_token_id=special["cls"],
        bos_token_id=special["cls"],
        sep_token_id=special["sep"],
        eos_token_id=special["sep"],
    )


def make_causal_config(size: Size, vocabulary: int, special: dict[str, int]) -> Any:
    """The configuration of a causal model: Llama with one head of keys per head.

    [SEP] ends a document and begins the next one, so it is both the first and the last token.
    """
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=pad_vocabulary(vocabulary),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.inner,
        max_position_embeddings=MAX_INPUT_TOKENS,
        rope_parameters={"rope_type": "default", "rope_theta": ROTARY_BASE},
        rms_norm_eps=NORM_EPSILON,
        tie_word_embeddings=True,
        pad_token_id=special["pad"],
        bos_token_id=special["sep"],
        eos_token_id=special["sep"],
    )


NOT_IN_KEY = ("minutes", "device", "compile", "looks", "checkpoint_seconds")
"""Settings that change how the work is done, not its result: a checkpoint is resumed whatever they
are."""

CPU_BATCH = 2_048
"""Tokens a step that suit a CPU, which takes a thirtieth of a GPU's default in a second or so."""
MAX_MINUTES = 1e7
"""Nineteen years."""


class TrainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults suit a minute to an hour of one GPU."""

    size: str = "mini"
    objective: Literal["causal"] | msgspec.UnsetType = msgspec.UNSET
    """`causal`: predict the next token. Unset: predict masked words; settings stored before there was a
    choice have the same bytes."""
    steps: int = 0
    minutes: float = 0.0
    """Instead of steps: as many as fit into this time, counted once at the start and kept."""
    seed: int = 0
    batch: int = 65_536
    """Tokens a step, whatever their length: windows times length."""
    lengths: tuple[tuple[int, float], ...] = ((128, 0.9), (512, 0.1))
    """Length of the windows and share of the steps, one after the other.

    Attention costs less in short windows and most texts of the tasks are short; the last steps
    teach long ones.
    """
    learning_rate: float = 0.0
    """Its peak; 0: that of the size."""
    schedule: Literal["linear", "cosine"] = "linear"
    warmup: float = 0.05
    """Share of the steps over which the rate rises."""
    weight_decay: float = 0.01
    clip: float = 1.0
    mask: float = 0.15
    """Share of tokens that are predicted."""
    device: str = "auto"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto: bf16 on a GPU, float32 elsewhere."""
    compile: Literal["auto", "yes", "no"] = "auto"
    """Fuse the layers with torch.compile; auto: on a GPU."""
    repeatable: bool = True
    """On a GPU, use only kernels that give the same bits each time."""
    looks: int = 10
    """How often the model is evaluated on held-out text."""
    checkpoint_seconds: float = 60.0

    @property
    def is_causal(self) -> bool:
        """Whether the model predicts the next token."""
        return self.objective == "causal"

    def rate(self) -> float:
        """The peak of the learning rate."""
        return self.learning_rate or find_size(self.size).rate


def check_seed(seed: int) -> None:
    """Refuse what no source of random numbers begins with."""
    if not 0 <= seed < 1 << 63:
        cure = "choose a whole number of at most 18 digits, 0 or more"
        raise BadInput(f"the seed is {seed}", cure=cure)


def check_settings(settings: TrainSettings) -> None:
    """Refuse what cannot be trained."""
    find_size(settings.size)
    if settings.steps > 0 and settings.minutes > 0:
        what = "both steps and minutes are set"
        raise BadInput(what, cure="pass either --steps or --minutes")
    if not (settings.steps > 0 or settings.minutes > 0):
        what = "the length of the training is not set"
        raise BadInput(what, cure="pass --steps 2000 or --minutes 8, for example")
    if not settings.minutes < MAX_MINUTES:
        raise BadInput(f"training cannot take {settings.minutes} minutes", cure="pass --minutes 8")
    shares = [share for _, share in settings.lengths]
    if not shares or abs(sum(shares) - 1) > 1e-6 or min(shares) < 0:
        cure = "use for example 128: 0.9, 512: 0.1"
        raise BadInput("the shares of the lengths do not add up to 1", cure=cure)
    for length, _ in settings.lengths:
        if not 16 <= length <= MAX_INPUT_TOKENS:
            what = f"the length {length} is not between 16 and {MAX_INPUT_TOKENS}"
            raise BadInput(what, cure="choose another length")
        if settings.batch < length:
            what = f"a batch of {settings.batch} tokens is too small for a window of {length}"
            raise BadInput(what, cure="choose a larger batch")
    check_seed(settings.seed)
    if not 0 < settings.mask < 0.9:
        raise BadInput(f"the share of masked tokens is {settings.mask}", cure="choose e.g. 0.15")
