"""Checkpoints: find one by its name, read its configuration, tokenizer and weights, check that they
fit, save one.

A checkpoint is a folder, a bare name in one of `model_folders`, or a name in the local
cache of transformers; nothing is downloaded. An unusable checkpoint raises BadInput with one line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from nikawa.errors import BadInput, list_names, missing_extra
from nikawa.io.atomic import atomic_folder
from nikawa.io.lines import read_bytes
from nikawa.io.remote import RemotePath, is_address
from nikawa.models.encoder.settings import EncoderSettings

FOLDER_VARIABLE = "NIKAWA_MODELS"
"""The environment variable that names a folder of encoders."""
CONFIG_FILE = "config.json"
BASE_CLASS = "AutoModel"
"""The automatic class of transformers that has no head."""
REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
"""What the name of a checkpoint in the local cache looks like; anything else is a path."""
NIKAWA_ENCODER = re.compile(r"nikawa-(mini|small)-(ja|ko)")
"""Encoders that Nikawa's users train themselves."""
SHIFTED_POSITIONS = frozenset(
    {
        "roberta",
        "xlm-roberta",
        "xlm-roberta-xl",
        "camembert",
        "longformer",
        "luke",
        "mluke",
        "mpnet",
        "roberta-prelayernorm",
        "data2vec-text",
        "ibert",
        "xmod",
        "esm",
        "lilt",
        "markuplm",
    }
)
"""Architectures that count positions from the one after the padding's."""

DECODER_TYPES = re.compile(
    r"(?:gpt|openai-gpt|llama|mistral|ministral|mixtral|qwen|gemma|phi|falcon|bloom|mpt|olmo|flex_olmo|cohere|granite"
    r"|deepseek|exaone|hyperclovax|glm|stablelm|starcoder|codegen|rwkv|mamba|jamba|zamba|bamba|xlstm|nemotron|smollm"
    r"|internlm|baichuan|minicpm|minimax|persimmon|dbrx|arctic|helium|jetmoe|hunyuan|apertus|xglm|biogpt|ctrl|bitnet"
    r"|lfm2|seed_oss|solar|vaultgemma|recurrent_gemma|ernie4_5|diffllama|modernbert-decoder)[\w-]*|opt"
)
"""Architectures, by `model_type`, that only continue a text: transformers has them under causal
language models and not under masked ones."""
CAUSAL_CLASSES = ("ForCausalLM", "LMHeadModel")
"""How transformers calls language models that continue a text."""


def model_folders() -> list[Path]:
    """Where bare names are looked up: `NIKAWA_MODELS`, `models` in this folder, the user's data
    folder.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    folders = [Path("models"), Path(home) / "nikawa" / "models"]
    return [Path(chosen).expanduser(), *folders] if chosen else folders


def locate_checkpoint(source: str) -> str:
    """The folder of an encoder that is given by its bare name; anything else stays as it is."""
    if Path(source).name != source:
        return source
    if Path(source).is_dir():
        return f"{os.curdir}{os.sep}{source}"  # a path, not a name: its content defines a run
    for folder in model_folders():
        if (folder / source / CONFIG_FILE).is_file():
            return str(folder / source)
    return source


def check_checkpoint(source: str) -> None:
    """Raise BadInput for a missing encoder, without loading torch, which takes seconds."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "encoder")
    refuse_address(source)
    source = locate_checkpoint(source)
    path = Path(source)
    if not (path / CONFIG_FILE).is_file() and (path.exists() or not is_cached(source)):
        raise unreadable_error(source, OSError(f"it has no {CONFIG_FILE}"))


def refuse_address(source: str) -> None:
    """Raise BadInput for a checkpoint in a bucket or on a server."""
    if is_address(source):
        place = RemotePath(source)
        kind = str(place.name)
        cure = f"copy the folder to this machine, e.g. aws s3 cp --recursive {place} {kind}, and pass {kind}"
        raise BadInput("a checkpoint must be on this machine", file=place, cure=cure)


def check_encoder(source: str) -> None:
    """Raise BadInput for a missing checkpoint or one that is not an encoder, without loading torch."""
    check_checkpoint(source)
    refuse_decoder(source)


