"""KLUE-STS: similarity of sentence pairs, 0 to 5, with every worker's rating.

Known problems: the dev file ends its lines in CR LF; a pair has 5, 6 or 7 ratings, though the paper
says 7; `label` is the mean plainly rounded to one decimal (the paper says rounded up);
`binary-label` is `real-label >= 3`, before rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    examples_of_records,
    is_test,
    make_card,
    published_records,
    read_array,
    record_error,
    sources,
)
from nikawa.records import Dataset, Example, Finding, Judgement, Task, reference

NAME = "klue-sts"
SOURCES = sources(NAME, "json")
PRINTED_RATINGS = 7
"""Ratings the paper says every pair has."""


class Labels(msgspec.Struct, rename="kebab"):
    """The mean rating: rounded, exact, and cut at 3."""

    label: float
    """The mean, rounded to one decimal."""
    real_label: float
    """The mean as it is."""
    binary_label: int
    """1 where the mean is 3 or more."""


class Ratings(msgspec.Struct):
    """Who rated a pair, and how."""

    annotators: list[str]
    annotations: list[int]
    """From 0 to 5, in the order of the workers."""


class Row(msgspec.Struct):
    """A record of the published file; test records have neither labels nor ratings."""

    guid: str
    source: str
    sentence1: str
    sentence2: str
    labels: Labels | None = None
    annotations: Ratings | None = None


def read(path: Path) -> Iterator[Example]:
    """The pairs of one published file."""
    for number, row in read_array(path, Row):
        gold: dict[str, Any] = {}
        meta: dict[str, Any] = {"source": row.source, "corpus": row.source.split("-")[0]}
        if row.labels is not None:
            score, binary = row.labels.real_label, row.labels.binary_label
            if not 0 <= score <= 5:
                raise record_error(path, number, f"real-label {score:g} is outside 0 to 5")
            if binary not in (0, 1):
                raise record_error(path, number, f"binary-label {binary} is neither 0 nor 1")
            gold = {"score": score, "binary": binary}
            meta["rounded"] = row.labels.label
        elif not is_test(path):
            cure = "only a test file may hide its labels"
            raise record_error(path, number, "there are no labels", cure)
        if row.annotations is not None:
            meta["ratings"] = len(row.annotations.annotations)
        yield Example(
            id=row.guid,
            inputs={"sentence1": row.sentence1, "sentence2": row.sentence2},
            gold=gold,
            meta=meta,
            origin=hidden_origin(NAME, gold),
        )


def judgements(folder: Path) -> Iterator[Judgement]:
    """Every worker's rating; a worker id is one person across the whole dataset."""
    for split, path, number, row in published_records(SOURCES, folder, Row):
        if row.annotations is None:
            continue
        workers, answers = row.annotations.annotators, row.annotations.annotations
        if len(workers) != len(answers):
            what = f"{len(workers)} workers gave {len(answers)} ratings"
            raise record_error(path, number, what)
        example = reference(NAME, split, row.guid)
        for worker, answer in zip(workers, answers, strict=True):
            yield Judgement(example=example, worker=worker, question="score", answer=answer)


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Pairs with fewer than seven ratings.

    Labels that are not the mean, its rounding, its cut at 3.
    """
    wrong = examples_of_records(SOURCES, folder, dataset, Row, lambda row: not follows_ratings(row))
    for split, examples in dataset.splits.items():
        few = [e for e in examples if e.meta.get("ratings", PRINTED_RATINGS) < PRINTED_RATINGS]
        note = "the paper says seven workers rated every pair; two were removed"
        yield from report_examples("few-ratings", dataset, split, few, note)
        note = "the labels do not follow from the published ratings"
        yield from report_examples("label-not-mean", dataset, split, wrong[split], note)


def follows_ratings(row: Row) -> bool:
    """Whether the labels are the mean of the ratings, its rounding and its cut at 3.

    True without ratings.
    """
    if row.labels is None or row.annotations is None or not row.annotations.annotations:
        return True
    mean = sum(row.annotations.annotations) / len(row.annotations.annotations)
    same_mean = abs(row.labels.real_label - mean) < 1e-9
    return (
        same_mean
        and abs(row.labels.label - mean) <= 0.05 + 1e-9
        and row.labels.binary_label == int(row.labels.real_label >= 3)
    )


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=2,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="KLUE-STS: Korean semantic textual similarity (KLUE)",
        description="Sentence pairs with a similarity from 0 (no overlap) to 5 (equivalent), and whether it is at least 3.",
        labels="Mean of the ratings left after two workers were removed; pairs with a standard deviation above 2 were dropped.",
        workers="19 workers of SelectStar, 7 a pair by the paper; 17 are left, 5 to 7 a pair, every rating published",
        workers_are="persons",
        source="AIRBNB (reviews), POLICY (news) and ParaKQC (smart-home queries): round-trip translations, same or different intents, greedily matched sentences",
        problems=(
            "299 of the 519 dev pairs have fewer than the seven ratings the paper speaks of.",
            "Agreement on dev alone (alpha 0.748, interval) is below the paper's 0.85 for the whole set: dev was sampled flat over the scores.",
            "The paper says that scores are rounded up; they are rounded.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="similarity",
            question="score",
            inputs=("sentence1", "sentence2"),
            metrics=("pearson", "paraphrase-f1"),
            scale=(0.0, 5.0),
        ),
    ),
    sources=SOURCES,
    read=read,
    judgements=judgements,
    find_problems=find_problems,
)
