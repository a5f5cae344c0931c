"""KLUE-MRC: questions on Wikipedia and news paragraphs; some have no answer there.

Known problem: a question without an answer (type 3) carries plausible answers; they are kept in
`meta` and are no gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    CURE,
    is_test,
    make_card,
    read_document,
    sources,
)
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Task

NAME = "klue-mrc"
SOURCES = sources(NAME, "json")


class Answer(msgspec.Struct):
    """A part of the context."""

    text: str
    answer_start: int


class Question(msgspec.Struct):
    """A question; test questions have no answers."""

    guid: str
    question: str
    question_type: int | None = None
    """1: paraphrased, 2: over several sentences, 3: without an answer."""
    is_impossible: bool = False
    answers: list[Answer] | None = None
    plausible_answers: list[Answer] | None = None
    """What looks like an answer to a question that has none."""


class Paragraph(msgspec.Struct):
    """A context and its questions."""

    context: str
    qas: list[Question]


class Article(msgspec.Struct):
    """A text by its title."""

    title: str
    paragraphs: list[Paragraph]
    source: str | None = None
    news_category: str | None = None
    """Of news articles; Wikipedia has none."""


class File(msgspec.Struct):
    """The published file, one JSON object."""

    data: list[Article]
    version: str | None = None


def read(path: Path) -> Iterator[Example]:
    """The questions of one published file."""
    articles = read_document(path, File).data
    if not articles:
        raise BadInput("holds no article", file=path, cure=CURE)
    for article in articles:
        for paragraph in article.paragraphs:
            group = blake2b(paragraph.context.encode(), digest_size=8).hexdigest()
            for question in paragraph.qas:
                yield make_example(article, paragraph.context, question, group, path)


def make_example(
    article: Article, context: str, question: Question, group: str, path: Path
) -> Example:
    """The example of a question; its group is the paragraph, by its content."""
    facts = {
        "source": article.source,
        "category": article.news_category,
        "question_type": question.question_type,
        "is_impossible": question.is_impossible,
    }
    meta: dict[str, Any] = {key: value for key, value in facts.items() if value is not None}
    gold: dict[str, Any] = {}
    if question.is_impossible:
        gold = {"answers": []}
        # Some releases put them under `answers`: either way they answer nothing.
        meta["plausible_answers"] = _plain(question.plausible_answers or question.answers)
    elif question.answers:
        gold = {"answers": _plain(question.answers)}
    elif not is_test(path):
        what = f"{question.guid} has no answers and is not marked impossible"
        raise BadInput(what, file=path, cure="only a test file may hide its answers")
    return Example(
        id=question.guid,
        inputs={"title": article.title, "context": context, "question": question.question},
        gold=gold,
        meta=meta,
        group=group,
        origin=hidden_origin(NAME, gold),
    )


def _plain(answers: Iterable[Answer] | None) -> list[dict[str, Any]]:
    return [{"text": answer.text, "start": answer.answer_start} for answer in answers or ()]


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Answers that are not where they say.

    Impossible questions of a type that should have answers.
    """
    for split, examples in dataset.splits.items():
        away = []
        for example in examples:
            context = example.inputs["context"]
            for answer in example.gold.get("answers", ()):
                start = answer["start"]
                if start < 0 or not context.startswith(answer["text"], start):
                    away.append(example)
                    break
        yield from report_examples(
            "answer-not-at-start", dataset, split, away, "the context holds other characters there"
        )
        odd = [
            e
            for e in examples
            if "question_type" in e.meta
            and e.meta["is_impossible"] != (e.meta["question_type"] == 3)
        ]
        yield from report_examples(
            "type-against-impossible",
            dataset,
            split,
            odd,
            "type 3 and is_impossible should mean the same",
        )


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=7,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    card=make_card(
        name=NAME,
        title="KLUE-MRC: Korean machine reading comprehension (KLUE)",
        description="Questions on paragraphs, answered by a span of them: paraphrased (type 1), over several sentences (2), without an answer (3).",
        labels="Spans of the paragraph; several may be correct, and questions of type 3 have no answer.",
        workers="Not published",
        workers_are="none",
        source="Wikipedia, The Korea Economic Daily and Acrofan (news)",
        problems=(
            "Table 1 of the paper prints 12k, 8k and 9k questions; the published files have 17,554 (train) and 5,841 (dev).",
            "The official scorer means to ignore brackets such as 《》 but does not.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="reading",
            question="answers",
            inputs=("title", "context", "question"),
            metrics=("klue-em", "rouge-w"),
        ),
    ),
    sources=SOURCES,
    read=read,
    find_problems=find_problems,
)
