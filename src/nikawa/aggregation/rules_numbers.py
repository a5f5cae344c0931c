"""Centres and spreads of numeric answers, item by item, and how a mean is rounded.

Variance and sd divide by the number of answers (the papers' limits are on few answers, whose spread is described, not
inferred); the `sample-` forms divide by one less. Sums of whole numbers are exact, so a variance of 1 is 1, not 0.9999.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import numpy as np

from nikawa.aggregation.table import Floats, Table

DIRECTIONS = {"up": ROUND_CEILING, "down": ROUND_FLOOR}


def mean_of(table: Table) -> Floats:
    """The mean answer of each item; NaN where nobody answered."""
    n = table.per_item()
    total = np.bincount(table.item, table.numbers, len(table.items))
    return np.where(n > 0, total / np.maximum(1, n), np.nan)


def median_of(table: Table) -> Floats:
    """The median answer of each item; of two middle ones their mean."""
    order = np.lexsort((table.numbers, table.item))
    numbers, n = table.numbers[order], table.per_item()
    ends = np.cumsum(n)
    found = np.full(len(n), np.nan)
    some = np.flatnonzero(n)
    low = (ends - n)[some] + (n[some] - 1) // 2
    high = (ends - n)[some] + n[some] // 2
    found[some] = (numbers[low] + numbers[high]) / 2
    return found


def spread_of(table: Table, name: str) -> Floats:
    """`variance`, `sd`, `sample-variance` or `sample-sd` of each item's answers."""
    n = table.per_item().astype(np.float64)
    numbers, items = table.numbers, len(table.items)
    if (table.values == np.rint(table.values)).all():
        total = np.bincount(table.item, numbers, items)
        scaled = n * np.bincount(table.item, numbers * numbers, items) - total * total
        squares = scaled / np.maximum(1, n)
    else:
        squares = np.round(
            np.bincount(table.item, (numbers - mean_of(table)[table.item]) ** 2, items), 12
        )
    below = n - 1 if name.startswith("sample-") else n
    variance: Floats = np.where(below > 0, squares / np.maximum(1, below), np.nan)
    return np.sqrt(variance) if name.endswith("sd") else variance


def finish(values: Floats, how: str, given: float) -> Floats:
    """Round (`round`, `up`, `down` to decimals, `digits` to significant ones) or cut (`binary`: 1 from `given` on)."""
    if how == "binary":
        return np.where(np.isnan(values), np.nan, (values >= given).astype(np.float64))
    distinct, places = np.unique(values, return_inverse=True)
    rounded = [
        v if math.isnan(v) else rounded_number(v, how, int(given)) for v in distinct.tolist()
    ]
    return np.array(rounded)[places]


def rounded_number(value: float, how: str, places: int) -> float:
    """One number. `round` is Python's: to the nearest, of the number as stored. Up and down see 15 digits of it."""
    if how == "digits":
        return float(f"%.{places}g" % value)
    if how == "round":
        return round(value, places)
    shown = Decimal(f"{value:.15g}")
    exact = shown.quantize(
        Decimal(1).scaleb(-places), rounding=DIRECTIONS.get(how, ROUND_HALF_EVEN)
    )
    return float(exact)


def klue_sts_labels(ratings: list[float]) -> dict[str, object]:
    """The published labels of a KLUE-STS pair from its ratings, as the released file has them."""
    real = rounded_number(sum(ratings) / len(ratings), "digits", 16)
    return {
        "real-label": real,
        "label": rounded_number(real, "round", 1),
        "binary-label": int(real >= 3),
        "agreement": ":".join(str(ratings.count(rating)) for rating in range(6)),
    }


GOLDEN = {"klue_sts_label_rules": klue_sts_labels}
