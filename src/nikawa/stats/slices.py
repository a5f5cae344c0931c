"""Slices: which examples share a tag, a gold label, a source, a length.

`slice_examples` is the one slicer of `score --by`, `compare --by`, `analyse --by`, `agree --by` and `data shift --by`. A key is one of

- `tag`: the names of phenomena;
- `gold`: the gold label of the task's question; a gold number as `bin`; lists and mappings are in no slice;
- `bin`: the gold similarity in steps of one, lower bound included; 5 belongs to the last step;
- `length`: the characters of the task's inputs, in four slices of about the same size;
- the name of another question whose gold is a label, or any key of the examples' meta.

An example whose value is a list is in the slice of each value. One without a value (None, or a mapping) is in no slice.
Slices are in the order of their names: numbers by size, then words.

`find_slices` finds the keys in the examples themselves: tags, gold, length and every key of meta that has 2 to 30 values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.records import Example, Task

Mask = NDArray[np.bool_]
"""True for the items that belong to a slice."""
Values = list[tuple[str, ...]]
"""The names of the slices that each example belongs to."""

TAG, GOLD, BIN, LENGTH = "tag", "gold", "bin", "length"
SIMILARITY_QUESTIONS = ("relatedness", "score")
"""Questions whose gold is a similarity."""
MAX_VALUES = 30
"""Maximum values of a key for slices, unless the user names the key; more numbers than that are cut into quarters."""
MAX_VALUES_OF_CHOSEN_KEY = 500
QUARTERS = 4
LAST_BIN_WITHOUT_5 = "4-5 without 5"
"""The last bin of JSICK's Table 9, which leaves a score of 5.0 out."""
_LEADING_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class SliceMask:
    """A slice as a mask over the items."""

    by: str
    """The key."""
    where: str
    """The value."""
    mask: Mask


def slice_examples(
    key: str,
    examples: Sequence[Example | None],
    task: Task | None = None,
    *,
    max_numbers: int | None = None,
) -> dict[str, list[int]]:
    """The places of the examples in each slice by `key` (see above); no slice at all where no example has the key.

    Without a task only `tag` and the keys of meta are known: gold and length are a task's. None in place of an example is in no slice.
    With `max_numbers`, numbers of more different values than that are cut into four slices of about the same size.
    """
    places: dict[str, list[int]] = {}
    for place, names in enumerate(name_slices(key, examples, task, max_numbers)):
        for name in names:
            places.setdefault(name, []).append(place)
    return {name: places[name] for name in sort_names(places)}


def list_slice_keys(examples: Iterable[Example]) -> list[str]:
    """What the examples of a task can be sliced by, for messages."""
    keys = {GOLD, LENGTH}
    for example in examples:
        keys.update(key for key, value in example.meta.items() if _plain_names(value))
        if example.tags:
            keys.add(TAG)
        if any(question in example.gold for question in SIMILARITY_QUESTIONS):
            keys.add(BIN)
    return sorted(keys)


def to_masks(key: str, places: Mapping[str, Sequence[int]], items: int) -> list[SliceMask]:
    """Slices of `slice_examples` as masks over so many items."""
    slices = []
    for name, where in places.items():
        mask = np.zeros(items, dtype=bool)
        mask[where] = True
        slices.append(SliceMask(key, name, mask))
    return slices


def find_slices(
    task: Task, examples: Sequence[Example], keys: Sequence[str] = ()
) -> tuple[list[SliceMask], dict[str, str]]:
    """Every slice by every key that fits (or by the `keys` given), and why keys were skipped.

    A key that makes the same slices as an earlier one is skipped, unless it was given.
    """
    limit = MAX_VALUES_OF_CHOSEN_KEY if keys else MAX_VALUES
    slices: list[SliceMask] = []
    skipped: dict[str, str] = {}
    first_keys: dict[frozenset[bytes], str] = {}
    for key in keys or list_candidate_keys(task, examples):
        values = name_slices(key, examples, task, MAX_VALUES)
        names = {name for each in values for name in each}
        if not names:
            skipped[key] = "no item has this field"
        elif len(names) < 2 and key != TAG:
            skipped[key] = "the same value on all items"
        elif len(names) > limit and key != TAG:
            skipped[key] = f"{len(names):,} values; the maximum is {limit}"
        else:
            masks = _mark_values(key, values, names)
            contents = frozenset(each.mask.tobytes() for each in masks)
            first_key = first_keys.setdefault(contents, key)
            if first_key == key or keys:
                slices += masks
            else:
                skipped[key] = f"the same slices as {first_key}"
    return slices, skipped


def _mark_values(key: str, values: Values, names: Iterable[str]) -> list[SliceMask]:
    """The same as `to_masks` of `slice_examples`, without a list of places, which takes 40 bytes per item."""
    marks = {name: bytearray(len(values)) for name in sort_names(names)}
    for place, own in enumerate(values):
        for name in own:
            marks[name][place] = 1
    return [SliceMask(key, name, np.frombuffer(each, np.bool_)) for name, each in marks.items()]


