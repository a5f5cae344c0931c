"""Agreement about dependency trees: attachment between workers, plain and corrected for chance, by relation and by distance.

    UAS = sum_w [same head] / n,    LAS = sum_w [same head and relation] / n

over the words of all items and all pairs of workers, the pairs of an item weighed by 1 / (m - 1), with m its answers, so that
every answer weighs alike. `trees-equal` is the share of pairs of whole trees that are equal.

Most words of a Korean or Japanese sentence depend on the next one, so much of UAS comes by chance. Three alphas correct for
it; each is Krippendorff's nominal alpha with words as units: `alpha-heads` of the distance to the head (with its sign; the
root is a value of its own), `alpha-labels` of the relation, `alpha-arcs` of both together. Chance is that two words drawn
from all sentences agree, so it knows which distances and relations are frequent, and not which trees are possible. Resamples
draw whole sentences, as arcs of one sentence depend on each other.

Of the words of one relation or distance, each pair of workers counts a word once for each of the two who gave it: with
weight w in {1, 2}, the UAS of the group is sum w [same head] / sum w, and the LAS alike. A relation that one worker gives
and the other does not thus counts against both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.measure import NOMINAL, AnyMeasure, SummedMeasure, ratio_of_sums
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.trees import Arc, Tree, trees_by_item

FAR = 6
"""Distance from which all are one group."""
Values = Callable[[int, Arc], str]
"""The value of a word (its place, its arc) that an alpha compares, or that puts it in a group."""


def tree_measures(table: Table) -> Iterator[AnyMeasure]:
    """UAS, LAS and equal trees between workers, and three alphas over words."""
    answers = trees_by_item(table)
    yield attachment("UAS", answers, lambda one, other: one[0] == other[0])
    yield attachment("LAS", answers, lambda one, other: one == other)
    yield equal_trees(answers)
    yield word_alpha("alpha-heads", table, lambda place, arc: str(signed_distance(place, arc)))
    yield word_alpha("alpha-labels", table, lambda _, arc: arc[1])
    yield word_alpha(
        "alpha-arcs", table, lambda place, arc: f"{signed_distance(place, arc)} {arc[1]}"
    )


def signed_distance(place: int, arc: Arc) -> int | str:
    """How far the head is, negative to the left; `root` for the root."""
    return arc[0] - place if arc[0] else "root"


def attachment(
    name: str, answers: Sequence[Sequence[Tree]], is_same: Callable[[Arc, Arc], bool]
) -> SummedMeasure:
    """The share of words on which pairs of workers agree."""
    statistics = np.zeros((len(answers), 2))
    for row, trees in enumerate(answers):
        for one, other in combinations(trees, 2):
            pairs = zip(one.arcs, other.arcs, strict=True)
            weight = 1 / (len(trees) - 1)
            statistics[row] += (
                weight * sum(is_same(*pair) for pair in pairs),
                weight * len(one.heads),
            )
    return SummedMeasure(name, NOMINAL, statistics, ratio_of_sums)


def equal_trees(answers: Sequence[Sequence[Tree]]) -> SummedMeasure:
    """The share of pairs of whole trees that are equal."""
    statistics = np.zeros((len(answers), 2))
    for row, trees in enumerate(answers):
        for one, other in combinations(trees, 2):
            statistics[row] += np.array([one == other, 1]) / (len(trees) - 1)
    return SummedMeasure("trees-equal", NOMINAL, statistics, ratio_of_sums)


def word_alpha(name: str, table: Table, value: Values) -> AnyMeasure:
    """Nominal alpha with words as units, resampled by sentence."""
    words: list[tuple[int, int]] = []
    workers: list[int] = []
    values: list[str] = []
    rows = zip(table.item.tolist(), table.worker.tolist(), table.answer.tolist(), strict=True)
    for item, worker, answer in rows:
        for place, arc in enumerate(table.categories[answer].arcs, start=1):
            words.append((item, place))
            workers.append(worker)
            values.append(value(place, arc))
    return alpha_of_units(name, table, words, workers, values)


def alpha_of_units(
    name: str,
    table: Table,
    units: Sequence[tuple[int, Any]],
    workers: Sequence[int],
    values: Sequence[str],
) -> AnyMeasure:
    """Nominal alpha over parts of items, resampled by item.

    A unit is an item, by its place in the table, and a part of it; each comes with a worker and the value they gave it.
    """
    if not units:
        return SummedMeasure(name, NOMINAL, np.zeros((len(table.items), 2)), ratio_of_sums)
    parts = Table.from_columns(units, workers, values, table.question)
    # units are numbered as they first appear
    items = np.array([item for item, _ in dict.fromkeys(units)], dtype=np.int64)
    measure = alpha(parts).grouped(items)
    if isinstance(measure, SummedMeasure) and len(measure.statistics) < len(table.items):
        rest = np.zeros((len(table.items) - len(measure.statistics), measure.statistics.shape[1]))
        measure = replace(measure, statistics=np.vstack([measure.statistics, rest]))
    return replace(measure, name=name)


def name_distance(place: int, arc: Arc) -> str:
    """The group of a distance: `root`, `left`, `1` to `5`, or `6 and more`."""
    distance = signed_distance(place, arc)
    if isinstance(distance, str):
        return distance
    if distance < 0:
        return "left"
    return str(distance) if distance < FAR else f"{FAR} and more"


GROUPS: dict[str, Values] = {"label": lambda _, arc: arc[1], "distance": name_distance}
"""What words are grouped by."""


def group_measures(
    table: Table, by: str
) -> Iterator[tuple[str, int, SummedMeasure, SummedMeasure]]:
    """Each group with how often workers gave it, its UAS and its LAS; the largest group first, distances in order."""
    answers, name = trees_by_item(table), GROUPS[by]
    sums: dict[str, Floats] = {}
    given: dict[str, int] = {}
    for row, trees in enumerate(answers):
        for tree in trees:
            for place, arc in enumerate(tree.arcs, start=1):
                group = name(place, arc)
                given[group] = given.get(group, 0) + 1
        for one, other in combinations(trees, 2):
            weight = 1 / (len(trees) - 1)
            for place, pair in enumerate(zip(one.arcs, other.arcs, strict=True), start=1):
                same_head, same = pair[0][0] == pair[1][0], pair[0] == pair[1]
                for arc in pair:
                    table_of_group = sums.setdefault(name(place, arc), np.zeros((len(answers), 3)))
                    table_of_group[row] += weight * np.array([same_head, same, 1])
    order = sorted(sums, key=lambda group: -given[group])
    if by == "distance":
        order = sorted(sums, key=lambda group: (group == "left", group != "root", group))
    for group in order:
        uas, las = sums[group][:, [0, 2]], sums[group][:, [1, 2]]
        yield (
            group,
            given[group],
            SummedMeasure("UAS", NOMINAL, uas, ratio_of_sums),
            SummedMeasure("LAS", NOMINAL, las, ratio_of_sums),
        )
