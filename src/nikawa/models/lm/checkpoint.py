"""Causal checkpoints: open one from a folder or the local cache, and check that it can be used.

Nothing is fetched, and no code of a checkpoint runs unless the user names that checkpoint. A
checkpoint that cannot be used raises BadInput with one line.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, list_names, missing_extra
from nikawa.io.lines import read_bytes
from nikawa.models.encoder.checkpoint import (
    CAUSAL_CLASSES,
    CONFIG_FILE,
    DECODER_TYPES,
    find_cached,
    locate_checkpoint,
    quiet_transformers,
    refuse_address,
    unreadable_error,
)
from nikawa.models.encoder.device import choose_device
from nikawa.models.lm.settings import LmSettings

NOUN = "language model"
UNBOUNDED = 10**9
"""A tokenizer that knows no longest input names a larger number."""
DEFAULT_LENGTH = 2048
"""Tokens of a prompt where neither configuration nor tokenizer names a limit."""
TOKENIZER_CURE = "use the tokenizer that the model was trained with"
PROBE = "日本語の文と한국어 문장, and A."


@dataclass(frozen=True)
class Vocabulary:
    """The tokenizer of a checkpoint, and what its configuration says about prompts."""

    source: str
    located: str
    """The folder, or the name in the local cache."""
    config: Any
    tokenizer: Any
    max_length: int
    """Longest prompt with its answer, in tokens."""
    start_token: int | None
    """The token that an empty context consists of; None: the tokenizer has none."""


@dataclass(frozen=True)
class Checkpoint:
    """An opened causal language model."""

    vocabulary: Vocabulary
    model: Any
    device: Any
    end_tokens: frozenset[int]
    """The tokens that end an answer."""
    unused: tuple[str, ...] = ()
    """Stored weights that the model has no place for."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self.vocabulary.tokenizer

    @property
    def max_length(self) -> int:
        """Longest prompt with its answer, in tokens."""
        return self.vocabulary.max_length

    @property
    def start_token(self) -> int | None:
        """The token that an empty context consists of; None: the tokenizer has none."""
        return self.vocabulary.start_token


