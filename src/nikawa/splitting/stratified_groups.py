"""Groups kept whole and labels balanced at once.

With n examples, a part p that should hold s_p of them should hold t_pl = s_p n_l / n of the n_l
examples of a label l. The parts are filled so that

    sum over p of  (4 (c_p - s_p)^2 / s_p  +  sum over l of (c_pl - t_pl)^2 / t_pl)

is small, where c are the counts that a part has: the chi-square distance of sizes and labels from
what was asked for, in which a small part and a rare label weigh as much as large ones, and 1 for
each label that a part lacks. Groups go one
by one, the largest first, to the part where they add the least; then single groups move, and two
groups change places, as long as that makes the sum smaller. This is the greedy idea of iterative
stratification (Sechidis, Tsoumakas and Vlahavas 2011), with whole groups in place of examples. Ties
are broken by a draw keyed by the name of the group and the seed, so that the parts depend on
nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nikawa.datasets.subsets import draw
from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splits,
    Splitter,
    SplitterSettings,
    groups_of,
    training_part,
)
from nikawa.splitting.plain import label_text

MAX_PASSES = 20
"""Times that all groups are looked at for a better part."""
MAX_GROUPS_SWAPPED = 400
"""Groups up to which every two of different parts are tried in each other's place."""
SIZE_WEIGHT = 4.0
"""How much the size of a part weighs against each of its labels: it is what was asked for."""
MAX_LABELS_BALANCED = 500
"""Labels that are balanced, the commonest: of texts that people wrote, each is a label of its own."""
MIN_GAIN = 1e-9
"""What a move must gain: rounding alone must not move groups for ever."""
Counts = NDArray[np.float64]


def split_stratified_groups(
    examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings
) -> Parts:
    """Groups whole, each part with the labels in the ratio of the whole as near as groups allow."""
    members: dict[str, list[Example]] = {}
    for name, example in zip(groups_of(examples, settings), examples, strict=True):
        members.setdefault(name, []).append(example)
    refuse_large_groups({name: len(held) for name, held in members.items()}, sizes)
    order = sorted(members, key=lambda g: (-len(members[g]), draw(settings.seed, g), g))
    totals = Counter(label for example in examples for label in labels_of(example, settings))
    commonest = sorted(totals, key=lambda label: (-totals[label], label))[:MAX_LABELS_BALANCED]
    # The first column is the size, the others are labels, in an order that does not depend on that
    # of the examples: sums of floats do, and the smaller of two nearly equal ones decides.
    columns = {label: place for place, label in enumerate(sorted(commonest), start=1)}
    counts = np.zeros((len(order), len(columns) + 1))
    for place, name in enumerate(order):
        counts[place, 0] = len(members[name])
        for example in members[name]:
            for label in labels_of(example, settings):
                if label in columns:
                    counts[place, columns[label]] += 1
    shares = np.array(list(sizes.values()), dtype=float) / max(len(examples), 1)
    places = fill_parts(counts, shares)
    parts: Parts = {name: [] for name in sizes}
    for name, place in zip(order, places, strict=True):
        parts[list(sizes)[place]] += members[name]
    return parts


def labels_of(example: Example, settings: SplitterSettings) -> list[str]:
    """What is balanced of an example: the label of the named question, else of each."""
    names = [settings.question] if settings.question else sorted(example.gold)
    return [f"{name}={label_text(example.gold.get(name))}" for name in names]


def refuse_large_groups(groups: Mapping[str, int], sizes: Sizes) -> None:
    """Refuse groups of which one fits into no part, or none into one of the parts."""
    largest = max(groups, key=lambda name: (groups[name], name))
    smallest = min(groups.values())
    most = max(sizes, key=lambda part: sizes[part])
    cure = (
        "ask for larger parts, choose smaller groups with --field, or split groups with --by random"
    )
    if groups[largest] > sizes[most]:
        what = f"the group {largest!r} has {groups[largest]:,} examples, more than any part: {most} should have {sizes[most]:,}"
        raise BadInput(what, cure=cure)
    for part, size in sizes.items():
        if 0 < size < smallest and part != training_part(sizes):
            what = f"{part} should have {size:,} examples, and the smallest group has {smallest:,}"
            raise BadInput(what, cure=cure)


