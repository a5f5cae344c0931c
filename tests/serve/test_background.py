"""Figures that take long: nobody waits for newer ones, and a fault leaves the last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from threading import Event, current_thread, main_thread
from typing import Any

import pytest

from nikawa.serve import background
from nikawa.serve.background import Figures, LatestFigures


def until(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not done():
        assert time.monotonic() < ends
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "FIRST_FIGURES_SECONDS", 0.05)


class Slow:
    """Takes as long as it is told to."""

    def __init__(self) -> None:
        self.go, self.calls = Event(), 0

    def __call__(self) -> int:
        assert current_thread() is not main_thread()
        assert self.go.wait(60)
        self.calls += 1
        return self.calls


def ask(
    kept: LatestFigures, make: Callable[[], Any], name: str = "a", seconds: float = 0.0
) -> Figures:
    found = asyncio.run(kept.get(name, seconds, make))
    return Figures(found.value, found.at, found.working)


def test_the_last_figures_come_at_once() -> None:
    times = iter((100.0, 200.0))
    kept, slow = LatestFigures(lambda: next(times)), Slow()
    first, again = ask(kept, slow), ask(kept, slow)
    assert (
        (first.value, first.at, first.working)
        == (again.value, again.at, again.working)
        == (None, None, True)
    )
    slow.go.set()
    until(lambda: slow.calls == 1 and not kept._figures["a"].working)
    slow.go.clear()
    kept._figures["a"].fresh_until = 0.0
    old = ask(kept, slow, seconds=60)
    assert (old.value, old.at, old.working) == (1, 100.0, True)
    slow.go.set()
    until(lambda: not kept._figures["a"].working)
    new = ask(kept, slow)
    assert (new.value, new.at, slow.calls) == (2, 200.0, 2)


def test_what_is_quick_is_there_the_first_time() -> None:
    found = ask(LatestFigures(lambda: 7.0), lambda: {"n": 3}, seconds=60)
    assert (found.value, found.at) == ({"n": 3}, 7.0)


def test_figures_are_not_computed_more_often_than_asked_for() -> None:
    kept, slow = LatestFigures(), Slow()
    slow.go.set()
    for _ in range(5):
        ask(kept, slow, seconds=60)
    assert slow.calls == 1


def test_one_after_the_other() -> None:
    kept, busy, other = LatestFigures(), Slow(), Slow()
    other.go.set()
    ask(kept, busy, "busy")
    ask(kept, other, "other")
    assert other.calls == 0
    busy.go.set()
    until(lambda: other.calls == 1)


def test_a_fault_leaves_the_last_figures(caplog: pytest.LogCaptureFixture) -> None:
    kept = LatestFigures(lambda: 1.0)

    def fails() -> None:
        raise RuntimeError("out of luck")

    ask(kept, lambda: 5)
    until(lambda: not kept._figures["a"].working)
    kept._figures["a"].fresh_until = 0.0
    ask(kept, fails)
    until(lambda: not kept._figures["a"].working)
    assert (kept._figures["a"].value, kept._figures["a"].at) == (5, 1.0)
    assert "figures of the dashboard could not be computed" in caplog.text
