"""Texts that start like a formula: guarded in a sheet, and as they were when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.io.judgements import open_judgements
from nikawa.io.judgements.formula_escape import guard_cell, unguard_cell


@pytest.mark.parametrize(
    "text", ["=1", "-", "\u00a0=1", "\x0b@x", '"=1+1"', '" =1', "\tx", "\r", "\u3000＋", " \n=1"]
)
def test_guarded_and_bare_again(text: str) -> None:
    assert guard_cell(text) == f"'{text}"
    assert unguard_cell(guard_cell(text)) == text


@pytest.mark.parametrize("value", ["plain", "'quoted'", "'", "", "a=1", -1.5, None, ["=1"]])
def test_all_else_stays(value: object) -> None:
    assert guard_cell(value) is value
    assert unguard_cell(value) is value


@pytest.mark.parametrize(("name", "tab"), [("j.csv", ","), ("j.tsv", "\t")])
def test_a_sheet_is_read_as_it_was_meant(tmp_path: Path, name: str, tab: str) -> None:
    rows = [
        ["example", "worker", "question", "answer"],
        ["'=1", "'@w", "label", "'+"],
        ["b", "w", "label", "'tis"],
    ]
    (tmp_path / name).write_text("".join(tab.join(row) + "\n" for row in rows), "utf-8")
    found = [
        (row.example, row.worker, row.answer) for _, row in open_judgements(tmp_path / name).rows
    ]
    assert found == [("=1", "@w", "+"), ("b", "w", "'tis")]


def test_records_are_no_sheet(tmp_path: Path) -> None:
    line = '{"example": "a", "worker": "w", "question": "label", "answer": "\'=1"}\n'
    (tmp_path / "j.jsonl").write_text(line, "utf-8")
    assert [row.answer for _, row in open_judgements(tmp_path / "j.jsonl").rows] == ["'=1"]
