"""How well each worker works: against the others, against known answers, by speed and by habit.

`r` is the correlation of a worker's numbers with the mean of the others' on the same items, `agreement` the share of a
worker's labels that lead among the others' (a shared lead counts its part), `alpha` the mean over the other workers of
Krippendorff's nominal alpha of the two. Of spans, `agreement` is the F1 against the others', and there is no alpha. All need to know who a worker is: columns of a file are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import weighted_count
from nikawa.aggregation.rules import SIGNS, Rule
from nikawa.aggregation.span_agreement import are_spans
from nikawa.aggregation.spans import as_answer, rest_f1
from nikawa.aggregation.table import Codes, Floats, Table
from nikawa.aggregation.verdicts import ACCEPTED, Ties, Verdicts, apply_rule
from nikawa.errors import BadInput, suggest
from nikawa.records import Record

ODD_PACE = 3.0
"""Times faster or slower than the usual worker from which the pace is odd."""
CHANCE = 0.001
"""Probability, over all workers together, of a run that is not called straight-lining."""


def habits(table: Table) -> tuple[Floats, NDArray[np.int64], list[tuple[str, ...]]]:
    """Median seconds, longest run of one answer, and what is odd about them, of each worker."""
    seconds = median_seconds(table)
    length, code = longest_runs(table)
    straight = unlikely_runs(table, length, code)
    known = seconds[~np.isnan(seconds)]
    usual = float(np.median(known)) if len(known) > 2 else float("nan")
    with np.errstate(invalid="ignore"):
        marks = {
            "fast": seconds < usual / ODD_PACE,
            "slow": seconds > usual * ODD_PACE,
            "straight": straight,
        }
    flags = [
        tuple(name for name, mark in marks.items() if mark[w]) for w in range(len(table.workers))
    ]
    return seconds, length, flags


def median_seconds(table: Table) -> Floats:
    """Of each worker; NaN where no time is said."""
    found = np.full(len(table.workers), np.nan)
    if table.seconds is None:
        return found
    said = ~np.isnan(table.seconds)
    worker, seconds = table.worker[said], table.seconds[said].astype(np.float64)
    order = np.lexsort((seconds, worker))
    n = np.bincount(worker, minlength=len(found))
    some = np.flatnonzero(n)
    start = (np.cumsum(n) - n)[some]
    low, high = start + (n[some] - 1) // 2, start + n[some] // 2
    found[some] = (seconds[order][low] + seconds[order][high]) / 2
    return found


def longest_runs(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each worker the length of the longest run of one answer, and that answer's code."""
    order = np.argsort(table.worker, kind="stable")
    worker, answer = table.worker[order], table.answer[order]
    length = np.zeros(len(table.workers), dtype=np.int64)
    code = np.zeros(len(table.workers), dtype=np.int64)
    if not len(worker):
        return length, code
    new = np.flatnonzero(np.r_[True, (worker[1:] != worker[:-1]) | (answer[1:] != answer[:-1])])
    runs = np.diff(np.r_[new, len(worker)])
    ranked = np.lexsort((runs, worker[new]))
    owner = worker[new][ranked]
    last = np.flatnonzero(np.r_[owner[1:] != owner[:-1], True])
    length[owner[last]] = runs[ranked][last]
    code[owner[last]] = answer[new][ranked][last]
    return length, code


