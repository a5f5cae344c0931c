from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.jcommonsenseqa import read
from nikawa.errors import BadInput
from nikawa.records import Finding

Put = Callable[..., Path]
Findings = Callable[..., dict[tuple[str, str], Finding]]
DEV = "jglue/datasets/jcommonsenseqa-v1.3/valid-v1.3.json"


def item(
    number: int, choices: str = "鍋,窓,海,紙,靴", label: int | None = 2, **other: Any
) -> dict[str, Any]:
    row = {"q_id": number, "question": "貝殻を拾える場所は？", "label": label, **other}
    return row | {f"choice{i}": choice for i, choice in enumerate(choices.split(","))}


def test_reads_five_choices_and_the_place_of_the_right_one(put: Put, data: Path) -> None:
    put(DEV, [item(8939)])
    (example,) = load("jcommonsenseqa:dev", data=data).splits["dev"]
    assert example.id == "8939"
    assert example.inputs == {
        "question": "貝殻を拾える場所は？",
        "choices": ["鍋", "窓", "海", "紙", "靴"],
    }
    assert example.gold == {"choice": 2}


def test_white_space_is_kept_and_found(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [item(1), item(2, question=" 空は何色？"), item(3, "鍋,鍋 ,海\u3000,紙,靴")])
    example = load("jcommonsenseqa:dev", data=data).splits["dev"][2]
    assert example.inputs["choices"][:3] == ["鍋", "鍋 ", "海\u3000"]
    found = findings("jcommonsenseqa", data)
    assert found["edge-blank-questions", "dev"].ids == ("jcommonsenseqa:dev/2",)
    assert found["edge-blank-choices", "dev"].count == 2
    assert found["edge-blank-choices", "dev"].ids == ("jcommonsenseqa:dev/3",)
    assert found["equal-choices", "dev"].ids == ("jcommonsenseqa:dev/3",)


def test_a_hidden_label_is_no_gold(put: Put) -> None:
    (example,) = read(put(DEV, [item(0, label=None)]))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


@pytest.mark.parametrize("label", [-1, 5])
def test_a_label_that_names_no_choice_is_refused(put: Put, label: int) -> None:
    with pytest.raises(BadInput, match=rf"line 1: label {label} is outside 0 to 4"):
        list(read(put(DEV, [item(0, label=label)])))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (item(0, "鍋,窓,海,紙"), "missing required field `choice4`"),
        (item(0) | {"label": "2"}, "got `str` at label"),
        (item(0) | {"q_id": "0"}, "got `str` at q_id"),
    ],
)
def test_a_broken_row_is_refused(put: Put, row: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read(put(DEV, [row])))
    assert "line 1" in str(caught.value)
    assert said in str(caught.value)


def test_the_published_files(shared_data: Path, findings: Findings) -> None:
    dataset = load("jcommonsenseqa", data=shared_data)
    assert [e.id for e in dataset.splits["train"]] == [str(n) for n in range(8939)]
    assert [e.id for e in dataset.splits["dev"]] == [str(n) for n in range(8939, 10058)]
    found = findings("jcommonsenseqa", shared_data)
    assert {place: f.count for place, f in found.items()} == {
        ("edge-blank-questions", "train"): 13,
        ("edge-blank-questions", "dev"): 5,
        ("edge-blank-choices", "train"): 12,
        ("edge-blank-choices", "dev"): 1,
        ("equal-choices", "train"): 1,
    }
    assert found["equal-choices", "train"].ids == ("jcommonsenseqa:train/7644",)