def check_language_model(source: str) -> None:
    """Raise BadInput for a checkpoint that is missing or not causal, without loading torch."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "lm")
    refuse_address(source)
    located = locate_checkpoint(source)
    path = Path(located) / CONFIG_FILE
    if not path.is_file():
        cached = None if Path(located).exists() else find_cached(located)
        if cached is None:
            raise unreadable_error(located, OSError(f"it has no {CONFIG_FILE}"), NOUN)
        path = Path(cached)
    try:
        config = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return  # the reader of the whole checkpoint says what is wrong with it
    if isinstance(config, dict):
        refuse_other_kinds(source, config)


def refuse_other_kinds(source: str, config: dict[str, Any]) -> None:
    """Raise BadInput for an encoder, or an encoder with a decoder, by its configuration."""
    kind = config.get("model_type")
    kind = kind if isinstance(kind, str) else ""
    classes = config.get("architectures")
    names = [name for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    if config.get("is_encoder_decoder"):
        raise BadInput(
            f"{source} is an encoder-decoder model ({kind}), not a causal {NOUN}",
            cure="choose a causal checkpoint, or serve this model and run it as chat:NAME",
        )
    is_causal = any(name.endswith(CAUSAL_CLASSES) for name in names)
    if names and not is_causal and not DECODER_TYPES.fullmatch(kind) and "auto_map" not in config:
        raise BadInput(
            f"{source} is a {kind or names[0]} model, not a causal {NOUN}",
            cure=f"fine-tune it with --model encoder:{source}, or choose a causal checkpoint",
        )


def open_vocabulary(source: str, settings: LmSettings) -> Vocabulary:
    """Read the configuration and the tokenizer of a causal checkpoint."""
    import transformers

    located = locate_checkpoint(source)
    options = loading_options(source, settings)
    try:
        with quiet_transformers():
            config = transformers.AutoConfig.from_pretrained(located, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                located, clean_up_tokenization_spaces=False, **options
            )
    except Exception as problem:  # a damaged file can raise anything
        raise explain_failure(source, located, problem) from None
    refuse_masked(source, config)
    check_tokenizer(source, tokenizer)
    return Vocabulary(
        source,
        located,
        config,
        tokenizer,
        find_max_length(source, config, tokenizer, settings),
        find_token(tokenizer, "bos_token_id", "eos_token_id"),
    )


def open_language_model(
    source: str, settings: LmSettings, vocabulary: Vocabulary | None = None
) -> Checkpoint:
    """Read a causal checkpoint and put its weights where they are used.

    `vocabulary` is its tokenizer, if that was read before.
    """
    import torch
    import transformers

    vocabulary = vocabulary or open_vocabulary(source, settings)
    tokenizer = vocabulary.tokenizer
    device = choose_device(settings)
    weights: dict[str, Any] = {
        "config": vocabulary.config,
        "dtype": choose_dtype(settings, device),
        "output_loading_info": True,
        "ignore_mismatched_sizes": True,  # `check_weights` refuses them by name
        **loading_options(source, settings),
    }
    if settings.device_map:
        weights["device_map"] = settings.device_map
    if settings.quantization:
        weights["quantization_config"] = make_quantization(settings.quantization)
        weights.setdefault("device_map", {"": device})
    if "device_map" in weights and find_spec("accelerate") is None:
        raise missing_extra("the package 'accelerate'", "lm")
    try:
        with quiet_transformers():
            model, loading = transformers.AutoModelForCausalLM.from_pretrained(
                vocabulary.located, **weights
            )
            if "device_map" not in weights:
                model = model.to(device)
    except torch.cuda.OutOfMemoryError:
        raise BadInput(
            f"the weights of {source} do not fit on the GPU",
            cure="set device_map=auto, a quantization, or device=cpu",
        ) from None
    except Exception as problem:  # a damaged file can raise anything
        if settings.quantization:
            raise bad_quantization(problem) from None
        raise explain_failure(source, vocabulary.located, problem) from None
    check_weights(source, model, loading)
    check_token_ids(source, tokenizer, model)
    if settings.adapter:
        model = load_adapter(model, settings.adapter)
    model.eval()
    first = next(model.parameters()).device
    return Checkpoint(
        vocabulary,
        model,
        device if first.type == "meta" else first,
        find_end_tokens(model, tokenizer),
        tuple(sorted(map(str, loading.get("unexpected_keys", ())))),
    )


def loading_options(source: str, settings: LmSettings) -> dict[str, Any]:
    """How files of a checkpoint are read: from this machine, and without running their code."""
    if settings.trust_remote_code and settings.trust_remote_code != source:
        raise BadInput(
            f"trust_remote_code names {settings.trust_remote_code!r}, not {source!r}",
            cure=f"set trust_remote_code={source} if you trust the code in that checkpoint",
        )
    options = {"local_files_only": True, "trust_remote_code": False}
    if settings.trust_remote_code:  # it names this checkpoint
        options["trust_remote_code"] = True
    return options


def explain_failure(source: str, located: str, problem: Exception) -> BadInput:
    """The error for a checkpoint that cannot be read."""
    if "trust_remote_code" in str(problem) or "custom code" in str(problem):
        return BadInput(
            f"{source} contains custom code, which Nikawa does not run unless you ask for it",
            cure=f"read that code, then pass --set trust_remote_code={source}",
        )
    return unreadable_error(located, problem, NOUN)


def refuse_masked(source: str, config: Any) -> None:
    """Raise BadInput for an encoder whose configuration names no class."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

    kind = str(getattr(config, "model_type", ""))
    is_encoder = kind in MASKED and not getattr(config, "is_decoder", False)
    is_remote = bool(getattr(config, "auto_map", None))
    if not is_remote and (is_encoder or kind not in CAUSAL):
        raise BadInput(
            f"{source} is a {kind or 'nameless'} model, not a causal {NOUN}",
            cure=f"fine-tune it with --model encoder:{source}, or choose a causal checkpoint",
        )


def choose_dtype(settings: LmSettings, device: Any) -> Any:
    """The type of the weights."""
    import torch

    if settings.dtype != "auto":
        return getattr(torch, settings.dtype)
    if device.type != "cuda":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def make_quantization(values: dict[str, Any]) -> Any:
    """A quantisation configuration of transformers from its fields."""
    from transformers.quantizers.auto import AutoQuantizationConfig

    try:
        return AutoQuantizationConfig.from_dict(dict(values))
    except Exception as problem:  # each method checks its fields in its own way
        raise bad_quantization(problem) from None


def bad_quantization(problem: Exception) -> BadInput:
    """The error for a quantisation that cannot be used."""
    return BadInput(
        f"the setting quantization cannot be used: {first_line(problem)}",
        cure="write it as transformers does, and install the package of its method",
    )


def first_line(problem: Exception) -> str:
    """The first line of an error's text, or its kind."""
    return next((line for line in str(problem).splitlines() if line), type(problem).__name__)


