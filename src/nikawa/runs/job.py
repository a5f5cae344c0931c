"""Run models on tasks: plan, choose settings on dev where there is a choice, run, and sum up over seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.execute import Executor, Killed, executors, open_executor
from nikawa.execute.here import Here
from nikawa.models import find_model
from nikawa.models.base import Progress, ignore_progress
from nikawa.records import Record
from nikawa.runs.data import task_of
from nikawa.runs.plan import Family, Plan, RunRequest, Settings, plan_runs, split_model_name
from nikawa.runs.records import Outcome, RunSpec, short_name
from nikawa.runs.store import StoredRun
from nikawa.runs.summary import Cell, choose_settings, diverged_settings, model_notes, summarise
from nikawa.runs.work import RunPlace, do_run


def order_longest_first(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """Runs by what they read, as far as that is known without reading it; of equals the first stays first."""
    return sorted(runs, key=estimate_work, reverse=True)


def estimate_work(run: RunSpec) -> tuple[float, int]:
    """Examples learned from, each as often as it is met; then examples that are answered."""
    rows = {part.name: part.n for part in run.data}
    learned = _varied(run, sum(rows.get(name, 0) for name in run.protocol.train))
    models = run.protocol.folds - 1 if run.protocol.folds and run.stage == "result" else 1
    asked = run.protocol.evaluate if run.stage == "result" else (run.protocol.select,)
    return learned * max(1, models) * _epochs(run), sum(rows.get(name, 0) for name in asked)


def _varied(run: RunSpec, rows: int) -> float:
    """Rows without those that are chosen on, and of them the share or the shots that are learned from."""
    kept = rows * (1 - run.protocol.select_share) * run.variation.share
    shots = run.variation.shots * max(1, len(task_of(run).labels))
    return min(kept, shots) if shots else kept


def _epochs(run: RunSpec) -> float:
    """How often each is met; once by models that have no word for it."""
    kind = find_model(run.predictor)[0].settings
    usual = {f.encode_name: f.default for f in msgspec.structs.fields(kind)} if kind else {}
    told = run.settings.get("epochs", usual.get("epochs", 1))
    return float(told) if isinstance(told, int | float) else 1.0


__all__ = ["Cell", "Chosen", "Problem", "RunOptions", "RunReport", "RunRequest", "run", "run_all"]

RunExecutor = Executor[RunSpec, Outcome | Killed[RunSpec]]
Told = Callable[[Outcome | None, int, int], None]
"""Called with the outcome of a run (None before the first), how many are done, and of how many."""


@dataclass(frozen=True)
class RunOptions:
    """Where and how to run."""

    out: Path = Path("runs")
    data: Path | None = None
    workers: int = 0
    """Runs at a time; 0: as many as there are processors, or one where a model shares what it is on."""
    threads: int = 0
    """Threads of numerical libraries in a run; 0: one, or all processors for a model that is not run beside itself."""
    executor: str = ""
    """By name; empty: a pool of processes, or this process where there is one worker."""
    keep_state: bool = False
    only_choose: bool = False
    """Choose among the values of a grid and stop: no test set is asked."""
    told: Told = field(default=lambda outcome, done, total: None)
    progress: Progress = ignore_progress
    """What a run tells while it is under way; heard only where runs are done in this process."""


class Problem(Record, frozen=True, kw_only=True):
    """A run that was not done."""

    run: str
    status: str
    problem: str
    bad_input: bool


class Chosen(Record, frozen=True, kw_only=True):
    """What a sweep chose."""

    task: str
    model: str
    variation: str
    settings: dict[str, Any]
    metric: str
    score: float
    """The mean over seeds on the set it chose on."""
    among: int
    """How many combinations it chose among."""
    on: str
    """The set it chose on."""
    diverged: tuple[dict[str, Any], ...] = ()
    """Those of them whose training diverged: they have no score, and cannot be chosen."""


class RunReport(Record, frozen=True, kw_only=True):
    """What runs came to."""

    out: str
    done: int
    skipped: int
    """Runs that were done before."""
    cells: tuple[Cell, ...]
    chosen: tuple[Chosen, ...] = ()
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    """Parts of a suite that cannot be run here."""
    notes: tuple[str, ...] = ()
    """What models note of themselves: a vocabulary of another language, a dev set that was not there."""


def run(request: RunRequest, options: RunOptions | None = None) -> RunReport:
    """Do every run that is asked for and is not done yet, then sum up; a run that fails does not stop the others."""
    return run_all((request,), options)


def run_all(requests: Sequence[RunRequest], options: RunOptions | None = None) -> RunReport:
    """The same for several requests at once: their runs share the processes, and a graphics card."""
    how = options or RunOptions()
    plans = [plan_runs(request, how.data) for request in requests]
    left_out = tuple(dict.fromkeys(line for each in plans for line in each.left_out))
    planned = Plan(tuple(family for each in plans for family in each.families), left_out)
    if _open(planned, how.out):
        _ready(planned)
        _writable(how.out)
    executor = _executor(how, requests, planned)
    with open_executor(executor):  # one pool of processes chooses and tells
        return _carried_out(planned, how, executor)


def _carried_out(planned: Plan, how: RunOptions, executor: RunExecutor) -> RunReport:
    tally = _Tally(how.told, list if isinstance(executor, Here) else order_longest_first)
    more = 0 if how.only_choose else sum(len(f.seeds) for f in planned.families)
    tally.take(
        executor, [spec for family in planned.families for spec in family.choosing()], more=more
    )
    winners = [(family, _settings(family, how.out, tally.broken)) for family in planned.families]
    unchosen = [
        p for f, found in winners if found is None for p in _unchosen(f, how.out, tally.broken)
    ]
    final = [
        (family, found[1]) for family, found in winners if found is not None and not how.only_choose
    ]
    tally.take(executor, [spec for family, settings in final for spec in family.runs(settings)])
    return RunReport(
        out=str(how.out),
        done=tally.done,
        skipped=tally.skipped,
        cells=tuple(
            cell
            for family, settings in final
            for cell in summarise(family, settings, how.out, tally.broken)
        ),
        chosen=tuple(
            _chosen(family, *found, diverged_settings(family, how.out, tally.broken))
            for family, found in winners
            if found and len(family.options) > 1
        ),
        problems=(*tally.problems, *unchosen),
        left_out=planned.left_out,
        notes=tuple(
            f"{_titled(family)}: {note}"
            for family, settings in final
            for note in model_notes(family, settings, how.out, tally.broken)
        ),
    )


def _open(planned: Plan, out: Path) -> bool:
    """Whether something is left to do; where nothing is, results can be shown from a place that cannot be written."""
    runs = (
        run
        for family in planned.families
        for run in family.choosing() or family.runs(family.options[0])
    )
    return any(not StoredRun(out / run.folder).done for run in runs)


def _ready(planned: Plan) -> None:
    """Refuse a model that nothing can be made of before a folder is made for it."""
    for name in dict.fromkeys(family.predictor for family in planned.families):
        kind, argument = find_model(name)
        kind.ready(argument)


def _writable(out: Path) -> None:
    """Say that a folder cannot be written before the work, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(
            "is a file, not a folder", file=out, cure="name a folder for the runs"
        ) from None
    probe = out / f".writable.{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as problem:
        problem.filename = str(out)
        raise


