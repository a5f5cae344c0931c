"""What can be set when an encoder is fine-tuned; the defaults are those of JGLUE's middle recipe."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Precision = Literal["auto", "float32", "bf16"]

SPOKEN = {
    "ja-ipadic": "ipadic",
    "ja-unidic": "unidic",
    "ja-juman": "juman",
    "ko-kiwi": "kiwi",
    "ko-mecab": "mecab-ko",
}
"""Analysers by the names of the extras that bring them."""

OUTSIDE = ("device", "checkpoint_steps", "any_language")
"""Settings that tell how the work is done, not what comes out."""


FIRST = "first"
"""The task's first metric, whichever it is."""
LARGE = 1e9
"""Above this a number is a slip; what is not finite is refused by it too."""


class EncoderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `encoder:PATH`; presets (`nikawa run --preset`) fill them in."""

    learning_rate: Annotated[float, msgspec.Meta(ge=0, le=LARGE)] = 3e-5
    epochs: Annotated[float, msgspec.Meta(ge=0, le=LARGE)] = 3
    """0: answer with the head the folder holds."""
    batch: Annotated[int, msgspec.Meta(ge=1)] = 32
    accumulate: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Batches whose gradients make one step."""
    warmup: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    """Share of the steps in which the rate rises; then it falls to zero in a straight line."""
    weight_decay: Annotated[float, msgspec.Meta(ge=0, le=LARGE)] = 0.01
    clip: Annotated[float, msgspec.Meta(ge=0, le=LARGE)] = 1.0
    """Largest norm of the gradient; 0: no limit."""
    dropout: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """Replaces the checkpoint's own dropout."""
    max_length: Annotated[int, msgspec.Meta(ge=8)] = 128
    """Longest input in sub-words; the longer side is cut first."""
    doc_stride: Annotated[int, msgspec.Meta(ge=0)] = 128
    """Sub-words shared by neighbouring windows of a long paragraph."""
    max_answer: Annotated[int, msgspec.Meta(ge=1)] = 30
    """Longest answer of reading comprehension, in sub-words."""
    n_best: Annotated[int, msgspec.Meta(ge=1)] = 20
    segmentation: str = "none"
    """The analyser whose words the tokenizer was trained on (`ja-ipadic`, `ko-kiwi`, …); `none` where it needs none."""
    markers: Literal["typed", "untyped"] = "typed"
    """Entity markers of relation extraction: with the entity's type or not."""
    relation_reads: Literal["cls", "markers"] = "cls"
    """Where relations are read: at the first position, as the reference does, or at the two opening markers."""
    decode: Literal["tree", "argmax"] = "tree"
    """How dependency heads are chosen: the best tree, or each word's best head as the reference does."""
    checks: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Looks at dev an epoch, where it is looked at."""
    early_stop: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Stop after so many looks at dev without a better score; 0: never."""
    keep: Literal["best", "last"] = "last"
    """Which state answers: the best on dev, or the last."""
    best_by: str = FIRST
    """The metric of the task that tells which state is the best, for `keep` and `early_stop`."""
    precision: Precision = "auto"
    """`auto`: bf16 with float32 master weights on a graphics card, float32 on a processor."""
    device: str = "auto"
    checkpoint_steps: Annotated[int, msgspec.Meta(ge=1)] = 500
    """Steps between two states on disk, from which a killed run goes on."""
    any_language: bool = False
    """Train an encoder on text that its vocabulary spells in bytes, as that of another language does."""
    scratch: bool = False
    """Random weights instead of the checkpoint's: what pre-training is worth."""
    lora: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Rank of the low-rank adapters that are trained instead of all weights; 0: train all."""
    head: str = "auto"
    """The head by its file's name, where a kind of task has more than one."""


def words_by(name: str) -> Any:
    """The places of an analyser's words, for vocabularies that were learned on words; None for `none`."""
    if name == "none":
        return None
    from nikawa.text import analyser

    found = analyser(SPOKEN.get(name, name))
    return lambda text: [(token.start, token.end) for token in found.analyse(text)]
