"""Score many files of answers to one task, each with the report it has alone.

Files are read in order by the command; the metrics and their intervals are computed in other processes or on other machines,
which get the items and the answers and read no file. A file that cannot be scored costs only itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from nikawa.datasets.load import load
from nikawa.errors import BadInput, MissingData, MissingExtra
from nikawa.execute.ordered import BatchOptions, choose_place, map_in_order
from nikawa.records import Dataset, Record
from nikawa.scoring.score import (
    ComputedScores,
    ReadAnswers,
    ScoreOptions,
    ScoreReport,
    ScoreWork,
    compute_scores,
    find_task_and_split,
    finish_score,
    read_answers,
)
from nikawa.tables import ShownAsTables


class Place(Record, frozen=True, kw_only=True):
    """Where files are scored."""

    workers: int = 1
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""


class ScoredFile(Record, frozen=True, kw_only=True):
    """One file of answers: its report, or the reason why it has none."""

    file: str
    report: ScoreReport | None = None
    problem: str = ""
    """One line; empty where the file was scored."""


class ScoredFiles(ShownAsTables, Record, frozen=True, kw_only=True):
    """All files in the order they were given."""

    main_table: ClassVar[str] = "files"

    files: tuple[ScoredFile, ...]


def score_many(
    name: str,
    answers: Iterable[Path],
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    place: BatchOptions | None = None,
) -> ScoredFiles:
    """Score each file (or folder of one system) as `score` does, with the same numbers for any number of workers.

    Calls `options.on_progress` after each file. Raises `BadInput` for a task that cannot be found, and where no file is given. What is
    wrong with a file is in its row.
    """
    paths = list(answers)
    if not paths:
        raise BadInput("no file of answers was given", cure="pass at least one file")
    where = choose_place(place or Place())
    options = options or ScoreOptions()
    if options.read is None:
        options = replace(options, read=_read_once(data))
    assert options.read is not None
    find_task_and_split(name, split, options.read)
    rows: dict[int, ScoredFile] = {}

    def add_row(number: int, row: ScoredFile) -> None:
        rows[number] = row
        options.on_progress("scoring", len(rows), len(paths))

    waiting: deque[tuple[int, ReadAnswers]] = deque()

    def read_all() -> Iterator[ScoreWork]:
        # A reader, keys and a bar stay here: what travels is plain.
        bare = replace(options, read=None, keys=None, on_progress=_ignore_progress)
        for number, path in enumerate(paths):
            try:
                read = read_answers(name, path, split, data, None, options)
            except (MissingData, MissingExtra):
                raise
            except BadInput as problem:
                add_row(number, _describe_problem(path, problem))
            else:
                waiting.append((number, read))
                yield read.to_work(bare)

    for computed in map_in_order(_try_to_compute, read_all(), where, ahead=2):
        number, read = waiting.popleft()
        path = paths[number]
        if isinstance(computed, BadInput):
            add_row(number, _describe_problem(path, computed))
        else:
            report = finish_score(read, computed, options).report
            add_row(number, ScoredFile(file=str(path), report=report))
    return ScoredFiles(files=tuple(rows[number] for number in range(len(paths))))


def _read_once(data: Path | None) -> Callable[[str], Dataset]:
    """A loader that reads each dataset once for all files."""
    return cache(partial(load, data=data, hidden=True))


def _try_to_compute(work: ScoreWork) -> ComputedScores | BadInput:
    """The scores of a file, or what is wrong with it: an error would end all."""
    try:
        return compute_scores(work)
    except MissingExtra:
        raise
    except BadInput as problem:
        return problem


def _ignore_progress(*_: object) -> None:
    pass


def _describe_problem(path: Path, problem: BadInput) -> ScoredFile:
    """The row of a file that cannot be scored, with its name in the line."""
    line = str(problem)
    return ScoredFile(file=str(path), problem=line if str(path) in line else f"{path}: {line}")
