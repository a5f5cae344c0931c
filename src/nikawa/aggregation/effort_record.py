"""What a project says about the items that it stopped asking about: a file next to its exported judgements.

Gold of few answers is worth as much as the rule that stopped asking, so the rule and the reason of each item travel with the judgements:
`nikawa collect export` writes `FILE.effort.json`, `nikawa aggregate` reads it, and cards and lineages say what it has.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from nikawa.aggregation.effort import EffortPlan, EffortRule
from nikawa.io.json import read_json
from nikawa.records import Record

WORDS = {
    "too few": "has fewer persons than planned",
    "pilot": "of the pilot, has fewer persons than planned",
    "not sure": "not sure yet",
    "waits": "answers are under way",
    "budget": "the budget is spent",
    "settled": "further answers cannot change the gold",
    "sure": "among the items whose gold further answers are least likely to change",
    "most": "has all persons",
}


class StoppedItem(Record, frozen=True):
    """What is known of one item."""

    persons: int
    """Persons who answered."""
    reason: str
    """As `ItemEffort.reason`."""
    same: float | None = None
    """The probability that its gold is that of `most` persons."""


class EffortRecord(Record, frozen=True, kw_only=True):
    """The rule of a project, and how far each item got."""

    question: str
    most: int
    least: int
    same: float
    tolerance: float | None = None
    """Of a scale."""
    pilot: int = 0
    budget: int | None = None
    machines: bool = False
    items: dict[str, StoppedItem]

    @classmethod
    def of_plan(cls, plan: EffortPlan, rule: EffortRule) -> EffortRecord:
        """What a plan says."""
        return cls(
            question=plan.question,
            most=rule.most,
            least=rule.least,
            same=rule.same,
            tolerance=rule.tolerance if plan.kind == "numbers" else None,
            pilot=rule.pilot,
            budget=rule.budget,
            machines=rule.machines,
            items={
                item.example: StoppedItem(
                    item.persons, item.reason, None if item.same is None else round(item.same, 4)
                )
                for item in sorted(plan.items, key=lambda item: item.example)
            },
        )

    def describe(self) -> str:
        """A paragraph for the card."""
        items = self.items.values()
        answers = sum(item.persons for item in items)
        few = sum(item.persons < self.most for item in items)
        going = sum(item.reason not in ("settled", "sure", "most") for item in items)
        known = [item.same for item in items if item.same is not None]
        gold = f"the gold of {self.most} persons"
        if self.tolerance is not None:
            gold += f", to within {self.tolerance:g}"
        parts = [
            f"Persons were asked adaptively: {self.least} to {self.most} for each item, until {self.same:.2%} of the items are expected"
            f" to have {gold} ({self.question})",
            f"{few:,} of {len(items):,} items have fewer than {self.most} persons",
            f"{answers:,} answers were bought instead of {self.most * len(items):,}",
        ]
        if known:
            share = sum(known) / len(known)
            parts.append(f"by the model, {share:.2%} of the answered items have {gold}")
        if self.machines:
            parts.append("answers of machines counted towards being sure")
        if going:
            parts.append(f"{going:,} items were not done")
        return "; ".join(parts) + "."

    def describe_item(self, item: str) -> str:
        """Why an item has as many answers as it has; empty where nothing is known of it."""
        one = self.items.get(item)
        if one is None:
            return ""
        chance = "" if one.same is None else f", same gold with probability {one.same:.3f}"
        return f"{one.persons} of at most {self.most} persons: {WORDS.get(one.reason, one.reason)}{chance}"


def effort_file(judgements: Path) -> Path:
    """Where the record of a file of judgements is.

    >>> effort_file(Path("round1.jsonl")).name
    'round1.jsonl.effort.json'
    """
    return judgements.with_name(f"{judgements.name}.effort.json")


def read_effort(judgements: Path | None) -> EffortRecord | None:
    """The record next to a file of judgements; None without one."""
    if judgements is None or not (path := effort_file(judgements)).is_file():
        return None
    return read_json(path, EffortRecord)


def encode_effort(record: EffortRecord) -> bytes:
    """The content of the file."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
