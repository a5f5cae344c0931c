"""One run at a time writes a folder, and its workers do not outlive it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.generation.job import GenerateOptions, generate
from nikawa.io.locks import lock_folder

FEW = GenerateOptions(counts={"": 1, "test": 0})
RUN = """
import os, sys, time
from pathlib import Path
from nikawa.generation.job import GenerateOptions, generate
def tell(done, total):
    print(done, flush=True)
    time.sleep(60)
generate("comparative-ja", Path(sys.argv[1]), options=GenerateOptions(counts={"": 200}, workers=2, chunk=100), on_progress=tell)
"""


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "a", busy=BadInput("busy"), misplaced=BadInput("misplaced")):
        with pytest.raises(
            BadInput, match=r"a: another run is writing into this folder; wait until it ends"
        ):
            generate("comparative-ja", tmp_path / "a", options=FEW)
        generate("comparative-ja", tmp_path / "b", options=FEW)
    assert not (tmp_path / "a").exists()
    generate("comparative-ja", tmp_path / "a", options=FEW)
    assert (tmp_path / "a" / "train.jsonl").read_bytes() == (
        tmp_path / "b" / "train.jsonl"
    ).read_bytes()


def test_a_refused_run_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        generate("no-such-pack", tmp_path / "a")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(BadInput, match="is a file, not a folder"):
            generate("comparative-ja", place, options=FEW)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_die_with_a_killed_run(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline()
        children = _children(run.pid)
        assert len(children) == 2
        with pytest.raises(BadInput, match="another run"):
            generate("comparative-ja", tmp_path / "a", options=FEW)
        run.kill()
    assert _soon(lambda: not any(map(_runs, children)))
    assert _soon(lambda: _free(tmp_path / "a")), "the lock goes with the last of them"
    options = GenerateOptions(counts={"": 200}, chunk=100)
    generate("comparative-ja", tmp_path / "a", options=options)
    assert not list((tmp_path / "a").glob(".*"))


def _free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    """Whether a process is there and no mere entry that nobody has asked for."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _soon(test: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not test() and time.monotonic() < until:
        time.sleep(0.02)
    return test()
