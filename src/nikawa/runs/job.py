"""Run models on tasks: plan, choose settings on dev where there is a choice, run, and sum up over
seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from nikawa.errors import BadInput
from nikawa.execute import (
    ExecuteOptions,
    Executor,
    Killed,
    Resources,
    executors,
    open_executor,
)
from nikawa.execute.base import OnWorkProgress, ignore_work_progress
from nikawa.execute.in_process import InProcess
from nikawa.execute.pool import count_processors
from nikawa.io.remote import require_local
from nikawa.metrics.units import convert_table
from nikawa.models import Model, find_model, parse_model_name
from nikawa.models.base import Progress, ignore_progress
from nikawa.models.chat.ledger import add_missing_costs, read_total
from nikawa.records import Record
from nikawa.runs.data import task_of
from nikawa.runs.errands import RunWork
from nikawa.runs.plan import Family, Settings, plan_runs
from nikawa.runs.readings import RunReadings, collect_readings
from nikawa.runs.records import Outcome, RunSpec
from nikawa.runs.request import RunRequest
from nikawa.runs.store import locate_run
from nikawa.runs.summary import (
    RunCell,
    RunUsage,
    choose_settings,
    diverged_settings,
    model_notes,
    read_usage,
    sum_family_usage,
    summarise,
)
from nikawa.runs.work import RunPlace, key_of_settings
from nikawa.tables import ResultTable, ShownAsTables

__all__ = [
    "Chosen",
    "FailedRun",
    "RunCell",
    "RunOptions",
    "RunReport",
    "RunRequest",
    "run",
    "run_all",
]

RunExecutor = Executor[RunSpec, Outcome | Killed[RunSpec]]
OnOutcome = Callable[[Outcome | None, int, int], None]
"""Called with the outcome of a run (None before the first), the number of finished runs, and the total."""


@dataclass(frozen=True)
class RunOptions:
    """Where and how to run."""

    out: Path = Path("runs")
    data: Path | None = None
    workers: int = 0
    """Runs at a time; 0: one per processor, or 1 if a model shares a resource such as a
    GPU."""
    threads: int = 0
    """Threads of numerical libraries per run; 0: one, or all processors for a model that runs one at a
    time."""
    executor: str = ""
    """By name; empty: a pool of processes, or this process where there is one worker."""
    keep_state: bool = False
    show_readings: bool = False
    """Report what answers were read from."""
    only_choose: bool = False
    """Choose among the values of a grid and stop: no test set is answered."""
    on_outcome: OnOutcome = lambda outcome, done, total: None
    on_progress: Progress = ignore_progress
    """Called during a run if runs are done in this process."""
    address: str = ""
    """Where the cluster is: HOST:PORT, or `auto` for the one that this machine belongs to. Empty: that one, or one that is started
    on this machine."""
    cpus_per_run: float | None = None
    """CPUs of a cluster that each run takes; None: one."""
    gpus_per_run: float | None = None
    """GPUs of a cluster that each run takes, or the share of one."""
    memory_per_run: int | None = None
    """Bytes of memory that a node of a cluster must have free for each run; None: any."""
    on_work: OnWorkProgress = ignore_work_progress
    """Called with the nodes, the runs under way and the time left, if runs are done in other processes."""


class FailedRun(Record, frozen=True, kw_only=True):
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
    """The number of combinations it chose from."""
    on: str
    """The set it chose on."""
    diverged: tuple[dict[str, Any], ...] = ()
    """The combinations whose training diverged: they have no score and cannot be chosen."""


class RunReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The results of runs."""

    main_table: ClassVar[str] = "cells"
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "cells": (
            "task",
            "model",
            "variation",
            "set",
            "where",
            "metric",
            "mean",
            "sd",
            "low",
            "high",
            "n",
            "unit",
        )
    }
    plots_by: ClassVar[str] = "nikawa.reporting.notebook:draw_runs"

    out: str
    done: int
    skipped: int
    """Runs that were done before."""
    cells: tuple[RunCell, ...]
    chosen: tuple[Chosen, ...] = ()
    problems: tuple[FailedRun, ...] = ()
    left_out: tuple[str, ...] = ()
    """Parts of a suite that cannot be run here."""
    notes: tuple[str, ...] = ()
    """Notes of models: a vocabulary for another language, a missing dev
    set."""
    usage: tuple[RunUsage, ...] | msgspec.UnsetType = msgspec.UNSET
    """What models behind a server used; absent if there was no such model."""
    readings: tuple[RunReadings, ...] | msgspec.UnsetType = msgspec.UNSET
    """The texts that answers were read from; unset unless requested."""
    spent: float | msgspec.UnsetType = msgspec.UNSET
    """The total cost of the runs of the command, including unfinished runs and requests without a
    reply; absent without a budget."""

    def shown_tables(self) -> list[ResultTable]:
        """The tables with scores in percent."""
        return [convert_table(table) for table in ShownAsTables.shown_tables(self)]


