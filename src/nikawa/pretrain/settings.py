"""How an encoder is trained: everything that decides its weights, and where and how exactly it is computed."""

from __future__ import annotations

from typing import Literal

import msgspec

from nikawa.errors import BadInput
from nikawa.pretrain.sizes import LONGEST, size_of

OUTSIDE = ("minutes", "device", "compile", "looks", "checkpoint_seconds")
"""Settings that say how the work is done, not what comes out: a state is taken up whatever they are."""

PROCESSOR_BATCH = 2_048
"""Pieces a step that suit a processor, which takes a thirtieth of a card's default in a second or so."""
LONGEST_MINUTES = 1e7
"""Nineteen years."""


class TrainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults suit a minute to an hour of one graphics card."""

    size: str = "mini"
    steps: int = 0
    minutes: float = 0.0
    """Instead of steps: as many as fit into this time, counted once at the start and written down."""
    seed: int = 0
    batch: int = 65_536
    """Pieces a step, whatever their length: windows times length."""
    lengths: tuple[tuple[int, float], ...] = ((128, 0.9), (512, 0.1))
    """Length of the windows and share of the steps, one after the other.

    Attention costs less in short windows and most texts of the tasks are short; the last steps teach long ones.
    """
    learning_rate: float = 0.0
    """Its peak; 0: that of the size."""
    schedule: Literal["linear", "cosine"] = "linear"
    warmup: float = 0.05
    """Share of the steps over which the rate rises."""
    weight_decay: float = 0.01
    clip: float = 1.0
    mask: float = 0.15
    """Share of pieces that are predicted."""
    device: str = "auto"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto: bf16 on a card, float32 elsewhere."""
    compile: Literal["auto", "yes", "no"] = "auto"
    """Fuse the layers with torch.compile; auto: on a card."""
    repeatable: bool = True
    """On a card, use only kernels that give the same bits each time."""
    looks: int = 10
    """How often the held-out text is looked at."""
    checkpoint_seconds: float = 60.0

    def rate(self) -> float:
        """The peak of the learning rate."""
        return self.learning_rate or size_of(self.size).rate


def check_seed(seed: int) -> None:
    """Refuse what no source of random numbers begins with."""
    if not 0 <= seed < 1 << 63:
        raise BadInput(
            f"the seed is {seed}", cure="choose a number from 0 on, with 18 digits at most"
        )


def check_settings(settings: TrainSettings) -> None:
    """Refuse what cannot be trained."""
    size_of(settings.size)
    if settings.steps > 0 and settings.minutes > 0:
        raise BadInput(
            "both the steps and the minutes of the training are given",
            cure="say --steps or --minutes, not both",
        )
    if not (settings.steps > 0 or settings.minutes > 0):
        raise BadInput(
            "give the steps or the minutes of the training", cure="say --steps 2000, or --minutes 8"
        )
    if not settings.minutes < LONGEST_MINUTES:
        raise BadInput(f"a training cannot take {settings.minutes} minutes", cure="say --minutes 8")
    shares = sum(share for _, share in settings.lengths)
    if (
        not settings.lengths
        or abs(shares - 1) > 1e-6
        or any(share < 0 for _, share in settings.lengths)
    ):
        raise BadInput(
            "the shares of the lengths must make 1", cure="for example 128: 0.9, 512: 0.1"
        )
    for length, _ in settings.lengths:
        if not 16 <= length <= LONGEST:
            raise BadInput(
                f"the length {length} is not between 16 and {LONGEST}", cure="choose another length"
            )
        if settings.batch < length:
            raise BadInput(
                f"a batch of {settings.batch} pieces holds no window of {length}",
                cure="choose a larger batch",
            )
    check_seed(settings.seed)
    if not 0 < settings.mask < 0.9:
        raise BadInput(f"the share of masked pieces is {settings.mask}", cure="choose 0.15, say")
