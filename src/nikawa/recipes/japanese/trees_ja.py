"""Japanese dependency trees over bunsetsu, made as the recipe klue-dp makes Korean ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.collect.forms._tree_labels import JAPANESE_RELATIONS
from nikawa.datasets.trees import find_tree_fault
from nikawa.recipes.recipe import Recipe
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
from nikawa.text.bunsetsu import list_bunsetsu, list_phrases
from nikawa.text.protocol import Token

NAME = "trees-ja"
LABELS = tuple(row[0] for row in JAPANESE_RELATIONS)
ROOT = "root"
RELATIONS = {"amod": "acl", "nummod": "nmod", "ROOT": ROOT, "iobj": "obl", "dislocated": "nsubj"}
"""Relations of the analyser that have another name here; any other that is unknown is `dep`."""
PREDICATES = ("動詞", "形容詞", "助動詞", "形状詞")
FINAL = "終助詞"


class TreesJa(TreeConfig, kw_only=True):
    """Settings of the recipe."""

    analyser: str = "ginza"
    """The analyser that gives words their morphemes and tags; its own dependencies are the tree of preparse = "chain"."""
    root_label: str = ROOT
    """The relation of the root and of no other word; empty: the root has a relation like any word."""


def name_tag(token: Token) -> str:
    """The tag of a token as UniDic writes it: `助詞-格助詞`."""
    return "-".join(part for part in token.pos if part and part != "*")


def find_words(text: str, tokens: Sequence[Token]) -> Words:
    """The bunsetsu, each with its morphemes and their tags."""
    visible = [token for token in tokens if token.surface.strip()]
    return [
        {
            "form": form,
            "lemma": " ".join(token.surface for token in phrase),
            "pos": "+".join(map(name_tag, phrase)),
        }
        for form, phrase in list_phrases(visible)
    ]


def is_complete(words: Words) -> bool:
    """Whether the last bunsetsu has a predicate or a particle that closes a sentence."""
    tags = words[-1]["pos"].split("+") if words else []
    return any(tag.split("-")[0] in PREDICATES or FINAL in tag for tag in tags)


def parse(text: str, tokens: Sequence[Token], words: Words) -> dict[str, Any] | None:
    """The analyser's dependencies between bunsetsu; None where it has none, or they make no tree.

    The head of a bunsetsu is that of its token whose own head is outside.
    """
    numbered = [(place, token) for place, token in enumerate(tokens) if token.surface.strip()]
    if not numbered or any(token.head is None for _, token in numbered):
        return None
    phrase_of: dict[int, int] = {}
    places = iter([place for place, _ in numbered])
    for number, phrase in enumerate(list_bunsetsu([token for _, token in numbered])):
        phrase_of.update((next(places), number) for _ in phrase)
    heads: list[int | None] = [None] * len(words)
    labels = ["dep"] * len(words)
    for place, token in numbered:
        own, head = phrase_of[place], phrase_of.get(token.head if token.head is not None else -1)
        is_root = token.head == place
        if heads[own] is None and (is_root or head not in (None, own)):
            heads[own] = 0 if is_root or head is None else head + 1
            relation = str(token.deprel)
            label = RELATIONS.get(relation, relation)
            labels[own] = label if label in LABELS else "dep"
    if any(head is None for head in heads):
        return None
    whole = [head or 0 for head in heads]
    if find_tree_fault(whole, len(words)):
        return None
    labels = [
        ROOT if head == 0 else "dep" if label == ROOT else label
        for head, label in zip(whole, labels, strict=True)
    ]
    return {"heads": whole, "labels": labels}


LANGUAGE = Language(
    recipe=NAME,
    language="ja",
    labels=LABELS,
    find_words=find_words,
    is_complete=is_complete,
    heading="文節の係り受けを付ける",
    prompt="文節ごとに、係り先と関係を指定してください。",
    decision_heading="係り受けの相違を判定する",
    decision_points=(
        "作業者の回答が分かれた文節に色が付いています。その文節の係り先と関係を決めてください。",
        "作業者の回答から選ぶか、どれも誤っている場合は自分で指定してください。",
        "ほかの文節に誤りがあれば、それも修正できます。",
    ),
    broken="一つの文になっていない",
    parse=parse,
)


def card(config: Any) -> Card:
    """The card but for what the build itself tells."""
    return Card(
        name=config.name or NAME,
        title="Japanese dependency trees over bunsetsu",
        version=config.version,
        languages=("ja",),
        licence=config.licence,
        citation="",
        homepage=f"made here: nikawa build {NAME}",
        description="Sentences with bunsetsu, their morphemes and tags, and a labelled dependency tree over the bunsetsu.",
        labels=describe_gold(config),
        workers="",
        workers_are="persons",
        source=f"Sentences of {config.shortest} to {config.longest} bunsetsu, {config.per_source:,} per source at most, short and long ones alike",
        label_sets={"tree": LABELS},
        problems=(
            "Bunsetsu, morphemes and tags are made by rules and an analyser, and no person corrected them.",
            "The official LAS of KLUE gives wrong heads a class of their own, so it cannot be read like other LAS.",
        ),
    )


RECIPE = Recipe(
    name=NAME,
    title="Japanese dependency trees over bunsetsu, as KLUE-DP",
    language="ja",
    config=TreesJa,
    sources=("sentences", "parser"),
    may_lack=("parser",),
    stages=tree_stages(LANGUAGE),
    card=card,
    check=check_trees(LANGUAGE),
    question="tree",
    notes=(
        *NOTES,
        "Bunsetsu are found by rules over the analyser's tags; the relations are fifteen of Universal Dependencies.",
    ),
)
