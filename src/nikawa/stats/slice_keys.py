"""What the examples of a task can be sliced by, found in the examples themselves.

Tags; the gold label, or the gold score in steps of one; another question's label; the length of the texts; and every key of meta
that has 2 to 30 values. Numbers with more values are cut into four parts of about the same size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import floor, inf
from typing import Any

import numpy as np

from nikawa.records import Example, Task
from nikawa.stats.slices import Named

TAG, GOLD, BIN, LENGTH = "tag", "gold", "bin", "length"
SIMILARITIES = ("relatedness", "score")
"""Questions whose gold is a similarity."""
MOST = 30
"""Values of a key that is sliced by on its own."""
ASKED = 500
"""Values of a key that was asked for."""
QUARTERS = 4
OPEN = "4-5 without 5"
"""The last bin of JSICK's Table 9, which leaves a score of 5.0 out."""
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
Values = list[tuple[str, ...]]
"""The values of each example; none where it has none."""


def found_keys(
    task: Task, examples: Sequence[Example], only: Sequence[str] = ()
) -> tuple[list[Named], dict[str, str]]:
    """Every part by every key (or the keys of `only`), and why keys were passed over."""
    parts: list[Named] = []
    passed: dict[str, str] = {}
    seen: dict[frozenset[bytes], str] = {}
    for key in only or _candidates(task, examples):
        values = values_of(key, task, examples)
        names = sorted({name for each in values for name in each}, key=_order)
        if len(names) < 2 and not (key == TAG and names):
            passed[key] = "the same on all items" if names else "no item has it"
        elif len(names) > (ASKED if only else MOST) and key != TAG:
            passed[key] = f"{len(names):,} values, more than {ASKED if only else MOST}"
        else:
            own = named(key, values, names)
            first = seen.setdefault(frozenset(part.mask.tobytes() for part in own), key)
            if first == key or only:
                parts += own
            else:
                passed[key] = f"the same parts as {first}"
    return parts, passed


def named(key: str, values: Values, names: Iterable[str]) -> list[Named]:
    """A part for each value, in the order of `names`."""
    places: dict[str, list[int]] = {name: [] for name in names}
    for i, each in enumerate(values):
        for name in each:
            places[name].append(i)
    parts = []
    for name, where in places.items():
        mask = np.zeros(len(values), dtype=bool)
        mask[where] = True
        parts.append(Named(key, name, mask))
    return parts


def _candidates(task: Task, examples: Sequence[Example]) -> list[str]:
    keys = [TAG] if any(e.tags for e in examples) else []
    if not any(isinstance(e.gold.get(task.question), list | dict) for e in examples[:1]):
        keys.append(BIN if task.kind == "similarity" else GOLD)
    others = {name for e in examples for name, value in e.gold.items() if isinstance(value, str)}
    keys += sorted(others - {task.question})
    if BIN not in keys and similarities(examples) is not None:
        keys.append(BIN)
    keys.append(LENGTH)
    return [*keys, *sorted({name for e in examples for name in e.meta} - set(keys))]


def values_of(key: str, task: Task, examples: Sequence[Example]) -> Values:
    """The values of a key."""
    if key == TAG:
        return [tuple(sorted(e.tags)) for e in examples]
    if key == GOLD:
        return [(str(e.gold[task.question]),) for e in examples]
    if key == BIN:
        scores = similarities(examples)
        return [()] * len(examples) if scores is None else [_step(score) for score in scores]
    if key == LENGTH:
        return _quarters([float(length(task, e)) for e in examples], " characters")
    found = [e.meta.get(key, e.gold.get(key)) for e in examples]
    numbers = {x for x in found if isinstance(x, int | float) and not isinstance(x, bool)}
    if len(numbers) > MOST:
        return _quarters([float(x) if isinstance(x, int | float) else None for x in found], "")
    return [_plain(value) for value in found]


def _plain(value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(sorted({str(x) for x in value if isinstance(x, str | int | float)}))
    return (str(value),) if isinstance(value, str | int | float) else ()


def similarities(examples: Sequence[Example]) -> list[float | None] | None:
    """The gold similarity of each example; None where none has one."""
    question = next((q for q in SIMILARITIES if any(q in e.gold for e in examples)), None)
    return None if question is None else [e.gold.get(question) for e in examples]


def _step(score: float | None) -> tuple[str, ...]:
    """Steps of one, lower bound included; 5 belongs to the last."""
    if score is None:
        return ()
    start = min(floor(score), 4)
    return (f"{start}-{start + 1}",)


def similarity_bins(examples: Sequence[Example]) -> list[Named]:
    """The steps of one that occur, and the last one without its end."""
    scores = similarities(examples)
    if scores is None:
        return []
    steps = [_step(score) for score in scores]
    parts = named(BIN, steps, sorted({name for each in steps for name in each}))
    last = next((part for part in parts if part.where == "4-5"), None)
    if last is not None:
        parts.append(Named(BIN, OPEN, last.mask & np.array([score != 5 for score in scores])))
    return parts


def length(task: Task, example: Example) -> int:
    """Characters of all texts of the task's inputs."""
    return sum(_characters(example.inputs.get(name)) for name in task.inputs)


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return _characters(value.get("text", value.get("form")))
    return sum(_characters(x) for x in value) if isinstance(value, list | tuple) else 0


def _quarters(numbers: Sequence[float | None], unit: str) -> Values:
    """Four parts of about the same size, named by their lowest and highest number; equal numbers stay together."""
    known = np.array([x for x in numbers if x is not None])
    if not len(known):
        return [()] * len(numbers)
    edges = np.unique(
        np.quantile(known, [i / QUARTERS for i in range(1, QUARTERS)], method="lower")
    )
    place = np.searchsorted(edges, known)
    names = {
        int(i): f"{known[place == i].min():g}-{known[place == i].max():g}{unit}"
        for i in np.unique(place)
    }
    each = iter(place.tolist())
    return [() if x is None else (names[next(each)],) for x in numbers]


def _order(name: str) -> tuple[float, str]:
    """Numbers by size, then words."""
    head = _NUMBER.match(name)
    return (float(head[0]), name) if head is not None else (inf, name)
