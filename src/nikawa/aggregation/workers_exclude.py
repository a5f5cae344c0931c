"""Leave workers out by rule, and say what each exclusion changes.

KLUE-STS left out who correlates below 0.80 with the others or has a nominal alpha below 0.20: `r<0.80`, `alpha<0.20`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nikawa.aggregation.rules import ACCEPTED, Ties, Verdicts, aggregate
from nikawa.aggregation.rules_parse import SIGNS, Rule
from nikawa.aggregation.table import Table
from nikawa.aggregation.workers import Quality
from nikawa.errors import BadInput, suggest
from nikawa.records import Record

FIGURES = ("r", "agreement", "alpha", "accuracy", "seconds", "longest_run", "answers")
_LIMIT = re.compile(r"([a-z_]+)\s*(<=|<|>=|>)\s*([-+.\de]+)")


@dataclass(frozen=True)
class Limit:
    """A figure of `Quality` and where it becomes a reason to leave a worker out."""

    text: str
    figure: str
    sign: str
    number: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """`r<0.80`, `alpha<0.20`, `seconds<2`, …"""
        found = _LIMIT.fullmatch(text.strip())
        if found is None or found[1] not in FIGURES:
            cure = suggest(re.split(r"[<>=]", text)[0].strip(), FIGURES)
            raise BadInput(f"{text!r} is no limit, as in r<0.80", cure=cure)
        return cls(text.strip(), found[1], found[2], float(found[3]))

    def hit(self, worker: Quality) -> bool:
        """Whether the worker is beyond it; an unknown figure is no reason."""
        value = getattr(worker, self.figure)
        return value is not None and bool(SIGNS[self.sign](value, self.number))


class Change(Record, frozen=True, kw_only=True):
    """What leaving out one worker, or all that are to be left out, does."""

    worker: str
    """Empty for all of them together."""
    why: tuple[str, ...]
    answers: int
    """Answers that are no longer counted."""
    answers_kept: int
    fewest: int
    """Answers the poorest item is left with, of those that had any."""
    changed: int
    """Items with another gold."""
    lost: int
    """Items that had gold and have none now."""
    gained: int
    mean_change: float | None = None
    """Of numbers: the mean absolute difference over items that have gold before and after."""


def to_exclude(workers: Sequence[Quality], limits: Sequence[Limit]) -> dict[str, tuple[str, ...]]:
    """Who is beyond a limit, and which; a limit on a figure that nobody has is refused."""
    for limit in limits:
        if all(getattr(worker, limit.figure) is None for worker in workers):
            cure = "r is of numbers, accuracy needs known answers, seconds need times, the others shared items"
            raise BadInput(f"no worker has the figure of {limit.text!r}", cure=cure)
    found = {w.worker: tuple(limit.text for limit in limits if limit.hit(w)) for w in workers}
    return {worker: why for worker, why in found.items() if why}


def without(table: Table, workers: Sequence[str]) -> Table:
    """The table less some workers' answers; items and codes stay."""
    gone = np.array([str(name) in set(workers) for name in table.workers], dtype=np.bool_)
    return table.select(~gone[table.worker])


def changes(
    table: Table, excluded: dict[str, tuple[str, ...]], rule: Rule, ties: Ties
) -> list[Change]:
    """What each exclusion would do alone, then all together."""
    before = aggregate(table, rule, ties)
    alone = [_change(before, worker, why, [worker]) for worker, why in excluded.items()]
    every = tuple(dict.fromkeys(reason for why in excluded.values() for reason in why))
    return [*alone, _change(before, "", every, list(excluded))] if excluded else []


def _change(before: Verdicts, worker: str, why: tuple[str, ...], gone: list[str]) -> Change:
    left = without(before.table, gone)
    after = aggregate(left, before.rule, before.ties)
    had, has = before.state == ACCEPTED, after.state == ACCEPTED
    both = had & has
    differs, mean = _compare(before, after, both)
    n = left.per_item()[before.table.per_item() > 0]
    return Change(
        worker=worker,
        why=why,
        answers=len(before.table) - len(left),
        answers_kept=len(left),
        fewest=int(n.min()) if len(n) else 0,
        changed=differs,
        lost=int((had & ~has).sum()),
        gained=int((has & ~had).sum()),
        mean_change=mean,
    )


def _compare(before: Verdicts, after: Verdicts, both: np.ndarray) -> tuple[int, float | None]:
    if before.label is not None and after.label is not None:
        return int((before.label != after.label)[both].sum()), None
    if before.marks is not None and after.marks is not None:
        pairs = zip(before.marks, after.marks, both.tolist(), strict=True)
        return sum(one != other for one, other, kept in pairs if kept), None
    assert before.value is not None
    assert after.value is not None
    apart = np.abs(before.value - after.value)[both]
    return int((apart > 1e-9).sum()), float(apart.mean()) if len(apart) else None