def run(request: RunRequest, options: RunOptions | None = None) -> RunReport:
    """Do every requested run that is not done yet, then summarise.

    A run that fails does not stop the others.
    """
    return run_all((request,), options)


def run_all(requests: Sequence[RunRequest], options: RunOptions | None = None) -> RunReport:
    """The same for several requests at once: their runs share the processes, and a GPU."""
    options = options or RunOptions()
    require_local(options.out, "stored runs")
    plans = [plan_runs(request, options.data) for request in requests]
    families = [family for plan in plans for family in plan.families]
    left_out = dict.fromkeys(line for plan in plans for line in plan.left_out)
    first_runs = (
        run
        for family in families
        for run in family.selection_runs() or family.runs(family.options[0])
    )
    # finished results can be shown from a read-only folder
    if any(not locate_run(options.out, run).done for run in first_runs):
        for name in dict.fromkeys(family.predictor for family in families):
            kind, argument = find_model(name)
            kind.check_argument(argument)  # refused before a folder is made for it
        _check_writable(options.out)
        count_earlier_costs(families, options.out)
    executor = make_executor(options, requests, families)
    with open_executor(executor):  # one pool of processes serves both stages
        return run_families(families, tuple(left_out), options, executor)


def run_families(
    families: Sequence[Family],
    left_out: tuple[str, ...],
    options: RunOptions,
    executor: RunExecutor,
) -> RunReport:
    """Choose settings where there is a choice, make the results with them, and sum up."""
    out = options.out
    order = list if isinstance(executor, InProcess) else order_longest_first
    tally = _Tally(options.on_outcome, out, order)
    selection = [spec for family in families for spec in family.selection_runs()]
    further = 0 if options.only_choose else sum(len(family.seeds) for family in families)
    tally.take(executor, selection, further=further)
    final, chosen, unchosen = _choose_all_settings(families, out, tally.broken)
    if options.only_choose:
        final = []
    tally.take(executor, [spec for family, settings in final for spec in family.runs(settings)])
    cells: list[RunCell] = []
    notes: list[str] = []
    usage = []
    sharing = list_sharing_runs(families)
    for family in families:
        chosen_settings = next((each for other, each in final if other is family), None)
        runs = family.selection_runs()
        if chosen_settings is not None:
            runs += family.runs(chosen_settings)
        usage += sum_family_usage(family, runs, out, tally.broken)
    for family, settings in final:
        cells += summarise(family, settings, out, tally.broken)
        for note in model_notes(family, settings, out, tally.broken):
            notes.append(f"{family.title}: {note}")
    readings: tuple[RunReadings, ...] | msgspec.UnsetType = msgspec.UNSET
    if options.show_readings:
        folders = [folder for cell in cells for folder in cell.runs]
        readings = tuple(collect_readings(out, folders, options.data))
    return RunReport(
        readings=readings,
        out=str(out),
        done=tally.done,
        skipped=tally.skipped,
        cells=tuple(cells),
        chosen=tuple(chosen),
        problems=(*tally.problems, *unchosen),
        left_out=left_out,
        notes=tuple(notes),
        usage=tuple(usage) or msgspec.UNSET,
        spent=round(read_total(out, sharing), 6) if sharing else msgspec.UNSET,
    )


