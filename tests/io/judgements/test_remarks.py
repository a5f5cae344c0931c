"""Decisions, reports and comments in files of judgements: no form of file lets them count as answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.io.judgements import open_judgements, write_judgements
from nikawa.io.judgements.remarks import (
    AnswersOnly,
    kind_of,
    name_person,
    remarks_file,
    write_remarks_beside,
)
from nikawa.io.records import write_records
from nikawa.records import Judgement

ANSWERS = [
    Judgement(example="i1", worker="aki", question="label", answer="yes", comment="=迷った"),
    Judgement(example="i1", worker="beni", question="label", answer="no"),
]
DECISIONS = [
    Judgement(
        example="i1",
        worker="decision:rin",
        question="label",
        answer=answer,
        at=f"2026-11-16T1{n}:00:00.000+00:00",
        kind="decision",
        comment=f"理由{n}",
    )
    for n, answer in enumerate(("no", "yes"))
]
REPORT = Judgement(
    example="i2",
    worker="aki",
    question="report",
    answer="broken",
    kind="report",
    comment="欠けている",
)


@pytest.mark.parametrize(
    "name", ["all.jsonl", "all.jsonl.zst", "all.tsv", "all.parquet", "all.json"]
)
def test_records_part_them(tmp_path: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    write_records(path, [*ANSWERS, DECISIONS[0], REPORT, DECISIONS[1]])
    reading = open_judgements(path)
    assert [one for _, one in reading.rows] == ANSWERS
    assert [one for _, one in reading.decisions] == DECISIONS
    assert [one for _, one in reading.reports] == [REPORT]
    assert [one for _, one in reading.comments] == ANSWERS[:1]


def test_older_exports_tell_a_decision_by_its_worker(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    line = '{"example": "i1", "worker": "%s", "question": "label", "answer": "yes"}\n'
    names = ("aki", "decision:rin", "tie-decision:rin", "decisions", "decision")
    path.write_text("".join(line % name for name in names), "utf-8")
    reading = open_judgements(path)
    assert [one.worker for _, one in reading.rows] == ["aki", "decisions", "decision"]
    assert [(one.kind, name_person(one)) for _, one in reading.decisions] == [
        ("decision", "rin"),
        ("tie-decision", "rin"),
    ]
    assert kind_of(ANSWERS[0]) == "person"


def test_a_sheet_has_columns_for_them(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = (
        "example,worker,answer,comment,kind",
        "i1,aki,yes,'=迷った,",
        "i1,beni,no,,main",  # a word of another tool
        "i1,decision:rin,yes,理由,decision",
        "i2,aki,broken,,report",
    )
    path.write_text("\n".join(rows) + "\n", "utf-8")
    reading = open_judgements(path)
    assert [(one.worker, one.comment) for _, one in reading.rows] == [
        ("aki", "=迷った"),
        ("beni", ""),
    ]
    assert [one.comment for _, one in reading.decisions] == ["理由"]
    assert [one.answer for _, one in reading.reports] == ["broken"]


def test_a_form_without_room_has_them_beside(tmp_path: Path) -> None:
    path = tmp_path / "yahoo.tsv"
    answers = AnswersOnly([*ANSWERS, *DECISIONS, REPORT])
    assert write_judgements(path, answers, "yahoo") == 2
    assert write_remarks_beside(path, answers.apart) == remarks_file(path)
    reading = open_judgements(path)
    assert [(one.worker, one.comment) for _, one in reading.rows] == [
        ("aki", "=迷った"),
        ("beni", ""),
    ]
    assert [one for _, one in reading.decisions] == DECISIONS
    assert [one for _, one in reading.reports] == [REPORT]
    # an export without any leaves no file of an earlier one to be read with it
    assert write_remarks_beside(path, []) is None
    assert not remarks_file(path).exists()


def test_the_folder_in_hand_has_its_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "round").mkdir()
    monkeypatch.chdir(tmp_path / "round")
    assert remarks_file(Path()) == (tmp_path / "round.remarks.jsonl").resolve()
