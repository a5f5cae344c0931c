"""Processes that help end with the one that started them; one that is killed is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.io import processes
from nikawa.io.processes import process_pool

PARENT = """
import os, time
from nikawa.io.processes import process_pool
if __name__ == "__main__":
    with process_pool(2) as pool:
        print(*{found.result() for found in [pool.submit(os.getpid) for _ in range(50)]}, flush=True)
        time.sleep(60)
"""


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


@pytest.mark.slow
def test_they_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    started = [Path("/proc") / word for word in parent.stdout.readline().split()]
    assert started
    parent.kill()
    parent.communicate()
    assert within(50, lambda: not any(_alive(process) for process in started))


def _alive(process: Path) -> bool:
    try:
        return " Z " not in (process / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_one_that_was_killed_is_told_in_a_line() -> None:
    with (
        pytest.raises(
            BadInput, match=r"a process was killed, .*; run the same command again with fewer"
        ),
        process_pool(1) as pool,
    ):
        pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL).result()


def test_a_program_of_its_own_looks_for_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(processes, "PARENT_POLL_SECONDS", 0.001)
    monkeypatch.setattr(os, "_exit", ended.append)
    processes.end_with_parent()
    time.sleep(0.01)
    assert ended == []
    monkeypatch.setattr(os, "getppid", lambda: -1)
    assert within(60, lambda: ended == [1])
