"""Encoders by a bare name, and every head over the architecture that `nikawa pretrain` makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from nikawa.errors import BadInput
from nikawa.models.encoder.checkpoint import locate_checkpoint, model_folders, open_backbone
from nikawa.records import Kind

KINDS: tuple[Kind, ...] = get_args(Kind)


def _folder(place: Path, name: str) -> Path:
    (place / name).mkdir(parents=True)
    (place / name / "config.json").write_text("{}", encoding="utf-8")
    return place / name


def test_a_bare_name_is_looked_for_where_encoders_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("NIKAWA_MODELS", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert locate_checkpoint("nikawa-mini-ja") == "nikawa-mini-ja"
    last = _folder(tmp_path / "home" / "nikawa" / "models", "nikawa-mini-ja")
    assert locate_checkpoint("nikawa-mini-ja") == str(last)
    _folder(tmp_path / "here" / "models", "nikawa-mini-ja")
    assert locate_checkpoint("nikawa-mini-ja") == str(Path("models") / "nikawa-mini-ja")
    first = _folder(tmp_path / "named", "nikawa-mini-ja")
    assert locate_checkpoint("nikawa-mini-ja") == str(first)
    assert locate_checkpoint("someone/nikawa-mini-ja") == "someone/nikawa-mini-ja"
    (tmp_path / "here" / "nikawa-mini-ja").mkdir()
    assert locate_checkpoint("nikawa-mini-ja") == "./nikawa-mini-ja"


def test_one_that_is_not_there_is_told_with_the_command_that_trains_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIKAWA_MODELS", str(tmp_path / "named"))
    with pytest.raises(BadInput) as told:
        open_backbone("nikawa-mini-ko")
    line = str(told.value)
    assert (
        "nikawa pretrain CORPUS --language ko --size mini --minutes 8 --out models/nikawa-mini-ko"
        in line
    )
    assert all(str(place) in line for place in model_folders())
    assert "\n" not in line


def test_a_name_that_nobody_trains_is_looked_for_in_the_cache() -> None:
    with pytest.raises(BadInput, match="neither a folder nor in the local cache"):
        open_backbone("nikawa-large-ja")


@pytest.fixture(scope="session")
def modern(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network of `nikawa pretrain`, small and untrained, with the characters of the invented tasks."""
    from nikawa.pretrain.network import build_model
    from nikawa.pretrain.settings import Size

    folder = tmp_path_factory.mktemp("modern")
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    told = json.loads((tiny / "tokenizer_config.json").read_text(encoding="utf-8"))
    told["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    pieces = len(
        json.loads((tiny / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    )
    build_model(
        Size(32, 2, 2, 48, 1e-3), pieces, {"pad": 0, "cls": 2, "sep": 3}, 0
    ).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_stands_on_what_pretraining_makes(
    kind: Kind, modern: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    case, encoder = invented[kind], made(checkpoint=modern, epochs=1)
    encoder.fit(case.task, case.learn[:16])
    answers = encoder.predict(case.task, case.ask)
    assert [answer.example for answer in answers] == [example.id for example in case.ask]
    assert all(answer.answer is not None for answer in answers)
