"""Compare systems on the same items: paired tests, corrected for how many were made, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.datasets.hidden import load_veiled
from nikawa.errors import BadInput
from nikawa.metrics import Items, Metric
from nikawa.metrics.base import Weighted
from nikawa.records import Record, Unit
from nikawa.scoring.compare_table import (
    Job,
    Side,
    Table,
    alone,
    effect_size,
    exact_mcnemar,
    item_gaps,
    table_of,
    tally,
)
from nikawa.scoring.match import Gaps
from nikawa.scoring.score import Options, Part, Scored, Tell, score, slices
from nikawa.stats.paired import Paired, Swap, compare_pair, compare_pairs, compare_seeds, tie_groups
from nikawa.stats.resample import RESAMPLES, Ints, holm

__all__ = [
    "Comparison",
    "PairResult",
    "Side",
    "SliceResult",
    "SystemScore",
    "compare",
    "compare_sides",
]

ALPHA = 0.05


class SystemScore(Record, frozen=True, kw_only=True):
    """One system on one task under one metric."""

    system: str
    task: str
    metric: str
    unit: Unit
    value: float
    sd: float | None
    """Over seeds; None for a single run."""
    runs: int
    ties: str
    """Systems that share a letter cannot be told apart; empty where the score is not defined."""


class PairResult(Record, frozen=True, kw_only=True):
    """Two systems on one task under one metric; positive differences favour the second."""

    task: str
    metric: str
    first: str
    second: str
    n: int
    """Items compared: all, or those every run answered where the metric has no place for others."""
    unit: Unit
    difference: float
    low: float
    high: float
    p: float
    """Approximate randomisation; with several runs, Welch's t over items and seeds."""
    p_holm: float
    p_bootstrap: float
    p_mcnemar: float | None
    """For metrics that are a share of right items, and one run each."""
    effect: float | None
    """Cohen's d of the differences an item, for metrics that are a mean over items."""
    smallest: float
    """The least true difference this test set would find four times in five."""
    wins: int
    """Items the second did better on; 0 of all three where the metric is no mean over items but another of the task is."""
    losses: int
    ties: int


class SliceResult(Record, frozen=True, kw_only=True):
    """Wins and losses of the second system on a slice."""

    task: str
    first: str
    second: str
    where: str
    wins: int
    losses: int
    ties: int


class Comparison(Record, frozen=True, kw_only=True):
    """Everything a comparison found."""

    systems: tuple[SystemScore, ...]
    pairs: tuple[PairResult, ...]
    slices: tuple[SliceResult, ...]
    differing: dict[str, tuple[str, ...]]
    """`task: first against second` to the ids where exactly one is right, or the scores differ."""


def compare(
    task_names: Sequence[str],
    systems: Mapping[str, Sequence[Path]],
    *,
    split: str | None = None,
    data: Path | None = None,
    options: Options | None = None,
    rounds: int = RESAMPLES,
) -> Comparison:
    """Compare systems, each given by one answer file or folder a seed, on one or more tasks.

    Of `options`, what to slice `by`, whether to look at `hidden` items and whom to `tell` count.
    """
    how = options or Options()
    if len(systems) < 2:
        raise BadInput("a comparison needs two systems", cure="name two answer files or folders")
    read = _Reader(
        Against(split, data, how.hidden),
        how.tell,
        len(task_names) * sum(map(len, systems.values())),
    )
    all_sides = [
        [read.side(name, system, paths) for system, paths in systems.items()] for name in task_names
    ]
    for sides in all_sides:
        _same_items(sides)
    return compare_sides(all_sides, task_names, by=how.by, rounds=rounds, tell=how.tell)


def compare_sides(
    all_sides: Sequence[Sequence[Side]],
    titles: Sequence[str],
    *,
    by: tuple[str, ...] = (),
    rounds: int = RESAMPLES,
    tell: Tell = lambda *_: None,
) -> Comparison:
    """The same for systems whose answers are read already, a list of them a task; a task with one has no pairs."""
    tables = [table_of(sides) for sides in all_sides]
    progress = _Progress(tell, sum(len(t.jobs()) for t in tables) * 2 * rounds)
    pairs = _corrected([pair for table in tables for pair in _pairs(table, rounds, progress)])
    scores = [s for t in tables for m in t.metrics for s in _scores(t, m, _letters(t, m, pairs))]
    parts: list[SliceResult] = []
    differing: dict[str, tuple[str, ...]] = {}
    for name, table in zip(titles, tables, strict=True):
        for first, second in combinations(table.sides, 2):
            gaps = item_gaps(table, first.name, second.name)
            parts += _slices(first, second, by, gaps)
            ids = tuple(example for example, gap in gaps.items() if gap)
            differing[f"{name}: {first.name} against {second.name}"] = ids
    return Comparison(systems=tuple(scores), pairs=pairs, slices=tuple(parts), differing=differing)