def fill_parts(counts: Counts, shares: Counts) -> list[int]:
    """The part of each group; `counts` has one row per group and one column per kind, `shares` are those of
    the parts.
    """
    targets = shares[:, None] * counts.sum(axis=0)[None, :]
    held = np.zeros_like(targets)
    closed = shares <= 0  # a size of 0 was asked for
    places = []
    for row in counts:
        added = measure_cost(held + row, targets) - measure_cost(held, targets)
        added[closed] = np.inf
        place = int(added.argmin())
        held[place] += row
        places.append(place)
    for _ in range(MAX_PASSES):
        moved = move_groups(counts, places, held, targets, closed)
        if len(counts) <= MAX_GROUPS_SWAPPED:
            moved |= swap_groups(counts, places, held, targets)
        if not moved:
            break
    return places


def measure_cost(held: Counts, targets: Counts) -> Counts:
    """How far each part is from what it should hold; a label that it lacks counts as one more."""
    is_due = targets > 0
    distance = np.divide((held - targets) ** 2, targets, out=np.zeros_like(held), where=is_due)
    distance[..., 0] *= SIZE_WEIGHT
    costs: Counts = (distance + (is_due & (held == 0))).sum(axis=-1)
    return costs


def move_groups(
    counts: Counts,
    places: list[int],
    held: Counts,
    targets: Counts,
    closed: NDArray[np.bool_],
) -> bool:
    """Move each group to the part where the sum is smallest; whether any moved."""
    moved = False
    sizes = Counter(places)
    for group, row in enumerate(counts):
        home = places[group]
        if sizes[home] == 1:  # a part does not become empty
            continue
        before = measure_cost(held, targets)
        change = measure_cost(held + row, targets) - before
        change += measure_cost(held[home] - row, targets[home]) - before[home]
        change[home] = 0.0
        change[closed] = np.inf
        best = int(change.argmin())
        if change[best] < -MIN_GAIN:
            held[home] -= row
            held[best] += row
            places[group] = best
            sizes[home] -= 1
            sizes[best] += 1
            moved = True
    return moved


def swap_groups(counts: Counts, places: list[int], held: Counts, targets: Counts) -> bool:
    """Let two groups of different parts change places where that makes the sum smaller."""
    swapped = False
    for one in range(len(counts)):
        home, homes = places[one], np.array(places)
        others = np.flatnonzero(homes != home)
        others = others[others > one]
        if not len(others):
            continue
        away = homes[others]
        change = counts[others] - counts[one]
        before = measure_cost(held, targets)
        here = np.broadcast_to(targets[home], change.shape)
        gain = measure_cost(held[home] + change, here) - before[home]
        gain += measure_cost(held[away] - change, targets[away]) - before[away]
        best = int(gain.argmin())
        if gain[best] < -MIN_GAIN:
            other = int(others[best])
            held[home] += change[best]
            held[places[other]] -= change[best]
            places[one], places[other] = places[other], places[one]
            swapped = True
    return swapped


def measure_deviation(splits: Splits, settings: SplitterSettings) -> dict[str, dict[str, float]]:
    """The largest difference of the share of a label, among those of its question, in a part and in
    the whole.
    """

    def shares(examples: Iterable[Example]) -> dict[str, float]:
        counts = Counter(label for example in examples for label in labels_of(example, settings))
        totals: Counter[str] = Counter()
        for label, count in counts.items():
            totals[label.partition("=")[0]] += count
        return {label: count / totals[label.partition("=")[0]] for label, count in counts.items()}

    expected = shares(example for part in splits.values() for example in part)
    deviations = {}
    for name, part in splits.items():
        got = shares(part)
        off = max((abs(got.get(key, 0.0) - share) for key, share in expected.items()), default=0.0)
        deviations[name] = {"labels off by": off}
    return deviations


SPLITTERS = (
    Splitter(
        "stratified-groups",
        "groups stay whole, and every part has nearly the same share of each label (--field)",
        split_stratified_groups,
        keeps_groups=True,
        needs_gold=lambda example: True,
        measure=measure_deviation,
    ),
)
