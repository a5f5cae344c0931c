"""Where judgements come from: a published dataset by name, or a file of any form; and the examples they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nikawa.aggregation.table import NotOne, Table, Twice
from nikawa.datasets import load
from nikawa.datasets.load import named, read_judgements
from nikawa.errors import BadInput
from nikawa.io.folders import JUDGEMENTS, is_dataset_folder
from nikawa.io.judgements import How, Note, lines_of, open_judgements
from nikawa.io.judgements.base import Reading
from nikawa.io.pipes import input_path
from nikawa.records import Dataset, Example, Judgement, reference


@dataclass
class Given:
    """Judgements about to be read, and what is known about them."""

    name: str
    judgements: Iterator[Judgement]
    workers_are: str
    form: str
    reading: Reading | None = None
    """The file they are read from; None for a published dataset."""
    question: str | None = None
    """The question a published dataset is asked first."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd, once all is read."""
        return () if self.reading is None else self.reading.notes.report()


def open_given(
    spec: str,
    data: Path | None,
    how: How,
    known: Mapping[str, Example] | None = None,
    *,
    as_given: bool = False,
) -> Given:
    """Open `jsick`, `jsick:test`, a file, or a dataset folder that keeps its judgements.

    With `known`, answers about other items are refused; `as_given` leaves labels in the Unicode form they came in.
    """
    published = named(spec)
    if published is not None and published.file is None:
        name, split = published.benchmark.name, published.split
        rows = read_judgements(name, data=data)
        if split is not None:
            start = reference(name, split, "")
            rows = (judgement for judgement in rows if judgement.example.startswith(start))
        first = published.benchmark.tasks[0].question
        return Given(spec, rows, published.benchmark.card.workers_are, "published", question=first)
    path = input_path(spec)
    if not path.exists():
        cure = "name a file of judgements, or a dataset that publishes its workers' answers"
        raise BadInput("no such file", file=spec, cure=cure)
    path = path / JUDGEMENTS if is_dataset_folder(path) and (path / JUDGEMENTS).is_file() else path
    reading = open_judgements(path, how)
    reading = reading if as_given else reading.composed()
    rows = (judgement for _, judgement in (reading.rows if known is None else reading.known(known)))
    return Given(spec, rows, reading.workers_are, reading.form, reading)


def table_of(given: Given, question: str | None, how: How) -> Table:
    """The table of one question; a worker who answers twice, and an answer that cannot be counted, are placed by line."""
    try:
        return Table.from_judgements(given.judgements, question or given.question)
    except Twice as problem:
        if given.reading is None:
            raise
        places = lines_of(given.reading.path, how, (problem.item, problem.worker, problem.question))
        what = f"{problem.what} (first on {given.reading.place} {places[0]})"
        raise given.reading.fault(places[1], what, problem.cure) from None
    except NotOne as problem:
        if given.reading is None:
            raise
        place, what = _uncountable(given.reading, question, how)
        raise given.reading.fault(place, what, problem.cure) from None


def _uncountable(reading: Reading, question: str | None, how: How) -> tuple[int, str]:
    """The first answer that is neither a label nor a number nor spans: where it stands, and what it is."""
    from nikawa.aggregation.span_agreement import marks_in

    for place, judgement in open_judgements(reading.path, how).rows:
        odd = isinstance(judgement.answer, list | dict) and marks_in(judgement.answer) is None
        if odd and question in (None, judgement.question):
            kind = "a list" if isinstance(judgement.answer, list) else "a mapping"
            return place, f"{judgement.worker}'s answer about {judgement.example} is {kind}"
    return 1, "an answer is a list or a mapping"


def examples_by_reference(dataset: Dataset) -> dict[str, Example]:
    """The examples of a dataset under their full references, and under their ids where these are unique."""
    found: dict[str, Example] = {}
    for split, examples in dataset.splits.items():
        for example in examples:
            found[reference(dataset.name, split, example.id)] = example
            found.setdefault(example.id, example)
    return found


def load_examples(spec: str, examples: str | None, data: Path | None) -> dict[str, Example] | None:
    """The examples the judgements are about: those named, else those of the published dataset itself."""
    if examples is not None:
        return examples_by_reference(load(examples, data=data))
    return examples_by_reference(load(spec, data=data)) if named(spec) is not None else None
