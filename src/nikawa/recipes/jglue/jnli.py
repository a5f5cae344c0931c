"""How JNLI was made (JGLUE 3.2.2, steps 1, 3 and 4): from captions to inference pairs in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.jglue.jnli import DATASET
from nikawa.recipes.decide import decide
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
    similarity,
    splitting,
    stopped,
)
from nikawa.recipes.recipe import Inputs, Kept, Outcome, Recipe, Stage
from nikawa.records import Card, Example, Origin


class Jnli(Captions, kw_only=True):
    """Settings of the recipe."""


def turned(example: Example, gold: dict[str, Any]) -> Example:
    """The pair in the opposite direction, under its own id."""
    image, first, second = example.id.split("-")
    name = f"{image}-{second}-{first}"
    inputs = {"premise": example.inputs["hypothesis"], "hypothesis": example.inputs["premise"]}
    step = example.origin.step if example.origin is not None else ""
    origin = Origin(
        recipe="jnli", parents=(example.id,), step=step, gold="derived" if gold else "annotated"
    )
    meta = {**example.meta, "yjcaptions_id": name}
    return replace(example, id=name, inputs=inputs, gold=gold, meta=meta, origin=origin)


def direct(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Both directions of every pair of flow A, its similarity left behind, every sentence with its stop."""
    for pair in inputs.examples("scored-a"):
        premise, hypothesis = (stopped(pair.inputs[name]) for name in ("sentence1", "sentence2"))
        forth = replace(pair, inputs={"premise": premise, "hypothesis": hypothesis}, gold={})
        yield Kept(forth, "forward")
        yield Kept(turned(forth, {}), "backward")


def infer(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Pairs of flow A on which enough workers agree, if it is on entailment or neutral."""
    rule = f"votes:{config.inference_votes}/{config.inference_workers}"
    yield from decide(inputs, "directed", "inference-a", rule, only=("entailment", "neutral"))


def reverse(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Contradiction has no direction: the opposite one gets the label without being asked."""
    for pair in inputs.examples("confirmed"):
        yield Kept(pair, "as judged")
        yield Kept(turned(pair, dict(pair.gold)), "contradiction holds in both directions")


def split(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Flows A and C together, in splits."""
    yield from splitting(inputs, config, ("inferred", "contradicting"))


def card(config: Any) -> Card:
    """JNLI's own card, for a dataset made here."""
    return replace(
        DATASET.card,
        name=config.name or "jnli",
        title="Inference between image captions, made as JNLI was",
        homepage="made here: nikawa build jnli",
        labels=f"A: an answer that at least {config.inference_votes} of {config.inference_workers} workers gave; C: contradictions written by workers, "
        f"confirmed by at least {config.inference_votes} of {config.inference_workers}, the opposite direction assigned without asking.",
        source="Captions of images: A two captions of one image, C a caption and a worker-written contradiction",
        problems=(
            "All contradictions are worker-written, so the label can be told in part from the style.",
        ),
    )


RECIPE = Recipe(
    name="jnli",
    title="inference between captions: JNLI (JGLUE 3.2.2)",
    language="ja",
    config=Jnli,
    sources=("captions",),
    stages=(
        READ,
        SIMILAR,
        similarity("similarity-a", "similar"),
        SCORED,
        Stage("directed", "both directions of a pair", direct, ("scored-a",)),
        inference("inference-a", "directed"),
        Stage(
            "inferred",
            "enough equal answers, entailment or neutral",
            infer,
            ("directed", "inference-a"),
            ("inference_votes", "inference_workers"),
        ),
        CONTRADICTED,
        WRITE,
        WRITTEN,
        inference("inference-c", "written"),
        CONFIRMED,
        Stage(
            "contradicting",
            "contradiction assigned in the opposite direction too",
            reverse,
            ("confirmed",),
        ),
        Stage(
            "splits",
            "train, dev and test, both directions of a pair together",
            split,
            ("inferred", "contradicting"),
            ("split", "split_by", "seed", "removed", "tags"),
            tuple(SETS.values()),
        ),
    ),
    splits=SETS,
    card=card,
    check=check,
    question="label",
    numbered=True,
    notes=(
        "The paper does not say how pairs were drawn: all pairs of an image are equally likely here, which gives the published numbers of pairs an image.",
        "The paper does not say how many workers wrote the contradictions of a caption.",
        "The paper does not say how the splits were made; published pairs keep their directions together and share images across splits, as here (split_by).",
        "A contradiction written twice for one caption is kept once.",
    ),
)
