"""Where judgements come from: a published dataset by name, or a file of any form; and the examples they are about.

A file is parsed once, whatever is made of it: `build_tables` makes the tables of all rules in one pass, and a
`JudgementCopy` keeps the records that a result stores with its gold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from nikawa.aggregation.machine_votes import NOTES, MachineUse
from nikawa.aggregation.rules import Rule
from nikawa.aggregation.spans import find_marks
from nikawa.aggregation.table import (
    RepeatedAnswer,
    Table,
    TableBuilder,
    chunks_of,
    no_judgements,
    several_questions,
)
from nikawa.aggregation.trees import freeze_answers
from nikawa.datasets import load
from nikawa.datasets.load import find_hidden_references, read_judgements
from nikawa.datasets.names import benchmarks, find_benchmark, spec_of
from nikawa.errors import BadInput, name_faulty_file, place_fault
from nikawa.io.coding import CodedColumn, UncountableAnswer
from nikawa.io.folders import JUDGEMENTS, is_dataset_folder
from nikawa.io.json import encode_json
from nikawa.io.judgements import JudgementOptions, Note, Notes, find_lines, open_judgements
from nikawa.io.judgements.base import Reading
from nikawa.io.judgements.plain import PlainJudgements
from nikawa.io.pipes import input_path
from nikawa.records import Dataset, Example, Judgement, reference


@dataclass
class JudgementSource:
    """Judgements about to be read, and what is known about them. They can be read once."""

    name: str
    judgements: Iterator[Judgement]
    """A stream: what was read is gone."""
    workers_are: str
    """`persons`, or `columns` where a worker is only a column."""
    form: str
    """The form of the file, such as `label-studio`; `published` for a dataset."""
    reading: Reading | None = None
    """The file they are read from; None for a published dataset."""
    question: str | None = None
    """The first question of a published dataset."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How the file is read."""
    machines: list[Judgement] = field(default_factory=list)
    """Answers of models and simulations, which are not among `judgements`, once all is read."""
    prelabelled: list[Judgement] = field(default_factory=list)
    """The answers of persons whose page was filled in with a machine's answer or could have been, once all is read."""
    known: Collection[str] | None = None
    """The items there are, where that is known."""
    hidden: Collection[str] = ()
    """Examples whose labels are hidden from the reader: what was decided or said about them would tell the label."""

    @property
    def file(self) -> Path | None:
        """What to name in an error about the judgements; None for a published dataset."""
        return None if self.reading is None else self.reading.path

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd, once all is read."""
        if self.reading is None:
            return ()
        notes = self.reading.notes.report()
        return tuple(msgspec.structs.replace(note, place=self.reading.place) for note in notes)

    def read_plain(self) -> PlainJudgements | None:
        """All judgements as coded columns, where the file is plain: see `Reading.plain`. None: take `judgements`."""
        columns = None if self.reading is None else self.reading.plain()
        if columns is None:
            return None
        names = columns.items.names
        if self.known is not None and not all(name in self.known for name in names):
            return None
        return None if self.hidden and any(name in self.hidden for name in names) else columns

    def copy_judgements(self) -> JudgementCopy:
        """A copy that is complete once all judgements are read; they are read record by record then."""
        copy = JudgementCopy()
        self.judgements = copy.take(self.judgements)
        if self.reading is not None:
            self.reading.plain = lambda: None
        return copy

    @property
    def decisions(self) -> list[tuple[int, Judgement]]:
        """The owner's decisions with their lines, once all is read."""
        return [] if self.reading is None else self._without_hidden(self.reading.decisions)

    @property
    def reports(self) -> list[Judgement]:
        """Reports of workers, once all is read."""
        reports = [] if self.reading is None else self._without_hidden(self.reading.reports)
        return [report for _, report in reports]

    @property
    def comments(self) -> list[Judgement]:
        """The answers with a comment, once all is read."""
        comments = [] if self.reading is None else self._without_hidden(self.reading.comments)
        return [answer for _, answer in comments]

    def _without_hidden(self, rows: list[tuple[int, Judgement]]) -> list[tuple[int, Judgement]]:
        return [row for row in rows if row[1].example not in self.hidden]


