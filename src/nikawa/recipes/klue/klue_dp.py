"""Korean dependency trees, made as what is known of KLUE-DP allows: sentences by length and source, tags by an analyser, two
workers, adjudication. The available text of the paper ends before its section on KLUE-DP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.collect.forms._tree_labels import KLUE_RELATIONS
from nikawa.datasets.klue.klue_dp import DATASET
from nikawa.recipes.recipe import Recipe, built_card
from nikawa.recipes.tree_sets import (
    NOTES,
    Language,
    TreeConfig,
    Words,
    check_trees,
    describe_gold,
    tree_stages,
)
from nikawa.records import Card
from nikawa.text.protocol import Token

ENDING, STOP = "EF", "SF"
"""The tags of the ending and of the mark that close a sentence."""
PREDICATES = ("VV", "VA", "VX", "VCP", "VCN", "XSV", "XSA")


class KlueDp(TreeConfig, kw_only=True):
    """Settings of the recipe."""


def find_words(text: str, tokens: Sequence[Token]) -> Words:
    """The words between blanks (eojeol), each with its morphemes and their tags."""
    words: Words = []
    start = 0
    for form in text.split():
        start = text.index(form, start)
        end = start + len(form)
        morphemes: list[str] = []
        tags: list[str] = []
        for token in tokens:
            if start <= token.start < end:
                # an analyser may give several morphemes in one token: 치+었
                parts = (token.form or token.surface).split("+")
                together = len(parts) != len(token.pos)
                morphemes += ["".join(parts)] if together else parts
                tags += ["+".join(token.pos[:1])] if together else token.pos
        words.append({"form": form, "lemma": " ".join(morphemes), "pos": "+".join(tags)})
        start = end
    return words


def is_complete(words: Words) -> bool:
    """Whether the last word has the ending that closes a sentence, or a predicate and a full stop."""
    tags = words[-1]["pos"].split("+") if words else []
    return ENDING in tags or (STOP in tags and not set(tags).isdisjoint(PREDICATES))


LANGUAGE = Language(
    recipe="klue-dp",
    language="ko",
    labels=KLUE_RELATIONS,
    find_words=find_words,
    is_complete=is_complete,
    heading="어절의 의존 관계 지정하기",
    prompt="어절마다 지배소와 관계를 지정해 주세요.",
    decision_heading="의존 관계 조정하기",
    decision_points=(
        "작업자의 답이 다른 어절에만 표시가 있습니다. 그 어절의 지배소와 관계를 정해 주세요.",
        "작업자의 답 가운데 하나를 고르거나, 모두 틀렸으면 직접 지정해 주세요.",
        "다른 어절도 잘못되었으면 고칠 수 있습니다.",
    ),
    broken="한 문장이 아님",
)


def card(config: Any) -> Card:
    """KLUE-DP's own card, for a dataset made here."""
    return built_card(
        DATASET.card,
        config,
        title="Korean dependency trees, made as KLUE-DP can be",
        labels=describe_gold(config),
        source=f"Sentences of {config.shortest} to {config.longest} words, {config.per_source:,} per source at most, short and long ones alike",
        problems=(
            "Morphemes and tags are those of the analyser, and no person corrected them.",
            "The official LAS takes rare labels as one and gives wrong heads a class of their own, so it cannot be read like other LAS.",
        ),
    )


RECIPE = Recipe(
    name="klue-dp",
    title="Korean dependency trees: KLUE-DP (as far as it is known)",
    language="ko",
    config=KlueDp,
    sources=("sentences", "parser"),
    may_lack=("parser",),
    stages=tree_stages(LANGUAGE),
    card=card,
    check=check_trees(LANGUAGE),
    question="tree",
    notes=(
        *NOTES,
        "The available text of the paper ends before it describes KLUE-DP; it gives only the sources, formal and colloquial sentences.",
    ),
)
