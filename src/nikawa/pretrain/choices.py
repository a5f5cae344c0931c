"""What can be asked of a pre-training, what comes back, and the command that asks the same again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nikawa.datasets.locate import VARIABLE, require_folder
from nikawa.errors import BadInput, missing_extra, unknown
from nikawa.pretrain.coverage import CoverageReport
from nikawa.pretrain.language import known_language
from nikawa.pretrain.prepare import TRAIN
from nikawa.pretrain.report import CorpusReport
from nikawa.pretrain.settings import TrainSettings, check_seed, check_settings
from nikawa.pretrain.stages import TEXT, WORK
from nikawa.pretrain.state import FIGURES
from nikawa.pretrain.vocabulary import SAMPLE, VocabularyReport, check_vocabulary
from nikawa.records import Record
from nikawa.text.analysers import ANALYSERS

ONLY = ("text", "vocabulary", "pack")


class Choices(Record, frozen=True, kw_only=True):
    """What to train; see `nikawa pretrain --help`."""

    language: str
    size: str = "mini"
    tokenizer: str = "morphemes"
    vocabulary: int = 0
    """Pieces; 0: the default of the tokenizer."""
    steps: int = 0
    minutes: float = 0.0
    seed: int = 0
    device: str = "auto"
    batch: int = 0
    """Pieces a step; 0: the default of the device."""
    threads: int = 0
    """Of the processor while training; 0: as many as torch takes."""
    only: str = ""
    """The stage to end after."""
    segmenter: str = ""
    """Tells morphemes while a vocabulary is learned and words while text is packed; empty: that of the language."""
    sample: int = SAMPLE
    against: tuple[str, ...] = ()
    data: Path | None = None
    field: str = "text"
    sources: Path | None = None
    attribution: Path | None = None
    licence: str = ""
    name: str = ""
    any_language: bool = False
    squeeze: bool = False
    """Store packs as small as they get."""
    workers: int = 1
    overwrite: bool = False


class Report(Record, frozen=True, kw_only=True):
    """What is there now; None for stages that were not reached."""

    out: str
    text: CorpusReport | None = None
    vocabulary: VocabularyReport | None = None
    coverage: CoverageReport | None = None
    pack: dict[str, Any] | None = None
    model: dict[str, Any] | None = None
    command: str = ""
    """Makes the same again."""


def refuse(choices: Choices) -> None:
    """What would fail after the work was done fails before it."""
    known_language(choices.language)
    check_vocabulary(choices.tokenizer, choices.vocabulary)
    if choices.only and choices.only not in ONLY:
        raise unknown("stage", choices.only, ONLY)
    check_seed(choices.seed)
    _refuse_segmenter(choices.segmenter, choices.language)
    require_folder(choices.data)
    if choices.only != "text" and find_spec("tokenizers") is None:
        raise missing_extra("the package 'tokenizers'", "encoder")
    if not choices.only:
        _refuse_training(choices)


def refuse_encoders(corpus: Sequence[Path], out: Path) -> None:
    """The folder of another encoder is no text, though text lies somewhere in it."""
    for path in corpus:
        made = path / WORK / TEXT
        if (made.is_dir() or (path / FIGURES).is_file()) and path.resolve() != out.resolve():
            cure = (
                f"name {made} for its text"
                if (made / TRAIN).is_file()
                else "name the text it was made from"
            )
            raise BadInput("is the folder of an encoder, not a text", file=path, cure=cure)


def _refuse_segmenter(name: str, language: str) -> None:
    if not name:
        return
    if name not in ANALYSERS:
        raise unknown("analyser", name, ANALYSERS)
    if ANALYSERS[name].language not in ("", language):
        fit = ", ".join(known for known in ANALYSERS if ANALYSERS[known].language in ("", language))
        raise BadInput(f"{name} does not segment the language {language}", cure=f"these do: {fit}")


def _refuse_training(choices: Choices) -> None:
    check_settings(settings_of(choices))
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "encoder")
    if choices.device not in ("auto", "cpu"):
        from nikawa.pretrain.device import device_for

        device_for(choices.device)
    if choices.attribution is not None:
        from nikawa.pretrain.card import read_credits

        read_credits(choices.attribution)


def settings_of(choices: Choices) -> TrainSettings:
    """What the training is told."""
    said: dict[str, Any] = {"batch": choices.batch} if choices.batch else {}
    names = ("size", "steps", "minutes", "seed", "device")
    return TrainSettings(**said, **{name: getattr(choices, name) for name in names})


def command(
    choices: Choices, corpus: Sequence[str], out: Path, model: Mapping[str, Any] | None = None
) -> str:
    """The command that makes the same again: steps in the place of minutes, batch and threads as they were."""
    c = choices
    steps, batch, threads = c.steps, c.batch, c.threads
    if model:
        steps, batch, threads = model["steps"], model["settings"]["batch"], model["threads"]
    said: list[tuple[str, Any, Any]] = [
        ("language", c.language, ""),
        ("size", c.size, ""),
        ("tokenizer", c.tokenizer, ""),
        ("vocabulary", c.vocabulary, 0),
        ("steps", steps, 0),
        ("minutes", 0 if steps else c.minutes, 0),
        ("seed", c.seed, 0),
        ("batch", batch, 0),
        ("threads", threads, 0),
        ("device", c.device, "auto"),
        ("only", c.only, ""),
        ("segmenter", c.segmenter, ""),
        ("sample", c.sample, SAMPLE),
        ("data", _named_data(c.data), None),
        ("field", c.field, "text"),
        ("sources", c.sources, None),
        ("attribution", c.attribution, None),
        ("licence", c.licence, ""),
        ("name", c.name, ""),
    ]
    flags = [("--any-language", c.any_language), ("--squeeze", c.squeeze)]
    words = ["nikawa", "pretrain", *corpus]
    words += [
        word
        for name, value, usual in said
        if value != usual
        for word in (f"--{name}", _word(value))
    ]
    words += [word for spec in c.against for word in ("--against", spec)]
    words += [flag for flag, wanted in flags if wanted]
    return shlex.join([*words, "--out", str(out)])


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _named_data(data: Path | None) -> Path | None:
    """The data folder where it was named; one that the environment names is whoever's who reads the command."""
    return None if data is None or str(data) == os.environ.get(VARIABLE) else data