def open_source(
    spec: str,
    data: Path | None,
    how: JudgementOptions,
    known: Mapping[str, Example] | None = None,
    *,
    as_given: bool = False,
    as_published: bool = False,
    hidden: bool = False,
    machines: bool = False,
    use: MachineUse = "ignore",
) -> JudgementSource:
    """Open `jsick`, `jsick:test`, a file, or a dataset folder that keeps its judgements.

    Of judgements in a dataset folder, those about examples whose labels are hidden are
    skipped unless `hidden` is set: together they tell the label. A note says how many.

    Only persons' answers are among the judgements, and a note counts the others, unless `machines` is set. `use` is what happens to
    the answers of machines, for the note.

    With `known`, answers about other items are refused. `as_given` leaves labels in the Unicode form they came in;
    `as_published` takes only the answers that a published dataset's own gold was made from.
    """
    parsed = spec_of(spec)
    if parsed.name and parsed.path is None:
        benchmark = benchmarks()[parsed.name]
        if as_published:
            rows = read_judgements(spec, data=data, counted=True)
        else:
            rows = read_judgements(benchmark.name, data=data)
            if parsed.split is not None:
                start = reference(benchmark.name, parsed.split, "")
                rows = (judgement for judgement in rows if judgement.example.startswith(start))
        first = benchmark.tasks[0].question
        return JudgementSource(spec, rows, benchmark.card.workers_are, "published", question=first)
    path = input_path(spec)
    if not path.exists():
        cure = "pass a file of judgements, or a dataset that publishes its workers' answers"
        raise BadInput("no such file", file=spec, cure=cure)
    if is_dataset_folder(path) and (path / JUDGEMENTS).is_file():
        path = path / JUDGEMENTS
    reading = open_judgements(path, how)
    reading = reading if as_given else reading.composed()
    if as_published:
        raise BadInput(f"{spec!r} is not a published dataset", cure="leave out --as-published")
    numbered = reading.rows if known is None else reading.known(known)
    names: Collection[str] = ()
    if path.name == JUDGEMENTS and is_dataset_folder(path.parent) and not hidden:
        references = find_hidden_references(path.parent)
        names = {*references, *(name.partition("/")[2] for name in references)}
        numbered = skip_hidden(numbered, names, reading.notes)
    apart: list[Judgement] = []
    prelabelled: list[Judgement] = []
    rows = (
        (judgement for _, judgement in numbered)
        if machines
        else keep_persons(numbered, reading, apart, prelabelled, use)
    )
    return JudgementSource(
        spec,
        rows,
        reading.workers_are,
        reading.form,
        reading,
        how=how,
        machines=apart,
        prelabelled=prelabelled,
        known=known,
        hidden=names,
    )


def keep_persons(
    rows: Iterable[tuple[int, Judgement]],
    reading: Reading,
    apart: list[Judgement],
    prelabelled: list[Judgement],
    use: MachineUse = "ignore",
) -> Iterator[Judgement]:
    """The answers of persons; those of models and simulations go `apart` and are noted.

    Answers with a pre-label go into `prelabelled` too.

    Raises `BadInput` at the end where no answer is a person's.
    """
    persons = 0
    for line, judgement in rows:
        kind = judgement.kind  # the reading has set it, by the worker's name too
        if kind == "person":
            persons += 1
            if judgement.prelabel is not None:
                prelabelled.append(judgement)
            yield judgement
            continue
        what = "answers of models" if kind == "machine" else "simulated answers"
        reading.notes.add(what, line, NOTES[use if kind == "machine" else "ignore"])
        apart.append(judgement)
    if apart and not persons:
        what = f"all {len(apart):,} answers are of models or simulated: no person answered"
        raise BadInput(what, file=reading.path, cure="add the answers of persons")