class _Progress:
    """Rounds done of all."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def add(self, rounds: int) -> None:
        self._done = min(self._total, self._done + rounds)
        self._tell("comparing", self._done, self._total)


@dataclass(frozen=True)
class Against:
    """The gold that answers are held against."""

    split: str | None
    data: Path | None
    hidden: bool


class _Reader:
    """Reads the answers of systems and tells how far it is."""

    def __init__(self, gold: Against, tell: Tell, total: int) -> None:
        self._gold, self._tell, self._total, self._done = gold, tell, total, 0
        self._read = cache(lambda spec, data=None: load_veiled(spec, data=data))

    def side(self, task: str, system: str, paths: Sequence[Path]) -> Side:
        """A system's runs on a task."""
        return Side(system, tuple(self._run(task, path) for path in paths))

    def _run(self, task: str, path: Path) -> Scored:
        self._tell("reading", self._done, self._total)
        self._done += 1
        quick = Options(resamples=1, hidden=self._gold.hidden, read=self._read)
        try:
            return score(task, path, split=self._gold.split, data=self._gold.data, options=quick)
        except Gaps as problem:
            raise problem.told("add them: systems are compared on the same items") from None


def _same_items(sides: Sequence[Side]) -> None:
    """All runs must have answered the same split of the same version."""
    first = sides[0].runs[0]
    for side in sides:
        for run in side.runs:
            if (run.report.split, run.report.version) != (first.report.split, first.report.version):
                raise BadInput(
                    f"{side.name} answered {run.report.split}, {sides[0].name} {first.report.split}",
                    cure="compare answers to the same split",
                )


def _pairs(table: Table, rounds: int, progress: _Progress) -> list[PairResult]:
    """Every pair of systems under every metric, metric by metric."""
    found: dict[tuple[str, str, str], Paired] = {}
    for first, second, metrics in table.jobs():
        for metric, paired in zip(
            metrics, _tested(table, (first, second, metrics), rounds, progress.add), strict=True
        ):
            found[metric.name, first, second] = paired
    names = [(a.name, b.name) for a, b in combinations(table.sides, 2)]
    return [_pair(table, m, pair, found[m.name, *pair]) for m in table.metrics for pair in names]


def _tested(table: Table, job: Job, rounds: int, tell: Callable[[int], None]) -> list[Paired]:
    """The tests of one pair under metrics that share their draws."""
    first, second, metrics = job
    left, right = table.parts[first], table.parts[second]
    if len(left) > 1 or len(right) > 1:
        runs = [table.runs(name, metrics[0]) for name in (first, second)]
        return [compare_seeds(runs[0], runs[1], table.units(metrics[0]), rounds=rounds, tell=tell)]
    if alone(table, metrics[0]):
        return [_alone(left[0], right[0], metrics[0], rounds, tell)]
    pairs = [(table.runs(first, metric)[0], table.runs(second, metric)[0]) for metric in metrics]
    return compare_pairs(pairs, table.units(metrics[0]), rounds=rounds, tell=tell)


def _pair(table: Table, metric: Metric, names: tuple[str, str], paired: Paired) -> PairResult:
    left, right = (table.parts[name] for name in names)
    scale = metric.scale(left[0].task)
    several = len(left) > 1 or len(right) > 1
    detail = [table.detail(name, metric) for name in names]
    own = table.itemwise(metric)
    wins, losses, ties = (
        tally(detail[0], detail[1], metric) if own or not table.any_itemwise else (0, 0, 0)
    )
    difference = paired.difference
    return PairResult(
        task=left[0].task.name,
        metric=metric.name,
        first=names[0],
        second=names[1],
        n=len(left[0].items.gold),
        unit=metric.unit(left[0].task),
        difference=difference.value * scale,
        low=difference.low * scale,
        high=difference.high * scale,
        p=difference.p_randomisation,
        p_holm=difference.p_randomisation,
        p_bootstrap=difference.p_bootstrap,
        p_mcnemar=exact_mcnemar(detail[0], detail[1]) if own and not several else None,
        effect=effect_size(detail[0], detail[1], metric) if own else None,
        smallest=paired.smallest * scale,
        wins=wins,
        losses=losses,
        ties=ties,
    )


