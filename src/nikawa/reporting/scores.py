"""The score tables of a report: values as the runs wrote them, intervals over items and seeds, tie groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from nikawa.metrics import Evaluation, metrics
from nikawa.records import Score
from nikawa.reporting.page_data import Number, PairRow, PartRow, SystemRow
from nikawa.reporting.systems import Answered, SystemRuns, TaskRuns, scored_items
from nikawa.runs.store import SCORES
from nikawa.runs.summary import mean_and_sd
from nikawa.scoring.compare import Comparison, PairResult, Side, compare_sides
from nikawa.scoring.report import ScoreReport
from nikawa.scoring.score import Part, Scored, items_of, units_of
from nikawa.stats.paired_seeds import ENOUGH as MAX_ROUNDS_OF_T
from nikawa.stats.resample import Floats, Ints, bounds, count_units, draws
from nikawa.stats.results import LEAST_UNITS
from nikawa.stats.run_means import limits_of, mean_interval


def over_seeds(
    part: TaskRuns, system: SystemRuns, what: tuple[str, str], rounds: int, number: Number
) -> Number:
    """The number with its interval over items and seeds."""
    low, high, by = _interval(part, system, what, rounds)
    groups = units_of(part.task, scored_items(part, what[0]))
    few = low is None and count_units(groups) < LEAST_UNITS
    return replace(number, low=low, high=high, few=few, by=by)


def _interval(
    part: TaskRuns, system: SystemRuns, what: tuple[str, str], rounds: int
) -> tuple[float | None, float | None, Literal["t"] | UnsetType]:
    """Of a set and metric, over items and seeds, and how it was found; None where seeds answered different items."""
    metric, examples = metrics()[what[1]], scored_items(part, what[0])
    seen = []
    for run in system.runs:
        answers = {prediction.example: prediction for prediction in run.answers[what[0]]}
        whole = Part(part.task, examples, items_of(part.task, examples, answers))
        seen.append(whole.under(metric, "official"))
    units = seen[0][1]
    if not len(units) or any(not np.array_equal(units, other) for _, other in seen):
        return None, None, UNSET
    runs, scale = [evaluation for evaluation, _ in seen], metric.scale(part.task)
    if all(run.itemwise for run in runs):
        low, high = (
            finite(end * scale) for end in _by_t(runs, units, min(rounds, MAX_ROUNDS_OF_T))
        )
        return low, high, "t" if low is not None else UNSET
    return *bounds(_both_drawn(runs, units, rounds), units, scale), UNSET


def _by_t(runs: Sequence[Evaluation], units: Ints, rounds: int) -> tuple[float, float]:
    """Student's t, for metrics that are means over items."""
    drawn = np.concatenate(list(_drawn(runs, units, rounds)), axis=1)
    values = np.array([run.value for run in runs])
    return mean_interval(
        values, drawn, count_units(units), limits_of(*(run.detail for run in runs))
    )


def _both_drawn(runs: Sequence[Evaluation], units: Ints, rounds: int) -> Floats:
    """The mean under each resample of items and seeds, for any other metric."""
    generator, values = np.random.default_rng((0, 3)), []
    for each in _drawn(runs, units, rounds):
        picks = generator.integers(0, len(each), size=each.shape)
        values.append(np.take_along_axis(each, picks, axis=0).mean(axis=0))
    return np.concatenate(values)


def _drawn(runs: Sequence[Evaluation], units: Ints, rounds: int) -> Iterator[Floats]:
    """Blocks of runs by resamples: each run's score under the same weights of items."""
    targets = [run.grouped(units) for run in runs]
    for weights in draws(count_units(units), rounds, 0):
        yield np.stack([target.under(weights) for target in targets])


def finite(value: float | None) -> float | None:
    """None for what is not a number."""
    return None if value is None or isnan(value) else float(value)


ROUNDS, MOST = 2_000, 25_000
RESAMPLES = 1_000
"""Of the intervals of further sets."""
ROUNDS_PER_TEST = 60
"""Rounds a test: the smallest p a test can reach must stay below 5% after Holm's correction."""
MANY = 120
"""Tests from which on only the first metric of each task is tested."""


@dataclass(frozen=True)
class Compared:
    """What paired tests over all tasks found."""

    found: Comparison
    rounds: int
    tests: int


