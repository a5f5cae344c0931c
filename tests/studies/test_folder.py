"""Encoders without their weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies._folder import without_weights


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return folder


def test_what_is_learned_stays_behind(model: Path, tmp_path: Path) -> None:
    bare = without_weights(model, tmp_path / "random-mine")
    assert sorted(f.name for f in bare.iterdir()) == ["config.json", "tokenizer.json"]


def test_a_copy_is_made_once_and_follows_the_encoder(model: Path, tmp_path: Path) -> None:
    bare = without_weights(model, tmp_path / "random-mine")
    made = bare.stat().st_ino
    assert without_weights(model, bare).stat().st_ino == made
    (model / "tokenizer.json").write_text('{"other": 1}')
    assert (without_weights(model, bare) / "tokenizer.json").read_text() == '{"other": 1}'
