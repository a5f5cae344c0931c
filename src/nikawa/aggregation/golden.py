"""The functions behind the groups of a golden file that are about agreement and aggregation.

`nikawa conformance` compares them with the results of the reference implementations; the groups of metrics are in the metrics package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.kappa import fleiss_of_counts
from nikawa.aggregation.measure import Level
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import round_number
from nikawa.errors import BadInput


def golden_alpha(matrix: Sequence[Sequence[Any]]) -> dict[str, Callable[[], float]]:
    """Alpha of a matrix of workers by items at each level, null for a missing answer."""
    cells = [
        (item, worker, answer)
        for worker, row in enumerate(matrix)
        for item, answer in enumerate(row)
        if answer is not None
    ]
    items, workers, answers = zip(*cells, strict=True)
    table = Table.from_columns(items, workers, answers)

    def value_at(level: Level) -> float:
        value = alpha(table, level).value
        if np.isnan(value):
            raise BadInput("only one answer occurs: agreement beyond chance is undefined")
        return value

    return {
        "nominal": lambda: value_at("nominal"),
        "ordinal": lambda: value_at("ordinal"),
        "interval": lambda: value_at("interval"),
    }


def golden_fleiss(counts: Sequence[Sequence[int]]) -> float:
    """Fleiss' kappa of counts of items by categories."""
    return fleiss_of_counts(np.array(counts, dtype=np.float64)).value


def klue_sts_labels(ratings: list[float]) -> dict[str, object]:
    """The published labels of a KLUE-STS pair from its ratings, as the released file has them."""
    real = round_number(sum(ratings) / len(ratings), "digits", 16)
    return {
        "real-label": real,
        "label": round_number(real, "round", 1),
        "binary-label": int(real >= 3),
        "agreement": ":".join(str(ratings.count(rating)) for rating in range(6)),
    }


GOLDEN: dict[str, Callable[[Any], Any]] = {
    "agreement": golden_alpha,
    "fleiss_kappa": golden_fleiss,
    "klue_sts_label_rules": klue_sts_labels,
}
"""Group of a golden file to the function that answers its cases."""
