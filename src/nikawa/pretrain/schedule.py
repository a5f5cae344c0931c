"""The schedule of a training: which step has which length, when held-out text is evaluated, how many steps fit into minutes.

A budget of minutes goes by what a step and an evaluation take when they are timed, and once more by what they turn out to take.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from nikawa.pretrain.settings import TrainSettings

RESERVED_SHARE = 0.04
"""Share of the minutes kept for checkpoints and the end; on a GPU for evaluations too, which take next to nothing there."""
EVALUATION_SHARE = 0.1
"""Share of the minutes that evaluations on held-out text may take on a CPU; there is always one, at the end."""
TIMING_SHARE = 0.03
"""Share of the minutes in which a CPU's steps of one length are timed."""
CHECKED_SHARE, MAX_RESTART_SHARE = 0.05, 0.15
"""Shares of the minutes after which steps are compared with the schedule, and from which on it stays as it is."""
MAX_DEVIATION = 0.1
"""By how much of its time a step may differ from what was timed before the schedule is made anew."""


@dataclass(frozen=True)
class Phase:
    """Steps `first` up to `end` with windows of one length."""

    length: int
    first: int
    end: int


class Schedule:
    """The steps of a training, once their number is known."""

    def __init__(self, settings: TrainSettings, total: int) -> None:
        self.phases: list[Phase] = []
        share, first = 0.0, 0
        for length, part in settings.lengths:
            share += part
            end = round(total * min(1.0, share))
            if end > first:
                self.phases.append(Phase(length, first, end))
            first = end
        count = max(1, settings.looks)
        evaluations = {round(total * i / count) for i in range(1, count + 1)}
        self.evaluations = sorted(evaluations | {total})
        """Numbers of steps after which held-out text is evaluated."""

    def phase(self, step: int) -> Phase:
        """The phase a step belongs to."""
        return next(phase for phase in self.phases if step < phase.end)

    def next_evaluation(self, done: int) -> int:
        """The number of steps after which the next evaluation is due."""
        return next(step for step in self.evaluations if step > done)


@dataclass(frozen=True)
class Budget:
    """Minutes since `began`, and what is known of steps and evaluations."""

    settings: TrainSettings
    began: float
    step_seconds: dict[int, float]
    """Seconds of a step by the length of its windows."""
    evaluation_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """All there is."""
        return self.settings.minutes * 60

    @property
    def mean_step_seconds(self) -> float:
        """Seconds of a step, as the lengths share them."""
        total = 0.0
        for length, share in self.settings.lengths:
            if share > 0:
                total += share * self.step_seconds[length]
        return total

    def seconds_left(self) -> float:
        """Seconds until the last step must be done."""
        return self.seconds * (1 - RESERVED_SHARE) - (time.perf_counter() - self.began)

    def evaluations(self) -> int:
        """How often held-out text is evaluated."""
        if self.evaluation_seconds <= 0:
            return self.settings.looks
        fitting = int(self.seconds * EVALUATION_SHARE / self.evaluation_seconds)
        return max(1, min(self.settings.looks, fitting))

    def steps(self) -> int:
        """Steps that fit; 0 where not even one does."""
        seconds = self.seconds_left() - self.evaluations() * self.evaluation_seconds
        return max(0, int(seconds / self.mean_step_seconds))

    def correct(self, length: int, seconds: float, steps: int) -> Budget | None:
        """The same by steps that were made in earnest; None where they took about what was expected, or too long to begin anew."""
        scale = seconds / steps / self.step_seconds[length]
        if abs(scale - 1) <= MAX_DEVIATION or seconds > MAX_RESTART_SHARE * self.seconds:
            return None
        return replace(
            self,
            step_seconds={known: each * scale for known, each in self.step_seconds.items()},
            evaluation_seconds=self.evaluation_seconds * scale,
        )