def compare_tasks(parts: Sequence[TaskRuns], rounds: int | None = None) -> Compared:
    """Every pair of systems on every task and metric, corrected together."""
    pairs = [
        (len(part.task.metrics), len(part.systems) * (len(part.systems) - 1) // 2) for part in parts
    ]
    tests = sum(metrics * found for metrics, found in pairs)
    first = tests > MANY
    rounds = rounds or min(
        MOST, max(ROUNDS, ROUNDS_PER_TEST * (sum(found for _, found in pairs) if first else tests))
    )
    sides = [[_side(part, system, first) for system in part.systems] for part in parts]
    found = compare_sides(sides, [part.name for part in parts], rounds=rounds)
    return Compared(found, rounds, len(found.pairs))


def _side(part: TaskRuns, system: SystemRuns, first: bool) -> Side:
    return Side(system.name, tuple(_scored(part, run, first) for run in system.runs))


def _scored(part: TaskRuns, run: Answered, first: bool) -> Scored:
    """A run as `compare` takes it; the name of the task tells sets apart."""
    examples = tuple(scored_items(part))
    answers = {prediction.example: prediction for prediction in run.answers[part.main]}
    report = ScoreReport(
        task=part.name,
        split=part.main,
        version="",
        n=len(examples),
        answered=len(answers),
        missing=0,
        unparsed=0,
        unknown=0,
        duplicates=0,
        partial=False,
        form="run",
        scores=(),
        confusion={},
    )
    names = part.task.metrics[:1] if first else part.task.metrics
    return Scored(report, replace(part.task, name=part.name, metrics=names), examples, answers)


def system_rows(part: TaskRuns, compared: Compared) -> tuple[SystemRow, ...]:
    """A row a system, the best first."""
    ties = {(s.system, s.metric): s.ties for s in compared.found.systems if s.task == part.name}
    rows = [_row(part, system, ties, compared.rounds) for system in part.systems]
    first = part.task.metrics[0]
    sign = 1 if metrics()[first].better == "higher" else -1
    return tuple(sorted(rows, key=lambda row: _rank(row, first, sign)))


def _rank(row: SystemRow, metric: str, sign: int) -> tuple[bool, float, str]:
    number = row.metrics.get(metric)
    value = None if number is None else number.value
    return value is None, -sign * (value or 0.0), row.system


def _row(
    part: TaskRuns, system: SystemRuns, ties: dict[tuple[str, str], str], rounds: int
) -> SystemRow:
    lost: Counter[str] = Counter()
    places = []
    for run in system.runs:
        for i, scores in enumerate(run.scores):
            if scores.set == part.main:
                lost.update(scores.unanswered)
                places.append(f"{run.folder}/{SCORES}#/{i}/unanswered")
    names = [name for name in part.task.metrics if _stored(system, part.main, "", name)]
    letters = {name: ties[system.name, name] for name in names if (system.name, name) in ties}
    variation = system.spec.variation
    return SystemRow(
        system=system.name,
        model=system.spec.model,
        trained=" + ".join(variation.train),
        varied=bool(variation.inputs) or variation.share != 1.0 or variation.shots > 0,
        seeds=tuple(run.spec.seed for run in system.runs),
        runs=tuple(run.folder for run in system.runs),
        metrics={name: _number(part, system, name, rounds) for name in names},
        ties=letters if len(part.systems) > 1 else {},
        unanswered=dict(lost),
        lost=" ".join(places),
    )


def _stored(system: SystemRuns, name: str, where: str, metric: str) -> list[tuple[Score, str]]:
    """A score of each run, with the place it is written at."""
    return [
        (score, f"{run.folder}/{SCORES}#/{i}/scores/{j}")
        for run in system.runs
        for i, scores in enumerate(run.scores)
        for j, score in enumerate(scores.scores)
        if (scores.set, score.where, score.metric, score.mode) == (name, where, metric, "official")
    ]


def _number(part: TaskRuns, system: SystemRuns, metric: str, rounds: int) -> Number:
    number = stored_number(_stored(system, part.main, "", metric))
    if len(system.runs) == 1 or number.value is None:
        return number
    return over_seeds(part, system, (part.main, metric), rounds, number)


def stored_number(found: Sequence[tuple[Score, str]]) -> Number:
    """The mean of stored scores; the interval of a single one."""
    mean, sd = mean_and_sd([score.value for score, _ in found])
    single = found[0][0] if len(found) == 1 else None
    return Number(
        value=mean,
        unit=found[0][0].unit,
        low=finite(single.low) if single else None,
        high=finite(single.high) if single else None,
        sd=sd,
        n=found[0][0].n,
        source=" ".join(place for _, place in found),
        few=single is not None and mean is not None and single.low is None,
    )


def pair_rows(part: TaskRuns, compared: Compared) -> tuple[PairRow, ...]:
    """Every pair of systems of a task, the surest difference first."""
    found = [_pair(part, pair) for pair in compared.found.pairs if pair.task == part.name]
    order = {name: i for i, name in enumerate(part.task.metrics)}
    return tuple(
        sorted(
            found,
            key=lambda pair: (order.get(pair.metric, 99), pair.p_holm is None, pair.p_holm or 0.0),
        )
    )


def _pair(part: TaskRuns, pair: PairResult) -> PairRow:
    """The better system second, so that differences are positive."""
    sign = -1.0 if pair.difference < 0 else 1.0
    ends = sorted((sign * pair.low, sign * pair.high))
    scaled = metrics()[pair.metric].scaled
    number = Number(
        value=finite(sign * pair.difference),
        unit=part.task.unit if scaled else "fraction",
        low=finite(ends[0]),
        high=finite(ends[1]),
        n=pair.n,
    )
    turned = sign < 0
    return PairRow(
        metric=pair.metric,
        first=pair.second if turned else pair.first,
        second=pair.first if turned else pair.second,
        difference=number,
        p=finite(pair.p),
        p_holm=finite(pair.p_holm),
        smallest=finite(pair.smallest),
        wins=pair.losses if turned else pair.wins,
        losses=pair.wins if turned else pair.losses,
        source=" ".join(_answers(part, name) for name in (pair.first, pair.second)),
    )


def _answers(part: TaskRuns, system: str) -> str:
    """Where the answers of a system are."""
    runs = (run for s in part.systems if s.name == system for run in s.runs)
    return " ".join(run.answers_place(part.main) for run in runs)


def part_rows(part: TaskRuns) -> Iterator[PartRow]:
    """Further sets and parts of sets, as the runs scored them."""
    for system in part.systems:
        keys = dict.fromkeys(
            (scores.set, score.where, score.metric)
            for run in system.runs
            for scores in run.scores
            for score in scores.scores
            if score.mode == "official" and (scores.set, score.where) != (part.main, "")
        )
        for name, where, metric in keys:
            number = stored_number(_stored(system, name, where, metric))
            if len(system.runs) > 1 and not where and number.value is not None:
                number = over_seeds(part, system, (name, metric), RESAMPLES, number)
            yield PartRow(set=name, where=where, metric=metric, system=system.name, number=number)
