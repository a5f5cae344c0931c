"""JCommonsenseQA: five choices a question (JGLUE).

Known problems: ids number all splits through (train 0-8938, valid 8939-10057, test 10058-11175);
some questions and choices begin or end in white space, kept as published; two questions have
choices that are equal without it; 35 questions occur in more than one split.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.jglue.rows import check_labelled, has_edge_blank, make_card, sources
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.records import Dataset, Example, Finding, Task


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A line of the published file."""

    q_id: int
    question: str
    choice0: str
    choice1: str
    choice2: str
    choice3: str
    choice4: str
    label: int | None = None
    """The place of the right choice; None in a hidden test set."""


def read(path: Path) -> Iterator[Example]:
    """The questions of one published file."""
    for line, row in check_labelled(read_json_lines(path, Row), path):
        if row.label is not None and not 0 <= row.label <= 4:
            raise BadInput(
                f"label {row.label} is outside 0 to 4",
                file=path,
                line=line,
                cure="it must name a choice",
            )
        gold = {} if row.label is None else {"choice": row.label}
        choices = [row.choice0, row.choice1, row.choice2, row.choice3, row.choice4]
        yield Example(
            id=str(row.q_id),
            inputs={"question": row.question, "choices": choices},
            gold=gold,
            origin=hidden_origin("jcommonsenseqa", gold),
        )


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """White space at the edges of questions and choices, and choices that differ by it alone."""
    for split, examples in dataset.splits.items():
        questions = [e for e in examples if has_edge_blank(e.inputs["question"])]
        choices = [e for e in examples for choice in e.inputs["choices"] if has_edge_blank(choice)]
        equal = [e for e in examples if len({c.strip() for c in e.inputs["choices"]}) < 5]
        note = "strip before comparing strings"
        yield from report_examples("edge-blank-questions", dataset, split, questions, note)
        yield from report_examples(
            "edge-blank-choices", dataset, split, choices, f"choices, not questions; {note}"
        )
        yield from report_examples(
            "equal-choices", dataset, split, equal, "two choices are equal without white space"
        )


DATASET = Benchmark(
    name="jcommonsenseqa",
    language="ja",
    repository="jglue",
    suite="jglue",
    suite_place=6,
    # Labels of test came with v1.2, in 2025: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name="jcommonsenseqa",
        title="JCommonsenseQA: Japanese commonsense questions (JGLUE)",
        licence="CC BY-SA 4.0",
        description="Commonsense questions in Japanese with five choices, one of them right.",
        labels="The choice the question was written for; kept where at least two of three workers chose it.",
        workers="3 a question for the check, others wrote questions and distractors; answers not published",
        source="Concepts of ConceptNet; questions and two of the five choices written by workers",
        problems=(
            "35 questions occur in more than one split.",
            "Some questions and choices begin or end in white space; 7644 (train) and 10976 (test) have choices equal without it.",
            "train has 8,939 questions where the papers print 9,012.",
        ),
    ),
    tasks=(
        Task(
            name="jcommonsenseqa",
            dataset="jcommonsenseqa",
            kind="choice",
            question="choice",
            inputs=("question", "choices"),
            metrics=("accuracy",),
            unit="fraction",
        ),
    ),
    sources=sources("jcommonsenseqa"),
    read=read,
    find_problems=find_problems,
)
