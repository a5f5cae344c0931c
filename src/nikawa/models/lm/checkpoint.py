"""Causal checkpoints: open one from a folder or the local cache, and check that it can be used.

Nothing is fetched, and no code of a checkpoint runs unless the user names that checkpoint. A
checkpoint that cannot be used raises BadInput with one line.
"""

from __future__ import annotations

import json
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
    unreadable_error,
)
from nikawa.models.encoder.device import choose_device, report_device_errors
from nikawa.models.lm.settings import LmSettings

NOUN = "language model"
UNBOUNDED = 10**9
"""A tokenizer that knows no longest input names a larger number."""
DEFAULT_LENGTH = 2048
"""Tokens of a prompt where neither configuration nor tokenizer names a limit."""
PROBE = "日本語の文と한국어 문장, and A."


@dataclass(frozen=True)
class Checkpoint:
    """An opened causal language model."""

    source: str
    model: Any
    tokenizer: Any
    device: Any
    max_length: int
    """Longest prompt with its answer, in tokens."""
    pad_token: int
    start_token: int | None
    """The token that an empty context consists of; None: the tokenizer has none."""
    end_tokens: frozenset[int]


def check_language_model(source: str) -> None:
    """Raise BadInput for a checkpoint that is missing or not causal, without loading torch."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "lm")
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


def open_language_model(source: str, settings: LmSettings) -> Checkpoint:
    """Read the tokenizer and the weights of a causal checkpoint."""
    import torch
    import transformers

    located = locate_checkpoint(source)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if settings.trust_remote_code:
        if settings.trust_remote_code != source:
            raise BadInput(
                f"trust_remote_code names {settings.trust_remote_code!r}, not {source!r}",
                cure=f"set trust_remote_code={source} if you trust the code in that checkpoint",
            )
        options["trust_remote_code"] = True
    device = choose_device(_Place(settings.device))
    dtype = choose_dtype(settings, device)
    loading: dict[str, Any] = {}
    try:
        with quiet_transformers(), report_device_errors(settings):
            config = transformers.AutoConfig.from_pretrained(located, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                located, clean_up_tokenization_spaces=False, **options
            )
            weights: dict[str, Any] = {"dtype": dtype, "output_loading_info": True}
            if settings.device_map:
                weights["device_map"] = settings.device_map
            if settings.quantization:
                weights["quantization_config"] = make_quantization(settings.quantization)
                weights.setdefault("device_map", {"": device})
            model, loading = transformers.AutoModelForCausalLM.from_pretrained(
                located, config=config, **weights, **options
            )
            if "device_map" not in weights and getattr(model, "hf_device_map", None) is None:
                model = model.to(device)
            if settings.adapter:
                model = load_adapter(model, settings.adapter)
    except BadInput:
        raise
    except torch.cuda.OutOfMemoryError:
        raise BadInput(
            f"the weights of {source} do not fit on the GPU",
            cure="set device_map=auto, a quantization, or device=cpu",
        ) from None
    except Exception as problem:  # a damaged file can raise anything
        raise unreadable_error(located, problem, NOUN) from None
    check_weights(source, model, loading)
    check_tokenizer(source, tokenizer, model)
    model.eval()
    first = next(model.parameters()).device
    return Checkpoint(
        source,
        model,
        tokenizer,
        first if first.type != "meta" else device,
        find_max_length(source, model.config, tokenizer, settings),
        choose_pad_token(tokenizer),
        find_start_token(tokenizer),
        find_end_tokens(model, tokenizer),
    )


@dataclass(frozen=True)
class _Place:
    """The device of the settings, as `choose_device` asks for it."""

    device: str
    precision: str = "auto"


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

    return AutoQuantizationConfig.from_dict(dict(values))


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
    try:
        return PeftModel.from_pretrained(model, folder, local_files_only=True).merge_and_unload()
    except Exception as problem:  # weights that do not fit raise what they like
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise BadInput(
            f"the adapter cannot be loaded: {reason}",
            file=folder,
            cure="pass an adapter that was trained on this checkpoint",
        ) from None


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


def check_tokenizer(source: str, tokenizer: Any, model: Any) -> None:
    """Refuse a tokenizer that gives no tokens, or tokens that the model does not have."""
    cure = "use the tokenizer that the model was trained with"
    try:
        ids = list(tokenizer(PROBE, add_special_tokens=False)["input_ids"])
    except Exception as problem:  # a damaged vocabulary raises what it likes
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise BadInput(f"the tokenizer of {source} fails: {reason}", cure=cure) from None
    vectors = int(model.get_input_embeddings().num_embeddings)
    if not ids:
        raise BadInput(f"the tokenizer of {source} turns text into no tokens", cure=cure)
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is not None and all(token == unknown for token in ids):
        raise BadInput(f"the tokenizer of {source} does not know any part of a text", cure=cure)
    if max(ids) >= vectors:
        what = f"the tokenizer of {source} has tokens above the model's {vectors:,}"
        raise BadInput(what, cure=cure)


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


def choose_pad_token(tokenizer: Any) -> int:
    """A token for padding, which is never seen: a checkpoint need not have one of its own."""
    for name in ("pad_token_id", "eos_token_id", "bos_token_id", "unk_token_id"):
        value = getattr(tokenizer, name, None)
        if isinstance(value, int):
            return value
    return 0


def find_start_token(tokenizer: Any) -> int | None:
    """The beginning-of-text token, else the end-of-text token."""
    for name in ("bos_token_id", "eos_token_id"):
        value = getattr(tokenizer, name, None)
        if isinstance(value, int):
            return value
    return None


def find_end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer, by the generation configuration and the tokenizer."""
    ends: set[int] = set()
    for owner in (getattr(model, "generation_config", None), model.config, tokenizer):
        value = getattr(owner, "eos_token_id", None)
        values = value if isinstance(value, list | tuple) else [value]
        ends |= {item for item in values if isinstance(item, int)}
    return frozenset(ends)
