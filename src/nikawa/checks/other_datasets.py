"""The other datasets a check compares with: which they are, and what to do where one cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nikawa.checks.leaks import families
from nikawa.datasets import Benchmark, benchmarks
from nikawa.datasets.locate import present
from nikawa.errors import BadInput
from nikawa.records import Dataset, Finding

FAMILY = {
    "inference": "pairs",
    "similarity": "pairs",
    "choice": "questions",
    "reading": "reading",
    "dialogue": "dialogues",
}
"""Kind of task to the family of shapes its examples have; the others are `texts`."""


def comparable(dataset: Dataset, data: Path | None = None) -> list[Benchmark]:
    """The other published datasets of this language that are here and hold items of the same family."""
    own = families(dataset.splits)
    return [
        other
        for other in benchmarks().values()
        if other.name != dataset.name
        and other.language == dataset.language
        and own & {FAMILY.get(task.kind, "texts") for task in other.tasks}
        and _may_be_here(other, data)
    ]


def _may_be_here(benchmark: Benchmark, data: Path | None) -> bool:
    """Whether files are here, or cannot even be looked for, which reading them will tell."""
    try:
        return bool(present(benchmark, data))
    except OSError:
        return True


@contextmanager
def telling(where: str, findings: list[Finding]) -> Iterator[None]:
    """Turn a fault of another dataset's files into a finding: its damage is no reason to refuse this one."""
    try:
        yield
    except BadInput as problem:
        findings.append(Finding(check="not-compared", where=where, count=1, note=str(problem)))
    except OSError as problem:  # a loop of links, a folder that may not be read
        note = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        findings.append(Finding(check="not-compared", where=where, count=1, note=note))
