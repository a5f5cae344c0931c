"""One ordered map over chunks on two nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

import pytest
from tests.cluster.nodes import TestCluster

from nikawa.errors import BadInput
from nikawa.execute import ExecuteOptions, WorkProgress
from nikawa.execute.ordered import map_in_order


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
