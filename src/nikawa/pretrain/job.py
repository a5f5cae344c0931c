"""An encoder of one's own, in stages that are each done once: text, vocabulary, pack, weights.

A run that was killed goes on with the stage it was in. `only` ends after a stage, so that text can be prepared on one
machine and an encoder trained on another, with nothing but the folder carried over.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nikawa.errors import BadInput, MissingExtra
from nikawa.io.atomic import atomic_folder
from nikawa.io.json import encode_json
from nikawa.pretrain.choices import Choices, Report, command, refuse, refuse_encoders
from nikawa.pretrain.coverage import CoverageReport
from nikawa.pretrain.prepare import HELDOUT, REPORT, TRAIN, News, Preparing, prepare
from nikawa.pretrain.report import CorpusReport
from nikawa.pretrain.sources import sources_of
from nikawa.pretrain.stages import (
    PACK,
    TEXT,
    VOCABULARY,
    WORK,
    Stages,
    alone,
    fingerprint,
    key_of,
    read_made,
)
from nikawa.pretrain.text import BenchmarkTexts, CleanLines, Morphemes, texts_by_benchmark
from nikawa.pretrain.vocabulary import FLOOR, SIZES, VocabularyReport
from nikawa.pretrain.weights import Say, Weights
from nikawa.text.analysers import DEFAULTS
from nikawa.text.starts import starts

if TYPE_CHECKING:
    from nikawa.pretrain.card import Figures, Story

__all__ = ["Choices", "Report", "pretrain"]

Staged = Callable[[str, Report], None]
ABOUT, COVERED = "vocabulary.json", "coverage.json"


def pretrain(
    corpus: Sequence[Path],
    out: Path,
    choices: Choices,
    news: News = lambda what, done, total: None,
    staged: Staged = lambda stage, report: None,
    say: Say = lambda line: None,
) -> Report:
    """Prepare text, learn a vocabulary, pack and train; what is done already is taken as it is.

    `staged` hears the name of each stage that is there, with all that is known by then; `say` a line of news to keep.
    """
    refuse(choices)
    job = _Job(list(corpus), out, choices, Hears(news, say))
    stages = (
        ("text", job.text),
        ("vocabulary", job.vocabulary),
        ("pack", job.pack),
        ("model", job.learn),
    )
    with alone(out):
        job.refuse()
        for name, stage in stages:
            stage()
            staged(name, job.report())
            if choices.only == name:
                break
        return job.report()


class Hears(NamedTuple):
    """Who is told what."""

    news: News
    say: Say


class _Job:
    """One call: where things are and what was made."""

    def __init__(self, corpus: list[Path], out: Path, choices: Choices, hears: Hears) -> None:
        self.corpus, self.out, self.choices, (self.news, self.say) = corpus, out, choices, hears
        self.stages = Stages(out / WORK, choices.overwrite)
        self.texts = BenchmarkTexts(choices.data, choices.against)
        self.weights = Weights(out, self.stages, choices, *hears)
        self.folder = self.stages.folder(TEXT)
        self.key = ""
        self.model: dict[str, Any] | None = None
        self.reached = 0

    def refuse(self) -> None:
        """What the folder and the machine are not fit for, before any work."""
        refuse_encoders(self.corpus, self.out)
        if not self.choices.only:
            self.weights.refuse()
        if self.choices.only != "text" and self._segments() and self.stages.marker(PACK) is None:
            starts(["\n"], self._segmenter())

    def _segments(self) -> bool:
        """Whether some stage cannot do without a segmenter."""
        vocabulary = (
            self.choices.tokenizer == "morphemes" and self.stages.marker(VOCABULARY) is None
        )
        return vocabulary or (self.choices.only != "vocabulary" and bool(self._words_by()))

    def text(self) -> None:
        """Prepared text: made here, made before, or carried over; or the folder of another run's."""
        self.reached = 1
        if len(self.corpus) == 1 and all(
            (self.corpus[0] / name).is_file() for name in (REPORT, TRAIN)
        ):
            self.folder = self.corpus[0]
            self.key = self._prepared()
            return
        if not self.corpus:
            self.key = self._carried()
            return
        if self.choices.data is not None and not self.texts.published():
            self.say(
                f"{self.choices.data} holds no benchmark: the text is compared with those that come with nikawa alone"
            )
        sources = sources_of(
            self.corpus, self.choices.field, self.choices.sources, self.stages.work
        )
        c = self.choices
        made_from = {
            "corpus": [fingerprint(source.path) for source in sources],
            "language": c.language,
            "seed": c.seed,
            "field": c.field,
            "any_language": c.any_language,
            "sources": fingerprint(c.sources) if c.sources else "",
            "set of benchmarks": self.texts.names(),
        }
        how = Preparing(
            c.language,
            CleanLines(c.language, c.any_language),
            self.texts,
            c.seed,
            any_language=c.any_language,
            workers=c.workers,
            news=self.news,
        )
        files = [source.path for source in sources]
        self.key = self.stages.make(
            TEXT, made_from, lambda folder: prepare(sources, folder, how), files
        )

    def _prepared(self) -> str:
        """The key of a text that another run prepared."""
        language = read_made(self.folder / REPORT, CorpusReport).language
        if language != self.choices.language:
            raise BadInput(
                f"is text of the language {language}",
                file=self.folder,
                cure=f"say --language {language}",
            )
        return key_of({"text": fingerprint(self.folder / TRAIN)})

    def _carried(self) -> str:
        """The key of the text that a later stage was made from, or of the text that is here."""
        for name in (PACK, VOCABULARY):
            if (found := self.stages.marker(name)) is not None:
                return str(found.made_from["text"])
        if (found := self.stages.marker(TEXT)) is not None:
            return found.key
        raise BadInput(
            "no text was named", file=self.out, cure="name a corpus, or an --out with work/ in it"
        )

    def vocabulary(self) -> None:
        """The tokenizer and how well it covers the benchmarks."""
        self.reached = 2
        c = self.choices
        made_from = {
            "text": self.key,
            "language": c.language,
            "tokenizer": c.tokenizer,
            "vocabulary": c.vocabulary or SIZES[c.tokenizer],
            "seed": c.seed,
            "sample": c.sample,
            "segmenter": self._segmenter() if c.tokenizer == "morphemes" else "",
        }
        self.vocabulary_key = self.stages.make(VOCABULARY, made_from, self._learn_vocabulary)

    def _segmenter(self) -> str:
        return self.choices.segmenter or DEFAULTS[self.choices.language]

    def _learn_vocabulary(self, folder: Path) -> None:
        from nikawa.pretrain.coverage import report
        from nikawa.pretrain.tokenizer import FIRST, build, save
        from nikawa.pretrain.vocabulary import Plan, learn_vocabulary, text_lines

        c, train = self.choices, self._need(TRAIN)
        cuts = Morphemes(self._segmenter(), c.workers)
        self.news(f"learning {c.tokenizer}", 0, None)
        plan = Plan(
            c.language,
            c.tokenizer,
            c.vocabulary,
            c.seed,
            c.sample,
            cuts if c.tokenizer == "morphemes" else None,
        )
        learned = learn_vocabulary(lambda: text_lines(train), plan)
        tokenizer = build(c.language, learned.pieces)
        about = VocabularyReport(
            language=c.language,
            tokenizer=c.tokenizer,
            size=tokenizer.get_vocab_size(),
            first_piece=FIRST,
            alphabet=learned.alphabet,
            floor=FLOOR,
            characters=learned.characters,
            sampled=learned.sampled,
            seed=c.seed,
            segmenter=self._segmenter() if c.tokenizer == "morphemes" else "",
            normal_form="NFKC" if c.language == "ja" else "NFC",
            crowded=learned.crowded or msgspec.UNSET,
        )
        self.news("measuring coverage", 0, None)
        heldout = list(text_lines(self._need(HELDOUT)))
        sets = [("held-out text", heldout)] if heldout else []
        covered = report(
            tokenizer, [*sets, *texts_by_benchmark(self.texts, c.language)], self._at_hand(cuts)
        )
        with atomic_folder(folder) as place:
            save(tokenizer, place)
            (place / ABOUT).write_bytes(encode_json(about) + b"\n")
            (place / COVERED).write_bytes(encode_json(covered) + b"\n")
            (place / REPORT).write_bytes(
                self._need(REPORT).read_bytes()
            )  # for those who carry no text

    def _at_hand(self, cuts: Morphemes) -> Morphemes | None:
        """The segmenter, if it is installed: only pieces that may cross morphemes are counted by it."""
        try:
            cuts(["\n"])
        except MissingExtra:
            return None
        return cuts

    def _need(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise BadInput("the prepared text is not here", file=path, cure="name the corpus again")
        return path

    def pack(self) -> None:
        """Text as numbers of pieces."""
        self.reached = 3
        c = self.choices
        made_from = {"text": self.key, "tokenizer": self.vocabulary_key, "words": self._words_by()}
        self.stages.make(PACK, {**made_from, "squeeze": c.squeeze}, self._pack)

    def _words_by(self) -> str:
        """Japanese has no blanks: a segmenter tells words. Korean words are what blanks part."""
        return self._segmenter() if self.choices.language == "ja" else ""

    def _pack(self, folder: Path) -> None:
        from nikawa.pretrain.pack import PackOptions, pack, shrink

        c = self.choices
        words = Morphemes(self._words_by()) if self._words_by() else None
        options = PackOptions(words=words, workers=c.workers, progress=self.news)
        with atomic_folder(folder) as place:
            for name in (TRAIN, HELDOUT):
                if name == HELDOUT and not self._need(name).stat().st_size:
                    continue  # of a very small text nothing may have been held out
                part = place / Path(name).stem
                whole = place / f"{part.name}.whole" if c.squeeze else part
                pack(self.stages.folder(VOCABULARY), self._need(name), whole, options)
                if c.squeeze:
                    shrink(whole, part)
                    shutil.rmtree(whole)

    def learn(self) -> None:
        """Weights, card and figures."""
        self.reached = 4
        self.model = _plain(self.weights.learn(self._story))

    def _story(self, figures: Figures) -> Story:
        """What the card tells."""
        from nikawa.pretrain.card import Story

        c, done = self.choices, self.report()
        return Story(
            name=c.name or self.out.resolve().name,
            language=c.language,
            command=self._command(_plain(figures)),
            sources=c.attribution,
            licence=c.licence,
            corpus=_plain(done.text),
            vocabulary=_plain(done.vocabulary),
            folder=str(self.out),
        )

    def _command(self, model: dict[str, Any] | None) -> str:
        """The command that makes the same: from the corpus as it was named, here or where the text was prepared."""
        corpus = [str(path) for path in self.corpus] or self._origin()
        return command(self.choices, corpus, self.out, model)

    def _origin(self) -> list[str]:
        """The files that a text which was carried here alone was made from, and the table of their sources."""
        text = self._text()
        if text is None:
            return []
        return [
            *(file.file for file in text.files),
            *(["--sources", text.sources] if text.sources else []),
        ]

    def _text(self) -> CorpusReport | None:
        places = (self.folder, self.stages.folder(VOCABULARY))
        return next(
            (found for place in places if (found := read_made(place / REPORT, CorpusReport))), None
        )

    def report(self) -> Report:
        """What is there, as far as the run went."""
        tokenizer, packs = self.stages.folder(VOCABULARY), self.stages.folder(PACK)
        return Report(
            out=str(self.out),
            text=self._text(),
            vocabulary=read_made(tokenizer / ABOUT, VocabularyReport) if self.reached > 1 else None,
            coverage=read_made(tokenizer / COVERED, CoverageReport) if self.reached > 1 else None,
            pack={
                name: about
                for name in ("train", "heldout")
                if (about := read_made(packs / name / "pack.json", dict))
            }
            if self.reached > 2
            else None,
            model=self.model,
            command=self._command(self.model),
        )


def _plain(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value) or {}
    return found
