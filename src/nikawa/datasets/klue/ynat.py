"""YNAT (KLUE-TC): the topic of a news headline, one of seven.

Known problems: the label is the workers' majority, not the section the article appeared in (kept as
`meta["category"]`); a worker could name up to three topics, `해당없음` stands for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    examples_of_records,
    label_gold,
    make_card,
    published_records,
    read_array,
    record_error,
    sources,
)
from nikawa.records import Dataset, Example, Finding, Judgement, Task, reference

NAME = "ynat"
LABELS = ("정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠")
NOTHING = "해당없음"
"""The value of a worker's missing second or third choice."""
SOURCES = sources(NAME, "json")


class Scopes(msgspec.Struct, rename="kebab"):
    """The workers' first, second and third choices."""

    first_scope: list[str]
    second_scope: list[str] = []
    third_scope: list[str] = []


class Votes(msgspec.Struct):
    """Who chose what."""

    annotators: list[str]
    """Ids of the workers, each one person across the dataset."""
    annotations: Scopes


class Row(msgspec.Struct):
    """A record of the published file; test records have a headline only."""

    guid: str
    title: str
    label: str | None = None
    predefined_news_category: str | None = None
    """The section the article appeared in, which is not the label."""
    annotations: Votes | None = None
    url: str | None = None
    date: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The headlines of one published file."""
    for number, row in read_array(path, Row):
        gold = label_gold(path, number, "label", row.label, LABELS)
        facts = {"category": row.predefined_news_category, "date": row.date, "url": row.url}
        meta: dict[str, Any] = {key: value for key, value in facts.items() if value}
        yield Example(
            id=row.guid,
            inputs={"text": row.title},
            gold=gold,
            meta=meta,
            origin=hidden_origin(NAME, gold),
        )


def judgements(folder: Path) -> Iterator[Judgement]:
    """Every worker's first choice (`label`) and, where there is one, second and third (`label-2`,
    `label-3`).
    """
    for split, path, number, row in published_records(SOURCES, folder, Row):
        if row.annotations is None:
            continue
        example = reference(NAME, split, row.guid)
        workers, scopes = row.annotations.annotators, row.annotations.annotations
        for question, answers in (
            ("label", scopes.first_scope),
            ("label-2", scopes.second_scope),
            ("label-3", scopes.third_scope),
        ):
            if answers and len(answers) != len(workers):
                what = f"{len(workers)} workers gave {len(answers)} answers"
                raise record_error(path, number, what)
            for worker, answer in zip(workers, answers, strict=False):
                if answer != NOTHING:
                    yield Judgement(
                        example=example, worker=worker, question=question, answer=answer
                    )


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Labels that fewer than two workers chose first."""
    lonely = examples_of_records(SOURCES, folder, dataset, Row, has_no_majority)
    for split, examples in lonely.items():
        note = "fewer than two workers chose the label first"
        yield from report_examples("label-not-majority", dataset, split, examples, note)


def has_no_majority(row: Row) -> bool:
    """Whether fewer than two workers chose the label first.

    False where label or choices are not published.
    """
    if row.annotations is None or not row.label:
        return False
    return row.annotations.annotations.first_scope.count(row.label) < 2


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=1,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="YNAT: topics of Korean news headlines (KLUE-TC)",
        description="Headlines of Yonhap News Agency with one of seven topics.",
        labels="The topic that at least two of three workers chose first; headlines without such a majority were dropped.",
        workers="3 a headline out of 13 workers of SelectStar; every choice published",
        workers_are="persons",
        source="Headlines of Yonhap News Agency, 2016 to 2020; train before 2020, dev and test after",
        problems=(
            "Dev and test were chosen to hold words that train does not, and have other shares of topics.",
            "Section 3.1.1 prints 40,359 unanimous headlines where its own sum needs 40,539.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="text",
            question="label",
            inputs=("text",),
            labels=LABELS,
            metrics=("macro-f1",),
        ),
    ),
    sources=SOURCES,
    read=read,
    judgements=judgements,
    find_problems=find_problems,
    numbered_labels=True,
)
