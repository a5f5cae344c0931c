"""How well each worker works: against the others, against known answers, by speed and by habit; and which workers are excluded.

`r` is the correlation of a worker's numbers with the mean of the others' on the same items, `agreement` the share of a
worker's labels that lead among the others' (a shared lead counts its part), `alpha` the mean over the other workers of
Krippendorff's nominal alpha of the two (see `alpha`). Of spans, `agreement` is the F1 against the others', and there is
no alpha. All need to know who a worker is: columns of a file are refused.

Limits on these figures exclude workers. KLUE-STS excluded workers who correlate below 0.80 with the others or has a
nominal alpha below 0.20: `r<0.80`, `alpha<0.20`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.measure import ratio
from nikawa.aggregation.rules import SIGNS, Rule
from nikawa.aggregation.spans import f1_against_rest, holds_spans, to_marks
from nikawa.aggregation.structures import closeness_to_rest, find_kind
from nikawa.aggregation.table import (
    BLOCK_SIZE,
    AnswerPairs,
    Counts,
    Floats,
    Table,
    group_medians,
    pair_answers,
    sum_weights,
)
from nikawa.aggregation.trees import holds_trees, las_against_rest, to_known_tree
from nikawa.aggregation.verdicts import ACCEPTED, Ties, Verdicts, apply_rule
from nikawa.errors import BadInput
from nikawa.io.coding import Codes
from nikawa.records import Record

MAX_LABELS = 1_000
"""Different answers from which on they are measurements: equal ones are chance, and only r is computed."""
ODD_PACE = 3.0
"""Times faster or slower than the usual worker from which the pace is odd."""
MAX_RUN_CHANCE = 0.001
"""Probability, over all workers together, of a run that is not called straight-lining."""


class Quality(Record, frozen=True, kw_only=True):
    """One worker's figures; None where they cannot be computed."""

    worker: str
    answers: int
    r: float | None = None
    """Correlation with the mean of the others; only of numbers."""
    agreement: float | None = None
    """Share of answers that lead among the others'; of spans, F1."""
    alpha: float | None = None
    """Mean nominal alpha with each other worker."""
    partners: int = 0
    """Workers the alpha is a mean over."""
    gold_items: int = 0
    """Answers about items whose answer is known."""
    accuracy: float | None = None
    """Share of right answers about items whose answer is known."""
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
            f"{what} needs to know who answered, but here a worker is only a column", cure=cure
        )


def quality(
    table: Table, gold: Mapping[str, Any] | None = None, *, workers_are: str = "persons"
) -> list[Quality]:
    """Every worker's figures, in the order of the table; `gold` has the known answers by item."""
    need_persons(workers_are, "worker quality")
    n = table.per_worker()
    unknown = np.full(len(n), np.nan)
    kind = find_kind(table)
    spans = kind is None and holds_spans(table)
    r = rest_correlation(table) if table.numeric else unknown
    agreement = unknown
    alphas = unknown
    partners = np.zeros(len(n), dtype=np.int64)
    if kind is not None:
        agreement = closeness_to_rest(table, kind)
    elif spans:
        agreement = f1_against_rest(table)
    elif holds_trees(table):
        agreement = las_against_rest(table)
    elif len(table.categories) <= MAX_LABELS:
        agreement = rest_agreement(table)
        alphas, partners = pairwise_alpha(table)
    right, tested = count_right(table, gold or {})
    seconds, runs, flags = find_habits(table)
    columns: dict[str, Sequence[Any]] = {
        "worker": [str(name) for name in table.workers],
        "answers": n.tolist(),
        "r": none_for_nan(r),
        "agreement": none_for_nan(agreement),
        "alpha": none_for_nan(alphas),
        "partners": partners.tolist(),
        "gold_items": tested.tolist(),
        "accuracy": none_for_nan(ratio(right, tested)),
        "seconds": none_for_nan(seconds),
        "longest_run": runs.tolist(),
        "flags": flags,
    }
    rows = zip(*columns.values(), strict=True)
    return [Quality(**dict(zip(columns, row, strict=True))) for row in rows]


def none_for_nan(values: Floats) -> list[float | None]:
    """A list with None for NaN."""
    return [None if np.isnan(value) else float(value) for value in values]


# Against the others


def rest_correlation(table: Table) -> Floats:
    """Pearson's r of each worker's numbers with the mean of the others' on the same items."""
    numbers = table.numbers
    n = table.per_item()[table.item]
    total = table.sum_by_item(numbers)[table.item]
    kept = n > 1
    rest_mean = (total - numbers)[kept] / (n[kept] - 1)
    return correlations(numbers[kept], rest_mean, table.worker[kept], len(table.workers))


