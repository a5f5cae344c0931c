"""Candidates to pairs: greedy matching by ROUGE, the same or another image or intent, a round trip
by a translator.
"""

from __future__ import annotations

METHODS = {
    "same-image": "two captions of one image (JSTS-A)",
    "different-image": "captions of two images (JSTS-B)",
    "same-intent": "two sentences of one intent (similar pairs of KLUE-STS)",
    "different-intent": "sentences of two intents, of one topic where there are topics",
    "round-trip": "a sentence and its translation there and back",
    "greedy": "the KLUE paper's Algorithm 1: a random sentence, its best partner, both leave",
    "greedy-global": "what the KLUE paper's prose says: the best pair of all, again and again",
}
"""The ways to pair, by name."""
