"""The executor of a Ray cluster with plain work: resources, and processes that are killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cluster.nodes import TestCluster

from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions, Killed, Resources, ray_connection
from nikawa.execute.ray_cluster import RayExecutor
from nikawa.execute.ray_connection import check_address

Nikawa = Callable[..., CompletedProcess[str]]


def see_machine(_: int) -> tuple[str, str, str]:
    return (
        os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        os.environ["OMP_NUM_THREADS"],
        Path.cwd().parent.parent.name,
    )


def kill_itself(item: int) -> int:
    if item:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.slow
def test_items_get_the_resources_they_take(cluster: TestCluster) -> None:
    resources = Resources(cpus=0.25, gpus=0.25)
    options = ExecuteOptions("ray", threads=3, resources=resources, address=cluster.address)
    assert set(RayExecutor(see_machine, options).submit(range(4))) == {("0", "3", "node-0")}


@pytest.mark.slow
def test_an_item_that_kills_its_process_is_tried_four_times(cluster: TestCluster) -> None:
    options = ExecuteOptions("ray", address=cluster.address)
    results = list(RayExecutor(kill_itself, options).submit([0, 1]))
    assert 0 in results
    (killed,) = [result for result in results if isinstance(result, Killed)]
    assert killed.item == 1
    assert killed.problem.startswith("its process on the node ended")
    assert "4 times" in killed.problem


@pytest.mark.slow
def test_a_node_of_another_version_is_refused_before_anything_runs(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray_connection.check_versions(ray_connection.import_ray())
    monkeypatch.setattr(ray_connection, "__version__", "9.9")
    message = (
        r"the node 127\.0\.0\.1 has nikawa [\d.]+, and the command runs 9\.9; install nikawa 9\.9"
    )
    with pytest.raises(BadInput, match=message):
        ray_connection.check_versions(ray_connection.import_ray())


def test_without_ray_one_line_says_how_to_install_it(
    nikawa: Nikawa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("--model", "majority", "--tasks", "mini-ja-nli", "--out", str(tmp_path / "runs"))
    ran = nikawa("run", *words, "--executor", "ray")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "the package 'ray' is not installed; run: " in ran.stderr
    assert "[cluster]'" in ran.stderr


def test_an_address_without_a_cluster_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match=r"there is no Ray cluster at 127\.0\.0\.1:9; start one"):
        check_address("127.0.0.1:9")
    with pytest.raises(BadInput, match="there is no Ray cluster at nonsense; start one"):
        check_address("nonsense")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--address", "auto"), "--address needs an executor with machines of its own"),
        (("--cpus-per-run", "2"), "--cpus-per-run needs an executor with machines of its own"),
        (("--executor", "ray", "--cpus-per-run", "-1"), "--cpus-per-run -1 is not an amount"),
        (("--executor", "ray", "--gpus-per-run", "1.5"), "1.5 is not a number of GPUs"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    nikawa: Nikawa, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    out = ("--out", str(tmp_path / "runs"))
    ran = nikawa("run", "--model", "majority", "--tasks", "mini-ja-nli", *out, *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
