"""Which split a log or a table is of, where ids are the same in all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Nikawa = Callable[..., CompletedProcess[str]]
LABELS = ("entailment", "contradiction", "neutral")


@pytest.fixture
def harbour(nikawa: Nikawa, tmp_path: Path) -> Path:
    """A dataset whose splits both count from 0: eight items to train on, four in dev."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    for split, size in (("train", 8), ("dev", 4)):
        lines = []
        for i in range(size):
            inputs = {
                "premise": f"{split}の港に舟が{i + 2}そう並んでいる。",
                "hypothesis": f"{split}の港の舟は{i}番まで赤い。",
            }
            example = {"id": str(i), "inputs": inputs, "gold": {"label": LABELS[i % 3]}}
            lines.append(json.dumps(example, ensure_ascii=False) + "\n")
        (folder / f"{split}.jsonl").write_text("".join(lines))
    assert nikawa("data", "card", str(folder)).returncode == 0
    return folder


def examples_of(folder: Path, split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def score(nikawa: Nikawa, folder: Path, path: Path, *more: str) -> dict[str, Any]:
    done = nikawa("score", str(folder), str(path), "--json", *more)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_log_is_of_the_split_whose_texts_it_holds(
    nikawa: Nikawa, harbour: Path, tmp_path: Path, split: str
) -> None:
    rows = []
    for place, example in enumerate(examples_of(harbour, split)[:3]):
        doc = {"id": example["id"], **example["inputs"]}
        rows.append({"doc_id": place, "doc": doc, "filtered_resps": [example["gold"]["label"]]})
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = score(nikawa, harbour, path, "--partial")
    assert (report["split"], report["answered"]) == (split, 3)
    assert report["scores"][0]["value"] == 100.0


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_table_is_of_the_split_whose_texts_it_holds(
    nikawa: Nikawa, harbour: Path, tmp_path: Path, split: str
) -> None:
    rows = []
    for example in examples_of(harbour, split)[:3]:
        fields = {"text1": example["inputs"]["premise"], "text2": example["inputs"]["hypothesis"]}
        rows.append({"id": example["id"], **fields, "output": example["gold"]["label"]})
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = score(nikawa, harbour, path, "--partial")
    assert (report["split"], report["answered"]) == (split, 3)
    assert report["scores"][0]["value"] == 100.0


def test_a_log_of_a_split_that_is_not_there(nikawa: Nikawa, harbour: Path, tmp_path: Path) -> None:
    """Its ids are those of other items: nothing is scored, and the message says why."""
    rows = []
    for place in range(4):
        doc = {"id": str(place), "premise": "夜が明けて船が出る。", "hypothesis": f"朝だ{place}。"}
        rows.append({"doc_id": place, "doc": doc, "filtered_resps": ["neutral"]})
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = nikawa("score", str(harbour), str(path), "--partial")
    assert done.returncode == 2
    assert "id '0' has different texts in the split" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_answers_to_one_item_refuse_a_log(
    nikawa: Nikawa, harbour: Path, tmp_path: Path
) -> None:
    (example, *_) = examples_of(harbour, "dev")
    rows = [
        {"doc_id": place, "doc": example["inputs"], "filtered_resps": [label]}
        for place, label in enumerate(LABELS[:2])
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = nikawa("score", str(harbour), str(path), "--partial")
    assert done.returncode == 2
    assert "id '0' has a different answer on line 1" in done.stderr
