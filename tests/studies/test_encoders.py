"""The study of what pre-training is worth, in miniature; several runs share a device."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from studies._place import Place

from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunRequest, run
from studies import encoders

pytestmark = pytest.mark.slow


def test_a_table_with_paired_tests(
    tmp_path: Path, encoder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--out",
        str(tmp_path),
        "--ja",
        str(encoder("some-ja")),
        "--tiny",
        "--seeds",
        "2",
        "--device",
        "cpu",
    ]
    assert encoders.main([*words, "--only", "train"]) == 0
    assert encoders.main([*words, "--only", "baselines,report"]) == 0
    text = (tmp_path / "results.md").read_text("utf-8")
    (row,) = re.findall(
        r"^\| mini-ja-nli \| its own \| accuracy \| test \| 9 \| (.*) \|$", text, re.MULTILINE
    )
    ours, random, baseline, over_random, over_baseline = row.split(" | ")
    mean = [float(cell.split()[0]) for cell in (ours, random, baseline)]
    gaps = [float(re.match(r"\**([+-][0-9.]+)", cell)[1]) for cell in (over_random, over_baseline)]  # type: ignore[index]
    assert gaps == pytest.approx([mean[0] - mean[1], mean[0] - mean[2]], abs=0.011)
    assert all(
        re.search(r"p (<?[01]\.[0-9]{3}|not defined)\**$", cell)
        for cell in (over_random, over_baseline)
    )
    specs = [stored.spec for stored in stored_runs(tmp_path / "runs")]
    assert {spec.model for spec in specs} == {
        "encoder:some-ja",
        "encoder:random-some-ja",
        "baseline",
    }
    assert {s.settings.get("scratch", False) for s in specs if "random" in s.model} == {True}
    assert not any(s.settings.get("scratch") for s in specs if s.model == "encoder:some-ja")
    assert "not done" not in capsys.readouterr().err


def test_no_encoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert encoders.main(["--out", str(tmp_path)]) == 2
    assert encoders.main(["--out", str(tmp_path), "--ja", str(tmp_path / "none"), "--tiny"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert (
        first
        == "studies: no encoder is named; pass --ja DIR or --ko DIR, encoders made by nikawa pretrain"
    )
    assert second.endswith(
        "none: contains no encoder; train an encoder with nikawa pretrain, and pass its folder"
    )


def test_encoders_of_one_name_stay_apart(
    tmp_path: Path, encoder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for language in ("ja", "ko"):
        copytree(encoder(f"some-{language}"), tmp_path / language / "mine")
    (tmp_path / "ko" / "mine" / "tokenizer_config.json").write_text("{}")
    models = {language: tmp_path / language / "mine" for language in ("ja", "ko")}
    place = Place(tmp_path / "study", tiny=True, seeds=1)
    asked = [
        name
        for language in models
        for r in encoders.requests(models, language, place)
        for name in r.models
    ]
    assert [Path(name).name for name in asked] == [
        "mine",
        "random-ja-mine",
        "mine",
        "random-ko-mine",
    ]
    assert (place.out / "random-ko-mine" / "tokenizer_config.json").read_text() == "{}"
    assert encoders.bare_name({"ja": models["ja"]}, "ja") == "random-mine"


def test_a_report_of_encoders_that_were_not_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(RunRequest(("mini-ja-nli",), ("majority",)), RunOptions(tmp_path / "runs", executor="here"))
    assert (
        encoders.main(["--out", str(tmp_path), "--ja", "no/other", "--tiny", "--only", "report"])
        == 2
    )
    assert "contains no results of encoder:other; pass the folders" in capsys.readouterr().err
    assert not (tmp_path / "results.md").exists()