def refuse_decoder(source: str) -> None:
    """Raise BadInput for a decoder-only language model, by its configuration alone.

    It is one by its architecture, or because it was saved as a causal language model. Models that
    read both ways all the same say so in their configuration.
    """
    located = locate_checkpoint(source)
    path = Path(located) / CONFIG_FILE
    if not path.is_file():
        path = Path(find_cached(located) or path)
    try:
        config = json.loads(read_bytes(path))
    except (BadInput, OSError, ValueError, RecursionError):
        return  # an unreadable checkpoint is refused when it is opened
    if not isinstance(config, dict) or config.get("is_encoder_decoder"):
        return
    kind, classes = config.get("model_type"), config.get("architectures")
    kind = kind if isinstance(kind, str) else ""
    names = [name for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    is_causal = bool(names) and all(name.endswith(CAUSAL_CLASSES) for name in names)
    reads_both_ways = bool(config.get("use_bidirectional_attention")) or kind == "xlnet"
    if (DECODER_TYPES.fullmatch(kind) or is_causal) and not reads_both_ways:
        raise BadInput(
            f"{source} is a decoder-only language model ({kind or names[0]}), not an encoder",
            cure=f"run it as it is with --model lm:{source} (docs/lm.md), or choose an encoder",
        )


def is_cached(source: str) -> bool:
    """Whether a checkpoint is in the local cache of transformers."""
    return find_cached(source) is not None


def find_cached(source: str) -> str | None:
    """The configuration of a checkpoint in the local cache."""
    from huggingface_hub import try_to_load_from_cache

    try:
        path = try_to_load_from_cache(source, CONFIG_FILE)
    except ValueError:  # no name of a repository
        return None
    return str(path) if isinstance(path, str | os.PathLike) else None


def open_backbone(source: str) -> Backbone:
    """Read the configuration and the tokenizer of a checkpoint.

    The weights are read by `Backbone.model`.
    """
    try:
        import transformers
    except ImportError:
        raise missing_extra("the package 'transformers'", "encoder") from None
    source = locate_checkpoint(source)
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet_transformers():
            config = transformers.AutoConfig.from_pretrained(source, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
    except Exception as problem:  # a damaged file can raise anything
        raise unreadable_error(source, problem) from None
    return Backbone(source, config, tokenizer)


@dataclass(frozen=True)
class Backbone:
    """An opened checkpoint: the place of its weights, the configuration and the tokenizer."""

    source: str
    config: Any
    tokenizer: Any

    def model(self, auto: str, settings: EncoderSettings, **changes: Any) -> Any:
        """The checkpoint under one of transformers' automatic classes, ready to be trained.

        `changes` replace entries of the configuration. Raises BadInput for an architecture without
        this class, and for weights, a head or a vocabulary that do not fit.
        """
        import transformers

        kind = getattr(transformers, auto)
        config = change_config(self.config, settings, changes)
        if type(config) not in kind._model_mapping:
            raise BadInput(
                f"{self.source} is a {config.model_type}, for which transformers has no {auto}",
                cure="choose another architecture for this task",
            )
        if auto == "AutoModelForSequenceClassification":
            self._check_end_token()
        loading: dict[str, Any] = {}
        with quiet_transformers():
            try:
                if settings.scratch:
                    model = kind.from_config(config)
                else:
                    model, loading = kind.from_pretrained(
                        self.source,
                        config=config,
                        local_files_only=True,
                        ignore_mismatched_sizes=True,
                        output_loading_info=True,
                    )
            except Exception as problem:  # a damaged file can raise anything
                raise unreadable_error(self.source, problem) from None
        if auto in {BASE_CLASS, "AutoModelForQuestionAnswering"} and hasattr(model, "decoder"):
            what = f"{self.source} has a decoder ({model.config.model_type}); this task needs an encoder without one"
            raise BadInput(what, cure="choose an encoder-only checkpoint")
        if loading:
            self._check_weights(model, loading, auto, is_trained=settings.epochs > 0)
        vectors = model.get_input_embeddings().num_embeddings
        if len(self.tokenizer) > vectors:
            what = f"the tokenizer of {self.source} has {len(self.tokenizer):,} tokens, the model only {vectors:,}"
            raise BadInput(what, cure="use the tokenizer the model was trained with")
        return model

    def _check_end_token(self) -> None:
        """Refuse an encoder with a decoder whose texts have no end token: its head reads there."""
        if not getattr(self.config, "is_encoder_decoder", False):
            return
        ids = self.tokenizer("")["input_ids"]
        if not ids or ids[-1] != self.config.eos_token_id:
            what = f"{self.source} has a decoder ({self.config.model_type}), and its tokenizer does not add the end token that classification reads"
            raise BadInput(
                what, cure="choose an encoder-only checkpoint, or a tokenizer that adds the token"
            )

    def _check_weights(
        self, model: Any, loading: Mapping[str, Any], auto: str, *, is_trained: bool
    ) -> None:
        """Refuse weights that would be random where trained ones are expected.

        Only a head may be new, and only if it is trained; otherwise a random model would pass for a
        poor one.
        """
        missing = list(loading["missing_keys"])
        mismatched = [key[0] for key in loading["mismatched_keys"]]
        prefix = "" if auto == BASE_CLASS else f"{model.base_model_prefix}."
        random = [k for k in missing if k.startswith(prefix) and ".pooler." not in f".{k}"]
        random += [k for k in mismatched if k.startswith(prefix)]
        if random:
            what = f"the weights of {self.source} do not fit its configuration: {list_names(sorted(random))}"
            raise BadInput(what, cure="pass the folder that the checkpoint was saved to")
        new = sorted([*missing, *mismatched])
        if new and not is_trained and auto != BASE_CLASS:
            what = f"{self.source} has no trained head for this task: {list_names(new)} would be random"
            raise BadInput(what, cure="set epochs above 0 to train it")

    def order_classes(self, classes: tuple[str, ...], settings: EncoderSettings) -> tuple[str, ...]:
        """The classes in the checkpoint's order where it has the same, else in their own.

        Raises BadInput for other classes where the checkpoint answers without being trained
        further.
        """
        names = getattr(self.config, "id2label", None) or {}
        own = tuple(names[i] for i in sorted(names))
        if classes and len(set(own)) == len(own) and set(own) == set(classes):
            return own
        if classes and settings.epochs <= 0:
            what = f"the labels of {self.source} are {list_names(own)}, those of the task are {list_names(classes)}"
            raise BadInput(what, cure="set epochs above 0 to train it")
        return classes

    def check_length(self, length: int) -> None:
        """Raise BadInput for inputs longer than the checkpoint takes."""
        positions = int(getattr(self.config, "max_position_embeddings", 0) or 0)
        if positions <= 0:
            return
        if self.config.model_type in SHIFTED_POSITIONS:
            positions -= (self.config.pad_token_id or 0) + 1
        if length > positions:
            what = f"max_length is {length}, but {self.source} reads at most {positions} sub-words"
            raise BadInput(what, cure=f"set max_length={positions}")

    @property
    def segments(self) -> int | None:
        """How many segments the model tells apart; None where its configuration does not say."""
        return int(getattr(self.config, "type_vocab_size", 0) or 0) or None


def change_config(config: Any, settings: EncoderSettings, changes: Mapping[str, Any]) -> Any:
    """A copy of a configuration with changes, and with the dropout of the settings."""
    copy = deepcopy(config)
    for name, value in changes.items():
        setattr(copy, name, value)
    if settings.dropout is not None:  # every architecture has its own names for it
        for name, value in config.to_dict().items():
            if "dropout" in name and isinstance(value, float | int):
                setattr(copy, name, settings.dropout)
    return copy


def unreadable_error(source: str, problem: Exception, noun: str = "encoder") -> BadInput:
    """The error for a configuration, a tokenizer or weights that cannot be read."""
    if trainable := NIKAWA_ENCODER.fullmatch(source):
        folders = ", ".join(str(folder) for folder in model_folders())
        train = f"nikawa pretrain CORPUS --language {trainable[2]} --size {trainable[1]} --minutes 8 --out models/{source}"
        return BadInput(
            f"the encoder {source} is not in {folders}",
            cure=f"train it on your own text ({train}), or set {FOLDER_VARIABLE} to its folder",
        )
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [""]
    reason = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    if not reason or not isinstance(problem, OSError | ValueError | RuntimeError | ImportError):
        reason = f"{type(problem).__name__}: {reason}"
    if isinstance(problem, ImportError):
        return BadInput(
            f"{source} needs a package that is not installed: {reason}",
            cure="install it and run the command again",
        )
    if "custom code" in str(problem):
        return BadInput(
            f"{source} contains custom code, which Nikawa does not run",
            cure="choose an architecture that is part of transformers",
        )
    path = Path(source)
    if path.is_file():
        return BadInput(
            "is a file, not a folder", file=path, cure="pass the folder that contains it"
        )
    if path.exists() and (path / "work").is_dir() and not (path / CONFIG_FILE).exists():
        return BadInput(
            "the training of this encoder is not finished",
            file=path,
            cure=f"run its nikawa pretrain command again with --out {quote(str(path))}: it resumes where it stopped",
        )
    if path.exists():
        return BadInput(
            f"the {noun} cannot be read: {reason}",
            file=path,
            cure="pass a folder written by save_pretrained",
        )
    if source.startswith("~"):
        return BadInput(
            f"there is no folder {source}",
            cure="write the full path: the shell does not expand ~ after a colon",
        )
    if not REPOSITORY.fullmatch(source):
        return BadInput(
            f"there is no folder {source}",
            cure=f"pass the folder of the {noun}, or its name in the local cache",
        )
    if is_cached(source):
        return BadInput(
            f"{source} in the local cache cannot be read: {reason}",
            cure=f"download it again: hf download {source} --force-download",
        )
    return BadInput(
        f"the {noun} {source} is neither a folder nor in the local cache",
        cure=f"pass a folder, or download it once: hf download {source}",
    )


@contextmanager
def write_model_folder(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A folder to save a model in, which appears as `folder` when all is written.

    An empty one may be there already.
    Raises BadInput if it cannot be written; then `folder` is as it was.
    """
    from safetensors import SafetensorError

    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", file=folder, cure="choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise BadInput(
            "is not empty", file=folder, cure="choose another folder, or pass overwrite=True"
        )
    try:
        replace = overwrite or folder.is_dir()
        with atomic_folder(folder, overwrite=replace) as draft, quiet_transformers():
            yield draft
    except (OSError, SafetensorError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise BadInput(
            f"the model cannot be written: {reason}",
            file=folder,
            cure="free some space, or choose another folder",
        ) from None


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hide transformers' advice about new heads, and its progress bars."""
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
