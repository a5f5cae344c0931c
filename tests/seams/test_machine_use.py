"""Machines from judgements to the released dataset: aggregate, split, card, lineage, export; and through a build."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import nikawa as nk
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

Run = Callable[..., CompletedProcess[str]]
ITEMS = 40
HOSTILE = "model:<img src=x onerror=alert(1)>#1"


def judge(item: int, worker: str, answer: str, kind: Any = "person") -> Judgement:
    return Judgement(example=str(item), worker=worker, question="label", answer=answer, kind=kind)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Two persons who differ on every tenth item, and two models; one has a name that is markup."""
    path = tmp_path / "judgements.jsonl"
    rows = []
    for item in range(ITEMS):
        truth, other = ("yes", "no") if item % 2 else ("no", "yes")
        rows.append(judge(item, "aki", truth))
        rows.append(judge(item, "ben", other if item % 10 == 3 else truth))
        rows.append(judge(item, "model:m#1", truth, "machine"))
        rows.append(judge(item, HOSTILE, other if item % 5 == 1 else truth))
    write_records(path, rows)
    examples = [Example(id=str(n), inputs={"text": f"文{n}です。"}) for n in range(ITEMS)]
    write_records(tmp_path / "examples.jsonl", examples)
    return path


@pytest.mark.parametrize("use", ["ignore", "tie-break"])
def test_the_card_and_the_lineage_say_what_machines_did(
    nikawa: Run, judged: Path, tmp_path: Path, use: str
) -> None:
    gold, out, hub = tmp_path / "gold", tmp_path / "out", tmp_path / "hub"
    made = nikawa(
        "aggregate", str(judged), "--rule", "majority", "--machines", use,
        "--examples", str(tmp_path / "examples.jsonl"), "--out", str(gold),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    parted = nikawa("split", str(gold / "examples.jsonl"), "--by", "random", "--out", str(out))
    assert parted.returncode == 0, parted.stderr
    labels = json.loads((out / "card.json").read_text("utf-8"))["labels"]
    done = "their answers are not counted" if use == "ignore" else "broke 4 ties of persons (label)"
    assert "Machines: " in labels
    assert done in labels
    assert "Alternative annotator test" in labels
    assert "model:m#1 passes: winning rate 1.00 (2 of 2 persons)" in labels
    entries = [json.loads(row) for row in (out / "lineage.jsonl").read_text("utf-8").splitlines()]
    by_item = {entry["item"]: entry for entry in entries}
    assert len(by_item) == (ITEMS - 4 if use == "ignore" else ITEMS)
    kinds = {row["worker"]: row.get("kind", "person") for row in by_item["1"]["judgements"]}
    assert (kinds["aki"], kinds["model:m#1"], kinds[HOSTILE]) == ("person", "machine", "machine")
    assert ("3" in by_item) == (use == "tie-break")
    if use == "tie-break":
        step = by_item["3"]["steps"][0]["rule"]
        assert "machines: tie-break (" in step
        assert "model:m#1 yes" in step
        assert "machines" not in by_item["1"]["steps"][0]["rule"]
    sent = nikawa("data", "export", str(out), "--to", "hf", "--out", str(hub))
    assert sent.returncode == 0, sent.stderr
    page = (hub / "README.md").read_text("utf-8")
    assert done in page
    assert "<img" not in page


def test_a_dataset_made_in_a_notebook_has_the_same_card(judged: Path) -> None:
    result = nk.aggregate(judged, machines="tie-break", examples=judged.parent / "examples.jsonl")
    labels = result.to_dataset().card.labels
    assert labels.startswith("Made from workers' answers by nikawa aggregate: label by majority")
    assert "broke 4 ties of persons (label)" in labels
    assert "Alternative annotator test" in labels
    assert "machine_verdict" not in repr(result).splitlines()[0]
