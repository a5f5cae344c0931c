"""What is kept of a training, and what it tells of itself: full disks, other checkpoints, looks at dev, numbers that are none."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nikawa.errors import BadInput
from nikawa.models import model
from nikawa.models.encoder import steps, train
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.device import report_device_errors
from nikawa.models.encoder.predict import compute_outputs
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.records import Kind


class _Full:
    """A file on a disk that is full after some bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(data))


@pytest.fixture
def _every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the state after every epoch, as trainings do that take long."""
    monkeypatch.setattr(train, "SECONDS_WORTH_A_STATE", 0.0)


def test_a_short_training_writes_no_state(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    case = invented["text"]
    made(tmp_path, epochs=2).fit(case.task, case.learn)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("room", [0, 5000, 100_000])
@pytest.mark.usefixtures("_every_epoch")
def test_a_full_disk_is_one_line_and_the_state_before_stays(
    room: int,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = invented["text"]
    made(tmp_path, epochs=1).fit(case.task, case.learn)
    before = (tmp_path / train.STATE_FILE).read_bytes()
    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(
            Path,
            "open",
            lambda path, mode="r", **more: (
                _Full(opened(path, mode, **more), room)
                if mode == "wb"
                else opened(path, mode, **more)
            ),
        )
        with pytest.raises(
            BadInput,
            match=r"training\.pt: the training state cannot be written: No space left on device; free some space",
        ):
            made(tmp_path, epochs=2).fit(case.task, case.learn)
    assert (tmp_path / train.STATE_FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [train.STATE_FILE]


class _Packed:
    """A packed way that pads."""

    def use(self, tokens: int) -> Any:
        return nullcontext()

    def restore(self) -> None:
        pass


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.usefixtures("_every_epoch")
def test_an_epoch_goes_on_by_the_plan_it_began_with(
    packs: bool,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, plan, plans = invented["text"], train.TrainingLoop.batches, {}

    def watch(loop: Any, epoch: int) -> Any:
        batches = plans[epoch] = plan(loop, epoch)
        if epoch and loop._packed is ways[0]:
            raise KeyboardInterrupt
        return batches

    monkeypatch.setattr(train.TrainingLoop, "batches", watch)
    ways = [_Packed() if packs else None, None if packs else _Packed()]
    for way in ways:
        monkeypatch.setattr(train.TrainingLoop, "_pack_encoder", lambda loop, way=way: way)
        if way is ways[0]:
            with pytest.raises(KeyboardInterrupt):
                made(tmp_path, epochs=2).fit(case.task, case.learn)
            first = plans.pop(1)
    made(tmp_path, epochs=2).fit(case.task, case.learn)
    assert plans[1] == first
    assert all((batch.tokens > 0) == packs for batch in first)


@pytest.mark.parametrize(
    "sizes", [{"num_hidden_layers": 1}, {"hidden_size": 64}, {"initializer_range": 0.03}]
)
@pytest.mark.usefixtures("_every_epoch")
def test_the_state_of_another_checkpoint_is_not_taken_up(
    sizes: dict[str, Any],
    tiny: Path,
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
) -> None:
    import json
    from shutil import copytree

    from transformers import BertConfig, BertModel

    case, other = invented["text"], tmp_path / "other"
    copytree(tiny, other)
    config = {**json.loads((tiny / "config.json").read_text("utf-8")), **sizes}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        BertModel(BertConfig(**config)).save_pretrained(other)
    made(tmp_path / "state").fit(case.task, case.learn[:16])
    again, fresh = made(tmp_path / "state", checkpoint=other), made(checkpoint=other)
    for encoder in (again, fresh):
        encoder.fit(case.task, case.learn[:16])
    assert again.predict(case.task, case.ask) == fresh.predict(case.task, case.ask)


@pytest.mark.usefixtures("_every_epoch")
def test_a_state_from_before_checkpoints_were_told_apart_is_taken_up(
    made: Callable[..., Any],
    invented: Mapping[Kind, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = invented["text"]
    made(tmp_path).fit(case.task, case.learn[:16])
    whole = torch.load(tmp_path / train.STATE_FILE, weights_only=True)
    del whole["marks"]["model"]
    torch.save(whole, tmp_path / train.STATE_FILE)

    def never(*_: object) -> None:
        raise AssertionError("all is learned already")

    monkeypatch.setattr(steps.PlainSteps, "step", never)
    made(tmp_path).fit(case.task, case.learn[:16])


def test_the_key_of_a_training_is_what_it_was_before_heads_had_names() -> None:
    def key(head: str) -> str:
        rows = Rows(tokens={"input_ids": [np.array([2, 7, 3])]}, owner=[0])
        return train.training_key(
            train.TrainingJob(None, rows, lambda *_: None, EncoderSettings(head=head), 1, None)
        )

    assert key("auto") == "d94b2fa5abc82d47ed331c9450869c6c"
    assert key("auto") != key("sequence")


def test_looks_that_fall_between_two_steps_are_not_lost(
    tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    settings = {
        "epochs": 2,
        "batch": 8,
        "accumulate": 4,
        "checks": 3,
        "keep": "best",
        "device": "cpu",
    }
    found: Any = model(f"encoder:{tiny}", settings=settings, score=lambda *_: 0.5)
    found.fit(case.task, case.learn[:48], case.ask)
    assert [entry["step"] for entry in found.history if "dev" in entry] == [4, 6, 10, 12]


@pytest.mark.parametrize(
    ("settings", "told"), [({"keep": "best"}, True), ({"early_stop": 2}, True), ({}, False)]
)
def test_a_best_state_without_a_dev_set_is_noted(
    settings: dict[str, Any], told: bool, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["text"], made(**settings)
    encoder.fit(case.task, case.learn[:8])
    assert ("notes" in encoder.about()) == told


@pytest.mark.parametrize("kind", ["text", "tagging"])
def test_weights_that_are_no_numbers_do_not_answer(
    kind: Kind, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented[kind], made(learning_rate=1e9, clip=0.0, epochs=6)
    with pytest.raises(
        BadInput, match=f"training on invented-{kind} diverged: .* set a smaller learning"
    ):
        encoder.fit(case.task, case.learn)
    with pytest.raises(BadInput, match="is not trained on"):
        encoder.predict(case.task, case.ask)


def test_scores_that_are_no_numbers_leave_an_answer_empty(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented["similarity"], made()
    encoder.fit(case.task, case.learn[:8])
    plain = encoder._head.outputs

    class Strange(type(encoder._head)):  # type: ignore[misc]
        def outputs(self, found: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
            (logits,) = plain(found, batch)
            return (torch.where(batch["input_ids"][:, 1:2] == 5, torch.nan, logits),)

    before = encoder.predict(case.task, case.ask)
    encoder._head = Strange()
    rows = encoder._head.rows(encoder._work, case.ask, False)
    rows.tokens["input_ids"][2][1] = 5
    _, strange = compute_outputs(encoder._model, rows, encoder._head.outputs, torch.device("cpu"))
    assert strange == {2}
    found = [a for a in encoder.predict(case.task, case.ask) if a.answer is not None]
    assert found == [a for a in before if a.example in {f.example for f in found}]


def test_errors_of_the_libraries_of_a_card_are_one_line() -> None:
    for said in (
        "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        "NVML_SUCCESS == r INTERNAL ASSERT FAILED",
    ):
        with (
            pytest.raises(BadInput, match="the GPU failed"),
            report_device_errors(EncoderSettings()),
        ):
            raise RuntimeError(said)


def test_a_device_that_holds_nothing(
    made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case = invented["text"]
    with pytest.raises(BadInput, match=r"the device meta cannot be used: .*; set device=auto"):
        made(device="meta").fit(case.task, case.learn)


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": -1.0},
        {"learning_rate": float("nan")},
        {"epochs": float("inf")},
        {"dropout": 1.5},
        {"clip": -1.0},
        {"weight_decay": float("nan")},
        {"max_answer": 0},
        {"n_best": 0},
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], made: Callable[..., Any]) -> None:
    with pytest.raises(BadInput, match=f"a setting is invalid: {next(iter(settings))}: expected"):
        made(**settings)
