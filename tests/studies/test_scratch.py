"""The study of small encoders from random weights, in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.datasets.jamp.splits import split_names
from nikawa.runs import stored_runs
from studies import scratch

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, invented_data: Path) -> Path:
    out = tmp_path_factory.mktemp("study")
    assert (
        scratch.main(
            [
                "--out",
                str(out),
                "--data",
                str(invented_data),
                "--tiny",
                "--seeds",
                "2",
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    return out


def test_every_table_is_there(made: Path) -> None:
    text = (made / "results.md").read_text("utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert [h.split()[1] for h in headings] == ["Results", "The", "Learning", "JAMP's", "The"]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert sum(row.startswith("| mini-ja-nli | from scratch | ") for row in rows) == 2
    assert sum("template-easy" in row or "timespan-easy" in row for row in rows) == 2
    assert any(row.startswith("| jsick-stress-nli | swap | o | all | 21 | ") for row in rows)
    assert (made / "report" / "index.html").is_file()


def test_the_runs_are_those_the_study_names(made: Path) -> None:
    specs = [stored.spec for stored in stored_runs(made / "runs")]
    assert {spec.settings["scratch"] for spec in specs} == {True}
    results = [spec for spec in specs if spec.stage == "result"]
    assert {spec.variation.share for spec in results} == {0.5, 1.0}
    assert {name for spec in results for name in spec.variation.train} == {
        f"jamp:{s}" for s in split_names()
    }
    assert {spec.seed for spec in specs if spec.stage == "selection"} == {0}
    assert all(spec.protocol.select or spec.task == "jamp" for spec in results)


def test_the_same_command_does_nothing_again(
    made: Path, invented_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a run was begun again")

    monkeypatch.setattr("nikawa.models.encoder.Encoder.fit", never)
    words = [
        "--out",
        str(made),
        "--data",
        str(invented_data),
        "--tiny",
        "--seeds",
        "2",
        "--only",
        "train",
    ]
    assert scratch.main(words) == 0


def test_tables_need_no_runs_to_be_planned(made: Path, invented_data: Path) -> None:
    before = (made / "results.md").read_bytes()
    (made / "results.md").unlink()
    words = [
        "--out",
        str(made),
        "--data",
        str(invented_data),
        "--tiny",
        "--seeds",
        "2",
        "--only",
        "report",
    ]
    assert scratch.main(words) == 0
    assert (made / "results.md").read_bytes() == before


def test_parts_that_do_not_exist_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        scratch.main(["--out", str(tmp_path), "--only", "tea"])
    told = "studies: --only has unknown parts: tea; choose from train, baselines, report\n"
    assert (stopped.value.code, capsys.readouterr().err) == (2, told)