def _choose_all_settings(
    families: Sequence[Family], out: Path, broken: Collection[str]
) -> tuple[list[tuple[Family, Settings]], list[Chosen], list[FailedRun]]:
    """The settings of each family, the choices, and the families for which nothing can be chosen.

    A family without a choice has its only settings. `broken` names the folders of runs that were
    not done.
    """
    final: list[tuple[Family, Settings]] = []
    chosen: list[Chosen] = []
    problems: list[FailedRun] = []
    for family in families:
        among = len(family.options)
        if among == 1:
            final.append((family, family.options[0]))
            continue
        diverged = diverged_settings(family, out, broken)
        best = choose_settings(family, out, broken)
        if best is not None:
            score, settings = best
            final.append((family, settings))
            protocol = family.protocol
            share = f"{protocol.select_share:.0%} of " if protocol.select_share else ""
            chosen.append(
                Chosen(
                    task=family.task.name,
                    model=family.model,
                    variation=family.variation.title,
                    settings=settings,
                    metric=family.task.metrics[0],
                    score=score,
                    among=among,
                    on=share + protocol.select,
                    diverged=tuple(diverged),
                )
            )
        elif diverged:  # failed runs are listed separately
            which = f"{len(diverged)} of {among} settings diverged and the others failed"
            if len(diverged) == among:
                which = f"all {among} settings diverged"
            problem = f"{which}, so none can be chosen; try a smaller learning_rate"
            problems.append(
                FailedRun(run=family.title, status="failed", problem=problem, bad_input=True)
            )
    return final, chosen, problems


def _check_writable(out: Path) -> None:
    """Make the folder of runs.

    Raises BadInput or OSError if it cannot be written, before the work starts.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        cure = "choose a folder for the runs"
        raise BadInput("is a file, not a folder", file=out, cure=cure) from None
    probe = out / f".writable.{os.getpid()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as problem:
        problem.filename = str(out)
        raise


def make_executor(
    options: RunOptions, requests: Sequence[RunRequest], families: Sequence[Family]
) -> RunExecutor:
    """The executor that the options name, with no more workers than there are runs at a time."""
    processors = count_processors()
    names = [name for request in requests for name in request.models]
    full_names = [parse_model_name(name, may_have_label=True).full for name in names]
    kinds = [find_model(name)[0] for name in full_names]
    resources = choose_resources(options, kinds)
    # Runs of a model with an external resource (a server, a checkpoint) share it.
    is_alone = any(kind.argument for kind in kinds)
    workers = options.workers or (count_parallel(families) if is_alone else processors)
    results = sum(len(family.seeds) for family in families)
    selection = sum(len(family.selection_runs()) for family in families)
    workers = max(1, min(workers, max(results, selection)))
    shared_by = 1 if options.workers else workers
    threads = options.threads or (max(1, processors // shared_by) if is_alone else 1)
    executor = options.executor or ("pool" if workers > 1 else "here")
    on_progress = options.on_progress if executor == "here" else ignore_progress
    place = RunPlace(
        options.out,
        options.data,
        options.keep_state,
        on_progress,
        given=list_given_settings(families),
        runs=frozenset(list_sharing_runs(families)),
        begun_in=Path.cwd(),
    )
    kind = executors()[executor]
    if kind.is_cluster:
        threads = options.threads or max(1, int(options.cpus_per_run or 1))
        workers = options.workers
    where = ExecuteOptions(
        executor, workers, threads, resources, options.address, on_progress=options.on_work
    )
    return kind.open(RunWork(place), where)


def choose_resources(options: RunOptions, kinds: Iterable[Model]) -> Resources:
    """What each run takes of a machine. Raises BadInput for amounts that no machine has, and for options of a cluster without one."""
    amounts = {
        "cpus-per-run": options.cpus_per_run,
        "gpus-per-run": options.gpus_per_run,
        "memory-per-run": options.memory_per_run,
    }
    has_cluster = bool(options.executor) and executors()[options.executor].is_cluster
    passed = [name for name, amount in amounts.items() if amount is not None]
    if options.address:
        passed.append("address")
    if passed and not has_cluster:
        what = f"--{passed[0]} needs an executor with machines of its own"
        raise BadInput(what, cure="pass --executor ray too")
    for name, amount in amounts.items():
        if amount is not None and not 0 <= amount < float("inf"):
            raise BadInput(f"--{name} {amount:g} is not an amount", cure="write 0 or more")
    gpus = options.gpus_per_run
    if gpus is not None and gpus > 1 and gpus != int(gpus):
        cure = "write a whole number, or a share of one GPU"
        raise BadInput(f"--gpus-per-run {gpus:g} is not a number of GPUs", cure=cure)
    if gpus is None and not any("device" in kind.default_settings for kind in kinds):
        gpus = 0.0
    cpus = 1.0 if options.cpus_per_run is None else options.cpus_per_run
    return Resources(cpus, gpus, options.memory_per_run or 0)


def count_parallel(families: Sequence[Family]) -> int:
    """How many runs can use the resources of their models at a time, such as GPUs."""
    runs = sum(len(family.selection_runs()) or len(family.seeds) for family in families)
    if runs < 2:  # counting GPUs takes seconds
        return 1
    kinds = [(find_model(family.predictor)[0], family.given) for family in families]
    return min((kind.count_parallel(given) for kind, given in kinds if kind.argument), default=1)


def list_given_settings(families: Iterable[Family]) -> dict[str, Mapping[str, Any]]:
    """The user's settings, by the key that identifies the request of a run."""
    return {
        key_of_settings(family.task.name, family.predictor, settings): family.given
        for family in families
        for settings in family.options
    }


