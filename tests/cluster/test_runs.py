"""Sweeps on a real cluster of two nodes, against the same sweeps on this machine."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cluster.counting import COUNTS_VARIABLE, count_runs
from tests.cluster.desk import write_dataset
from tests.cluster.nodes import TestCluster

from nikawa.execute import WorkProgress
from nikawa.models import models
from nikawa.runs.job import RunOptions, run
from nikawa.runs.request import RunRequest

Nikawa = Callable[..., CompletedProcess[str]]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands begin in; nodes cannot read it."""
    folder = tmp_path / "desk"
    folder.mkdir()
    write_dataset(folder)
    monkeypatch.chdir(folder)
    return folder


def read_results(out: Path) -> dict[str, bytes]:
    """The files of runs that have the same bytes each time."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in ("about.json", "lock")
    }


@pytest.mark.slow
def test_a_sweep_has_the_bytes_of_a_local_one(
    desk: Path, cluster: TestCluster, nikawa: Nikawa
) -> None:
    """A custom dataset and a file of answers by relative paths; the default --out.

    `tests/runs/test_errands.py` sends a checkpoint, and `make soak` sends one to these nodes: they would load torch here.
    """
    words = ["--tasks", "mine", "--threads", "1", "--json"]
    words += ["--model", "char-linear", "--model", "other=replay:answers.jsonl"]
    here = nikawa("run", *words, "--workers", "1", "--out", "here")
    assert here.returncode == 0, here.stderr
    there = nikawa("run", *words, "--executor", "ray", "--address", cluster.address)
    assert there.returncode == 0, there.stderr
    results = read_results(desk / "here")
    assert len(results) == 2 * 4  # done, run, scores, predictions
    assert read_results(desk / "runs") == results
    reports = [json.loads(ran.stdout) | {"out": ""} for ran in (here, there)]
    assert reports[0] == reports[1]
    for about in desk.glob("runs/*/about.json"):
        assert str(cluster.folder) not in about.read_text("utf-8")
    # each node has at most one copy of the file, and nothing is left of the runs
    nodes = [folder for folder in cluster.folder.iterdir() if (folder / "work").is_dir()]
    assert nodes
    for node in nodes:
        assert len(list(node.glob("contents/*/answers.jsonl"))) <= 1
        assert list((node / "work").iterdir()) == []


def test_a_cluster_with_gpus_asks_which_share_a_model_gets(
    desk: Path, cluster: TestCluster, nikawa: Nikawa
) -> None:
    (desk / "models" / "tiny").mkdir(parents=True)
    config = {"model_type": "bert", "hidden_size": 8}
    (desk / "models" / "tiny" / "config.json").write_text(json.dumps(config), "utf-8")
    words = ("--model", "encoder:models/tiny", "--tasks", "mine", "--executor", "ray")
    refused = nikawa("run", *words, "--address", cluster.address)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "pass --gpus-per-run 1, a share of one such as 0.25, or 0 to use CPUs" in refused.stderr
    assert not list(desk.glob("runs/*/done.json"))


@pytest.mark.slow
def test_a_run_that_fails_costs_only_itself(desk: Path, cluster: TestCluster) -> None:
    (desk / "broken.jsonl").write_text('{"id": "test-0", "answer": \n', "utf-8")
    progress: list[WorkProgress] = []
    request = RunRequest(("mine",), ("replay:broken.jsonl", "majority"), seeds=(0, 1))
    options = RunOptions(executor="ray", address=cluster.address, on_work=progress.append)
    report = run(request, options)
    assert report.done == 2
    assert [problem.bad_input for problem in report.problems] == [True, True]
    assert report.problems[0].problem.startswith("broken.jsonl, line 1")
    assert (progress[0].nodes, progress[0].total) == (2, 4)
    assert not list((desk / "runs").glob("*broken*"))
    assert run(request, options).skipped == 2


@pytest.mark.slow
def test_a_command_prints_nothing_but_its_report(
    desk: Path, cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a model of another package, which notes its runs: none that is finished is done again."""
    words = ["run", "--model", "counted", "--tasks", "mine", "--json", "--executor", "ray"]
    path = os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(cluster.plugins)))
    environment = {**os.environ, "PYTHONPATH": path, COUNTS_VARIABLE: str(desk / "none")}
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, "-m", "nikawa", *words, "--seeds", "2"]
    ran = subprocess.run(
        [*command, "--address", cluster.address],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["done"] == 2
    monkeypatch.syspath_prepend(str(cluster.plugins))
    (kind,) = importlib.import_module("counted_model").MODELS
    monkeypatch.setitem(models()._things, "counted", kind)
    options = RunOptions(executor="ray", address=cluster.address)
    report = run(RunRequest(("mine",), ("counted",), seeds=(0, 1, 2)), options)
    assert (report.done, report.skipped) == (1, 2)
    assert len(list((desk / "runs").glob("*/done.json"))) == 3
    begun, ended = count_runs(cluster.counts)
    assert begun == ended == {0: 1, 1: 1, 2: 1}
    assert not (desk / "none").exists()  # nothing was done in the process of the command
