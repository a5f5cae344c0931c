"""How JSTS was made (JGLUE 3.2.2, steps 1, 2, 4 and 5): similarity of captions, of flows A, B and
C.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from nikawa.datasets.jglue.jsts import DATASET
from nikawa.datasets.known import KnownFinding
from nikawa.recipes.jglue.captions import (
    FLOW_A,
    FLOW_C,
    Captions,
    check,
    judge_similarity,
    known_of_captions,
    pair_different,
    split_pairs,
)
from nikawa.recipes.recipe import Inputs, Kept, NotNegative, Outcomes, Recipe, Stage, built_card
from nikawa.records import Card


class Jsts(Captions, kw_only=True):
    """Settings of the recipe."""

    different_pairs: NotNegative = 4000
    """Pairs of captions of two images that are judged (JGLUE 3.2.2, step 2)."""


def take_contradictions(inputs: Inputs, config: Any) -> Outcomes:
    """The confirmed contradictions, one way, to be judged for similarity (step 5)."""
    for pair in inputs.examples("confirmed"):
        texts = {"sentence1": pair.inputs["premise"], "sentence2": pair.inputs["hypothesis"]}
        yield Kept(replace(pair, inputs=texts, gold={}), "a confirmed contradiction, one way")


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """Shared images, and what tells how a pair was made."""
    reason = "captions of two images (flow B) are seldom similar: show a model the sentences alone"
    fields = ("id", "group", "meta.source", "meta.yjcaptions_id", "meta.image")
    return (
        *known_of_captions(config),
        *(KnownFinding(check="giveaway", where=f"{name} in *", reason=reason) for name in fields),
    )


def card(config: Any) -> Card:
    """JSTS's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Similarity of image captions, made as JSTS was",
        source="Captions of images: A same image, B different images, C worker-written contradictions",
        labels="Mean of the workers' answers; pairs whose answers vary too much were deleted.",
        problems=(),
    )


RECIPE = Recipe(
    name="jsts",
    title="similarity of captions: JSTS (JGLUE 3.2.2)",
    language="ja",
    config=Jsts,
    sources=("captions",),
    stages=(
        *FLOW_A,
        Stage(
            "different",
            "pairs of captions of two images, drawn by chance (flow B)",
            pair_different,
            ("sentences",),
            ("different_pairs", "seed"),
        ),
        *judge_similarity("different", "b"),
        *FLOW_C,
        Stage(
            "compared",
            "confirmed contradictions, one way (flow C)",
            take_contradictions,
            ("confirmed",),
        ),
        *judge_similarity("compared", "c"),
        split_pairs("train, dev and test", "scored-a", "scored-b", "scored-c"),
    ),
    card=card,
    by_design=by_design,
    check=check,
    question="score",
    numbered=True,
    notes=(
        "The paper does not say how pairs were drawn: all pairs of an image are equally likely here, which gives the published numbers of pairs an image.",
        "Captions of two images are paired so that each caption occurs once at most.",
        "The paper does not say how the splits were made; published ones share images, as here (split_by).",
    ),
)
