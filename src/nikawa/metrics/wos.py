"""Joint goal accuracy and slot F1 of Wizard of Seoul (KLUE-DST).

JGA: share of user turns whose set of `domain-slot-value` strings is right as a whole. The reference's "slot
micro F1" is the mean of an F1 a turn, not a micro average: `official` is that mean, `documented` adds the
counts of all turns up first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nikawa.metrics.base import (
    Additive,
    Floats,
    Items,
    Metric,
    Mode,
    f1,
    f1_of_item,
    from_sums,
    mean,
)

State = Sequence[str]


def joint_goal_accuracy(items: Items, mode: Mode = "official") -> Additive:
    """Share of turns whose whole state is right; 0 for no turns."""
    pairs = zip(items.gold, items.answers, strict=True)
    right = [answer is not None and set(gold) == set(answer) for gold, answer in pairs]
    return _zero_without_turns(mean(np.array(right, dtype=np.float64)))


def turn_counts(gold: State, answer: State) -> tuple[int, int, int]:
    """Right, wrong and missed slots of a turn; a slot given twice counts twice, as in the reference."""
    wanted, given = set(gold), set(answer)
    hits = sum(slot in given for slot in gold)
    return hits, sum(slot not in wanted for slot in answer), len(gold) - hits


def turn_f1(gold: State, answer: State | None) -> float:
    """F1 of one turn; 1 where both are empty, 0 where only the gold one is."""
    if answer is None:
        return 0.0
    if gold == answer:
        return 1.0
    if not gold:
        return float(not answer)
    hits, wrong, missed = turn_counts(gold, answer)
    return f1_of_item(hits, hits + wrong, hits + missed)


def slot_f1(items: Items, mode: Mode = "official") -> Additive:
    """Mean F1 of the turns, or F1 of all their slots together."""
    pairs = list(zip(items.gold, items.answers, strict=True))
    detail = np.array([turn_f1(g, a) for g, a in pairs])
    if mode == "official":
        return _zero_without_turns(mean(detail))
    sets = [(set(gold), set(answer or ())) for gold, answer in pairs]
    rows = [(len(wanted & given), len(given), len(wanted)) for wanted, given in sets]
    counts = np.array(rows, dtype=np.float64).reshape(-1, 3)

    def finish(sums: Floats) -> Floats:
        # nothing wanted and nothing answered is right, as it is within a turn
        hits, given, wanted = np.moveaxis(sums, -1, 0)
        return f1(hits, given, wanted, undefined=1.0)

    return from_sums(counts, finish, detail)


def _zero_without_turns(evaluation: Additive) -> Additive:
    """The reference calls the score of no turns 0."""
    return evaluation if len(evaluation.statistics) else replace(evaluation, value=0.0)


def golden_case(case: Sequence[dict[str, list[str]]]) -> dict[str, float]:
    """Both scores of a list of turns in percent."""
    items = Items([tuple(turn["gold"]) for turn in case], [tuple(turn["pred"]) for turn in case])
    return {
        "jga": joint_goal_accuracy(items).value * 100,
        "slot_micro_f1": slot_f1(items).value * 100,
    }


METRICS = (
    Metric(
        "jga",
        joint_goal_accuracy,
        "Share of turns whose whole state is correct.",
        kinds=("dialogue",),
    ),
    Metric(
        "slot-f1",
        slot_f1,
        "F1 of slots.",
        "The reference averages the F1 of each turn; the documented metric is the micro F1 that its name says.",
        kinds=("dialogue",),
    ),
)
GOLDEN = {"wos": golden_case}
