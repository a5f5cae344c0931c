"""How JSTS was made (JGLUE 3.2.2, steps 1, 2, 4 and 5): similarity of captions, of flows A, B and C."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.jglue.jsts import DATASET
from nikawa.recipes.jglue.captions import (
    CONFIRMED,
    CONTRADICTED,
    READ,
    SCORED,
    SETS,
    SIMILAR,
    WRITE,
    WRITTEN,
    Captions,
    check,
    inference,
    pair_different,
    score,
    similarity,
    splitting,
)
from nikawa.recipes.recipe import Inputs, Kept, NotNegative, Outcome, Recipe, Stage
from nikawa.records import Card


class Jsts(Captions, kw_only=True):
    """Settings of the recipe."""

    different_pairs: NotNegative = 4000
    """Pairs of captions of two images that are judged (JGLUE 3.2.2, step 2)."""


def compare(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """The confirmed contradictions, one way, to be judged for similarity (step 5)."""
    for pair in inputs.examples("confirmed"):
        texts = {"sentence1": pair.inputs["premise"], "sentence2": pair.inputs["hypothesis"]}
        yield Kept(replace(pair, inputs=texts, gold={}), "a confirmed contradiction, one way")


def split(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Flows A, B and C together, in splits."""
    yield from splitting(inputs, config, ("scored-a", "scored-b", "scored-c"))


def card(config: Any) -> Card:
    """JSTS's own card, for a dataset made here."""
    return replace(
        DATASET.card,
        name=config.name or "jsts",
        title="Similarity of image captions, made as JSTS was",
        homepage="made here: nikawa build jsts",
        source="Captions of images: A same image, B different images, C worker-written contradictions",
        labels="Mean of the workers' answers; pairs whose answers vary too much were deleted.",
        problems=(),
    )


VARIES = "mean of the answers; pairs whose answers vary too much are deleted"
RECIPE = Recipe(
    name="jsts",
    title="similarity of captions: JSTS (JGLUE 3.2.2)",
    language="ja",
    config=Jsts,
    sources=("captions",),
    stages=(
        READ,
        SIMILAR,
        similarity("similarity-a", "similar"),
        SCORED,
        Stage(
            "different",
            "pairs of captions of two images, drawn by chance (flow B)",
            pair_different,
            ("sentences",),
            ("different_pairs", "seed"),
        ),
        similarity("similarity-b", "different"),
        Stage(
            "scored-b",
            VARIES,
            score("different", "similarity-b"),
            ("different", "similarity-b"),
            ("similarity_variance",),
        ),
        CONTRADICTED,
        WRITE,
        WRITTEN,
        inference("inference-c", "written"),
        CONFIRMED,
        Stage("compared", "confirmed contradictions, one way (flow C)", compare, ("confirmed",)),
        similarity("similarity-c", "compared"),
        Stage(
            "scored-c",
            VARIES,
            score("compared", "similarity-c"),
            ("compared", "similarity-c"),
            ("similarity_variance",),
        ),
        Stage(
            "splits",
            "train, dev and test",
            split,
            ("scored-a", "scored-b", "scored-c"),
            ("split", "split_by", "seed", "removed", "tags"),
            tuple(SETS.values()),
        ),
    ),
    splits=SETS,
    card=card,
    check=check,
    question="score",
    numbered=True,
    notes=(
        "The paper does not say how pairs were drawn: all pairs of an image are equally likely here, which gives the published numbers of pairs an image.",
        "Captions of two images are paired so that each caption occurs once at most.",
        "The paper does not say how the splits were made; published ones share images, as here (split_by).",
    ),
)
