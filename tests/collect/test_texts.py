"""Texts on their way out: cells of sheets and messages."""

from __future__ import annotations

import csv
import io
import re

import pytest

from nikawa.collect.export import csv_lines
from nikawa.collect.form import REPORTS
from nikawa.collect.site import page_message, page_messages
from nikawa.io.judgements.formula_escape import guard_cell
from nikawa.records import Judgement
from nikawa.serve.languages import LANGUAGES


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\u00a0=1"]
)
def test_no_sheet_runs_a_cell(cell: str) -> None:
    assert guard_cell(cell) == f"'{cell}"
    judgement = Judgement(example=cell, worker=cell, question="q", answer=cell)
    rows = list(
        csv.reader(io.StringIO(b"".join(csv_lines([judgement])).decode("utf-8-sig"), newline=""))
    )
    assert all(value.startswith("'") for value in (rows[1][0], rows[1][1], rows[1][3]))


def test_numbers_stay_numbers_in_a_sheet() -> None:
    lines = csv_lines([Judgement(example="a", worker="w", question="q", answer=-1.5)])
    assert b"".join(lines).splitlines()[1] == b"a,w,q,-1.5,,,,"


def test_messages_have_the_same_keys_and_values_in_all_languages() -> None:
    tables = {language: page_messages(language) for language in LANGUAGES}
    keys = {language: set(table) for language, table in tables.items()}
    assert keys["ja"] == keys["ko"] == keys["en"]
    for key in keys["en"]:
        assert (
            len({tuple(sorted(re.findall(r"\{(\w+)\}", table[key]))) for table in tables.values()})
            == 1
        ), key
        assert all(table[key].strip() for table in tables.values())
    assert {f"report_{code}" for code in REPORTS} <= keys["en"]
    assert page_message("ja", "left", {"left": 3}) == "残り3件"
    assert page_message("xx", "left") == " left"
