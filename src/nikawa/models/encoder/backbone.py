"""A checkpoint from a folder or the local cache: its configuration, its tokenizer, and a model with the head asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from nikawa.errors import BadInput, listed, missing_extra
from nikawa.models.encoder.fitting import (
    CONFIG,
    encoder_alone,
    no_such_head,
    same_vocabulary,
    there,
    trained,
    unusable,
    whole,
)
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.models.encoder.where import MODELS, located, places

OWN = re.compile(r"nikawa-(mini|small)-(ja|ko)")
"""Encoders that Nikawa's users train themselves."""
SHIFTED = frozenset(
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
        if problem := no_such_head(self.source, config, auto):
            raise problem
        told: dict[str, Any] = {}
        with quiet():
            try:
                if settings.scratch:
                    found = kind.from_config(config)
                else:
                    found, told = kind.from_pretrained(
                        self.source,
                        config=config,
                        local_files_only=True,
                        ignore_mismatched_sizes=True,
                        output_loading_info=True,
                    )
            except Exception as problem:  # whatever a damaged file makes a reader raise
                raise _unusable(self.source, problem) from None
        encoder_alone(self.source, found, auto)
        if told:
            whole(self.source, found, told, auto)
        if told and settings.epochs <= 0:
            trained(self.source, told, auto)
        same_vocabulary(self.source, found, self.tokenizer)
        return found

    def classes(self, wanted: tuple[str, ...], settings: EncoderSettings) -> tuple[str, ...]:
        """The classes in the checkpoint's order where it has the same; it must where it is not trained further."""
        names = getattr(self.config, "id2label", None) or {}
        has = tuple(names[i] for i in sorted(names))
        if wanted and len(set(has)) == len(has) and set(has) == set(wanted):
            return has
        if wanted and settings.epochs <= 0:
            what = (
                f"the labels of {self.source} are {listed(has)}, those of the task {listed(wanted)}"
            )
            raise BadInput(what, cure="train it: set epochs above 0")
        return wanted

    def positions(self) -> int:
        """The longest input the checkpoint takes."""
        most = int(getattr(self.config, "max_position_embeddings", 0) or 0)
        offset = (self.config.pad_token_id or 0) + 1 if self.config.model_type in SHIFTED else 0
        return most - offset if most > 0 else 1 << 20

    def reads(self, length: int) -> None:
        """Refuse inputs longer than the checkpoint takes."""
        if length > self.positions():
            what = f"max_length is {length}, but {self.source} reads no more than {self.positions()} sub-words"
            raise BadInput(what, cure=f"set max_length={self.positions()}")

    @property
    def segments(self) -> int | None:
        """How many segments the model tells apart; None where its configuration does not say."""
        return int(getattr(self.config, "type_vocab_size", 0) or 0) or None


def ready(source: str) -> None:
    """Refuse an encoder that is not there, without the seconds it takes to load torch."""
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "encoder")
    source = located(source)
    if not there(source):
        raise _unusable(source, OSError(f"it has no {CONFIG}"))


def open_backbone(source: str) -> Backbone:
    """Read the configuration and the tokenizer; nothing is fetched. A bare name is looked for in `places`."""
    try:
        import transformers
    except ImportError:
        raise missing_extra("the package 'transformers'", "encoder") from None
    source = located(source)
    try:
        with quiet():  # code that a checkpoint brings is neither run nor asked about
            config = transformers.AutoConfig.from_pretrained(
                source, local_files_only=True, trust_remote_code=False
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source, local_files_only=True, trust_remote_code=False
            )
    except Exception as problem:  # whatever a damaged file makes a reader raise
        raise _unusable(source, problem) from None
    return Backbone(source, config, tokenizer)


def _changed(config: Any, settings: EncoderSettings, changes: Mapping[str, Any]) -> Any:
    from copy import deepcopy

    made = deepcopy(config)
    if settings.dropout is not None:  # every architecture has its own names for it
        shares = [
            n for n, v in made.to_dict().items() if "dropout" in n and isinstance(v, float | int)
        ]
        changes = {**changes, **dict.fromkeys(shares, settings.dropout)}
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _unusable(source: str, problem: Exception) -> BadInput:
    if own := OWN.fullmatch(source):
        looked = ", ".join(str(place) for place in places())
        train = f"nikawa pretrain CORPUS --language {own[2]} --size {own[1]} --minutes 8 --out models/{source}"
        return BadInput(
            f"the encoder {source} is not in {looked}",
            cure=f"train it on text of your own: {train}; or name its folder in {MODELS}",
        )
    return unusable(source, problem)


class quiet:  # noqa: N801  (reads as a word where it is used)
    """Keep transformers' advice about new heads from the screen."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self._before = logging.get_verbosity()
        logging.set_verbosity_error()
        logging.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._before)
