"""Simulated people for the recipe of JSICK: they show how a build runs, and know nothing of language."""

from __future__ import annotations

import re
from hashlib import blake2b
from random import Random
from typing import Any

from nikawa.datasets.jsick._rows import LABELS
from nikawa.recipes.jsick.guidelines import NEGATION
from nikawa.records import Example

GOOD = "good"
KANA = "アイウエオカキクケコサシスセソタチツテトナニノハヒフヘホマミムメモヤユヨラリルレロ"
SMALL = frozenset(("a", "an", "the", "is", "are", "not", "no", "of", "in", "on", "and", "there"))


def made_up(word: str) -> str:
    """A word of katakana that stands for an English one, the same each time."""
    digits = blake2b(word.encode(), digest_size=3).digest()
    return "".join(KANA[digit % len(KANA)] for digit in digits)


def simulate_translation(example: Example, config: Any, random: Random) -> str:
    """Made-up words in the order of the English ones, with the particle and the ending that the guidelines ask for."""
    english = str(example.inputs["english"])
    words = re.findall(r"[a-z]+", english.lower())
    content = [made_up(word) for word in words if word not in SMALL] or [made_up(english)]
    particle = "は" if words[:1] == ["the"] else "が"
    if random.random() < 0.05:
        particle = "は" if particle == "が" else "が"
    ending = "していない" if NEGATION.search(english) else "している"
    return f"{content[0]}{particle}{'を'.join(content[1:]) or '何か'}{ending}"


def simulate_validation(example: Example, config: Any, random: Random) -> str:
    """A bilingual who exchanges the particle where the check asks to look, and finds the rest good."""
    japanese, check = str(example.inputs["japanese"]), str(example.inputs["check"])
    for asked, wrong in (("「が」で", "は"), ("「は」で", "が")):
        if asked in check and wrong in japanese:
            return japanese.replace(wrong, "が" if wrong == "は" else "は", 1)
    return GOOD


def _alike(example: Example) -> float:
    one, other = set(example.inputs["premise"]), set(example.inputs["hypothesis"])
    return len(one & other) / max(1, len(one | other))


def simulate_inference(example: Example, config: Any, random: Random) -> str:
    """A worker who goes by negation and shared characters, and errs at times."""
    denied = ["いない" in example.inputs[name] for name in ("premise", "hypothesis")]
    likely = "entailment" if _alike(example) > 0.8 else "neutral"
    if denied[0] != denied[1] and _alike(example) > 0.5:
        likely = "contradiction"
    return likely if random.random() < 0.85 else random.choice(LABELS)


def simulate_relatedness(example: Example, config: Any, random: Random) -> int:
    """A worker who counts shared characters, and errs at times."""
    return min(5, max(1, round(1 + 4 * _alike(example)) + random.choice((-1, 0, 0, 0, 1))))


def simulate_adjudication(example: Example, config: Any, random: Random) -> str:
    """Authors who leave the majority as it is and call a tie neutral."""
    return str(example.gold.get("label", "neutral"))
