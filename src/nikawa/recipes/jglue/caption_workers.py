"""Simulated workers for the recipes of JSTS and JNLI: they show how a build runs, and know nothing of language."""

from __future__ import annotations

from random import Random
from typing import Any

from nikawa.records import Example

RELATIONS = ("entailment", "contradiction", "neutral")
STOP = "。"


def simulate_similarity(example: Example, config: Any, random: Random) -> int:
    """A worker who counts the characters two sentences share, and errs at times."""
    one, other = set(example.inputs["sentence1"]), set(example.inputs["sentence2"])
    alike = len(one & other) / max(1, len(one | other))
    return min(5, max(0, round(5 * alike) + random.choice((-2, -1, 0, 0, 0, 0, 1, 2))))


def simulate_inference(example: Example, config: Any, random: Random) -> str:
    """A worker who takes what workers wrote for contradictions and what adds nothing for entailment, and errs at times."""
    premise, hypothesis = set(example.inputs["premise"]), set(example.inputs["hypothesis"])
    likely = "entailment" if len(hypothesis - premise) <= 3 else "neutral"
    if example.meta["source"] == "C":
        likely = "contradiction"
    return likely if random.random() < 0.8 else random.choice(RELATIONS)


def simulate_contradictions(example: Example, config: Any, random: Random) -> list[str]:
    """Made-up contradictions: the caption denied in several ways, and now and then something too short."""
    text = example.inputs["text"].rstrip(STOP)
    ways = [
        "のは嘘です",
        "ことはありません",
        "とは言えません",
        "わけではありません",
        "というのは間違いです",
    ]
    made = [f"{text}{ending}{STOP}" for ending in random.sample(ways, len(ways))]
    made[0] = made[0] if random.random() < 0.8 else f"違う{STOP}"
    while len(made) < config.contradictions:
        made.append(f"{len(made)}回も{text}{STOP}")
    return made[: config.contradictions]
