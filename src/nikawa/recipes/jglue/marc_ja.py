"""How MARC-ja was made (JGLUE 3.1): stars to labels.

For dev and test ten workers, of whom seven must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.datasets.jglue.marc_ja import DATASET
from nikawa.datasets.jglue.marc_ja_raw import LABELS, mostly_ascii, plain_text, read_raw_rows
from nikawa.datasets.known import KnownFinding
from nikawa.errors import BadInput
from nikawa.io.json import read_json_lines
from nikawa.recipes.decide import assign_splits, check_split, check_votes, decide, require_value
from nikawa.recipes.recipe import (
    Ask,
    Config,
    Dropped,
    Inputs,
    Kept,
    Outcomes,
    Positive,
    Recipe,
    Stage,
    built_card,
    found_in,
)
from nikawa.records import Card, Example, Origin


class MarcJa(Config, kw_only=True):
    """Settings of the recipe; the numbers are those of the paper and of the authors' converter."""

    reviews: str = ""
    """File of reviews: the TSV of the Amazon reviews corpus, or JSON lines of {id, text, stars,
    url, licence}."""
    longest: Positive = 500
    """Maximum number of characters of a review (the authors' converter)."""
    split: str = "0.94,0.03,0.03"
    """Shares of train and of the reviews judged for dev and test (the authors' converter; about
    12,000 judged, JGLUE 3.1)."""
    workers: Positive = 10
    """Workers who judge a review of dev and test (JGLUE 3.1)."""
    votes: Positive = 7
    """Minimum number of equal answers for a label (JGLUE 3.1)."""


class Line(msgspec.Struct):
    """A review of a JSON line; in records the values are in `inputs` and `meta`."""

    id: str | int
    text: str = ""
    stars: int = 0
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}


def read_reviews(path: Path) -> Iterator[Example]:
    """The reviews of a file, mark-up taken off."""
    for line, name, text, stars, more in _json(path) if ".jsonl" in path.name else _table(path):
        if stars not in range(1, 6):
            raise BadInput(
                f"{stars} is not a number of stars", file=path, line=line, cure="write 1 to 5"
            )
        yield Example(
            id=name,
            inputs={"text": plain_text(text)},
            meta={"stars": stars, **found_in(path, line, **more)},
            origin=Origin(recipe="marc-ja", gold="derived"),
        )


Row = tuple[int, str, str, int, dict[str, str]]


def _json(path: Path) -> Iterator[Row]:
    for line, row in read_json_lines(path, Line):
        text = row.text or row.inputs.get("text", "")
        stars = row.stars or row.meta.get("stars")
        more = {key: getattr(row, key) or str(row.meta.get(key, "")) for key in ("url", "licence")}
        text, stars = (
            require_value(value, what, path, line)
            for value, what in ((text, "text"), (stars, "stars"))
        )
        yield line, str(row.id), str(text), stars, more


def _table(path: Path) -> Iterator[Row]:
    for line, row in read_raw_rows(path):
        if len(row) < 14 or not row[7].isdecimal():
            cure = "the file may be cut short or edited: fetch it again"
            raise BadInput(
                "is not a review: 15 columns, stars in the eighth", file=path, line=line, cure=cure
            )
        yield line, row[2], row[13], int(row[7]), {}


def label_of(review: Example) -> str:
    """What the stars say; of three stars, which say neither, the negative label."""
    return LABELS[0] if review.meta["stars"] >= 4 else LABELS[1]


def take_reviews(inputs: Inputs, config: Any) -> Outcomes:
    """Reviews of 1 and 2 stars are negative, of 4 and 5 positive; 3 stars, ASCII and long ones are
    left out.
    """
    for review in read_reviews(inputs.file("reviews")):
        text, stars = review.inputs["text"], review.meta["stars"]
        label = label_of(review)
        if stars == 3:
            yield Dropped(review, "3 stars")
        elif mostly_ascii(text):
            yield Dropped(review, "90% ASCII or more")
        elif len(text) > config.longest:
            yield Dropped(review, f"over {config.longest} characters")
        else:
            yield Kept(replace(review, gold={"label": label}), f"{stars} stars: {label}")


