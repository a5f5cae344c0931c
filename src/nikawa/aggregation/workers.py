"""How well each worker works: against the others, against known answers, by speed and by habit.

`r` is the correlation of a worker's numbers with the mean of the others' on the same items, `agreement` the share of a
worker's labels that lead among the others' (a shared lead counts its part), `alpha` the mean over the other workers of
Krippendorff's nominal alpha of the two. Of spans, `agreement` is the F1 against the others', and there is no alpha. All need to know who a worker is: columns of a file are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.agreement_spans import are_spans
from nikawa.aggregation.dawid_skene import weighted_count
from nikawa.aggregation.rules_spans import as_answer, rest_f1
from nikawa.aggregation.table import Codes, Floats, Table
from nikawa.aggregation.workers_habits import habits
from nikawa.aggregation.workers_pairs import pairwise_alpha
from nikawa.errors import BadInput
from nikawa.records import Record

MANY = 1_000
"""Different answers from which on they are measurements: equal ones are chance, and only r is computed."""
BLOCK = 1 << 20
"""Judgements compared with the rest at a time."""


class Quality(Record, frozen=True, kw_only=True):
    """One worker's figures; None where they cannot be computed."""

    worker: str
    answers: int
    r: float | None = None
    agreement: float | None = None
    alpha: float | None = None
    partners: int = 0
    """Workers the alpha is a mean over."""
    gold_items: int = 0
    """Answers about items whose answer is known."""
    accuracy: float | None = None
    seconds: float | None = None
    """The median."""
    longest_run: int = 0
    """Equal answers in a row, in the order of the file."""
    flags: tuple[str, ...] = ()
    """`fast`, `slow`: a third, thrice the usual time; `straight`: a run that chance does not explain."""


def need_persons(workers_are: str, what: str) -> None:
    """Refuse what must know who answered, where the workers are only columns of a file."""
    if workers_are == "columns":
        cure = "use a rule that counts answers (majority, votes:K/N, mean)"
        raise BadInput(
            f"{what} needs to know who answered, and here a worker is only a column", cure=cure
        )


def quality(
    table: Table, gold: Mapping[str, Any] | None = None, *, workers_are: str = "persons"
) -> list[Quality]:
    """Every worker's figures, in the order of the table."""
    need_persons(workers_are, "worker quality")
    n = np.bincount(table.worker, minlength=len(table.workers))
    spans, unknown = are_spans(table), np.full(len(n), np.nan)
    few = len(table.categories) <= MANY and not spans
    columns: dict[str, list[Any]] = {
        "r": optional(rest_correlation(table) if table.numeric else unknown),
        "agreement": optional(
            rest_f1(table) if spans else rest_agreement(table) if few else unknown
        ),
    }
    alphas, partners = pairwise_alpha(table) if few else (unknown, np.zeros(len(n), dtype=np.int64))
    columns |= {"alpha": optional(alphas), "partners": partners.tolist()}
    right, asked = on_gold(table, gold or {})
    columns |= {"gold_items": asked.tolist(), "accuracy": optional(_share(right, asked))}
    seconds, runs, flags = habits(table)
    columns |= {"seconds": optional(seconds), "longest_run": runs.tolist(), "flags": flags}
    return [
        Quality(
            worker=str(name),
            answers=int(n[code]),
            **{key: values[code] for key, values in columns.items()},
        )
        for code, name in enumerate(table.workers)
    ]


def optional(values: Floats) -> list[float | None]:
    """A list with None for NaN."""
    return [None if np.isnan(v) else float(v) for v in values]


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    return np.where(whole > 0, part / np.maximum(1, whole), np.nan)


def rest_correlation(table: Table) -> Floats:
    """Pearson's r of each worker's numbers with the mean of the others' on the same items."""
    numbers, n = table.numbers, table.per_item()[table.item]
    total = weighted_count(table.item, table.numbers, len(table.items))[table.item]
    kept = n > 1
    x, worker = numbers[kept], table.worker[kept]
    y = (total - numbers)[kept] / (n[kept] - 1)
    return correlations(x, y, worker, len(table.workers))


