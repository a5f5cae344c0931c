"""The options of a pre-training, its report, and the command that makes the same again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import structs

from nikawa.datasets.locate import VARIABLE, require_folder
from nikawa.errors import BadInput, missing_extra, unknown
from nikawa.pretrain.card import FIGURES_FILE, read_credits
from nikawa.pretrain.corpus import check_language
from nikawa.pretrain.coverage import CoverageReport
from nikawa.pretrain.prepare import TRAIN_FILE, CorpusReport
from nikawa.pretrain.settings import TrainSettings, check_seed, check_settings
from nikawa.pretrain.stages import TEXT, WORK
from nikawa.pretrain.vocabulary import SAMPLE_CHARS, VocabularyReport, check_vocabulary
from nikawa.records import Record
from nikawa.text.analysers import ANALYSERS

STAGES_TO_END_AFTER = ("text", "vocabulary", "pack")


class PretrainOptions(Record, frozen=True, kw_only=True):
    """What to train; see `nikawa pretrain --help`."""

    language: str
    size: str = "mini"
    tokenizer: str = "morphemes"
    vocabulary: int = 0
    """Tokens; 0: the default of the tokenizer."""
    steps: int = 0
    minutes: float = 0.0
    seed: int = 0
    device: str = "auto"
    batch: int = 0
    """Tokens a step; 0: the default of the device."""
    threads: int = 0
    """Of the CPU while training; 0: as many as torch takes."""
    only: str = ""
    """The stage to end after."""
    segmenter: str = ""
    """Finds morphemes while a vocabulary is learned and words while text is packed; empty: that of the language."""
    sample: int = SAMPLE_CHARS
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


class PretrainReport(Record, frozen=True, kw_only=True):
    """What is there now; None for stages that were not reached."""

    out: str
    text: CorpusReport | None = None
    vocabulary: VocabularyReport | None = None
    coverage: CoverageReport | None = None
    pack: dict[str, Any] | None = None
    model: dict[str, Any] | None = None
    command: str = ""
    """Makes the same again."""


def check_options(options: PretrainOptions) -> None:
    """Refuse what would fail after the work was done."""
    check_language(options.language)
    check_vocabulary(options.tokenizer, options.vocabulary)
    if options.only and options.only not in STAGES_TO_END_AFTER:
        raise unknown("stage", options.only, STAGES_TO_END_AFTER)
    check_seed(options.seed)
    if options.segmenter:
        if options.segmenter not in ANALYSERS:
            raise unknown("analyser", options.segmenter, ANALYSERS)
        languages = ("", options.language)
        if ANALYSERS[options.segmenter].language not in languages:
            what = f"{options.segmenter} does not segment the language {options.language}"
            fitting = [name for name in ANALYSERS if ANALYSERS[name].language in languages]
            raise BadInput(what, cure=f"these do: {', '.join(fitting)}")
    require_folder(options.data)
    if options.only != "text" and find_spec("tokenizers") is None:
        raise missing_extra("the package 'tokenizers'", "encoder")
    if not options.only:
        _check_training(options)


def _check_training(options: PretrainOptions) -> None:
    check_settings(training_settings(options))
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "encoder")
    if options.device not in ("auto", "cpu"):
        from nikawa.pretrain.device import find_device

        find_device(options.device)
    if options.attribution is not None:
        read_credits(options.attribution)


def refuse_encoders(corpus: Sequence[Path], out: Path) -> None:
    """Refuse the folder of another encoder: it is no text, though text lies somewhere in it."""
    for path in corpus:
        made = path / WORK / TEXT
        if (made.is_dir() or (path / FIGURES_FILE).is_file()) and path.resolve() != out.resolve():
            cure = "name the text it was made from"
            if (made / TRAIN_FILE).is_file():
                cure = f"name {made} for its text"
            raise BadInput("is the folder of an encoder, not a text", file=path, cure=cure)


def training_settings(options: PretrainOptions) -> TrainSettings:
    """The settings of the training; the batch is the default of a GPU where the options have none."""
    settings = TrainSettings(
        size=options.size,
        steps=options.steps,
        minutes=options.minutes,
        seed=options.seed,
        device=options.device,
    )
    return structs.replace(settings, batch=options.batch) if options.batch else settings


def format_command(
    options: PretrainOptions,
    corpus: Sequence[str],
    out: Path,
    model: Mapping[str, Any] | None = None,
) -> str:
    """The command that makes the same again: steps in the place of minutes, batch and threads as they were.

    `model` are the figures of the finished model.
    """
    steps, batch, threads = options.steps, options.batch, options.threads
    if model:
        steps, batch, threads = model["steps"], model["settings"]["batch"], model["threads"]
    # a data folder that the environment names is that of whoever reads the command
    is_data_named = options.data is not None and str(options.data) != os.environ.get(VARIABLE)
    values: list[tuple[str, Any, Any]] = [
        ("language", options.language, ""),
        ("size", options.size, ""),
        ("tokenizer", options.tokenizer, ""),
        ("vocabulary", options.vocabulary, 0),
        ("steps", steps, 0),
        ("minutes", 0 if steps else options.minutes, 0),
        ("seed", options.seed, 0),
        ("batch", batch, 0),
        ("threads", threads, 0),
        ("device", options.device, "auto"),
        ("only", options.only, ""),
        ("segmenter", options.segmenter, ""),
        ("sample", options.sample, SAMPLE_CHARS),
        ("data", options.data if is_data_named else None, None),
        ("field", options.field, "text"),
        ("sources", options.sources, None),
        ("attribution", options.attribution, None),
        ("licence", options.licence, ""),
        ("name", options.name, ""),
    ]
    words = ["nikawa", "pretrain", *corpus]
    for name, value, default in values:
        if value != default:
            words += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for spec in options.against:
        words += ["--against", spec]
    if options.any_language:
        words.append("--any-language")
    if options.squeeze:
        words.append("--squeeze")
    return shlex.join([*words, "--out", str(out)])