def list_sharing_runs(families: Iterable[Family]) -> dict[str, RunSpec]:
    """The runs that share the budget of a command, by hash; empty without a budget.

    If settings are still to be chosen, the results of all of them are included.
    """
    runs: dict[str, RunSpec] = {}
    for family in families:
        if family.given.get("budget") is not None:
            of_family = family.selection_runs()
            for settings in family.options:
                of_family += family.runs(settings)
            runs |= {run.hash: run for run in of_family}
    return runs


def count_earlier_costs(families: Iterable[Family], out: Path) -> None:
    """Add finished runs that are missing in the ledger: an earlier version had no ledger."""
    costs = {}
    for run_hash, run in list_sharing_runs(families).items():
        stored = locate_run(out, run)
        if stored.done:
            usage = read_usage(stored)
            if usage is not None and usage.cost:
                costs[run_hash] = usage.cost
    if costs:
        add_missing_costs(out, costs)


@dataclass
class _Tally:
    """Counts outcomes as they come."""

    on_outcome: OnOutcome
    out: Path
    order: Callable[[Sequence[RunSpec]], list[RunSpec]] = list
    """In which order runs are begun."""
    done: int = 0
    skipped: int = 0
    seen: int = 0
    total: int = 0
    problems: list[FailedRun] = field(default_factory=list)

    @property
    def broken(self) -> set[str]:
        """Folders of runs that were not done, or that have changed since: they are not part
        of the table.
        """
        return {problem.run for problem in self.problems}

    def take(self, executor: RunExecutor, runs: Sequence[RunSpec], further: int = 0) -> None:
        """Do runs; `further` ones will follow."""
        self.total = self.seen + len(runs) + further
        self.on_outcome(None, self.seen, self.total)
        for result in executor.submit(self.order(runs)) if runs else ():
            if isinstance(result, Killed):
                outcome = Outcome(run=result.item, status="failed", problem=result.problem)
            else:
                outcome = result
            if outcome.ok and not locate_run(self.out, outcome.run).done:
                problem = f"was reported as {outcome.status}, but its results are not in {self.out}"
                outcome = msgspec.structs.replace(outcome, status="failed", problem=problem)
            self.seen += 1
            self.done += outcome.status == "done"
            self.skipped += outcome.status == "skipped"
            if not outcome.ok:
                self.problems.append(
                    FailedRun(
                        run=outcome.run.folder,
                        status=outcome.status,
                        problem=outcome.problem,
                        bad_input=outcome.bad_input,
                    )
                )
            self.on_outcome(outcome, self.seen, self.total)


def order_longest_first(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """Order runs by the amount they read, so that a sweep does not end with one long run.

    The results do not depend on the order. Equal runs keep their order.
    """
    return sorted(runs, key=estimate_work, reverse=True)


def estimate_work(run: RunSpec) -> tuple[float, int]:
    """Examples learned from, each as often as it is met; then examples that are answered.

    As far as that is known without reading them: all but those that settings are chosen on, and of
    them the share or shots.
    """
    rows = {part.name: part.n for part in run.data}
    learned: float = sum(rows.get(name, 0) for name in run.protocol.train)
    learned *= (1 - run.protocol.select_share) * run.variation.share
    shots = run.variation.shots * max(1, len(task_of(run).labels))
    if shots:
        learned = min(learned, shots)
    defaults = find_model(run.predictor)[0].default_settings
    epochs = run.settings.get("epochs", defaults.get("epochs", 1))
    if not isinstance(epochs, int | float):  # models without epochs read the examples once
        epochs = 1
    is_result = run.stage == "result"
    models = run.protocol.folds - 1 if run.protocol.folds and is_result else 1
    sets = run.protocol.evaluate if is_result else (run.protocol.select,)
    answered = sum(rows.get(name, 0) for name in sets)
    return float(learned * max(1, models) * epochs), answered
