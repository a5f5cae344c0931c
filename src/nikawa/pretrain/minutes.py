"""How many steps fit into minutes: by what a step and a look take, and once more by what they turn out to take."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from nikawa.pretrain.settings import TrainSettings

RESERVE = 0.04
"""Share of the minutes kept for states and the end; on a card for looks too, which take next to nothing there."""
LOOKED = 0.1
"""Share of the minutes that looks at held-out text may take on a processor; there is always one, at the end."""
MEASURED = 0.03
"""Share of the minutes in which a processor's steps of one length are timed."""
TRIED, LATEST = 0.05, 0.15
"""Shares of the minutes after which steps are compared with the plan, and from which on it stays as it is."""
OFF = 0.1
"""By how much of its time a step may differ from what was measured before the plan is made anew."""


@dataclass(frozen=True)
class Budget:
    """Minutes since `began`, and what is known of steps and looks."""

    settings: TrainSettings
    began: float
    spent: dict[int, float]
    """Seconds of a step by the length of its windows."""
    look: float = 0.0
    """Seconds of a look."""

    @property
    def seconds(self) -> float:
        """All there is."""
        return self.settings.minutes * 60

    @property
    def each(self) -> float:
        """Seconds of a step, as the lengths share them."""
        return sum(
            share * self.spent[length] for length, share in self.settings.lengths if share > 0
        )

    def left(self) -> float:
        """Seconds until the last step must be done."""
        return self.seconds * (1 - RESERVE) - (time.perf_counter() - self.began)

    def looks(self) -> int:
        """How often the held-out text is looked at."""
        if self.look <= 0:
            return self.settings.looks
        return max(1, min(self.settings.looks, int(self.seconds * LOOKED / self.look)))

    def steps(self) -> int:
        """Steps that fit; less than one is told by 0."""
        return max(0, int((self.left() - self.looks() * self.look) / self.each))

    def corrected(self, length: int, seconds: float, steps: int) -> Budget | None:
        """The same by steps that were made in earnest; None where they took about what was expected, or too long to begin anew."""
        scale = seconds / steps / self.spent[length]
        if abs(scale - 1) <= OFF or seconds > LATEST * self.seconds:
            return None
        spent = {known: each * scale for known, each in self.spent.items()}
        return replace(self, spent=spent, look=self.look * scale)
