from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets import benchmarks, load, load_task
from nikawa.datasets.jamp.jamp import read
from nikawa.errors import BadInput
from nikawa.records import Dataset, Finding, Origin

Write = Callable[..., Path]


def test_a_row_becomes_an_example(write_rows: Write, rows: tuple[str, ...]) -> None:
    example = list(read(write_rows(*rows)))[1]
    assert example.id == "2"
    assert example.inputs["hypothesis"] == "ミオは2021年には島に住んでいた。"
    assert example.gold == {"label": "neutral"}
    assert example.tags == {"以来（状態動詞）"}
    assert example.meta == {
        "template": 1,
        "time_format": "年",
        "time_span": "short",
        "category": "以来（状態動詞）",
    }
    assert example.group == "template-1"
    assert example.origin == Origin(recipe="jamp", step="template-1", gold="derived")


def test_the_word_none_is_none(write_rows: Write, rows: tuple[str, ...]) -> None:
    meta = next(read(write_rows(*rows))).meta
    assert (meta["time_format"], meta["time_span"]) == (None, None)


def test_splits_and_their_names(
    write_rows: Write, rows: tuple[str, ...], segmented: tuple[str, ...], tmp_path: Path
) -> None:
    write_rows(*rows)
    write_rows(*rows[:1], name="test_2.tsv")
    write_rows(*rows[:3], name="train_custom-template-easy.tsv")
    write_rows(*segmented, name="train_all_wakati.tsv")
    dataset = load("jamp", data=tmp_path)
    assert {name: len(examples) for name, examples in dataset.splits.items()} == {
        "train": 5,
        "test": 1,
        "template-easy": 3,
        "train-wakati": 5,
    }
    assert dataset.splits["train-wakati"][0].inputs["premise"].startswith("ハ ル は 港")
    assert load("jamp:fragment-easy", data=tmp_path).splits.keys() == {"template-easy"}
    task, examples = load_task("jamp", "test", data=tmp_path)
    assert (task.kind, len(examples)) == ("inference", 1)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "1\tあ。\tい。\tentails\t0\tNone\tNone\t完了",
            "gold_label 'entails' is not a label; did you mean 'entailment'",
        ),
        ("1\tあ。\tい。\tneutral\tzero\tNone\tNone\t完了", "template_num 'zero' is not a number"),
        ("1\tあ。\tい。\tneutral\t0\tNone\tNone", "has 7 columns, the header has 8"),
    ],
)
def test_a_broken_row_is_named(
    write_rows: Write, rows: tuple[str, ...], row: str, says: str
) -> None:
    path = write_rows(rows[0], row)
    with pytest.raises(BadInput) as caught:
        list(read(path))
    assert f"{path}, line 3: {says}" in str(caught.value)


def test_a_missing_column_is_named(write_rows: Write) -> None:
    path = write_rows(header="num\tpremise\thypothesis\tlabel")
    with pytest.raises(
        BadInput, match="line 1: column 'gold_label' is missing; did you mean 'label'"
    ):
        list(read(path))


def check(dataset: Dataset) -> dict[str, Finding]:
    find_problems = benchmarks()["jamp"].find_problems
    assert find_problems is not None
    return {finding.check: finding for finding in find_problems(Path(), dataset)}


def test_traps_in_rows(write_rows: Write, rows: tuple[str, ...], tmp_path: Path) -> None:
    write_rows(*rows)
    found = check(load("jamp", data=tmp_path))
    assert {name: f.ids for name, f in found.items()} == {
        "left-over-template": ("jamp:train/4",),
        "generator-label": ("jamp:train/3763",),
        "year-out-of-range": ("jamp:train/2",),
        "present-before-since": ("jamp:train/2",),
    }
    assert all(f.known for f in found.values())


def test_a_corrected_label_is_no_finding(
    write_rows: Write, rows: tuple[str, ...], tmp_path: Path
) -> None:
    write_rows(rows[4].replace("\tentailment\t", "\tneutral\t"))
    assert check(load("jamp", data=tmp_path)) == {}


def test_twins_that_fit_are_no_finding(
    write_rows: Write, rows: tuple[str, ...], segmented: tuple[str, ...], tmp_path: Path
) -> None:
    write_rows(rows[0], rows[2])
    write_rows(segmented[0], segmented[2], name="train_all_wakati.tsv")
    write_rows(rows[2], name="train_custom-template-easy.tsv")
    assert check(load("jamp", data=tmp_path)) == {}


def test_traps_between_files(
    write_rows: Write, rows: tuple[str, ...], segmented: tuple[str, ...], tmp_path: Path
) -> None:
    write_rows(rows[0], rows[2])
    write_rows(segmented[0].replace("港", "湖"), segmented[2], name="train_all_wakati.tsv")
    write_rows(rows[0], rows[2].replace("塔", "窓"), name="train_custom-template-easy.tsv")
    found = check(load("jamp", data=tmp_path))
    assert found["wakati-mismatch"].ids == ("jamp:train-wakati/1",)
    assert found["not-in-train"].ids == ("jamp:template-easy/3",)
    assert not any(f.known for f in found.values())
    assert len(found) == 2