def _alone(
    left: Part, right: Part, metric: Metric, rounds: int, tell: Callable[[int], None]
) -> Paired:
    """One run each; correlations exchange standard scores or ranks, since they do not see scale."""
    if metric.standardise is not None:
        left, right = (
            replace(part, items=replace(part.items, answers=metric.standardise(part.items.answers)))
            for part in (left, right)
        )
    (a, units), (b, _) = left.under(metric, "official"), right.under(metric, "official")
    swap = _swap(left, right, metric, units) if isinstance(a, Weighted) else None
    return compare_pair(a, b, units, swap=swap, rounds=rounds, tell=tell)


def _swap(left: Part, right: Part, metric: Metric, units: Ints) -> Swap:
    """Both values when the answers of some units are exchanged, computed anew."""

    def run(chosen_units: Ints) -> tuple[float, float]:
        exchanged = np.isin(units, chosen_units)
        pairs = ((left.items, right.items), (right.items, left.items))
        one, two = (
            metric.evaluate(_exchanged(p, q, exchanged), "official").value for p, q in pairs
        )
        return one, two

    return run


def _exchanged(own: Items, other: Items, exchanged: Any) -> Items:
    answers, scores = (
        [b if x else a for a, b, x in zip(p, q, exchanged, strict=True)]
        for p, q in ((own.answers, other.answers), (own.scores, other.scores))
    )
    return replace(own, answers=answers, scores=scores)


def _corrected(pairs: Sequence[PairResult]) -> tuple[PairResult, ...]:
    """Holm's correction over every pair, task and metric compared."""
    import msgspec

    defined = [pair.p for pair in pairs if not np.isnan(pair.p)]
    each = iter(holm(defined))
    adjusted = [pair.p if np.isnan(pair.p) else next(each) for pair in pairs]
    return tuple(
        msgspec.structs.replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True)
    )


def _scores(table: Table, metric: Metric, letters: Mapping[str, str]) -> Iterable[SystemScore]:
    for name, parts in table.parts.items():
        values = [e.value * metric.scale(parts[0].task) for e in table.runs(name, metric)]
        yield SystemScore(
            system=name,
            task=parts[0].task.name,
            metric=metric.name,
            unit=metric.unit(parts[0].task),
            value=float(np.mean(values)),
            sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            runs=len(values),
            ties=letters[name],
        )


def _letters(table: Table, metric: Metric, pairs: Sequence[PairResult]) -> dict[str, str]:
    """Tie letters by the corrected p values, of the systems whose score is defined."""
    own = {
        frozenset((p.first, p.second)): p
        for p in pairs
        if (p.task, p.metric) == (table.task.name, metric.name)
    }
    means = {
        name: float(np.mean([e.value for e in table.runs(name, metric)])) for name in table.parts
    }
    names = [name for name, mean in means.items() if not np.isnan(mean)]

    def apart(i: int, j: int) -> bool:
        return bool(own[frozenset((names[i], names[j]))].p_holm < ALPHA)

    sign = 1 if metric.better == "higher" else -1
    letters = tie_groups([sign * means[name] for name in names], apart)
    return dict.fromkeys(means, "") | dict(zip(names, letters, strict=True))


def _slices(
    first: Side, second: Side, by: tuple[str, ...], gaps: Mapping[str, float]
) -> Iterable[SliceResult]:
    one = first.runs[0]
    for where, examples in slices(one.examples, by, one.task) if by else ():
        found = [gaps[example.id] for example in examples if example.id in gaps]
        yield SliceResult(
            task=one.task.name,
            first=first.name,
            second=second.name,
            where=where or "all",
            wins=sum(gap > 0 for gap in found),
            losses=sum(gap < 0 for gap in found),
            ties=sum(gap == 0 for gap in found),
        )
