"""The run verb as a user meets it, and as a process that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nikawa.cli.terminal.app import build

MINI = ("--model", "majority", "--tasks", "mini-ja-nli", "--workers", "1")


def call(*words: str) -> Result:
    return CliRunner().invoke(build("run"), ["run", *words])


def test_it_runs_and_shows_a_table(tmp_path: Path) -> None:
    done = call(*MINI, "--seeds", "2", "--out", str(tmp_path))
    assert done.exit_code == 0
    assert "33.33 ± 0.00" in done.stdout
    assert "2 runs done, 0 already done" in done.stdout
    assert (
        "0 runs done, 2 already done"
        in call("start", *MINI, "--seeds", "2", "--out", str(tmp_path)).stdout
    )


@pytest.mark.parametrize(
    ("style", "starts"), [("markdown", "| task "), ("latex", "\\begin"), ("csv", "task,")]
)
def test_the_table_in_other_notations(tmp_path: Path, style: str, starts: str) -> None:
    assert call(*MINI, "--out", str(tmp_path), "--as", style).stdout.startswith(starts)


def test_the_main_table_has_a_row_a_task_in_percent_and_notes_go_beside_it(tmp_path: Path) -> None:
    words = (
        "--model",
        "baseline",
        "--tasks",
        "mini-ja-sts,mini-ja",
        "--set",
        "model=majority",
        "--workers",
        "1",
    )
    done = call(*words, "--main", "--as", "csv", "--out", str(tmp_path))
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [
        "mini-ja-sts",
        "mini-ja-nli",
        "mini-ja-qa",
        "mini-ja-choice",
        "mini-ja-ner",
    ]
    assert "5 runs done" in done.stderr


def test_json_tells_everything_and_quiet_nothing(tmp_path: Path) -> None:
    found = json.loads(call(*MINI, "--out", str(tmp_path), "--json").stdout)
    assert found["cells"][0]["runs"] == [path.name for path in tmp_path.iterdir()]
    assert call(*MINI, "--out", str(tmp_path), "--quiet").stdout == ""


def test_variations_are_options(tmp_path: Path) -> None:
    words = ("--share", "0.5,1.0", "--inputs", "hypothesis", "--seeds", "7,8", "--as", "csv")
    lines = call(*MINI, *words, "--out", str(tmp_path)).stdout.splitlines()
    assert [line.split(",test,")[0] for line in lines[1:]] == [
        'mini-ja-nli,"hypothesis only, 50% of train"',
        "mini-ja-nli,hypothesis only",
    ]
    seeds = {
        json.loads((path / "run.json").read_text("utf-8"))["seed"] for path in tmp_path.iterdir()
    }
    assert seeds == {7, 8}


def test_a_preset_speaks_where_the_command_does_not(tmp_path: Path) -> None:
    preset = tmp_path / "mine.toml"
    preset.write_text(
        'seeds = 2\nshares = [0.5]\n[task.mini-ja-nli]\nsettings = { model = "majority" }\n'
    )
    words = (
        "--model",
        "baseline",
        "--tasks",
        "mini-ja-nli",
        "--preset",
        str(preset),
        "--workers",
        "1",
        "--json",
    )
    cell = json.loads(call(*words, "--out", str(tmp_path / "runs")).stdout)["cells"][0]
    assert (cell["seeds"], cell["variation"]) == ([0, 1], "50% of train")
    assert cell["settings"] == {"model": "majority"}
    cell = json.loads(call(*words, "--seeds", "1", "--out", str(tmp_path / "runs")).stdout)[
        "cells"
    ][0]
    assert cell["seeds"] == [0]


def test_what_failed_is_told_once_and_the_status_says_so(tmp_path: Path) -> None:
    call(*MINI, "--seeds", "2", "--out", str(tmp_path))
    for path in tmp_path.glob("*/predictions/test.jsonl"):
        path.unlink()
    done = call(*MINI, "--seeds", "2", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr.count("is listed in done.json but missing; restore it") == 2
    assert "33.33" not in done.stdout
    assert all(
        line.startswith("nikawa: mini-ja-nli--majority--") for line in done.stderr.splitlines()
    )
    mixed = call(*MINI, "--model", "char-linear", "--seeds", "2", "--out", str(tmp_path))
    assert mixed.exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "majority"), "the task is missing"),
        (("--tasks", "mini-ja"), "the model is missing"),
        ((*MINI, "--seeds", "0"), "'0' is not a number or list of seeds"),
        ((*MINI, "--set", "x"), "'x' is not a setting; write KEY=VALUE"),
        ((*MINI, "--share", "half"), "'half' is not a share"),
        ((*MINI, "--preset", "jgleu"), "did you mean 'jglue'"),
        ((*MINI, "--executor", "poll"), "did you mean 'pool'"),
        ((*MINI, "--as", "markdwon"), "did you mean 'markdown'"),
        ((*MINI, "--seeds", "99999999999"), "99999999999 seeds are too many"),
        ((*MINI, "--seeds", "1,99999999999"), "is too large"),
        (
            ("--model", "char-linear", *MINI[2:], "--grid", "longest="),
            "the grid of 'longest' has no value",
        ),
        (
            ("--model", "char-linear", *MINI[2:], "--set", "longest=99"),
            "longest: expected `int` <= 8",
        ),
        (("--model", "replay:none.jsonl", "--tasks", "mini-ja-nli"), "no such file"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = call(*words, "--out", str(tmp_path))
    assert done.exit_code == 1
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_runs_and_models_are_listed(tmp_path: Path) -> None:
    call(*MINI, "--out", str(tmp_path))
    (row,) = json.loads(call("list", "--out", str(tmp_path), "--json").stdout)
    assert (row["state"], row["model"]) == ("done", "majority")
    assert row["run"].rpartition("--")[2] in call("list", "--out", str(tmp_path)).stdout
    models = {row["model"]: row for row in json.loads(call("models", "--json").stdout)}
    assert {"majority", "baseline", "replay:FILE"} <= set(models)
    assert models["baseline"]["settings"] == {"model": ""}


def test_runs_that_look_alike_are_listed_with_what_differs(tmp_path: Path) -> None:
    model = ("--model", "char-linear", "--tasks", "mini-ja-nli", "--out", str(tmp_path))
    call(*model, "--set", "longest=2")
    call(*model, "--set", "longest=1")
    shown = call("list", "--out", str(tmp_path)).stdout
    assert "longest=1" in shown
    assert "longest=2" in shown


def test_removing_asks_for_a_yes(tmp_path: Path) -> None:
    call(*MINI, "--out", str(tmp_path))
    (path,) = tmp_path.iterdir()
    assert "pass --yes" in call("remove", path.name, "--out", str(tmp_path)).stdout
    assert path.exists()
    assert "1 run removed" in call("remove", path.name, "--out", str(tmp_path), "--yes").stdout
    assert not path.exists()


def test_two_runs_are_told_apart(tmp_path: Path) -> None:
    call(*MINI, "--seeds", "2", "--out", str(tmp_path))
    a, b = sorted(path.name for path in tmp_path.iterdir())
    shown = call("diff", a, b, "--out", str(tmp_path)).stdout
    assert "seed" in shown
    assert "accuracy" in shown


def start(out: Path, workers: int) -> subprocess.Popen[bytes]:
    words = [
        "run",
        "--model",
        "majority",
        "--tasks",
        "mini-ja-nli,mini-ja-sts",
        "--seeds",
        "50",  # still under way when the signal arrives, also on a busy machine
        "--quiet",
    ]
    command = [sys.executable, "-c", "from nikawa.cli import main; main()", *words]
    where = ["--out", str(out), "--workers", str(workers)]
    return subprocess.Popen([*command, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def same(out: Path) -> dict[str, bytes]:
    found = (p for p in out.rglob("*") if p.is_file() and p.name not in ("about.json", "lock"))
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_everything_to_go_on_with(
    tmp_path: Path, sent: signal.Signals
) -> None:
    out, end = tmp_path / "out", time.monotonic() + 60
    process = start(out, 2)
    while not list(out.glob("*/done.json")) and time.monotonic() < end:
        time.sleep(0.002)
    os.kill(process.pid, sent)
    _, said = process.communicate(timeout=300)
    assert process.returncode == (130 if sent == signal.SIGINT else -sent)
    assert b"Traceback" not in said
    assert (b"the same command to resume" in said) == (sent == signal.SIGINT)
    marked = {path: path.stat().st_mtime_ns for path in out.glob("*/done.json")}
    assert 0 < len(marked) < 100
    words = (
        "--model",
        "majority",
        "--tasks",
        "mini-ja-nli,mini-ja-sts",
        "--seeds",
        "50",
        "--workers",
        "1",
    )
    assert "100 runs done" in call(*words, "--out", str(tmp_path / "whole")).stdout
    assert f"{100 - len(marked)} runs done" in call(*words, "--out", str(out)).stdout
    assert same(out) == same(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in marked.items())


def test_an_output_that_nobody_reads_ends_it_quietly(tmp_path: Path) -> None:
    words = [
        "run",
        "--model",
        "majority",
        "--tasks",
        "mini-ja-nli",
        "--seeds",
        "2",
        "--workers",
        "2",
        "--out",
        str(tmp_path),
    ]
    command = [sys.executable, "-c", "from nikawa.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode in (141, -signal.SIGPIPE)
    assert b"Traceback" not in said
    assert len(list(tmp_path.glob("*/done.json"))) == 2


def test_few_examples_are_said_to_have_no_interval(tmp_path: Path) -> None:
    said = call(*MINI, "--out", str(tmp_path)).output
    assert "(—)" in said
    assert (
        "—: With fewer than 10 examples (or groups of examples), there is no confidence interval."
        in said
    )
