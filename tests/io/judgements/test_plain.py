"""Files read column by column: the same table as record by record, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nikawa.aggregation.judgements import build_table, build_tables, open_source
from nikawa.aggregation.rules import parse_rules
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput
from nikawa.io import coding
from nikawa.io.judgements import JudgementOptions, plain

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

ODD_ANSWERS = [
    "",
    " yes",
    "３",
    "か\u3099",
    "'=1",
    "[1]",
    '["a","b"]',
    '{"heads":[0]}',
    '\'["a"]',
    "a\nb",
    'a"b',
    "nan",
]
PLAIN_ANSWERS = ["yes", "no", "3", "3.0", "-2.5", "007", "긍정", "1e3", "NA", "null", "True"]
ODD_WORKERS = [
    "",
    " ann",
    "model:a#1",
    "simulated:x",
    "decision:owner",
    "'@x",
    "'x",
    "ann\u3000",
    "\x1fann",
]
PLAIN_WORKERS = ["ann", "ben", "eve", "佐藤", "worker 4"]
KINDS = ["person", "machine", "decision", "report"]


def draw_rows(odd: bool) -> st.SearchStrategy[list[dict[str, Any]]]:
    """A few judgements, each of another item or worker mostly; odd ones hold what only the record reader takes."""
    answers = st.sampled_from(PLAIN_ANSWERS + (ODD_ANSWERS if odd else []))
    workers = st.sampled_from(PLAIN_WORKERS + (ODD_WORKERS if odd else []))
    more: dict[str, st.SearchStrategy[Any]] = {"seconds": st.sampled_from([1, 2.5, 0.1])}
    if odd:
        more |= {
            "comment": st.sampled_from(["", "hm"]),
            "kind": st.sampled_from(KINDS),
            "at": st.just("2026-11-01"),
        }
    row = st.fixed_dictionaries(
        {
            "example": st.sampled_from([f"q{n}" for n in range(12)] + (["", "'+q"] if odd else [])),
            "worker": workers,
            "question": st.sampled_from(["label", "label", "label", "score"] if odd else ["label"]),
            "answer": answers,
        },
        optional=more,
    )
    unique = None if odd else (lambda one: (one["example"], one["worker"]))
    return st.lists(row, min_size=1, max_size=25, unique_by=unique)


def describe(table: Table) -> dict[str, Any]:
    """Everything a table holds, as plain values."""
    seconds = None if table.seconds is None else table.seconds.astype(object).tolist()
    return {
        "question": table.question,
        "codes": [column.tolist() for column in (table.item, table.worker, table.answer)],
        "types": [column.dtype for column in (table.item, table.worker, table.answer)],
        "names": [list(table.items), list(table.workers)],
        "categories": [(type(answer), answer) for answer in table.categories],
        "seconds": None if seconds is None else [str(value) for value in seconds],
        "missing": table.missing,
    }


def read_table(path: Path, question: str | None, options: JudgementOptions, slow: bool) -> Any:
    """What reading a file gives: the table and the notes, or the error."""
    try:
        source = open_source(str(path), None, options)
        if slow:
            assert source.reading is not None
            source.reading.plain = lambda: None
        table = build_table(source, question)
    except BadInput as problem:
        return str(problem)
    return describe(table), source.notes, len(source.machines), source.decisions, source.form


def check_both(path: Path, question: str | None = None, **how: Any) -> None:
    options = JudgementOptions(**how)
    assert read_table(path, question, options, False) == read_table(path, question, options, True)


def is_plain(path: Path, **how: Any) -> bool:
    reading = open_source(str(path), None, JudgementOptions(**how)).reading
    assert reading is not None
    return reading.plain() is not None


def write_lines(path: Path, rows: list[dict[str, Any]], spaced: bool = False) -> None:
    marks = None if spaced else (",", ":")
    lines = [json.dumps(row, ensure_ascii=spaced, separators=marks) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


def write_sheet(path: Path, rows: list[dict[str, Any]], end: str = "\n") -> None:
    """A sheet as people write it by hand: nothing is quoted."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    mark = "\t" if path.suffix == ".tsv" else ","
    heading = ["task" if name == "example" else name for name in names]
    cells = [heading, *([str(row.get(name, "")) for name in names] for row in rows)]
    text = "".join(mark.join(line) + end for line in cells)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    pa.parquet.write_table(
        pa.table({name: [row.get(name) for row in rows] for name in names}), path, row_group_size=7
    )


