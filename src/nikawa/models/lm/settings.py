"""The settings of `lm:PATH`, checked before any weight is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Normalisation = Literal["sum", "token", "character", "pmi"]
"""How the log-likelihoods of options of different lengths are made comparable."""

RUNTIME_SETTINGS = ("device", "device_map", "batch_tokens")
"""Settings that change how the work is done. Without `exact` they may change the last bits of a
log-probability, as any change of a batch does; they do not define a run."""

PATH_SETTINGS = ("prompt", "adapter")
"""Settings that name a file or a folder, whose content defines a run."""


class LmSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of `lm:PATH`, a causal language model on this machine."""

    language: Literal["auto", "ja", "ko", "en"] = "auto"
    """Language of the prompt; auto: the language of the texts."""
    prompt: str = ""
    """A prompt file to use instead of the one that comes with Nikawa."""
    shots: int | Literal["all"] = 0
    """Number of few-shot examples in each prompt, drawn from the training examples."""
    chat: Literal["auto", "on", "off"] = "auto"
    """Whether to use the tokenizer's chat template; auto: if it has one."""
    system: bool = True
    """Whether the chat template gets a system message; else its text opens the first question."""
    answer: Literal["key", "word"] = "key"
    """What is scored for a closed question: the key that the prompt asks for (a letter), or the
    option's words."""
    normalise: Normalisation = "sum"
    """What the options are compared by: the sum of log-probabilities, the mean per token, the mean
    per character, or the sum minus that after an empty context (PMI)."""
    score: Literal["expectation", "best"] = "expectation"
    """A similarity score: the expectation over the values of the scale, or the likeliest value."""
    delimiter: str = " "
    """Text between a prompt without a chat template and its answer."""
    separator: str = "\n\n"
    """Text between the parts of a prompt without a chat template."""
    bos: Literal["auto", "on", "off"] = "auto"
    """Whether a prompt starts with the beginning-of-text token; auto: as the tokenizer does."""
    stop: tuple[str, ...] = ()
    """Strings that end a generated answer; by default a line break for reading comprehension without
    a chat template."""
    constrained: Literal["auto", "on", "off"] = "auto"
    """Whether structured answers follow the task's JSON schema; auto: if a grammar library is
    installed."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Longest generated answer in tokens; by default it depends on the kind of task."""
    max_length: Annotated[int, msgspec.Meta(ge=16)] | None = None
    """Longest prompt with its answer, in tokens; by default what the checkpoint allows."""
    extract: tuple[str, ...] = ()
    """Regular expressions that take the answer out of generated text."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights; auto: bfloat16 on a GPU that supports it, float32 on a CPU."""
    exact: bool = False
    """Compute the same bits for any batch size and any order of the items; slower."""
    adapter: str = ""
    """Folder of a PEFT adapter to load on top of the checkpoint."""
    quantization: dict[str, Any] = {}
    """A quantisation configuration of transformers, such as `{"quant_method": "bitsandbytes",
    "load_in_8bit": true}`."""
    trust_remote_code: str = ""
    """Name of the checkpoint whose Python code may run. It must equal the part after `lm:`."""
    device: str = "auto"
    """Device as torch names it; auto: a GPU if there is one."""
    device_map: str = ""
    """`auto`, `balanced` or `sequential`: spread a model over several GPUs with accelerate."""
    batch_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Tokens computed at a time; by default it depends on the device. It halves when memory runs
    out."""

    def __post_init__(self) -> None:
        if isinstance(self.shots, int) and self.shots < 0:
            raise ValueError("shots must be at least 0")
        if self.device_map and self.device != "auto":
            raise ValueError("set either device or device_map")
        if not all(self.stop):
            raise ValueError("a stop string is empty")
        if self.extract and self.constrained == "on":
            raise ValueError("extract works on free text: set constrained=off")
