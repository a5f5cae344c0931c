"""`nikawa compare`: systems on the same items, with paired tests, corrected for how many were made, and where they differ.

One run each: approximate randomisation (exchange the two systems' answers, unit by unit) and a paired bootstrap. Several
runs (seeds) each: Welch's t over items and seeds. All p values of a comparison are corrected together (Holm). The tests
themselves are in `nikawa.stats.paired`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.datasets.keys import read_keys
from nikawa.errors import BadInput, unknown
from nikawa.metrics import Evaluation, Items, Metric
from nikawa.metrics import metrics as all_metrics
from nikawa.metrics.base import Exchange, Floats, Weighted
from nikawa.metrics.units import convert_table
from nikawa.records import Record, Task, Unit
from nikawa.scoring.match import MissingAnswers
from nikawa.scoring.score import (
    AnsweredTask,
    OnProgress,
    ScoreOptions,
    ScoreResult,
    build_items,
    choose_metrics,
    cut_slices,
    open_examples,
    score,
)
from nikawa.stats.every_pair import compare_every_pair
from nikawa.stats.paired import (
    PairedDifference,
    compare_pair,
    compare_seeds,
    count_swaps,
    tie_groups,
)
from nikawa.stats.resample import TEST_RESAMPLES, Ints, correct_holm, mcnemar
from nikawa.stats.results import SIGNIFICANCE_LEVEL
from nikawa.stats.seeds import ENOUGH_RESAMPLES, ResampledRuns
from nikawa.tables import ResultTable, ShownAsTables

MIN_COMMON_ITEMS = 2
"""Items that systems must have answered together where a correlation is compared."""


class SystemScore(Record, frozen=True, kw_only=True):
    """One system on one task under one metric."""

    system: str
    task: str
    metric: str
    unit: Unit
    value: float
    """The mean over seeds, in `unit`; NaN where it is not defined."""
    sd: float | None
    """Over seeds; None for a single run."""
    runs: int
    unreadable: float | msgspec.UnsetType = msgspec.UNSET
    """The share of its answers that could not be read, over all runs; unset where all could be."""
    letters: str = msgspec.field(name="ties")
    """Tie letters, stored as `ties`: systems that share one are not significantly different; empty if the score is not defined."""


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
    """The 95% interval of the difference."""
    p: float
    """Approximate randomisation; with several runs, Welch's t over items and seeds."""
    p_holm: float
    """Corrected for every pair, task and metric of the comparison."""
    p_bootstrap: float
    p_mcnemar: float | None
    """For metrics that are a share of right items, and one run each."""
    effect: float | None
    """Cohen's d of the differences per item, for metrics that are a mean over items."""
    smallest: float
    """The smallest true difference that this test set would detect four times out of five."""
    wins: int
    """Items the second did better on; all three are 0 if the metric is not a mean over items but another metric of the task is."""
    losses: int
    ties: int
    """Items both did equally well on."""


class SliceResult(Record, frozen=True, kw_only=True):
    """Wins and losses of the second system on a slice."""

    task: str
    first: str
    second: str
    where: str
    """The slice as `key=value`; `all` for everything."""
    wins: int
    losses: int
    ties: int


class UndefinedSystem(Record, frozen=True, kw_only=True):
    """A system that cannot be compared on a task, and why."""

    task: str
    system: str
    why: str


class Comparison(ShownAsTables, Record, frozen=True, kw_only=True):
    """Everything a comparison found."""

    main_table: ClassVar[str] = "systems"
    text_tables: ClassVar[int] = 2
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "pairs": (
            "task",
            "metric",
            "first",
            "second",
            "difference",
            "low",
            "high",
            "p_holm",
            "n",
            "unit",
        )
    }
    plots_by: ClassVar[str] = "nikawa.reporting.notebook:draw_comparison"

    systems: tuple[SystemScore, ...]
    pairs: tuple[PairResult, ...]
    slices: tuple[SliceResult, ...]
    differing: dict[str, tuple[str, ...]]
    """`task: first against second` to the ids where exactly one is right, or the scores differ."""
    undefined: tuple[UndefinedSystem, ...] | msgspec.UnsetType = msgspec.UNSET
    """Systems that are not compared because too few of their answers could be read; absent without one."""

    def shown_tables(self) -> list[ResultTable]:
        """The tables with scores in percent."""
        return [convert_table(table) for table in ShownAsTables.shown_tables(self)]


