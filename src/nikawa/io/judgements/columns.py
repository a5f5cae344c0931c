"""Judgements of a sheet by a map of its columns: long (a row an answer) or wide (a row an item, a column a worker)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.judgements.base import Notes, Numbered, answer_of, clean, seconds_of
from nikawa.io.judgements.sheets import Layout, read_sheet
from nikawa.records import Judgement

FIELDS = ("example", "worker", "answer", "question", "seconds", "at")
QUESTION = "label"
"""The question of a sheet that names none."""
CURE = "write --map example=COLUMN,worker=COLUMN,answer=COLUMN (answer=PATTERN* where each worker has a column)"


@dataclass(frozen=True)
class Columns:
    """Which column of a sheet holds what."""

    example: str
    answers: tuple[tuple[str, str], ...]
    """(Question, column) of each answer; the question is empty where a column names it."""
    worker: str = ""
    """Empty where each answer's column is a worker."""
    question: str = ""
    seconds: str = ""
    at: str = ""

    @property
    def wide(self) -> bool:
        """Whether workers are columns."""
        return not self.worker


def parse_map(text: str) -> dict[str, str]:
    """`example=task_id,worker=user,answer=label` as a mapping; `answer.score=COLUMN` names the question too."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not column:
            raise BadInput(f"{part!r} maps no column", cure=CURE)
        if name not in FIELDS and not name.startswith("answer."):
            raise unknown("field", name, FIELDS)
        if name in found:
            raise BadInput(f"{name} is mapped twice", cure=CURE)
        found[name] = column
    if "example" not in found or not any(name.split(".")[0] == "answer" for name in found):
        raise BadInput(f"the map {text!r} lacks example or answer", cure=CURE)
    return found


def columns_of(
    mapping: dict[str, str], header: Sequence[str], question: str, path: Path
) -> Columns:
    """The columns of a heading that a map speaks of; a pattern may stand for several workers' columns."""
    answers = []
    for name, column in mapping.items():
        if name.split(".")[0] == "answer":
            asked = name.partition(".")[2] or ("" if "question" in mapping else question)
            answers += [(asked, found) for found in _matching(column, header, path)]
    one = {
        name: _matching(mapping[name], header, path)[0]
        for name in ("example", "worker", "question", "seconds", "at")
        if name in mapping
    }
    columns = Columns(answers=tuple(answers), **one)
    if columns.wide and len(answers) < 2:
        raise BadInput("the map names no column of workers", file=path, line=1, cure=CURE)
    return columns


def _matching(pattern: str, header: Sequence[str], path: Path) -> list[str]:
    if pattern in header:
        return [pattern]
    found = [name for name in header if "*" in pattern and fnmatchcase(name, pattern)]
    if not found:
        raise BadInput(
            f"column {pattern!r} is missing", file=path, line=1, cure=suggest(pattern, header)
        )
    return found


def read_columns(path: Path, layout: Layout, columns: Columns, notes: Notes) -> Numbered:
    """The judgements of a sheet; oddities are noted, blank answers leave none."""
    rows = read_sheet(path, layout, notes)
    _, header = next(rows)
    place = {name: at for at, name in enumerate(header)}
    for line, cells in rows:
        yield from _row(line, cells, place, columns, _Odd(path, notes))


@dataclass(frozen=True)
class _Odd:
    path: Path
    notes: Notes

    def need(self, cell: str, what: str, line: int) -> str:
        """A cell that may not be blank."""
        text = clean(cell, line, self.notes)
        if not text:
            raise BadInput(
                f"names no {what}", file=self.path, line=line, cure="fill the cell or drop the row"
            )
        return text


def _row(
    line: int, cells: list[str], place: dict[str, int], columns: Columns, odd: _Odd
) -> Iterator[tuple[int, Judgement]]:
    example = odd.need(cells[place[columns.example]], "item", line)
    told = odd.need(cells[place[columns.question]], "question", line) if columns.question else ""
    seconds = seconds_of(cells[place[columns.seconds]], line, odd.path) if columns.seconds else None
    at = cells[place[columns.at]].strip() or None if columns.at else None
    worker = odd.need(cells[place[columns.worker]], "worker", line) if columns.worker else ""
    for question, column in columns.answers:
        answer = answer_of(cells[place[column]], line, odd.notes)
        if answer is not None:
            judgement = Judgement(
                example=example,
                worker=worker or column,
                question=question or told,
                answer=answer,
                seconds=seconds,
                at=at,
            )
            yield line, judgement
