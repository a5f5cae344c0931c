"""`nikawa score` from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.errors import BadInput

RUN = CliRunner()


def run(*words: str) -> str:
    done = RUN.invoke(build(), ["score", *words])
    if isinstance(done.exception, BadInput):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Right answers to mini-ja-nli, but for seven that say nothing, one missing and one too many."""
    examples = [e for e in load("mini-ja:dev").splits["dev"] if "label" in e.gold]
    rows = [(e.id, "hm" if i < 7 else e.gold["label"]) for i, e in enumerate(examples[:-1])]
    path = tmp_path / "answers.jsonl"
    rows += [("zzz", "neutral")]
    path.write_text("".join(json.dumps({"id": i, "answer": a}) + "\n" for i, a in rows), "utf-8")
    return path


@pytest.fixture
def releases(tmp_path: Path) -> tuple[str, ...]:
    """Two invented releases of JNLI, answers to them, and the words that name both."""
    _lay(tmp_path, "1.1", ("entailment", "neutral", "neutral"))
    _lay(tmp_path, "1.3", ("entailment", "entailment", "neutral"))
    path = tmp_path / "v.json"
    path.write_text(json.dumps({str(i): "entailment" for i in range(3)}), "utf-8")
    return "jnli", str(path), "--versions", "--data", str(tmp_path)


def _lay(root: Path, version: str, labels: Sequence[str]) -> None:
    folder = root / "jglue" / "datasets" / f"jnli-v{version}"
    folder.mkdir(parents=True)
    rows = [
        {
            "sentence_pair_id": str(i),
            "yjcaptions_id": f"{100 + i}-{2 * i}-{2 * i + 1}",
            "sentence1": f"棚に皿が{i}枚ある。",
            "sentence2": "棚に皿がある。",
            "label": label,
        }
        for i, label in enumerate(labels)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"valid-v{version}.json").write_text(text, "utf-8")


def test_odd_ids_are_named_below_the_counts(answers: Path) -> None:
    gone = [e.id for e in load("mini-ja:dev").splits["dev"] if "label" in e.gold][-1]
    said = run("mini-ja-nli", str(answers), "--partial")
    assert "1 of 9 answered, 1 missing, 7 unreadable (77.8%), 1 unknown ids" in said
    assert f"missing: {gone}\n" in said
    assert "unknown ids: zzz\n" in said
    assert said.count("'hm' (not one of entailment") == 5
    assert "unreadable: and 2 more (--json lists all)" in said
    found = json.loads(run("mini-ja-nli", str(answers), "--partial", "--json"))
    assert (found["missing_ids"], found["unknown_ids"], len(found["unparsed_items"])) == (
        [gone],
        ["zzz"],
        7,
    )
    assert found["unparsed_items"][0].keys() == {"example", "raw", "why"}


def test_detail_is_replaced_on_demand(answers: Path, tmp_path: Path) -> None:
    detail = tmp_path / "detail.jsonl"
    detail.write_text("old\n")
    words = ("mini-ja-nli", str(answers), "--partial", "-q", "--per-item", str(detail))
    with pytest.raises(BadInput, match=r"already exists.*--overwrite"):
        run(*words)
    assert detail.read_text() == "old\n"
    assert run(*words, "--overwrite") == ""
    assert len(detail.read_text("utf-8").splitlines()) == 8


def test_detail_never_replaces_the_answers(answers: Path) -> None:
    before = answers.read_bytes()
    with pytest.raises(
        BadInput, match="is an input file and would be overwritten; choose another name"
    ):
        run(
            "mini-ja-nli",
            str(answers),
            "--partial",
            "-q",
            "--per-item",
            str(answers),
            "--overwrite",
        )
    assert answers.read_bytes() == before


def test_versions_are_named(releases: tuple[str, ...]) -> None:
    said = run(*releases)
    assert "jnli dev, version 1.1: 3 of 3 answered" in said
    assert "jnli dev, version 1.3: 3 of 3 answered" in said
    assert "1 item with different gold in 1.3 and 1.1" in said


def test_versions_as_one_table(releases: tuple[str, ...]) -> None:
    scores, *confusions, moved = run(*releases, "--as", "csv", "--confusion").strip().split("\n\n")
    rows = [line.split(",") for line in scores.splitlines()]
    assert rows[0][:4] == ["version", "where", "metric", "mode"]
    assert [row[0] for row in rows[1:]] == ["1.1", "1.3"]
    assert [c.partition(",")[0] for c in confusions] == [
        "gold in 1.1 \\ answer",
        "gold in 1.3 \\ answer",
    ]
    assert moved.splitlines()[1] == "1,neutral,entailment,entailment"


def test_versions_keep_quiet_and_refuse_detail(releases: tuple[str, ...], tmp_path: Path) -> None:
    assert run(*releases, "-q") == ""
    assert run(*releases, "--confusion").count("gold \\ answer") == 2
    with pytest.raises(BadInput, match="--per-item and --versions cannot be combined; pass"):
        run(*releases, "--per-item", str(tmp_path / "d.jsonl"))


def test_confusion_needs_labels(tmp_path: Path) -> None:
    examples = [e for e in load("mini-ko:dev").splits["dev"] if "score" in e.gold]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({e.id: e.gold["score"] for e in examples}))
    with pytest.raises(BadInput, match="mini-ko-sts has no labels for a confusion matrix"):
        run("mini-ko-sts", str(path), "--confusion")


def test_too_few_items_are_said_to_have_no_interval(
    answers: Path, releases: tuple[str, ...]
) -> None:
    said = run("mini-ja-nli", str(answers), "--partial")
    assert (
        "—: With fewer than 10 examples (or groups of examples), there is no confidence interval."
        in said
    )
    assert [
        line.split()[-2] for line in said.splitlines() if line.lstrip().startswith("accuracy")
    ] == ["—"]


def test_csv_is_data(tmp_path: Path) -> None:
    import csv

    labels = ["entailment", "neutral", "contradiction"] * 400
    _lay(tmp_path, "1.3", labels)
    path = tmp_path / "v.json"
    path.write_text(
        json.dumps({str(i): x if i % 7 else "neutral" for i, x in enumerate(labels)}), "utf-8"
    )
    words = ("jnli", str(path), "--data", str(tmp_path), "--as", "csv")
    (row,) = csv.DictReader(run(*words).splitlines())
    (official,) = csv.DictReader(run(*words, "--unit", "official").splitlines())
    wrong = sum(not i % 7 and x != "neutral" for i, x in enumerate(labels))
    assert (row["where"], row["unit"], row["n"]) == ("all", "percent", "1200")
    assert (official["where"], official["unit"], official["n"]) == ("all", "fraction", "1200")
    assert float(official["score"]) == (1200 - wrong) / 1200
    assert float(row["score"]) == pytest.approx(float(official["score"]) * 100, abs=1e-12)
    assert float(row["low"]) < float(row["score"]) < float(row["high"])


def test_what_is_not_defined_says_why(tmp_path: Path) -> None:
    examples = [e for e in load("mini-ko:dev").splits["dev"] if "score" in e.gold]
    path = tmp_path / "flat.json"
    path.write_text(json.dumps({e.id: 2.5 for e in examples}))
    said = run("mini-ko-sts", str(path), "--metric", "pearson")
    assert "nan" not in said
    assert "pearson is not defined: A correlation needs two answers that differ" in said
    assert ",pearson,official,percent,,,," in run(
        "mini-ko-sts", str(path), "--metric", "pearson", "--as", "csv"
    )