def correlations(x: Floats, y: Floats, group: Codes, groups: int) -> Floats:
    """Pearson's r within each group; NaN where a side is constant or there are fewer than two."""
    n = np.maximum(1, np.bincount(group, minlength=groups))
    x = x - (weighted_count(group, x, groups) / n)[group]
    y = y - (weighted_count(group, y, groups) / n)[group]
    xy, xx, yy = (weighted_count(group, product, groups) for product in (x * y, x * x, y * y))
    flat = (xx < 1e-12) | (yy < 1e-12)
    r: Floats = np.where(flat, np.nan, xy / np.sqrt(np.where(flat, 1.0, xx * yy)))
    return r


def rest_agreement(table: Table) -> Floats:
    """Share of each worker's answers that lead among the others' answers about the item."""
    hits = np.zeros(len(table.workers))
    asked = np.zeros(len(table.workers))
    counts, given = table.counts(), table.per_item()
    for start in range(0, len(table), BLOCK):
        part = slice(start, start + BLOCK)
        item, answer, worker = table.item[part], table.answer[part], table.worker[part]
        rest = counts[item]
        rest[np.arange(len(item)), answer] -= 1
        leads = rest == rest.max(axis=1)[:, None]
        share = leads[np.arange(len(item)), answer] / leads.sum(axis=1)
        others = (given[item] > 1).astype(np.float64)
        hits += weighted_count(worker, share * others, len(hits))
        asked += weighted_count(worker, others, len(hits))
    return _share(hits, asked)


def on_gold(table: Table, gold: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many answers of each worker are right, and how many are about items whose answer is known."""
    place = {category: code for code, category in enumerate(table.categories)}
    if gold and are_spans(table):
        gold = {item: as_answer(answer) for item, answer in gold.items()}
    known = np.array([name in gold for name in table.items], dtype=np.bool_)
    true = np.array(
        [place.get(gold.get(name), -1) if gold else -1 for name in table.items], dtype=np.int64
    )
    asked = known[table.item]
    right = asked & (true[table.item] == table.answer)
    size = len(table.workers)
    return np.bincount(table.worker[right], minlength=size), np.bincount(
        table.worker[asked], minlength=size
    )


class Trial(Record, frozen=True, kw_only=True):
    """How a worker did on test questions before being let in."""

    worker: str
    asked: int
    right: int
    share: float
    low: float
    """Wilson's 95% interval: ten questions say little."""
    high: float
    passed: bool


def pilot_test(table: Table, gold: Mapping[str, Any], pass_mark: float) -> list[Trial]:
    """Who passes: the share of right answers on the known items is at least the mark. Unasked workers fail."""
    right, asked = on_gold(table, gold)
    if not asked.any():
        raise BadInput(
            "no worker answered an item whose answer is known", cure="check the items' names"
        )
    return [
        _trial(str(name), int(asked[code]), int(right[code]), pass_mark)
        for code, name in enumerate(table.workers)
    ]


def _trial(worker: str, asked: int, right: int, mark: float) -> Trial:
    share = right / asked if asked else 0.0
    low, high = wilson(right, asked)
    passed = asked > 0 and share >= mark
    return Trial(
        worker=worker, asked=asked, right=right, share=share, low=low, high=high, passed=passed
    )


def wilson(right: int, asked: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927); 0 to 1 where nothing was asked."""
    if not asked:
        return 0.0, 1.0
    p, below = right / asked, 1 + z * z / asked
    centre = (p + z * z / (2 * asked)) / below
    half = z * float(np.sqrt(p * (1 - p) / asked + z * z / (4 * asked * asked))) / below
    return max(0.0, centre - half), min(1.0, centre + half)