Writer = Callable[[Path, list[dict[str, Any]]], None]
WRITERS: dict[str, Writer] = {
    "a.jsonl": write_lines,
    "b.jsonl": lambda path, rows: write_lines(path, rows, spaced=True),
    "a.csv": write_sheet,
    "b.csv": lambda path, rows: write_sheet(path, rows, "\r\n"),
    "b.tsv": write_sheet,
    "a.parquet": write_parquet,
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few rows, so that columns are put together of several."""
    monkeypatch.setattr(plain, "ROWS_AT_A_TIME", 5)
    monkeypatch.setattr(plain, "BLOCK_BYTES", 256)
    monkeypatch.setattr(coding, "MAX_BYTES_HELD", 64)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("odd", [False, True], ids=["plain", "odd"])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_both_ways_give_the_same_table(
    name: str, odd: bool, data: st.DataObject, tmp_path: Path
) -> None:
    rows = data.draw(draw_rows(odd))
    path = tmp_path / name
    WRITERS[name](path, rows)
    check_both(path)
    check_both(path, "label")
    if not odd:
        assert is_plain(path)


START = '{"example":"q1","worker":"ann","question":"label","answer":"yes"}\n'
LINES = {
    "a name twice": '{"example":"q2","worker":"ann","worker":"ben","question":"label","answer":"no"}\n',
    "a name twice, escaped": '{"example":"q2","worker":"ann","w\\u006frker":"b","question":"label","answer":"no"}\n',
    "an unknown field": '{"example":"q2","worker":"ann","question":"label","answer":"no","x":1}\n',
    "no worker": '{"example":"q2","question":"label","answer":"no"}\n',
    "a blank line": "\n",
    "cut short": '{"example":"q2","worker":"ann","que',
    "spans": '{"example":"q2","worker":"ann","question":"label","answer":[{"start":0,"end":1,"label":"PS"}]}\n',
    "a pre-label": '{"example":"q2","worker":"ann","question":"label","answer":"no","prelabel":{"answer":"no","worker":"model:a#1"}}\n',
    "the same again": START,
    "another question": START.replace("label", "score"),
    "a model": START.replace("ann", "model:a#1"),
    "CR LF": START.replace("q1", "q2").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_odd_lines_are_left_to_the_record_reader(line: str, tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    path.write_bytes((START + line).encode())
    check_both(path)


@pytest.mark.parametrize(
    ("answers", "plain_file"),
    [
        (["yes", None], True),
        ([1, True], True),
        ([1.0, "1"], True),
        ([10**30, 1], True),
        ([[], 1], False),
    ],
    ids=str,
)
def test_values_of_json(answers: list[Any], plain_file: bool, tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    rows = [
        {"example": f"q{n}", "worker": "a", "question": "label", "answer": a}
        for n, a in enumerate(answers)
    ]
    write_lines(path, rows)
    check_both(path)
    assert is_plain(path) == plain_file


SHEETS = {
    "a quoted cell": ('task,worker,answer\nq1,ann,"yes, please"\n', {}),
    "too few cells": ("task,worker,answer\nq1,ann\n", {}),
    "a blank row": ("task,worker,answer\nq1,ann,yes\n\n,,\nq2,ann,no\n", {}),
    "a lone CR": ("task,worker,answer\nq1,an\rn,yes\n", {}),
    "no rows": ("task,worker,answer\n", {}),
    "wide": ("id,回答1,回答2\nq1,yes,no\n", {}),
    "two questions": ("task,worker,a,b\nq1,ann,yes,no\n", {"mapping": {"example": "task", "worker": "worker", "answer.a": "a", "answer.b": "b"}}),
    "a question named": ("task,worker,a,question\nq1,ann,yes,x\n", {"mapping": {"example": "task", "worker": "worker", "answer.a": "a", "question": "question"}}),
    "a blank question": ("task,worker,a,question\nq1,ann,yes,\n", {"mapping": {"example": "task", "worker": "worker", "answer.a": "a", "question": "question"}}),
    "times": ("task,worker,answer,seconds\nq1,ann,yes,1:02\nq1,ben,yes,\n", {}),
    "a wrong time": ("task,worker,answer,seconds\nq1,ann,yes,soon\n", {}),
    "questions renamed": ("task,worker,answer,question\nq1,ann,yes,x\n", {"questions": {"label": "x"}}),
    "a byte order mark": ("\ufefftask,worker,answer\nq1,ann,yes\n", {}),
    "a byte order mark in the second line": ("answer,task,worker\nq1,ann,yes\n".replace("\n", "\n\ufeff", 1), {}),
    "no last line end": ("task,worker,answer\nq1,ann,yes", {}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "how"), SHEETS.values(), ids=SHEETS)
def test_odd_sheets_are_left_to_the_record_reader(
    text: str, how: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(text.encode())
    check_both(path, **how)


def test_a_sheet_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes("タスクID,ランサーID,回答\n1,佐藤,はい\n1,鈴木,いいえ\n".encode("cp932"))
    check_both(path)
    assert not is_plain(path)


def test_a_file_with_remarks_beside_it_is_not_plain(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    path.write_text(START)
    assert is_plain(path)
    remark = START.replace('"ann"', '"decision:owner"').replace("}", ',"kind":"decision"}')
    (tmp_path / "judgements.jsonl.remarks.jsonl").write_text(remark)
    assert not is_plain(path)
    check_both(path)


@pytest.mark.parametrize(
    "columns",
    [
        {"answer": pa.array([1, 2], pa.uint8())},
        {"answer": pa.array([0.5, float("nan")])},
        {"answer": pa.array([True, False])},
        {"answer": pa.array(["a", None])},
        {"answer": pa.array(["a", "b"]).dictionary_encode()},
        {"answer": pa.array([[1], [2]])},
        {"seconds": pa.array([None, 2.0])},
        {"seconds": pa.array([None, 2], pa.int64())},
        {"worker": pa.array([1, 2])},
        {"worker": pa.DictionaryArray.from_arrays([0, 1], ["ann", "ann"])},
        {"comment": pa.array(["", None])},
        {"kind": pa.array(["person", "report"])},
        {"at": pa.array([b"\xff", b"x"]).view(pa.string())},
        {"answer": pa.array([b"\xff", b"x"]).view(pa.string())},
    ],
    ids=range(14),
)
def test_columns_of_parquet(columns: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "judgements.parquet"
    texts = {"example": ["q1", "q2"], "worker": ["ann", "ben"], "question": ["label"] * 2}
    pa.parquet.write_table(pa.table({**texts, "answer": ["yes", "no"], **columns}), path)
    check_both(path)


ZEROS = [("x", -0.0), ("y", 0.0), ("y", 1.0)]
"""Questions and their answers: 0 was given to another question as -0.0."""


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_zeros_of_other_questions_have_their_own_sign(name: str, tmp_path: Path) -> None:
    rows = [
        {"example": f"q{n}", "worker": "a", "question": question, "answer": answer}
        for n, (question, answer) in enumerate(ZEROS)
    ]
    path = tmp_path / name
    if name.endswith(".parquet"):
        write_parquet(path, rows)
    else:  # lines of different shapes are decoded one by one
        write_lines(path, [*rows[:-1], dict(reversed(rows[-1].items()))])
    table = build_table(open_source(str(path), None, JudgementOptions()), "y")
    assert [str(answer) for answer in table.categories] == ["0.0", "1.0"]


def test_a_question_without_a_name_is_one_of_several(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    path.write_text(START + START.replace('"label"', '""'))
    assert is_plain(path)
    with pytest.raises(BadInput, match="answer several questions"):
        build_tables(open_source(str(path), None, JudgementOptions()), parse_rules(["majority"]))
    for slow in (False, True):  # the rule without a name is about the question that is asked
        source = open_source(str(path), None, JudgementOptions())
        assert source.reading is not None
        source.reading.plain = (lambda: None) if slow else source.reading.plain
        table = build_tables(source, parse_rules(["majority"]), "label")[""]
        assert table.question == "label"


def test_times_that_are_not_a_number_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("task,worker,answer,seconds\nq1,ann,yes,nan\nq1,ben,yes,NaN\n")
    check_both(path)
    assert is_plain(path)


@pytest.mark.filterwarnings("error")
def test_times_of_more_than_all_the_world_are_left_to_the_record_reader(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    path.write_text(START.replace("}", ',"seconds":1e39}'))
    check_both(path)
    assert not is_plain(path)


def test_items_that_are_not_known_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    path.write_text(START)
    source = open_source(str(path), None, JudgementOptions(), {})
    with pytest.raises(BadInput, match="answers about 'q1', which is not an example"):
        build_table(source)
