"""An interruption keeps the state; a second one ends at once; none is heard where none can be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nikawa.pretrain.checkpoint import read_progress
from nikawa.pretrain.training import TrainingInterrupt, catch_interrupts, train


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_training_keeps_its_state_and_goes_on(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    def press(_what: str, done: int, _total: int | None) -> None:
        if done >= 3:
            signal.raise_signal(signal.SIGINT)

    course = course_of(steps=12, state=tmp_path)
    with pytest.raises(
        TrainingInterrupt,
        match=r"^stopped at step \d+ of 12; run the same command again to resume$",
    ):
        train(replace(course, on_progress=press))
    marks = read_progress(tmp_path)
    assert marks is not None
    assert 3 <= marks.done < 12
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed, whole = train(course), train(course_of(steps=12))
    both = zip(resumed.model.state_dict().values(), whole.model.state_dict().values(), strict=True)
    assert all(bool((one == other).all()) for one, other in both)


def test_a_second_interruption_ends_at_once() -> None:
    with catch_interrupts() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        assert asked()
        with pytest.raises(KeyboardInterrupt) as ended:
            signal.raise_signal(signal.SIGINT)
    assert not isinstance(ended.value, TrainingInterrupt)


def test_a_training_without_a_state_is_interrupted_as_ever(course_of: Callable[..., Any]) -> None:
    def press(_what: str, _done: int, _total: int | None) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as ended:
        train(replace(course_of(steps=3), on_progress=press))
    assert not isinstance(ended.value, TrainingInterrupt)


def test_ignored_interruptions_stay_ignored_and_other_threads_train_too() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with catch_interrupts() as asked:
        signal.raise_signal(signal.SIGINT)
        assert not asked()
    heard: list[bool] = []

    def elsewhere() -> None:
        with catch_interrupts() as asked:
            heard.append(asked())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert heard == [False]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_the_command_says_where_it_stopped(tmp_path: Path) -> None:
    lines = [
        f"{n}番の灯台守は{what}。"
        for n in range(300)
        for what in ("海を見た", "灯をともした", "眠った")
    ]
    (tmp_path / "corpus.txt").write_text("\n".join(lines), "utf-8")
    words = [
        sys.executable,
        "-c",
        "from nikawa.cli import main; main()",
        "pretrain",
        "corpus.txt",
        "--language",
        "ja",
        "--tokenizer",
        "subwords",
        "--vocabulary",
        "500",
        "--size",
        "tiny",
        "--steps",
        "100000",
        "--threads",
        "1",
        "--device",
        "cpu",
        "--out",
        "o",
    ]
    child = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("Plan: 100,000 steps of 2,048 tokens"):
            break
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=300)
    assert child.returncode == 130, error
    assert re.search(
        r"^nikawa: stopped at step [\d,]+ of 100,000; run the same command again to resume$",
        error,
        re.MULTILINE,
    )
    assert (tmp_path / "o" / "work" / "state" / "state.safetensors").is_file()
