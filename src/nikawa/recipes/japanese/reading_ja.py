"""A Japanese reading set with unanswerable questions, made as KLUE-MRC can be, and scored as JSQuAD is."""

from __future__ import annotations

from typing import Any

from nikawa.recipes.reading_sets import (
    JA,
    JA_PATTERNS,
    NOTES,
    ReadingConfig,
    check_reading,
    describe_gold,
    reading_stages,
)
from nikawa.recipes.recipe import Recipe
from nikawa.records import Card

NAME = "reading-ja"


class ReadingJa(ReadingConfig, kw_only=True):
    """Settings of the recipe."""

    shortest: int = 200
    """Minimum number of characters of a passage; a choice made here."""
    longest: int = 1000
    """Maximum number of characters of a passage; a choice made here."""


def card(config: Any) -> Card:
    """The card but for what the build itself tells."""
    return Card(
        name=config.name or NAME,
        title="Japanese reading with unanswerable questions",
        version=config.version,
        languages=("ja",),
        licence=config.licence,
        citation="",
        homepage=f"made here: nikawa build {NAME}",
        description="Questions on Japanese passages: paraphrased (type 1), over several sentences (2), without an answer (3).",
        labels=describe_gold(config),
        workers="",
        workers_are="persons",
        source=f"Passages of {config.shortest} to {config.longest} characters, as many of each source as can be",
        problems=(
            "Questions were written by workers who saw the passage, so they share words with it; meta.copied says how much.",
        ),
    )


RECIPE = Recipe(
    name=NAME,
    title="Japanese reading with unanswerable questions, as KLUE-MRC; scored as JSQuAD",
    language="ja",
    config=ReadingJa,
    sources=("articles",),
    stages=reading_stages(NAME, JA, JA_PATTERNS),
    card=card,
    check=check_reading,
    question="answers",
    notes=NOTES,
)
