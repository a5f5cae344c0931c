"""Agreement about which of two texts is better, where a tie is half-way between the two.

`alpha-preference` is Krippendorff's alpha at interval level with a = -1, tie = 0, b = 1: two workers who prefer different
texts are four times as far apart as one who prefers a text and one who sees a tie. `opposed` is the share of pairs of workers
who prefer different texts; each item counts once, with the mean over its pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.measure import NOMINAL, AnyMeasure, SummedMeasure, ratio_of_sums
from nikawa.aggregation.table import Table

QUESTION = "better"
SIDES = {"a": -1.0, "tie": 0.0, "b": 1.0}


def holds_preferences(table: Table) -> bool:
    """Whether the answers are those of the form `preference`."""
    return table.question == QUESTION and {"a", "b"} <= set(table.categories) <= SIDES.keys()


def preference_measures(table: Table) -> Iterator[AnyMeasure]:
    """Alpha with ties half-way, and the share of pairs who are opposed."""
    values = [SIDES[table.categories[code]] for code in table.answer.tolist()]
    # an item without an answer would be missing from the new table: it keeps its row
    numbers = Table.from_columns(table.item.tolist(), table.worker.tolist(), values, table.question)
    measure = alpha(numbers, "interval")
    if isinstance(measure, SummedMeasure) and len(measure.statistics) < len(table.items):
        rest = np.zeros((len(table.items) - len(measure.statistics), measure.statistics.shape[1]))
        measure = replace(measure, statistics=np.vstack([measure.statistics, rest]))
    yield replace(measure, name="alpha-preference")
    counts = np.zeros((len(table.items), 3))
    np.add.at(counts, (table.item, np.array(values, dtype=np.int64) + 1), 1)
    answers = counts.sum(axis=1)
    pairs = answers * (answers - 1) / 2
    opposed = np.divide(
        counts[:, 0] * counts[:, 2], pairs, out=np.zeros_like(pairs), where=pairs > 0
    )
    yield SummedMeasure("opposed", NOMINAL, np.column_stack([opposed, pairs > 0]), ratio_of_sums)
