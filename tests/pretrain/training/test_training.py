from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.checkpoint import read_progress
from nikawa.pretrain.settings import SIZES
from nikawa.pretrain.training import train


class _Stopped(Exception):
    """What ends a training in the middle."""


def _stop_at(step: int) -> Callable[[str, int, int | None], None]:
    def tell(_what: str, done: int, _total: int | None) -> None:
        if done >= step:
            raise _Stopped

    return tell


def _equal(one: Any, other: Any) -> bool:
    import torch

    pairs = zip(one.model.state_dict().values(), other.model.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.slow
def test_a_training_learns_what_words_tell_of_others(course_of: Callable[..., Any]) -> None:
    told: list[str] = []
    course = replace(
        course_of(steps=90, looks=3),
        on_progress=lambda what, _done, _total: told.append(what),
    )
    learned = train(course)
    figures = learned.figures
    assert figures.heldout is not None
    assert figures.unigram is not None
    assert figures.heldout < 0.6 * figures.unigram
    assert figures.accuracy is not None
    assert figures.accuracy > 0.3
    assert [entry["step"] for entry in figures.history] == [30, 60, 90]
    losses = [entry["heldout"] for entry in figures.history]
    assert max(losses[1:]) < losses[0]  # after the first look it goes up and down, by processor
    assert figures.pieces == 90 * 256
    assert figures.steps == learned.steps == 90
    assert figures.share_of_peak is None
    assert "tokens/s" in told[-1]
    assert told[-1].startswith("training, loss ")


def test_the_same_seed_makes_the_same_weights_and_another_does_not(
    course_of: Callable[..., Any],
) -> None:
    first, again, other = (train(course_of(steps=4, seed=seed)) for seed in (3, 3, 4))
    assert _equal(first, again)
    assert not _equal(first, other)


@pytest.mark.parametrize("stop", [3, 9])
def test_a_stopped_training_goes_on_to_the_same_weights(
    course_of: Callable[..., Any], tmp_path: Path, stop: int
) -> None:
    whole = train(course_of(steps=12))
    course = course_of(steps=12, state=tmp_path / "state", checkpoint_seconds=0.0)
    with pytest.raises(_Stopped):
        train(replace(course, on_progress=_stop_at(stop)))
    seen: list[int] = []
    learned = train(replace(course, on_progress=lambda _what, done, _total: seen.append(done)))
    assert seen[0] > 1
    assert _equal(whole, learned)
    assert [e["heldout"] for e in learned.figures.history] == [
        e["heldout"] for e in whole.figures.history
    ]
    assert [e["loss"] for e in learned.figures.history] == pytest.approx(
        [e["loss"] for e in whole.figures.history]
    )
    finished = train(replace(course, on_progress=_stop_at(0)))  # nothing is left to do
    assert _equal(whole, finished)


TRAIN_UNTIL_KILLED = """
import os, pathlib, signal, sys
import msgspec, torch
from nikawa.pretrain.settings import SIZES, Size, TrainSettings
from nikawa.pretrain.training import TrainOptions, train
torch.set_num_threads(1)
def kill(_what, done, _total):
    if done >= 8:
        os.kill(os.getpid(), signal.SIGKILL)
size, settings = sys.argv[1:3]
SIZES["speck"] = msgspec.json.decode(size, type=Size)
settings = msgspec.json.decode(settings, type=TrainSettings)
*folders, state = map(pathlib.Path, sys.argv[3:])
train(TrainOptions(*folders, settings, state, on_progress=kill))
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_weights(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    whole: dict[str, Any] = {"steps": 20, "checkpoint_seconds": 0.0, "objective": "causal"}
    course = course_of(**whole, state=tmp_path)
    values = [msgspec.json.encode(each) for each in (SIZES["speck"], course.settings)]
    folders = [course.tokenizer, course.train, course.heldout, tmp_path]
    child = subprocess.run(
        [sys.executable, "-c", TRAIN_UNTIL_KILLED, *values, *folders], check=False
    )
    assert child.returncode == -signal.SIGKILL
    progress = read_progress(tmp_path)
    assert progress is not None
    assert 0 < progress.done < 20
    seen: list[int] = []
    learned = train(replace(course, on_progress=lambda _what, done, _total: seen.append(done)))
    assert min(seen) > progress.done
    assert _equal(train(course_of(**whole)), learned)


def test_minutes_become_steps_that_make_the_same_model(course_of: Callable[..., Any]) -> None:
    timed = train(course_of(minutes=0.02, looks=1))
    assert timed.steps >= 1
    assert timed.figures.settings.minutes == 0
    assert _equal(timed, train(course_of(steps=timed.steps, looks=1)))


def test_minutes_that_are_too_few_make_one_step_and_say_so(course_of: Callable[..., Any]) -> None:
    learned = train(course_of(minutes=1e-6, looks=1))
    assert learned.steps == 1
    assert learned.figures.notes == ["preparation used up all minutes; the training made one step"]


def test_a_kernel_without_a_repeatable_form_is_taken_all_the_same_and_noted(
    course_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from nikawa.pretrain import device
    from nikawa.pretrain.batches import mask_words

    def strict(*given: Any, **more: Any) -> Any:
        if (
            torch.are_deterministic_algorithms_enabled()
            and not torch.is_deterministic_algorithms_warn_only_enabled()
        ):
            raise RuntimeError("some_kernel does not have a deterministic implementation")
        return mask_words(*given, **more)

    monkeypatch.setattr("nikawa.pretrain.batches.mask_words", strict)
    with device.use_repeatable_kernels(True):
        learned = train(course_of(minutes=1e-6, looks=1))
    assert learned.figures.notes[0].startswith("not every GPU kernel is deterministic: some_kernel")
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


def test_a_state_of_another_training_is_not_taken_up(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    first = train(course_of(steps=3, state=tmp_path / "state"))
    other = train(course_of(steps=3, seed=1, state=tmp_path / "state"))
    assert not _equal(first, other)
    assert _equal(other, train(course_of(steps=3, seed=1)))


def test_a_damaged_state_is_told(course_of: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "state.safetensors").write_bytes(b"none of it")
    with pytest.raises(BadInput, match=r"state\.safetensors: the training state cannot be read"):
        train(course_of(state=tmp_path))


def test_a_loss_that_is_no_number_ends_the_training_and_keeps_the_state(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    course = course_of(
        steps=30, learning_rate=1e30, warmup=0.5, state=tmp_path, checkpoint_seconds=0.0
    )
    with pytest.raises(BadInput, match="the loss is not finite at step"):
        train(course)
    from safetensors.torch import load_file

    state = load_file(tmp_path / "state.safetensors")
    assert state["sum"].isfinite()


def test_a_full_disk_and_a_full_memory_are_told_in_one_line(
    course_of: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    course = course_of(steps=3, state=tmp_path / "state")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match=r"No space left on device.*state\.safetensors"):
            train(course)
    assert not list((tmp_path / "state").iterdir())

    def out(*_: object, **__: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("nikawa.pretrain.batches.mask_words", out)
    with pytest.raises(BadInput, match="out of memory; choose a smaller batch than 256 tokens"):
        train(course)


def test_a_device_that_is_not_there_is_told(course_of: Callable[..., Any]) -> None:
    with pytest.raises(BadInput, match=r"there is no device 'nowhere' to train on.*--device auto"):
        train(course_of(device="nowhere"))


def test_text_of_another_tokenizer_is_refused(
    course_of: Callable[..., Any], tmp_path: Path
) -> None:
    course = course_of()
    assert course.heldout is not None
    meta = (course.heldout / "pack.json").read_text(encoding="utf-8")
    told = msgspec.json.decode(meta) | {"tokenizer": "other"}
    (tmp_path / "pack.json").write_bytes(msgspec.json.encode(told))
    with pytest.raises(BadInput, match="packed with a different tokenizer than the training text"):
        train(replace(course, heldout=tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"train: was packed with another tokenizer; pass that tokenizer"
    ):
        train(replace(course, tokenizer=tmp_path))
    with pytest.raises(BadInput, match=r"tokenizer\.json: no such file"):
        train(replace(course, tokenizer=tmp_path / "nowhere"))


def test_a_compiler_that_fails_is_done_without_and_noted(
    course_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no working compiler\nmore")

    monkeypatch.setattr("torch.compile", lambda _part, **_: broken)
    learned = train(course_of(steps=3, compile="yes"))
    assert learned.figures.notes == ["a faster implementation failed: no working compiler"]
    assert _equal(learned, train(course_of(steps=3)))
