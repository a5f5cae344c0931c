"""The analyse verb as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nikawa.analysis.results import Across, Analyses, Index, Stress, StressCell
from nikawa.cli.analyse import show_analyses
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.runs.job import RunOptions, RunRequest, run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on one task."""
    out = tmp_path_factory.mktemp("verb") / "runs"
    tasks = ("mini-ja-nli",)
    run(RunRequest(tasks=tasks, models=("majority", "char-linear")), RunOptions(out=out, workers=1))
    run(
        RunRequest(tasks=tasks, models=("char-linear",), inputs=("hypothesis",)),
        RunOptions(out=out, workers=1),
    )
    return out


def call(*words: str) -> Result:
    return CliRunner().invoke(
        build("analyse"), ["analyse", "--resamples", "100", "-t", "characters", *words]
    )


def test_it_shows_what_stands_out_and_where_the_rest_is(runs: Path) -> None:
    done = call(str(runs))
    assert done.exit_code == 0
    for title in (
        "Confused most often",
        "Calibration",
        "Lexical overlap",
        "Partial inputs",
        "Suspected label",
    ):
        assert title in done.stdout
    assert f"Written to {runs / 'analyses'}" in done.stdout
    assert (runs / "analyses" / "index.json").is_file()


def test_systems_under_perturbation_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """What a model sees is a part of its name here too."""
    cell = StressCell(
        operation="swap",
        case="",
        gold="",
        n=9,
        value=50.0,
        low=None,
        high=None,
        sd=None,
        to_neutral=None,
        human=None,
        human_n=0,
    )
    stress = [
        Stress(task="t", model="m", variation=words, seeds=(0,), measure="same", cells=(cell,))
        for words in ("", "hypothesis only")
    ]
    show_analyses(Analyses(Index(analyses=()), (), Across(stress=tuple(stress))), 9)
    assert capsys.readouterr().out.count("m (hypothesis only)") == 1


def test_one_analysis_shows_all_its_slices(runs: Path, tmp_path: Path) -> None:
    done = call(str(next(runs.glob("*majority*"))), "--out", str(tmp_path / "a"), "-n", "100")
    assert "gold=neutral" in done.stdout
    short = call(str(next(runs.glob("*majority*"))), "--out", str(tmp_path / "b"), "-n", "1")
    assert "more slices are in the files" in short.stdout


def test_json_tells_everything_and_quiet_nothing(runs: Path, tmp_path: Path) -> None:
    found = json.loads(call(str(runs), "--out", str(tmp_path / "a"), "--json").stdout)
    assert [x["system"]["task"] for x in found["analyses"]] == ["mini-ja-nli"] * 3
    assert found["across"]["partial"][0]["inputs"] == ["hypothesis"]
    assert call(str(runs), "--out", str(tmp_path / "b"), "--quiet").stdout == ""


def test_runs_of_a_sweep_are_skipped_in_one_line(tmp_path: Path) -> None:
    asked = RunRequest(
        tasks=("mini-ja-nli",),
        models=("baseline",),
        seeds=(0, 1),
        grid={"model": ("majority", "char-linear")},
    )
    run(asked, RunOptions(out=tmp_path, workers=1))
    lines = [line for line in call(str(tmp_path)).stdout.splitlines() if "skipped" in line]
    left_out = json.loads((tmp_path / "analyses" / "index.json").read_text())["left_out"]
    assert len(left_out) == 4
    names = ", ".join(list(left_out)[:3])
    assert lines == [f"skipped, a run of a sweep that only chooses settings: {names}, … (4 runs)"]


def test_nothing_is_replaced_unless_asked(runs: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "a")
    assert call(str(runs), "--out", out, "-q").exit_code == 0
    again = call(str(runs), "--out", out, "-q")
    assert isinstance(again.exception, BadInput)
    assert "--overwrite" in str(again.exception)
    assert call(str(runs), "--out", out, "-q", "--overwrite").exit_code == 0


def test_the_runs_may_be_a_pattern_and_must_be_there(runs: Path, tmp_path: Path) -> None:
    assert call(str(runs / "*majority*"), "--out", str(tmp_path / "a"), "-q").exit_code == 0
    wrong = call(str(tmp_path / "none*"))
    assert "no run matches" in str(wrong.exception)