def correlations(x: Floats, y: Floats, group: Codes, groups: int) -> Floats:
    """Pearson's r within each group; NaN where a side is constant or there are fewer than two."""
    n = np.maximum(1, np.bincount(group, minlength=groups))
    x = x - (sum_weights(group, x, groups) / n)[group]
    y = y - (sum_weights(group, y, groups) / n)[group]
    xy = sum_weights(group, x * y, groups)
    xx = sum_weights(group, x * x, groups)
    yy = sum_weights(group, y * y, groups)
    flat = (xx < 1e-12) | (yy < 1e-12)
    scale = np.sqrt(np.where(flat, 1.0, xx * yy))
    r: Floats = np.where(flat, np.nan, xy / scale)
    return r


def rest_agreement(table: Table) -> Floats:
    """Share of each worker's answers that lead among the others' answers about the item."""
    hits = np.zeros(len(table.workers))
    compared = np.zeros(len(table.workers))
    counts = table.counts()
    per_item = table.per_item()
    for start in range(0, len(table), BLOCK_SIZE):
        part = slice(start, start + BLOCK_SIZE)
        item = table.item[part]
        answer = table.answer[part]
        worker = table.worker[part]
        rest = counts[item]
        rest[np.arange(len(item)), answer] -= 1
        leads = rest == rest.max(axis=1)[:, None]
        is_leader = leads[np.arange(len(item)), answer]
        share = is_leader / leads.sum(axis=1)
        has_others = (per_item[item] > 1).astype(np.float64)
        hits += sum_weights(worker, share * has_others, len(hits))
        compared += sum_weights(worker, has_others, len(hits))
    return ratio(hits, compared)


def pairwise_alpha(table: Table) -> tuple[Floats, Counts]:
    """Of each worker the mean nominal alpha with every other who shares items, and over how many others it is.

    Pairs who never could disagree (one answer between them) have no alpha and are left out. Nothing needs a matrix of
    workers by items.
    """
    pairs = pair_answers(table)
    workers = len(table.workers)
    pair, shared = np.unique(pairs.first * workers + pairs.second, return_inverse=True)
    value = alpha_of_pairs(shared, pairs, len(pair), len(table.categories))
    defined = ~np.isnan(value)
    one, other = np.divmod(pair[defined], workers)
    both = np.concatenate([one, other])
    total = sum_weights(both, np.tile(value[defined], 2), workers)
    partners = np.bincount(both, minlength=workers)
    return ratio(total, partners), partners


def alpha_of_pairs(pair: Counts, answers: AnswerPairs, pairs: int, categories: int) -> Floats:
    """Alpha of each pair: 1 - (2n - 1) · disagreements · 2 / Σ_c n_c (2n - n_c), over its n shared items.

    `pair` numbers the two workers of each pair of answers.
    """
    left, right = answers.first_answer, answers.second_answer
    n = np.bincount(pair, minlength=pairs)
    apart = sum_weights(pair, (left != right).astype(np.float64), pairs)
    expected = np.zeros(pairs)
    for category in range(categories):
        times = (left == category).astype(np.float64) + (right == category)
        here = sum_weights(pair, times, pairs)
        expected += here * (2 * n - here)
    observed = (2 * n - 1) * 2 * apart
    return 1 - ratio(observed, expected)


# Against known answers


def count_right(table: Table, gold: Mapping[str, Any]) -> tuple[Counts, Counts]:
    """How many answers of each worker are right, and how many are about items whose answer is known."""
    workers = len(table.workers)
    if not gold:
        nobody = np.zeros(workers, dtype=np.int64)
        return nobody, nobody
    kind = find_kind(table)
    if kind is not None:
        gold = {item: kind.gold_of(answer) for item, answer in gold.items()}
    elif holds_spans(table):
        gold = {item: to_marks(answer) for item, answer in gold.items()}
    elif holds_trees(table):
        gold = {item: to_known_tree(answer) for item, answer in gold.items()}
    place = {category: code for code, category in enumerate(table.categories)}
    known = np.array([name in gold for name in table.items], dtype=bool)
    codes = [place.get(gold.get(name), -1) for name in table.items]
    true = np.array(codes, dtype=np.int64)
    tested = known[table.item]
    right = tested & (true[table.item] == table.answer)
    return (
        np.bincount(table.worker[right], minlength=workers),
        np.bincount(table.worker[tested], minlength=workers),
    )


