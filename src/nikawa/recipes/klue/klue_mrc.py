"""How KLUE-MRC can be made: passages of three sources, questions of three types, checked by others.

The paper names the sources (KLUE 2, Table 1) and the published format has the three types; the other numbers are settings.
"""

from __future__ import annotations

from typing import Any

from nikawa.datasets.klue.klue_mrc import DATASET
from nikawa.recipes.reading_sets import (
    KO,
    KO_PATTERNS,
    NOTES,
    ReadingConfig,
    check_reading,
    describe_gold,
    reading_stages,
)
from nikawa.recipes.recipe import Recipe, built_card
from nikawa.records import Card


class KlueMrc(ReadingConfig, kw_only=True):
    """Settings of the recipe."""

    split: str = "0.54,0.18,0.28"
    """Shares of train, dev and test: 17,554 and 5,841 published questions, and 9k of test (KLUE, Table 1)."""


def card(config: Any) -> Card:
    """KLUE-MRC's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Reading with unanswerable questions, of the form of KLUE-MRC",
        description="Questions on passages: paraphrased (type 1), over several sentences (2), without an answer (3).",
        labels=describe_gold(config),
        source=f"Passages of {config.shortest} to {config.longest} characters, as many of each source as can be",
        problems=(
            "Questions were written by workers who saw the passage, so they share words with it; meta.copied says how much.",
        ),
    )


RECIPE = Recipe(
    name="klue-mrc",
    title="reading with unanswerable questions: KLUE-MRC (KLUE 2)",
    language="ko",
    config=KlueMrc,
    sources=("articles",),
    stages=reading_stages("klue-mrc", KO, KO_PATTERNS),
    card=card,
    check=check_reading,
    question="answers",
    notes=NOTES,
)
