"""The workers' answers as judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nikawa.datasets import read_judgements
from nikawa.errors import BadInput, MissingData

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]
ANSWERS = "jsick/jsick-all-annotations.tsv"
STRESS = "jsick-stress/jsick-stress-all-annotations.tsv"


def test_each_answer_is_a_judgement(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"pair_ID": "9", "data": "trial"}])
    write(ANSWERS, [{"pair_ID": "9", "entailment_label_Ja2": "neutral"}])
    found = list(read_judgements("jsick", data=data))
    assert {j.example for j in found} == {"jsick:dev/9"}
    assert [(j.worker, j.question, j.answer) for j in found] == [
        ("Ja1", "label", "entailment"),
        ("Ja2", "label", "neutral"),
        ("Ja3", "label", "entailment"),
        ("Ja1", "relatedness", 4.0),
        ("Ja2", "relatedness", 4.0),
        ("Ja3", "relatedness", 5.0),
    ]


def test_full_width_digits_are_answers(write: Write, data: Path) -> None:
    write(ANSWERS, [{"relatedness_score_Ja3": "２"}])
    answers = [j.answer for j in read_judgements("jsick", data=data) if j.question == "relatedness"]
    assert answers == [4.0, 4.0, 2.0]


def test_blank_cells_are_no_answers(write: Write, data: Path) -> None:
    write(ANSWERS, [{"entailment_label_Ja1": "", "relatedness_score_Ja2": ""}])
    found = Counter((j.worker, j.question) for j in read_judgements("jsick", data=data))
    assert found.total() == 4
    assert not found["Ja1", "label"]
    assert not found["Ja2", "relatedness"]


def test_without_the_released_table_the_split_is_unknown(write: Write, data: Path) -> None:
    write(ANSWERS, [{"pair_ID": "9"}])
    assert {j.example for j in read_judgements("jsick", data=data)} == {"jsick:all/9"}
    assert len(list(read_judgements("jsick:all", data=data))) == 6
    with pytest.raises(MissingData, match="the splits of jsick's judgements is missing"):
        list(read_judgements("jsick:test", data=data))


def test_the_answers_of_one_split(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"pair_ID": "9", "data": "trial"}, {"pair_ID": "10", "data": "test"}])
    write(ANSWERS, [{"pair_ID": "9"}, {"pair_ID": "10"}])
    assert [j.example for j in read_judgements("jsick:test", data=data)] == ["jsick:test/10"] * 6
    assert {j.example for j in read_judgements("jsick:trial", data=data)} == {"jsick:dev/9"}


def test_remarks_are_kept_as_written(write: Write, data: Path) -> None:
    write(
        STRESS,
        [
            {
                "pair_ID": "12_ni_d",
                "case_particles": "ni",
                "rephrase_type": "d",
                "naturalness_Ja2": "\u3000",
            }
        ],
    )
    found = list(read_judgements("jsick-stress", data=data))
    assert {j.example for j in found} == {"jsick-stress:delete-ni/12"}
    remarks = [j.answer for j in found if j.question == "naturalness"]
    assert remarks == ["文Ａは並びが少し不自然です", "\u3000", "文Aはとても不自然だ"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ({"entailment_label_Ja3": "yes"}, "label 'yes' is not one of the three"),
        ({"relatedness_score_Ja1": "7"}, "score '7' is outside 1 to 5"),
        ({"relatedness_score_Ja1": "四"}, "score '四' is not a number"),
    ],
)
def test_broken_answers_are_named(
    write: Write, data: Path, cell: dict[str, str], said: str
) -> None:
    path = write(ANSWERS, [{"pair_ID": "1"}, {"pair_ID": "2", **cell}])
    with pytest.raises(BadInput) as problem:
        list(read_judgements("jsick", data=data))
    assert str(problem.value).startswith(f"{path}, line 3: {said}")


@pytest.mark.parametrize("name", ["jsick", "jsick-stress"])
def test_an_absent_file_is_named(data: Path, name: str) -> None:
    with pytest.raises(
        MissingData, match=r"all-annotations.tsv: the workers' answers are not here; fetch it"
    ):
        list(read_judgements(name, data=data))


def test_published_answers(shared_data: Path) -> None:
    found = list(read_judgements("jsick", data=shared_data))
    assert Counter((j.worker, j.question) for j in found) == {
        ("Ja1", "label"): 9926,
        ("Ja2", "label"): 9926,
        ("Ja3", "label"): 9927,
        ("Ja1", "relatedness"): 9927,
        ("Ja2", "relatedness"): 9924,
        ("Ja3", "relatedness"): 9927,
    }
    assert Counter(j.example.partition("/")[0] for j in found if j.worker == "Ja3") == {
        "jsick:train": 9000,
        "jsick:dev": 1000,
        "jsick:test": 9854,
    }


def test_published_stress_answers(shared_data: Path) -> None:
    found = list(read_judgements("jsick-stress", data=shared_data))
    assert Counter(j.question for j in found) == dict.fromkeys(
        ("label", "relatedness", "naturalness"), 2700
    )
    assert set(Counter(j.example.partition("/")[0] for j in found).values()) == {900}
