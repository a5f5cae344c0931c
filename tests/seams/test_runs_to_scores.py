"""From a run to `nikawa score`, and from answers to the split that they belong to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def runs(nikawa: Run, tmp_path: Path) -> Path:
    """A folder with a run on five items of the embedded inference task."""
    folder = tmp_path / "runs"
    words = ("--model", "majority", "--tasks", "mini-ja-nli", "--limit", "5")
    assert nikawa("run", *words, "--out", str(folder)).returncode == 0
    return folder


def test_the_folder_of_a_run_is_scored_like_its_predictions(nikawa: Run, runs: Path) -> None:
    (folder,) = (path for path in runs.iterdir() if (path / "run.json").is_file())
    expected = nikawa(
        "score", "mini-ja-nli", str(folder / "predictions" / "test.jsonl"), "--partial", "--json"
    )
    assert json.loads(expected.stdout)["limit"] == 5
    for place in (folder, runs):
        done = nikawa("score", "mini-ja-nli", str(place), "--partial", "--json")
        assert done.returncode == 0, done.stderr
        scores = json.loads(done.stdout)["scores"]
        assert scores == json.loads(expected.stdout)["scores"]
    done = nikawa("score", "mini-ja-nli", str(folder), "--partial", "--json")
    assert done.stdout == expected.stdout
    done = nikawa("score", "mini-ja-nli", str(folder))
    assert "because the run was limited to the first 5 items" in done.stderr


def test_several_runs_are_not_mixed(nikawa: Run, runs: Path) -> None:
    words = ("--model", "char-linear", "--tasks", "mini-ja-nli", "--limit", "5")
    assert nikawa("run", *words, "--out", str(runs)).returncode == 0
    done = nikawa("score", "mini-ja-nli", str(runs), "--partial")
    assert done.returncode == 2
    assert "predictions/test.jsonl" in done.stderr
    assert "done.json" not in done.stderr


def write_split(path: Path, ids: Sequence[str], labels: Sequence[str]) -> None:
    """A split of an inference dataset, with its name in its texts."""
    lines = []
    for number, name in enumerate(ids):
        inputs = {"premise": f"{path.stem} {name}", "hypothesis": f"{name}?"}
        gold = {"label": labels[number % len(labels)]}
        lines.append(json.dumps({"id": name, "inputs": inputs, "gold": gold}))
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("train", "test", "answered", "split"),
    [
        (12, 12, 12, None),  # the same ids in both
        (12, 12, 6, None),
        (20, 12, 6, None),  # fewer items without an answer are no sign of the split
        (20, 12, 12, "test"),  # the answers cover test
        (12, 20, 12, "train"),
        (12, 20, 20, "test"),
    ],
)
def test_answers_that_fit_two_splits_are_refused(
    nikawa: Run, tmp_path: Path, train: int, test: int, answered: int, split: str | None
) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    ids = [str(number) for number in range(20)]
    write_split(folder / "train.jsonl", ids[:train], ["entailment", "neutral"])
    write_split(folder / "test.jsonl", ids[:test], ["neutral", "contradiction"])
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(f'{{"id": "{name}", "label": "neutral"}}\n' for name in ids[:answered])
    )
    assert nikawa("data", "card", str(folder)).returncode == 0
    done = nikawa("score", str(folder), str(answers), "--partial", "--json")
    if split is not None:
        assert json.loads(done.stdout)["split"] == split
        return
    assert done.returncode == 2
    assert "equally well: train, test; pass --split train or --split test" in done.stderr
    done = nikawa("score", str(folder), str(answers), "--partial", "--split", "test", "--json")
    assert json.loads(done.stdout)["split"] == "test"


def test_splits_with_the_same_items_do_not_compete(nikawa: Run, tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    ids = [str(number) for number in range(12)]
    write_split(folder / "test.jsonl", ids, ["entailment", "neutral"])
    (folder / "test-hard.jsonl").write_bytes((folder / "test.jsonl").read_bytes())
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(f'{{"id": "{name}", "label": "neutral"}}\n' for name in ids))
    assert nikawa("data", "card", str(folder)).returncode == 0
    assert nikawa("score", str(folder), str(answers)).returncode == 0
