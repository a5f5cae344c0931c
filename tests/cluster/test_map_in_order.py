"""One ordered map over chunks on two nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from tests.cluster.nodes import TestCluster

from nikawa.cleaning.duplicates import SlotTable
from nikawa.errors import BadInput
from nikawa.execute import (
    ExecuteOptions,
    FunctionWithFiles,
    Resources,
    WorkProgress,
    ray_keep,
    ray_map,
)
from nikawa.execute.ordered import keep_states, map_in_order
from nikawa.execute.ray_connection import import_ray


def square(number: int) -> int:
    return number * number


def fail_at(number: int, bad: int) -> int:
    if number == bad:
        raise BadInput(f"{number} is bad")
    return number


def node_of(_: int) -> str:
    time.sleep(0.1)  # long enough that one node cannot take them all
    return os.environ["NIKAWA_NODE_DIR"]


@pytest.mark.slow
def test_chunks_on_two_nodes(cluster: TestCluster) -> None:
    progress: list[WorkProgress] = []
    where = ExecuteOptions("ray", address=cluster.address, on_progress=progress.append)
    read: list[int] = []

    def chunks() -> Iterator[int]:
        for number in range(30):
            read.append(number)
            yield number

    results = map_in_order(square, chunks(), where, ahead=2)
    assert next(results) == 0
    assert len(read) == 4  # two nodes with one CPU each, two chunks ahead
    assert [0, *results] == [n * n for n in range(30)]
    assert {each.nodes for each in progress} == {2}
    with pytest.raises(BadInput, match="3 is bad"):
        list(map_in_order(partial(fail_at, bad=3), range(10), where))
    assert len(set(map_in_order(node_of, range(6), where))) == 2


def test_a_chunk_that_no_node_has_room_for_is_refused(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_map, "NODE_PATIENCE_SECONDS", 0.1)
    where = ExecuteOptions("ray", resources=Resources(cpus=3), address=cluster.address)
    with pytest.raises(BadInput, match="no node of the cluster has 3 CPU; start one"):
        list(map_in_order(square, range(3), where))


def make_reader(files: Mapping[str, Path]) -> Callable[[int], str]:
    own, folder = files["words"], files["folder"]
    text = own.read_text("utf-8") + (folder / "more" / "b.txt").read_text("utf-8")
    return lambda number: f"{text}{number} {own.name}"


@pytest.mark.slow
def test_files_travel_once_to_each_node(cluster: TestCluster, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("犬", "utf-8")
    (tmp_path / "folder" / "more").mkdir(parents=True)
    (tmp_path / "folder" / "more" / "b.txt").write_text("猫", "utf-8")
    files = {"words": tmp_path / "words.txt", "folder": tmp_path / "folder"}
    function = FunctionWithFiles(make_reader, files)
    expected = [f"犬猫{number} words.txt" for number in range(6)]
    assert list(map_in_order(function, range(6))) == expected
    where = ExecuteOptions("ray", address=cluster.address)
    assert list(map_in_order(function, range(6), where)) == expected
    for node in cluster.folder.iterdir():
        assert len(list(node.glob("contents/*/words.txt"))) <= 1


def leave_mark(number: int) -> tuple[int, bytes]:
    """The result is so long that Ray keeps it on the node until it is taken."""
    time.sleep(0.05)
    folder = Path(os.environ["NIKAWA_NODE_DIR"])
    (folder / f"mark-{number}-{os.getpid()}").touch()
    return number, bytes(200_000)


@pytest.mark.slow
def test_a_node_that_dies_costs_what_it_had_not_sent(
    cluster: TestCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    doomed = cluster.add_node()
    cluster.cluster.wait_for_nodes()
    where = ExecuteOptions("ray", address=cluster.address)
    table = partial(SlotTable, 1, 4)
    with keep_states([table] * 3, where) as keepers:
        for number, keeper in enumerate(keepers):  # one on each node
            keeper.tell("take_over", np.array([[number]]), np.array([[7]], np.uint32))
            assert keeper.ask("look_up", np.array([[number]]))().tolist() == [[7]]
        results = map(itemgetter(0), map_in_order(leave_mark, range(40), where))
        received = [next(results) for _ in range(10)]
        time.sleep(1)  # results wait on the node
        cluster.kill_node(doomed)
        assert [*received, *results] == list(range(40))
        for number, keeper in enumerate(keepers):
            assert keeper.ask("look_up", np.array([[number]]))().tolist() == [[7]]
    # Ray lists a dead node as alive for a moment, so a table may be started there once more
    assert sum(vars(keeper)["losses"] > 0 for keeper in keepers) == 1
    for number in received:
        assert len(list(cluster.folder.glob(f"*/mark-{number}-*"))) == 1
    assert capfd.readouterr().err == ""  # Ray itself would announce that it recovers what was lost


@pytest.mark.slow
def test_a_state_that_was_stored_comes_back(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_keep, "BYTES_KEPT", 40)  # two calls: 24 bytes each
    where = ExecuteOptions("ray", address=cluster.address)
    with keep_states([partial(SlotTable, 2, 8)], where) as (keeper,):
        for slot in range(5):
            keeper.tell("take_over", np.array([[slot, 7 - slot]]), np.array([[9, 4]], np.uint32))
        before = keeper.ask("dump")()
        import_ray().kill(keeper.actor)  # type: ignore[attr-defined]
        assert keeper.ask("dump")() == before
        assert keeper.ask("look_up", np.array([[4, 3]]))().tolist() == [[9, 4]]
