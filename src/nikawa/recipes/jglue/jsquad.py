"""How JSQuAD was made (JGLUE 3.3): articles to paragraphs, questions with answers, two more answers
for dev and test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.datasets.jglue.jsquad import DATASET, SEPARATOR
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import (
    check_removed,
    check_split,
    draw_examples,
    require_value,
    settled_answers,
    split_groups,
)
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    NotNegative,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    found_in,
)
from nikawa.records import Card, Example, Origin

SETS = {"train": "train-articles", "dev": "dev-articles", "test": "test-articles"}


class Jsquad(Config, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper where it gives any."""

    articles: str = ""
    """File of articles: JSON lines of {id, title, text, rank, url, licence}; paragraphs are lines
    of the text, rank 1 is the best (the order of the file without one)."""
    best: Positive = 10000
    """Number of top-ranked articles to draw from; the paper ranked by hyperlinks (JGLUE 3.3).
    """
    articles_drawn: Positive = 822
    """Number of articles drawn (JGLUE 3.3)."""
    shortest: Positive = 19
    """Minimum number of characters of a paragraph; the paper does not say, the shortest published one of
    dev has 19."""
    longest: Positive = 896
    """Maximum number of characters of a paragraph; the paper does not say, the longest published one of dev
    has 896."""
    writers: Positive = 1
    """Workers who write questions on a paragraph; the paper does not say."""
    questions: Positive = 4
    """Number of questions per writer; the paper does not say, the published paragraphs of dev have 1 to 5,
    most of them 4."""
    further_answers: NotNegative = 2
    """Further answers to each question of dev and test, by as many workers (JGLUE 3.3)."""
    split: str = "0.856,0.072,0.072"
    """Shares of articles; of the published 822, dev and test have 59 each."""
    removed: tuple[str, ...] = ()
    """Ids of questions deleted manually; version 1.3 deleted 162 of train."""


class Line(msgspec.Struct):
    """An article of a JSON line."""

    title: str = ""
    text: str = ""
    id: str | int = ""
    rank: int | None = None
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}


def read_articles(path: Path) -> Iterator[Example]:
    """The articles of a file with their ranks."""
    for number, row in read_json_lines(path, Line):
        if row.inputs:  # a record, such as nikawa clean writes
            what = "is a sentence or a pair; the recipe takes whole articles"
            cure = "pass JSON lines of {id, title, text}, with one paragraph per line of the text"
            raise BadInput(what, file=path, line=number, cure=cure)
        title = str(require_value(row.title.strip(), "title", path, number))
        require_value(row.text, "text", path, number)
        rank = number if row.rank is None else row.rank
        yield Example(
            id=f"a{row.id}" if row.id != "" else f"a{number}",
            inputs={"title": title, "text": row.text},
            meta={"rank": rank, **found_in(path, number, url=row.url, licence=row.licence)},
            origin=Origin(recipe="jsquad"),
        )


def rank_articles(inputs: Inputs, config: Any) -> Outcomes:
    """The articles of the highest rank."""
    articles = list(read_articles(inputs.file("articles")))
    order = sorted(articles, key=lambda article: (article.meta["rank"], article.id))
    for place, article in enumerate(order, start=1):
        if place <= config.best:
            yield Kept(article, f"rank {place}")
        else:
            yield Dropped(article, f"not among the best {config.best}")


def draw_articles(inputs: Inputs, config: Any) -> Outcomes:
    """So many of them by chance."""
    yield from draw_examples(
        inputs.examples("ranked"), config.articles_drawn, config.seed, "articles"
    )


def split_articles(inputs: Inputs, config: Any) -> Outcomes:
    """Articles in splits, so that no article is in two."""
    yield from split_groups(inputs, config, ("chosen",), lambda article: article.id, sets=SETS)


def take_paragraphs(inputs: Inputs, config: Any) -> Outcomes:
    """The paragraphs of the articles that are neither too short nor too long."""
    for split, name in SETS.items():
        for article in inputs.examples(name):
            title = article.inputs["title"]
            bodies = [line.strip() for line in article.inputs["text"].split("\n") if line.strip()]
            for number, body in enumerate(bodies):
                made = Example(
                    id=f"{article.id}p{number}",
                    inputs={"title": title, "context": f"{title}{SEPARATOR}{body}"},
                    group=f"{article.id}p{number}",
                    meta={"article": title, "split": split},
                    origin=Origin(recipe="jsquad", parents=(article.id,)),
                )
                fits = config.shortest <= len(body) <= config.longest
                yield (
                    Kept(made, f"{len(body)} characters")
                    if fits
                    else Dropped(made, "too short or too long", str(len(body)))
                )


