"""The study of pieces, in miniature."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from studies._sizes import unlike

from studies import tokenizers

pytestmark = pytest.mark.slow


def test_three_encoders_are_held_against_each_other(
    tmp_path: Path, encoder: Callable[[str], Path]
) -> None:
    for kind in tokenizers.KINDS:
        copytree(encoder(f"{kind}-ko"), tmp_path / "ko" / kind)
    out = tmp_path / "study"
    assert (
        tokenizers.main(
            [
                "--out",
                str(out),
                "--ko",
                str(tmp_path / "ko"),
                "--tiny",
                "--seeds",
                "2",
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    rows = [line.split(" | ") for line in (out / "results.md").read_text("utf-8").splitlines()]
    (ner,) = [
        row for row in rows if row[0] == "| mini-ko-ner" and len(row) == len(tokenizers.COLUMNS)
    ]
    assert all(cell.strip(" |") for cell in ner)
    assert sum(row[0] == "| ko" and float(row[4].strip(" |")) > 0.9 for row in rows) == 3
    assert (out / "report" / "index.html").is_file()
    told = (out / "results.md").read_bytes()
    rmtree(tmp_path / "ko")
    assert tokenizers.main(["--out", str(out), "--tiny", "--only", "report"]) == 0
    assert (out / "results.md").read_bytes() == told


def test_a_missing_encoder_is_told_with_the_command_that_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tokenizers.main(["--out", str(tmp_path), "--ja", str(tmp_path / "ja")]) == 2
    assert tokenizers.main(["--out", str(tmp_path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    made = "make it: nikawa pretrain CORPUS --language ja --tokenizer characters --size mini --steps 7000 --out"
    assert made in first  # steps, which are the same for all three, not minutes
    assert second.startswith("studies: no encoder is named")


def test_encoders_that_were_not_trained_alike_are_told() -> None:
    rows = [
        ["ko", kind, 600, 9000, "1.0", steps, 10 * steps, "2.0"]
        for kind, steps in zip(tokenizers.KINDS, (60, 60, 600), strict=True)
    ]
    (said,) = unlike([*rows, ["ja", "characters", 600, 9000, "1.0", 5, 50, "2.0"]])
    assert (
        "for ko were trained differently (characters 60 steps, subwords 60 steps, morphemes 600 steps)"
        in said
    )
    assert unlike(rows[:2]) == []
