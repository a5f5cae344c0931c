"""Trained models on disk: whole or not there, nothing overwritten unless asked, and kept by a run that keeps its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.records import Kind


@pytest.fixture
def fitted(made: Callable[..., Any], invented: Mapping[Kind, Any]) -> Any:
    """A small encoder that has learned."""
    encoder, case = made(), invented["tree"]
    encoder.fit(case.task, case.learn[:8])
    return encoder


def test_what_is_there_stays_unless_asked(fitted: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(BadInput, match="file: is a file, not a folder"):
        fitted.save(tmp_path / "file")
    fitted.save(str(tmp_path / "new" / "saved"))
    written = {path.name for path in (tmp_path / "new" / "saved").iterdir()}
    assert {
        "config.json",
        "model.safetensors",
        "nikawa_head.safetensors",
        "nikawa_head.json",
        "tokenizer.json",
    } <= written
    with pytest.raises(
        BadInput, match="saved: is not empty; choose another folder, or pass overwrite=True"
    ):
        fitted.save(tmp_path / "new" / "saved")
    fitted.save(tmp_path / "new" / "saved", overwrite=True)
    assert {path.name for path in (tmp_path / "new" / "saved").iterdir()} == written


def test_what_cannot_be_written_leaves_nothing(
    fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors import SafetensorError

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(
        BadInput, match=r"saved: the model cannot be written: .*No space left on device"
    ):
        fitted.save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_keeps_its_state_keeps_the_trained_checkpoint(
    tiny_maker: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from nikawa.datasets import load
    from nikawa.runs.job import RunOptions, RunRequest, run

    texts = [
        str(v) for part in load("mini-ja").splits.values() for e in part for v in e.inputs.values()
    ]
    folder = tiny_maker(tmp_path / "small", {c for text in texts for c in text if not c.isspace()})
    capsys.readouterr()
    settings = {"epochs": 2, "batch": 8, "device": "cpu"}
    request = RunRequest(("mini-ja-nli",), (f"encoder:{folder}",), settings=settings)
    assert run(request, RunOptions(tmp_path / "runs", keep_state=True, threads=1)).done == 1
    assert capsys.readouterr().err == ""
    (kept,) = (tmp_path / "runs").glob("*/state/model/trained")
    again = RunRequest(
        ("mini-ja-nli",), (f"encoder:{kept}",), settings={"epochs": 0, "device": "cpu"}
    )
    assert run(again, RunOptions(tmp_path / "again", threads=1)).done == 1
    first, second = (
        next((tmp_path / name).glob("*/predictions/test.jsonl")).read_bytes()
        for name in ("runs", "again")
    )
    assert first == second


def test_a_saved_head_that_lacks_what_training_has_is_made_anew(
    made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    for kind, few, part in (("dialogue", 1, "slots"), ("tree", 1, "tags")):
        case, encoder = invented[kind], made(seed=4)  # type: ignore[index]
        encoder.fit(case.task, case.learn[:few])
        encoder.save(tmp_path / kind)
        more, same = made(checkpoint=tmp_path / kind), made(checkpoint=tmp_path / kind)
        _, again = same._prepare(case.task, case.learn[:few])
        assert again.known == encoder._model.known
        _, grown = more._prepare(case.task, case.learn)
        assert set(grown.known[part]) > set(encoder._model.known[part])


@pytest.mark.parametrize(
    "told", ["[]", "{}", '{"kind": "tree", "known": {}}', '{"kind": "tree", "known": 3}', "no"]
)
def test_a_damaged_head_is_one_line(
    told: str, fitted: Any, made: Callable[..., Any], invented: Mapping[Kind, Any], tmp_path: Path
) -> None:
    fitted.save(tmp_path / "saved")
    (tmp_path / "saved" / "nikawa_head.json").write_text(told, "utf-8")
    case = invented["tree"]
    with pytest.raises(
        BadInput, match=r"nikawa_head\.json: the head cannot be read: \w+; save the model again"
    ):
        made(checkpoint=tmp_path / "saved", epochs=0).predict(case.task, case.ask)