def split_reviews(inputs: Inputs, config: Any) -> Outcomes:
    """Train, and what is judged for dev and test."""
    sets = {"train": "train", "dev": "asked-dev", "test": "asked-test"}
    reviews = list(inputs.examples("reviewed"))
    yield from assign_splits(reviews, config.split, config.seed, lambda review: review.id, sets)


def judge_reviews(inputs: Inputs, config: Any) -> Outcomes:
    """Reviews on which enough workers agree get their answer for a label.

    The others are left out.
    """
    rule = f"votes:{config.votes}/{config.workers}"
    for name in ("dev", "test"):
        for outcome in decide(inputs, f"asked-{name}", "sentiment", rule):
            if isinstance(outcome, Dropped):
                yield outcome
                continue
            review = outcome.example
            meta = {**review.meta, "relabelled": review.gold["label"] != label_of(review)}
            made = replace(review, meta=meta, origin=Origin(recipe="marc-ja"))
            yield outcome._replace(example=made, into=name)


def simulate(example: Example, config: Any, random: Random) -> str:
    """A worker who follows the stars, and errs at times."""
    return str(example.gold["label"]) if random.random() < 0.85 else random.choice(LABELS)


def check(config: Any) -> None:
    """Refuse settings that could not be met."""
    check_split(config)
    check_votes("votes", "workers", config)


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """The stars, of which labels are made."""
    reason = "labels of train are made of the stars (JGLUE 3.1): show a model the text alone"
    return (KnownFinding(check="giveaway", where="meta.stars in *", reason=reason),)


def card(config: Any) -> Card:
    """MARC-ja's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Sentiment of product reviews, made as MARC-ja was",
        description=f"Japanese product reviews of at most {config.longest} characters, positive (4, 5 stars) or negative (1, 2).",
        labels=f"By the stars; in dev and test replaced by the answer of at least {config.votes} of {config.workers} workers, or the review left out.",
        source="Product reviews with stars",
        problems=("Labels of train are stars, those of dev and test are workers' answers.",),
    )


RECIPE = Recipe(
    name="marc-ja",
    title="sentiment of product reviews: MARC-ja (JGLUE 3.1)",
    language="ja",
    config=MarcJa,
    sources=("reviews",),
    stages=(
        Stage(
            "reviewed",
            "1 and 2 stars negative, 4 and 5 positive; no 3 stars, ASCII or long reviews",
            take_reviews,
            ("reviews",),
            ("longest",),
        ),
        Stage(
            "parts",
            "train, and the reviews to be judged for dev and test",
            split_reviews,
            ("reviewed",),
            ("split", "seed"),
            ("train", "asked-dev", "asked-test"),
        ),
        Ask(
            "sentiment",
            "whether a review is positive or negative",
            ("asked-dev", "asked-test"),
            "choice",
            "label",
            "workers",
            prompt="このレビューは、商品について肯定的ですか、否定的ですか。",
            heading="レビューの評価を判断する",
            guideline=(
                "レビューを最後まで読み、投稿者が商品を全体として良いと評価しているか、悪いと評価しているかを答えてください。",
                "良い点と悪い点の両方が書かれている場合は、全体としてどちらの評価が強いかで判断してください。",
            ),
            names={"positive": "肯定的", "negative": "否定的", "text": "レビュー"},
            labels=LABELS,
            simulate=simulate,
        ),
        Stage(
            "judged",
            "enough equal answers, which become the label",
            judge_reviews,
            ("asked-dev", "asked-test", "sentiment"),
            ("votes", "workers"),
            ("dev", "test"),
        ),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="label",
    notes=(
        "The authors shuffled the reviews with a seed of their own; here each is placed by its id and the seed.",
    ),
)