def _executor(how: RunOptions, requests: Sequence[RunRequest], planned: Plan) -> RunExecutor:
    alone = _alone(name for request in requests for name in request.models)
    workers = how.workers or (1 if alone else _processors())
    threads = how.threads or (_processors() if alone else 1)
    most = max(
        sum(len(f.seeds) for f in planned.families),
        sum(len(f.choosing()) for f in planned.families),
    )
    workers = max(1, min(workers, most))
    name = how.executor or ("pool" if workers > 1 else "here")
    heard = how.progress if name == "here" else ignore_progress
    settings = {name: value for request in requests for name, value in request.settings.items()}
    place = RunPlace(how.out, how.data, how.keep_state, heard, settings)
    return executors()[name].make(partial(do_run, place=place), workers, threads)


def _alone(models: Iterable[str]) -> bool:
    """Whether a model is made from something outside (a server, a checkpoint): it is not run beside itself."""
    return any(find_model(split_model_name(given)[1])[0].argument for given in models)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settings(family: Family, out: Path, broken: Collection[str]) -> tuple[float, Settings] | None:
    """The settings of a family, chosen on dev where there is a choice; None where no run of it was done."""
    return (
        (0.0, family.options[0])
        if len(family.options) == 1
        else choose_settings(family, out, broken)
    )


def _titled(family: Family) -> str:
    parts = (family.task.name, short_name(family.model), family.variation.title)
    return " ".join(part for part in parts if part)


def _unchosen(family: Family, out: Path, broken: Collection[str]) -> Iterator[Problem]:
    """One line where settings that diverged leave nothing to choose; runs that failed have lines of their own."""
    lost, among = len(diverged_settings(family, out, broken)), len(family.options)
    if lost:
        how_many = (
            f"all {among} settings diverged"
            if lost == among
            else f"{lost} of {among} settings diverged, the others failed"
        )
        problem = f"{how_many}: none can be chosen; try a smaller learning_rate"
        yield Problem(run=_titled(family), status="failed", problem=problem, bad_input=True)


def _chosen(family: Family, score: float, settings: Settings, lost: Sequence[Settings]) -> Chosen:
    protocol = family.protocol
    share = f"{protocol.select_share:.0%} of " if protocol.select_share else ""
    return Chosen(
        task=family.task.name,
        model=family.model,
        variation=family.variation.title,
        settings=settings,
        metric=family.task.metrics[0],
        score=score,
        among=len(family.options),
        on=share + protocol.select,
        diverged=tuple(lost),
    )


@dataclass
class _Tally:
    """Counts outcomes as they come."""

    told: Told
    order: Callable[[Sequence[RunSpec]], list[RunSpec]] = list
    """In which order runs are begun."""
    done: int = 0
    skipped: int = 0
    seen: int = 0
    total: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def broken(self) -> set[str]:
        """Folders of runs that were not done, or are no longer what was written: they are no part of the table."""
        return {problem.run for problem in self.problems}

    def take(self, executor: RunExecutor, runs: Sequence[RunSpec], more: int = 0) -> None:
        """Do runs; `more` will follow."""
        self.total = self.seen + len(runs) + more
        self.told(None, self.seen, self.total)
        for result in executor.submit(self.order(runs)) if runs else ():
            if isinstance(result, Killed):
                outcome = Outcome(run=result.item, status="failed", problem=result.problem)
            else:
                outcome = result
            self.seen += 1
            self.done += outcome.status == "done"
            self.skipped += outcome.status == "skipped"
            if not outcome.ok:
                self.problems.append(_problem(outcome))
            self.told(outcome, self.seen, self.total)


def _problem(outcome: Outcome) -> Problem:
    return Problem(
        run=outcome.run.folder,
        status=outcome.status,
        problem=outcome.problem,
        bad_input=outcome.bad_input,
    )
