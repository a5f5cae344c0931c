"""Runs on another machine, without a cluster: a node is a folder, and what travels goes through pickle."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.desk import write_dataset
from tests.models.encoder.checkpoints import save_tiny

from nikawa.errors import MissingExtra, UnknownName
from nikawa.execute import ExecutorKind, executors
from nikawa.execute.base import Work
from nikawa.execute.contents import ContentSender, fetch_content
from nikawa.runs import Outcome, RunSpec
from nikawa.runs.errands import AnswerRun, RunErrand, RunWork, read_travelled_data
from nikawa.runs.job import RunOptions, RunReport, run
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest
from nikawa.runs.work import RunJob, RunPlace

Files = Callable[[Path], dict[str, bytes]]


class Node:
    """An executor whose only machine is a folder, which becomes the working directory."""

    def __init__(self, work: Work[Any, Any], folder: Path) -> None:
        self.work, self.folder = work, folder
        self.pieces: list[bytes] = []
        self.fetched: list[int] = []
        self.loses = 0
        """How many runs it loses before they are done."""

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        assert isinstance(self.work, RunWork)
        sender = ContentSender(self.put)
        for spec in runs:
            errand, outcome = self.work.prepare_errand(spec)
            if errand is None:
                assert outcome is not None
                yield outcome
                continue
            while True:
                errand.begin()
                files = {}
                for name, content in errand.contents.items():
                    sent = pickle.loads(pickle.dumps(sender.send(content)))
                    files[name], size = fetch_content(sent, self.folder, self.pieces.__getitem__)
                    self.fetched.append(size)
                own = self.folder / f"work-{len(self.fetched)}"
                own.mkdir()
                work = pickle.loads(pickle.dumps(errand.work))
                with chdir(own):
                    parts = pickle.loads(pickle.dumps(list(work(files, own))))
                for part in parts[:-1] if self.loses else parts:
                    errand.receive(part)
                if not self.loses:
                    break
                self.loses -= 1
            result = errand.finish()
            errand.close()
            yield result

    def put(self, piece: bytes) -> int:
        self.pieces.append(piece)
        return len(self.pieces) - 1


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[RunReport, Node]]:
    """Run a request on a fresh node."""
    made: list[Node] = []

    def run_there(request: RunRequest, out: str, **options: Any) -> tuple[RunReport, Node]:
        folder = tmp_path / f"node-{len(made)}"
        folder.mkdir()

        def make(work: Work[Any, Any], _options: Any) -> Node:
            made.append(Node(work, folder))
            made[-1].loses = loses
            return made[-1]

        loses = options.pop("loses", 0)
        kind = ExecutorKind("node", "a folder", make, is_cluster=True)
        monkeypatch.setitem(executors()._things, "node", kind)
        report = run(request, RunOptions(out=Path(out), executor="node", **options))
        return report, made[-1]

    return run_there


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that commands begin in, with a custom dataset and answers to its test set."""
    folder = tmp_path / "desk"
    folder.mkdir()
    write_dataset(folder)
    monkeypatch.chdir(folder)
    return folder