def bin_similarities(examples: Sequence[Example]) -> list[SliceMask]:
    """Slices by `bin` for every example with a gold similarity, and the last one once more without a score of 5."""
    similarities = _similarities(examples)
    places: dict[str, list[int]] = {}
    for place, similarity in enumerate(similarities):
        if similarity is not None:
            places.setdefault(_bin_name(similarity), []).append(place)
    masks = to_masks(BIN, {name: places[name] for name in sorted(places)}, len(examples))
    last = next((each for each in masks if each.where == "4-5"), None)
    if last is not None:
        below_5 = np.array([similarity != 5 for similarity in similarities])
        masks.append(SliceMask(BIN, LAST_BIN_WITHOUT_5, last.mask & below_5))
    return masks


def count_characters(task: Task, example: Example) -> int:
    """Characters of all texts of the task's inputs."""

    def count(value: Any) -> int:
        if isinstance(value, str):
            return len(value)
        if isinstance(value, dict):
            return count(value.get("text", value.get("form")))
        if isinstance(value, list | tuple):
            return sum(map(count, value))
        return 0

    return sum(count(example.inputs.get(name)) for name in task.inputs)


def name_slices(
    key: str, examples: Sequence[Example | None], task: Task | None, max_numbers: int | None
) -> Values:
    """The names of the slices by `key` that each example is in; see `slice_examples`."""
    if key == TAG:
        return _share(() if e is None else tuple(sorted(e.tags)) for e in examples)
    if task is not None and key == BIN:
        return [() if s is None else (_bin_name(s),) for s in _similarities(examples)]
    if task is not None and key == LENGTH:
        lengths = [None if e is None else float(count_characters(task, e)) for e in examples]
        return name_quarters(lengths, " characters")
    if task is not None and key == GOLD:
        golds = (None if e is None else e.gold.get(task.question) for e in examples)
        return _share(map(_gold_names, golds))
    values: list[Any] = []
    for example in examples:
        other = None if example is None or task is None else example.gold.get(key)
        values.append(other if example is None else example.meta.get(key, other))
    if max_numbers is not None:
        numbers = [x if isinstance(x, int | float) else None for x in values]
        different = {x for x in numbers if x is not None and not isinstance(x, bool)}
        if len(different) > max_numbers:
            return name_quarters([None if x is None else float(x) for x in numbers], "")
    return _share(map(_plain_names, values))


def _share(values: Iterable[tuple[str, ...]]) -> Values:
    """Equal ones as one object: most examples have the slices of others."""
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [shared.setdefault(names, names) for names in values]


def _gold_names(gold: Any) -> tuple[str, ...]:
    if gold is None or isinstance(gold, list | dict):
        return ()
    return (_bin_name(gold) if isinstance(gold, float) else str(gold),)


def _plain_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(sorted({str(x) for x in value if isinstance(x, str | int | float)}))
    return (str(value),) if isinstance(value, str | int | float) else ()


def list_candidate_keys(task: Task, examples: Sequence[Example]) -> list[str]:
    """The keys worth a try, in the order in which slices are shown.

    The gold of a multiple-choice question is the place of the right choice, which carries no information about the question: it is sliced
    by where a user names `gold`, to see whether a model prefers a place.
    """
    keys = [TAG] if any(e.tags for e in examples) else []
    if task.kind == "similarity":
        keys.append(BIN)
    elif task.kind != "choice" and not (
        examples and isinstance(examples[0].gold.get(task.question), list | dict)
    ):
        keys.append(GOLD)
    questions = {name for e in examples for name, gold in e.gold.items() if isinstance(gold, str)}
    keys += sorted(questions - {task.question})
    if BIN not in keys and any(q in e.gold for e in examples for q in SIMILARITY_QUESTIONS):
        keys.append(BIN)
    keys.append(LENGTH)
    return [*keys, *sorted({name for e in examples for name in e.meta} - set(keys))]


def _similarities(examples: Sequence[Example | None]) -> list[float | None]:
    """The gold similarity of each example, of the first question that any example has."""
    golds = [{} if e is None else e.gold for e in examples]
    for question in SIMILARITY_QUESTIONS:
        if any(question in gold for gold in golds):
            return [gold.get(question) for gold in golds]
    return [None] * len(golds)


def _bin_name(similarity: float) -> str:
    start = min(floor(similarity), 4)
    return f"{start}-{start + 1}"


def name_quarters(numbers: Sequence[float | None], unit: str) -> Values:
    """Four slices of about the same size, named by their lowest and highest number; equal numbers stay together."""
    known = np.array([x for x in numbers if x is not None])
    if not len(known):
        return [()] * len(numbers)
    shares = [i / QUARTERS for i in range(1, QUARTERS)]
    edges = np.unique(np.quantile(known, shares, method="lower"))
    quarters = np.searchsorted(edges, known)
    names = {}
    for quarter in np.unique(quarters).tolist():
        members = known[quarters == quarter]
        names[quarter] = (f"{members.min():g}-{members.max():g}{unit}",)
    remaining = iter(quarters.tolist())
    return [() if x is None else names[next(remaining)] for x in numbers]


def sort_names(names: Iterable[str]) -> list[str]:
    """The names of slices in their order: numbers by size, then words."""

    def rank(name: str) -> tuple[float, str]:
        number = _LEADING_NUMBER.match(name)
        return (inf if number is None else float(number[0]), name)

    return sorted(names, key=rank)
