"""How natural a verb sounds with its nouns.

The score is the mean over the cases of the smoothed PMI of verb and noun (see `frame_counts`), a noun listed in a frame of the
lexicon counting as `LISTED_WEIGHT` observations. Nouns that share a frame line gain `TOGETHER_BITS`. Nouns that no line of the
verb has together fall below 0, because counts of single cases cannot tell that 壁にバターを塗った is odd, and so do verbs
without a case that all their frames have. Above 0 is natural.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from nikawa.generation.frame_counts import FrameCounts, Triple
from nikawa.generation.lexicon import Lexicon, load_lexicon

LISTED_WEIGHT = 10
"""Observations that a noun listed in a frame counts as."""
TOGETHER_BITS = 3.0
"""What nouns of one frame line gain, and nouns of none lose."""
NATURAL = 0.0
"""Scores above it are natural."""
REASONS = ("semantically unnatural", "incomplete sentence", "grammatically unnatural")
"""Why a sentence is dropped, as JAMP's authors did (Table 4 of their paper)."""


class Plausibility:
    """Scores of one lexicon: a `Lexicon`, the name of a shipped one, or a folder."""

    def __init__(self, lexicon: Lexicon | str | Path = "ja") -> None:
        self.lexicon = lexicon if isinstance(lexicon, Lexicon) else load_lexicon(lexicon)
        counts: Counter[Triple] = Counter(self.lexicon.counts.counts)
        self._lines: dict[tuple[str, frozenset[str]], list[dict[str, frozenset[str]]]] = {}
        """Verb and cases to the nouns of each frame line."""
        self._cases: dict[str, set[frozenset[str]]] = {}
        """Verb to the sets of cases that its frames have."""
        for frame in self.lexicon.frames:
            cases = frozenset(frame.nouns)
            line = {case: frozenset(nouns) for case, nouns in frame.nouns.items()}
            self._lines.setdefault((frame.verb, cases), []).append(line)
            self._cases.setdefault(frame.verb, set()).add(cases)
            for case, nouns in frame.nouns.items():
                for noun in nouns:
                    counts[frame.verb, case, noun] += LISTED_WEIGHT
        self.counts = FrameCounts(counts)

    def score(self, verb: str, nouns: Mapping[str, str]) -> float:
        """How natural the verb is with a noun in each case, in bits; 0 for a verb of which nothing is known."""
        if not nouns:
            return 0.0
        mean = sum(self.counts.pmi(verb, case, noun) for case, noun in nouns.items()) / len(nouns)
        fits = self._fits(verb, nouns)
        if fits is None:
            return mean
        return mean + TOGETHER_BITS if fits else min(mean, 0.0) - TOGETHER_BITS

    def _fits(self, verb: str, nouns: Mapping[str, str]) -> bool | None:
        """Whether one line of the verb has all the nouns; None where the lines cannot tell."""
        lines = self._lines.get((verb, frozenset(nouns)))
        if lines is None:
            return False if self._is_incomplete(verb, nouns) else None
        for line in lines:
            if all(noun in line[case] for case, noun in nouns.items()):
                return True
        return False if len(nouns) > 1 else None

    def _is_incomplete(self, verb: str, nouns: Mapping[str, str]) -> bool:
        """Whether every frame of the verb has a case more than these."""
        known = self._cases.get(verb, ())
        return bool(known) and all(cases > frozenset(nouns) for cases in known)

    def is_natural(self, verb: str, nouns: Mapping[str, str], above: float = NATURAL) -> bool:
        """Whether the score lies above the line and no word is excluded."""
        excluded = self.lexicon.excluded
        return excluded.isdisjoint((verb, *nouns.values())) and self.score(verb, nouns) > above

    def reason(self, verb: str, nouns: Mapping[str, str]) -> str:
        """The likeliest of `REASONS` for a low score: a case the verb needs is missing, or the nouns do not fit."""
        return REASONS[1] if self._is_incomplete(verb, nouns) else REASONS[0]


@cache
def load_plausibility(lexicon: str) -> Plausibility:
    """The scores of a shipped lexicon, which is read once."""
    return Plausibility(lexicon)


def score_phrase(verb: str, nouns: Mapping[str, str], lexicon: str = "ja") -> float:
    """The score by a shipped lexicon: score_phrase("読む", {"ヲ": "本"})."""
    return load_plausibility(lexicon).score(verb, nouns)
