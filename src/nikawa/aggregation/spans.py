"""Votes on spans: each span by itself, however many an answer holds.

`majority` keeps the spans that more than half of an item's workers marked just so (start, end and label), `votes:K` those
that K did. An item is tied where exactly half marked a span, or where spans that no worker marked together overlap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.rules import Rule, Step
from nikawa.aggregation.span_agreement import Mark, Marks, by_item, equal, marks_in
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput
from nikawa.records import Span

NONE = "none"
"""How a sheet says that nothing is to be marked."""
CURE = "write 0-3:PS, 5-7:LC (start, end, label), or none"
_WRITTEN = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*(?::\s*([^,]*?)\s*)?")
Flags = NDArray[np.bool_]


def need_votes(rule: Rule, prefer: bool) -> None:
    """Refuse what makes no gold of spans."""
    odd = [
        step.text
        for step in (rule.decider, *rule.steps)
        if step.name not in ("majority", "votes", "min")
    ]
    if odd or rule.first:
        what = f"the rule {rule.text!r}: {odd[0] if odd else 'first'!r} is not for spans"
        raise BadInput(
            what,
            cure="spans are voted on one by one: majority, votes:2/3 or votes:2, +min:3 if need be",
        )
    if prefer:
        raise BadInput(
            "a tie between spans prefers no label", cure="say --ties drop or --ties adjudicate"
        )


def vote(table: Table, decider: Step) -> tuple[list[Marks], Flags, Flags]:
    """Of each item the spans with enough votes, whether its answers suffice to tell, and whether it is tied."""
    gold, enough, tied = [], [], []
    for given in by_item(table):
        counts = Counter(mark for marks in given for mark in marks)
        kept = tuple(sorted(mark for mark, n in counts.items() if _wins(n, len(given), decider)))
        gold.append(kept)
        enough.append(decider.name == "majority" or _settled(counts, len(given), decider))
        even = decider.name == "majority" and any(2 * n == len(given) for n in counts.values())
        tied.append(even or _at_odds(kept, given))
    return gold, np.array(enough, dtype=np.bool_), np.array(tied, dtype=np.bool_)


def _wins(votes: int, given: int, decider: Step) -> bool:
    return 2 * votes > given if decider.name == "majority" else votes >= decider.number


def _settled(counts: Counter[Mark], given: int, decider: Step) -> bool:
    """With `/N`: of no more than N answers, and of fewer only if the missing ones could bring no further span."""
    if decider.of is None:
        return True
    missing = decider.of - given
    return missing >= 0 and all(
        n >= decider.number or n + missing < decider.number for n in (*counts.values(), 0)
    )


def _at_odds(kept: Marks, given: Sequence[Marks]) -> bool:
    """Whether spans overlap that no worker marked together."""
    return any(
        one[1] > other[0] and not any(one in marks and other in marks for marks in given)
        for one, other in combinations(kept, 2)
    )


def strengths(table: Table, gold: Sequence[Marks]) -> Floats:
    """Of each item the mean share of workers who marked a span of its gold; 0 where it holds none."""
    found = np.zeros(len(gold))
    for place, (marks, given) in enumerate(zip(gold, by_item(table), strict=True)):
        if marks:
            found[place] = sum(equal(marks, theirs) for theirs in given) / (len(marks) * len(given))
    return found


def support(given: Sequence[Marks]) -> dict[Mark, int]:
    """How many workers marked each span of an item, the most first."""
    counts = Counter(mark for marks in given for mark in marks)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def rest_f1(table: Table) -> Floats:
    """F1 of each worker's spans against the others' about the same items, every answer of theirs weighed alike."""
    shared, size = np.zeros(len(table.workers)), np.zeros(len(table.workers))
    workers: list[list[int]] = [[] for _ in table.items]
    for item, worker in zip(table.item.tolist(), table.worker.tolist(), strict=True):
        workers[item].append(worker)
    for who, given in zip(workers, by_item(table), strict=True):
        for (a, one), (b, other) in combinations(zip(who, given, strict=True), 2):
            both, marked = (
                2 * equal(one, other) / (len(given) - 1),
                (len(one) + len(other)) / (len(given) - 1),
            )
            for worker in (a, b):
                shared[worker] += both
                size[worker] += marked
    return np.where(size > 0, shared / np.where(size > 0, size, 1.0), np.nan)


def written(mark: Mark) -> str:
    """`0-3:PS`."""
    start, end, label = mark
    return f"{start}-{end}:{label}" if label else f"{start}-{end}"


def read_written(text: str) -> Marks:
    """What a person wrote into a sheet: `0-3:PS, 5-7:LC`, or `none`; or a program: JSON."""
    if text.lstrip().startswith("["):
        return _decoded(text)
    if text.strip().casefold() == NONE:
        return ()
    found = [_WRITTEN.fullmatch(part) for part in text.split(",")]
    marks = tuple(sorted({(int(m[1]), int(m[2]), m[3] or "") for m in found if m is not None}))
    if None in found or any(start >= end for start, end, _ in marks):
        raise BadInput(f"the answer {text!r} is no list of spans", cure=CURE)
    return marks


def _decoded(text: str) -> Marks:
    try:
        spans = msgspec.json.decode(text, type=list[Span])
    except msgspec.MsgspecError:
        raise BadInput(f"the answer {text!r} is no list of spans", cure=CURE) from None
    return tuple(sorted({(span.start, span.end, span.label) for span in spans}))


def as_answer(value: Any) -> Any:
    """A known answer as a table of spans holds it: spans of any form, or what a sheet says."""
    if isinstance(value, str):
        return read_written(value)
    found = marks_in(value)
    return value if found is None else tuple(sorted(set(found)))