class Trial(Record, frozen=True, kw_only=True):
    """How a worker did on test questions before being let in."""

    worker: str
    asked: int
    """Test questions the worker answered."""
    right: int
    share: float
    low: float
    """Wilson's 95% interval: ten questions say little."""
    high: float
    passed: bool
    """Whether the share reaches the pass mark."""


def pilot_test(table: Table, gold: Mapping[str, Any], pass_mark: float) -> list[Trial]:
    """Who passes: the share of right answers on the known items is at least the mark. Unasked workers fail."""
    right_counts, tested_counts = count_right(table, gold)
    if not tested_counts.any():
        raise BadInput(
            "no worker answered an item whose answer is known", cure="check the items' names"
        )
    trials = []
    for code, name in enumerate(table.workers):
        right = int(right_counts[code])
        tested = int(tested_counts[code])
        share = right / tested if tested else 0.0
        low, high = wilson(right, tested)
        trials.append(
            Trial(
                worker=str(name),
                asked=tested,
                right=right,
                share=share,
                low=low,
                high=high,
                passed=tested > 0 and share >= pass_mark,
            )
        )
    return trials


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share (Wilson 1927); 0 to 1 where nothing was asked.

    The quantile has seven digits, unlike that of `stats.distributions.wilson_interval`: stored reports were made with it.
    """
    if not n:
        return 0.0, 1.0
    p = right / n
    below = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / below
    variance = p * (1 - p) / n + z * z / (4 * n * n)
    half = z * float(np.sqrt(variance)) / below
    return max(0.0, centre - half), min(1.0, centre + half)


# Signs of haste: how long a worker takes, and how long the same answer is given in a row


def find_habits(table: Table) -> tuple[Floats, Counts, list[tuple[str, ...]]]:
    """Median seconds, longest run of one answer, and what is odd about them, of each worker."""
    seconds = median_seconds(table)
    length, code = longest_runs(table)
    known = seconds[~np.isnan(seconds)]
    usual = float(np.median(known)) if len(known) > 2 else float("nan")
    with np.errstate(invalid="ignore"):
        signs = {
            "fast": seconds < usual / ODD_PACE,
            "slow": seconds > usual * ODD_PACE,
            "straight": unlikely_runs(table, length, code),
        }
    flags = [
        tuple(name for name, sign in signs.items() if sign[worker])
        for worker in range(len(table.workers))
    ]
    return seconds, length, flags


def median_seconds(table: Table) -> Floats:
    """The median seconds of each worker; NaN where there are no times."""
    if table.seconds is None:
        return np.full(len(table.workers), np.nan)
    timed = ~np.isnan(table.seconds)
    seconds = table.seconds[timed].astype(np.float64)
    return group_medians(seconds, table.worker[timed], len(table.workers))


def longest_runs(table: Table) -> tuple[Counts, Counts]:
    """Of each worker the length of the longest run of one answer, and that answer's code."""
    order = np.argsort(table.worker, kind="stable")
    worker = table.worker[order]
    answer = table.answer[order]
    length = np.zeros(len(table.workers), dtype=np.int64)
    code = np.zeros(len(table.workers), dtype=np.int64)
    if not len(worker):
        return length, code
    is_other_worker = worker[1:] != worker[:-1]
    is_other_answer = answer[1:] != answer[:-1]
    new = np.flatnonzero(np.r_[True, is_other_worker | is_other_answer])
    runs = np.diff(np.r_[new, len(worker)])
    ranked = np.lexsort((runs, worker[new]))
    owner = worker[new][ranked]
    is_last = np.r_[owner[1:] != owner[:-1], True]
    last = np.flatnonzero(is_last)
    length[owner[last]] = runs[ranked][last]
    code[owner[last]] = answer[new][ranked][last]
    return length, code


def unlikely_runs(table: Table, length: Counts, code: Counts) -> NDArray[np.bool_]:
    """Whether chance would hardly make the run: by the union bound, (n - L + 1) p^L, p being the others' share.

    It takes the items to come in no particular order; in a file sorted by the answer everyone has long runs.
    """
    n = table.per_worker()
    used = table.per_category()[code]
    is_of_run = table.answer == code[table.worker]
    own = np.bincount(table.worker[is_of_run], minlength=len(n))
    others = len(table) - n
    share = (used - own + 1) / (others + len(table.categories))
    likely = (n - length + 1) * np.power(share, length)
    limit = MAX_RUN_CHANCE / max(1, len(n))
    return np.asarray((n > 0) & (likely < limit))


# Leaving workers out

FIGURES = ("r", "agreement", "alpha", "accuracy", "seconds", "longest_run", "answers")
"""Figures of `Quality` that may have a limit."""
_LIMIT = re.compile(r"([a-z_]+)\s*(<=|<|>=|>)\s*([-+.\de]+)")


