"""What is counted while an operation passes over examples, and the report of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from nikawa.perturbation import Perturbation
from nikawa.records import Example, Record
from nikawa.text import Analyser

SAMPLES = 3
"""Rewritten texts kept for a person to look at, an operation."""
UNABLE = "the parts that would change are not there"
"""Why an example is skipped that was taken for eligible."""


class Sample(Record, frozen=True, kw_only=True):
    """One rewritten text."""

    example: str
    before: str
    after: str


class Operated(Record, frozen=True, kw_only=True):
    """What one operation did."""

    operation: str
    effect: str
    examples: int
    eligible: int
    """All of them where eligibility was assumed."""
    rewritten: int
    skipped: int
    reasons: dict[str, int]
    """Why examples were skipped, the most frequent first."""
    samples: tuple[Sample, ...]


@dataclass
class Tally:
    """Counts of one operation, filled while its examples pass."""

    perturbation: Perturbation
    examples: int = 0
    eligible: int = 0
    rewritten: int = 0
    samples: tuple[Sample, ...] = ()
    reasons: Counter[str] = field(default_factory=Counter)

    def counted(self) -> Perturbation:
        """The operation, counting what it finds eligible and why the others are not."""
        why = self.perturbation.why or _untold(self.perturbation)

        def eligible(example: Example, analyser: Analyser) -> bool:
            reason = why(example, analyser)
            self.eligible += not reason
            self.reasons.update([reason] if reason else [])
            return not reason

        return replace(self.perturbation, eligible=eligible)

    def saw(self, child: Example) -> None:
        """Count a rewritten example."""
        self.rewritten += 1
        if len(self.samples) < SAMPLES:
            name = str(child.meta["changed_inputs"]).partition("+")[0]
            before, after = str(child.meta[f"original_{name}"]), str(child.inputs[name])
            if all(before != sample.before for sample in self.samples):
                self.samples += (Sample(example=child.id, before=before, after=after),)

    def report(self, assumed: bool) -> Operated:
        """The counts."""
        skipped = self.examples - self.rewritten
        unable = skipped - self.reasons.total()
        reasons = self.reasons + Counter({UNABLE: unable})
        return Operated(
            operation=self.perturbation.name,
            effect=self.perturbation.effect,
            examples=self.examples,
            eligible=self.examples if assumed else self.eligible,
            rewritten=self.rewritten,
            skipped=skipped,
            reasons=dict(reasons.most_common()),
            samples=self.samples,
        )


def _untold(perturbation: Perturbation) -> Callable[[Example, Analyser], str]:
    return lambda example, analyser: (
        "" if perturbation.eligible(example, analyser) else "not eligible"
    )
