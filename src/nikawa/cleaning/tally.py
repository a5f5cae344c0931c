"""Counts of what each step changed and removed, with the first few examples; parts add up in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from nikawa.cleaning.base import Edit

EXAMPLES = 3
AROUND = 12
SHOWN = 60


@dataclass
class Count:
    """What one step did."""

    changed: int = 0
    removed: int = 0
    examples: list[str] = field(default_factory=list)


class Tally:
    """Step to its count."""

    def __init__(self) -> None:
        self.counts: dict[str, Count] = {}

    def of(self, step: str) -> Count:
        """The count of a step; of one that did nothing, zeros."""
        return self.counts.get(step, Count())

    def change(self, step: str, before: str, after: str, edit: Edit | None = None) -> None:
        """One text changed."""
        count = self.counts.setdefault(step, Count())
        count.changed += 1
        if edit is not None and len(count.examples) < EXAMPLES:
            count.examples.append(_around(before, edit))

    def remove(self, step: str, text: str) -> None:
        """One text removed."""
        count = self.counts.setdefault(step, Count())
        count.removed += 1
        if len(count.examples) < EXAMPLES:
            count.examples.append(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…")

    def add(self, other: Tally) -> None:
        """Take over the counts of a later part."""
        for step, theirs in other.counts.items():
            ours = self.counts.setdefault(step, Count())
            ours.changed += theirs.changed
            ours.removed += theirs.removed
            ours.examples += theirs.examples[: EXAMPLES - len(ours.examples)]


def _around(text: str, edit: Edit) -> str:
    """The place of an edit: what goes in brackets of its own, what comes behind an arrow."""
    start, end, new = edit
    gone = text[start:end] if end - start <= SHOWN else f"{text[start : start + SHOWN - 1]}…"
    shown = f"{text[max(0, start - AROUND) : start]}⟦{gone}→{new}⟧{text[end : end + AROUND]}"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
