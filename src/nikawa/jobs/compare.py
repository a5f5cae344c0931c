"""Compare systems on the same items: paired tests, corrected for how many were made, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.analyse.paired import Paired, Swap, compare_pair, compare_seeds, tie_groups
from nikawa.analyse.resample import RESAMPLES, Ints, holm, mcnemar
from nikawa.errors import BadInput
from nikawa.jobs.score import Options, Part, Scored, chosen, items_of, score, slices
from nikawa.metrics import Items, Metric
from nikawa.metrics._metric import Weighted
from nikawa.metrics.correlation import average_ranks
from nikawa.records import Record, Task

ALPHA = 0.05
INVARIANT = ("pearson", "spearman")
"""Metrics that do not see the scale of the answers: what is exchanged must not see it either."""


class SystemScore(Record, frozen=True, kw_only=True):
    """One system on one task under one metric."""

    system: str
    task: str
    metric: str
    value: float
    sd: float | None
    """Over seeds; None for a single run."""
    runs: int
    ties: str
    """Systems that share a letter cannot be told apart."""


class PairResult(Record, frozen=True, kw_only=True):
    """Two systems on one task under one metric; positive differences favour the second."""

    task: str
    metric: str
    first: str
    second: str
    n: int
    """Items compared: all, or those every run answered where the metric has no place for others."""
    difference: float
    low: float
    high: float
    p: float
    """Approximate randomisation; with several seeds, the bootstrap over items and seeds."""
    p_holm: float
    p_bootstrap: float
    p_mcnemar: float | None
    """For right-or-wrong metrics and one run each."""
    effect: float
    """Cohen's d of the differences an item."""
    smallest: float
    """The least true difference this test set would find four times in five."""
    wins: int
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


