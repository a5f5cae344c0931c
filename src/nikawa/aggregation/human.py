"""A human baseline from the judgements themselves: each answer against the gold that the item's other answers make.

Leaving one answer out needs no identity: it works where workers are columns too, though then there is no figure a
worker. Where the other answers are tied there is no gold to hold it against: without those answers the baseline errs
high, as they are on the hard items; with the tie drawn by lot it errs low, as the gold is then half a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from nikawa.errors import BadInput
from nikawa.records import Judgement, Span

Combine = Callable[[Sequence[Any]], Any]
"""The gold of some answers; None where they do not settle on one."""


@dataclass(frozen=True)
class LeftOut:
    """Every answer that could be held against the rest, side by side."""

    gold: list[Any]
    answers: list[Any]
    examples: list[str]
    workers: list[str]
    tied: list[bool]
    """Whether the rest was tied, so that its gold was drawn."""
    alone: int = 0
    """Items with a single answer."""

    def untied(self) -> list[int]:
        """The places of the answers whose rest has a gold of its own."""
        return [place for place, tied in enumerate(self.tied) if not tied]


def leave_one_out(judgements: Iterable[Judgement], combine: Combine) -> LeftOut:
    """Hold each answer against the gold of the others about the same item; ties are drawn, and marked."""
    items: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        if judgement.answer is not None:
            items.setdefault(judgement.example, []).append(judgement)
    if not items:
        raise BadInput("there are no judgements", cure="check the question")
    found = LeftOut([], [], [], [], [], sum(len(given) == 1 for given in items.values()))
    for given in items.values():
        answers = [judgement.answer for judgement in given]
        for place, judgement in enumerate(given if len(given) > 1 else ()):
            rest = [*answers[:place], *answers[place + 1 :]]
            gold = combine(rest)
            found.tied.append(gold is None)
            found.gold.append(lot(rest, f"{judgement.example}/{place}") if gold is None else gold)
            found.answers.append(judgement.answer)
            found.examples.append(judgement.example)
            found.workers.append(judgement.worker)
    if not found.gold:
        raise BadInput("no item has two answers", cure="let several workers judge the same items")
    return found


def lot(answers: Sequence[Any], key: str) -> Any:
    """One of the answers that share the lead; which, depends on the key alone."""
    counts = Counter(answers)
    tied = sorted((a for a, n in counts.items() if n == max(counts.values())), key=str)
    return tied[crc32(key.encode()) % len(tied)]


def most(answers: Sequence[Any]) -> Any:
    """The answer most workers gave; None for a tie."""
    ranked = Counter(answers).most_common(2)
    return None if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def mean(answers: Sequence[float]) -> float:
    """The mean."""
    return sum(answers) / len(answers)


def texts(answers: Sequence[str]) -> list[dict[str, Any]]:
    """The others' texts, each of them a right answer (as JSQuAD measures people)."""
    return [{"text": answer, "start": 0} for answer in answers if answer]


def by_half(answers: Sequence[Iterable[Any]]) -> list[Any]:
    """Of answers that are sets (spans, states): the elements that at least half of the others gave."""
    found = Counter(element for answer in answers for element in dict.fromkeys(map(_whole, answer)))
    return [element for element, votes in found.items() if votes * 2 >= len(answers)]


def _whole(element: Any) -> Any:
    return Span(**element) if isinstance(element, dict) else element


COMBINE: dict[str, Combine] = {
    "text": most,
    "inference": most,
    "choice": most,
    "relation": most,
    "similarity": mean,
    "reading": texts,
    "tagging": by_half,
    "dialogue": by_half,
}
"""How answers become gold, by kind of task; trees have no such rule here."""


def combine_for(kind: str) -> Combine:
    """The rule of a kind of task."""
    if kind not in COMBINE:
        cure = f"these have: {', '.join(COMBINE)}"
        raise BadInput(f"there is no rule that makes gold of several {kind} answers", cure=cure)
    return COMBINE[kind]
