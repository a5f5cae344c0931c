"""Clean source text: documents from files, the early steps in parallel, the late ones in order, candidates out.

The same bytes for any number of workers: the text is cut into chunks by its content alone and put together in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec

from nikawa.cleaning import Removed, Settings, Step, choose
from nikawa.cleaning.early_steps import Part, Sentence, Work, chunks, parts
from nikawa.cleaning.files import Input, Reading, inputs_of, read
from nikawa.cleaning.late_steps import Late
from nikawa.cleaning.source import Document
from nikawa.cleaning.tally import Tally
from nikawa.cleaning.toxicity import Scorer
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.json import encode_json
from nikawa.io.pipes import input_path
from nikawa.records import Example, Record

__all__ = ["Choices", "Reading", "Report", "StepReport", "clean"]

News = Callable[[int, int], None]
"""Hears of documents and characters read so far."""


class Choices(Record, frozen=True, kw_only=True):
    """What to clean with; see `nikawa clean --help`."""

    settings: Settings = Settings()
    steps: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    reading: Reading = Reading()
    removed: Path | None = None
    workers: int = 1
    overwrite: bool = False


class StepReport(Record, frozen=True, kw_only=True):
    """What one step did."""

    step: str
    title: str
    changed: int
    """Texts it changed."""
    removed: int
    """Sentences it removed, or texts of which it left nothing."""
    examples: tuple[str, ...]


class Report(Record, frozen=True, kw_only=True):
    """What was read, kept and removed: sentences = kept + all removed."""

    language: str
    files: tuple[Input, ...]
    documents: int
    characters: int
    unselected: int
    """Documents left out because the selection does not name them."""
    sentences: int
    kept: int
    steps: tuple[StepReport, ...]


def clean(
    texts: Sequence[Path],
    out: Path,
    choices: Choices | None = None,
    *,
    scorer: Scorer | None = None,
    news: News = lambda documents, characters: None,
) -> Report:
    """Clean the files (`-`: the standard input) into candidate sentences, written to `out` whole or not at all."""
    choices = choices or Choices()
    texts = [input_path(text) for text in texts]
    _refuse(texts, out, choices)
    files = inputs_of(texts, choices.reading, choices.settings.language)
    settings = msgspec.structs.replace(choices.settings, language=_language(files))
    steps = _steps(choices, scorer)
    late = Late(steps, settings, scorer)
    run = _Run(news)
    work = Work(tuple(step.name for step in steps), settings, late.needs_signatures)
    documents = run.counted(read(files, choices.reading, run.leave_out))
    with ExitStack() as stack:
        written = stack.enter_context(atomic_write(out, overwrite=choices.overwrite))
        dropped = (
            stack.enter_context(atomic_write(choices.removed, overwrite=choices.overwrite))
            if choices.removed
            else None
        )
        for part in late.apply(parts(chunks(documents), work, choices.workers)):
            run.take(part, written, dropped)
    return run.report(steps, settings.language, files)


def _steps(choices: Choices, scorer: Scorer | None) -> tuple[Step, ...]:
    """The chosen steps; toxicity is one of them just when there is a scorer."""
    if scorer is None:
        return choose(choices.steps, (*choices.without, "toxicity"))
    return choose(None if choices.steps is None else (*choices.steps, "toxicity"), choices.without)


def _refuse(texts: Sequence[Path], out: Path, choices: Choices) -> None:
    """What would fail after the work was done fails before it."""
    if not texts:
        raise BadInput("no text was named", cure="name at least one file")
    for path in filter(None, (out, choices.removed)):
        refuse_existing(path, choices.overwrite)
        if any(path.resolve() == text.resolve() for text in texts):
            raise BadInput(
                "is both read and written", file=path, cure="choose another name to write to"
            )
    if choices.removed and choices.removed.resolve() == out.resolve():
        raise BadInput(
            "is named twice to be written", file=out, cure="choose another name for --removed"
        )
    least, most = choices.settings.min_length, choices.settings.max_length
    if least > most:
        what = f"no length is between {least} and {most}"
        raise BadInput(what, cure="let --min-length be at most --max-length")


def _language(files: Sequence[Input]) -> str:
    found = {file.language for file in files}
    if len(found) > 1:
        raise BadInput(
            "the files are of different languages",
            cure="clean each language alone, or say --language",
        )
    return found.pop()


class _Run:
    """The state of one cleaning: counts, and the writing of what comes out."""

    def __init__(self, news: News) -> None:
        self.news, self.tally = news, Tally()
        self.documents = self.characters = self.unselected = self.sentences = self.kept = 0

    def leave_out(self) -> None:
        self.unselected += 1

    def counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += document.base == 0
            self.characters += len(document.text)
            yield document

    def take(self, part: Part, written: BinaryIO, dropped: BinaryIO | None) -> None:
        """Write a part and add its counts."""
        self.tally.add(part.tally)
        self.sentences += part.sentences
        self.kept += len(part.kept)
        written.write(b"".join(encode_json(_example(s)) + b"\n" for s in part.kept))
        if dropped is not None:
            dropped.write(
                b"".join(encode_json(_removed(s, step, why)) + b"\n" for s, step, why in part.gone)
            )
        self.news(self.documents, self.characters)

    def report(self, steps: Sequence[Step], language: str, files: Sequence[Input]) -> Report:
        return Report(
            language=language,
            files=tuple(files),
            documents=self.documents,
            characters=self.characters,
            unselected=self.unselected,
            sentences=self.sentences,
            kept=self.kept,
            steps=tuple(_step_report(step, self.tally) for step in steps),
        )


def _step_report(step: Step, tally: Tally) -> StepReport:
    count = tally.of(step.name)
    return StepReport(
        step=step.name,
        title=step.title,
        changed=count.changed,
        removed=count.removed,
        examples=tuple(count.examples),
    )


def _document(sentence: Sentence) -> str:
    return sentence.document.id or sentence.document.name


def _example(sentence: Sentence) -> Example:
    """A candidate: its text, and where it lies in which document of which source."""
    document = sentence.document
    meta = {"document": _document(sentence), "start": sentence.start, "end": sentence.end}
    about = {"source": document.source, "licence": document.licence}
    return Example(
        id=f"{document.name}:{sentence.start}",
        inputs={"text": sentence.text},
        meta={**meta, **{key: value for key, value in about.items() if value}},
        group=_document(sentence),
    )


def _removed(sentence: Sentence, step: str, why: str) -> Removed:
    place = msgspec.structs.asdict(sentence)
    place.pop("document")
    return Removed(
        document=sentence.document.name, line=sentence.document.line, step=step, why=why, **place
    )
