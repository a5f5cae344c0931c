"""What cannot be run is refused before a folder is made for it, or leaves none behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.errors import BadInput
from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunRequest, run
from nikawa.runs.store import StoredRun

Nikawa = Callable[..., CompletedProcess[str]]


def _asked(nikawa: Nikawa, out: Path, model: str, *more: str) -> str:
    ended = nikawa("run", "--model", model, "--tasks", "mini-ja-sts", "--out", str(out), *more)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("kind", ["encoder", "bertscore"])
def test_an_encoder_that_is_not_there_leaves_nothing(
    tmp_path: Path, nikawa: Nikawa, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "begun" / "work" / "text").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a-file").write_text("")
    for name, told in {
        "nikawa-mini-ja": "the encoder nikawa-mini-ja is not in models, ",
        "nope": "the encoder nope is neither a folder nor in the local cache; pass a folder, or download it once: hf",
        "no/body": "the encoder no/body is neither a folder nor in the local cache",
        "./nope": "there is no folder ./nope; pass the folder of the encoder",
        "/no/such/place": "there is no folder /no/such/place; pass the folder",
        "~/nope": "there is no folder ~/nope; write the full path",
        "begun": "begun: the training of this encoder is not finished; run its nikawa pretrain command again",
        "empty": "empty: the encoder cannot be read: it has no config.json",
        "a-file": "a-file: is a file, not a folder",
    }.items():
        line = _asked(nikawa, tmp_path / "runs", f"{kind}:{name}")
        assert line.startswith(f"nikawa: {told}"), line
        assert "hf download ./" not in line
    assert not (tmp_path / "runs").exists()


def test_an_encoder_that_cannot_be_read_leaves_no_run(tmp_path: Path, nikawa: Nikawa) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-thing"}))
    assert "odd: the encoder cannot be read" in _asked(
        nikawa, tmp_path / "runs", f"encoder:{folder}"
    )
    assert stored_runs(tmp_path / "runs", broken=True) == []


def test_what_is_done_is_shown_without_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.models import models

    asked = RunRequest(("mini-ja-nli",), ("majority",))
    whole = run(asked, RunOptions(out=tmp_path, workers=1))

    def refused(_: str) -> None:
        raise BadInput("is not here")

    from dataclasses import replace

    monkeypatch.setitem(
        models()._things, "majority", replace(models()["majority"], check_argument=refused)
    )
    assert run(asked, RunOptions(out=tmp_path, workers=1)).cells == whole.cells
    with pytest.raises(BadInput, match="is not here"):
        run(RunRequest(("mini-ja-nli",), ("majority",), (1,)), RunOptions(out=tmp_path, workers=1))


def test_a_run_that_holds_work_is_not_withdrawn(tmp_path: Path) -> None:
    bare, begun = StoredRun(tmp_path / "bare"), StoredRun(tmp_path / "begun")
    for stored in (bare, begun):
        (stored.state / "model").mkdir(parents=True)
        (stored.path / "run.json").write_text("{}")
        with stored.locked():
            pass
    (begun.state / "model" / "training.pt").write_text("")
    bare.withdraw()
    begun.withdraw()
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]


def test_a_lock_whose_folder_was_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.io import locks

    stored, whole = StoredRun(tmp_path / "run"), locks.try_lock
    waited: list[int] = []

    def late(descriptor: int) -> bool | None:
        taken = whole(descriptor)
        waited.append(descriptor)
        if len(waited) == 1:  # the process before withdraws its folder
            stored.withdraw()
        return taken

    monkeypatch.setattr(locks, "try_lock", late)
    with stored.locked():
        assert len(waited) == 2
        assert stored.busy()


def test_a_word_that_names_no_device_is_one_short_line() -> None:
    from nikawa.models.encoder.device import choose_device
    from nikawa.models.encoder.settings import EncoderSettings

    for name in ("gpu", "GPU:0", "cuda:", ""):
        with pytest.raises(BadInput) as told:
            choose_device(EncoderSettings(device=name))
        assert (
            str(told.value)
            == f"there is no device {name!r}; set device=auto, cpu, cuda, or cuda:1 for the second GPU"
        )
    assert choose_device(EncoderSettings(device="cpu")).type == "cpu"
