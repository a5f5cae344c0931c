"""From log-probabilities in a reply to the probability of each option."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Sequence
from typing import TypeVar

from nikawa.models.chat.journal import Reply

K = TypeVar("K", bound=Hashable)

BLANK = " \n\t▁Ġ"
AROUND_KEY = BLANK + "\"'`*()[]「」.:,。、："


def weigh_first_tokens(reply: Reply, keys: Sequence[str]) -> dict[str, float]:
    """The probability of each key among the likeliest first tokens.

    Empty if none of them is a key. A key can occur as several tokens (with a blank before
    it, in full width): they count together.
    """
    weights: dict[str, float] = {}
    for token, value in reply.first or ():
        key = unicodedata.normalize("NFKC", token).strip(AROUND_KEY)
        if key in keys:
            weights[key] = weights.get(key, 0.0) + math.exp(min(value, 0.0))
    return weights if sum(weights.values()) > 0 else {}


def sum_echoed_tokens(reply: Reply, key: str) -> float | None:
    """The log-probability of the tokens at the end of a prompt that make up `key`, None where they
    do not.
    """
    text, total = "", 0.0
    for token, value in reversed(reply.tail or ()):
        text, total = token + text, total + value
        if text.strip(BLANK) == key:
            return total
        if len(text.strip(BLANK)) > len(key):
            return None
    return None


def to_shares(weights: dict[K, float]) -> dict[K, float]:
    """Weights that sum to one."""
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def softmax(logprobs: dict[K, float]) -> dict[K, float]:
    """Log-probabilities as shares."""
    highest = max(logprobs.values())
    return to_shares({name: math.exp(value - highest) for name, value in logprobs.items()})
