from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.jcola import PHENOMENA, read
from nikawa.errors import BadInput

FOLDER = "jcola/data/jcola-v1.0"
Put = Callable[..., Path]
DEV = f"{FOLDER}/in_domain_valid-v1.0.json"


def sentence(number: int, label: int | None = 1, **other: Any) -> dict[str, Any]:
    row = {
        "uid": number,
        "source": "Kakuu_1999",
        "diacritic": "g" if label else "*",
        "sentence": "花子が笛を吹いた。",
        "original": "花子が笛を吹いた",
    }
    return row | ({} if label is None else {"label": label}) | other


def annotated(number: int, *phenomena: str) -> dict[str, Any]:
    marks = {name: name in phenomena for name in PHENOMENA}
    return sentence(number, translation=None, gloss="Hanako-Nom flute-Acc blew", **marks)


def table(*rows: dict[str, Any]) -> str:
    lines = [
        list(rows[0]),
        *([("" if v is None else str(v)) for v in row.values()] for row in rows),
    ]
    return "".join("\t".join(cells) + "\n" for cells in lines)


def test_labels_are_words(put: Put, data: Path) -> None:
    put(DEV, [sentence(4), sentence(5, 0)])
    first, second = load("jcola:valid", data=data).splits["dev"]
    assert (first.gold, second.gold) == ({"label": "acceptable"}, {"label": "unacceptable"})
    assert first.id == "4"
    assert first.inputs == {"text": "花子が笛を吹いた。"}
    assert first.meta == {"source": "Kakuu_1999", "diacritic": "g", "original": "花子が笛を吹いた"}


def test_the_annotated_file_is_preferred_and_its_marks_are_tags(put: Put, data: Path) -> None:
    put(f"{FOLDER}/out_of_domain_valid-v1.0.json", [sentence(7)])
    put(f"{FOLDER}/out_of_domain_valid_annotated-v1.0.json", [annotated(7, "Arg. Str.", "binding")])
    (example,) = load("jcola:ood", data=data).splits["ood"]
    assert example.tags == {"Arg. Str.", "binding"}
    assert example.meta["gloss"] == "Hanako-Nom flute-Acc blew"
    assert "translation" not in example.meta


def test_the_plain_file_serves_where_the_annotated_is_absent(put: Put, data: Path) -> None:
    put(f"{FOLDER}/out_of_domain_valid-v1.0.json", [sentence(7)])
    assert load("jcola:ood-valid", data=data).splits["ood"][0].tags == frozenset()


@pytest.mark.parametrize(
    "rows", [[sentence(1), sentence(2, 0)], [annotated(3, "simple"), annotated(4)]]
)
def test_json_and_table_give_the_same(put: Put, rows: list[dict[str, Any]]) -> None:
    path = put(DEV, rows)
    other = path.with_suffix(".tsv")
    other.write_text(table(*rows), "utf-8")
    assert list(read(path)) == list(read(other))


def test_a_named_file_is_put_into_its_own_split(put: Put) -> None:
    path = put("elsewhere/out_of_domain_valid-v1.0.json", [sentence(7)])
    assert list(load(f"jcola@{path}").splits) == ["ood"]
    assert list(load(f"jcola:train@{path}").splits) == ["train"]


@pytest.mark.parametrize("row", [sentence(1, None), sentence(1) | {"label": None}])
def test_a_hidden_label_is_no_gold(put: Put, data: Path, row: dict[str, Any]) -> None:
    put(f"{FOLDER}/out_of_domain_test-v1.0.json", [row])
    (example,) = load("jcola:ood-test", data=data).splits["ood-test"]
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_a_hidden_label_of_a_table_is_no_gold(put: Put) -> None:
    path = put(DEV, []).with_suffix(".tsv")
    path.write_text(table(sentence(1) | {"label": None}), "utf-8")
    assert [e.gold for e in read(path)] == [{}]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (sentence(1, 2), "label 2 is unknown; expected: 1 (acceptable) or 0"),
        (sentence(1) | {"uid": "x"}, "expected `int`, got `str` at uid"),
        ({"uid": 1, "source": "s"}, "missing required field `sentence`"),
        (sentence(1, binding="yes"), "expected `bool`, got `str` at binding"),
    ],
)
def test_a_broken_row_is_refused(put: Put, row: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read(put(DEV, [row])))
    assert f"line 1: {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (sentence(1) | {"label": "yes"}, "invalid literal for int"),
        (sentence(1, binding="yes"), "Expected `bool`, got `str`"),
        (sentence(1, colour="red"), "unknown field `colour`"),
        (sentence(1) | {"sentence": ""}, "missing required field `sentence`"),
    ],
)
def test_a_broken_row_of_a_table_is_refused(put: Put, row: dict[str, Any], said: str) -> None:
    path = put(DEV, []).with_suffix(".tsv")
    path.write_text(table(row), "utf-8")
    with pytest.raises(BadInput) as caught:
        list(read(path))
    assert "line 2" in str(caught.value)
    assert said in str(caught.value)


def test_a_table_without_a_column_is_refused(put: Put) -> None:
    path = put(DEV, []).with_suffix(".tsv")
    path.write_text("uid\tsource\tsentense\n", "utf-8")
    with pytest.raises(BadInput, match="column 'sentence' is missing; did you mean 'sentense'"):
        list(read(path))


def test_the_published_files(shared_data: Path) -> None:
    dataset = load("jcola", data=shared_data)
    counts = {
        s: Counter(e.gold["label"] for e in examples) for s, examples in dataset.splits.items()
    }
    assert counts == {
        "train": {"acceptable": 5769, "unacceptable": 1150},
        "dev": {"acceptable": 726, "unacceptable": 139},
        "ood": {"acceptable": 502, "unacceptable": 183},
    }
    assert {tag for e in dataset.splits["ood"] for tag in e.tags} == set(PHENOMENA)
    assert all(
        (e.meta["diacritic"] == "g") == (e.gold["label"] == "acceptable")
        for e in dataset.splits["train"]
    )


def test_published_json_and_tables_are_the_same(shared_data: Path) -> None:
    files = sorted((shared_data / "jcola").glob("data/jcola-v1.0/*.json"))
    assert len(files) == 4
    for path in files:
        assert list(read(path)) == list(read(path.with_suffix(".tsv")))