@dataclass(frozen=True)
class Side:
    """A system's runs on one task."""

    name: str
    runs: tuple[Scored, ...]


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

    Of `options`, what to slice `by` and whether to look at `hidden` items count.
    """
    how = options or Options()
    if len(systems) < 2:
        raise BadInput("a comparison needs two systems", cure="name two answer files or folders")
    all_sides = [
        [_side(name, system, paths, Against(split, data, how.hidden)) for system, paths in systems.items()]
        for name in task_names
    ]
    for sides in all_sides:
        _same_items(sides)
    return compare_sides(all_sides, task_names, by=how.by, rounds=rounds)


def compare_sides(
    all_sides: Sequence[Sequence[Side]],
    titles: Sequence[str],
    *,
    by: tuple[str, ...] = (),
    rounds: int = RESAMPLES,
) -> Comparison:
    """The same for systems whose answers are read already, a list of them a task; a task with one has no pairs."""
    tests = [(sides, metric) for sides in all_sides for metric in _metrics(sides)]
    pairs = _corrected([pair for sides, metric in tests for pair in _pairs(sides, metric, rounds)])
    scores = [s for sides, metric in tests for s in _scores(sides, metric, _letters(sides, metric, pairs))]
    parts: list[SliceResult] = []
    differing: dict[str, tuple[str, ...]] = {}
    for name, sides in zip(titles, all_sides, strict=True):
        for first, second in combinations(sides, 2):
            gaps = _gaps(first, second)
            parts += _slices(first, second, by, gaps)
            ids = tuple(example for example, gap in gaps.items() if gap)
            differing[f"{name}: {first.name} against {second.name}"] = ids
    return Comparison(systems=tuple(scores), pairs=pairs, slices=tuple(parts), differing=differing)


@dataclass(frozen=True)
class Against:
    """The gold that answers are held against."""

    split: str | None
    data: Path | None
    hidden: bool


def _side(task: str, system: str, paths: Sequence[Path], gold: Against) -> Side:
    quick = Options(resamples=1, hidden=gold.hidden)
    runs = (score(task, path, split=gold.split, data=gold.data, options=quick) for path in paths)
    return Side(system, tuple(runs))


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


def _metrics(sides: Sequence[Side]) -> list[Metric]:
    first = sides[0].runs[0]
    every = [chosen(first.task, (), _items(run)) for side in sides for run in side.runs]
    return [metric for metric in every[0] if all(metric in others for others in every)]


def _items(run: Scored) -> Items:
    return items_of(run.task, run.examples, run.predictions)


def _parts(sides: Iterable[Side]) -> dict[str, list[Part]]:
    """A part a run, over the same items and with the same set of labels, so that their statistics line up."""
    raw = {side.name: [(run, _items(run)) for run in side.runs] for side in sides}
    every = [items for runs in raw.values() for _, items in runs]
    kept = _common(every, next(iter(raw.values()))[0][0].task)
    labels = _labels(every)
    return {
        name: [Part(run.task, _taken(run.examples, kept), _only(items, kept, labels)) for run, items in runs]
        for name, runs in raw.items()
    }


def _common(every: Sequence[Items], task: Task) -> list[int]:
    """Items to compare on: all, but for similarity those every run answered (a correlation has no other place)."""
    size = range(len(every[0].gold))
    if task.kind != "similarity":
        return list(size)
    return [i for i in size if all(items.answers[i] is not None for items in every)]


def _labels(every: Sequence[Items]) -> tuple[Any, ...]:
    """The declared labels, then whatever else occurs; only label and choice answers form classes."""
    seen = {
        x for items in every for side in (items.gold, items.answers) for x in side if isinstance(x, str | int)
    }
    return (*every[0].labels, *sorted(seen - set(every[0].labels), key=str))


def _taken(values: Sequence[Any], kept: Sequence[int]) -> list[Any]:
    return [values[i] for i in kept]


def _only(items: Items, kept: Sequence[int], labels: tuple[Any, ...]) -> Items:
    sides = (_taken(side, kept) for side in (items.gold, items.answers, items.inputs, items.scores))
    gold, answers, inputs, scores = sides
    return Items(gold, answers, inputs, labels, scores)


def _pairs(sides: Sequence[Side], metric: Metric, rounds: int) -> Iterable[PairResult]:
    parts = _parts(sides)
    for first, second in combinations(sides, 2):
        yield _pair(first.name, second.name, parts[first.name], parts[second.name], metric, rounds)


def _pair(
    first: str, second: str, left: Sequence[Part], right: Sequence[Part], metric: Metric, rounds: int
) -> PairResult:
    scale = left[0].scale(metric)
    units = left[0].under(metric, "official")[1]
    runs = [[part.under(metric, "official")[0] for part in side] for side in (left, right)]
    several = len(left) > 1 or len(right) > 1
    if several:
        paired = compare_seeds(runs[0], runs[1], units, rounds=rounds)
    else:
        paired = _single(left[0], right[0], metric, rounds)
    detail = [_mean_detail(part, metric) for part in (left, right)]
    wins, losses, ties = _tally(detail[0], detail[1], metric)
    difference = paired.difference
    return PairResult(
        task=left[0].task.name,
        metric=metric.name,
        first=first,
        second=second,
        n=len(left[0].items.gold),
        difference=difference.value * scale,
        low=difference.low * scale,
        high=difference.high * scale,
        p=difference.p_randomisation,
        p_holm=difference.p_randomisation,
        p_bootstrap=difference.p_bootstrap,
        p_mcnemar=None if several else _mcnemar(detail[0], detail[1]),
        effect=_effect(detail[0], detail[1], metric),
        smallest=paired.smallest * scale,
        wins=wins,
        losses=losses,
        ties=ties,
    )


def _single(left: Part, right: Part, metric: Metric, rounds: int) -> Paired:
    """One run each; correlations exchange standard scores or ranks, since they do not see scale."""
    if metric.name in INVARIANT:
        left, right = (replace(part, items=_standardised(part.items, metric.name)) for part in (left, right))
    (a, units), (b, _) = left.under(metric, "official"), right.under(metric, "official")
    swap = _swap(left, right, metric, units) if isinstance(a, Weighted) else None
    return compare_pair(a, b, units, swap=swap, rounds=rounds)


def _standardised(items: Items, name: str) -> Items:
    values = np.array(items.answers, dtype=np.float64)
    if name == "spearman":
        values = average_ranks(values)
    spread = float(values.std())
    return replace(items, answers=((values - values.mean()) / spread if spread else values * 0).tolist())


def _mean_detail(parts: Sequence[Part], metric: Metric) -> Any:
    """A score an item, averaged over runs; the squared error where a similarity metric has none."""
    details = [part.under(metric, "official")[0].detail for part in parts]
    if parts[0].task.kind == "similarity" and any(d is None for d in details):
        details = [
            -((np.array(p.items.answers, dtype=float) - np.array(p.items.gold, dtype=float)) ** 2)
            for p in parts
        ]
    if any(d is None for d in details):
        return None
    return np.mean([d for d in details if d is not None], axis=0)


def _effect(a: Any, b: Any, metric: Metric) -> float:
    """Cohen's d of the paired differences an item: their mean over their standard deviation; 0 where undefined."""
    if a is None or b is None or len(a) < 2:
        return 0.0
    gaps = (b - a) if metric.better == "higher" else (a - b)
    spread = float(np.std(gaps, ddof=1))
    return float(np.mean(gaps)) / spread if spread else 0.0


