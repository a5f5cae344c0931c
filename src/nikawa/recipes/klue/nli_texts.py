"""Premises and made-up hypotheses of KLUE-NLI: what a premise looks like (KLUE 3.3.1), and simulated workers."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from nikawa.datasets.klue.klue_nli import LABELS
from nikawa.records import Example

REPORTS = ("personal", "hate", "bias", "undecidable")
"""How a simulated writer hands premises back."""
_FORMULA = re.compile(r"[=≠≤≥±√∑∫]|^\s*(?:[-•*▲■]|\d+[.)])\s")
_ENDINGS = frozenset("다요죠네군나걸듯데지어아야해봐라")
"""Last syllables of declarative predicates, beside nouns made of verbs (-음, -함)."""


def fault(text: str, config: Any) -> str:
    """Why a sentence is no premise; empty where it can be one."""
    if not config.shortest <= len(text) <= config.longest:
        return f"not {config.shortest} to {config.longest} characters"
    if not config.propositions:
        return ""
    if text.rstrip("\"'”’) ").endswith("?"):
        return "a question"
    if _FORMULA.search(text):
        return "a formula or a list"
    return "" if states(text) else "does not end in a predicate"


def states(text: str) -> bool:
    """Whether the last syllable can end a statement: one of a few endings, or one closed by ㅁ (-음, -함)."""
    last = next((c for c in reversed(text) if c.isalnum()), "")
    syllable = ord(last) - 0xAC00 if last else -1
    return last in _ENDINGS or (0 <= syllable < 11172 and syllable % 28 == 16)


def simulate_hypotheses(example: Example, config: Any, random: Random) -> list[str] | str:
    """Made-up hypotheses: the end of the premise, its denial, something beside it; some premises are handed back."""
    if random.random() < 0.03:
        return random.choice(REPORTS)
    words = example.inputs["text"].rstrip(".!").split()
    rest = " ".join(words[random.randrange(1, max(2, len(words) // 2)) :]) or words[0]
    where = random.choice(("서울에서", "어제", "가족과 함께", "처음으로"))
    return [f"{rest}.", f"{rest}는 것은 사실이 아니다.", f"{where} {rest}."]


def simulate_label(example: Example, config: Any, random: Random) -> str:
    """A worker who mostly sees what was meant."""
    return str(example.meta["author"]) if random.random() < 0.88 else random.choice(LABELS)
