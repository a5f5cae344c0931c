from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from nikawa.execute import Killed, executors
from nikawa.execute.base import KILLED
from nikawa.execute.in_process import InProcess
from nikawa.execute.pool import Pool
from nikawa.runs import Outcome, RunSpec
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest
from nikawa.runs.work import RunPlace, do_run


def specs(*models: str, seeds: tuple[int, ...] = (0, 1)) -> list[RunSpec]:
    families = plan_runs(RunRequest(tasks=("mini-ja-nli",), models=models, seeds=seeds)).families
    return [run for family in families for run in family.runs(family.options[0])]


def kills_itself(run: RunSpec) -> Outcome:
    """Work whose process dies for one of the seeds."""
    if run.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(run=run, status="done")


def threads_of(run: RunSpec) -> Outcome:
    return Outcome(run=run, status="done", problem=os.environ["OMP_NUM_THREADS"])


def finished(results: Iterable[Outcome | Killed[RunSpec]]) -> list[Outcome]:
    """The outcomes, none of which may be of a killed process."""
    outcomes = []
    for result in results:
        assert isinstance(result, Outcome)
        outcomes.append(result)
    return outcomes


def test_executors_are_found_by_name() -> None:
    assert list(executors()) == ["here", "pool", "ray"]


@pytest.mark.slow
def test_the_same_bytes_with_one_or_two_workers(
    tmp_path: Path, files: Callable[[Path], dict[str, bytes]]
) -> None:
    runs, outs = specs("char-linear"), (tmp_path / "one", tmp_path / "two")
    one = InProcess(partial(do_run, place=RunPlace(outs[0]))).submit(runs)
    pool = Pool(partial(do_run, place=RunPlace(outs[1])), 2)
    two = finished(pool.submit(runs[::-1]))
    assert {outcome.status for outcome in one} == {outcome.status for outcome in two} == {"done"}
    assert files(outs[0]) == files(outs[1])
    assert len(files(outs[0])) == 4 * len(runs)


@pytest.mark.slow
def test_a_process_that_is_killed_costs_its_own_run_only() -> None:
    runs = specs("majority")
    outcomes = list(Pool(kills_itself, 2).submit(runs))
    assert len(outcomes) == len(runs)
    killed = {(o.item.seed, o.problem) for o in outcomes if isinstance(o, Killed)}
    assert killed == {(1, KILLED)}
    assert {o.run.seed for o in outcomes if not isinstance(o, Killed)} == {0}


def process_of(run: RunSpec) -> Outcome:
    """Work that tells its process; seed 9 takes long."""
    time.sleep(60 if run.seed == 9 else 0)
    return Outcome(run=run, status="done", problem=str(os.getpid()))


@pytest.mark.slow
def test_an_entered_pool_keeps_its_processes_and_leaves_none_behind() -> None:
    first, second = (specs("majority", seeds=(n,)) for n in (0, 1))
    with Pool(process_of, 2) as pool:
        (one,) = finished(pool.submit(first))
        (two,) = finished(pool.submit(second))
        assert one.problem == two.problem != str(os.getpid())
        os.kill(int(two.problem), signal.SIGKILL)  # one that dies between two lists costs nothing
        (three,) = finished(pool.submit(first))
        assert (three.status, three.problem) != ("done", one.problem)
        assert three.status == "done"
    assert multiprocessing.active_children() == []
    (alone,) = finished(Pool(process_of, 2).submit(first))
    assert alone.status == "done"
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_an_interruption_ends_what_is_under_way() -> None:
    begin = time.monotonic()

    def interrupted() -> None:
        with Pool(process_of, 2) as pool:
            for _ in pool.submit(specs("majority", seeds=(0, 9))):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert multiprocessing.active_children() == []
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_processes_keep_to_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    (outcome,) = finished(Pool(threads_of, 1, threads=3).submit(specs("majority", seeds=(0,))[:1]))
    assert (outcome.problem, os.environ["OMP_NUM_THREADS"]) == ("3", "7")
