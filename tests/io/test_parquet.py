from __future__ import annotations

import builtins
import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from nikawa.errors import BadInput, MissingExtra
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Span

Complain = Callable[[str, bytes], BadInput]


def table(path: Path, **columns: list[Any]) -> Path:
    pyarrow.parquet.write_table(
        pyarrow.table({k.replace("__", "."): v for k, v in columns.items()}), path
    )
    return path


def test_not_parquet(complain: Complain) -> None:
    assert "is not Parquet" in str(complain("x.parquet", b"not parquet at all, though long enough"))
    assert "is not Parquet" in str(complain("y.parquet", b""))


def test_cut_short(complain: Complain, tmp_path: Path) -> None:
    whole = table(tmp_path / "w.parquet", id=["1"], inputs__text=["橋"]).read_bytes()
    assert "is not Parquet" in str(complain("x.parquet", whole[: len(whole) // 2]))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["1"]}, "column 'inputs.NAME' is missing"),
        ({"inputs__text": ["x"]}, "column 'id' is missing"),
        ({"id": ["1"], "inputs__text": ["x"], "colour": ["red"]}, "unknown column 'colour'"),
        ({"id": [1], "inputs__text": ["x"]}, "row 1: expected `str`, got `int` at id"),
        ({"id": ["1", None], "inputs__text": ["x", "y"]}, "row 2: missing required field `id`"),
        ({"id": ["1", "1"], "inputs__text": ["x", "y"]}, "row 2: the id '1' is already on row 1"),
        ({"id": pyarrow.array([], pyarrow.string()), "inputs__text": []}, "holds no records"),
    ],
)
def test_wrong_columns(tmp_path: Path, columns: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(BadInput, match=r"x\.parquet: ") as caught:
        list(read_examples(table(tmp_path / "x.parquet", **columns)))
    assert words in str(caught.value)


def test_columns_are_typed(tmp_path: Path) -> None:
    spans = [Span(0, 2, "LC")]
    examples = [
        Example(
            id="1",
            inputs={"text": "石橋", "n": 1},
            gold={"spans": spans, "score": 0.5},
            meta={"x": "a"},
        ),
        Example(
            id="2", inputs={"text": "木橋", "n": 2}, gold={"spans": [], "score": 1.0}, meta={"x": 3}
        ),
    ]
    path = tmp_path / "x.parquet"
    write_records(path, examples)
    types = {field.name: str(field.type) for field in pyarrow.parquet.read_schema(path)}
    assert types["inputs.n"] == "int64"
    assert types["gold.score"] == "double"
    assert types["gold.spans"] == "list<element: struct<start: int64, end: int64, label: string>>"
    assert types["meta.x"] == "string"  # mixed: JSON text
    assert list(read_examples(path)) == examples


@pytest.mark.parametrize(
    "value", [[1, 2.5], [[1], [2.5]], {"a": [1, 2.5]}, 1, 2.5, [1, 2**60, 0.5]]
)
def test_integers_stay_integers(tmp_path: Path, value: Any) -> None:
    given = [Example(id=str(n), inputs={"v": v}) for n, v in enumerate([value, 3, 0.5])]
    write_records(tmp_path / "x.parquet", given)
    assert repr(list(read_examples(tmp_path / "x.parquet"))) == repr(given)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([float("nan")], "column 'meta.v' holds NaN or Infinity"),
        ([[1.0, float("inf")]], "column 'meta.v' holds NaN or Infinity"),
        ([{"a": float("-inf")}], "column 'meta.v' holds NaN or Infinity"),
        ([datetime.date(2020, 1, 1)], "column 'meta.v' is date32[day]"),
        ([b"bytes"], "column 'meta.v' is binary"),
        ([[decimal.Decimal("1.5")]], "column 'meta.v' is list<element: decimal128(2, 1)>"),
    ],
)
def test_values_that_json_has_not(tmp_path: Path, values: list[Any], words: str) -> None:
    path = table(tmp_path / "x.parquet", id=["1"], inputs__text=["x"], meta__v=values)
    with pytest.raises(BadInput, match=r"x\.parquet: ") as caught:
        list(read_examples(path))
    assert words in str(caught.value)


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    columns = [pyarrow.array(["1"]), pyarrow.array(["a"]), pyarrow.array(["b"])]
    both = pyarrow.Table.from_arrays(columns, names=["id", "inputs.text", "inputs.text"])
    pyarrow.parquet.write_table(both, tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=r"x\.parquet: column 'inputs\.text' occurs twice"):
        list(read_examples(tmp_path / "x.parquet"))


def test_a_column_marked_as_json_that_is_not(tmp_path: Path) -> None:
    field = pyarrow.field("inputs.n", pyarrow.int64(), metadata={"nikawa": "json"})
    schema = pyarrow.schema([("id", pyarrow.string()), field])
    pyarrow.parquet.write_table(pyarrow.table([["1"], [1]], schema=schema), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match=r"column 'inputs\.n' is int64; make it JSON text"):
        list(read_examples(tmp_path / "x.parquet"))


@pytest.mark.slow
def test_damaged_anywhere(tmp_path: Path) -> None:
    """Whatever byte is wrong: it reads, or it is a `BadInput` of one short line."""
    path, random = tmp_path / "x.parquet", Random(1)
    words = [{"form": "橋", "lemma": "橋", "pos": "NN"}]
    given = [
        Example(id=str(n), inputs={"text": "橋" * n, "words": words, "n": n}, meta={"x": [n, 0.5]})
        for n in range(9)
    ]
    write_records(path, given)
    whole = path.read_bytes()
    said = []
    for _ in range(1500):
        broken = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            broken[random.randrange(len(broken))] = random.randrange(256)
        path.write_bytes(broken)
        try:
            list(read_examples(path))
        except BadInput as problem:
            said.append(str(problem))
    assert len(said) > 500
    assert max(map(len, said)) < 500


def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"install .*\[tables\]'"):
        write_records(tmp_path / "x.parquet", [Example(id="1", inputs={"text": "橋"})])
    assert list(tmp_path.iterdir()) == []
