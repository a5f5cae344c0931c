"""PLMUTE and PLMUTE_ja: invented rows in the published layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.datasets import load
from nikawa.errors import BadInput

FIRST = ",Premise,Hypothesis,Label,Time Diff,Type,Prem Fixed,Temp Type"
THIRD = ",Premise,Hypothesis,Label,Premise Preposition,Higher Duration Unit"


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_the_challenge_sets_are_one_dataset(tmp_path: Path) -> None:
    data = tmp_path / "plmute" / "data"
    write(
        data / "cs1_train.csv",
        FIRST,
        '0,"In May, kites danced.","Before June, kites danced.",Entailment,0.1,SINGLE_month,True,Backward Past',
    )
    write(
        data / "cs3_train.csv",
        THIRD,
        "0,Kites dance in 1 week.,Kites dance after 9 days.,C,in,week",
    )
    examples = load("plmute", data=tmp_path).splits["train"]
    assert [e.id for e in examples] == ["cs1-0", "cs3-0"]
    assert [e.gold["label"] for e in examples] == ["entailment", "contradiction"]
    assert examples[0].inputs["premise"] == "In May, kites danced."
    assert examples[0].meta["template_type"] == "Backward Past"
    assert examples[1].meta == {"challenge": "cs3", "unit": "week"}


def test_the_japanese_set(tmp_path: Path) -> None:
    data = tmp_path / "plmute-ja" / "data" / "plmute"
    row = "7,五月に凧が踊った。,六月以前凧が踊った。,Neutral,0.1,SINGLE_month,True,Forward Past"
    for name in ("cs1_train_ja.csv", "cs1_test_ja.csv", "cs1_train_few_ja.csv"):
        write(data / name, FIRST, row)
    dataset = load("plmute-ja", data=tmp_path)
    assert {split: [e.id for e in es] for split, es in dataset.splits.items()} == {
        "train": ["cs1-7"],
        "test": ["cs1-7"],
    }
    assert dataset.splits["test"][0].gold == {"label": "neutral"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,A.,B.,Perhaps,0.1,x,True,y", "line 2: label 'Perhaps' is unknown"),
        ("0,A.,,Neutral,0.1,x,True,y", "line 2: the hypothesis is empty"),
        ("0,A.,B.,Neutral", "line 2: has 4 columns, the header has 8"),
        ('0,"A.,B.,Neutral,0.1,x,True,y', "line 2: is not CSV: unexpected end of data"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    write(tmp_path / "plmute" / "data" / "cs1_test.csv", FIRST, line)
    with pytest.raises(BadInput, match=message):
        load("plmute", data=tmp_path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "plmute" / "data" / "cs1_test.csv")
    with pytest.raises(BadInput, match="empty"):
        load("plmute", data=tmp_path)
