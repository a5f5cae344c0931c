"""Answers that people gave to a build: the files they lie in, read and held against what was asked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, listed
from nikawa.io.judgements import How, Reading, open_judgements
from nikawa.recipes.forms import FORMS, Asked, read_answer
from nikawa.recipes.recipe import Ask
from nikawa.recipes.sheet import unquoted
from nikawa.recipes.store import PEOPLE, Store
from nikawa.records import Example, Judgement

ANSWERS = "answers*"
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".csv", ".tsv", ".json", ".parquet")
REFERENCE = re.compile(r"[^/:]+:[^/:]+/(.+)")
"""`tasks:all/7`, as other commands call the items of a file."""
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass
class Answers:
    """What came back, by item and worker."""

    known: Mapping[str, Example]
    workers: int
    held: dict[str, dict[str, Judgement]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    over: int = 0
    """Answers beyond the number asked for, which are not counted."""
    given: int = 0
    columns: bool = False
    """Whether a worker is only a column of a sheet."""
    barred: Mapping[str, set[str]] = field(default_factory=dict)
    """By item the workers who may not answer about it."""

    def add(self, judgement: Judgement) -> bool:
        """Take an answer; False where its worker gave another before. The same again (of an overlapping batch) counts once."""
        if judgement.example not in self.known:
            self.unknown[judgement.example] = self.unknown.get(judgement.example, 0) + 1
            return True
        mine = self.held.setdefault(judgement.example, {})
        if judgement.worker in mine:
            return bool(mine[judgement.worker].answer == judgement.answer)
        if len(mine) >= self.workers:
            self.over += 1
            return True
        mine[judgement.worker] = judgement
        self.given += 1
        return True

    def lacking(self) -> list[Example]:
        """The items with too few answers."""
        return [e for name, e in self.known.items() if len(self.held.get(name, ())) < self.workers]

    def in_order(self) -> Iterator[Judgement]:
        """All answers, item by item."""
        for name in self.known:
            yield from self.held.get(name, {}).values()


def answer_files(store: Store, question: Ask) -> list[Path]:
    """The files of answers to an `Ask`: beside its tasks, and in the further folder the config names."""
    places = [store.out / PEOPLE / question.name]
    if store.config.answers:
        places.append(store.base / store.config.answers / question.name)
    found = [path for place in places for path in sorted(place.glob(ANSWERS))]
    for path in found:
        if path.suffix.lower() in WORKBOOKS:
            raise BadInput(
                "is a workbook, which is not read", file=path, cure="save its sheet as CSV UTF-8"
            )
    return [path for path in found if path.name.endswith(SUFFIXES)]


def take_file(path: Path, asked: Asked, answers: Answers) -> None:
    """Take the answers of a file; one that is not valid, or given twice, is refused with its place."""
    how = How(question=asked.ask.question)
    with _without_options():
        asked_for = {judgement.question for _, judgement in open_judgements(path, how).rows}
    mine = (
        asked_for & {asked.ask.question} or asked_for
    )  # a file may answer further questions, or call this one otherwise
    reading = open_judgements(path, how)
    answers.columns |= reading.workers_are == "columns"
    for place, judgement in reading.rows:
        if judgement.answer is None or judgement.question not in mine:
            continue
        item = _item(judgement.example, answers.known)
        example, answer = answers.known.get(item), judgement.answer
        if example is not None:
            answer = unquoted(answer) if isinstance(answer, str) else answer
            answer = _valid(reading, place, (answer, asked, example))
            if (
                judgement.worker in answers.barred.get(item, ())
                and reading.workers_are != "columns"
            ):
                what = f"worker {judgement.worker} answered {listed(asked.ask.apart)} for {item!r} and may not judge it"
                raise reading.fault(place, what, "take the answer out and ask somebody else")
        kept = msgspec.structs.replace(
            judgement, example=item, question=asked.ask.question, answer=answer
        )
        if not answers.add(kept):
            what = f"worker {judgement.worker} answers about {item!r} a second time, and otherwise"
            raise reading.fault(place, what, "keep one answer a worker and item")


def _item(name: str, known: Container[str]) -> str:
    """The item meant: by its id, as a sheet may have had to write it, or by a full reference.

    Of any other name nothing is cut off: `a/7` is another item than `7`.
    """
    plain = unquoted(name)
    referred = REFERENCE.fullmatch(plain)
    last = referred[1] if referred else plain
    return next((one for one in (name, plain, last) if one in known), plain)


@contextmanager
def _without_options() -> Iterator[None]:
    """Let faults of a file speak of what can be done here: a build has no options for how files are read."""
    try:
        yield
    except BadInput as problem:
        if "--map" in problem.cure:
            cure = "call the columns example, worker and answer"
        elif "--encoding" in problem.cure:
            cure = "save it as UTF-8"
        else:
            raise
        raise BadInput(problem.what, file=problem.file, line=problem.line, cure=cure) from None


def _valid(reading: Reading, place: int, given: tuple[Any, Asked, Example]) -> Any:
    try:
        return read_answer(*given)
    except ValueError as problem:
        form = FORMS[given[1].ask.form]
        what = f"the answer about {given[2].id!r} does not fit: {problem}"
        words = f", or {listed(given[1].ask.reports)}" if given[1].ask.reports else ""
        raise reading.fault(
            place, what, f"the form {form.name} takes {form.answer}{words}"
        ) from None
