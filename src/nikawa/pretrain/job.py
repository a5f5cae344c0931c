"""Pre-train an encoder or a small language model, in stages that are each done once: text, vocabulary, pack, model.

A killed run resumes with the stage it was in. `only` ends after a stage, so that text can
be prepared on one machine and an encoder trained on another, with nothing but the folder carried
over. The report contains the command that reproduces the encoder.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from nikawa.datasets.locate import VARIABLE, require_folder
from nikawa.errors import BadInput, MissingExtra, missing_extra, unknown
from nikawa.execute.ordered import choose_place
from nikawa.io.atomic import atomic_folder, refuse_existing
from nikawa.io.json import encode_json
from nikawa.io.lines import read_bytes
from nikawa.io.remote import RemotePath
from nikawa.io.shards import list_files
from nikawa.io.uploads import upload_when_done
from nikawa.pretrain.card import (
    CARD_FILE,
    CONFIG_FILE,
    FIGURES_FILE,
    CardFacts,
    Figures,
    card_matches,
    list_model_files,
    read_credits,
    read_figures,
    write_model,
)
from nikawa.pretrain.checkpoint import read_progress
from nikawa.pretrain.contamination import BenchmarkTexts
from nikawa.pretrain.corpus import check_language, find_sources
from nikawa.pretrain.coverage import CoverageReport, report_coverage
from nikawa.pretrain.prepare import (
    HELDOUT_FILE,
    REPORT_FILE,
    TRAIN_FILE,
    CorpusReport,
    LineCleaner,
    OnProgress,
    PrepareOptions,
    prepare,
)
from nikawa.pretrain.settings import (
    CPU_BATCH,
    OBJECTIVES,
    TrainSettings,
    check_seed,
    check_settings,
)
from nikawa.pretrain.stages import (
    PACK,
    STATE,
    TEXT,
    VOCABULARY,
    WORK,
    PackCounts,
    Stages,
    fingerprint,
    hash_settings,
    lock_work,
    read_result,
)
from nikawa.pretrain.tokenizer import FIRST_TEXT_ID, build_tokenizer, save_tokenizer
from nikawa.pretrain.vocabulary import (
    DEFAULT_SIZES,
    MIN_CHARACTER_COUNT,
    SAMPLE_CHARS,
    Segmenter,
    VocabularyOptions,
    VocabularyReport,
    check_vocabulary,
    learn_vocabulary,
    read_text_lines,
)
from nikawa.records import Record
from nikawa.text.analysers import ANALYSERS, DEFAULTS
from nikawa.text.morpheme_starts import find_starts

if TYPE_CHECKING:
    from nikawa.pretrain.training import TrainOptions

STAGES_TO_END_AFTER = ("text", "vocabulary", "pack")


class PretrainOptions(Record, frozen=True, kw_only=True):
    """What to train; see `nikawa pretrain --help`."""

    language: str
    """`ja` or `ko`."""
    size: str = "mini"
    """A name of `settings.SIZES`."""
    objective: str = "masked"
    """`masked` trains an encoder, `causal` a language model."""
    tokenizer: str = "morphemes"
    """`characters`, `subwords` or `morphemes`."""
    vocabulary: int = 0
    """Tokens; 0: the default of the tokenizer."""
    steps: int = 0
    """Steps of the training; give these or the minutes."""
    minutes: float = 0.0
    seed: int = 0
    device: str = "auto"
    """As torch names it; `auto`: the GPU where there is one."""
    batch: int = 0
    """Tokens a step; 0: the default of the device."""
    threads: int = 0
    """Of the CPU while training; 0: as many as torch takes."""
    only: str = ""
    """The stage to end after."""
    segmenter: str = ""
    """Finds morphemes while a vocabulary is learned and words while text is packed; empty: that of
    the language."""
    sample: int = SAMPLE_CHARS
    """Characters that a vocabulary is learned from."""
    against: tuple[str, ...] = ()
    """Datasets and files, in addition to the available benchmarks, whose text is removed from the corpus."""
    data: Path | None = None
    """The folder of the published datasets."""
    field: str = "text"
    """The field of JSON lines with the text."""
    sources: Path | None = None
    """A table of the sources of the lines of a plain text."""
    attribution: Path | None = None
    """A file that names the sources of the text and whom to credit; the card quotes it."""
    licence: str = ""
    """Of the model, as model hubs name it."""
    name: str = ""
    """The title of the card; the name of the folder when empty."""
    any_language: bool = False
    """Take text in other languages too."""
    squeeze: bool = False
    """Store packs as small as they get."""
    workers: int = 1
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""
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
    """Refuse what would fail after the work was done: unknown names, packages that are not
    installed, no such device.
    """
    check_language(options.language)
    if options.objective not in OBJECTIVES:
        raise unknown("objective", options.objective, OBJECTIVES)
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
            raise BadInput(what, cure=f"use one of: {', '.join(fitting)}")
    require_folder(options.data)
    if options.only != "text" and find_spec("tokenizers") is None:
        raise missing_extra("the package 'tokenizers'", "encoder")
    if options.only:
        return
    check_settings(training_settings(options))
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra(f"the package {package!r}", "encoder")
    if options.device not in ("auto", "cpu"):
        from nikawa.pretrain.device import find_device

        find_device(options.device)
    if options.attribution is not None:
        read_credits(options.attribution)


def training_settings(options: PretrainOptions) -> TrainSettings:
    """The settings of the training.

    If the options have no batch, it is the default of a GPU.
    """
    settings = TrainSettings(
        size=options.size,
        steps=options.steps,
        minutes=options.minutes,
        seed=options.seed,
        device=options.device,
    )
    if options.objective == "causal":
        settings = msgspec.structs.replace(settings, objective="causal")
    return msgspec.structs.replace(settings, batch=options.batch) if options.batch else settings


def format_command(
    options: PretrainOptions,
    corpus: Sequence[str],
    out: Path,
    model: Mapping[str, Any] | None = None,
) -> str:
    """The command that makes the same again: steps in the place of minutes, batch and threads as
    they were.

    `model` are the figures of the finished model.
    """
    steps, batch, threads = options.steps, options.batch, options.threads
    if model:
        steps, batch, threads = model["steps"], model["settings"]["batch"], model["threads"]
    # a data folder from the environment is specific to the machine of the reader
    is_data_named = options.data is not None and str(options.data) != os.environ.get(VARIABLE)
    values: list[tuple[str, Any, Any]] = [
        ("language", options.language, ""),
        ("size", options.size, ""),
        ("objective", options.objective, "masked"),
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


VOCABULARY_FILE, COVERAGE_FILE = "vocabulary.json", "coverage.json"

OnStage = Callable[[str, PretrainReport], None]
"""Called with the name of each finished stage, and the report so far."""
OnNote = Callable[[str], None]
"""Called with each note."""


def pretrain(
    corpus: Sequence[Path],
    out: Path,
    options: PretrainOptions,
    on_progress: OnProgress = lambda what, done, total: None,
    on_stage: OnStage = lambda stage, report: None,
    on_note: OnNote = lambda line: None,
) -> PretrainReport:
    """Prepare text, learn a vocabulary, pack and train; what is done already is taken as it is.

    `corpus` are files and folders of text, a folder of prepared text, or nothing if `out` contains
    the text already. `out` gets the model, its tokenizer and its card; `out/work` keeps the stages,
    so that the same call resumes after a kill. If `out` is an address, the stages are in a folder of this machine until the
    model is sent. `on_progress` is called with (what is done, how
    much, of how much or None). Raises `BadInput` where a stage in `out` was made with other
    settings and `overwrite` is not set.
    """
    check_options(options)
    if not isinstance(out, RemotePath):
        job = _Job(corpus, out, options, on_progress, on_note)
        return _run_stages(job, on_stage)
    if options.only:
        what = f"--only {options.only} makes work for later calls, which needs a local folder"
        raise BadInput(what, file=out, cure="pass a folder of this machine")
    refuse_existing(out / CONFIG_FILE, options.overwrite)
    replaced = list_model_files(out) if options.overwrite else []
    with upload_when_done(out, replaced=replaced, last=CONFIG_FILE, left_out=WORK) as folder:
        job = _Job(corpus, folder, options, on_progress, on_note, shown=out)
        return _run_stages(job, on_stage)


def _run_stages(job: _Job, on_stage: OnStage) -> PretrainReport:
    """Make each stage that the options ask for, unless it is there."""
    stages = (
        ("text", job.make_text),
        ("vocabulary", job.make_vocabulary),
        ("pack", job.make_pack),
        ("model", job.make_model),
    )
    with lock_work(job.out):
        job.refuse_unworkable()
        for name, make in stages:
            make()
            on_stage(name, job.report())
            if job.options.only == name:
                break
        return job.report()


class _Job:
    """One call: where things are and what was made."""

    def __init__(
        self,
        corpus: Sequence[Path],
        out: Path,
        options: PretrainOptions,
        on_progress: OnProgress,
        on_note: OnNote,
        *,
        shown: Path | None = None,
    ) -> None:
        self.corpus, self.out, self.options = list_files(corpus, keep_folders=True), out, options
        self.shown = shown or out
        """Where the model will be, for the card and the report."""
        self.on_progress, self.on_note = on_progress, on_note
        self.stages = Stages(out / WORK, options.overwrite)
        self.texts = BenchmarkTexts(options.data, options.against)
        self.model_stage = ModelStage(out, self.stages, options, on_progress, on_note)
        self.text_folder = self.stages.folder(TEXT)
        self.segmenter = options.segmenter or DEFAULTS[options.language]
        # Japanese has no blanks: a segmenter finds words. Korean words are what blanks part.
        # Without whole-word masking, words do not matter.
        needs_words = options.language == "ja" and options.objective == "masked"
        self.word_segmenter = self.segmenter if needs_words else ""
        self.text_key = self.vocabulary_key = ""
        self.model: dict[str, Any] | None = None
        self.stages_reached = 0

    def refuse_unworkable(self) -> None:
        """Refuse what the folder and the machine are not fit for, before any work."""
        # The folder of another encoder is not a corpus, although it contains text.
        for path in self.corpus:
            made = path / WORK / TEXT
            is_encoder = made.is_dir() or (path / FIGURES_FILE).is_file()
            if is_encoder and path.resolve() != self.out.resolve():
                cure = "pass the text it was made from"
                if (made / TRAIN_FILE).is_file():
                    cure = f"pass {made} to use its text"
                raise BadInput("is the folder of an encoder, not a text", file=path, cure=cure)
        options = self.options
        if not options.only:
            self.model_stage.refuse_unknown_encoder()
        if options.only == "text" or self.stages.marker(PACK) is not None:
            return
        makes_morphemes = (
            options.tokenizer == "morphemes" and self.stages.marker(VOCABULARY) is None
        )
        if makes_morphemes or (options.only != "vocabulary" and self.word_segmenter):
            find_starts(["\n"], self.segmenter)  # fails where it is not installed

    def make_text(self) -> None:
        """Prepared text: made here, made before, or carried over; or the folder of another run's."""
        self.stages_reached = 1
        if not self.corpus:
            self.text_key = self._find_carried_key()
            return
        folder = self.corpus[0]
        is_prepared = (folder / REPORT_FILE).is_file() and (folder / TRAIN_FILE).is_file()
        if len(self.corpus) == 1 and is_prepared:
            self.text_folder = folder
            language = read_result(folder / REPORT_FILE, CorpusReport).language
            if language != self.options.language:
                what = f"is prepared text in the language {language}"
                raise BadInput(what, file=folder, cure=f"pass --language {language}")
            self.text_key = hash_settings({"text": fingerprint(folder / TRAIN_FILE)})
            return
        options = self.options
        if options.data is not None and not self.texts.has_published():
            what = "the text is compared only with the benchmarks that come with nikawa"
            self.on_note(f"{options.data} contains no benchmark: {what}")
        sources = find_sources(self.corpus, options.field, options.sources, self.stages.work)
        made_from = {
            "corpus": [fingerprint(source.path) for source in sources],
            "language": options.language,
            "seed": options.seed,
            "field": options.field,
            "any_language": options.any_language,
            "sources": fingerprint(options.sources) if options.sources else "",
            "set of benchmarks": self.texts.names(),
        }
        prepare_options = PrepareOptions(
            language=options.language,
            clean=LineCleaner(options.language, options.any_language),
            texts=self.texts,
            seed=options.seed,
            any_language=options.any_language,
            where=choose_place(options),
            on_progress=self.on_progress,
        )
        self.text_key = self.stages.make(
            TEXT,
            made_from,
            lambda folder: prepare(sources, folder, prepare_options),
            files=[source.path for source in sources],
        )

    def _find_carried_key(self) -> str:
        """The key of the text that a later stage was made from, or of the text that is here."""
        for name in (PACK, VOCABULARY):
            if (marker := self.stages.marker(name)) is not None:
                return str(marker.made_from["text"])
        if (marker := self.stages.marker(TEXT)) is not None:
            return marker.key
        cure = "pass a corpus, or an --out folder that contains work/"
        raise BadInput("no corpus is named", file=self.out, cure=cure)

    def make_vocabulary(self) -> None:
        """The tokenizer and how well it covers the benchmarks."""
        self.stages_reached = 2
        options = self.options
        made_from = {
            "text": self.text_key,
            "language": options.language,
            "tokenizer": options.tokenizer,
            "vocabulary": options.vocabulary or DEFAULT_SIZES[options.tokenizer],
            "seed": options.seed,
            "sample": options.sample,
            "segmenter": self.segmenter if options.tokenizer == "morphemes" else "",
        }
        self.vocabulary_key = self.stages.make(VOCABULARY, made_from, self._learn_vocabulary)

    def _learn_vocabulary(self, folder: Path) -> None:
        """Write the tokenizer, its description, and its coverage of held-out text and benchmarks."""
        options, train = self.options, self._require(TRAIN_FILE)
        segmenter = Segmenter(self.segmenter, choose_place(options))
        needs_morphemes = options.tokenizer == "morphemes"
        self.on_progress(f"learning {options.tokenizer}", 0, None)
        vocabulary_options = VocabularyOptions(
            language=options.language,
            kind=options.tokenizer,
            size=options.vocabulary,
            seed=options.seed,
            sample=options.sample,
            segmenter=segmenter if needs_morphemes else None,
        )
        vocabulary = learn_vocabulary(lambda: read_text_lines(train), vocabulary_options)
        tokenizer = build_tokenizer(options.language, vocabulary.tokens)
        report = VocabularyReport(
            language=options.language,
            tokenizer=options.tokenizer,
            size=tokenizer.get_vocab_size(),
            first_piece=FIRST_TEXT_ID,
            alphabet=vocabulary.alphabet,
            floor=MIN_CHARACTER_COUNT,
            characters=vocabulary.characters,
            sampled=vocabulary.sampled,
            seed=options.seed,
            segmenter=self.segmenter if needs_morphemes else "",
            normal_form="NFKC" if options.language == "ja" else "NFC",
            crowded=vocabulary.crowded or msgspec.UNSET,
        )
        self.on_progress("measuring coverage", 0, None)
        heldout = list(read_text_lines(self._require(HELDOUT_FILE)))
        sets = [("held-out text", heldout)] if heldout else []
        sets += self.texts.by_benchmark(options.language)
        try:
            segmenter(["\n"])
        except MissingExtra:  # only tokens that may cross morphemes are counted by it
            coverage = report_coverage(tokenizer, sets, None)
        else:
            coverage = report_coverage(tokenizer, sets, segmenter)
        with atomic_folder(folder) as place:
            save_tokenizer(tokenizer, place)
            (place / VOCABULARY_FILE).write_bytes(encode_json(report) + b"\n")
            (place / COVERAGE_FILE).write_bytes(encode_json(coverage) + b"\n")
            # for those who carry no text
            (place / REPORT_FILE).write_bytes(self._require(REPORT_FILE).read_bytes())

    def _require(self, name: str) -> Path:
        """A file of the prepared text."""
        path = self.text_folder / name
        if not path.is_file():
            raise BadInput("the prepared text is missing", file=path, cure="pass the corpus again")
        return path

    def make_pack(self) -> None:
        """Text as numbers of tokens."""
        self.stages_reached = 3
        made_from = {
            "text": self.text_key,
            "tokenizer": self.vocabulary_key,
            "words": self.word_segmenter,
            "squeeze": self.options.squeeze,
        }
        self.stages.make(PACK, made_from, self._pack)

    def _pack(self, folder: Path) -> None:
        """Pack the text to learn from and the held-out text, compressed if `squeeze` is set."""
        from nikawa.pretrain.packing import PackOptions, compress_pack, pack_text

        pack_options = PackOptions(
            word_starts=Segmenter(self.word_segmenter) if self.word_segmenter else None,
            where=choose_place(self.options),
            on_progress=self.on_progress,
        )
        tokenizer = self.stages.folder(VOCABULARY)
        with atomic_folder(folder) as place:
            for name in (TRAIN_FILE, HELDOUT_FILE):
                text = self._require(name)
                if name == HELDOUT_FILE and not text.stat().st_size:
                    continue  # a very small text may have no held-out part
                target = place / Path(name).stem
                if not self.options.squeeze:
                    pack_text(tokenizer, text, target, pack_options)
                    continue
                whole = place / f"{target.name}.whole"
                pack_text(tokenizer, text, whole, pack_options)
                compress_pack(whole, target)
                shutil.rmtree(whole)

    def make_model(self) -> None:
        """Weights, card and figures."""
        self.stages_reached = 4
        self.model = _to_dict(self.model_stage.make(self._collect_facts))

    def _collect_facts(self, figures: Figures) -> CardFacts:
        """The facts on the card of a training with these figures."""
        options, report = self.options, self.report()
        return CardFacts(
            name=options.name or self.out.resolve().name,
            language=options.language,
            command=self._format_command(_to_dict(figures)),
            sources=options.attribution,
            licence=options.licence,
            corpus=_to_dict(report.text),
            vocabulary=_to_dict(report.vocabulary),
            folder="" if isinstance(self.shown, RemotePath) else str(self.shown),
        )

    def _format_command(self, model: dict[str, Any] | None) -> str:
        """The command that makes the same: from the corpus as it was named, here or where the text
        was prepared.
        """
        corpus = [str(path) for path in self.corpus]
        text = self._read_text_report()
        if not corpus and text is not None:
            corpus = [file.file for file in text.files]
            if text.sources:
                corpus += ["--sources", text.sources]
        return format_command(self.options, corpus, self.shown, model)

    def _read_text_report(self) -> CorpusReport | None:
        """The report of the text: next to it, or with the vocabulary if no text was copied."""
        for folder in (self.text_folder, self.stages.folder(VOCABULARY)):
            report: CorpusReport | None = read_result(folder / REPORT_FILE, CorpusReport)
            if report is not None:
                return report
        return None

    def report(self) -> PretrainReport:
        """What is there, as far as the run went."""
        tokenizer, packs = self.stages.folder(VOCABULARY), self.stages.folder(PACK)
        vocabulary = coverage = pack = None
        if self.stages_reached >= 2:
            vocabulary = read_result(tokenizer / VOCABULARY_FILE, VocabularyReport)
            coverage = read_result(tokenizer / COVERAGE_FILE, CoverageReport)
        if self.stages_reached >= 3:
            pack = {}
            for name in ("train", "heldout"):
                file = packs / name / "pack.json"
                if meta := read_result(file, dict):
                    read_result(file, PackCounts)  # refuses one that was changed
                    pack[name] = meta
        return PretrainReport(
            out=str(self.shown),
            text=self._read_text_report(),
            vocabulary=vocabulary,
            coverage=coverage,
            pack=pack,
            model=self.model,
            command=self._format_command(self.model),
        )


