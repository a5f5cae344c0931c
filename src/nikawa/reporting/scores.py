"""The score tables of a report: values as the runs stored them, intervals over items and seeds, tie groups.

The interval of a single run is that of its stored score. Over several seeds it is Student's t for metrics that are means
over items (see `nikawa.stats.seeds`), else the middle of resamples of both items and seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from math import comb, isnan
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from nikawa.errors import clip
from nikawa.metrics import Evaluation, Items, metrics
from nikawa.records import Score
from nikawa.reporting.page_data import Number, PairRow, PartRow, SystemRow, UnreadAnswer
from nikawa.reporting.systems import ReportRun, SystemRuns, TaskRuns
from nikawa.runs.summary import mean_and_sd
from nikawa.scoring.compare import ComparedSystem, PairedTests, PairResult, compare_systems
from nikawa.scoring.score import (
    AnsweredTask,
    ScoreReport,
    ScoreResult,
    build_items,
    resampling_units,
)
from nikawa.stats.paired import ROUNDS_PER_TEST
from nikawa.stats.resample import Ints, count_units
from nikawa.stats.results import LEAST_UNITS
from nikawa.stats.seeds import ResampledRuns, interval_over_seeds

MIN_ROUNDS, MAX_ROUNDS = 2_000, 25_000
"""Rounds of paired tests by default."""
MAX_TESTS_OF_ALL_METRICS = 120
"""Tests above which only the first metric of each task is tested."""
MAX_UNREAD_SHOWN, MAX_UNREAD_CHARS = 3, 160
"""Unreadable answers that a page shows of each system, and characters of each."""
FURTHER_SET_RESAMPLES = 1_000
"""Of the intervals of further sets."""


def compare_tasks(tasks: Sequence[TaskRuns], rounds: int | None = None) -> PairedTests:
    """Every pair of systems on every task and metric, corrected together.

    `rounds` are the resamples of each test; None takes as many as the correction needs. Where there are very many tests,
    only the first metric of each task is tested.
    """
    pairs = tests = 0
    for task in tasks:
        own_pairs = comb(len(task.systems), 2)
        pairs += own_pairs
        tests += own_pairs * len(task.task.metrics)
    first_only = tests > MAX_TESTS_OF_ALL_METRICS
    if not rounds:
        needed = ROUNDS_PER_TEST * (pairs if first_only else tests)
        rounds = min(MAX_ROUNDS, max(MIN_ROUNDS, needed))
    systems = []
    for task in tasks:
        of_task = []
        for system in task.systems:
            runs = [make_score_result(task, run, first_only) for run in system.runs]
            of_task.append(ComparedSystem(system.name, tuple(runs)))
        systems.append(of_task)
    return compare_systems(systems, [task.name for task in tasks], rounds=rounds)


def make_score_result(task: TaskRuns, run: ReportRun, first_only: bool) -> ScoreResult:
    """A run as `compare` takes it; the name of the task distinguishes sets."""
    examples = tuple(task.scored())
    answers = run.loaded.answers_by_id[task.main]
    report = ScoreReport(
        task=task.name,
        split=task.main,
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
    names = task.task.metrics[:1] if first_only else task.task.metrics
    return ScoreResult(report, replace(task.task, name=task.name, metrics=names), examples, answers)


def system_rows(task: TaskRuns, compared: PairedTests) -> tuple[SystemRow, ...]:
    """One row per system, the best first."""
    ties = {
        (score.system, score.metric): score.letters
        for score in compared.comparison.systems
        if score.task == task.name
    }
    intervals = SeedIntervals(task)
    reasons = {
        each.system: each.why
        for each in compared.comparison.undefined or ()
        if each.task == task.name
    }
    rows = []
    for system in task.systems:
        row = make_system_row(task, system, ties, intervals, compared.rounds)
        rows.append(replace(row, undefined=reasons.get(system.name, UNSET)))
    first = task.task.metrics[0]
    sign = 1 if metrics()[first].better == "higher" else -1

    def rank(row: SystemRow) -> tuple[bool, float, str]:
        value = row.metrics[first].value if first in row.metrics else None
        return value is None, -sign * (value or 0.0), row.system

    return tuple(sorted(rows, key=rank))


def make_system_row(
    task: TaskRuns,
    system: SystemRuns,
    ties: dict[tuple[str, str], str],
    intervals: SeedIntervals,
    rounds: int,
) -> SystemRow:
    """The row of one system: the mean of its stored scores with an interval, what it left unanswered, its tie groups."""
    unanswered: Counter[str] = Counter()
    places = []
    for run in system.runs:
        for i, scores in enumerate(run.scores):
            if scores.set == task.main:
                unanswered.update(scores.unanswered)
                places.append(run.score_place(i, "unanswered"))
    numbers: dict[str, Number] = {}
    for metric in task.task.metrics:
        scores_of_runs = _scores_of_runs(system, task.main, "", metric)
        if scores_of_runs:
            number = stored_number(scores_of_runs)
            numbers[metric] = intervals.add(system, task.main, metric, rounds, number)
    letters = {name: ties[system.name, name] for name in numbers if (system.name, name) in ties}
    variation = system.spec.variation
    return SystemRow(
        system=system.name,
        model=system.spec.model,
        trained=" + ".join(variation.train),
        varied=bool(variation.inputs) or variation.share != 1.0 or variation.shots > 0,
        seeds=tuple(run.spec.seed for run in system.runs),
        runs=tuple(run.folder for run in system.runs),
        metrics=numbers,
        ties=letters if len(task.systems) > 1 else {},
        unanswered=dict(unanswered),
        lost=" ".join(places),
        **describe_unread(task, system),
    )


def describe_unread(task: TaskRuns, system: SystemRuns) -> dict[str, Any]:
    """The fields of a row about answers that could not be read; empty where all could be."""
    shown = {example.id for example in task.scored()}
    for run in system.runs:
        answers = run.answers.get(task.main, [])
        unread = [a for a in answers if a.answer is None and a.example in shown]
        if unread:
            examples = []
            for answer in unread[:MAX_UNREAD_SHOWN]:
                text = clip(" ".join((answer.raw or "").split()), MAX_UNREAD_CHARS)
                why = clip(answer.why or "no reason given", MAX_UNREAD_CHARS)
                examples.append(UnreadAnswer(example=answer.example, text=text, why=why))
            return {"unread": tuple(examples), "unread_source": run.answers_place(task.main)}
    return {}


def _scores_of_runs(
    system: SystemRuns, name: str, where: str, metric: str
) -> list[tuple[Score, str]]:
    """The official score of each run on a set or a part of it, with the place it is from."""
    key = (name, where, metric, "official")
    places = []
    for run in system.runs:
        for i, scores in enumerate(run.scores):
            for j, score in enumerate(scores.scores):
                if (scores.set, score.where, score.metric, score.mode) == key:
                    places.append((score, run.score_place(i, "scores", j)))
    return places


def stored_number(scores: Sequence[tuple[Score, str]]) -> Number:
    """The mean of stored scores, given with their places; the interval of a single one."""
    mean, sd = mean_and_sd([score.value for score, _ in scores])
    first, _ = scores[0]
    is_single = len(scores) == 1
    return Number(
        value=mean,
        unit=first.unit,
        low=finite(first.low) if is_single else None,
        high=finite(first.high) if is_single else None,
        sd=sd,
        n=first.n,
        source=" ".join(place for _, place in scores),
        few=is_single and mean is not None and first.low is None,
    )


def finite(value: float | None) -> float | None:
    """None for what is not a number."""
    return None if value is None or isnan(value) else float(value)


class SeedIntervals:
    """The intervals of a task's scores over items and seeds; runs that gave the same answers are evaluated once."""

    def __init__(self, task: TaskRuns) -> None:
        self.task = task
        self._items: dict[str, list[Items]] = {}
        """Set to the distinct items of its runs."""
        self._evaluations: dict[tuple[str, int], tuple[Evaluation, Ints]] = {}
        """Metric and items to the evaluation and the unit of each item it saw."""
        self._resampled: dict[tuple[bytes, int], ResampledRuns] = {}
        """Units and rounds to the runs that were resampled so."""

    def add(
        self, system: SystemRuns, name: str, metric: str, rounds: int, number: Number
    ) -> Number:
        """The number with its interval over items and seeds, where there are several seeds.

        `name` is the set and `rounds` the resamples. There is no interval if the runs answered different items, or if
        the number is based on too few items or groups (then `few` is set).
        """
        if len(system.runs) == 1 or number.value is None:
            return number
        task = self.task.task
        seen = [self._evaluate(run, name, metric) for run in system.runs]
        runs = [evaluation for evaluation, _ in seen]
        units = seen[0][1]
        low, high, is_t = None, None, False
        if len(units) and all(np.array_equal(units, other) for _, other in seen):
            scale = metrics()[metric].scale(task)
            drawn_low, drawn_high, is_mean = interval_over_seeds(
                runs, units, rounds, partial(self._resample, units)
            )
            low, high = finite(drawn_low * scale), finite(drawn_high * scale)
            is_t = is_mean and low is not None
        units_of_set = count_units(resampling_units(task, self.task.scored(name)))
        is_few = low is None and units_of_set < LEAST_UNITS
        return replace(number, low=low, high=high, few=is_few, by="t" if is_t else UNSET)

    def _evaluate(self, run: ReportRun, name: str, metric: str) -> tuple[Evaluation, Ints]:
        task, examples = self.task.task, self.task.scored(name)
        items = build_items(task, examples, run.loaded.answers_to_shown(name))
        known = self._items.setdefault(name, [])
        same = next((other for other in known if other == items), None)
        if same is None:
            known.append(items)
            same = items
        key = (metric, id(same))
        if key not in self._evaluations:
            answered = AnsweredTask(task, examples, same)
            self._evaluations[key] = answered.evaluate(metrics()[metric], "official")
        return self._evaluations[key]

    def _resample(self, units: Ints, rounds: int) -> ResampledRuns:
        """Each run's score under the same weights of items."""
        return self._resampled.setdefault((units.tobytes(), rounds), ResampledRuns(units, rounds))


