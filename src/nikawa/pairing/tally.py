"""What comes of pairing: the sentences, the pairs as examples, the counts and what the reader should know of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from nikawa.errors import listed
from nikawa.records import Example, Origin, Record

PLACE = frozenset({"start", "end"})
"""Where a sentence stands in its document: never a thing two sentences have in common, even where the numbers agree."""
FEW = 0.5
"""Share of pairs without a common unit from which the units are doubted."""


class PairReport(Record, frozen=True, kw_only=True):
    """What was paired."""

    method: str
    sentences: int
    pairs: int
    paired: int
    """Different sentences that are in a pair."""
    left: int
    """Sentences that are in none."""
    repeated: int
    """Sentences left out before greedy matching because they are the same as an earlier one; pairs of two such otherwise."""
    mean: float | None
    """Mean ROUGE of greedy matching."""
    zero: int | None
    """Its pairs that share nothing."""
    out: str | None
    notes: tuple[str, ...] = ()
    """What the reader should know before the pairs are used."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the file."""

    name: str
    text: str
    meta: dict[str, object]
    field: str = ""
    """The input it was taken from, where the record has other texts too."""
    others: tuple[str, ...] = ()
    """Those other texts."""

    @property
    def key(self) -> str:
        """What two equal sentences have in common: blanks and the way Hangul is composed do not count."""
        return normalize("NFC", " ".join(self.text.split()))


Made = tuple[Sentence, Sentence, dict[str, object]]
"""Two sentences and what is worth knowing of the pair."""


class Tally:
    """Counts as the pairs pass."""

    def __init__(self, method: str, sentences: Sequence[Sentence], units: str) -> None:
        self.method, self.sentences, self.units = method, len(sentences), units
        self.pairs, self.zero, self.total, self.repeated = 0, 0, 0.0, 0
        self.paired: set[str] = set()
        self.fields = Counter((s.field, s.others) for s in sentences if s.others)

    def distinct(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences without those that repeat an earlier one: matched with it they would be no pair to judge."""
        first: dict[str, Sentence] = {}
        for sentence in sentences:
            first.setdefault(sentence.key, sentence)
        self.repeated = len(sentences) - len(first)
        return list(first.values())

    def watch(self, made: Iterable[Made], source: str) -> Iterator[Example]:
        """Examples of the pairs, numbered; two that are the same sentence are no pair."""
        for first, second, facts in made:
            if first.key == second.key:
                self.repeated += 1
                continue
            self.pairs += 1
            self.paired |= {first.name, second.name}
            score = facts.get("rouge")
            if isinstance(score, float):
                self.zero += score == 0
                self.total += score
            yield self._example(first, second, facts, source)

    def _example(
        self, first: Sentence, second: Sentence, facts: dict[str, object], source: str
    ) -> Example:
        common = (key for key, value in first.meta.items() if second.meta.get(key) == value)
        kept = {key: first.meta[key] for key in common if key not in PLACE}
        parents = tuple(dict.fromkeys(f"{source}/{s.name}" for s in (first, second)))
        return Example(
            id=f"{self.method}-{self.pairs}",
            inputs={"sentence1": first.text, "sentence2": second.text},
            meta={**kept, "pairing": self.method, **facts},
            origin=Origin(recipe="pair", step=self.method, parents=parents),
        )

    def report(self, out: Path | None) -> PairReport:
        """The counts."""
        greedy = self.method.startswith("greedy")
        return PairReport(
            method=self.method,
            sentences=self.sentences,
            pairs=self.pairs,
            paired=len(self.paired),
            left=self.sentences - len(self.paired) - (self.repeated if greedy else 0),
            repeated=self.repeated,
            mean=self.total / self.pairs if greedy and self.pairs else None,
            zero=self.zero if greedy else None,
            out=None if out is None else str(out),
            notes=tuple(self._notes(greedy)),
        )

    def _notes(self, greedy: bool) -> Iterator[str]:
        for (field, others), count in self.fields.items():
            yield f"of {count:,} records {field} was taken as the sentence, not {listed(others)}"
        if self.repeated:
            what = (
                "sentences were left out: they repeat another one"
                if greedy
                else "pairs were left out: both sentences are the same"
            )
            yield f"{self.repeated:,} {what}"
        if greedy and self.pairs and self.zero > FEW * self.pairs:
            cure = (
                "; text without blanks needs --units characters, or an analyser's (ja, ko, …)"
                if self.units == "words"
                else ""
            )
            yield f"{self.zero:,} of {self.pairs:,} pairs share no unit, so only their order paired them{cure}"