@dataclass(frozen=True)
class PairedTests:
    """A comparison with the data of its tests."""

    comparison: Comparison
    rounds: int
    """Resamples of each test."""
    tests: int
    """Tests that were corrected together."""
    swaps: int | None
    """Exchanges drawn for metrics that are recomputed for each; None without such a test."""


@dataclass(frozen=True)
class ComparedSystem:
    """A system's runs on one task."""

    name: str
    runs: tuple[ScoreResult, ...]

    @property
    def unreadable_share(self) -> float:
        """The share of its answers that could not be read, over all runs."""
        items = sum(len(run.examples) for run in self.runs)
        unread = 0
        for run in self.runs:
            predictions = (run.predictions.get(example.id) for example in run.examples)
            unread += sum(each is not None and each.answer is None for each in predictions)
        return unread / items if items else 0.0


def compare(
    task_names: Sequence[str],
    systems: Mapping[str, Sequence[Path]],
    *,
    split: str | None = None,
    data: Path | None = None,
    options: ScoreOptions | None = None,
    rounds: int = TEST_RESAMPLES,
    forms: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare systems, each with one answer file or folder per seed, on one or more tasks.

    From `options`, the comparison uses `by`, `extract`, `hidden`, `keys`, `on_progress` and the `form` of every file;
    `forms` overrides `form` by system. `rounds` are the resamples of each test. Raises `BadInput` for fewer than two systems,
    for answers to different splits or versions, and for items without an answer.

        compare(["jnli"], {"bert": [Path("bert-1.jsonl"), Path("bert-2.jsonl")], "majority": [Path("majority.jsonl")]})
    """
    options = options or ScoreOptions()
    if len(systems) < 2:
        raise BadInput("a comparison needs two systems", cure="pass two answer files or folders")
    if rounds < 1:
        raise BadInput(f"a test with {rounds} rounds has no p-value", cure="pass --rounds 10000")
    forms = forms or {}
    for name in forms:
        if name not in systems:
            raise unknown("system", name, systems)
    paths = [path for each in systems.values() for path in each]
    named = [form for form in (options.form, *forms.values()) if form]
    # a form that is named may be of one system alone: then texts are kept
    read = open_examples(paths, replace(options, keep_texts=bool(named)), data)
    keys = read_keys(options.keys) if isinstance(options.keys, Path) else options.keys
    quick = ScoreOptions(
        resamples=1,
        hidden=options.hidden,
        keys=keys,
        read=read,
        extract=options.extract,
        lenient=True,  # a system without a score is listed, and the others are compared
    )
    total = len(task_names) * sum(map(len, systems.values()))
    done = 0

    def read_run(task: str, name: str, path: Path) -> ScoreResult:
        nonlocal done
        options.on_progress("reading", done, total)
        done += 1
        try:
            own = replace(quick, form=forms.get(name, options.form))
            return score(task, path, split=split, data=data, options=own)
        except MissingAnswers as problem:
            cure = "add the missing answers: systems are compared on the same items"
            raise problem.with_cure(cure) from None

    tasks = [
        [
            ComparedSystem(name, tuple(read_run(task, name, path) for path in paths))
            for name, paths in systems.items()
        ]
        for task in task_names
    ]
    for first, *others in tasks:
        report = first.runs[0].report
        for system in (first, *others):
            for run in system.runs:
                if (run.report.split, run.report.version) != (report.split, report.version):
                    what = f"{system.name} answers {run.report.split}, but {first.name} answers {report.split}"
                    raise BadInput(what, cure="compare answers to the same split")
    tests = compare_systems(
        tasks, task_names, by=options.by, rounds=rounds, on_progress=options.on_progress
    )
    return tests.comparison


def compare_systems(
    tasks: Sequence[Sequence[ComparedSystem]],
    titles: Sequence[str],
    *,
    by: tuple[str, ...] = (),
    rounds: int = TEST_RESAMPLES,
    on_progress: OnProgress = lambda *_: None,
) -> PairedTests:
    """The same for systems whose answers are already read, one list per task; a task with one system has no pairs."""
    undefined: list[UndefinedSystem] = []
    comparisons: list[TaskComparison] = []
    compared_titles: list[str] = []
    for title, systems in zip(titles, tasks, strict=True):
        without = find_undefined_systems(systems)
        undefined += without
        names = {each.system for each in without}
        if comparable := [system for system in systems if system.name not in names]:
            comparisons.append(TaskComparison.of(comparable))
            compared_titles.append(title)
    tests = sum(comb(len(each.systems), 2) * len(each.metrics) for each in comparisons)
    total = sum(len(each.jobs()) for each in comparisons) * 2 * rounds
    done = 0

    def add_rounds(count: int) -> None:
        nonlocal done
        done = min(total, done + count)
        on_progress("comparing", done, total)

    results: list[PairResult] = []
    for each in comparisons:
        results += each.test_pairs(rounds, tests, add_rounds)
    # Holm's correction over every pair, task and metric compared; an undefined p stays so
    corrected = iter(correct_holm([result.p for result in results if not np.isnan(result.p)]))
    pairs = tuple(
        result if np.isnan(result.p) else msgspec.structs.replace(result, p_holm=next(corrected))
        for result in results
    )
    scores: list[SystemScore] = []
    slices: list[SliceResult] = []
    differing: dict[str, tuple[str, ...]] = {}
    for title, each in zip(compared_titles, comparisons, strict=True):
        for metric in each.metrics:
            scores += each.score_systems(metric, pairs)
        for first, second in combinations(each.systems, 2):
            ids, gaps = each.item_gaps(first.name, second.name)
            if by:
                slices += count_slices(
                    first, second, by, dict(zip(ids, gaps.tolist(), strict=True))
                )
            ids = [ids[place] for place in np.flatnonzero(gaps)]
            differing[f"{title}: {first.name} against {second.name}"] = tuple(ids)
    by_name = {system.name: system for systems in tasks for system in systems}
    for lost in undefined:
        runs = by_name[lost.system].runs
        task = runs[0].task
        for name in task.metrics:
            scores.append(
                SystemScore(
                    system=lost.system,
                    task=lost.task,
                    metric=name,
                    unit=all_metrics()[name].unit(task),
                    value=float("nan"),
                    sd=None,
                    runs=len(runs),
                    letters="",
                )
            )
    comparison = Comparison(
        systems=tuple(scores),
        pairs=pairs,
        slices=tuple(slices),
        differing=differing,
        undefined=tuple(undefined) or msgspec.UNSET,
    )
    is_swapped = any(each.swaps_answers for each in comparisons)
    return PairedTests(
        comparison, rounds, tests, count_swaps(rounds, tests) if is_swapped else None
    )


# Systems side by side


def find_undefined_systems(systems: Sequence[ComparedSystem]) -> list[UndefinedSystem]:
    """The systems of a task that have too few answers for a metric that skips unanswered items.

    Such a metric (a correlation) is compared on the items that every run answered, and a run without
    answers would leave no items. So systems are added by how much they answered, and one that leaves
    the others fewer than `MIN_COMMON_ITEMS` is left out.
    """
    task = systems[0].runs[0].task
    if not any(all_metrics()[name].skips_unanswered for name in task.metrics):
        return []
    answered: dict[str, set[str]] = {}
    for system in systems:
        by_run = [
            {name for name, prediction in run.predictions.items() if prediction.answer is not None}
            & {example.id for example in run.examples}
            for run in system.runs
        ]
        answered[system.name] = set.intersection(*by_run)
    common: set[str] | None = None
    undefined = []
    for name, ids in sorted(answered.items(), key=lambda item: -len(item[1])):
        left = ids if common is None else common & ids
        if len(left) >= MIN_COMMON_ITEMS:
            common = left
            continue
        count = len(systems[0].runs[0].examples)
        why = f"{len(ids):,} of {count:,} items have a readable answer"
        if len(ids) >= MIN_COMMON_ITEMS:
            why += f"; the other systems answered {len(left):,} of these"
        undefined.append(UndefinedSystem(task=task.name, system=name, why=why))
    return undefined


@dataclass(frozen=True)
class ExchangeableRun:
    """The answers of a run in the form in which two systems may exchange them, evaluated."""

    items: Items
    evaluation: Evaluation
    units: Ints
    """The unit of resampling of each item."""


@dataclass
class TaskComparison:
    """Systems on one task, over the same items and with the same set of labels, so that their statistics line up."""

    systems: Sequence[ComparedSystem]
    metrics: list[Metric]
    answered: dict[str, list[AnsweredTask]]
    """A system's runs, by its name."""
    _evaluated: dict[tuple[str, str], list[tuple[Evaluation, Ints]]] = field(default_factory=dict)
    _exchangeable: dict[tuple[str, str], ExchangeableRun] = field(default_factory=dict)

    @classmethod
    def of(cls, systems: Sequence[ComparedSystem]) -> TaskComparison:
        """The systems side by side, under the metrics that the answers of all of them allow."""
        runs = [(system.name, run) for system in systems for run in system.runs]
        items = [build_items(run.task, run.examples, run.predictions) for _, run in runs]
        task = systems[0].runs[0].task
        allowed = [choose_metrics(task, (), each) for each in items]
        metrics = [metric for metric in allowed[0] if all(metric in other for other in allowed)]
        kept = list(range(len(items[0].gold)))
        if any(
            metric.skips_unanswered for metric in metrics
        ):  # keep the items that every run answered
            kept = [i for i in kept if all(each.answers[i] is not None for each in items)]
        is_whole = len(kept) == len(items[0].gold)
        labels = find_labels(items)
        answered: dict[str, list[AnsweredTask]] = {system.name: [] for system in systems}
        distinct: list[tuple[Items, AnsweredTask]] = []
        for (name, run), each in zip(runs, items, strict=True):
            same = next((answers for other, answers in distinct if other == each), None)
            if same is None:  # seeds of a deterministic model give the same answers: one is enough
                examples = run.examples if is_whole else [run.examples[i] for i in kept]
                own = replace(each, labels=labels) if is_whole else each.take(kept, labels)
                same = AnsweredTask(run.task, examples, own)
                distinct.append((each, same))
            answered[name].append(same)
        return cls(systems, metrics, answered)

    @property
    def task(self) -> Task:
        """The task."""
        return self.systems[0].runs[0].task

    def evaluations(self, system: str, metric: Metric) -> list[Evaluation]:
        """The metric for each run of a system."""
        return [evaluation for evaluation, _ in self._evaluate(system, metric)]

    def units(self, metric: Metric) -> Ints:
        """The unit of resampling of each item the metric sees."""
        return self._evaluate(self.systems[0].name, metric)[0][1]

    def _evaluate(self, system: str, metric: Metric) -> list[tuple[Evaluation, Ints]]:
        key = (system, metric.name)
        if key not in self._evaluated:
            runs = {id(run): run for run in self.answered[system]}
            distinct = {name: run.evaluate(metric, "official") for name, run in runs.items()}
            self._evaluated[key] = [distinct[id(run)] for run in self.answered[system]]
        return self._evaluated[key]

    def _standardise(self, system: str, metric: Metric) -> ExchangeableRun:
        """The single run of a system in the form in which its answers may be exchanged.

        Parts that the metric ignores, such as scale, are removed.
        """
        key = (system, metric.name)
        if key not in self._exchangeable:
            run = self.answered[system][0]
            evaluation, units = self._evaluate(system, metric)[0]
            if metric.standardise is not None:
                answers = metric.standardise(run.items.answers)
                run = replace(run, items=replace(run.items, answers=answers))
                evaluation, units = run.evaluate(metric, "official")
            self._exchangeable[key] = ExchangeableRun(run.items, evaluation, units)
        return self._exchangeable[key]

    def is_itemwise(self, metric: Metric) -> bool:
        """Whether the metric is a mean over items."""
        return self.evaluations(self.systems[0].name, metric)[0].itemwise

    @cached_property
    def has_itemwise(self) -> bool:
        """Whether any metric is a mean over items."""
        return any(map(self.is_itemwise, self.metrics))

    def needs_own_draws(self, metric: Metric) -> bool:
        """Whether the metric cannot share its draws: a correlation, or one without statistics."""
        return metric.standardise is not None or self.is_computed_anew(metric)

    def is_computed_anew(self, metric: Metric) -> bool:
        """Whether the metric reads the items again for each exchange of answers."""
        return isinstance(self.evaluations(self.systems[0].name, metric)[0], Weighted)

    @property
    def swaps_answers(self) -> bool:
        """Whether two systems of a single run are tested under a metric that is recomputed."""
        single = [name for name, runs in self.answered.items() if len(runs) == 1]
        return len(single) > 1 and any(map(self.is_computed_anew, self.metrics))

    def has_seeds(self, first: str, second: str) -> bool:
        """Whether one of two systems has several runs."""
        return len(self.answered[first]) > 1 or len(self.answered[second]) > 1

    def jobs(self) -> list[tuple[str, str, list[Metric]]]:
        """The tests: for each pair of systems, the metrics that can be tested on the same draws."""
        jobs = []
        for first, second in combinations(self.answered, 2):
            together: dict[object, list[Metric]] = {}
            for metric in self.metrics:
                alone = self.has_seeds(first, second) or self.needs_own_draws(metric)
                key = metric.name if alone else blake2b(self.units(metric).tobytes()).digest()
                together.setdefault(key, []).append(metric)
            jobs += [(first, second, metrics) for metrics in together.values()]
        return jobs

    def detail(self, system: str, metric: Metric) -> Floats | None:
        """One score per item, averaged over runs; the metric's item form where it has none, turned so that more is better."""
        details = [evaluation.detail for evaluation in self.evaluations(system, metric)]
        form = metric.item_form
        if form is not None and any(detail is None for detail in details):
            sign = 1 if form.better == metric.better else -1
            details = [
                sign * np.array(form.compute(run.items), dtype=np.float64)
                for run in self.answered[system]
            ]
        known = [detail for detail in details if detail is not None]
        return np.mean(known, axis=0) if len(known) == len(details) else None

    def details(self, first: str, second: str, metric: Metric) -> tuple[Floats, Floats] | None:
        """One score per item of two systems, side by side; None where the metric has none."""
        a, b = self.detail(first, metric), self.detail(second, metric)
        return None if a is None or b is None or len(a) != len(b) else (a, b)

    def gaps(self, first: str, second: str, metric: Metric) -> Floats | None:
        """How much better the second did on each item; None if the metric has no score per item."""
        details = self.details(first, second, metric)
        if details is None:
            return None
        a, b = details
        return b - a if metric.better == "higher" else a - b

    def item_gaps(self, first: str, second: str) -> tuple[list[str], Floats]:
        """The ids of the items, and how much better the second did on each, by the first metric that has one score per item."""
        for metric in self.metrics:
            gaps = self.gaps(first, second, metric)
            if gaps is not None:
                ids = [example.id for example in self.answered[first][0].examples]
                return ids, gaps
        return [], np.zeros(0)

    def test_pairs(
        self, rounds: int, corrected: int, add_rounds: Callable[[int], None]
    ) -> list[PairResult]:
        """Every pair of systems under every metric, metric by metric.

        `corrected` is the number of tests, of all tasks, that are corrected together.
        """
        tests: dict[tuple[str, str, str], PairedDifference] = {}
        resampled: dict[tuple[str, bool], ResampledRuns] = {}
        together: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        by_name = {metric.name: metric for metric in self.metrics}
        for first, second, metrics in self.jobs():
            metric, units = metrics[0], self.units(metrics[0])
            if self.has_seeds(first, second):
                enough = min(rounds, ENOUGH_RESAMPLES)
                runs = ResampledRuns(units, enough)
                tests[metric.name, first, second] = compare_seeds(
                    self.evaluations(first, metric),
                    self.evaluations(second, metric),
                    units,
                    rounds=rounds,
                    on_progress=add_rounds,
                    resampled=resampled.setdefault((metric.name, True), runs),
                )
            elif self.is_computed_anew(metric):
                runs = ResampledRuns(units, rounds)
                tests[metric.name, first, second] = exchange_answers(
                    self._standardise(first, metric),
                    self._standardise(second, metric),
                    metric,
                    rounds=rounds,
                    tests=corrected,
                    add_rounds=add_rounds,
                    resampled=resampled.setdefault((metric.name, False), runs),
                )
            else:
                together.setdefault(tuple(each.name for each in metrics), []).append(
                    (first, second)
                )
        for names, pairs in together.items():
            systems = {
                system: [self._standardise(system, by_name[name]).evaluation for name in names]
                for system in dict.fromkeys(system for pair in pairs for system in pair)
            }
            units = self.units(by_name[names[0]])
            by_pair = compare_every_pair(
                systems, pairs, units, rounds=rounds, on_progress=add_rounds
            )
            for pair, differences in by_pair.items():
                for name, test in zip(names, differences, strict=True):
                    tests[name, *pair] = test
        return [
            self._pair_result(metric, first, second, tests[metric.name, first, second])
            for metric in self.metrics
            for first, second in combinations(self.answered, 2)
        ]

    def _pair_result(
        self, metric: Metric, first: str, second: str, paired: PairedDifference
    ) -> PairResult:
        run = self.answered[first][0]
        scale = metric.scale(run.task)
        gaps, details = self.gaps(first, second, metric), self.details(first, second, metric)
        wins = losses = ties = 0
        p_mcnemar = effect = None
        itemwise = self.is_itemwise(metric)
        if itemwise:
            effect = 0.0 if gaps is None else effect_size(gaps)
            if details is not None and not self.has_seeds(first, second):
                p_mcnemar = exact_mcnemar(*details)
        if gaps is not None and (itemwise or not self.has_itemwise):
            wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
            ties = len(gaps) - wins - losses
        difference = paired.difference
        return PairResult(
            task=run.task.name,
            metric=metric.name,
            first=first,
            second=second,
            n=len(run.items.gold),
            unit=metric.unit(run.task),
            difference=difference.value * scale,
            low=difference.low * scale,
            high=difference.high * scale,
            p=difference.p,
            p_holm=difference.p,
            p_bootstrap=difference.p_bootstrap,
            p_mcnemar=p_mcnemar,
            effect=effect,
            smallest=paired.smallest * scale,
            wins=wins,
            losses=losses,
            ties=ties,
        )

    def score_systems(self, metric: Metric, pairs: Sequence[PairResult]) -> Iterator[SystemScore]:
        """Every system under a metric, with the tie letters of the systems whose score is defined.

        Two systems differ if the corrected p is below 5%. A pair whose p is undefined (NaN) is not: it counts as a tie.
        """
        task = self.task
        p_holm = {
            frozenset((pair.first, pair.second)): pair.p_holm
            for pair in pairs
            if (pair.task, pair.metric) == (task.name, metric.name)
        }
        values = {
            name: [evaluation.value for evaluation in self.evaluations(name, metric)]
            for name in self.answered
        }
        sign = 1 if metric.better == "higher" else -1
        means = {name: sign * float(np.mean(runs)) for name, runs in values.items()}
        defined = [name for name, mean in means.items() if not np.isnan(mean)]

        def are_apart(i: int, j: int) -> bool:
            return bool(p_holm[frozenset((defined[i], defined[j]))] < SIGNIFICANCE_LEVEL)

        letters = tie_groups([means[name] for name in defined], are_apart)
        letters_by_name = dict(zip(defined, letters, strict=True))
        unreadable = {system.name: system.unreadable_share for system in self.systems}
        for name, runs in values.items():
            scaled = [value * metric.scale(task) for value in runs]
            yield SystemScore(
                system=name,
                task=task.name,
                metric=metric.name,
                unit=metric.unit(task),
                value=float(np.mean(scaled)),
                sd=float(np.std(scaled, ddof=1)) if len(scaled) > 1 else None,
                runs=len(scaled),
                unreadable=unreadable[name] or msgspec.UNSET,
                letters=letters_by_name.get(name, ""),
            )


def find_labels(every: Sequence[Items]) -> tuple[Any, ...]:
    """The declared labels, then whatever else occurs; only label and choice answers form classes."""
    declared = every[0].labels
    seen: set[Any] = set()
    for items in every:
        for side in (items.gold, items.answers):
            seen.update(label for label in side if isinstance(label, str | int))
    return (*declared, *sorted(seen - set(declared), key=str))


# Tests


def exchange_answers(
    left: ExchangeableRun,
    right: ExchangeableRun,
    metric: Metric,
    *,
    rounds: int,
    tests: int,
    add_rounds: Callable[[int], None],
    resampled: ResampledRuns | None = None,
) -> PairedDifference:
    """One run each, under a metric that is computed again for each exchange of answers."""
    exchange = metric.exchange or partial(evaluate_again, metric)
    values = exchange(left.items, right.items)
    return compare_pair(
        left.evaluation,
        right.evaluation,
        left.units,
        swap=lambda coins: values(coins[:, left.units].astype(bool)),
        rounds=rounds,
        tests=tests,
        on_progress=add_rounds,
        resampled=resampled,
    )


def evaluate_again(metric: Metric, left: Items, right: Items) -> Exchange:
    """Both values with the answers of some items exchanged, by evaluating both."""

    def values(exchanged: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        rows = []
        for row in exchanged.tolist():
            for own, other in ((left, right), (right, left)):
                answers = _exchange(own.answers, other.answers, row)
                scores = _exchange(own.scores, other.scores, row)
                items = replace(own, answers=answers, scores=scores)
                rows.append(metric.evaluate(items, "official").value)
        return np.array(rows[::2]), np.array(rows[1::2])

    return values


def _exchange(own: Sequence[Any], other: Sequence[Any], exchanged: Sequence[bool]) -> list[Any]:
    """One system's values with the other's where they are exchanged."""
    rows = zip(own, other, exchanged, strict=True)
    return [theirs if swaps else mine for mine, theirs, swaps in rows]


def effect_size(gaps: Floats) -> float:
    """Cohen's d of the paired differences per item: their mean over their standard deviation; 0 where undefined."""
    spread = float(np.std(gaps, ddof=1)) if len(gaps) > 1 else 0.0
    return float(np.mean(gaps)) / spread if spread else 0.0


def exact_mcnemar(a: Floats, b: Floats) -> float | None:
    """Exact McNemar of one score per item; None unless every item is right or wrong."""
    are_binary = np.isin(np.concatenate([a, b]), (0.0, 1.0)).all()
    return mcnemar(a, b)[2] if are_binary else None


def count_slices(
    first: ComparedSystem, second: ComparedSystem, by: tuple[str, ...], gaps: Mapping[str, float]
) -> Iterator[SliceResult]:
    """Wins and losses over everything and in each slice."""
    run = first.runs[0]
    for where, examples in cut_slices(run.examples, by, run.task):
        own = [gaps[example.id] for example in examples if example.id in gaps]
        yield SliceResult(
            task=run.task.name,
            first=first.name,
            second=second.name,
            where=where or "all",
            wins=sum(gap > 0 for gap in own),
            losses=sum(gap < 0 for gap in own),
            ties=sum(gap == 0 for gap in own),
        )
