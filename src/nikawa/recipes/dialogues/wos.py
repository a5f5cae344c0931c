"""A Korean set of dialogue states in the form of WoS (KLUE-DST): goals, dialogues, states that others check.

The available paper says of WoS that it was built from simulated dialogues by workers, without texts from elsewhere. How goals
were drawn and states checked is not in it: the numbers here are settings.
"""

from __future__ import annotations

from typing import Any

from nikawa.datasets.klue.wos import DATASET
from nikawa.recipes.dialogues.stages import (
    FILES,
    DialogueConfig,
    check,
    describe_combinations,
    make_stages,
)
from nikawa.recipes.recipe import Recipe, built_card
from nikawa.records import Card

WORDS = {
    "hello": "안녕하세요, 도와주세요.",
    "offer": "{name}, 어떠세요? 조건에 맞습니다.",
    "accept": "네, {name}에 대해 알려 주세요.",
    "done": "네, 처리했습니다. 더 필요한 것이 있으세요?",
    "thanks": "아니요, 감사합니다.",
}
"""Of simulated workers."""
PROMPTS = {
    "dialogues": "목표에 맞게 이용자와 안내원의 대화를 쓰고, 이용자 발화마다 그때까지의 요구 사항을 표시해 주세요.",
    "dialogues_heading": "목적이 있는 대화 쓰기",
    "states": "이용자 발화마다 그때까지 말한 요구 사항이 맞는지 확인해 주세요.",
    "states_heading": "대화의 요구 사항 확인하기",
}
NOTES = (
    "The available paper does not describe how goals were drawn, how long dialogues are, or who checked states: these numbers are settings.",
    "Each dialogue has an ontology and a table that the builder provides; the published WoS has 45 slots in five domains.",
)


class Wos(DialogueConfig, kw_only=True):
    """Settings of the recipe."""


def card(config: Any) -> Card:
    """The card of WoS, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Korean dialogue state tracking, made in the form of WoS",
        description="Dialogues of a user with a goal and an agent with a table of entities, with the state after each turn of the user.",
        labels=describe_labels(config),
        source="Dialogues that workers wrote for goals drawn from an ontology",
        problems=(),
    )


def describe_labels(config: Any) -> str:
    """Where the states come from, for the card."""
    return f"Marked by the writer of the dialogue and by {config.validators} other workers; the value of a slot is that of more than half of them."


RECIPE = Recipe(
    name="wos",
    title="dialogue state tracking: WoS (KLUE-DST), from an ontology and a table of entities",
    language="ko",
    config=Wos,
    sources=("ontology", "entities"),
    stages=make_stages(WORDS, PROMPTS),
    card=card,
    check=check,
    question="state",
    describe=describe_combinations,
    files=FILES,
    notes=NOTES,
)
