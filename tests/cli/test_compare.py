"""`nikawa compare` from the command line: figures for people, and data for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build

N = 1_200
Give = Callable[[str, int], str]


def run(*words: str) -> str:
    done = CliRunner().invoke(build("compare"), ["compare", *words, "--rounds", "200"])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def give(tmp_path: Path) -> Give:
    """Answers to an own set of two labels, one wrong in so many, and the set itself as `own.jsonl`."""
    gold = [("良い", "悪い")[i % 2] for i in range(N)]
    rows = [
        {"id": str(i), "inputs": {"text": f"皿{i}"}, "gold": {"label": g}}
        for i, g in enumerate(gold)
    ]
    own = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "own.jsonl").write_text(own, "utf-8")

    def write(name: str, every: int) -> str:
        path = tmp_path / f"{name}.jsonl"
        given = [g if i % every else gold[i - 1] for i, g in enumerate(gold)]
        lines = [
            json.dumps({"id": str(i), "answer": x}, ensure_ascii=False) for i, x in enumerate(given)
        ]
        path.write_text("\n".join(lines), "utf-8")
        return str(path)

    return write


def test_csv_is_one_table_of_data(tmp_path: Path, give: Give) -> None:
    said = run(give("a", 3), give("b", 10), "--task", str(tmp_path / "own.jsonl"), "--as", "csv")
    rows = {row["metric"]: row for row in csv.DictReader(said.splitlines())}
    assert list(rows) == ["accuracy", "macro-f1"]
    row = rows["accuracy"]
    assert (row["n"], row["won"], row["lost"], row["tied"]) == ("1200", "360", "80", "760")
    assert float(row["first_score"]) == pytest.approx(100 * 2 / 3, abs=1e-12)
    assert float(row["difference"]) == pytest.approx(
        float(row["second_score"]) - float(row["first_score"])
    )
    assert float(row["low"]) < float(row["difference"]) < float(row["high"])
    assert (rows["macro-f1"]["p_mcnemar"], rows["macro-f1"]["won"]) == ("", "")


def test_figures_have_fixed_decimals(tmp_path: Path, give: Give) -> None:
    said = run(give("a", 3), give("b", 10), "--task", str(tmp_path / "own.jsonl"))
    row = next(line for line in said.splitlines() if "b - a" in line and "accuracy" in line).split()
    assert "1,200" in row
    assert "+23.33" in row
    assert "<0.0001" in row
    assert "360 / 80 / 760" in " ".join(row)
    assert "90.00" in said


def test_what_is_not_defined_says_why_and_shares_no_letter(tmp_path: Path) -> None:
    from nikawa.datasets import load

    gold = {e.id: e.gold["score"] for e in load("mini-ko:dev").splits["dev"] if "score" in e.gold}
    for name, answers in (("flat", dict.fromkeys(gold, 2.5)), ("good", gold)):
        (tmp_path / f"{name}.json").write_text(json.dumps(answers))
    said = run(str(tmp_path / "flat.json"), str(tmp_path / "good.json"), "--task", "mini-ko-sts")
    assert "nan" not in said
    assert "Fewer than" not in said
    assert "pearson of flat is not defined: A correlation needs two answers that differ" in said
    letters = [
        line.split()[-1] for line in said.splitlines() if " flat " in line and "pearson " in line
    ]
    assert letters[0] == "1"  # the number of runs: no letter behind it


def test_files_of_one_name_have_their_paths_and_a_name_given_twice_is_refused(
    tmp_path: Path, give: Give
) -> None:
    file = Path(give("test", 7))
    other = tmp_path / "other"
    other.mkdir()
    (other / "test.jsonl").write_bytes(file.read_bytes())
    task = ("--task", str(tmp_path / "own.jsonl"), "--json")
    made = json.loads(run(str(file), str(other / "test.jsonl"), *task))
    assert {each["system"] for each in made["systems"]} == {str(file), str(other / "test.jsonl")}
    words = ["compare", f"a={file}", f"a={other / 'test.jsonl'}", "--task", "x"]
    done = CliRunner().invoke(build("compare"), words)
    assert done.exit_code != 0
    assert "'a' is given twice" in str(done.exception)
