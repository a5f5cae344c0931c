"""Examples to show: drawn by seed and item, as many of each label as can be, the same for every question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any, Literal

from nikawa.errors import BadInput
from nikawa.models.base import get_gold
from nikawa.models.chat.journal import digest
from nikawa.records import Example, Task


def draw(
    task: Task, pool: Sequence[Example], count: int | Literal["all"], seed: int
) -> list[Example]:
    """A first drawn example of each label, then a second, …; all of them in an order of their own in the end.

    One more than asked for is drawn, where there is one, to stand in for an example that is itself the question.
    """
    if count == 0:
        return []
    gold = get_gold(task, pool)
    wanted = len(pool) if count == "all" else count
    if wanted > len(pool):
        raise BadInput(
            f"{wanted} shots cannot be drawn from {len(pool)} examples", cure="set shots lower"
        )
    groups: dict[str, list[tuple[str, int]]] = {name: [] for name in map(str, task.labels)}
    for i, (example, value) in enumerate(zip(pool, gold, strict=True)):
        groups.setdefault(_group(task, value), []).append(
            (digest(seed, example.id, example.inputs), i)
        )
    rounds = zip_longest(*(sorted(group) for group in groups.values()))
    drawn = [found for found in chain.from_iterable(rounds) if found is not None][: wanted + 1]
    return [pool[i] for _, i in (*sorted(drawn[:wanted]), *drawn[wanted:])]


def _group(task: Task, value: Any) -> str:
    """What the draw is balanced by."""
    if task.kind == "similarity":
        return str(round(float(value)))
    if task.kind in ("reading", "tagging", "dialogue"):
        return str(bool(value))
    return "" if task.kind == "tree" else str(value)


def without(task: Task, shots: Sequence[Example], example: Example, count: int) -> list[Example]:
    """The first `count` that do not ask what `example` asks."""
    asked = [example.inputs.get(name) for name in task.inputs]
    return [shot for shot in shots if [shot.inputs.get(name) for name in task.inputs] != asked][
        :count
    ]
