"""JSQuAD: reading comprehension on Wikipedia paragraphs (JGLUE).

Known problems: `context` is title + " [SEP] " + body and offsets count from the start of the whole;
a start is always the first occurrence of the answer, so many point into the title and are no
evidence; the README of v1.0 to v1.2 counts 62,859 train questions, v1.3 has 62,697, the papers
print 63,870.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import (
    Benchmark,
    RunProtocol,
    Splits,
    hidden_origin,
    report_examples,
)
from nikawa.datasets.jglue.rows import has_edge_blank, make_card, mixed_labels, sources
from nikawa.errors import BadInput
from nikawa.io.json import read_json
from nikawa.records import Dataset, Example, Finding, Task

SEPARATOR = " [SEP] "
TRAIN_COUNTS = {62_859: "1.2", 62_697: "1.3"}
"""Questions in train, up to v1.2 and from v1.3."""


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """An answer and where it starts in the context."""

    text: str
    answer_start: int
    """Counted from the start of the title: the first occurrence, which need not be the evidence."""


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """A question; a hidden test set has no answers."""

    id: str
    """`a1p2q3`: article, paragraph and question."""
    question: str
    answers: list[Answer] | None = None
    is_impossible: bool = False


class Paragraph(msgspec.Struct, forbid_unknown_fields=True):
    """A paragraph with the title in front."""

    context: str
    """Title, `SEPARATOR` and body."""
    qas: list[Question]


class Article(msgspec.Struct, forbid_unknown_fields=True):
    """A Wikipedia article."""

    title: str
    paragraphs: list[Paragraph]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The published file."""

    data: list[Article]
    version: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The questions of one published file."""
    unanswered: bool | None = None
    for article in read_json(path, Document).data:
        for paragraph in article.paragraphs:
            for question in paragraph.qas:
                example = make_example(article.title, paragraph.context, question, path)
                unanswered = not example.gold if unanswered is None else unanswered
                if (not example.gold) is not unanswered:
                    raise mixed_labels(path, None, f"answer (see question {question.id!r})")
                yield example


def make_example(title: str, context: str, question: Question, path: Path) -> Example:
    """The example of a question; its group is the paragraph, which the id names."""
    parts = re.fullmatch(r"(a\d+p\d+)q\d+", question.id)
    if not parts:
        raise BadInput(
            f"question id {question.id!r} is not a…p…q…",
            file=path,
            cure="is this JSQuAD, as published?",
        )
    answers = [{"text": a.text, "start": a.answer_start} for a in question.answers or ()]
    gold = {"answers": answers} if answers or question.is_impossible else {}
    return Example(
        id=question.id,
        inputs={"title": title, "context": context, "question": question.question},
        gold=gold,
        meta={"article": title, "is_impossible": question.is_impossible},
        group=parts[1],
        origin=hidden_origin("jsquad", gold),
    )


def prompt_inputs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs without the title in front of the context: it is an input of its own, and
    `SEPARATOR` is a token of BERT.
    """
    title, context = str(inputs.get("title", "")), str(inputs.get("context", ""))
    return {**inputs, "context": context.removeprefix(f"{title}{SEPARATOR}")}


def version_of(splits: Splits) -> str | None:
    """1.2 (or older) and 1.3 by the number of train questions; the other splits do not tell."""
    return TRAIN_COUNTS.get(len(splits.get("train", ())))


def find_problems(folder: Path, dataset: Dataset) -> Iterator[Finding]:
    """Answers whose offset is wrong or no evidence; blanks around questions."""
    for split, examples in dataset.splits.items():
        wrong: list[Example] = []
        in_title: list[Example] = []
        repeated: list[Example] = []
        for example in examples:  # once for each of its answers
            context: str = example.inputs["context"]
            title_end = context.find(SEPARATOR)
            for answer in example.gold.get("answers", ()):
                text, start = answer["text"], answer["start"]
                if start < 0 or not context.startswith(text, start):
                    wrong.append(example)
                if 0 <= start < title_end:
                    in_title.append(example)
                if context.count(text) > 1:
                    repeated.append(example)
        blank = [e for e in examples if has_edge_blank(e.inputs["question"])]
        problems = (
            ("wrong-offsets", wrong, "answers that are not in the context where they say"),
            (
                "answers-in-title",
                in_title,
                "answers that start in the title: not where the evidence is",
            ),
            ("repeated-answers", repeated, "answers that occur more than once in their context"),
            ("edge-blank-questions", blank, "strip before comparing strings"),
        )
        for check, concerned, note in problems:
            yield from report_examples(check, dataset, split, concerned, note)


DATASET = Benchmark(
    name="jsquad",
    language="ja",
    repository="jglue",
    suite="jglue",
    suite_place=5,
    card=make_card(
        name="jsquad",
        title="JSQuAD: Japanese reading comprehension (JGLUE)",
        licence="CC BY-SA 4.0",
        description="Questions on paragraphs of Japanese Wikipedia; the answer is a string of the paragraph.",
        labels="Written by workers with the question; two more answers per question in dev and test.",
        workers="1 per question in train, up to 3 in dev and test (473 dev questions have 2 answers); not identified",
        source="Paragraphs of 822 articles of Japanese Wikipedia",
        problems=(
            "answer_start is the first occurrence of the string, often in the title: it is not where the evidence is.",
            "6 questions of valid repeat another on the same paragraph.",
            "The released files are smaller than the papers say: dev 4,442 (4,475 printed), test 4,420 (4,470).",
        ),
    ),
    tasks=(
        Task(
            name="jsquad",
            dataset="jsquad",
            kind="reading",
            question="answers",
            inputs=("title", "context", "question"),
            metrics=("jsquad-em", "jsquad-f1"),
        ),
    ),
    sources=sources("jsquad"),
    read=read,
    version_of=version_of,
    find_problems=find_problems,
    prompt_inputs=prompt_inputs,
    # As published, no article is in two splits. Labels of test came with v1.2, in 2025: papers
    # and model cards report dev.
    protocol=RunProtocol(kept_whole="article", reported_on="dev"),
)
