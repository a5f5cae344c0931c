"""How natural a verb sounds with its nouns, and the sheet on which people decide about what remains doubtful.

The score is the mean over the cases of the smoothed PMI of verb and noun (see `frame_counts`), a noun listed in a frame of the
lexicon counting as `LISTED` observations. Nouns that share a frame line gain `TOGETHER` bits. Nouns that no line of the verb has
together fall below 0, because counts of single cases cannot tell that 壁にバターを塗った is odd, and so do verbs without a case that
all their frames have. Above 0 is natural.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from nikawa.errors import BadInput, suggest
from nikawa.generation.frame_counts import FrameCounts, Triple
from nikawa.generation.lexicon import Lexicon, load_lexicon
from nikawa.io.atomic import atomic_write
from nikawa.io.by_hand import read_rows
from nikawa.io.escapes import escape, unescape
from nikawa.records import Example, Record

LISTED = 10
TOGETHER = 3.0
NATURAL = 0.0
"""Scores above it pass `natural`."""
REASONS = ("semantically unnatural", "incomplete sentence", "grammatically unnatural")
"""Why a sentence is dropped, as JAMP's authors did (Table 4 of their paper)."""
DECISIONS = ("keep", "drop", "")
COLUMNS = ("id", "premise", "hypothesis", "score", "decision", "reason")


class Plausibility:
    """Scores of one lexicon. Give a `Lexicon`, the name of a shipped one, or a folder."""

    def __init__(self, lexicon: Lexicon | str | Path = "ja") -> None:
        self.lexicon = lexicon if isinstance(lexicon, Lexicon) else load_lexicon(lexicon)
        counts: Counter[Triple] = Counter(self.lexicon.counts.counts)
        for frame in self.lexicon.frames:
            for case, nouns in frame.nouns.items():
                for noun in nouns:
                    counts[frame.verb, case, noun] += LISTED
        self.counts = FrameCounts(counts)
        self._frames: dict[tuple[str, frozenset[str]], list[dict[str, frozenset[str]]]] = {}
        self._cases: dict[str, set[frozenset[str]]] = {}
        for frame in self.lexicon.frames:
            sets = {case: frozenset(nouns) for case, nouns in frame.nouns.items()}
            self._frames.setdefault((frame.verb, frozenset(sets)), []).append(sets)
            self._cases.setdefault(frame.verb, set()).add(frozenset(sets))

    def score(self, verb: str, nouns: Mapping[str, str]) -> float:
        """How natural the verb is with a noun in each case, in bits; 0 for a verb of which nothing is known."""
        if not nouns:
            return 0.0
        mean = sum(self.counts.pmi(verb, case, noun) for case, noun in nouns.items()) / len(nouns)
        fits = self._fits(verb, nouns)
        return mean if fits is None else mean + TOGETHER if fits else min(mean, 0.0) - TOGETHER

    def _fits(self, verb: str, nouns: Mapping[str, str]) -> bool | None:
        """Whether one line of the verb has all the nouns; None where the lines cannot tell."""
        lines = self._frames.get((verb, frozenset(nouns)))
        if lines is None:
            return False if self._incomplete(verb, nouns) else None
        if any(all(noun in line[case] for case, noun in nouns.items()) for line in lines):
            return True
        return False if len(nouns) > 1 else None

    def _incomplete(self, verb: str, nouns: Mapping[str, str]) -> bool:
        """Whether every frame of the verb has a case more than these."""
        known = self._cases.get(verb, ())
        return bool(known) and all(cases > frozenset(nouns) for cases in known)

    def natural(self, verb: str, nouns: Mapping[str, str], above: float = NATURAL) -> bool:
        """Whether the score lies above the line and no word is excluded."""
        excluded = self.lexicon.excluded
        return excluded.isdisjoint((verb, *nouns.values())) and self.score(verb, nouns) > above

    def reason(self, verb: str, nouns: Mapping[str, str]) -> str:
        """The likeliest of `REASONS` for a low score: a case the verb needs is missing, or the nouns do not fit."""
        return REASONS[1] if self._incomplete(verb, nouns) else REASONS[0]


@cache
def _shared(lexicon: str) -> Plausibility:
    return Plausibility(lexicon)


def score(verb: str, nouns: Mapping[str, str], lexicon: str = "ja") -> float:
    """The score by a shipped lexicon: score("読む", {"ヲ": "本"})."""
    return _shared(lexicon).score(verb, nouns)


class Decision(Record, frozen=True, kw_only=True):
    """What a person decided about one example."""

    id: str
    keep: bool
    reason: str = ""
    """One of `REASONS` where it was dropped."""


def export_review(
    examples: Iterable[Example],
    path: Path,
    *,
    score: Callable[[Example], float | None] | None = None,
    overwrite: bool = False,
) -> int:
    """Write a sheet with one row an example, the least plausible first, and say how many.

    The score is that of `score`, else the example's own `meta["plausibility"]`. People fill `decision` (keep or drop) and `reason`.
    """
    rows = [(_number(example, score), example) for example in examples]
    rows.sort(key=lambda row: (row[0] is None, row[0] or 0.0))
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(("\t".join(COLUMNS) + "\n").encode())
        for value, example in rows:
            stream.write(_row(value, example).encode())
    return len(rows)


def _number(example: Example, score: Callable[[Example], float | None] | None) -> float | None:
    value = score(example) if score else example.meta.get("plausibility")
    return float(value) if isinstance(value, int | float) else None


def _row(value: float | None, example: Example) -> str:
    texts = [str(example.inputs.get(name, "")) for name in ("premise", "hypothesis")]
    number = "" if value is None else f"{value:.2f}"
    return "\t".join((escape(example.id), *map(escape, texts), number, "", "")) + "\n"


def import_review(path: Path) -> list[Decision]:
    """The decisions of a sheet, in its order; rows without one are left out."""
    found: dict[str, tuple[int, Decision]] = {}
    for line, row in read_rows(path, ("id", "decision", "reason"), cut=True):
        decision = _decision(row, path, line)
        if decision is None:
            continue
        if decision.id in found:
            raise BadInput(
                f"{decision.id!r} was decided on line {found[decision.id][0]} already",
                file=path,
                line=line,
                cure="keep one of the two",
            )
        found[decision.id] = (line, decision)
    return [decision for _, decision in found.values()]


def _decision(row: dict[str, str], path: Path, line: int) -> Decision | None:
    said, reason = row["decision"].strip().lower(), row["reason"].strip().lower()
    if said not in DECISIONS:
        raise BadInput(
            f"the decision is {said!r}",
            file=path,
            line=line,
            cure="write keep or drop, or leave it empty",
        )
    if reason and reason not in REASONS:
        raise BadInput(
            f"the reason is {reason!r}", file=path, line=line, cure=suggest(reason, REASONS)
        )
    if said == "drop" and not reason:
        raise BadInput(
            "a row is dropped without a reason",
            file=path,
            line=line,
            cure=f"one of: {', '.join(REASONS)}",
        )
    if said != "drop" and reason:
        raise BadInput(
            "a reason stands without drop",
            file=path,
            line=line,
            cure="write drop, or clear the reason",
        )
    return Decision(id=unescape(row["id"]), keep=said == "keep", reason=reason) if said else None
