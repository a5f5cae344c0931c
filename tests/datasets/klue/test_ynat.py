from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.ynat import read
from nikawa.datasets.load import load, read_judgements
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]


def record(number: int, **changes: Any) -> dict[str, Any]:
    scopes = {
        "first-scope": ["사회", "세계", "사회"],
        "second-scope": ["해당없음", "사회", "해당없음"],
        "third-scope": ["해당없음", "해당없음", "해당없음"],
    }
    return {
        "guid": f"ynat-v1_dev_{number:05}",
        "title": "하늘섬 새 다리 다음 달 열린다",
        "predefined_news_category": "경제",
        "label": "사회",
        "annotations": {"annotators": ["07", "18", "06"], "annotations": scopes},
        "url": "https://example.org/1",
        "date": "2020.01.02. 오전 9:00",
    } | changes


def test_headline(lay: Lay) -> None:
    (example,) = read(lay("ynat", "dev", [record(0)]))
    assert example.inputs == {"text": "하늘섬 새 다리 다음 달 열린다"}
    assert example.gold == {"label": "사회"}
    assert example.meta["category"] == "경제", "the section is not the label"
    assert example.meta["date"] == "2020.01.02. 오전 9:00"


def test_choices_by_rank(lay: Lay, tmp_path: Path) -> None:
    lay("ynat", "dev", [record(0)])
    found = [(j.worker, j.question, j.answer) for j in read_judgements("ynat", data=tmp_path)]
    assert found == [
        ("07", "label", "사회"),
        ("18", "label", "세계"),
        ("06", "label", "사회"),
        ("18", "label-2", "사회"),
    ]


def test_hidden_test_and_all_splits(lay: Lay, tmp_path: Path) -> None:
    lay("ynat", "train", [record(0)])
    lay("ynat", "test", [{"guid": "ynat-v1_test_00000", "title": "오늘의 바다"}])
    dataset = load("ynat", data=tmp_path)
    assert {split: len(examples) for split, examples in dataset.splits.items()} == {
        "train": 1,
        "test": 1,
    }
    (hidden,) = dataset.splits["test"]
    assert (hidden.gold, hidden.meta) == ({}, {})
    assert hidden.origin is not None
    assert hidden.origin.gold == "hidden"


def test_label_without_majority(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    lay("ynat", "dev", [record(0), record(1, label="세계")])
    assert trapped("ynat", tmp_path)["label-not-majority"].ids == ("ynat:dev/ynat-v1_dev_00001",)


def test_broken_records(lay: Lay, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="record 1: unknown label '문화'"):
        list(read(lay("ynat", "dev", [record(0, label="문화")])))
    lay(
        "ynat",
        "dev",
        [record(0, annotations={"annotators": ["07"], "annotations": {"first-scope": []}})],
    )
    assert list(read_judgements("ynat", data=tmp_path)) == []
    votes = {"annotators": ["07"], "annotations": {"first-scope": ["사회", "세계"]}}
    lay("ynat", "dev", [record(0, annotations=votes)])
    with pytest.raises(BadInput, match="record 1: 1 workers gave 2 answers"):
        list(read_judgements("ynat", data=tmp_path))
