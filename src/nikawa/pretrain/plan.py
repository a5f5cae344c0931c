"""Which step has which length, and after which the held-out text is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from nikawa.pretrain.settings import TrainSettings


@dataclass(frozen=True)
class Phase:
    """Steps `first` up to `end` with windows of one length."""

    length: int
    first: int
    end: int


class Plan:
    """The steps of a training, once their number is known."""

    def __init__(self, settings: TrainSettings, total: int) -> None:
        self.total = total
        self.phases: list[Phase] = []
        share, first = 0.0, 0
        for length, part in settings.lengths:
            share += part
            end = round(total * min(1.0, share))
            if end > first:
                self.phases.append(Phase(length, first, end))
            first = end
        wanted = max(1, settings.looks)
        self.looks = sorted({round(total * i / wanted) for i in range(1, wanted + 1)} | {total})

    def phase(self, step: int) -> Phase:
        """The phase a step belongs to."""
        return next(phase for phase in self.phases if step < phase.end)

    def next_look(self, done: int) -> int:
        """The number of steps after which the next look is due."""
        return next(look for look in self.looks if look > done)
