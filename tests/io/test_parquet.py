from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from nikawa.errors import BadInput, MissingExtra
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Span

Complain = Callable[[str, bytes], BadInput]


def table(path: Path, **columns: list[Any]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table({k.replace("__", "."): v for k, v in columns.items()}), path)
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
        ({"id": ["1", "1"], "inputs__text": ["x", "y"]}, "row 2: id '1' was on row 1 already"),
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
            id="1", inputs={"text": "石橋", "n": 1}, gold={"spans": spans, "score": 0.5}, meta={"x": "a"}
        ),
        Example(id="2", inputs={"text": "木橋", "n": 2}, gold={"spans": [], "score": 1}, meta={"x": 3}),
    ]
    path = tmp_path / "x.parquet"
    write_records(path, examples)
    types = {field.name: str(field.type) for field in pyarrow.parquet.read_schema(path)}
    assert types["inputs.n"] == "int64"
    assert types["gold.score"] == "double"
    assert types["gold.spans"] == "list<element: struct<start: int64, end: int64, label: string>>"
    assert types["meta.x"] == "string"  # mixed: JSON text
    assert list(read_examples(path)) == examples


def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"nikawa\[tables\]"):
        write_records(tmp_path / "x.parquet", [Example(id="1", inputs={"text": "橋"})])
    assert list(tmp_path.iterdir()) == []
