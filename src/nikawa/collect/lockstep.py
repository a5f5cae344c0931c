"""Several requests at once: their questions travel together, then their writes.

Each request is a plan (`turn.Plan`). All of them ask on the state before the batch. One that rests on a row which an
earlier one writes (the same worker, the same item) is left over, as is one that asks to be alone: these are done
afterwards, one by one. What comes out is what some order of them one after the other would have given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.collect.database import Link, Row
from nikawa.collect.turn import Plan, Planned, Turn

Outcome = tuple[Any, Exception | None]


class _March:
    """The plans of a batch, each at its next question."""

    def __init__(
        self, link: Link, plans: Sequence[Planned[Any]], lost: tuple[type[Exception], ...]
    ) -> None:
        self._plans: list[Plan[tuple[Any, Turn]]] = [planned.plan(link) for planned in plans]
        self._lost = lost
        self.asked: list[tuple[int, tuple[Any, ...]]] = []
        self.ended: dict[int, tuple[Any, Turn]] = {}
        self.refused: dict[int, Exception] = {}

    def step(self, number: int, row: Row | None) -> None:
        """Let one go on to its next question, to its end, or out."""
        try:
            question = self._plans[number].send(row)
        except StopIteration as end:
            self.ended[number] = end.value
        except self._lost:
            raise
        except Exception as problem:
            self.refused[number] = problem
        else:
            if question is None:
                self._plans[number].close()
            else:
                self.asked.append((number, question))


def in_step(
    link: Link, plans: Sequence[Planned[Any]], lost: tuple[type[Exception], ...]
) -> list[Outcome | None]:
    """What came of each plan; None where it is left over."""
    march = _March(link, plans, lost)
    for number in range(len(plans)):
        march.step(number, None)
    while march.asked:
        asked, march.asked = march.asked, []
        for (number, _), row in zip(
            asked, link.each([question for _, question in asked]), strict=True
        ):
            march.step(number, row)
    outcomes: list[Outcome | None] = [None] * len(plans)
    for number, problem in march.refused.items():
        outcomes[number] = (None, problem)
    writes, taken = [], set[tuple[str, int]]()
    for number in sorted(march.ended):
        result, turn = march.ended[number]
        if taken.isdisjoint(turn.touched):
            taken |= turn.touched
            writes.append(turn.take())
            outcomes[number] = (result, None)
    link.all([steps for steps in writes if steps])
    return outcomes
