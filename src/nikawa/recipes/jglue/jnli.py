"""How JNLI was made (JGLUE 3.2.2, steps 1, 3 and 4): from captions to inference pairs in both
directions.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from nikawa.datasets.jglue.jnli import DATASET
from nikawa.datasets.known import KnownFinding
from nikawa.recipes.jglue.captions import (
    FLOW_A,
    FLOW_C,
    Captions,
    add_stop,
    check,
    judge_inference,
    known_of_captions,
    split_pairs,
)
from nikawa.recipes.recipe import Inputs, Kept, Outcomes, Recipe, Stage, built_card
from nikawa.records import Card, Example, Origin


class Jnli(Captions, kw_only=True):
    """Settings of the recipe."""


def reverse_pair(example: Example, gold: dict[str, Any]) -> Example:
    """The pair in the opposite direction, under its own id."""
    image, first, second = example.id.split("-")  # `join_ids` leaves just these two
    name = f"{image}-{second}-{first}"
    inputs = {"premise": example.inputs["hypothesis"], "hypothesis": example.inputs["premise"]}
    step = example.origin.step if example.origin is not None else ""
    origin = Origin(
        recipe="jnli", parents=(example.id,), step=step, gold="derived" if gold else "annotated"
    )
    meta = {**example.meta, "yjcaptions_id": name}
    return replace(example, id=name, inputs=inputs, gold=gold, meta=meta, origin=origin)


def pair_both_ways(inputs: Inputs, config: Any) -> Outcomes:
    """Both directions of every pair of flow A, its similarity left behind, every sentence with its
    stop.
    """
    for pair in inputs.examples("scored-a"):
        premise, hypothesis = (add_stop(pair.inputs[name]) for name in ("sentence1", "sentence2"))
        forth = replace(pair, inputs={"premise": premise, "hypothesis": hypothesis}, gold={})
        yield Kept(forth, "forward")
        yield Kept(reverse_pair(forth, {}), "backward")


def reverse_contradictions(inputs: Inputs, config: Any) -> Outcomes:
    """Contradiction has no direction: the opposite one gets the label without being asked."""
    for pair in inputs.examples("confirmed"):
        yield Kept(pair, "as judged")
        yield Kept(reverse_pair(pair, dict(pair.gold)), "contradiction holds in both directions")


def by_design(config: Any) -> tuple[KnownFinding, ...]:
    """Both directions of a pair, shared images, and what tells a pair of flow C."""
    reason = "flow C holds the contradictions that workers wrote (JGLUE 3.2.2): show a model premise and hypothesis alone"
    fields = ("id", "group", "meta.source", "meta.yjcaptions_id", "meta.pair", "meta.image")
    return (
        KnownFinding(
            check="repeated-unordered-pairs", reason="pairs come in both directions (JGLUE 3.2.2)"
        ),
        *known_of_captions(config),
        *(KnownFinding(check="giveaway", where=f"{name} in *", reason=reason) for name in fields),
    )


def card(config: Any) -> Card:
    """JNLI's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Inference between image captions, made as JNLI was",
        labels=f"A: an answer that at least {config.inference_votes} of {config.inference_workers} workers gave; C: contradictions written by workers, "
        f"confirmed by at least {config.inference_votes} of {config.inference_workers}, the opposite direction assigned without asking.",
        source="Captions of images: A two captions of one image, C a caption and a worker-written contradiction",
        problems=("All contradictions are worker-written, so the style partly reveals the label.",),
    )


RECIPE = Recipe(
    name="jnli",
    title="inference between captions: JNLI (JGLUE 3.2.2)",
    language="ja",
    config=Jnli,
    sources=("captions",),
    stages=(
        *FLOW_A,
        Stage("directed", "both directions of a pair", pair_both_ways, ("scored-a",)),
        *judge_inference(
            "directed",
            "a",
            "inferred",
            "enough equal answers, entailment or neutral",
            ("entailment", "neutral"),
        ),
        *FLOW_C,
        Stage(
            "contradicting",
            "contradiction assigned in the opposite direction too",
            reverse_contradictions,
            ("confirmed",),
        ),
        split_pairs(
            "train, dev and test, both directions of a pair together", "inferred", "contradicting"
        ),
    ),
    card=card,
    by_design=by_design,
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
