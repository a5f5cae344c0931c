"""Minutes on a processor: measured by little work, planned with the looks, corrected once, and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.pretrain.checkpoint import read_progress
from nikawa.pretrain.evaluation import MAX_TOKENS_ON_CPU, HeldoutEvaluator
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.steps import FIRST_TIMED_TOKENS, TrainingSteps
from nikawa.pretrain.training import MAX_DEVIATION, MAX_RESTART_SHARE, RESERVED_SHARE, Budget, train

MINUTE = TrainSettings(minutes=1, lengths=((128, 0.5), (512, 0.5)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time it is."""
    now = [0.0]
    monkeypatch.setattr("nikawa.pretrain.training.time.perf_counter", lambda: now[0])
    return now


def test_steps_and_looks_share_the_minutes(clock: list[float]) -> None:
    plain = Budget(MINUTE, 0.0, {128: 0.1, 512: 0.3})
    assert plain.steps() == int(60 * (1 - RESERVED_SHARE) / 0.2)
    assert plain.evaluations() == MINUTE.looks
    slow = Budget(MINUTE, 0.0, {128: 0.1, 512: 0.3}, evaluation_seconds=2.0)
    assert slow.evaluations() == 3
    assert slow.steps() == int((60 * (1 - RESERVED_SHARE) - 3 * 2.0) / 0.2)
    assert Budget(MINUTE, 0.0, slow.step_seconds, evaluation_seconds=99.0).evaluations() == 1
    clock[0] = 59.0
    assert plain.steps() == 0


def test_a_plan_is_corrected_by_steps_that_took_another_time(clock: list[float]) -> None:
    budget = Budget(MINUTE, 0.0, {128: 0.1, 512: 0.3}, evaluation_seconds=2.0)
    assert budget.correct(128, 1.0 + MAX_DEVIATION / 2, 10) is None
    assert budget.correct(128, 60 * MAX_RESTART_SHARE + 1, 10) is None, (
        "too much would be thrown away"
    )
    better = budget.correct(128, 2.0, 10)
    assert better is not None
    assert better.step_seconds == {128: pytest.approx(0.2), 512: pytest.approx(0.6)}
    assert better.evaluation_seconds == pytest.approx(4.0)


def test_a_large_batch_is_measured_by_few_windows(
    course_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int | None] = []
    work = TrainingSteps._learn

    def counted(self: TrainingSteps, length: int, count: int | None = None) -> None:
        rows.append(count and count * length)
        work(self, length, count)

    monkeypatch.setattr(TrainingSteps, "_learn", counted)
    learned = train(course_of(minutes=1e-6, looks=1, batch=4_096))
    assert rows == [
        FIRST_TIMED_TOKENS,
        FIRST_TIMED_TOKENS,
        FIRST_TIMED_TOKENS,
        FIRST_TIMED_TOKENS,
        None,
    ], "two lengths, each once to warm up and once for its time"
    assert learned.steps == 1


def test_a_plan_that_was_far_off_is_made_anew_and_the_steps_make_the_same_model(
    course_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainingSteps, "_time_within", lambda *_: 0.2)
    monkeypatch.setattr("nikawa.pretrain.training.CHECKED_SHARE", 0.0)
    monkeypatch.setattr("nikawa.pretrain.training.MAX_RESTART_SHARE", 1.0)
    said: list[str] = []
    learned = train(replace(course_of(minutes=0.02, looks=1), heldout=None, on_note=said.append))
    assert "times as long as measured; the training starts over" in said[1]
    plans = [int(line.split()[1].replace(",", "")) for line in said if line.startswith("Plan: ")]
    assert plans[0] <= 5 < plans[1] == learned.steps
    again = train(replace(course_of(steps=learned.steps, looks=1), heldout=None))
    both = zip(learned.model.state_dict().values(), again.model.state_dict().values(), strict=True)
    assert all(bool((one == other).all()) for one, other in both)
    assert [entry["loss"] for entry in learned.figures.history] == [
        entry["loss"] for entry in again.figures.history
    ]


def test_few_looks_where_they_take_long_and_a_state_that_knows_how_many(
    course_of: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        TrainingSteps, "_time_within", lambda *_: 0.05
    )  # a look by that: 0.07 s of 1.2
    monkeypatch.setattr("nikawa.pretrain.training.CHECKED_SHARE", 9.0)
    learned = train(course_of(minutes=0.02, looks=10, state=tmp_path))
    marks = read_progress(tmp_path)
    assert marks is not None
    assert marks.looks == len(learned.figures.history) < 10


def test_less_is_looked_at_on_a_processor(
    course_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_TOKENS_ON_CPU < 1 << 18
    monkeypatch.setattr("nikawa.pretrain.evaluation.MAX_TOKENS_ON_CPU", 300)
    seen: list[int] = []
    look = HeldoutEvaluator.evaluate

    def counted(self: HeldoutEvaluator, length: int) -> tuple[float, float]:
        seen.append(len(self.stream))
        return look(self, length)

    monkeypatch.setattr(HeldoutEvaluator, "evaluate", counted)
    train(course_of(steps=1, looks=1))
    assert seen == [300]


def test_what_the_figures_say_of_rate_and_threads(course_of: Callable[..., Any]) -> None:
    import torch

    figures = train(replace(course_of(steps=1), threads=2)).figures
    assert figures.settings.learning_rate == 1e-2
    assert figures.threads == 2
    assert torch.get_num_threads() == 1, "put back"
    assert train(course_of(steps=1)).figures.threads == 1


def test_the_number_of_threads_is_no_part_of_what_a_state_is_known_by(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    course = course_of(steps=2, state=tmp_path)
    first = train(course)
    done = train(
        replace(course, threads=2, on_progress=lambda *_: pytest.fail("there was something to do"))
    )
    assert msgspec.structs.replace(done.figures, threads=1) == first.figures
