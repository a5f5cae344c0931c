"""KLUE-NLI: inference from Korean sentences, three written hypotheses per premise, five labels per
pair.

Known problems: the columns author, label2 … label5 are no persons; in dev and test gold is always
the author's label (intact premise sets were chosen), so agreement with the author says nothing
there; one dev premise has 19 characters although 20 to 90 were asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    label_gold,
    make_card,
    published_records,
    read_array,
    record_error,
    sources,
)
from nikawa.errors import suggest
from nikawa.records import Dataset, Example, Finding, Judgement, Task, reference

NAME = "klue-nli"
LABELS = ("entailment", "contradiction", "neutral")
COLUMNS = ("author", "label2", "label3", "label4", "label5")
"""The columns of labels: the author's intention, then four validators."""
MIN_PREMISE_CHARS, MAX_PREMISE_CHARS = 20, 90
"""Of a premise, as the paper says."""
SOURCES = sources(NAME, "json")


class Row(msgspec.Struct):
    """A record of the published file.

    Test records have no labels, and a validator's may be missing.
    """

    guid: str
    source: str
    premise: str
    hypothesis: str
    gold_label: str | None = None
    author: str | None = None
    """The label that the hypothesis was written for."""
    label2: str | None = None
    label3: str | None = None
    label4: str | None = None
    label5: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The pairs of one published file."""
    for number, row in read_array(path, Row):
        gold = label_gold(path, number, "label", row.gold_label, LABELS)
        meta: dict[str, Any] = {"source": row.source}
        if row.author:
            meta["author"] = row.author
        yield Example(
            id=row.guid,
            inputs={"premise": row.premise, "hypothesis": row.hypothesis},
            gold=gold,
            meta=meta,
            group=row.premise,
            origin=hidden_origin(NAME, gold),
        )


def judgements(folder: Path) -> Iterator[Judgement]:
    """The author's intention and the validators' labels, each column as if it were a worker."""
    for split, path, number, row in published_records(SOURCES, folder, Row):
        example = reference(NAME, split, row.guid)
        for column in COLUMNS:
            answer = getattr(row, column)
            if not answer:
                continue
            if answer not in LABELS:
                what = f"unknown {column} {answer!r}"
                raise record_error(path, number, what, suggest(answer, LABELS))
            yield Judgement(example=example, worker=column, question="label", answer=answer)


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Premises of a length the paper rules out."""
    for split, examples in dataset.splits.items():
        odd = [
            e
            for e in examples
            if not MIN_PREMISE_CHARS <= len(e.inputs["premise"]) <= MAX_PREMISE_CHARS
        ]
        distinct = len({e.group for e in odd})
        note = f"premises outside {MIN_PREMISE_CHARS} to {MAX_PREMISE_CHARS} characters ({distinct} distinct)"
        yield from report_examples("premise-length", dataset, split, odd, note)


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=3,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="KLUE-NLI: Korean natural language inference (KLUE)",
        description="Premises from six corpora, each with written hypotheses that follow from it, contradict it, or do neither.",
        labels="At least three of five: the author's intention and four validators; pairs without such a majority (0.53%) were dropped.",
        workers="11 workers of SelectStar wrote the hypotheses, 546 validated them, 4 a pair; published as columns, not as persons",
        workers_are="columns",
        source="WIKITREE, POLICY, WIKINEWS (news), WIKIPEDIA, NSMC (film reviews), AIRBNB (travel reviews)",
        problems=(
            "In dev gold is the author's label for all 3,000 pairs, because intact premise sets were chosen.",
            "Dev and test premises are those whose hypotheses tell a hypothesis-only model least; train is not so chosen.",
            "One dev premise has 19 characters, though 20 to 90 were asked for (3 pairs).",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=LABELS,
            metrics=("accuracy",),
        ),
    ),
    sources=SOURCES,
    read=read,
    judgements=judgements,
    find_problems=find_problems,
    numbered_labels=True,
)
