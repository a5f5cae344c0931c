"""The stress sets: where the original premise and the gold come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nikawa.datasets import load
from nikawa.datasets.jsick.jsick_stress import FOLDERS, read
from nikawa.errors import BadInput, MissingData
from nikawa.records import Origin

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]
TRUE_PREMISE = "凧が古い塔を巡っている"
ANSWERS = "jsick-stress/jsick-stress-all-annotations.tsv"


def test_an_inherited_pair(write: Write) -> None:
    (example,) = read(write("jsick-stress/ex_ga_ni/test.tsv", [{"pair_ID": "33"}]))
    assert example.inputs["premise"] == "凧を古い塔が巡っている"
    assert example.gold == {"label": "entailment", "relatedness": 4.3}
    assert example.meta == {
        "split": "swap-ni",
        "inherited_label": "entailment",
        "inherited_relatedness": 4.3,
        "changed": True,
        "original_premise": TRUE_PREMISE,
    }
    assert example.group == TRUE_PREMISE
    assert example.origin == Origin(
        recipe="jsick-stress", parents=("jsick:test/33",), step="swap-ni", gold="inherited"
    )


def test_a_judged_pair_has_the_workers_gold(write: Write) -> None:
    write(ANSWERS, [{"pair_ID": "33_wo_o"}, {"pair_ID": "34_wo_c", "rephrase_type": "c"}])
    judged, other = read(
        write("jsick-stress/scrum_ga_o/test.tsv", [{"pair_ID": "33"}, {"pair_ID": "34"}])
    )
    assert judged.gold == {"label": "neutral", "relatedness": 3.3}
    assert (judged.meta["inherited_label"], judged.meta["inherited_relatedness"]) == (
        "entailment",
        4.3,
    )
    assert judged.origin is not None
    assert judged.origin.gold == "annotated"
    assert other.gold == {"label": "entailment", "relatedness": 4.3}
    assert other.origin is not None
    assert other.origin.gold == "inherited"


@pytest.mark.parametrize(
    "beside", ["jsick-stress/ex_ga_o/test.tsv", "jsick-stress/del_ga_o/test.tsv"]
)
def test_the_original_of_a_scrambled_pair_comes_from_a_set_beside_it(
    write: Write, beside: str
) -> None:
    write(beside, [{}])
    (example,) = read(write("jsick-stress/scrum_ga_o/test.tsv", [{}]))
    assert example.meta["original_premise"] == TRUE_PREMISE
    assert example.meta["published_prediction"] == "neutral"


@pytest.mark.parametrize("above", ["jsick/test.tsv", "jsick/jsick.tsv"])
def test_or_from_the_pairs_themselves(write: Write, above: str) -> None:
    write(above, [{}])
    (example,) = read(write("jsick-stress/scrum_ga_de/test.tsv", [{}]))
    assert example.meta["original_premise"] == example.group == TRUE_PREMISE


def test_or_is_left_out_rather_than_wrong(write: Write) -> None:
    (example,) = read(write("jsick-stress/scrum_ga_ni/test.tsv", [{}]))
    assert "original_premise" not in example.meta
    assert example.group == example.inputs["premise"]


def test_changed_is_written_in_two_ways(write: Write) -> None:
    rows = [{"pair_ID": str(n), "mod_A": text} for n, text in enumerate(("TRUE", "True", "FALSE"))]
    examples = read(write("jsick-stress/del_ga_o/test.tsv", rows))
    assert [e.meta["changed"] for e in examples] == [True, True, False]


def test_changed_is_nothing_else(write: Write) -> None:
    path = write("jsick-stress/del_ga_o/test.tsv", [{"mod_A": "maybe"}])
    with pytest.raises(BadInput, match=r"line 2: mod_A 'maybe' is neither TRUE nor FALSE"):
        list(read(path))


def test_each_folder_is_a_set(write: Write, data: Path) -> None:
    for folder in FOLDERS:
        write(f"jsick-stress/{folder}/test.tsv", [{}])
    assert set(load("jsick-stress", data=data).splits) == {
        f"{operation}-{particle}"
        for operation in ("scramble", "swap", "delete")
        for particle in ("o", "ni", "de")
    }
    assert list(load("jsick-stress:scrum_ga_ni", data=data).splits) == ["scramble-ni"]
    assert list(load(f"jsick-stress@{data}/jsick/jsick-stress/del_ga_de/test.tsv").splits) == [
        "delete-de"
    ]


def test_a_file_out_of_its_folder_is_refused(write: Write, data: Path) -> None:
    path = write("jsick-stress/ex_ga_o/test.tsv", [{}])
    lone = data / "moved.tsv"
    lone.write_bytes(path.read_bytes())
    with pytest.raises(
        BadInput, match="does not identify its set; keep it in its published folder"
    ):
        list(read(lone))
    named = data / "ex_ga_o.tsv"
    named.write_bytes(path.read_bytes())
    assert [e.meta["split"] for e in read(named)] == ["swap-o"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ({"rephrase_type": "x"}, "'x' names no stress set"),
        ({"case_particles": "he"}, "'he' names no stress set"),
        ({"entailment_label_Ja": "none"}, "label 'none'"),
        ({"relatedness_score_Ja3": "many"}, "score 'many' is not a number"),
    ],
)
def test_broken_answers_are_named(write: Write, cell: dict[str, str], said: str) -> None:
    answers = write(ANSWERS, [cell])
    with pytest.raises(BadInput) as problem:
        list(read(write("jsick-stress/ex_ga_o/test.tsv", [{}])))
    assert str(problem.value).startswith(f"{answers}, line 2: {said}")


def test_published_sets(shared_data: Path) -> None:
    splits = load("jsick-stress", data=shared_data).splits
    sizes = {"o": 1666, "de": 1006}
    assert {
        name: len(examples) for name, examples in splits.items() if not name.endswith("-ni")
    } == {
        f"{operation}-{particle}": size
        for operation in ("scramble", "swap", "delete")
        for particle, size in sizes.items()
    }
    premises = {
        e.id: e.inputs["premise"] for e in load("jsick:test", data=shared_data).splits["test"]
    }
    for examples in splits.values():
        assert all(e.meta["original_premise"] == premises[e.id] for e in examples)
        assert all(e.meta["changed"] for e in examples)
        assert Counter(e.origin.gold for e in examples if e.origin)["annotated"] == 100


def test_an_absent_set_is_said_to_be_absent(write: Write, data: Path) -> None:
    write("jsick-stress/ex_ga_o/test.tsv", [{}])
    with pytest.raises(MissingData, match="jsick-stress:swap-ni is not in"):
        load("jsick-stress:swap-ni", data=data)