def test_a_sweep_has_the_bytes_of_a_local_one(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    request = RunRequest(
        ("mine",),
        ("baseline", "other=replay:answers.jsonl"),
        seeds=(0, 1),
        grid={"model": ("majority", "char-linear")},
    )
    here = run(request, RunOptions(out=Path("here"), workers=1))
    there, node = nodes(request, "runs")
    assert (there.done, there.problems) == (here.done, ())
    assert there.cells == here.cells
    assert files(desk / "runs") == files(desk / "here")
    # the file of answers, the data that chooses, the data that is learned from, and the data without training travel once
    # for all seeds and settings
    assert len([size for size in node.fetched if size]) == 4
    assert not list((desk / "runs").glob("*/state"))


@pytest.mark.slow
def test_a_checkpoint_travels_by_content(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    pytest.importorskip("transformers")
    save_tiny(desk / "models" / "tiny", set("番目の犬が庭を走る。猫鳥traindevtest0123456789"))
    settings = {"epochs": 1, "device": "cpu", "learning_rate": 0.001}
    request = RunRequest(("mine",), ("encoder:models/tiny",), settings=settings)
    here = run(request, RunOptions(out=Path("here"), workers=1, threads=1))
    there, node = nodes(request, "runs", threads=1)
    assert (there.done, there.problems) == (here.done, ())
    assert files(desk / "runs") == files(desk / "here")
    assert len(list(node.folder.glob("contents/*/tiny/config.json"))) == 1
    (about,) = desk.glob("runs/*encoder*/about.json")
    assert str(node.folder) not in about.read_text("utf-8")


def test_a_registered_task_travels_like_a_custom_one(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    request = RunRequest(("mini-ja-nli",), ("majority",))
    run(request, RunOptions(out=Path("here"), workers=1))
    there, _ = nodes(request, "runs")
    assert (there.done, there.problems) == (1, ())
    assert files(desk / "runs") == files(desk / "here")


def test_folds_and_shares_have_the_bytes_of_local_ones(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    shutil.rmtree(desk / "mine")
    write_dataset(desk, {"test": 30})
    request = RunRequest(("mine",), ("char-linear",), shares=(0.5, 1.0), inputs=("hypothesis",))
    here = run(request, RunOptions(out=Path("here"), workers=1))
    there, _ = nodes(request, "runs", keep_state=True)
    assert (there.done, there.problems) == (here.done, ())
    kept = {name: data for name, data in files(desk / "runs").items() if "/state/" not in name}
    assert kept == files(desk / "here")
    assert list((desk / "runs").glob("*/state/*.jsonl"))


def test_a_run_that_fails_says_what_a_local_one_says(
    desk: Path, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    (desk / "broken.jsonl").write_text('{"id": "test-0", "answer": \n', "utf-8")
    request = RunRequest(("mine",), ("replay:broken.jsonl",))
    here = run(request, RunOptions(out=Path("here"), workers=1))
    there, _ = nodes(request, "runs")
    assert there.problems == here.problems
    assert "broken.jsonl" in there.problems[0].problem
    assert not list((desk / "runs").glob("mine*"))


@pytest.mark.parametrize("place", ["find_model", "RunJob.answer"])
def test_what_a_node_lacks_is_named_with_the_node(
    place: str,
    desk: Path,
    nodes: Callable[..., tuple[RunReport, Node]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lack(*_: object) -> None:
        if place == "find_model":
            raise UnknownName("there is no model 'majority'")
        raise MissingExtra("the package 'torch' is missing")

    call = AnswerRun.__call__

    def call_there(*arguments: Any) -> Iterator[Any]:
        with monkeypatch.context() as patch:
            patch.setattr(f"nikawa.runs.errands.{place}", lack)
            yield from call(*arguments)

    monkeypatch.setattr(AnswerRun, "__call__", call_there)
    there, _ = nodes(RunRequest(("mine",), ("majority",)), "runs")
    problem = there.problems[0].problem
    assert problem.startswith(f"on the node {socket.gethostname()}, the")
    assert problem.endswith("; install the same packages on every node")


def test_the_full_disk_of_a_node_is_not_taken_for_the_own_one(
    desk: Path, nodes: Callable[..., tuple[RunReport, Node]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIKAWA_NODE_DIR", str(desk.parent / "node-0"))

    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(Path.cwd() / "predictions"))

    monkeypatch.setattr(RunJob, "answer", fill)
    there, _ = nodes(RunRequest(("mine",), ("majority",)), "runs")
    assert "node-0: the node " in there.problems[0].problem
    assert "cannot write there: its disk is full; make room" in there.problems[0].problem
    assert "runs/mine" not in there.problems[0].problem


def test_what_a_node_sent_before_it_was_lost_is_forgotten(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    request = RunRequest(("mine",), ("char-linear",))
    run(request, RunOptions(out=Path("here"), workers=1))
    there, _ = nodes(request, "runs", loses=2)
    assert there.problems == ()
    assert there.done == 1
    assert files(desk / "runs") == files(desk / "here")


def test_answers_that_a_killed_run_left_are_only_scored(
    desk: Path, files: Files, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    request = RunRequest(("mine",), ("char-linear",))
    run(request, RunOptions(out=Path("here"), workers=1))
    nodes(request, "runs")
    for name in ("done.json", "scores.json"):
        next((desk / "runs").glob(f"*/{name}")).unlink()
    there, node = nodes(request, "runs")
    assert (there.done, node.fetched) == (1, [])
    assert files(desk / "runs") == files(desk / "here")


def open_errand(request: RunRequest, out: Path, **place: Any) -> RunErrand:
    (family,) = plan_runs(request).families
    (spec,) = family.runs(family.options[0])
    errand, outcome = RunWork(RunPlace(out, **place)).prepare_errand(spec)
    assert isinstance(errand, RunErrand), outcome
    errand.close()
    return errand


def test_gold_of_a_test_set_does_not_travel(desk: Path, tmp_path: Path) -> None:
    shutil.rmtree(desk / "mine")
    write_dataset(desk, hides=True)
    errand = open_errand(RunRequest(("mine",), ("char-linear",)), desk / "runs")
    packed = errand.contents[":data"].source
    assert isinstance(packed, bytes)
    (tmp_path / "data.json").write_bytes(packed)
    data = read_travelled_data(tmp_path / "data.json")
    answered = [example for examples in data.sets.values() for example in examples]
    assert answered
    assert not any(example.gold for example in answered)
    assert all(example.gold for example in data.train)
    assert b"stays at home" not in packed
    assert set(errand.contents) == {":data"}


def test_a_key_goes_only_with_a_model_that_reads_it(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "very-secret-1")
    monkeypatch.setenv("OTHER_KEY", "very-secret-2")
    settings = {
        "base_url": "http://127.0.0.1:1/v1",
        "key_env": "MY_KEY",
        "extra": {"api_key": "$OTHER_KEY"},
    }
    chat = RunRequest(("mine",), ("chat:small",), settings=settings)
    errand = open_errand(chat, desk / "runs", settings=settings)
    assert errand.work.environment == {"MY_KEY": "very-secret-1", "OTHER_KEY": "very-secret-2"}
    assert "very-secret" not in repr(errand.work)
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret-3")
    for name in ("majority", "replay:answers.jsonl"):
        other = open_errand(RunRequest(("mine",), (name,)), desk / "runs")
        assert b"very-secret" not in pickle.dumps(other.work)


def test_budgets_and_shared_replies_are_refused(
    desk: Path, nodes: Callable[..., tuple[RunReport, Node]]
) -> None:
    base = {"base_url": "http://127.0.0.1:1/v1", "price_in": 1, "price_out": 1}
    for name, value in (("budget", 5), ("cache", "replies")):
        request = RunRequest(("mine",), ("chat:small",), settings={**base, name: value})
        report, _ = nodes(request, "runs")
        assert "cannot share a" in report.problems[0].problem
        assert report.problems[0].bad_input


def test_results_that_are_elsewhere_are_reported(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An executor that works in another folder, and one that only claims to have worked."""

    class Elsewhere:
        def __init__(self, work: Work[Any, Any], _workers: int, _threads: int) -> None:
            self.work = work

        def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
            for spec in runs:
                with chdir(tmp_path):
                    outcome = pickle.loads(pickle.dumps(self.work))(spec)
                yield outcome

    class Claims(Elsewhere):
        def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
            return (Outcome(run=spec, status="done") for spec in runs)

    table = executors()._things
    monkeypatch.setitem(table, "elsewhere", ExecutorKind("elsewhere", "", Elsewhere))
    monkeypatch.setitem(table, "claims", ExecutorKind("claims", "", Claims))
    request = RunRequest(("mine",), ("majority", "replay:answers.jsonl"))
    claimed = run(request, RunOptions(executor="claims"))
    assert claimed.done == 0
    assert "its results are not in runs" in claimed.problems[0].problem
    done = run(request, RunOptions(executor="elsewhere"))
    assert (done.done, done.problems) == (2, ())
    assert len(list((desk / "runs").glob("*/done.json"))) == 2
