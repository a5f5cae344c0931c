"""The states of a dialogue, one after each turn of the user: agreement, votes turn by turn and slot by slot, decisions.

An answer is a list of states, each a list of `domain-slot-value`. Of each pair of workers, weighed by 1 / (m - 1) with m the
answers about the dialogue, so that every answer weighs alike, and over the turns of all dialogues:

    joint-goal       1 where the two states are the same
    state-f1         F1 of their entries: 2 |a & b| / (|a| + |b|), 1 where both are empty
    change-f1        F1 of what changed since the turn before, of all turns of a dialogue together
    dialogues-equal  1 where all states of the dialogue are the same

A state repeats earlier requests, so one slot that a worker misses counts in every later turn; `change-f1` counts it once.
These are not corrected for chance. `alpha-slots` is: Krippendorff's nominal alpha, whose units are the turns of a dialogue
times the slots that any of its workers named in it, with the value or none. Resamples draw whole dialogues.

In votes each slot of each turn counts by itself: more than half of the workers (`votes:K`: K of them) must agree on its value, or
that it has none. Else the slot is open, and the dialogue tied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.measure import NOMINAL, AnyMeasure, SummedMeasure, ratio_of_sums
from nikawa.aggregation.rules import Step
from nikawa.aggregation.structures import (
    AnswerKind,
    Outcome,
    Structured,
    structures_by_item,
    votes_needed,
)
from nikawa.aggregation.table import Table
from nikawa.aggregation.tree_agreement import alpha_of_units
from nikawa.io.ontology import split_entry

Values = dict[str, str]
"""The value of each slot."""
MAX_SHOWN = 5
"""Open slots that a line names."""


class States(Structured, frozen=True):
    """The states of a dialogue, each in the order of its entries."""

    turns: tuple[tuple[str, ...], ...]

    @property
    def values(self) -> list[Values]:
        """The value of each slot, turn by turn."""
        return [dict(map(split_entry, state)) for state in self.turns]

    def __str__(self) -> str:
        return msgspec.json.encode(self.turns).decode()


def entry_f1(one: Iterable[Any], other: Iterable[Any]) -> float:
    """F1 of two sets.

    >>> entry_f1({"a", "b"}, {"b", "c"}), entry_f1((), ())
    (0.5, 1.0)
    """
    first, second = set(one), set(other)
    size = len(first) + len(second)
    return 2 * len(first & second) / size if size else 1.0


def list_changes(states: States) -> set[tuple[int, str, str]]:
    """Turn, slot and new value of everything that changes; the value is empty where a slot has none any more."""
    changes = set()
    for turn, (before, now) in enumerate(pairwise([{}, *states.values])):
        for slot in before.keys() | now.keys():
            if before.get(slot) != now.get(slot):
                changes.add((turn, slot, now.get(slot, "")))
    return changes


class DialogueStates(AnswerKind):
    """States of dialogues."""

    name = "states of dialogues"
    heading = "Slots"
    score = "state-f1"
    remark = "joint-goal, state-f1, change-f1 and dialogues-equal are not corrected for chance; alpha-slots is. A slot that one worker misses counts in every later turn, except in change-f1."
    answer_type = States
    decision_cure = 'write the states of all turns of the user as JSON: [["hotel-area-east"], ["hotel-area-east"]]'

    def read(self, value: Any) -> States | None:
        """The states of a list of lists of texts."""
        if isinstance(value, States):
            return value
        if not isinstance(value, list | tuple) or not value:
            return None
        for state in value:
            is_list = isinstance(state, list | tuple)
            if not is_list or not all(isinstance(entry, str) for entry in state):
                return None
        for turn, state in enumerate(value, start=1):
            slots = [split_entry(entry)[0] for entry in state]
            if not all(slots):
                odd = state[slots.index("")]
                raise ValueError(f"state {turn}: {odd!r} is not domain-slot-value")
            if len(set(slots)) < len(slots):
                slot = next(slot for slot in slots if slots.count(slot) > 1)
                raise ValueError(f"state {turn} has the slot {slot!r} twice")
        return States(tuple(tuple(sorted(state)) for state in value))

    def find_table_fault(self, table: Table) -> str:
        """Workers who saw another number of turns of the same dialogue."""
        for item, answers in zip(table.items, structures_by_item(table), strict=True):
            counts = {len(answer.turns) for answer in answers}
            if len(counts) > 1:
                return f"the answers about {item!r} have {min(counts)} and {max(counts)} states"
        return ""

    def measures(self, table: Table) -> Iterator[AnyMeasure]:
        """Equal states, F1 of slots and of changes, equal dialogues, and alpha over slots."""
        statistics = {
            name: np.zeros((len(table.items), 2))
            for name in ("joint-goal", "state-f1", "change-f1", "dialogues-equal")
        }
        for row, answers in enumerate(structures_by_item(table)):
            for one, other in combinations(answers, 2):
                weight, turns = 1 / (len(answers) - 1), len(one.turns)
                pairs = list(zip(one.turns, other.turns, strict=True))
                sums = {
                    "joint-goal": (sum(a == b for a, b in pairs), turns),
                    "state-f1": (sum(entry_f1(a, b) for a, b in pairs), turns),
                    "change-f1": (entry_f1(list_changes(one), list_changes(other)), 1),
                    "dialogues-equal": (one == other, 1),
                }
                for name, sum_and_count in sums.items():
                    statistics[name][row] += weight * np.array(sum_and_count)
        for name, table_of_sums in statistics.items():
            yield SummedMeasure(name, NOMINAL, table_of_sums, ratio_of_sums)
        yield slot_alpha(table)

    def count_parts(self, answer: States) -> Iterable[str]:
        """The slot of each entry."""
        return (slot for state in answer.values for slot in state)

    def vote(self, answers: Sequence[States], decider: Step) -> Outcome:
        """The value of each slot of each turn that has enough votes."""
        needed = votes_needed(decider, len(answers))
        gold = []
        for values in zip(*(answer.values for answer in answers), strict=True):
            state = []
            for slot in dict.fromkeys(slot for worker in values for slot in worker):
                best, votes = Counter(worker.get(slot, "") for worker in values).most_common(1)[0]
                if votes < needed:
                    return Outcome(None, "tied" if decider.name == "majority" else "dropped")
                if best:
                    state.append(f"{slot}-{best}")
            gold.append(sorted(state))
        return Outcome(gold, "accepted")

    def support(self, gold: Any, answers: Sequence[States]) -> float:
        """The mean share of workers behind the slots of the gold, or behind empty states where it has no slot."""
        right = self.read(gold)
        assert right is not None
        entries = [(turn, entry) for turn, state in enumerate(right.turns) for entry in state]
        if not entries:
            return sum(answer == right for answer in answers) / len(answers)
        votes = sum(entry in answer.turns[turn] for answer in answers for turn, entry in entries)
        return votes / (len(entries) * len(answers))

    def closeness(self, one: States, other: States) -> float:
        """Mean F1 of the entries of a turn."""
        pairs = list(zip(one.turns, other.turns, strict=False))
        turns = max(len(one.turns), len(other.turns))
        return sum(entry_f1(a, b) for a, b in pairs) / turns

    def read_decided(self, answer: Any) -> list[list[str]]:
        """The states that a person decided on, as a list or JSON."""
        if isinstance(answer, str):
            try:
                answer = msgspec.json.decode(answer)
            except msgspec.DecodeError:
                raise ValueError("it is not JSON") from None
        read = self.read(answer)
        if read is None:
            raise ValueError("it is not a list of states")
        return [list(state) for state in read.turns]

    def shares(self, answers: Sequence[States]) -> dict[str, float]:
        """The share of workers behind each entry, by turn: `2 hotel-area-east`."""
        counts = Counter(
            (turn, entry)
            for answer in answers
            for turn, state in enumerate(answer.turns, start=1)
            for entry in state
        )
        return {
            f"{turn} {entry}": round(votes / len(answers), 6)
            for (turn, entry), votes in sorted(counts.items())
        }

    def format_votes(self, answers: Sequence[States]) -> str:
        """The slots on which workers differ: `turn 2 hotel-area: east 1, west 1; of 2`."""
        if not answers:
            return "no answers"
        parts = []
        for turn, values in enumerate(
            zip(*(answer.values for answer in answers), strict=True), start=1
        ):
            for slot in dict.fromkeys(slot for worker in values for slot in worker):
                counts = Counter(worker.get(slot, "") for worker in values)
                if len(counts) > 1:
                    votes = [f"{value or 'no value'} {n}" for value, n in counts.most_common()]
                    parts.append(f"turn {turn} {slot}: {', '.join(votes)}")
        more = [f"{len(parts) - MAX_SHOWN} more"] if len(parts) > MAX_SHOWN else []
        return "; ".join([*(parts[:MAX_SHOWN] or ["all equal"]), *more, f"of {len(answers)}"])


def slot_alpha(table: Table) -> AnyMeasure:
    """Nominal alpha with the slots of the turns as units, resampled by dialogue."""
    slots: list[dict[str, None]] = [{} for _ in table.items]
    rows = list(zip(table.item.tolist(), table.worker.tolist(), table.answer.tolist(), strict=True))
    for item, _, answer in rows:
        for state in table.categories[answer].values:
            slots[item].update(dict.fromkeys(state))
    units: list[tuple[int, Any]] = []
    workers: list[int] = []
    values: list[str] = []
    for item, worker, answer in rows:
        for turn, state in enumerate(table.categories[answer].values):
            for slot in slots[item]:
                units.append((item, (turn, slot)))
                workers.append(worker)
                values.append(state.get(slot, ""))
    return alpha_of_units("alpha-slots", table, units, workers, values)


DIALOGUE_STATES = DialogueStates()