def load_adapter(model: Any, folder: str) -> Any:
    """The model with a PEFT adapter."""
    try:
        from peft import PeftModel
    except ImportError:
        raise missing_extra("the package 'peft'", "lm") from None
    if not (Path(folder) / "adapter_config.json").is_file():
        raise BadInput(
            "is not the folder of an adapter", file=folder, cure="pass one with adapter_config.json"
        )
    wrong = BadInput(
        "the adapter does not fit the checkpoint",
        file=folder,
        cure="pass an adapter that was trained on this checkpoint",
    )
    before = {name for name, _ in model.named_parameters()}
    try:
        # weights without a place in the model, and places without weights, are only warned about
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            adapted = PeftModel.from_pretrained(model, folder, local_files_only=True)
            merged = adapted.merge_and_unload()
    except Exception as problem:  # an adapter that does not fit raises what it likes
        wrong.what = f"the adapter cannot be loaded: {first_line(problem)}"
        raise wrong from None
    is_partial = any("adapter keys" in str(each.message) for each in caught)
    if is_partial or {name for name, _ in merged.named_parameters()} != before:
        raise wrong
    return merged


def check_weights(source: str, model: Any, loading: dict[str, Any]) -> None:
    """Refuse a checkpoint with weights that are missing or of another shape: they would be random.

    A head that is tied to the input embeddings is not missing.
    """
    broken = {str(key) for key in loading.get("missing_keys", ())}
    broken |= {str(key[0]) for key in loading.get("mismatched_keys", ())}
    if not broken:
        return
    head = [name for name in broken if "lm_head" in name or "embed_out" in name]
    if set(head) == broken:
        what = f"{source} has no language-model head: {list_names(sorted(head))} would be random"
        cure = "choose a checkpoint that was saved with its head"
    else:
        names = list_names(sorted(broken))
        what = f"the weights of {source} do not fit its configuration: {names}"
        cure = "pass the folder that the checkpoint was saved to"
    raise BadInput(what, cure=cure)


def check_tokenizer(source: str, tokenizer: Any) -> None:
    """Refuse a tokenizer that fails or knows no part of a text."""
    try:
        ids = list(tokenizer(PROBE, add_special_tokens=False)["input_ids"])
    except Exception as problem:  # a damaged vocabulary raises what it likes
        raise BadInput(
            f"the tokenizer of {source} fails: {first_line(problem)}", cure=TOKENIZER_CURE
        ) from None
    unknown = getattr(tokenizer, "unk_token_id", None)
    if all(token == unknown for token in ids):
        raise BadInput(
            f"the tokenizer of {source} does not know any part of a text", cure=TOKENIZER_CURE
        )


def check_token_ids(source: str, tokenizer: Any, model: Any) -> None:
    """Refuse a tokenizer whose text has tokens that the model does not have.

    Special tokens that no text has may be above the model's, as transformers adds such.
    """
    vectors = int(model.get_input_embeddings().num_embeddings)
    if max(tokenizer(PROBE)["input_ids"]) >= vectors:
        what = f"the tokenizer of {source} has tokens above the model's {vectors:,}"
        raise BadInput(what, cure=TOKENIZER_CURE)


def find_max_length(source: str, config: Any, tokenizer: Any, settings: LmSettings) -> int:
    """Longest prompt with its answer: the least of what model, tokenizer and settings allow."""
    text_config = config.get_text_config() if hasattr(config, "get_text_config") else config
    limits = []
    for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        value = getattr(text_config, name, None)
        if isinstance(value, int) and value > 0:
            limits.append(value)
            break
    longest = getattr(tokenizer, "model_max_length", None)
    if isinstance(longest, int) and 0 < longest < UNBOUNDED:
        limits.append(longest)
    limit = min(limits, default=None)
    if settings.max_length is None:
        return limit or DEFAULT_LENGTH
    if limit is not None and settings.max_length > limit:
        what = f"max_length is {settings.max_length:,}, but {source} reads at most {limit:,} tokens"
        raise BadInput(what, cure=f"set max_length={limit} or less")
    return settings.max_length


def find_token(tokenizer: Any, *names: str) -> int | None:
    """The first of these special tokens that a tokenizer has."""
    values = (getattr(tokenizer, name, None) for name in names)
    return next((value for value in values if isinstance(value, int)), None)


def find_end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, by the generation configuration and the tokenizer."""
    ends: set[int] = set()
    for owner in (getattr(model, "generation_config", None), model.config, tokenizer):
        value = getattr(owner, "eos_token_id", None)
        values = value if isinstance(value, list | tuple) else [value]
        ends |= {item for item in values if isinstance(item, int)}
    return frozenset(ends)