@dataclass(frozen=True)
class Limit:
    """A figure of `Quality` and where it becomes a reason to leave a worker out."""

    text: str
    figure: str
    """One of `FIGURES`."""
    sign: str
    """`<`, `<=`, `>` or `>=`."""
    number: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """`r<0.80`, `alpha<0.20`, `seconds<2`, …"""
        match = _LIMIT.fullmatch(text.strip())
        if match is None or match[1] not in FIGURES:
            cure = f"write a limit such as r<0.80, for one of: {', '.join(FIGURES)}"
            raise BadInput(f"{text!r} is not a limit", cure=cure)
        return cls(text.strip(), match[1], match[2], float(match[3]))

    def hit(self, worker: Quality) -> bool:
        """Whether the worker is beyond it; an unknown figure is not a reason."""
        value = getattr(worker, self.figure)
        return value is not None and bool(SIGNS[self.sign](value, self.number))


class ExclusionEffect(Record, frozen=True, kw_only=True):
    """The effect of excluding one worker, or all workers beyond a limit."""

    worker: str
    """Empty for all of them together."""
    why: tuple[str, ...]
    """The limits that the worker is beyond."""
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
    """Items that had no gold and have some now."""
    mean_change: float | None = None
    """Of numbers: the mean absolute difference over items that have gold before and after."""


def find_excluded(
    workers: Sequence[Quality], limits: Sequence[Limit]
) -> dict[str, tuple[str, ...]]:
    """Who is beyond a limit, and which; a limit on a figure that no worker has is refused."""
    for limit in limits:
        if all(getattr(worker, limit.figure) is None for worker in workers):
            cure = "r needs numbers, accuracy needs known answers, seconds need times, the other figures need shared items"
            raise BadInput(f"no worker has the figure of {limit.text!r}", cure=cure)
    excluded = {}
    for worker in workers:
        why = tuple(limit.text for limit in limits if limit.hit(worker))
        if why:
            excluded[worker.worker] = why
    return excluded


def drop_workers(table: Table, workers: Sequence[str]) -> Table:
    """The table less some workers' answers; items and codes stay."""
    names = set(workers)
    dropped = np.array([str(name) in names for name in table.workers], dtype=bool)
    return table.select(~dropped[table.worker])


def measure_exclusions(
    table: Table, excluded: Mapping[str, tuple[str, ...]], rule: Rule, ties: Ties
) -> list[ExclusionEffect]:
    """What each exclusion would do alone, then all together."""
    if not excluded:
        return []
    before = apply_rule(table, rule, ties)
    effects = [_measure_effect(before, worker, why, [worker]) for worker, why in excluded.items()]
    reasons: dict[str, None] = {}
    for why in excluded.values():
        reasons |= dict.fromkeys(why)
    return [*effects, _measure_effect(before, "", tuple(reasons), list(excluded))]


def _measure_effect(
    before: Verdicts, worker: str, why: tuple[str, ...], workers: list[str]
) -> ExclusionEffect:
    left = drop_workers(before.table, workers)
    after = apply_rule(left, before.rule, before.ties)
    had = before.state == ACCEPTED
    has = after.state == ACCEPTED
    both = had & has
    n = left.per_item()[before.table.per_item() > 0]
    mean_change = None
    if before.label is not None and after.label is not None:
        changed = int((before.label != after.label)[both].sum())
    elif before.marks is not None and after.marks is not None:
        pairs = zip(before.marks, after.marks, both.tolist(), strict=True)
        changed = sum(one != other for one, other, kept in pairs if kept)
    elif before.parts is not None and after.parts is not None:
        both_parts = zip(before.parts, after.parts, both.tolist(), strict=True)
        changed = sum(one != other for one, other, kept in both_parts if kept)
    elif before.trees is not None and after.trees is not None:
        both_trees = zip(before.trees, after.trees, both.tolist(), strict=True)
        changed = sum(one != other for one, other, kept in both_trees if kept)
    else:
        assert before.value is not None
        assert after.value is not None
        apart = np.abs(before.value - after.value)[both]
        changed = int((apart > 1e-9).sum())
        mean_change = float(apart.mean()) if len(apart) else None
    return ExclusionEffect(
        worker=worker,
        why=why,
        answers=len(before.table) - len(left),
        answers_kept=len(left),
        fewest=int(n.min()) if len(n) else 0,
        changed=changed,
        lost=int((had & ~has).sum()),
        gained=int((has & ~had).sum()),
        mean_change=mean_change,
    )