def skip_hidden(
    rows: Iterator[tuple[int, Judgement]], hidden: Collection[str], notes: Notes
) -> Iterator[tuple[int, Judgement]]:
    """The judgements, with their lines, less those about `hidden` examples, which are noted."""
    for line, judgement in rows:
        if judgement.example in hidden:
            notes.add("answers about examples whose labels are hidden", line, "skipped")
        else:
            yield line, judgement


# Tables


def build_table(source: JudgementSource, question: str | None = None) -> Table:
    """The table of one question; it may be left out where there is one only, or a dataset has a first."""
    question = question or source.question
    columns = source.read_plain()
    if columns is not None:
        with suppress(BadInput):  # the judgements, one by one, explain it with their lines
            table = Table.from_plain(columns, question)
            source.judgements = iter(())
            return table
    with name_faulty_file(source.file), _name_lines(source, question):
        return Table.from_judgements(freeze_answers(source.judgements, question), question)


def build_tables(
    source: JudgementSource, rules: Mapping[str, Rule], question: str | None = None
) -> dict[str, Table]:
    """A table for each rule, in one pass; rules on the same answers share one.

    A rule that is named after a question of the judgements is about its answers, any other about those to `question`.
    """
    question = question or source.question
    columns = source.read_plain()
    if columns is not None:
        with suppress(BadInput):  # the judgements, one by one, explain it with their lines
            tables = _build_plain_tables(columns, rules, question)
            source.judgements = iter(())
            return tables
    with name_faulty_file(source.file):
        return _build_tables(source, rules, question)


def _build_plain_tables(
    columns: PlainJudgements, rules: Mapping[str, Rule], question: str | None
) -> dict[str, Table]:
    """The tables of the columns of a plain file."""
    questions = columns.questions.names
    if question is None and len(questions) == 1:
        question = questions[0]
    tables: dict[tuple[str | None, bool], Table] = {}
    by_rule: dict[str, Table] = {}
    for name, rule in rules.items():
        key = (name if name and name in questions else question, rule.first)
        if key not in tables:
            used = columns
            if rule.first:
                answers = columns.answers
                first = CodedColumn(answers.codes, list(map(first_choice, answers.names)))
                used = replace(columns, answers=first)
            tables[key] = Table.from_plain(used, key[0])
        by_rule[name] = tables[key]
    return by_rule


def _build_tables(
    source: JudgementSource, rules: Mapping[str, Rule], question: str | None
) -> dict[str, Table]:
    builders: dict[tuple[str, bool], TableBuilder] = {}
    questions: dict[str, None] = {}
    for chunk in chunks_of(source.judgements):
        questions |= dict.fromkeys(judgement.question for judgement in chunk)
        if question is None and not any(rules) and len(questions) > 1:
            raise several_questions(questions)
        for first in {rule.first for rule in rules.values()}:
            by_question: dict[str, list[Judgement]] = {}
            for judgement in keep_first_choices(chunk) if first else freeze_answers(chunk):
                by_question.setdefault(judgement.question, []).append(judgement)
            for name, part in by_question.items():
                if question in (None, name) or name in rules:
                    with _name_lines(source, name):
                        builders.setdefault((name, first), TableBuilder(name)).add(part)
    tables: dict[tuple[str, bool], Table] = {}
    by_rule: dict[str, Table] = {}
    for name, rule in rules.items():
        about = name if name and name in questions else question
        if about is None and len(questions) > 1:
            raise several_questions(questions)
        if about is None and not questions:
            raise no_judgements()
        key = (about or next(iter(questions)), rule.first)
        if key not in tables:
            with _name_lines(source, key[0]):
                tables[key] = builders.get(key, TableBuilder(key[0])).table()
        by_rule[name] = tables[key]
    return by_rule


