"""A checkpoint from a folder or the local cache: its configuration, its tokenizer, and a model with the head asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.models._encoder.settings import EncoderSettings


@dataclass(frozen=True)
class Backbone:
    """Where the weights come from, and what reads text for them."""

    source: str
    config: Any
    tokenizer: Any

    def model(self, auto: str, settings: EncoderSettings, **changes: Any) -> Any:
        """The checkpoint under one of transformers' automatic classes, ready to be trained."""
        import transformers

        kind = getattr(transformers, auto)
        config = _changed(self.config, settings, changes)
        with _quiet():
            if settings.scratch:
                return kind.from_config(config)
            try:
                found = kind.from_pretrained(self.source, config=config, local_files_only=True)
            except (OSError, ValueError, RuntimeError) as problem:
                raise _unusable(self.source, problem) from None
        _same_vocabulary(self.source, found, self.tokenizer)
        return found


def open_backbone(source: str) -> Backbone:
    """Read the configuration and the tokenizer; nothing is fetched."""
    try:
        import transformers
    except ImportError:
        raise missing_extra("the package 'transformers'", "encoder") from None
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(source, local_files_only=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as problem:
        raise _unusable(source, problem) from None
    return Backbone(source, config, tokenizer)


def _changed(config: Any, settings: EncoderSettings, changes: Mapping[str, Any]) -> Any:
    from copy import deepcopy

    made = deepcopy(config)
    if settings.dropout is not None:
        changes = {
            **changes,
            "hidden_dropout_prob": settings.dropout,
            "attention_probs_dropout_prob": settings.dropout,
        }
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _unusable(source: str, problem: Exception) -> BadInput:
    first = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
    if source.startswith("nikawa-mini-"):
        return BadInput(f"the encoder {source} is not here", cure="train it: nikawa pretrain --help")
    if Path(source).is_dir():
        return BadInput(f"the encoder cannot be read: {first}", file=Path(source), cure="give a folder saved by save_pretrained")  # fmt: skip
    cure = "give a folder, or fetch it once: hf download " + source
    return BadInput(f"the encoder {source} is neither a folder nor in the local cache", cure=cure)


def _same_vocabulary(source: str, model: Any, tokenizer: Any) -> None:
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        what = f"the tokenizer of {source} has {len(tokenizer):,} pieces, the model {rows:,}"
        raise BadInput(what, cure="take the tokenizer the model was trained with")


class _quiet:  # noqa: N801  (reads as a word where it is used)
    """Keep transformers' advice about new heads from the screen."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self._before = logging.get_verbosity()
        logging.set_verbosity_error()
        logging.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._before)