def _to_dict(value: Any) -> dict[str, Any]:
    """A record as it is written; empty for None."""
    plain: dict[str, Any] = msgspec.to_builtins(value) or {}
    return plain


@dataclass(frozen=True)
class ModelStage:
    """The last stage: a model with its card and figures, made once, never over another's."""

    out: Path
    stages: Stages
    options: PretrainOptions
    on_progress: OnProgress = lambda _what, _done, _total: None
    on_note: OnNote = lambda _line: None

    def refuse_unknown_encoder(self) -> None:
        """Refuse to replace a finished encoder without a record of how it was made."""
        if self._is_finished() and read_progress(self.stages.folder(STATE)) is None:
            raise self._in_the_way_error()

    def make(self, collect_facts: Callable[[Figures], CardFacts]) -> Figures:
        """Train unless it is done.

        `collect_facts` returns the facts on the card of a training with these figures.
        """
        from nikawa.pretrain.training import train

        options = self.train_options()
        if not self._is_done(options, collect_facts):
            trained = train(options)
            write_model(
                trained.model,
                trained.figures,
                options.tokenizer,
                self.out,
                collect_facts(trained.figures),
                overwrite=self.options.overwrite,
            )
        return read_figures(self.out)

    def train_options(self) -> TrainOptions:
        """How to train; with a batch that suits the device unless one was chosen."""
        from nikawa.pretrain.evaluation import MIN_TOKENS
        from nikawa.pretrain.packing import open_pack
        from nikawa.pretrain.training import TrainOptions

        heldout = self.stages.folder(PACK) / "heldout"
        has_enough = heldout.is_dir() and open_pack(heldout).tokens >= MIN_TOKENS
        options = TrainOptions(
            tokenizer=self.stages.folder(VOCABULARY),
            train=self.stages.folder(PACK) / "train",
            heldout=heldout if has_enough else None,
            settings=training_settings(self.options),
            state=self.stages.folder(STATE),
            on_progress=self.on_progress,
            on_note=self.on_note,
            threads=self.options.threads,
        )
        return options if self.options.batch else self._choose_batch(options)

    def _choose_batch(self, options: TrainOptions) -> TrainOptions:
        """With the batch of the training whose state is here, wherever it was begun; else that of
        the device.
        """
        from nikawa.pretrain.device import find_device
        from nikawa.pretrain.packing import open_pack
        from nikawa.pretrain.training import training_key

        cpu_settings = msgspec.structs.replace(options.settings, batch=CPU_BATCH)
        cpu_options = replace(options, settings=cpu_settings)
        progress = self._read_progress()
        if progress is not None:
            pack = open_pack(options.train)
            for candidate in (options, cpu_options):
                if progress.key == training_key(candidate, pack):
                    return candidate
        if find_device(self.options.device).type == "cuda":
            return options
        batch = f"{CPU_BATCH:,} tokens per step instead of {options.settings.batch:,}"
        self.on_note(f"No GPU: training uses {batch}; pass --batch to change this")
        return cpu_options

    def _is_done(
        self, options: TrainOptions, collect_facts: Callable[[Figures], CardFacts]
    ) -> bool:
        """Whether the very encoder is here.

        Another one, or the state of another training, is refused.
        """
        from nikawa.pretrain.packing import open_pack
        from nikawa.pretrain.training import training_key

        progress = self._read_progress()
        if progress is None:
            return False
        is_same = progress.key == training_key(options, open_pack(options.train))
        if self._is_finished():
            if is_same and progress.done == progress.total and self._has_card(collect_facts):
                return True
            raise self._in_the_way_error()
        if not is_same:
            what = "is the state of a training run with other settings or another version of torch"
            cure = "choose another --out, or pass --overwrite to start over"
            raise BadInput(what, file=options.state, cure=cure)
        return False

    def _has_card(self, collect_facts: Callable[[Figures], CardFacts]) -> bool:
        """Whether the card that is here has the facts it should have."""
        path, figures = self.out / CARD_FILE, read_figures(self.out)
        if not path.is_file():
            return False
        card = read_bytes(path).decode("utf-8", "replace")
        return card_matches(card, collect_facts(figures), figures)

    def _read_progress(self) -> Any:
        """The progress of the training whose state is here; None if it is to be overwritten."""
        return None if self.options.overwrite else read_progress(self.stages.folder(STATE))

    def _is_finished(self) -> bool:
        return (self.out / CONFIG_FILE).is_file() and not self.options.overwrite

    def _in_the_way_error(self) -> BadInput:
        cure = "choose another --out, or pass --overwrite"
        return BadInput("contains a finished encoder", file=self.out, cure=cure)