def keep_first_choices(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Ranked answers (lists, or text with `>` or `|` between) cut to the first choice."""
    for judgement in judgements:
        yield msgspec.structs.replace(judgement, answer=first_choice(judgement.answer))


def first_choice(answer: Any) -> Any:
    """The first choice of a ranked answer.

    >>> first_choice("politics > world"), first_choice(["world", "sports"])
    ('politics', 'world')
    """
    if isinstance(answer, str):
        return re.split(r"\s*[>|]\s*", answer)[0]
    if isinstance(answer, list | tuple):
        return answer[0] if answer else None
    return answer


@contextmanager
def _name_lines(source: JudgementSource, question: str | None) -> Iterator[None]:
    """Name the line of a worker who answers twice, and of an answer that cannot be counted, where there are lines."""
    reading = source.reading
    try:
        yield
    except RepeatedAnswer as problem:
        if reading is None:
            raise
        answer = (problem.item, problem.worker, problem.question)
        (first_file, first), (file, place), *_ = find_lines(reading.path, source.how, answer)
        elsewhere = "" if first_file == file else f" of {first_file.name}"
        what = f"{problem.what} (first on {reading.place} {first}{elsewhere})"
        raise place_fault(
            what, file=file, unit=reading.place, place=place, cure=problem.cure
        ) from None
    except UncountableAnswer as problem:
        if reading is None:
            raise
        place, what = 1, problem.what
        reading = open_judgements(reading.path, source.how)
        for number, judgement in reading.rows:
            odd = isinstance(judgement.answer, list | dict) and find_marks(judgement.answer) is None
            if odd and question in (None, judgement.question):
                kind = "a list" if isinstance(judgement.answer, list) else "a mapping"
                part = judgement.answer[0] if isinstance(judgement.answer, list) else None
                if isinstance(part, dict) and {"from", "to"} <= part.keys():
                    kind = "a list of relations, of which no agreement is computed"
                what = f"{judgement.worker}'s answer about {judgement.example} is {kind}"
                place = number
                break
        raise reading.fault(place, what, problem.cure) from None


class JudgementCopy:
    """A copy of judgements, taken while they are read: packed lines of JSON, a tenth of what the records would need."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self.remarks: list[Judgement] = []
        """Answers of machines, decisions and reports, which are written behind the answers that count."""

    def take(self, judgements: Iterable[Judgement]) -> Iterator[Judgement]:
        """The same judgements, each of which is copied as it passes."""
        packer = zstandard.ZstdCompressor(level=1).compressobj()
        for chunk in chunks_of(judgements):
            lines = b"".join(encode_json(judgement) + b"\n" for judgement in chunk)
            self._packed.append(packer.compress(lines))
            yield from chunk
        self._packed.append(packer.flush())

    def write(self, path: Path) -> None:
        """Write the judgements, a line each."""
        unpacker = zstandard.ZstdDecompressor().decompressobj()
        with path.open("wb") as out:
            for packed in self._packed:
                out.write(unpacker.decompress(packed))
            out.writelines(encode_json(remark) + b"\n" for remark in self.remarks)


# Examples


def examples_by_reference(dataset: Dataset) -> dict[str, Example]:
    """The examples of a dataset under their full references, and under their ids where these are unique."""
    examples: dict[str, Example] = {}
    for split, members in dataset.splits.items():
        for example in members:
            examples[reference(dataset.name, split, example.id)] = example
            examples.setdefault(example.id, example)
    return examples


def load_examples(
    spec: str, examples: str | None, data: Path | None, *, hidden: bool = False
) -> dict[str, Example] | None:
    """The examples the judgements are about: those named, else those of the published dataset itself.

    Hidden labels are removed unless `hidden` is set.
    """
    if examples is not None:
        return examples_by_reference(load(examples, data=data, hidden=hidden))
    if find_benchmark(spec) is not None:
        return examples_by_reference(load(spec, data=data, hidden=hidden))
    return None
