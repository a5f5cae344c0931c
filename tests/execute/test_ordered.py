"""One ordered map over chunks."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from functools import partial

import pytest
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.execute.ordered import map_in_order
from nikawa.io.json import encode_json
from nikawa.records import Example


def square(number: int) -> int:
    time.sleep(0.02 if number % 3 == 0 else 0)  # later chunks are done first
    return number * number


def fail_at(number: int, bad: int) -> int:
    if number == bad:
        raise BadInput(f"{number} is bad")
    return number


def process_id(_: int) -> int:
    return os.getpid()


def test_an_example_that_travelled_has_the_same_json() -> None:
    example = Example(id="1", inputs={"text": "犬"})
    assert encode_json(pickle.loads(pickle.dumps(example))) == encode_json(example)
    tagged = replace(example, tags=frozenset({"negation"}))
    assert pickle.loads(pickle.dumps(tagged)) == tagged


def test_here() -> None:
    assert list(map_in_order(square, range(5), 1)) == [0, 1, 4, 9, 16]


@pytest.mark.slow
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_results_are_in_order_whatever_the_workers(start: str) -> None:
    assert list(map_in_order(square, range(20), 2, start=start)) == [n * n for n in range(20)]  # type: ignore[arg-type]


@pytest.mark.slow
def test_it_reads_no_further_ahead_than_it_may() -> None:
    read: list[int] = []

    def chunks() -> Iterator[int]:
        for number in range(50):
            read.append(number)
            yield number

    results = map_in_order(square, chunks(), 2, ahead=2)
    assert next(results) == 0
    assert len(read) == 4
    assert next(results) == 1
    assert len(read) == 5
    results.close()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_other_processes_do_the_work_and_errors_come_back() -> None:
    assert os.getpid() not in set(map_in_order(process_id, range(4), 2))
    with pytest.raises(BadInput, match="3 is bad"):
        list(map_in_order(partial(fail_at, bad=3), range(10), 2))
