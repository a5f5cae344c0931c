"""Candidates to pairs: greedy matching by ROUGE, the same or another image or intent, a round trip
by a translator.
"""

from __future__ import annotations

METHODS = {
    "same-image": "two captions of one image (JSTS-A)",
    "different-image": "captions of two images (JSTS-B)",
    "same-intent": "two sentences of one intent (similar pairs of KLUE-STS)",
    "different-intent": "sentences of two intents, with the same topic if topics are known",
    "round-trip": "a sentence and its round-trip translation",
    "greedy": "the KLUE paper's Algorithm 1: a random sentence and its best partner, both removed",
    "greedy-global": "the text of the KLUE paper: always the best of all remaining pairs",
}
"""The ways to pair, by name."""
