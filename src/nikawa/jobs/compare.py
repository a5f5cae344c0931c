"""Compare systems on the same items: paired tests, corrected for how many were made, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.analyse.paired import Swap, compare_pair, compare_seeds, tie_groups
from nikawa.analyse.resample import RESAMPLES, Ints, holm, mcnemar
from nikawa.errors import BadInput
from nikawa.jobs.score import Options, Part, Scored, chosen, items_of, score, slices
from nikawa.metrics import Items, Metric
from nikawa.metrics._metric import Weighted
from nikawa.records import Example, Record

ALPHA = 0.05


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
    difference: float
    low: float
    high: float
    p: float
    """Approximate randomisation; with several seeds, the bootstrap over items and seeds."""
    p_holm: float
    p_bootstrap: float
    p_mcnemar: float | None
    effect: float
    smallest: float
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
    by: tuple[str, ...] = (),
    rounds: int = RESAMPLES,
) -> Comparison:
    """Compare systems, each given by one answer file or folder a seed, on one or more tasks."""
    if len(systems) < 2:
        raise BadInput("a comparison needs two systems", cure="name two answer files or folders")
    scores: list[SystemScore] = []
    pairs: list[PairResult] = []
    parts: list[SliceResult] = []
    differing: dict[str, tuple[str, ...]] = {}
    for name in task_names:
        sides = [_side(name, system, paths, split, data) for system, paths in systems.items()]
        _same_items(sides)
        found = [pair for metric in _metrics(sides) for pair in _pairs(sides, metric, rounds)]
        pairs += found
        scores += _scores(sides, _metrics(sides), found)
        for first, second in combinations(sides, 2):
            parts += _slices(first, second, by)
            differing[f"{name}: {first.name} against {second.name}"] = tuple(_differing(first, second))
    return Comparison(
        systems=tuple(scores), pairs=_corrected(pairs), slices=tuple(parts), differing=differing
    )


def _side(task: str, system: str, paths: Sequence[Path], split: str | None, data: Path | None) -> Side:
    quick = Options(resamples=1)
    return Side(system, tuple(score(task, path, split=split, data=data, options=quick) for path in paths))


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
    """A part a run, all with the same set of labels, so that their statistics line up."""
    raw = {side.name: [(run, _items(run)) for run in side.runs] for side in sides}
    answers = {
        a for runs in raw.values() for _, items in runs for a in items.answers if isinstance(a, str | int)
    }  # only label and choice answers form classes
    gold = {
        g for runs in raw.values() for _, items in runs[:1] for g in items.gold if isinstance(g, str | int)
    }
    extra = sorted((answers | gold) - set(raw[next(iter(raw))][0][1].labels), key=str)
    return {
        name: [
            Part(run.task, run.examples, replace(items, labels=(*items.labels, *extra)))
            for run, items in runs
        ]
        for name, runs in raw.items()
    }


def _pairs(sides: Sequence[Side], metric: Metric, rounds: int) -> Iterable[PairResult]:
    parts = _parts(sides)
    for first, second in combinations(sides, 2):
        yield _pair(first.name, second.name, parts[first.name], parts[second.name], metric, rounds)


def _pair(
    first: str, second: str, left: Sequence[Part], right: Sequence[Part], metric: Metric, rounds: int
) -> PairResult:
    scale = left[0].scale(metric)
    (a, units), (b, _) = left[0].under(metric, "official"), right[0].under(metric, "official")
    swap = _swap(left[0], right[0], metric, units) if isinstance(a, Weighted) else None
    paired = compare_pair(a, b, units, swap=swap, rounds=rounds)
    difference, p = paired.difference, paired.difference.p_randomisation
    if len(left) > 1 or len(right) > 1:
        runs = [[part.under(metric, "official")[0] for part in side] for side in (left, right)]
        difference = compare_seeds(runs[0], runs[1], units, rounds=rounds)
        p = difference.p_bootstrap
    wins, losses, ties = _tally(a.detail, b.detail, metric)
    return PairResult(
        task=left[0].task.name,
        metric=metric.name,
        first=first,
        second=second,
        difference=difference.value * scale,
        low=difference.low * scale,
        high=difference.high * scale,
        p=p,
        p_holm=p,
        p_bootstrap=difference.p_bootstrap,
        p_mcnemar=_mcnemar(a.detail, b.detail),
        effect=paired.effect,
        smallest=paired.smallest * scale,
        wins=wins,
        losses=losses,
        ties=ties,
    )


def _swap(left: Part, right: Part, metric: Metric, units: Ints) -> Swap:
    """Both values when the answers of some units are exchanged, computed anew."""

    def run(chosen_units: Ints) -> tuple[float, float]:
        exchanged = np.isin(units, chosen_units)
        one, two = (
            [b if x else a for a, b, x in zip(p, q, exchanged, strict=True)]
            for p, q in ((left.items.answers, right.items.answers), (right.items.answers, left.items.answers))
        )
        scores = [
            [b if x else a for a, b, x in zip(p, q, exchanged, strict=True)]
            for p, q in ((left.items.scores, right.items.scores), (right.items.scores, left.items.scores))
        ]
        first = metric.evaluate(replace(left.items, answers=one, scores=scores[0]), "official").value
        return first, metric.evaluate(replace(right.items, answers=two, scores=scores[1]), "official").value

    return run


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

    adjusted = holm([pair.p for pair in pairs])
    return tuple(msgspec.structs.replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _scores(
    sides: Sequence[Side], found: Sequence[Metric], pairs: Sequence[PairResult]
) -> Iterable[SystemScore]:
    parts = _parts(sides)
    for metric in found:
        values = {
            name: [p.under(metric, "official")[0].value * p.scale(metric) for p in runs]
            for name, runs in parts.items()
        }
        letters = _letters(metric, {name: float(np.mean(v)) for name, v in values.items()}, pairs)
        for name, runs in values.items():
            sd = float(np.std(runs, ddof=1)) if len(runs) > 1 else None
            yield SystemScore(
                system=name, task=sides[0].runs[0].task.name, metric=metric.name,
                value=float(np.mean(runs)), sd=sd, runs=len(runs), ties=letters[name],
            )  # fmt: skip


def _letters(metric: Metric, means: Mapping[str, float], pairs: Sequence[PairResult]) -> dict[str, str]:
    names = list(means)
    own = [pair for pair in pairs if pair.metric == metric.name]
    adjusted = dict(zip([(p.first, p.second) for p in own], holm([p.p for p in own]), strict=True))

    def apart(i: int, j: int) -> bool:
        pair = (names[i], names[j]) if (names[i], names[j]) in adjusted else (names[j], names[i])
        return adjusted[pair] < ALPHA

    sign = 1 if metric.better == "higher" else -1
    return dict(zip(names, tie_groups([sign * means[name] for name in names], apart), strict=True))


def _slices(first: Side, second: Side, by: tuple[str, ...]) -> Iterable[SliceResult]:
    if not by:
        return
    one, two = first.runs[0], second.runs[0]
    for where, examples in slices(one.examples, by, one.task):
        wins, losses, ties = _slice_tally(one, two, examples)
        yield SliceResult(
            task=one.task.name, first=first.name, second=second.name, where=where or "all",
            wins=wins, losses=losses, ties=ties,
        )  # fmt: skip


def _details(one: Scored, two: Scored, examples: Sequence[Example]) -> tuple[Any, Any, Metric] | None:
    """Both systems' score an item under the first metric that has one."""
    left, right = (items_of(run.task, examples, run.predictions) for run in (one, two))
    for metric in chosen(one.task, (), left):
        a, b = metric.evaluate(left, "official").detail, metric.evaluate(right, "official").detail
        if a is not None and b is not None and len(a) == len(b) == len(examples):
            return a, b, metric
    return None


def _slice_tally(one: Scored, two: Scored, examples: Sequence[Example]) -> tuple[int, int, int]:
    found = _details(one, two, examples)
    return (0, 0, 0) if found is None else _tally(*found)


def _differing(first: Side, second: Side) -> Iterable[str]:
    found = _details(first.runs[0], second.runs[0], first.runs[0].examples)
    if found is not None:
        a, b, _ = found
        yield from (e.id for e, x, y in zip(first.runs[0].examples, a, b, strict=True) if x != y)
