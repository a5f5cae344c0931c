"""Sheets of any platform: encodings, headings, column maps; what is noted and what is refused, by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, Note, find_lines, open_judgements, parse_map
from nikawa.io.judgements.crowd import recognise_columns
from nikawa.records import Judgement

LONG = "example=task,worker=user,answer=label"


def sheet(folder: Path, text: str, name: str = "s.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(
    path: Path, mapping: str | None = LONG, **more: Any
) -> tuple[list[Judgement], tuple[Note, ...]]:
    reading = open_judgements(
        path, JudgementOptions(mapping=parse_map(mapping) if mapping else None, **more)
    )
    rows = [judgement for _, judgement in reading.rows]
    return rows, reading.notes.report()


def refused(path: Path, mapping: str | None = LONG) -> str:
    with pytest.raises(BadInput) as caught:
        read(path, mapping)
    said = str(caught.value)
    assert "\n" not in said
    return said.replace(str(path), path.name)


def test_long_sheet_by_map(tmp_path: Path) -> None:
    path = sheet(tmp_path, "task,user,label,sec,when\n1,ann,yes,12.5,2024-05-01\n2,ben,3,1:05,\n")
    rows, notes = read(path, f"{LONG},seconds=sec,at=when")
    assert rows == [
        Judgement(
            example="1", worker="ann", question="label", answer="yes", seconds=12.5, at="2024-05-01"
        ),
        Judgement(example="2", worker="ben", question="label", answer=3, seconds=65.0),
    ]
    assert notes == ()


def test_questions_from_a_column_or_from_several(tmp_path: Path) -> None:
    path = sheet(tmp_path, "task,user,q,label,score\n1,ann,fit,yes,4\n")
    assert [(j.question, j.answer) for j in read(path, f"{LONG},question=q")[0]] == [("fit", "yes")]
    several = "example=task,worker=user,answer.fit=label,answer.score=score"
    assert [(j.question, j.answer) for j in read(path, several)[0]] == [
        ("fit", "yes"),
        ("score", 4),
    ]


def test_wide_sheet_by_pattern(tmp_path: Path) -> None:
    path = sheet(tmp_path, "id,rater_a,rater_b\n1,yes,no\n2,,no\n")
    reading = open_judgements(
        path, JudgementOptions(mapping=parse_map("example=id,answer=rater_*"))
    )
    assert [(n, j.worker, j.answer) for n, j in reading.rows] == [
        (2, "rater_a", "yes"),
        (2, "rater_b", "no"),
        (3, "rater_b", "no"),
    ]
    assert reading.workers_are == "columns"
    assert [(n.what, n.count, n.lines) for n in reading.notes.report()] == [
        ("blank answers", 1, (3,))
    ]


def test_oddities_are_counted_by_line(tmp_path: Path) -> None:
    text = "task,user,label\n1,ann,４\n2,ann, 3\n3,ann,\u30003 \n4,ann,\n,,\n5,ann,\u3000\n"
    rows, notes = read(sheet(tmp_path, text))
    assert [j.answer for j in rows] == [4, 3, 3]
    assert {(n.what, n.count, n.lines) for n in notes} == {
        ("full-width digits", 1, (2,)),
        ("stray spaces", 2, (3, 4)),
        ("blank answers", 2, (5, 7)),
        ("blank rows", 1, (6,)),
    }


def test_wide_letters_are_labels_as_they_are(tmp_path: Path) -> None:
    rows, notes = read(sheet(tmp_path, "task,user,label\n1,ann,ＹＥＳ\n1,ben,007\n"))
    assert [j.answer for j in rows] == ["ＹＥＳ", "007"]
    assert notes == ()


@pytest.mark.parametrize(
    ("encoding", "label", "said"),
    [
        ("utf-8", "含意", "sheet in utf-8"),
        ("utf-8-sig", "含意", "sheet in utf-8 with a byte order mark"),
        ("cp932", "はい、そうです", "sheet in cp932"),
        ("euc-jp", "はい、そうです", "sheet in euc-jp"),
        ("cp949", "그렇습니다", "sheet in cp949"),
    ],
)
def test_encodings_are_detected_and_said(
    tmp_path: Path, encoding: str, label: str, said: str
) -> None:
    path = sheet(tmp_path, f"task,user,label\r\n1,ann,{label}\r\n", encoding=encoding)
    reading = open_judgements(path, JudgementOptions(mapping=parse_map(LONG)))
    assert reading.form == said
    assert [(n, j.answer) for n, j in reading.rows] == [(2, label)]


def test_a_named_encoding_is_taken(tmp_path: Path) -> None:
    path = sheet(tmp_path, "task,user,label\n1,ann,猫\n", encoding="cp932")
    assert read(path, LONG, encoding="cp932")[0][0].answer == "猫"
    with pytest.raises(BadInput, match="line 2: byte 7 is not utf-8"):
        read(path, LONG, encoding="utf-8")
    with pytest.raises(BadInput, match="there is no encoding 'klingon'"):
        read(path, LONG, encoding="klingon")


@pytest.mark.parametrize(
    ("heading", "mapping"),
    [
        ("設問ID\tワーカーID\t回答\t作業時間（秒）", {"example", "worker", "answer", "seconds"}),
        ("작업ID\t작업자ID\t응답\t제출일시", {"example", "worker", "answer", "at"}),
        ("Task ID\tUser_ID\tlabel", {"example", "worker", "answer"}),
        ("pair_ID\t回答1\t回答2\t回答3", {"example", "answer"}),
        ("guid\t작업자 1\t작업자 2", {"example", "answer"}),
        ("guid\ttext", None),
    ],
)
def test_headings_are_recognised(heading: str, mapping: set[str] | None) -> None:
    found = recognise_columns(heading.split("\t"))
    assert (found.keys() if found else found) == mapping


@pytest.mark.parametrize(
    ("heading", "item", "answer"),
    [
        ("항목,작업자,라벨", "항목", "라벨"),
        ("항목 ID,작업자,답", "항목 ID", "답"),
        ("作業ID,作業者ID,回答", "作業ID", "回答"),
        ("作業ID,設問ID,作業者ID,判断,回答", "設問ID", "回答"),
        ("항목,문항,작업자,응답", "문항", "응답"),
    ],
)
def test_a_word_that_may_mean_something_else_counts_where_no_other_does(
    heading: str, item: str, answer: str
) -> None:
    found = recognise_columns(heading.split(","))
    assert found is not None
    assert (found["example"], found["answer"]) == (item, answer)


def test_a_recognised_wide_sheet(tmp_path: Path) -> None:
    path = sheet(tmp_path, "設問ID,回答1,回答2,備考\n7,はい,いいえ,\n")
    assert [(j.worker, j.answer) for j in read(path, None)[0]] == [
        ("回答1", "はい"),
        ("回答2", "いいえ"),
    ]


def test_quotes_part_cells_between_commas_only(tmp_path: Path) -> None:
    csv = sheet(tmp_path, 'task,user,label\n1,ann,"yes, and\nno"\n2,ann,no\n')
    assert find_lines(csv, JudgementOptions(mapping=parse_map(LONG)), ("2", "ann", "label")) == [
        (csv, 4)
    ]
    tsv = sheet(tmp_path, 'task\tuser\tlabel\n1\tann\t"yes\n', "s.tsv")
    assert read(tsv)[0][0].answer == '"yes'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s.csv: is empty; write a header line and rows"),
        ("\ufeff", "s.csv: is empty; write a header line and rows"),
        (
            "\ntask,user,label\n1,ann,yes\n",
            "s.csv, line 1: is blank, but must have the names of the columns; write the header in the first line",
        ),
        (
            "task,,label\n1,ann,x\n",
            "s.csv, line 1: column 2 has no name, perhaps because of a merged heading",
        ),
        ("task,user,user\n1,a,b\n", "s.csv, line 1: column 'user' occurs twice"),
        ("task,user,labels\n1,a,b\n", "line 1: column 'label' is missing; did you mean 'labels'?"),
        ("task,user,label\n1,ann\n", "s.csv, line 2: has 2 cells, but the heading has 3"),
        ("task,user,label\n1,ann,x\n2,,x\n", "s.csv, line 3: names no worker; fill in the cell"),
        ("task,user,label\n ,ann,x\n", "s.csv, line 2: names no item"),
        (
            'task,user,label\n1,ann,x\n2,ann,"x\n3,ann,x\n',
            "s.csv, line 3: cannot be split into cells",
        ),
        ("task,user,label\n1,ann,a\0b\n", "s.csv, line 2: holds a NUL character"),
    ],
)
def test_hostile_sheets(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(sheet(tmp_path, text))


def test_mixed_encodings(tmp_path: Path) -> None:
    head, one, other = b"task,user,label\n", "1,ann,はいそうです\n", "2,ann,いいえ違います\n"
    path = tmp_path / "s.csv"
    path.write_bytes(head + one.encode() + other.encode("cp932"))
    assert "s.csv, line 3: has a different encoding than line 2" in refused(path)
    path.write_bytes(head + one.encode("cp932") + other.encode())
    assert "s.csv, line 3: has a different encoding than line 2" in refused(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("task,user,label\n1,a,b\n".encode("utf-16"), "is UTF-16; save it as CSV UTF-8"),
        (b"PK\x03\x04rest", "is a workbook, not a sheet"),
        (b"PAR1\x15\x04\x00\n", "is a Parquet file, not a sheet; save it as CSV"),
        (b"task,user,label\n1,a,\xff\xfe\xfd\n", "is neither UTF-8 nor Shift_JIS"),
    ],
)
def test_what_is_no_sheet(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(content)
    assert said in refused(path)


def test_unknown_headings_ask_for_a_map(tmp_path: Path) -> None:
    said = refused(sheet(tmp_path, "a,b,c\n1,2,3\n"), None)
    assert "line 1: the columns are not recognised (a, b, c); pass --map example=COLUMN" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example", "does not map a column"),
        ("example=a,person=b,answer=c", "there is no field 'person'"),
        ("example=a,example=b,answer=c", "example is mapped twice"),
        ("worker=b,answer=c", "lacks example or answer"),
    ],
)
def test_bad_maps(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_map(text)


def test_a_map_without_workers(tmp_path: Path) -> None:
    assert "has no column for workers" in refused(
        sheet(tmp_path, "task,user,label\n1,a,b\n"), "example=task,answer=label"
    )


def test_times_that_are_none(tmp_path: Path) -> None:
    path = sheet(tmp_path, "task,user,label,sec\n1,a,b,soon\n")
    assert "line 2: the time 'soon' is not a number of seconds" in refused(
        path, f"{LONG},seconds=sec"
    )
