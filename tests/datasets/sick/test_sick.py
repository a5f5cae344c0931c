"""SICK's table, in English and in translation: invented rows in the published layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput

HEADER = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tentailment_AB\tentailment_BA"
    "\tsentence_A_original\tsentence_B_original\tsentence_A_dataset\tsentence_B_dataset\tSemEval_set"
)
PLACES = {
    "sick": "SICK.txt",
    "sick-nl": "data/tasks/sick_nl/SICK_NL.txt",
    "sick-br": "SICK_BR.txt",
}
Write = Callable[..., Path]


def row(pair: str, a: str, b: str, label: str, score: str, part: str) -> str:
    return (
        f"{pair}\t{a}\t{b}\t{label}\t{score}\tA_x_B\tB_x_A\tA kite\tA bird\tFLICKR\tFLICKR\t{part}"
    )


ROWS = (
    row("1", "Een vlieger danst", "Een vogel slaapt", "NEUTRAL", "2.1", "TRAIN"),
    row("2", "Een vlieger danst", "Iets danst", "ENTAILMENT", "4.4", "TRIAL"),
    row("3", "Geen vlieger danst", "Een vlieger danst", "CONTRADICTION", "3.35", "TEST"),
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(name: str, *rows: str, header: str = HEADER, start: str = "") -> Path:
        path = tmp_path / name / PLACES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(start + "".join(f"{line}\n" for line in (header, *rows)), "utf-8")
        return path

    return put


@pytest.mark.parametrize(
    ("name", "language"), [("sick", "en"), ("sick-nl", "nl"), ("sick-br", "pt")]
)
def test_the_pairs_are_read_with_labels_scores_and_splits(
    name: str, language: str, write: Write, tmp_path: Path
) -> None:
    write(name, *ROWS)
    dataset = load(name, data=tmp_path)
    assert dataset.language == language
    assert {split: [e.id for e in examples] for split, examples in dataset.splits.items()} == {
        "train": ["1"],
        "dev": ["2"],
        "test": ["3"],
    }
    (test,) = dataset.splits["test"]
    assert test.inputs == {"premise": "Geen vlieger danst", "hypothesis": "Een vlieger danst"}
    assert test.gold == {"label": "contradiction", "relatedness": 3.35}
    assert test.group == "Geen vlieger danst"
    assert {f"{name}-nli", f"{name}-sts"} <= set(tasks())


def test_a_byte_order_mark_is_skipped(write: Write, tmp_path: Path) -> None:
    write("sick-br", *ROWS, start="\ufeff")
    assert len(load("sick-br:train", data=tmp_path).splits["train"]) == 1


def test_the_tags_of_jsick_come_by_the_id(write: Write, tmp_path: Path) -> None:
    from nikawa.datasets.jsick.rows import COLUMNS

    write("sick-nl", *ROWS)
    path = tmp_path / "jsick" / "jsick" / "jsick.tsv"
    path.parent.mkdir(parents=True)
    cells = dict.fromkeys(COLUMNS, "") | {"pair_ID": "3", "semtag_short": "Negation#Numerical"}
    path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(cells.values()) + "\n", "utf-8")
    dataset = load("sick-nl", data=tmp_path)
    assert dataset.splits["test"][0].tags == {"Negation", "Numerical"}
    assert not dataset.splits["train"][0].tags


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            row("1", "A", "B", "MAYBE", "2.1", "TRAIN"),
            r"line 2: label 'maybe' is not one of the three",
        ),
        (row("1", "A", "B", "NEUTRAL", "6", "TRAIN"), r"line 2: score '6' is outside 1 to 5"),
        (row("1", "A", " ", "NEUTRAL", "2", "TRAIN"), r"line 2: the hypothesis is empty"),
        (row("1", "A", "B", "NEUTRAL", "2", "TRAINING"), r"line 2: data 'training' is not train"),
        ("1\tA\tB", r"line 2: has 3 columns, the header has 12"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(
    line: str, message: str, write: Write, tmp_path: Path
) -> None:
    write("sick", line)
    with pytest.raises(BadInput, match=message):
        load("sick", data=tmp_path)


def test_a_missing_column_is_named(write: Write, tmp_path: Path) -> None:
    write("sick", header=HEADER.replace("SemEval_set", "set"))
    with pytest.raises(BadInput, match="column 'SemEval_set' is missing"):
        load("sick", data=tmp_path)


def test_jsick_with_the_labels_of_sick(shared_data: Path) -> None:
    both = load("jsick-en-labels", data=shared_data)
    japanese, english = load("jsick", data=shared_data), load("jsick-en", data=shared_data)
    for split, examples in both.splits.items():
        assert [e.inputs for e in examples] == [e.inputs for e in japanese.splits[split]]
        assert [e.gold for e in examples] == [e.gold for e in english.splits[split]]
