"""How often a verb was seen with a noun in a case, and the pointwise mutual information of the two.

PMI (Church and Hanks 1990): log2 P(noun | verb, case) / P(noun | case). The conditional is smoothed
towards the noun's own share with `STRENGTH` pseudo-observations, so that a rare verb says little
(0) rather than much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import log2
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.hand_edited import read_rows

Triple = tuple[str, str, str]
"""Verb, case, noun."""
STRENGTH = 20.0
"""Pseudo-observations of the smoothing."""
COLUMNS = ("verb", "case", "nouns")


class FrameCounts:
    """Counts of (verb, case, noun) with their sums."""

    def __init__(self, counts: Mapping[Triple, int]) -> None:
        self.counts = dict(counts)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def by_verb(self) -> Counter[tuple[str, str]]:
        """Observations of a verb with a case."""
        sums: Counter[tuple[str, str]] = Counter()
        for (verb, case, _), n in self.counts.items():
            sums[verb, case] += n
        return sums

    @cached_property
    def by_noun(self) -> Counter[tuple[str, str]]:
        """Observations of a noun in a case."""
        sums: Counter[tuple[str, str]] = Counter()
        for (_, case, noun), n in self.counts.items():
            sums[case, noun] += n
        return sums

    @cached_property
    def by_case(self) -> Counter[str]:
        """Observations of a case."""
        sums: Counter[str] = Counter()
        for (_, case), n in self.by_verb.items():
            sums[case] += n
        return sums

    def pmi(self, verb: str, case: str, noun: str) -> float:
        """How much the verb raises the share of the noun in the case, in bits; 0 where nothing is
        known.
        """
        verb_total, case_total = self.by_verb[verb, case], self.by_case[case]
        types = len(self.by_noun) + 1
        share = (self.by_noun[case, noun] + 1) / (case_total + types)
        seen = self.counts.get((verb, case, noun), 0)
        conditional = (seen + STRENGTH * share) / (verb_total + STRENGTH)
        return log2(conditional / share)


def write_counts(counts: Mapping[Triple, int]) -> Iterable[str]:
    """The lines of a counts file: verb, case, `noun:count noun:count`, the commonest first."""
    rows: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (verb, case, noun), n in counts.items():
        rows.setdefault((verb, case), []).append((-n, noun))
    yield "\t".join(COLUMNS)
    for (verb, case), nouns in sorted(rows.items()):
        yield f"{verb}\t{case}\t{' '.join(f'{noun}:{-n}' for n, noun in sorted(nouns))}"


def read_counts(path: Path) -> FrameCounts:
    """The counts of a file that `write_counts` gave the lines of."""
    counts: dict[Triple, int] = {}
    for number, row in read_rows(path, COLUMNS):
        for item in row["nouns"].split(" "):
            noun, _, n = item.rpartition(":")
            if not noun or not n.isdecimal():
                what = f"{item!r} is no count"
                raise BadInput(what, file=path, line=number, cure="write noun:3")
            counts[row["verb"], row["case"], noun] = int(n)
    return FrameCounts(counts)
