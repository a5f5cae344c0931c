"""The workers' answers of JSICK and JSICK-stress: three columns a question, one a worker.

A column is not a person: six people shared the work, and who filled which cell is not published.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nikawa.datasets.jsick.rows import (
    ANSWERS,
    LABELS,
    SPLITS,
    check_label,
    parse_score,
    read_cells,
    split_words,
)
from nikawa.errors import BadInput, MissingData
from nikawa.records import Judgement, reference

WORKERS = ("Ja1", "Ja2", "Ja3")
"""The columns; who filled a cell is not known."""
STRESS_ANSWERS = "jsick-stress-all-annotations.tsv"
OPERATIONS = {"o": "scramble", "c": "swap", "d": "delete"}
"""The answers file's letters for what was done to the premise."""
PARTICLES = {"wo": "o", "ni": "ni", "de": "de"}
"""The answers file's particles to those of the sets' names."""


class Answers(NamedTuple):
    """One pair's gold and answers as published; blank where a worker left the cell empty."""

    line: int
    pair: str
    label: str
    score: str
    labels: tuple[str, ...]
    """One of each worker."""
    scores: tuple[str, ...]
    """One of each worker, some in full-width digits."""


class StressAnswers(NamedTuple):
    """The same for a pair of a stress set, with the remarks on naturalness."""

    line: int
    pair: str
    set: str
    """The stress set, such as `scramble-o`."""
    label: str
    score: str
    inherited: str
    """The label of the pair before its premise was changed."""
    labels: tuple[str, ...]
    scores: tuple[str, ...]
    remarks: tuple[str, ...]
    """What each worker found unnatural, in their own words; empty for nothing."""


def _three(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{worker}" for worker in WORKERS)


_GOLD = ("pair_ID", "entailment_label_Ja", "relatedness_score_Ja")
_EACH = (*_three("entailment_label"), *_three("relatedness_score"))
_STRESS = ("case_particles", "rephrase_type", "entailment_label_origin", *_three("naturalness"))


def read_answers(path: Path) -> Iterator[Answers]:
    """The rows of `jsick-all-annotations.tsv`."""
    for line, cells in read_cells(path, (*_GOLD, *_EACH), crlf=True):
        _check_answers(cells[1:9], path, line)
        yield Answers(line, cells[0], cells[1], cells[2], cells[3:6], cells[6:9])


def read_stress_answers(path: Path) -> Iterator[StressAnswers]:
    """The rows of `jsick-stress-all-annotations.tsv`."""
    for line, cells in read_cells(path, (*_GOLD, *_EACH, *_STRESS), crlf=True):
        _check_answers(cells[1:9], path, line)
        particle, operation, inherited = cells[9:12]
        for word, words in ((operation, OPERATIONS), (particle, PARTICLES)):
            if word not in words:
                cure = f"one of {', '.join(words)} is expected"
                raise BadInput(f"{word!r} names no stress set", file=path, line=line, cure=cure)
        yield StressAnswers(
            line=line,
            pair=cells[0].partition("_")[0],
            set=f"{OPERATIONS[operation]}-{PARTICLES[particle]}",
            label=cells[1],
            score=cells[2],
            inherited=inherited,
            labels=cells[3:6],
            scores=cells[6:9],
            remarks=cells[12:15],
        )


def _check_answers(cells: tuple[str, ...], path: Path, line: int) -> None:
    """Gold and answers must be readable; an answer, though not the gold, may be blank."""
    gold, score, *answers = cells
    check_label(gold, path, line)
    parse_score(score, path, line)
    for text in filter(None, answers[:3]):
        check_label(text, path, line)
    for text in filter(None, answers[3:]):
        parse_score(narrow(text), path, line)


def judgements(folder: Path) -> Iterator[Judgement]:
    """Every worker's label and relatedness; blank cells are no answers and are left out."""
    yield from _read_judgements(folder, drop_full_width=False)


def gold_judgements(folder: Path) -> Iterator[Judgement]:
    """The answers that made the published gold: scores in full-width digits were lost on the way."""
    yield from _read_judgements(folder, drop_full_width=True)


def _read_judgements(folder: Path, drop_full_width: bool) -> Iterator[Judgement]:
    path = folder / "jsick" / ANSWERS
    _require(path)
    words = split_words(path.with_name("jsick.tsv"))
    for row in read_answers(path):
        split = SPLITS.get(words.get(row.pair, "all"), "all")
        scores = row.scores
        if drop_full_width:
            scores = tuple(text if text.isascii() else "" for text in scores)
        yield from _judgements_of(row.labels, scores, reference("jsick", split, row.pair))


def stress_judgements(folder: Path) -> Iterator[Judgement]:
    """Labels, relatedness and remarks on naturalness of 900 pairs.

    A remark is the worker's own text; an empty one says that nothing was found unnatural.
    """
    path = folder / "jsick-stress" / STRESS_ANSWERS
    _require(path)
    for row in read_stress_answers(path):
        example = reference("jsick-stress", row.set, row.pair)
        yield from _judgements_of(row.labels, row.scores, example)
        for worker, remark in zip(WORKERS, row.remarks, strict=True):
            yield Judgement(example=example, worker=worker, question="naturalness", answer=remark)


def _judgements_of(
    labels: Sequence[str], scores: Sequence[str], example: str
) -> Iterator[Judgement]:
    for worker, text in zip(WORKERS, labels, strict=True):
        if text:
            yield Judgement(example=example, worker=worker, question="label", answer=text)
    for worker, text in zip(WORKERS, scores, strict=True):
        if text:
            yield Judgement(
                example=example, worker=worker, question="relatedness", answer=float(narrow(text))
            )


def narrow(digits: str) -> str:
    """A third of one column's scores are full-width digits: the same answers, written wide."""
    return digits if digits.isascii() else unicodedata.normalize("NFKC", digits)


def majority(labels: tuple[str, ...]) -> str | None:
    """The label two or more workers chose, or None.

    >>> majority(("neutral", "entailment", "neutral"))
    'neutral'
    """
    return next((label for label in LABELS if labels.count(label) >= 2), None)


def _require(path: Path) -> None:
    if not path.is_file():
        cure = "fetch it from the upstream repository; the dataset itself does not need it"
        raise MissingData("the workers' answers are not here", file=path, cure=cure)
