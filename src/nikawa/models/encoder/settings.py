"""The settings of fine-tuning; the defaults are those of JGLUE's middle recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

import msgspec

Precision = Literal["auto", "float32", "bf16"]
WordFinder = Callable[[str], Iterable[tuple[int, int]]]
"""Text to start and end (exclusive) of its words, in order."""

ANALYSERS_BY_EXTRA = {
    "ja-ipadic": "ipadic",
    "ja-unidic": "unidic",
    "ja-juman": "juman",
    "ko-kiwi": "kiwi",
    "ko-mecab": "mecab-ko",
}
"""Names of analysers by the names of the extras that bring them."""

Normalise = Literal["none", "fullwidth", "halfwidth", "nfc", "nfkc"]
"""The normal forms of `nikawa.text.normalise` that a text can get before it is segmented."""
InputChoice = Literal["as-set", "published"]
"""Whether the settings below hold, or those that the checkpoint was published with."""
INPUT_SETTINGS: dict[str, str] = {"segmentation": "none", "normalise": "none"}
"""The settings that `input=published` sets, with their defaults."""
RUNTIME_SETTINGS = ("device", "checkpoint_steps", "any_language")
"""Settings that change how the work is done, not its result."""
FIRST_METRIC = "first"
"""The value of `best_by` for the task's first metric, whichever it is."""
MAX_VALUE = 1e9
"""A number above this is a mistake; the limit also refuses infinity."""


class EncoderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `encoder:PATH`; presets (`nikawa run --preset`) fill them in."""

    learning_rate: Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)] = 3e-5
    """The highest rate, reached at the end of the warm-up."""
    epochs: Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)] = 3
    """0: answer with the head that is in the folder."""
    batch: Annotated[int, msgspec.Meta(ge=1)] = 32
    """Rows per batch."""
    accumulate: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Batches whose gradients make one step."""
    warmup: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1
    """Share of the steps in which the rate rises; then it falls to zero in a straight line."""
    weight_decay: Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)] = 0.01
    """Weight decay; it does not apply to biases and the scales of normalisation layers."""
    clip: Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)] = 1.0
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
    """Answers of reading comprehension that are compared and stored with their scores."""
    segmentation: str = "none"
    """The analyser whose words the tokenizer was trained on (`ja-ipadic`, `ko-kiwi`, …); `none`
    where it needs none."""
    normalise: Normalise = "none"
    """The normal form of the text before it is segmented; `fullwidth` as JGLUE's reference does for
    the models of NICT and Waseda. Answers count characters of the original text."""
    input: InputChoice = "as-set"
    """`published`: `segmentation` and `normalise` as the checkpoint was published with, looked up by
    its name."""
    markers: Literal["typed", "untyped"] = "typed"
    """Entity markers of relation extraction: with the entity's type or not."""
    relation_reads: Literal["cls", "markers"] = "cls"
    """Where relations are read: at the first position, as the reference does, or at the two opening
    markers."""
    decode: Literal["tree", "argmax"] = "tree"
    """How dependency heads are chosen: the best tree, or each word's best head as the reference
    does."""
    checks: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Evaluations on dev in an epoch, where dev is evaluated."""
    early_stop: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Stop after so many evaluations on dev without a better score; 0: never."""
    keep: Literal["best", "last"] = "last"
    """Which state answers: the best on dev, or the last."""
    best_by: str = FIRST_METRIC
    """The metric of the task by which a state is the best, for `keep` and `early_stop`."""
    precision: Precision = "auto"
    """`auto`: bf16 with float32 master weights on a GPU, float32 on a CPU."""
    device: str = "auto"
    """`auto`: the GPU where there is one; else a device as torch names it (`cpu`, `cuda:1`)."""
    checkpoint_steps: Annotated[int, msgspec.Meta(ge=1)] = 500
    """Steps between two states on disk, from which a killed run resumes."""
    any_language: bool = False
    """Train an encoder on text that its vocabulary spells in bytes, as that of another language
    does."""
    scratch: bool = False
    """Random weights instead of the checkpoint's, to measure what pre-training adds."""
    lora: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Rank of the low-rank adapters that are trained instead of all weights; 0: train all."""
    head: str = "auto"
    """The head by its file's name, where a kind of task has more than one."""


def make_word_finder(segmentation: str) -> WordFinder | None:
    """A function from a text to the places of an analyser's words, for vocabularies that were
    learned on words.

    `segmentation` is the name of an analyser or of the extra that brings it; None for `none`.
    """
    if segmentation == "none":
        return None
    from nikawa.text import analyser

    words = analyser(ANALYSERS_BY_EXTRA.get(segmentation, segmentation))
    return lambda text: [(token.start, token.end) for token in words.analyse(text)]
