"""The same answers against every version of a dataset that is here, and the items whose gold moved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nikawa.datasets import benchmarks
from nikawa.datasets.locate import matching, path_version, repository_folder
from nikawa.errors import BadInput
from nikawa.records import Record
from nikawa.scoring.report import ScoreReport
from nikawa.scoring.score import Options, Scored, score, task_and_split


class Moved(Record, frozen=True, kw_only=True):
    """An item whose gold differs between the oldest and the newest version."""

    example: str
    older: Any
    newer: Any
    answer: Any


class VersionReport(Record, frozen=True, kw_only=True):
    """Scores by version, oldest first, and what moved."""

    versions: tuple[str, ...]
    reports: tuple[ScoreReport, ...]
    moved: tuple[Moved, ...]


def versions_here(dataset: str, data: Path | None = None) -> list[str]:
    """The versions whose files are here, oldest first."""
    benchmark = benchmarks()[dataset]
    folder = repository_folder(benchmark, data)
    found = {
        path_version(path.relative_to(folder))
        for source in benchmark.sources
        for pattern in source.patterns
        for path in matching(pattern, folder)
    }
    return [".".join(map(str, version)) for version in sorted(found) if version]


def score_versions(
    name: str,
    answers: Path,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: Options | None = None,
) -> VersionReport:
    """Score against every version that has the split."""
    task, part = task_and_split(name, split)
    versions = versions_here(task.dataset, data)
    if len(versions) < 2:
        raise BadInput(
            f"{len(versions)} version of {task.dataset} is here",
            cure="put another release's folder beside it",
        )
    scored = [
        score(task.name, answers, split=part, data=data, version=v, options=options)
        for v in versions
    ]
    return VersionReport(
        versions=tuple(versions),
        reports=tuple(s.report for s in scored),
        moved=tuple(moved(scored[0], scored[-1])),
    )


def moved(older: Scored, newer: Scored) -> list[Moved]:
    """Items of both versions whose gold is not the same."""
    question = older.task.question
    before = {example.id: example.gold[question] for example in older.examples}
    return [
        Moved(
            example=example.id,
            older=before[example.id],
            newer=example.gold[question],
            answer=newer.predictions[example.id].answer
            if example.id in newer.predictions
            else None,
        )
        for example in newer.examples
        if example.id in before and before[example.id] != example.gold[question]
    ]