def pair_rows(task: TaskRuns, compared: PairedTests) -> tuple[PairRow, ...]:
    """Every pair of systems of a task, the surest difference first."""
    rows = [
        make_pair_row(task, pair) for pair in compared.comparison.pairs if pair.task == task.name
    ]
    order = {name: i for i, name in enumerate(task.task.metrics)}

    def rank(row: PairRow) -> tuple[int, bool, float]:
        return order.get(row.metric, len(order)), row.p_holm is None, row.p_holm or 0.0

    return tuple(sorted(rows, key=rank))


def make_pair_row(task: TaskRuns, pair: PairResult) -> PairRow:
    """The better system second, so that differences are positive."""
    is_turned = pair.difference < 0
    sign = -1.0 if is_turned else 1.0
    low, high = sorted((sign * pair.low, sign * pair.high))
    difference = Number(
        value=finite(sign * pair.difference),
        unit=metrics()[pair.metric].unit(task.task),
        low=finite(low),
        high=finite(high),
        n=pair.n,
    )
    runs = {system.name: system.runs for system in task.systems}
    both = (*runs[pair.first], *runs[pair.second])
    places = [run.answers_place(task.main) for run in both]
    return PairRow(
        metric=pair.metric,
        first=pair.second if is_turned else pair.first,
        second=pair.first if is_turned else pair.second,
        difference=difference,
        p=finite(pair.p),
        p_holm=finite(pair.p_holm),
        smallest=finite(pair.smallest),
        wins=pair.losses if is_turned else pair.wins,
        losses=pair.wins if is_turned else pair.losses,
        source=" ".join(places),
    )


def part_rows(task: TaskRuns) -> Iterator[PartRow]:
    """Further sets and parts of sets, as the runs scored them."""
    intervals = SeedIntervals(task)
    for system in task.systems:
        keys = {}
        for scores in chain.from_iterable(run.scores for run in system.runs):
            for score in scores.scores:
                is_main = (scores.set, score.where) == (task.main, "")
                if score.mode == "official" and not is_main:
                    keys[scores.set, score.where, score.metric] = True
        for name, where, metric in keys:
            number = stored_number(_scores_of_runs(system, name, where, metric))
            if not where:
                number = intervals.add(system, name, metric, FURTHER_SET_RESAMPLES, number)
            yield PartRow(set=name, where=where, metric=metric, system=system.name, number=number)
