"""Plans carried out: sweeps, summaries, trouble that stays where it is, and looking after what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load_task
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example
from nikawa.runs import open_run, stored_runs
from nikawa.runs.job import RunOptions, RunReport, RunRequest, run, run_all
from nikawa.runs.manage import diff_runs, list_runs, pick_runs, remove_runs


def done(out: Path, **asked: Any) -> RunReport:
    request = RunRequest(**{"tasks": ("mini-ja-nli",), "models": ("majority",), **asked})
    return run(request, RunOptions(out=out, workers=1))


def test_the_mean_and_deviation_are_over_seeds(tmp_path: Path) -> None:
    report = done(tmp_path, models=("char-linear",), shots=2, seeds=(0, 1, 2))
    (cell,) = report.cells
    values = [r.value for r in list_runs(tmp_path)]
    assert cell.seeds == (0, 1, 2)
    assert cell.mean == pytest.approx(sum(v for v in values if v is not None) / 3)
    assert cell.sd is not None
    assert cell.sd > 0
    assert (report.done, report.skipped) == (3, 0)
    assert (done(tmp_path, models=("char-linear",), shots=2, seeds=(0, 1, 2)).skipped) == 3


def test_one_seed_has_an_interval_instead(tmp_path: Path) -> None:
    told = [{"premise": f"{n}番の舟が着いた。", "hypothesis": "舟が着いた。"} for n in range(12)]
    made = [
        Example(id=str(n), inputs=pair, gold={"label": "neutral" if n % 3 else "entailment"})
        for n, pair in enumerate(told)
    ]
    write_records(tmp_path / "own.jsonl", made)
    cell = done(tmp_path / "runs", tasks=(str(tmp_path / "own.jsonl"),)).cells[0]
    assert (cell.sd, cell.n, cell.few) == (None, 12, False)
    assert cell.low is not None
    assert cell.high is not None
    assert cell.low <= cell.mean <= cell.high  # type: ignore[operator]


def test_few_items_have_no_interval(tmp_path: Path) -> None:
    (cell,) = done(tmp_path).cells
    assert (cell.n, cell.sd, cell.low, cell.high, cell.few) == (9, None, None, None, True)


def test_a_sweep_chooses_on_dev_and_no_loser_sees_the_test_set(tmp_path: Path) -> None:
    report = done(
        tmp_path, models=("baseline",), grid={"model": ("majority", "char-linear")}, seeds=(0, 1)
    )
    (chosen,) = report.chosen
    assert (chosen.settings, chosen.among, chosen.on) == (
        {"model": "char-linear"},
        2,
        "mini-ja:dev",
    )
    asked = {
        (stored.spec.settings["model"], stored.spec.stage): stored.sets
        for stored in stored_runs(tmp_path)
    }
    assert asked == {
        ("majority", "selection"): ["select"],
        ("char-linear", "selection"): ["select"],
        ("char-linear", "result"): ["test"],
    }
    _, dev = load_task("mini-ja-nli", "dev")
    selection = next(s for s in stored_runs(tmp_path) if s.spec.stage == "selection")
    assert selection.scores()[0].n == len(dev)


def test_one_seed_chooses_and_requests_are_run_together(tmp_path: Path) -> None:
    grid = {"model": ("majority", "char-linear")}
    several = RunRequest(("mini-ja-nli",), ("baseline",), seeds=(0, 1), grid=grid, choose_seeds=1)
    other = RunRequest(("mini-ja-sts",), ("char-linear",))
    report = run_all((several, other), RunOptions(out=tmp_path, workers=1))
    assert report.done == 5
    assert [chosen.settings for chosen in report.chosen] == [{"model": "char-linear"}]
    assert [(c.task, c.seeds) for c in report.cells][:2] == [
        ("mini-ja-nli", (0, 1)),
        ("mini-ja-sts", (0,)),
    ]


def test_an_executor_is_entered_once_to_choose_and_to_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.execute import ExecutorKind, executors
    from nikawa.execute.in_process import InProcess

    heard: list[str] = []

    class Kept(InProcess[Any, Any]):
        def __enter__(self) -> None:
            heard.append("entered")

        def __exit__(self, *_: object) -> None:
            heard.append("left")

        def submit(self, runs: Any) -> Any:
            heard.append(runs[0].stage)
            return super().submit(runs)

    kind = ExecutorKind("kept", "", lambda work, *_: Kept(work))
    monkeypatch.setitem(executors()._things, "kept", kind)
    asked = RunRequest(("mini-ja-nli",), ("baseline",), grid={"model": ("majority", "char-linear")})
    assert run(asked, RunOptions(out=tmp_path, executor="kept")).done == 3
    assert heard == ["entered", "selection", "result", "left"]


def test_long_runs_are_begun_first_where_several_run_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.execute import Executor, ExecutorKind, executors
    from nikawa.runs import RunSpec

    begun: list[RunSpec] = []

    class Noting:
        def submit(self, runs: Any) -> Any:
            begun.extend(runs)
            return iter(())

    def make(*_: Any) -> Executor[Any, Any]:
        return Noting()

    monkeypatch.setitem(executors()._things, "noting", ExecutorKind("noting", "", make))
    several = RunRequest(("mini-ja-nli",), ("majority",), shares=(0.5, 1.0))
    few = RunRequest(("mini-ja-nli",), ("char-linear",), shots=1)
    run_all((few, several), RunOptions(out=tmp_path, executor="noting"))
    assert [(r.variation.share, r.variation.shots) for r in begun] == [(1.0, 0), (0.5, 0), (1.0, 1)]


def test_choosing_alone_asks_no_test_set(tmp_path: Path) -> None:
    request = RunRequest(
        ("mini-ja-nli",), ("baseline",), grid={"model": ("majority", "char-linear")}
    )
    report = run_all((request,), RunOptions(out=tmp_path, workers=1, only_choose=True))
    assert [chosen.settings for chosen in report.chosen] == [{"model": "char-linear"}]
    assert (report.done, report.cells) == (2, ())
    assert {stored.spec.stage for stored in stored_runs(tmp_path)} == {"selection"}


def test_a_run_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.models.majority import Majority

    def burst(*_: Any) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(Majority, "fit", burst)
    report = done(tmp_path, models=("majority", "char-linear"))
    assert report.done == 1
    (problem,) = report.problems
    assert problem.problem.startswith("MemoryError: no more; see ")
    assert [cell.model for cell in report.cells] == ["char-linear"]


def test_what_models_note_of_themselves_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.cli.run import format_notes
    from nikawa.models.majority import Majority

    def about(_: Majority) -> dict[str, Any]:
        return {"notes": ["it was dark"]}

    monkeypatch.setattr(Majority, "about", about, raising=False)
    report = done(tmp_path, seeds=(0, 1), inputs=("hypothesis",))
    assert report.notes == ("mini-ja-nli majority hypothesis only: it was dark",)
    assert "note: mini-ja-nli majority hypothesis only: it was dark" in list(
        format_notes(report, "percent")
    )
    for path in tmp_path.glob("*/about.json"):
        path.unlink()
    assert done(tmp_path, seeds=(0, 1), inputs=("hypothesis",)).notes == ()


def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        done(tmp_path / "file")
    with pytest.raises(OSError, match="proc"):
        done(Path("/proc/runs"))


def test_finished_runs_are_shown_from_a_place_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = done(tmp_path)

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    for name in ("touch", "mkdir", "unlink"):
        monkeypatch.setattr(Path, name, refused)
    assert done(tmp_path).cells == whole.cells
    with pytest.raises(OSError, match="Read-only"):
        done(tmp_path, seeds=(1,))


def test_runs_are_listed_told_apart_and_removed(tmp_path: Path) -> None:
    done(tmp_path, models=("majority", "char-linear"))
    a, b = list_runs(tmp_path)
    assert (a.model, a.state, a.set, a.metric) == ("char-linear", "done", "test", "accuracy")
    found = diff_runs(a.run, b.run.rpartition("--")[2][:6], tmp_path)
    assert [change.what for change in found.changed] == ["predictor"]
    assert [(pair.set, pair.n) for pair in found.answers] == [("test", 9)]
    assert found.answers[0].differ > 0
    (tmp_path / b.run / "done.json").unlink()
    assert [row.state for row in list_runs(tmp_path)] == ["done", "unfinished"]
    remove_runs(pick_runs([], tmp_path, unfinished=True, task=None, model=None))
    assert [row.run for row in list_runs(tmp_path)] == [a.run]


def test_a_broken_run_is_listed_as_such(tmp_path: Path) -> None:
    done(tmp_path)
    (stored,) = stored_runs(tmp_path)
    (stored.path / "scores.json").write_text("[]")
    (row,) = list_runs(tmp_path)
    assert (row.state, "has changed since the run wrote it" in row.problem) == ("broken", True)


@pytest.mark.parametrize("name", ["run.json", "done.json", "scores.json"])
def test_one_broken_run_does_not_hide_the_others_and_its_cure_works(
    tmp_path: Path, name: str
) -> None:
    asked = RunRequest(tasks=("mini-ja-nli",), models=("majority",), seeds=(0, 1))
    whole = run(asked, RunOptions(out=tmp_path, workers=1))
    broken = tmp_path / whole.cells[0].runs[0]
    (broken / name).write_text("{", "utf-8") if name != "run.json" else (broken / name).unlink()
    report = run(asked, RunOptions(out=tmp_path, workers=1))
    (problem,) = report.problems
    assert (problem.run, report.skipped) == (broken.name, 1)
    assert f"nikawa run remove --yes {broken}" in problem.problem
    assert [cell.seeds for cell in report.cells] == [(1,)]
    assert [row.state for row in list_runs(tmp_path)].count("broken") == 1
    remove_runs(pick_runs([str(broken)], tmp_path, unfinished=False, task=None, model=None))
    assert run(asked, RunOptions(out=tmp_path, workers=1)).cells == whole.cells


def test_a_run_killed_before_it_said_what_it_is_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "mini-ja-nli--majority--0123456789ab"
    path.mkdir()
    (path / "lock").touch()
    assert [(row.task, row.state) for row in list_runs(tmp_path)] == [("mini-ja-nli", "unfinished")]
    remove_runs(pick_runs([], tmp_path, unfinished=True, task=None, model=None))
    assert not path.exists()


def test_names_of_runs_that_are_not_there_are_told(tmp_path: Path) -> None:
    done(tmp_path, seeds=(0, 1))
    with pytest.raises(BadInput, match="there is no run 'zz'"):
        open_run("zz", tmp_path)
    with pytest.raises(BadInput, match="2 runs begin with"):
        open_run("", tmp_path)
    with pytest.raises(BadInput, match="no run is named"):
        pick_runs([], tmp_path, unfinished=False, task=None, model=None)
    with pytest.raises(BadInput, match="no such folder"):
        list_runs(tmp_path / "none")


def test_a_run_at_work_is_not_removed(tmp_path: Path) -> None:
    done(tmp_path)
    (stored,) = stored_runs(tmp_path)
    with stored.locked(), pytest.raises(BadInput, match="a process is working on this run"):
        remove_runs([stored])
    assert stored.done


def test_the_demo_suite_runs_every_embedded_task(tmp_path: Path) -> None:
    report = done(tmp_path, tasks=("demo",))
    assert report.problems == ()
    assert len({cell.task for cell in report.cells}) == 10


@pytest.mark.slow
def test_published_figures_of_the_majority(shared_data: Path, tmp_path: Path) -> None:
    how = RunOptions(out=tmp_path, data=shared_data, workers=1)
    jsick = RunRequest(tasks=("jsick-nli",), models=("majority",))
    jamp = RunRequest(tasks=("jamp",), models=("majority",), train=("jamp:template-easy",))
    cells = [cell for request in (jsick, jamp) for cell in run(request, how).cells]
    by = {(c.task, c.variation, c.where, c.metric): c for c in cells}
    assert round(by["jsick-nli", "", "", "accuracy"].mean or 0, 2) == 61.74
    easy = "trained on jamp:template-easy"
    sizes = {
        where: by["jamp", easy, where, "accuracy"].n
        for where in ("", "seen", "unseen", "seen - unseen")
    }
    assert sizes == {"": 1990, "seen": 1346, "unseen": 644, "seen - unseen": 1990}
    assert by["jamp", easy, "", "accuracy"].protocol == "stand-in test"
