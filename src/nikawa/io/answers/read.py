"""Read the answers to a task from a file or a folder, in whichever form they are."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import getrandbits
from sys import getsizeof
from typing import Any

import msgspec

from nikawa.errors import BadInput, list_names
from nikawa.io.answers import keyed
from nikawa.io.answers.base import (
    AnswerForm,
    Answers,
    RawAnswer,
    Rows,
    ShownReading,
    Target,
    UnfitAnswer,
)
from nikawa.io.answers.extract import check_expressions, read_extracts
from nikawa.io.answers.parse import best_label, make_score_reader
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer, Reader, show_reading
from nikawa.io.answers.recognise import find_form, recognise
from nikawa.io.answers.structures import restore_tags
from nikawa.records import Example, Prediction, Tagged, Task

ANSWER_SUFFIXES = (
    ".jsonl",
    ".ndjson",
    ".json",
    ".tsv",
    ".csv",
    ".parquet",
    ".txt",
    ".npy",
    ".eval",
)
OTHER_FILES = re.compile(
    r"(config|metrics|card|scores|run|all_results|train_results|eval_results|null_odds|nbest_|results_|val_results"
    r"|trainer_state|generation_config|special_tokens|tokenizer|vocab|manifest|requirements|readme)",
)
"""Prefixes of files that accompany answers but contain no answers."""
ANSWER_STEMS = ("outputs", "predictions")
"""Stems that say by themselves: here are the answers. flexeval writes the first."""
NO_ANSWER = "the file gives no answer"


def read_answers(
    path: Path,
    task: Task,
    examples: Sequence[Example],
    *,
    form: str | None = None,
    numbered_labels: bool = False,
    extract: Sequence[str] = (),
) -> Answers:
    """Read the answers of `path`, a file or a folder, to `task` about `examples`; see `AnswerFiles`."""
    files = AnswerFiles(
        path,
        task,
        form=form,
        numbered_labels=numbered_labels,
        keep_rows=False,
        extract=extract,
    )
    answers = files.match(examples)
    if answers.refusal is not None:
        raise answers.refusal
    return answers


def refuse_other_log(file: Path, form: AnswerForm) -> None:
    """Refuse a file that another tool wrote than the form names.

    `nikawa run` gives one form to all its models, so a log of another tool is a likely mistake, and what the reader of the wrong
    form would say of it (a character that is no text) leads nowhere.
    """
    try:
        actual = recognise(file)
    except BadInput:  # what cannot be recognised is read as the form says
        return
    if actual.log and actual is not form:
        what = f"is a log of {actual.name}, but the form is {form.name}"
        cure = (
            "leave out the form for this file (nikawa compare: --form NAME=FORM is for one system;"
            " nikawa run: use a separate command with the same --out)"
        )
        raise BadInput(what, file=file, cure=cure)


def looks_at_texts(path: Path, form: str | None = None) -> bool:
    """Whether the answers of a file may be matched by the texts of the examples; if not, ids alone tell what they are about."""
    if not path.is_file():
        return True
    try:
        chosen = (find_form(form)[0] if form else None) or recognise(path)
        if chosen not in (keyed.PREDICTIONS, keyed.LINES, keyed.TSV, keyed.CSV):
            return True
        first = next(iter(chosen.parse(path)), None)
    except BadInput:  # it is raised where the answers are read
        return True
    return first is None or keyed.repeats_texts(first[1])


MAX_KEPT_BYTES = 64 * 10**6
"""Bytes of rows that are kept for matching with another split; those of a longer file are parsed again for each split."""
MAX_NOTED_BYTES, BYTES_OF_NOTE = 300 * 10**6, 150
"""Maximum bytes of ids that do not belong to the task, and the overhead of one id."""


class AnswerFiles:
    """A file or a folder of answers to a task, for matching with one set of examples after the
    other.

    `form` forces a form, `form:option` says more (`lm-eval:strict-match`, `inspect:2`), `indices`
    or `form:indices` says that numbers are places in the task's labels. `numbered_labels` says the
    same of answers that come in order, without ids: the official tools of some datasets write them
    so. With `keep_rows` every file is parsed once and kept; without it, parsed each time and not
    kept. `extract` are regular expressions that take the answer out of a longer text first (see
    `nikawa.io.answers.extract`); with `keep_readings` the answers say what each was read from.
    Without `keep_rows`, a file with more than `max_rows` is refused: one of a few kilobytes may hold
    millions.
    """

    def __init__(
        self,
        path: Path,
        task: Task,
        *,
        form: str | None = None,
        numbered_labels: bool = False,
        keep_rows: bool = True,
        extract: Sequence[str] = (),
        keep_readings: bool = False,
        max_rows: int | None = None,
    ) -> None:
        check_expressions(extract)
        self.path, self.task = path, task
        self._extract, self._keep_readings = tuple(extract), keep_readings
        self._form, self._option = find_form(form) if form else (None, "")
        self._numbered_labels, self._keep_rows = numbered_labels, keep_rows
        self._max_rows = max_rows
        self._parsed: dict[Path, tuple[AnswerForm, Rows]] = {}

    def match(self, examples: Sequence[Example]) -> Answers:
        """Return the answers to the task about these examples."""
        files = find_answer_files(self.path, self.task) if self.path.is_dir() else [self.path]
        target = Target(self.task, examples, self._option)
        readings: dict[str, ShownReading] | None = {} if self._keep_readings else None
        state = _Matching(target, self._numbered_labels, self._extract, readings)
        forms = []
        for file in files:
            form, rows = self._parse(file)
            if form.ordered and len(files) > 1:
                raise BadInput(
                    "is a part without ids", file=file, cure="join the parts in order, or add ids"
                )
            state.read(file, form, rows)
            forms.append(form.name)
        return state.answers(forms[0])

    def measure_texts(self, examples: Sequence[Example]) -> Iterator[int]:
        """After each answer to an example, the bytes so far of answers that are texts, without reading what they answer.

        `Prediction` keeps each text, as the answer or as what it was read from, so predictions take at least as many bytes. Tags,
        which are kept in a shorter form, do not count.
        """
        if self.task.kind == "tagging":
            return
        target, total = Target(self.task, examples, self._option), 0
        measured: set[str] = set()
        for file in find_answer_files(self.path, self.task) if self.path.is_dir() else [self.path]:
            form, rows = self._parse(file)
            if form.log and target.indices:
                target = Target(target.task, target.examples)
            for answer in form.read(rows, target, file):
                text = answer.answer if answer.raw is None else answer.raw
                example = None if answer.id is None else target.find(answer.id)
                if not isinstance(text, str) or (example is None and not form.ordered):
                    continue
                if example is not None:
                    if example.id in measured:
                        continue
                    measured.add(example.id)
                total += len(text.encode("utf-8", "surrogatepass"))
                yield total

    def _parse(self, file: Path) -> tuple[AnswerForm, Rows]:
        if file in self._parsed:
            return self._parsed[file]
        form = self._form or recognise(file)
        if self._form is not None and self._form.log:
            refuse_other_log(file, self._form)
        if not self._keep_rows:
            rows = form.parse(file)
            return form, rows if self._max_rows is None else self._count_rows(file, form, rows)
        self._parsed[file] = form, _KeptRows(form, file)
        return self._parsed[file]

    def _count_rows(self, file: Path, form: AnswerForm, rows: Rows) -> Rows:
        """The rows, up to as many as a file may have."""
        for number, row in enumerate(rows):
            if number == self._max_rows:
                what = f"has more than {self._max_rows:,} {form.place}s"
                raise BadInput(what, file=file, cure="pass one answer for each item")
            yield row


class _KeptRows:
    """Rows that are parsed while they are first gone through, and kept for the next time.

    Rows of a file that is too long to keep are parsed again each time.
    """

    def __init__(self, form: AnswerForm, file: Path) -> None:
        self._form, self._file = form, file
        self._rest, self._kept = iter(form.parse(file)), list[tuple[int, Any]]()
        self._size = 0
        """About how many bytes are kept: every 16th row is measured, by chance."""
        self._is_kept = True

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        if not self._is_kept:
            yield from self._form.parse(self._file)
            return
        yield from self._kept
        for row in self._rest:
            if self._is_kept:
                self._kept.append(row)
                if not getrandbits(4):
                    self._size += 16 * measure_value(row)
                    if self._size > MAX_KEPT_BYTES:
                        self._is_kept = False
                        self._kept.clear()
            yield row


def measure_value(value: Any) -> int:
    """About how many bytes of memory a plain value takes."""
    size, ahead = 0, [value]
    while ahead:
        part = ahead.pop()
        size += getsizeof(part)
        if isinstance(part, dict):
            ahead.extend(part.values())
        elif isinstance(part, list | tuple):
            ahead.extend(part)
    return size


@dataclass
class _Matching:
    """What has been read so far."""

    target: Target
    numbered_labels: bool
    extract: tuple[str, ...] = ()
    readings: dict[str, ShownReading] | None = None
    """The source of each answer; None: not requested."""
    predictions: dict[str, Prediction] = field(default_factory=dict)
    places: array[int] = field(default_factory=partial(array, "q"))
    """The place of each prediction, in their order, within its file."""
    file_starts: list[tuple[int, Path, str]] = field(default_factory=list)
    """The number of predictions before each file, the file, and what its places count."""
    unknown: dict[str, None] = field(default_factory=dict)
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    refusal: BadInput | None = None
    confirmed: int = 0
    bytes_noted: int = 0
    """About how many bytes the notes of unknown and repeated ids take."""

    def read(self, path: Path, form: AnswerForm, rows: Rows) -> None:
        """Read one file."""
        target = self.target
        indices = target.indices or (form.ordered and self.numbered_labels)
        self.parse = read_extracts(make_reader(target.task, indices=indices), self.extract)
        self.read_scores = make_score_reader(target.task, indices=indices)
        self.offered: dict[int, tuple[Offer, Reader]] = {}
        self.path, self.form = path, form
        self.file_starts.append((len(self.places), path, form.place))
        if form.log and target.indices:  # to a log an option names a variant
            target = Target(target.task, target.examples)
        answers = form.read(rows, target, path)
        for answer in self._name_in_order(answers) if form.ordered else answers:
            example = None if answer.id is None else target.find(answer.id)
            if example is not None:
                self._add(answer, example)
            elif answer.unfit is not None:
                self._refuse(answer.unfit.at(path, form.place, answer.place))
            else:
                self._add_unknown(answer.id or f"{form.place} {answer.place}")

    def _refuse(self, reason: BadInput) -> None:
        """Record why the file is refused. The error is raised at once, but for logs at the end, because a log is also
        matched with splits that it does not belong to.
        """
        if not self.form.log:
            raise reason
        self.refusal = self.refusal or reason

    def _add_unknown(self, name: str) -> None:
        """Note an id that no example has; so many that they cannot be held are refused."""
        if name not in self.unknown:
            self.unknown[name] = None
            self.bytes_noted += getsizeof(name) + BYTES_OF_NOTE
            self._refuse_flood("that the split does not have", "check the task and the split")

    def _refuse_flood(self, which: str, cure: str) -> None:
        if self.bytes_noted > MAX_NOTED_BYTES:
            count = len(self.unknown) + len(self.duplicates)
            raise BadInput(f"has {count:,} answers {which}", file=self.path, cure=cure)

    def _name_in_order(self, answers: Iterator[RawAnswer]) -> Iterator[RawAnswer]:
        """Give answers the ids of the split, by their order; there must be as many as examples."""
        examples, count = self.target.examples, 0
        for count, answer in enumerate(answers, start=1):  # noqa: B007  (the count is compared below)
            if answer.order is not None and answer.order < len(examples):
                yield answer._replace(id=examples[answer.order].id)
        if count != len(examples):
            what = f"has {count} answers without ids, but the split has {len(examples)} examples"
            raise BadInput(
                what, file=self.path, cure="check the split, or add an id to each answer"
            )

    def _add(self, answer: RawAnswer, example: Example) -> None:
        try:
            prediction = self._make_prediction(answer, example)
        except UnfitAnswer as problem:
            raise problem.at(self.path, self.form.place, answer.place) from None
        before = self.predictions.setdefault(example.id, prediction)
        if before is prediction:
            self.confirmed += answer.confirmed
            self.places.append(answer.place)
        elif _is_same(before, prediction):
            place = self._place_words(self.path, self.form.place, answer.place)
            self.duplicates.append((example.id, place))
            self.bytes_noted += BYTES_OF_NOTE
            self._refuse_flood("with repeated ids", "remove the repeated answers")
        else:
            earlier = self._find_place(example.id)
            what = f"the id {example.id!r} has a different answer on {earlier}"
            cure = "keep one answer per id"
            again = UnfitAnswer(what, cure)
            self._refuse(again.at(self.path, self.form.place, answer.place))

    def _find_place(self, example: str) -> str:
        """Where the prediction about an example was read."""
        order = list(self.predictions).index(example)
        *_, (_, file, unit) = (start for start in self.file_starts if start[0] <= order)
        return self._place_words(file, unit, self.places[order])

    def _place_words(self, file: Path, unit: str, number: int) -> str:
        return f"{unit} {number}" if file == self.path else f"{unit} {number} of {file.name}"

    def _make_prediction(self, given: RawAnswer, example: Example) -> Prediction:
        scores = None if given.scores is None else self.read_scores(given.scores, example)
        value: Any = given.answer
        if self.extract and given.raw is not None:
            value = given.raw  # the text that the answer was, or was not, read from
        if value is None and scores and not given.why:
            top = best_label(scores)
            value = int(top) if self.target.task.kind == "choice" else top
        if value is None:
            why = given.why or NO_ANSWER
            return Prediction(example=example.id, scores=scores, raw=given.raw, why=why)
        parse = self.parse if given.offer is None else self._find_offered_reader(given.offer)
        reading = parse(value, example)
        answer, why_not, raw = reading.answer, reading.why, given.raw
        if self.readings is not None:
            self.readings[example.id] = show_reading(example.id, value, reading)
        if self.target.task.kind == "tagging" and answer is not None:
            answer = restore_tags(answer, raw) if type(answer) is list else answer
            raw = " ".join(answer.tags) if raw is None and isinstance(answer, Tagged) else raw
        if raw is None and (why_not is not None or (type(value) is str and value != answer)):
            raw = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return Prediction(example=example.id, answer=answer, scores=scores, raw=raw, why=why_not)

    def _find_offered_reader(self, offer: Offer) -> Reader:
        """The reader of replies to a prompt that offered this; an offer is one object in a whole log."""
        if id(offer) not in self.offered:
            reader = make_reader(self.target.task, offer=offer)
            self.offered[id(offer)] = offer, read_extracts(reader, self.extract)
        return self.offered[id(offer)][1]

    def answers(self, form: str) -> Answers:
        """The result."""
        predictions = self.predictions
        return Answers(
            form=form,
            predictions=predictions,
            unknown=list(self.unknown),
            duplicates=self.duplicates,
            readings=self.readings or {},
            confirmed=self.confirmed,
            refusal=self.refusal,
            missing=[e.id for e in self.target.examples if e.id not in predictions],
            unparsed=[
                (p.example, p.raw or "", p.why or NO_ANSWER)
                for p in predictions.values()
                if p.answer is None
            ],
        )


def _is_same(one: Prediction, other: Prediction) -> bool:
    """Whether two answers are one; tags may differ where the spans they make do not."""
    if isinstance(one.answer, Tagged) and isinstance(other.answer, Tagged):
        return one.answer.tags == other.answer.tags
    return one.answer == other.answer and (one.answer is not None or one.raw == other.raw)


def find_answer_files(folder: Path, task: Task) -> list[Path]:
    """The answer files of a folder: a tool's run folder, the file named after the task, or the
    parts of one file.

    More than one only where they are parts of one; an unclear choice lists the candidates. In the
    folder of a run of `nikawa run`, only `predictions` has answers.
    """
    files = []
    runs = {file.parent for file in folder.rglob("run.json")}
    runs = {run for run in runs if (run / "predictions").is_dir()}
    for file in sorted(folder.rglob("*")):
        if any(run in file.parents and run / "predictions" not in file.parents for run in runs):
            continue
        is_hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        plain = file.name.removesuffix(".gz").removesuffix(".zst").lower()
        if is_hidden or not plain.endswith(ANSWER_SUFFIXES) or OTHER_FILES.match(plain):
            continue
        if file.is_file():
            files.append(file)
    if not files:
        cure = f"add a file that ends with {', '.join(ANSWER_SUFFIXES)}"
        raise BadInput("has no answer file", file=folder, cure=cure)
    words = {file: f"-{re.sub(r'[^a-z0-9]+', '-', file.name.lower())}-" for file in files}
    chosen = (
        [file for file in files if f"-{task.name}-" in words[file]]
        or [file for file in files if f"-{task.dataset}-" in words[file]]
        or [file for file in files if file.name.partition(".")[0].lower() in ANSWER_STEMS]
        or files
    )
    if len(chosen) > 1 and not are_parts(chosen):
        names = [str(file.relative_to(folder)) for file in chosen]
        what = f"the folder has {len(chosen)} files that could contain the answers to {task.name}"
        cure = f"pass one of them: {list_names(names)}"
        if chosen == files:  # those of other tasks, it may be
            cure += f"; if the folder contains answers to several tasks, put {task.name} into the file name"
        raise BadInput(what, file=folder, cure=cure)
    return chosen


def are_parts(files: list[Path]) -> bool:
    """Whether the names differ in a number alone.

    Lm-eval's differ in a time, which makes them two runs.
    """
    is_one_name = len({re.sub(r"\d+", "0", file.name) for file in files}) == 1
    is_one_folder = len({file.parent for file in files}) == 1
    return is_one_name and is_one_folder and not files[0].name.startswith("samples_")
