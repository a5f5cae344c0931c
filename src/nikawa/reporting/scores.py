"""The score tables of a report: values as the runs wrote them, intervals over items and seeds, tie groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from nikawa.metrics import metrics
from nikawa.records import Score
from nikawa.reporting.intervals import finite, over_seeds
from nikawa.reporting.page_data import Number, PairRow, PartRow, SystemRow
from nikawa.reporting.runs import Answered, SystemRuns, TaskRuns, scored_items
from nikawa.runs.store import SCORES
from nikawa.runs.summary import mean_and_sd
from nikawa.scoring.compare import Comparison, PairResult, Side, compare_sides
from nikawa.scoring.report import ScoreReport
from nikawa.scoring.score import Scored

ROUNDS, MOST = 2_000, 25_000
RESAMPLES = 1_000
"""Of the intervals of further sets."""
ENOUGH = 60
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
        MOST, max(ROUNDS, ENOUGH * (sum(found for _, found in pairs) if first else tests))
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