def take_questions(inputs: Inputs, config: Any) -> Outcomes:
    """The written questions whose answer is in the paragraph.

    Its place is the first occurrence, as published.
    """
    written = settled_answers(inputs, "written")
    known = set[str]()
    for paragraph in inputs.examples("paragraphs"):
        seen: set[str] = set()
        pairs = [pair for judgement in written.get(paragraph.id, ()) for pair in judgement.answer]
        for number, pair in enumerate(pairs):
            start = paragraph.inputs["context"].find(pair["answer"])
            made = replace(
                paragraph,
                id=f"{paragraph.id}q{number}",
                inputs={**paragraph.inputs, "question": pair["question"]},
                gold={"answers": [{"text": pair["answer"], "start": start}]},
                origin=Origin(recipe="jsquad", parents=(paragraph.id,)),
            )
            known.add(made.id)
            if start < 0:
                yield Dropped(made, "the answer is not in the paragraph", pair["answer"])
            elif pair["question"] in seen:
                yield Dropped(made, "asked twice of one paragraph", pair["answer"])
            elif made.id in config.removed:
                yield Dropped(made, "deleted by hand", pair["answer"])
            else:
                into = "train" if paragraph.meta["split"] == "train" else "evaluated"
                yield Kept(made, "the answer is in the paragraph", into)
            seen.add(pair["question"])
    check_removed(config.removed, known)


def add_answers(inputs: Inputs, config: Any) -> Outcomes:
    """Questions of dev and test with the further answers that are in the paragraph."""
    given = settled_answers(inputs, "further")
    for question in inputs.examples("evaluated"):
        context, answers = question.inputs["context"], list(question.gold["answers"])
        more = [str(judgement.answer) for judgement in given.get(question.id, ())]
        answers += [{"text": text, "start": context.find(text)} for text in more if text in context]
        made = replace(question, gold={"answers": answers})
        yield Kept(
            made,
            f"{len(answers)} answers of {1 + len(more)} in the paragraph",
            question.meta["split"],
        )


def simulate_questions(example: Example, config: Any, random: Random) -> list[dict[str, str]]:
    """Asks what follows some words; now and then the answer is not in the text."""
    body = example.inputs["context"].partition(SEPARATOR)[2]
    questions = []
    for start in random.sample(range(max(config.questions, len(body) - 12)), config.questions):
        answer = body[start + 6 : start + 12].strip() or body[:4]
        answer = answer if random.random() < 0.9 else "書かれていない"
        questions.append(
            {"question": f"「{body[start : start + 6]}」の次に続くのは？", "answer": answer}
        )
    return questions


def simulate_answer(example: Example, config: Any, random: Random) -> str:
    """The first answer, a shorter one, or now and then one that is not in the text."""
    first = str(example.gold["answers"][0]["text"])
    return random.choice((first, first, first, first[: max(1, len(first) - 1)], f"{first}？？"))


def show_paragraph(item: Example) -> dict[str, Any]:
    """A paragraph, and the question on it where there is one, as workers see it.

    The stored text begins with the title and a separator for models. Answers are found in it again by their text.
    """
    return {**item.inputs, "context": item.inputs["context"].partition(SEPARATOR)[2]}


def card(config: Any) -> Card:
    """JSQuAD's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Reading comprehension, made as JSQuAD was",
        description="Questions on paragraphs of articles; the answer is a string of the paragraph.",
        labels=f"Written by workers with the question; {config.further_answers} further answers were asked for in dev and test.",
        source="Paragraphs of articles of high rank",
        problems=(
            "The start of an answer is the first occurrence of its text, which need not be where the evidence is.",
        ),
    )


RECIPE = Recipe(
    name="jsquad",
    title="reading comprehension: JSQuAD (JGLUE 3.3)",
    language="ja",
    config=Jsquad,
    sources=("articles",),
    stages=(
        Stage(
            "ranked", "the articles of the highest rank", rank_articles, ("articles",), ("best",)
        ),
        Stage(
            "chosen",
            "articles drawn by chance",
            draw_articles,
            ("ranked",),
            ("articles_drawn", "seed"),
        ),
        Stage(
            "parts",
            "articles of train, dev and test",
            split_articles,
            ("chosen",),
            ("split", "seed"),
            tuple(SETS.values()),
        ),
        Stage(
            "paragraphs",
            "paragraphs that are neither too short nor too long",
            take_paragraphs,
            tuple(SETS.values()),
            ("shortest", "longest"),
        ),
        Ask(
            "written",
            "questions on a paragraph, with answers",
            ("paragraphs",),
            "write-question",
            "questions",
            "writers",
            prompt="段落を読めば答えられる質問と、その答え(段落中の文字列)を書いてください。",
            heading="段落から質問と答えを作る",
            show=show_paragraph,
            texts="questions",
            simulate=simulate_questions,
            uses=("questions",),
        ),
        Stage(
            "questions",
            "the answer is in the paragraph",
            take_questions,
            ("paragraphs", "written"),
            ("removed",),
            ("train", "evaluated"),
        ),
        Ask(
            "further",
            "another answer to a question",
            ("evaluated",),
            "further-answers",
            "answer",
            "further_answers",
            prompt="質問の答えを段落から抜き出してください。",
            heading="質問の答えを段落から選ぶ",
            show=show_paragraph,
            simulate=simulate_answer,
        ),
        Stage(
            "answered",
            "further answers that are in the paragraph are added",
            add_answers,
            ("evaluated", "further"),
            (),
            ("dev", "test"),
        ),
    ),
    card=card,
    check=check_split,
    question="answers",
    notes=(
        "The paper ranks articles by their hyperlinks with a tool of its own; here the source says the rank.",
        "The paper does not say how long paragraphs are, nor how many questions each of them has.",
        "An answer starts at the first occurrence of its text, as in the published files.",
    ),
)
