"""A Japanese set of dialogue states, made with the same stages as the Korean one (`wos`)."""

from __future__ import annotations

from typing import Any

from nikawa.recipes.dialogues.stages import (
    FILES,
    DialogueConfig,
    check,
    describe_combinations,
    make_stages,
)
from nikawa.recipes.dialogues.wos import describe_labels
from nikawa.recipes.recipe import Recipe
from nikawa.records import Card

WORDS = {
    "hello": "こんにちは。手伝ってください。",
    "offer": "{name}はいかがでしょうか。条件に合います。",
    "accept": "{name}でお願いします。",
    "done": "承りました。ほかにご用はありますか。",
    "thanks": "ありがとうございます。大丈夫です。",
}
"""Of simulated workers."""
PROMPTS = {
    "dialogues": "目標に沿って利用者と案内係の対話を書き、利用者の発言ごとに、それまでの要望を選んでください。",
    "dialogues_heading": "目的のある対話を書く",
    "states": "利用者の発言ごとに、それまでに伝えられた要望が正しいか確かめてください。",
    "states_heading": "対話の要望を確かめる",
}


class DstJa(DialogueConfig, kw_only=True):
    """Settings of the recipe."""

    goals: int = 1000
    """Number of goals drawn, and so of dialogues; own choice."""


def card(config: Any) -> Card:
    """The card of a dataset made here."""
    return Card(
        name=config.name or "dst-ja",
        title="Japanese dialogue state tracking",
        languages=("ja",),
        licence=config.licence,
        homepage="made here: nikawa build dst-ja",
        description="Dialogues of a user with a goal and an agent with a table of entities, with the state after each turn of the user.",
        version=config.version,
        citation="",
        labels=describe_labels(config),
        workers="",
        workers_are="persons",
        source="Dialogues that workers wrote for goals drawn from an ontology",
    )


RECIPE = Recipe(
    name="dst-ja",
    title="Japanese dialogue state tracking, in the form of WoS",
    language="ja",
    config=DstJa,
    sources=("ontology", "entities"),
    stages=make_stages(WORDS, PROMPTS),
    card=card,
    check=check,
    question="state",
    describe=describe_combinations,
    files=FILES,
    notes=("No paper describes this dataset: it follows the Korean recipe wos.",),
)
