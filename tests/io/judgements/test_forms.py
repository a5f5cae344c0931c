"""Our records, Label Studio, doccano and the platforms' sheets: in, out and round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.io.judgements import (
    DIALECTS,
    JudgementOptions,
    Reading,
    open_judgements,
    write_judgements,
    write_tasks,
)
from nikawa.io.judgements.base import BLANK, SPACES, WIDE
from nikawa.records import Example, Judgement

ROWS = [
    Judgement(
        example="d:test/1",
        worker="ann",
        question="label",
        answer="含意",
        seconds=4.5,
        at="2024-05-01",
    ),
    Judgement(example="d:test/1", worker="ben", question="label", answer="中立"),
    Judgement(example="d:test/2", worker="ann", question="label", answer=3),
]
PLAIN = [
    Judgement(
        example=j.example,
        worker=j.worker,
        question="label",
        answer=str(j.answer).replace("中", "矛"),
    )
    for j in ROWS[:2]
]
EXAMPLES = {"d:test/1": Example(id="1", inputs={"text": "雨が降る。"})}


def taken(path: Path, how: JudgementOptions | None = None) -> list[Judgement]:
    return [judgement for _, judgement in open_judgements(path, how).rows]


@pytest.mark.parametrize("name", ["j.jsonl", "j.jsonl.gz", "j.tsv", "j.json"])
def test_records_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert write_judgements(path, ROWS) == 3
    assert open_judgements(path).form == "records"
    assert taken(path) == ROWS


@pytest.mark.parametrize("platform", ["yahoo", "lancers"])
def test_platform_sheets_round_trip(tmp_path: Path, platform: str) -> None:
    path = tmp_path / ("r.tsv" if platform == "yahoo" else "r.csv")
    assert write_judgements(path, ROWS, platform) == 3
    reading = open_judgements(path)
    assert reading.form == f"sheet in {DIALECTS[platform].encoding}"
    assert [judgement for _, judgement in reading.rows] == ROWS


def test_a_korean_sheet_round_trips(tmp_path: Path) -> None:
    rows = [Judgement(example="1", worker="김하나", question="질문", answer="그렇습니다")]
    write_judgements(tmp_path / "r.csv", rows, "selectstar")
    assert "응답".encode("cp949") in (tmp_path / "r.csv").read_bytes()
    assert taken(tmp_path / "r.csv") == rows


def test_label_studio_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "ls.json"
    assert write_judgements(path, ROWS, "label-studio", examples=EXAMPLES) == 2
    data = json.loads(path.read_text("utf-8"))[0]["data"]
    assert (data["text"], data["example"]) == ("雨が降る。", "d:test/1")
    reading = open_judgements(path)
    assert (reading.form, reading.workers_are) == ("label-studio", "persons")
    assert [judgement for _, judgement in reading.rows] == ROWS


def test_doccano_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    assert write_judgements(folder, PLAIN, "doccano", examples=EXAMPLES) == 2
    assert sorted(p.name for p in folder.iterdir()) == ["ann.jsonl", "ben.jsonl"]
    assert json.loads((folder / "ann.jsonl").read_text("utf-8"))["text"] == "雨が降る。"
    assert taken(folder) == PLAIN


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    write_judgements(path, ROWS, "lancers")
    with pytest.raises(BadInput, match="already exists"):
        write_judgements(path, ROWS, "lancers")
    assert write_judgements(path, ROWS, "lancers", overwrite=True) == 3


def test_task_sheets(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    two = Example(id="2", inputs={"premise": "犬が走る。", "hypothesis": "動物が、走る。"})
    assert write_tasks(path, [("d:test/2", two)], "lancers") == 1
    assert path.read_bytes().decode("cp932") == (
        "タスクID,premise,hypothesis\r\nd:test/2,犬が走る。,動物が、走る。\r\n"
    )


def test_characters_a_platform_lacks(tmp_path: Path) -> None:
    odd = Example(id="1", inputs={"text": "猫\U0001f431"})
    with pytest.raises(BadInput, match="d:test/1 contains '\U0001f431', which cp932 cannot encode"):
        write_tasks(tmp_path / "t.csv", [("d:test/1", odd)], "lancers")
    assert not list(tmp_path.iterdir())


def test_tabs_do_not_fit_a_tsv(tmp_path: Path) -> None:
    odd = Example(id="1", inputs={"text": "a\tb"})
    with pytest.raises(BadInput, match="a cell of 'd:test/1' contains a tab or a line break"):
        write_tasks(tmp_path / "t.tsv", [("d:test/1", odd)], "yahoo")


def studio(*annotations: dict[str, Any], **task: Any) -> str:
    return json.dumps([{"id": 7, "data": {"text": "x"}, "annotations": annotations, **task}])


def choice(*choices: str, **more: Any) -> dict[str, Any]:
    value = {"choices": list(choices)}
    return {"completed_by": 3, "result": [{"from_name": "mood", "value": value}], **more}


def opened(tmp_path: Path, text: str, name: str = "x.json", form: str | None = None) -> Reading:
    (tmp_path / name).write_text(text, "utf-8")
    return open_judgements(tmp_path / name, JudgementOptions(form=form))


def test_label_studio_as_exported(tmp_path: Path) -> None:
    by = {"id": 5, "email": "ben@example.org"}
    rating = {
        "completed_by": by,
        "result": [{"from_name": "fit", "value": {"rating": 4}}],
        "lead_time": 2.5,
    }
    text = studio(choice("happy"), rating, choice("sad", was_cancelled=True), {"completed_by": 4})
    reading = opened(tmp_path, text)
    assert list(reading.rows) == [
        (1, Judgement(example="7", worker="3", question="mood", answer="happy")),
        (
            1,
            Judgement(example="7", worker="ben@example.org", question="fit", answer=4, seconds=2.5),
        ),
    ]
    assert [(n.what, n.count) for n in reading.notes.report()] == [
        ("skipped annotations", 1),
        ("blank answers", 1),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (studio(choice("a", "b")), "task 1: has several choices for 'mood'"),
        (studio(choice("a", completed_by=None)), "task 1: an annotation names no worker"),
        (studio(choice("a"), id=None), "task 1: has no id"),
        (
            studio({"completed_by": 1, "result": [{"value": {"start": 1}}]}),
            r"task 1: has an unsupported kind of answer to 'label' \(start\)",
        ),
    ],
)
def test_label_studio_refusals(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        list(opened(tmp_path, text).rows)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"id":1,"text":"x","label":["a","b"]}', "ann.jsonl, line 1: has 2 labels"),
        ('{"text":"x","label":["a"]}', "line 1: has no id"),
        ('{"id":1,"label":[[0,1]]}', r"line 1: has a label that is not a span: \[0, 1\]"),
        ('{"id":1,"text":"雨","label":[[0,2,"x"]]}', "marks characters up to 2, the text has 1"),
        ('{"id":1,"filename":"a.png","bbox":[]}', r"line 1: marks a picture \(bbox\)"),
    ],
)
def test_doccano_refusals(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        list(opened(tmp_path, row + "\n", "ann.jsonl").rows)


def test_doccano_workers_and_blanks(tmp_path: Path) -> None:
    reading = opened(
        tmp_path, '{"id":1,"label":["a"],"username":"ann"}\n{"id":2,"label":[]}\n', "ben.jsonl"
    )
    assert [(j.worker, j.answer) for _, j in reading.rows] == [("ann", "a")]
    assert [(n.what, n.lines) for n in reading.notes.report()] == [("blank answers", (2,))]
    with pytest.raises(BadInput, match="has no worker, and the file name 'all' does not"):
        list(opened(tmp_path, '{"id":1,"label":["a"]}\n', "all.jsonl").rows)


def test_an_answer_about_an_unknown_item(tmp_path: Path) -> None:
    write_judgements(tmp_path / "j.jsonl", ROWS)
    reading = open_judgements(tmp_path / "j.jsonl")
    with pytest.raises(
        BadInput, match=r"j.jsonl, line 3: answers about 'd:test/2', which is not an example"
    ):
        list(reading.known(EXAMPLES))


def test_unknown_forms(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no form 'brat'"):
        opened(tmp_path, "{}", "x.json", "brat")
    with pytest.raises(BadInput, match="there is no form 'brat'"):
        write_judgements(tmp_path / "o.json", ROWS, "brat")
    with pytest.raises(BadInput, match="there is no platform 'clickworker'"):
        write_tasks(tmp_path / "t.csv", [], "clickworker")


def test_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no \.jsonl files"):
        open_judgements(tmp_path)


def test_a_dataset_folder_is_not_a_file_of_judgements(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text("{}")
    with pytest.raises(BadInput, match=r"the folder is a dataset.*; pass the file of its judgem"):
        open_judgements(tmp_path)
    (tmp_path / "judgements.jsonl").write_text("")
    with pytest.raises(BadInput, match=r"the folder is a dataset.*; pass .*judgements\.jsonl"):
        open_judgements(tmp_path)


def test_answers_in_records_are_cleaned_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    answers = ["E", "E ", " E", "", None, "３", "N"]
    rows = [
        {"example": "x", "worker": f"w{k}", "question": "label", "answer": a}
        for k, a in enumerate(answers)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    reading = open_judgements(path)
    assert [judgement.answer for _, judgement in reading.rows] == [
        "E",
        "E",
        "E",
        None,
        None,
        3,
        "N",
    ]
    assert {note.what: note.count for note in reading.notes.report()} == {
        SPACES: 2,
        BLANK: 1,
        WIDE: 1,
    }
