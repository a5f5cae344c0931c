"""The scores of systems under the gold of two versions, and their ranks among each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from nikawa.datasets import benchmarks
from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.reader import digest_examples
from nikawa.datasets.task_lookup import has_numbered_labels
from nikawa.errors import BadInput, list_names
from nikawa.io.answers import read_answers
from nikawa.metrics.units import convert_unit, format_score
from nikawa.recipes.changelog import SCORE_DIGITS, ScoreMove
from nikawa.recipes.corrections import CorrectionSet
from nikawa.records import Dataset, Example, Prediction, Task, Unit
from nikawa.runs.load import find_runs
from nikawa.runs.records import RunSpec
from nikawa.runs.store import StoredRun, official_scores
from nikawa.scoring.score import AnsweredTask, choose_metrics

SAME = 1e-9
"""Scores nearer than this are equal."""
Key = tuple[str, str, str]
"""Task, set, metric."""


@dataclass(frozen=True)
class System:
    """Answers to one set."""

    name: str
    """What seeds of one model share."""
    task: Task
    split: str
    answers: Mapping[str, Prediction]
    """By example."""


@dataclass(frozen=True)
class Versions:
    """A dataset before and after its corrections."""

    before: Dataset
    after: Dataset
    corrected: CorrectionSet
    tasks: tuple[Task, ...]
    """Its tasks; none where neither its name nor its records tell them."""

    @cached_property
    def contents(self) -> set[str]:
        """The digest of each split as it was."""
        return {digest_examples(examples) for examples in self.before.splits.values()}

    def corrected_tasks(self) -> list[Task]:
        """The tasks that some correction concerns."""
        questions = {correction.question for correction in self.corrected.corrections}
        return [task for task in self.tasks if task.question in questions]

    def examples(self, task: Task, split: str, *, after: bool) -> list[Example]:
        """The examples of a split that a task asks about."""
        dataset = self.after if after else self.before
        return [e for e in dataset.splits[split] if task.asks(e) and task.question in e.gold]


def values_of(
    task: Task, examples: Sequence[Example], answers: Mapping[str, Prediction]
) -> dict[str, tuple[float, Unit]]:
    """Every official metric of a task, items whose labels are hidden left out.

    NaN where it is not defined.
    """
    shown = [example for example in examples if not example.hidden]
    part = AnsweredTask.pair(task, shown, answers)
    values: dict[str, tuple[float, Unit]] = {}
    for metric in choose_metrics(task, (), part.items):
        value = float(part.evaluate(metric, "official")[0].value) * metric.scale(task)
        values[metric.name] = (value, metric.unit(task))
    return values


def equal(one: float, other: float) -> bool:
    """Whether two scores are the same but for rounding; two undefined ones are."""
    return (math.isnan(one) and math.isnan(other)) or math.isclose(
        one, other, rel_tol=0, abs_tol=SAME
    )


@dataclass
class _Sum:
    """The scores of one system, over its seeds."""

    unit: Unit
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    gained: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)


def moves_of(systems: Sequence[System], versions: Versions) -> list[ScoreMove]:
    """The scores of every system under the gold of both versions."""
    table: dict[Key, dict[str, _Sum]] = {}
    for system in systems:
        task, split = system.task, system.split
        old, new = (versions.examples(task, split, after=after) for after in (False, True))
        before, after = values_of(task, old, system.answers), values_of(task, new, system.answers)
        gained = lost = 0  # corrected items that became right, and wrong
        for one, other in zip(old, new, strict=True):
            was, now = one.gold[task.question], other.gold[task.question]
            if was != now:
                answer = system.answers[one.id].answer
                gained += answer == now
                lost += answer == was
        for metric, (value, unit) in before.items():
            row = table.setdefault((task.name, split, metric), {}).setdefault(
                system.name, _Sum(unit)
            )
            row.before.append(value)
            row.after.append(after[metric][0])
            row.gained.append(gained)
            row.lost.append(lost)
    return [move for key, rows in table.items() for move in rank_systems(key, rows)]


def rank_systems(key: Key, rows: Mapping[str, _Sum]) -> Iterator[ScoreMove]:
    """The mean scores of the systems, the best of the new version first."""
    task, split, metric = key
    means = {name: (fmean(row.before), fmean(row.after)) for name, row in rows.items()}
    ranks = [_ranks({name: pair[side] for name, pair in means.items()}, metric) for side in (0, 1)]
    for name in sorted(rows, key=lambda name: (ranks[1][name], ranks[0][name], name)):
        row, (before, after) = rows[name], means[name]
        yield ScoreMove(
            task=task,
            set=split,
            metric=metric,
            system=name,
            seeds=len(row.before),
            unit=row.unit,
            before=_defined(before),
            after=_defined(before if equal(before, after) else after),
            rank_before=ranks[0][name],
            rank_after=ranks[1][name],
            gained=fmean(row.gained),
            lost=fmean(row.lost),
        )


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _ranks(values: Mapping[str, float], metric: str) -> dict[str, int]:
    """1 for the best; what is undefined comes last, equals share a rank."""
    from nikawa.metrics import metrics

    sign = 1 if metrics()[metric].better == "higher" else -1
    worth = {name: -math.inf if math.isnan(v) else sign * v for name, v in values.items()}
    return {
        name: 1 + sum(other > value + SAME for other in worth.values())
        for name, value in worth.items()
    }


def known_tasks(names: Iterable[str]) -> tuple[Task, ...]:
    """The tasks of the first of these names that is a registered dataset."""
    return next((benchmarks()[name].tasks for name in names if name in benchmarks()), ())


def shaped_tasks(folder: Path | None, dataset: Dataset) -> tuple[Task, ...]:
    """The tasks of a folder under another name, as its records tell them; none where they tell
    nothing.
    """
    if folder is None:
        return ()
    try:
        return tuple(custom_tasks(str(folder), lambda _: dataset))
    except BadInput:
        return ()


def moved_scores(
    versions: Versions, runs: Sequence[Path], answers: Sequence[str]
) -> tuple[list[ScoreMove], list[str]]:
    """Every score of the systems given that may move, and notes.

    The order is that of task, set, metric and rank.
    """
    if not (runs or answers):
        return [], []
    if not versions.tasks:
        what = f"no task of {versions.before.name} is known, so nothing can be scored"
        raise BadInput(what, cure="remove --runs and --answers")
    systems = Systems(versions)
    for folder in runs:
        here = [systems.add_run(run) for run in find_runs([folder]).results]
        if not any(here):
            systems.notes.append(f"{folder} contains no finished run on {versions.before.name}")
    for entry in answers:
        systems.add_answers(entry)
    moves = moves_of(systems.systems, versions)
    return moves, [*systems.notes, *systems.explain_unmoved(), *explain_equal_scores(moves)]


def explain_equal_scores(moves: Sequence[ScoreMove]) -> Iterator[str]:
    """Which systems answered corrected items and keep every score and rank, and why; seeds of one model are one system."""
    by_system: dict[tuple[str, str, str], list[ScoreMove]] = {}
    for move in moves:
        by_system.setdefault((move.task, move.set, move.system), []).append(move)
    for (task, split, system), own in by_system.items():
        if any(move.moves for move in own):
            continue
        why = "its answers to the corrected items are wrong under both versions"
        if own[0].gained:
            why = "as many of its answers become correct as wrong"
        yield f"{system} does not change on {split} of {task}: {why}"


@dataclass
class Systems:
    """The systems whose scores may change, and further notes."""

    versions: Versions
    systems: list[System] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unmoved: dict[str, list[str]] = field(default_factory=dict)
    """Why no score of a run can move, to the folders of these runs."""

    def add_run(self, run: StoredRun) -> bool:
        """Add the sets of a finished run that hold corrected examples.

        Returns whether the run is one on this dataset.
        """
        spec, before = run.spec, self.versions.before
        task = self._task_of(spec)
        if task is None:
            return False
        run.check()
        names = {before.name, task.dataset}
        if isinstance(spec.own, Task):
            names.add(spec.own.dataset)
        counts = {s: self.versions.corrected.count(s, task.question) for s in before.splits}
        trained = {s for s in counts for name in names if f"{name}:{s}" in spec.protocol.train}
        learned = sum(counts[split] for split in trained)
        if learned:
            self.notes.append(
                f"{run.path.name} learned from {learned:,} corrected answers: run it again"
            )
        scored, is_corrected = [], False
        for split, count in counts.items():
            aliases = (split, *(f"{name}.{split}" for name in names))
            answered = next((name for name in run.sets if name in aliases), None)
            if answered is not None:
                scored.append(split)
                is_corrected = is_corrected or count > 0
                if count:
                    self._add_set(run, task, split, answered)
        if not is_corrected:
            corrected = [split for split, count in counts.items() if count]
            why = f"nothing of {task.name} is corrected"
            if corrected:
                why = f"the corrections are in {' and '.join(corrected)}"
            where = f"scored on {' and '.join(scored)}, and " if scored else ""
            self.unmoved.setdefault(f"{where}{why}", []).append(run.path.name)
        return True

    def explain_unmoved(self) -> Iterator[str]:
        """Which runs have no score that could move: those on sets where nothing is corrected."""
        for why, runs in self.unmoved.items():
            yield f"{', '.join(runs)} {'does' if len(runs) == 1 else 'do'} not change: {why}"

    def _task_of(self, spec: RunSpec) -> Task | None:
        """The task a run answered.

        A run on a folder is identified by the content of its sets, wherever the folder was then.
        """
        tasks = self.versions.tasks
        if not isinstance(spec.own, Task):
            return next((task for task in tasks if task.name == spec.task), None)
        if not self.versions.contents & {used.digest for used in spec.data}:
            return None
        return next((task for task in tasks if task.question == spec.own.question), None)

    def _add_set(self, run: StoredRun, task: Task, split: str, answered: str) -> None:
        hidden = {example.id for example in self.versions.before.splits[split] if example.hidden}
        predictions = run.predictions(answered, task)
        answers = {p.example: p for p in predictions if p.example not in hidden}
        examples = self.versions.examples(task, split, after=False)
        lacking = sum(example.id not in answers for example in examples)
        if lacking or len(answers) != len(examples):
            self.notes.append(
                f"{run.path.name} answered another {split} ({len(answers):,} answers, {lacking:,} examples lack one): not scored"
            )
            return
        self.systems.append(System(system_title(run.spec), task, split, answers))
        stored = {score.metric: score for score in official_scores(run.scores(), answered)}
        version = self.versions.before.version
        for metric, (value, unit) in values_of(task, examples, answers).items():
            if metric not in stored:
                continue
            # A run on a folder may have been scored in another unit than the published task has.
            before = convert_unit(stored[metric].value, stored[metric].unit, unit)
            if not equal(value, before):
                shown, now = (
                    format_score(one, metric, unit, digits=SCORE_DIGITS) for one in (before, value)
                )
                self.notes.append(
                    f"{run.path.name}: the stored {metric} {shown} on {split} is not that of {version} ({now})"
                )

    def add_answers(self, entry: str) -> None:
        """Add a file of answers, written as FILE or TASK=FILE."""
        name, equals, rest = entry.partition("=")
        chosen = [task for task in self.versions.tasks if equals and task.name == name]
        tasks = chosen or self.versions.corrected_tasks()
        path = Path(rest if chosen else entry)
        if not path.exists():
            raise BadInput(
                "no such file", file=path, cure="pass --answers FILE or --answers TASK=FILE"
            )
        if len(tasks) != 1:
            names = list_names(task.name for task in tasks)
            cure = f"pass --answers TASK={entry} with one of: {names}"
            raise BadInput(f"the corrections concern {len(tasks)} tasks", cure=cure)
        system = match_split(path, tasks[0], self.versions)
        if self.versions.corrected.count(system.split, tasks[0].question):
            self.systems.append(system)
        else:
            self.notes.append(
                f"{path.name} answers {system.split}, where nothing of {tasks[0].name} is corrected"
            )


def system_title(spec: RunSpec) -> str:
    """What a system is called in the changelog: `encoder [epochs=3] (hypothesis alone)`.

    Seeds share a title.
    """
    settings = ", ".join(f"{key}={value}" for key, value in sorted(spec.settings.items()))
    about = spec.variation.title
    model = spec.model if spec.name else spec.predictor
    parts = (model, f"[{settings}]" if settings else "", f"({about})" if about else "")
    return " ".join(part for part in parts if part)


def match_split(path: Path, task: Task, versions: Versions) -> System:
    """The split whose ids the file bears most; every example of it must be answered."""
    numbered = has_numbered_labels(task)
    fits = []
    for split in versions.before.splits:
        if examples := versions.examples(task, split, after=False):
            answers = read_answers(path, task, examples, numbered_labels=numbered)
            system = System(path.stem, task, split, answers.predictions)
            if answers.predictions:
                fits.append((len(answers.predictions), -len(answers.missing), system))
    if not fits:
        what = f"none of its ids is in {versions.before.name}"
        raise BadInput(what, file=path, cure="check the dataset and the task")
    count, lacking, system = max(fits, key=lambda fit: fit[:2])
    if lacking:
        what = f"answers {count:,} examples of {system.split}, {-lacking:,} lack one"
        raise BadInput(what, file=path, cure="add an answer for every example")
    return system