def unlikely_runs(
    table: Table, length: NDArray[np.int64], code: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether chance would hardly make the run: by the union bound, (n - L + 1) p^L, p being the others' share.

    It takes the items to come in no particular order; in a file sorted by the answer everyone has long runs.
    """
    n = np.bincount(table.worker, minlength=len(table.workers))
    used = np.bincount(table.answer, minlength=len(table.categories))[code]
    own = np.bincount(table.worker[table.answer == code[table.worker]], minlength=len(n))
    share = (used - own + 1) / (len(table) - n + len(table.categories))
    likely = (n - length + 1) * np.power(share, length)
    return np.asarray((n > 0) & (likely < CHANCE / max(1, len(n))))


Places = NDArray[np.int64]


def pairwise_alpha(table: Table) -> tuple[Floats, Places]:
    """Of each worker the mean alpha with the others, and over how many others it is.

    Pairs who never could disagree (one answer between them) have no alpha and are left out.
    """
    first, second, left, right = meetings(table)
    size = len(table.workers)
    pair, shared = np.unique(first * np.int64(size) + second, return_inverse=True)
    value = _alphas(shared, left, right, len(pair), len(table.categories))
    defined = ~np.isnan(value)
    one, other = np.divmod(pair[defined], size)
    both = np.concatenate([one, other])
    total = weighted_count(both, np.tile(value[defined], 2), size)
    partners = np.bincount(both, minlength=size)
    return np.where(partners > 0, total / np.maximum(1, partners), np.nan), partners


def meetings(table: Table) -> tuple[Places, Places, Places, Places]:
    """Every two answers about one item, once: the two workers (the lower code first) and their answers."""
    order = np.argsort(table.item, kind="stable")
    item, worker, answer = table.item[order], table.worker[order], table.answer[order]
    parts: list[tuple[Places, ...]] = []
    for shift in range(1, int(table.per_item().max(initial=1))):
        same = np.flatnonzero(item[shift:] == item[:-shift])
        a, b = worker[same].astype(np.int64), worker[same + shift].astype(np.int64)
        x, y = answer[same].astype(np.int64), answer[same + shift].astype(np.int64)
        swap = a > b
        parts.append(
            (np.where(swap, b, a), np.where(swap, a, b), np.where(swap, y, x), np.where(swap, x, y))
        )
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing
    first, second, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
    return first, second, left, right


def _alphas(pair: Places, left: Places, right: Places, pairs: int, wide: int) -> Floats:
    """Alpha of each pair: 1 - (2n - 1) · disagreements · 2 / Σ_c n_c (2n - n_c), over its n shared items."""
    n = np.bincount(pair, minlength=pairs)
    apart = weighted_count(pair, (left != right).astype(np.float64), pairs)
    expected = np.zeros(pairs)
    for category in range(wide):
        here = weighted_count(
            pair, (left == category).astype(np.float64) + (right == category), pairs
        )
        expected += here * (2 * n - here)
    flat = expected == 0
    alpha: Floats = np.where(
        flat, np.nan, 1 - (2 * n - 1) * 2 * apart / np.where(flat, 1.0, expected)
    )
    return alpha


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


FIGURES = ("r", "agreement", "alpha", "accuracy", "seconds", "longest_run", "answers")
_LIMIT = re.compile(r"([a-z_]+)\s*(<=|<|>=|>)\s*([-+.\de]+)")


@dataclass(frozen=True)
class Limit:
    """A figure of `Quality` and where it becomes a reason to leave a worker out."""

    text: str
    figure: str
    sign: str
    number: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """`r<0.80`, `alpha<0.20`, `seconds<2`, …"""
        found = _LIMIT.fullmatch(text.strip())
        if found is None or found[1] not in FIGURES:
            cure = suggest(re.split(r"[<>=]", text)[0].strip(), FIGURES)
            raise BadInput(f"{text!r} is no limit, as in r<0.80", cure=cure)
        return cls(text.strip(), found[1], found[2], float(found[3]))

    def hit(self, worker: Quality) -> bool:
        """Whether the worker is beyond it; an unknown figure is no reason."""
        value = getattr(worker, self.figure)
        return value is not None and bool(SIGNS[self.sign](value, self.number))


class Change(Record, frozen=True, kw_only=True):
    """What leaving out one worker, or all that are to be left out, does."""

    worker: str
    """Empty for all of them together."""
    why: tuple[str, ...]
    answers: int
    """Answers that are no longer counted."""
    answers_kept: int
    fewest: int
    """Answers the poorest item is left with, of those that had any."""
    changed: int
    """Items with another gold."""
    lost: int
    """Items that had gold and have none now."""
    gained: int
    mean_change: float | None = None
    """Of numbers: the mean absolute difference over items that have gold before and after."""


def to_exclude(workers: Sequence[Quality], limits: Sequence[Limit]) -> dict[str, tuple[str, ...]]:
    """Who is beyond a limit, and which; a limit on a figure that nobody has is refused."""
    for limit in limits:
        if all(getattr(worker, limit.figure) is None for worker in workers):
            cure = "r is of numbers, accuracy needs known answers, seconds need times, the others shared items"
            raise BadInput(f"no worker has the figure of {limit.text!r}", cure=cure)
    found = {w.worker: tuple(limit.text for limit in limits if limit.hit(w)) for w in workers}
    return {worker: why for worker, why in found.items() if why}


def without(table: Table, workers: Sequence[str]) -> Table:
    """The table less some workers' answers; items and codes stay."""
    gone = np.array([str(name) in set(workers) for name in table.workers], dtype=np.bool_)
    return table.select(~gone[table.worker])


def changes(
    table: Table, excluded: dict[str, tuple[str, ...]], rule: Rule, ties: Ties
) -> list[Change]:
    """What each exclusion would do alone, then all together."""
    before = apply_rule(table, rule, ties)
    alone = [_change(before, worker, why, [worker]) for worker, why in excluded.items()]
    every = tuple(dict.fromkeys(reason for why in excluded.values() for reason in why))
    return [*alone, _change(before, "", every, list(excluded))] if excluded else []


def _change(before: Verdicts, worker: str, why: tuple[str, ...], gone: list[str]) -> Change:
    left = without(before.table, gone)
    after = apply_rule(left, before.rule, before.ties)
    had, has = before.state == ACCEPTED, after.state == ACCEPTED
    both = had & has
    differs, mean = _compare(before, after, both)
    n = left.per_item()[before.table.per_item() > 0]
    return Change(
        worker=worker,
        why=why,
        answers=len(before.table) - len(left),
        answers_kept=len(left),
        fewest=int(n.min()) if len(n) else 0,
        changed=differs,
        lost=int((had & ~has).sum()),
        gained=int((has & ~had).sum()),
        mean_change=mean,
    )


def _compare(before: Verdicts, after: Verdicts, both: np.ndarray) -> tuple[int, float | None]:
    if before.label is not None and after.label is not None:
        return int((before.label != after.label)[both].sum()), None
    if before.marks is not None and after.marks is not None:
        pairs = zip(before.marks, after.marks, both.tolist(), strict=True)
        return sum(one != other for one, other, kept in pairs if kept), None
    assert before.value is not None
    assert after.value is not None
    apart = np.abs(before.value - after.value)[both]
    return int((apart > 1e-9).sum()), float(apart.mean()) if len(apart) else None