def _swap(left: Part, right: Part, metric: Metric, units: Ints) -> Swap:
    """Both values when the answers of some units are exchanged, computed anew."""

    def run(chosen_units: Ints) -> tuple[float, float]:
        exchanged = np.isin(units, chosen_units)
        pairs = ((left.items, right.items), (right.items, left.items))
        one, two = (metric.evaluate(_exchanged(p, q, exchanged), "official").value for p, q in pairs)
        return one, two

    return run


def _exchanged(own: Items, other: Items, exchanged: Any) -> Items:
    answers, scores = (
        [b if x else a for a, b, x in zip(p, q, exchanged, strict=True)]
        for p, q in ((own.answers, other.answers), (own.scores, other.scores))
    )
    return replace(own, answers=answers, scores=scores)


def _tally(a: Any, b: Any, metric: Metric) -> tuple[int, int, int]:
    if a is None or b is None or len(a) != len(b):
        return 0, 0, 0
    ahead, behind = int((b > a).sum()), int((a > b).sum())
    wins, losses = (ahead, behind) if metric.better == "higher" else (behind, ahead)
    return wins, losses, len(a) - wins - losses


def _mcnemar(a: Any, b: Any) -> float | None:
    """Exact McNemar, where every item is right or wrong."""
    if a is None or b is None or len(a) != len(b) or not np.isin(np.concatenate([a, b]), (0.0, 1.0)).all():
        return None
    return mcnemar(a, b)[2]


def _corrected(pairs: Sequence[PairResult]) -> tuple[PairResult, ...]:
    """Holm's correction over every pair, task and metric compared."""
    import msgspec

    defined = [pair.p for pair in pairs if not np.isnan(pair.p)]
    each = iter(holm(defined))
    adjusted = [pair.p if np.isnan(pair.p) else next(each) for pair in pairs]
    return tuple(msgspec.structs.replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _scores(sides: Sequence[Side], metric: Metric, letters: Mapping[str, str]) -> Iterable[SystemScore]:
    for name, runs in _parts(sides).items():
        values = [part.under(metric, "official")[0].value * part.scale(metric) for part in runs]
        yield SystemScore(
            system=name,
            task=sides[0].runs[0].task.name,
            metric=metric.name,
            value=float(np.mean(values)),
            sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            runs=len(values),
            ties=letters[name],
        )


def _letters(sides: Sequence[Side], metric: Metric, pairs: Sequence[PairResult]) -> dict[str, str]:
    """Tie letters by the corrected p values; what cannot be computed tells nothing apart."""
    task = sides[0].runs[0].task.name
    own = {frozenset((p.first, p.second)): p for p in pairs if (p.task, p.metric) == (task, metric.name)}
    names = [side.name for side in sides]
    means = [
        float(np.mean([part.under(metric, "official")[0].value for part in runs]))
        for runs in _parts(sides).values()
    ]

    def apart(i: int, j: int) -> bool:
        return bool(own[frozenset((names[i], names[j]))].p_holm < ALPHA)

    sign = 1 if metric.better == "higher" else -1
    return dict(zip(names, tie_groups([sign * mean for mean in means], apart), strict=True))


def _gaps(first: Side, second: Side) -> dict[str, float]:
    """How much better the second did on each item, by the first metric that has a score an item."""
    parts = _parts((first, second))
    for metric in _metrics((first, second)):
        a, b = (_mean_detail(parts[side.name], metric) for side in (first, second))
        if a is not None and b is not None and len(a) == len(b):
            ids = [example.id for example in parts[first.name][0].examples]
            sign = 1 if metric.better == "higher" else -1
            return dict(zip(ids, (sign * (b - a)).tolist(), strict=True))
    return {}


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
