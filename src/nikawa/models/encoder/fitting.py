"""Whether what was read fits together: weights and configuration, vocabulary and embeddings; each misfit in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from nikawa.errors import BadInput, listed

CONFIG = "config.json"
REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
"""What the name of a checkpoint in the local cache looks like; anything else is a path."""
BASE = "AutoModel"
"""The automatic class that has no head."""


def unusable(source: str, problem: Exception) -> BadInput:
    """What to tell where a configuration, a tokenizer or weights cannot be read."""
    first = _first(problem)
    if isinstance(problem, ImportError):
        return BadInput(
            f"{source} needs a package that is not here: {first}",
            cure="install it, and start again",
        )
    if "custom code" in str(problem):
        return BadInput(
            f"{source} brings code of its own, which is not run",
            cure="take a checkpoint of an architecture that transformers has",
        )
    return _unusable_path(Path(source), first) if Path(source).exists() else _absent(source, first)


def _unusable_path(path: Path, first: str) -> BadInput:
    if path.is_file():
        return BadInput("is a file, not a folder", file=path, cure="give the folder it lies in")
    if unfinished(path):
        return BadInput(
            "the training of this encoder is not finished",
            file=path,
            cure=f"give the nikawa pretrain command that began it again, with --out {quote(str(path))}: it goes on where it stopped",
        )
    return BadInput(
        f"the encoder cannot be read: {first}",
        file=path,
        cure="give a folder saved by save_pretrained",
    )


def _absent(source: str, first: str) -> BadInput:
    """Of what is no folder here: a name in the local cache, one that is not, or a path."""
    if source.startswith("~"):
        return BadInput(
            f"there is no folder {source}",
            cure="write the folder out: the shell leaves ~ as it is after a colon",
        )
    if not REPOSITORY.fullmatch(source):
        return BadInput(
            f"there is no folder {source}",
            cure="give the folder of an encoder, or its name in the local cache",
        )
    if _cached(source):
        return BadInput(
            f"{source} in the local cache cannot be read: {first}",
            cure=f"fetch it again: hf download {source} --force-download",
        )
    return BadInput(
        f"the encoder {source} is neither a folder nor in the local cache",
        cure=f"give a folder, or fetch it once: hf download {source}",
    )


def unfinished(folder: Path) -> bool:
    """Whether a folder holds what `nikawa pretrain` works with, and no encoder yet."""
    return (folder / "work").is_dir() and not (folder / CONFIG).exists()


def there(source: str) -> bool:
    """Whether a source is a folder with an encoder's configuration, or is in the local cache."""
    return (Path(source) / CONFIG).is_file() or (not Path(source).exists() and _cached(source))


def _first(problem: Exception) -> str:
    """The first line of an error; its name too where the text alone tells little."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [""]
    said = " ".join(lines[: 2 if lines[0].endswith(":") else 1])
    return (
        said
        if said and isinstance(problem, OSError | ValueError | RuntimeError | ImportError)
        else f"{type(problem).__name__}: {said}"
    )


def _cached(source: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(source, CONFIG), str | os.PathLike)
    except ValueError:  # no name of a repository
        return False


def no_such_head(source: str, config: Any, auto: str) -> BadInput | None:
    """The refusal of an architecture that does not have this head, or None."""
    import transformers

    kind, name = getattr(transformers, auto), str(config.model_type)
    if type(config) not in kind._model_mapping:
        return BadInput(
            f"transformers has no {auto} for {name}, which {source} is",
            cure="take another architecture for this task",
        )
    return None


def encoder_alone(source: str, model: Any, auto: str) -> None:
    """Refuse a decoder where vectors of the input itself are read."""
    if auto in {BASE, "AutoModelForQuestionAnswering"} and hasattr(model, "decoder"):
        what = (
            f"{source} has a decoder ({model.config.model_type}), which this head does not stand on"
        )
        raise BadInput(what, cure="take an encoder alone")


def whole(source: str, model: Any, told: Mapping[str, Any], auto: str) -> None:
    """Only a head may be new: an encoder without weights of its own would be a random one in disguise."""
    prefix = "" if auto == BASE else f"{model.base_model_prefix}."
    ours = [k for k in told["missing_keys"] if k.startswith(prefix) and ".pooler." not in f".{k}"]
    ours += [k[0] for k in told["mismatched_keys"] if k[0].startswith(prefix)]
    if ours:
        what = f"the weights of {source} do not fit its configuration: {listed(sorted(ours))}"
        raise BadInput(what, cure="give the folder a checkpoint was saved to")


def trained(source: str, told: Mapping[str, Any], auto: str) -> None:
    """A head that answers as it is must have weights: one drawn at random would pass for a poor model."""
    new = [*told["missing_keys"], *(key[0] for key in told["mismatched_keys"])]
    if new and auto != BASE:
        what = (
            f"{source} holds no trained head for this task: {listed(sorted(new))} would be random"
        )
        raise BadInput(what, cure="train it: set epochs above 0")


def same_vocabulary(source: str, model: Any, tokenizer: Any) -> None:
    """Every piece must have a vector."""
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        what = f"the tokenizer of {source} has {len(tokenizer):,} pieces, the model {rows:,}"
        raise BadInput(what, cure="take the tokenizer the model was trained with")
