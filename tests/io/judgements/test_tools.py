"""Details of other tools' files that the tools' own output in `tests/seams` does not hold: odd rows, and documented forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, Reading, open_judgements, write_judgements
from nikawa.io.judgements.marks import ForeignSpan, place_spans
from nikawa.records import Example, Judgement, Span


def opened(path: Path, *rows: Any, **options: Any) -> Reading:
    """A reading of rows written as JSON lines, as a JSON array (`.json`), or as the text of a sheet."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows[0] if len(rows) == 1 else rows), "utf-8")
    elif path.suffix == ".csv":
        path.write_text(rows[0], "utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return open_judgements(path, JudgementOptions(**options))


def answers(reading: Reading) -> list[tuple[str, str, str, Any]]:
    return [(row.example, row.worker, row.question, row.answer) for _, row in reading.rows]


def notes(reading: Reading) -> dict[str, int]:
    return {note.what: note.count for note in reading.notes.report()}


# Offsets


def test_offsets_in_utf16_units_are_told_by_the_text() -> None:
    text = "🍣と𠮷野が来た"
    by_units = place_spans([ForeignSpan(3, 6, "PS", "𠮷野")], [text])
    assert (by_units.spans, by_units.is_utf16) == ([{"start": 2, "end": 4, "label": "PS"}], True)
    by_characters = place_spans([ForeignSpan(2, 4, "PS", "𠮷野")], [text])
    assert (by_characters.spans, by_characters.is_utf16) == (by_units.spans, False)
    with pytest.raises(ValueError, match="marks '𠮷野' at 1 to 3, where the text is different"):
        place_spans([ForeignSpan(1, 3, "PS", "𠮷野")], [text])


@pytest.mark.parametrize(("start", "end"), [(3, 3), (-1, 2), ("0", 2), (None, 1), (True, 2)])
def test_offsets_that_are_none(start: Any, end: Any) -> None:
    with pytest.raises(ValueError, match="marks characters"):
        place_spans([ForeignSpan(start, end, "PS")], ["雨が降る"])


def test_a_quote_over_two_lines() -> None:
    for quote in ("雨\\n風", "雨\n風"):
        assert place_spans([ForeignSpan(0, 3, "X", quote)], ["雨\n風が"]).spans[0]["end"] == 3


# Label Studio


def region(start: int, end: int, label: str = "PS", **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label], **more}
    return {"from_name": "ner", "type": "labels", "id": f"{start}", "value": value}


def task(*results: Any, text: str = "🍣と佐伯", **more: Any) -> dict[str, Any]:
    annotation = {"completed_by": 1, "result": list(results), **more}
    return {"id": 1, "data": {"text": text}, "annotations": [annotation]}


def test_a_browser_that_counts_utf16_units(tmp_path: Path) -> None:
    reading = opened(tmp_path / "x.json", [task(region(3, 5, text="佐伯"))])
    assert answers(reading) == [("1", "1", "ner", [{"start": 2, "end": 4, "label": "PS"}])]
    assert notes(reading) == {"offsets in UTF-16 units": 1}


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (region(0, 9), "marks characters up to 9, the text has 4"),
        (
            {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "y": 2}},
            "unsupported kind of answer to 'box'",
        ),
        (
            {"from_name": "t", "value": {"taxonomy": [["a", "b"]]}},
            r"of another kind to 't' \(taxonomy\)",
        ),
        (
            {"from_name": "r", "value": {"ranker": {"best": ["a"], "rest": ["b"]}}},
            "several buckets in 'r'",
        ),
        (
            {"from_name": "c", "value": {"choices": ["a"], "start": 0, "end": 1}},
            "unsupported kind of answer to 'c'",
        ),
        ({"type": "relation", "from_id": "0", "to_id": "5"}, "leads from '0', which is not a span"),
    ],
)
def test_results_without_a_place(tmp_path: Path, result: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=f"task 1: .*{reason}"):
        answers(opened(tmp_path / "x.json", [task(result)]))
    fine = {"from_name": "mood", "value": {"choices": ["good"]}}
    reading = opened(tmp_path / "x.json", [task(result, fine)], only="mood")
    assert answers(reading)[-1] == ("1", "1", "mood", "good")
    assert any("cannot be read" in what for what in notes(reading))


def test_a_file_without_any_span_of_a_question_of_spans(tmp_path: Path) -> None:
    assert answers(opened(tmp_path / "x.json", [task()])) == []
    reading = opened(tmp_path / "x.json", [task()], asks_spans=True)
    assert answers(reading) == [("1", "1", "spans", [])]


def test_a_region_with_two_labels_is_two_spans(tmp_path: Path) -> None:
    two = {"from_name": "ner", "value": {"start": 2, "end": 4, "labels": ["PS", "OG"]}}
    ((*_, answer),) = answers(opened(tmp_path / "x.json", [task(two)]))
    assert [span["label"] for span in answer] == ["OG", "PS"]


def test_rows_that_do_not_tell_their_question(tmp_path: Path) -> None:
    row = {"id": 1, "text": "雨", "mood": "good", "annotator": 1, "annotation_id": 2}
    with pytest.raises(BadInput, match=r"which column is the question\? \(text, mood\)"):
        answers(opened(tmp_path / "x.json", [row]))
    reading = opened(tmp_path / "x.json", [row], questions={"label": "mood"})
    assert answers(reading) == [("1", "1", "label", "good")]
    behind = {"text": "雨", "id": 1, "mood": "good", "annotator": 1, "annotation_id": 2}
    assert answers(opened(tmp_path / "x.json", [behind])) == [("1", "1", "mood", "good")]


def test_what_label_studio_cannot_hold_is_not_written(tmp_path: Path) -> None:
    row = Judgement(
        example="1", worker="w", question="q", answer=[{"question": "?", "answer": "!"}]
    )
    for form in ("label-studio", "doccano"):
        with pytest.raises(BadInput, match="w's answer to 'q' about 1"):
            write_judgements(tmp_path / "out", [row], form)
    with pytest.raises(BadInput, match="has an input 'example'"):
        write_judgements(
            tmp_path / "x.json",
            [],
            "label-studio",
            examples={"1": Example(id="1", inputs={"example": "x"})},
        )
    assert not list(tmp_path.glob("*.json"))


def test_a_configuration_lies_beside_the_tasks(tmp_path: Path) -> None:
    rows = [
        Judgement(example="1", worker="w", question="label", answer='a"b'),
        Judgement(example="1", worker="w", question="spans", answer=[Span(0, 1, "PS")]),
        Judgement(example="1", worker="w", question="score", answer=3),
    ]
    examples = {"1": Example(id="1", inputs={"text": "雨"})}
    write_judgements(tmp_path / "x.json", rows, "label-studio", examples=examples)
    config = (tmp_path / "x.xml").read_text("utf-8")
    assert "<Choice value='a\"b'/>" in config
    assert '<Label value="PS"/>' in config
    assert '<Number name="score" toName="text"/>' in config
    assert '<Text name="text" value="$text"/>' in config


# doccano


def test_a_member_who_did_not_work(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "ann.jsonl").write_text('{"id":1,"text":"雨","label":[[0,1,"X"]],"Comments":["?"]}\n')
    (folder / "owner.jsonl").write_text('{"id":1,"text":"雨","label":[]}\n')
    reading = open_judgements(folder)
    assert [row.worker for _, row in reading.rows] == ["ann"]
    assert notes(reading) == {"comments": 1, "files without a single answer": 1}


def test_json_lines_of_doccano_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "hana.jsonl"
    row = {"id": 1, "text": "猫", "label": ["a"], "username": "hana"}
    path.write_text(json.dumps(row), encoding="utf-8-sig")
    ((_, judgement),) = open_judgements(path, JudgementOptions(form="doccano")).rows
    assert (judgement.example, judgement.answer) == ("1", "a")


def test_a_sheet_whose_first_line_is_blank(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("\nHITId,WorkerId\n1,hana\n")
    with pytest.raises(BadInput, match="line 1: is blank, but must have the names of the columns"):
        list(open_judgements(path, JudgementOptions(form="mturk")).rows)


def test_labels_that_csv_joins(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 2: the label 'a#b' may be several"):
        answers(opened(tmp_path / "ann.csv", "id,text,label,Comments\n1,雨,a#b,\n"))


def test_spans_of_a_text_with_emoji(tmp_path: Path) -> None:
    row = {"id": 1, "text": "🍣と佐伯", "label": [[3, 5, "PS"]]}
    with pytest.raises(BadInput, match=r"line 1: .* depend on the unit; pass --offsets utf16"):
        answers(opened(tmp_path / "ann.jsonl", row))
    ((*_, spans),) = answers(opened(tmp_path / "ann.jsonl", row, offsets="utf16"))
    assert spans == [{"start": 2, "end": 4, "label": "PS"}]
    with pytest.raises(BadInput, match="marks characters up to 5, the text has 4"):
        answers(opened(tmp_path / "ann.jsonl", row, offsets="characters"))
    with pytest.raises(BadInput, match="marks more than the 5 UTF-16 units of the text"):
        answers(opened(tmp_path / "ann.jsonl", {**row, "label": [[3, 6, "PS"]]}, offsets="utf16"))
    plain = {"id": 1, "text": "佐伯が来た", "label": [[0, 2, "PS"]]}
    assert len(answers(opened(tmp_path / "ann.jsonl", plain))) == 1


def test_what_goes_to_doccano_counts_as_its_page_does(tmp_path: Path) -> None:
    text = "🍣と佐伯"
    rows = [
        Judgement(
            example="1",
            worker="ann",
            question="spans",
            answer=[{"start": 2, "end": 4, "label": "PS"}],
        )
    ]
    for examples in ({"1": Example(id="1", inputs={"text": text})}, None):
        folder = tmp_path / str(bool(examples))
        write_judgements(folder, rows, "doccano", examples=examples)
        (line,) = (folder / "ann.jsonl").read_text("utf-8").splitlines()
        assert json.loads(line)["label"] == [[3, 5, "PS"] if examples else [2, 4, "PS"]]
        assert [row for _, row in open_judgements(folder).rows] == rows


# potato


def test_schemes_without_a_place(tmp_path: Path) -> None:
    row = {
        "instance_id": "1",
        "user_id": "ann",
        "labels": {"topics": {"a": "a", "b": "b"}, "mood": {"up": "up"}},
    }
    path = tmp_path / "annotations.jsonl"
    with pytest.raises(BadInput, match=r"line 1: 1: 'topics' has several labels \(a, b\)"):
        answers(opened(path, row))
    reading = opened(path, row, only="mood")
    assert answers(reading) == [("1", "ann", "mood", "up")]
    assert notes(reading) == {"answers to 'topics' that cannot be read": 1}
    blob = {"instance_id": "1", "user_id": "ann", "labels": {"boxes": {"_data": "[]"}}}
    with pytest.raises(BadInput, match="'boxes' holds no label, number or text"):
        answers(opened(path, blob))


def test_ranks_of_labels_with_commas(tmp_path: Path) -> None:
    state = {
        "user_id": "ann",
        "instance_id_ordering": ["1"],
        "instance_id_to_label_to_value": {
            "1": [[{"schema": "order", "name": "rank_order"}, "a,b,c"]]
        },
        "instance_id_to_presentation_order": {"1": {"order": ["a,b", "c"]}},
    }
    with pytest.raises(BadInput, match="ranks labels that contain commas"):
        answers(opened(tmp_path / "user_state.json", state))


# By their documentation


def test_prodigy(tmp_path: Path) -> None:
    hashes = {"_input_hash": 7, "_task_hash": 8, "_annotator_id": "ann", "_timestamp": 1700000000}
    span = {"start": 1, "end": 3, "label": "PS", "token_start": 1, "token_end": 1}
    rows = (
        {"text": "🍣佐伯", "spans": [span], "answer": "accept", **hashes},
        {"text": "雨", "answer": "accept", **hashes, "_input_hash": 9},
        {"text": "風", "answer": "reject", **hashes, "_input_hash": 10},
        {"text": "雪", "answer": "ignore", **hashes, "_input_hash": 11},
    )
    reading = opened(tmp_path / "p.jsonl", *rows)
    assert answers(reading) == [
        ("7", "ann", "spans", [{"start": 1, "end": 3, "label": "PS"}]),
        ("9", "ann", "spans", []),
    ]
    assert notes(reading) == {"answers without spans": 1, "rejected rows": 1, "ignored rows": 1}
    options = [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]
    choice = {
        "text": "雨",
        "meta": {"id": "x1"},
        "options": options,
        "accept": ["a"],
        "answer": "accept",
        **hashes,
    }
    assert answers(opened(tmp_path / "p.jsonl", choice)) == [("x1", "ann", "label", "a")]
    binary = {"text": "雨", "label": "WEATHER", "answer": "reject", **hashes}
    assert answers(opened(tmp_path / "p.jsonl", binary)) == [("7", "ann", "WEATHER", "reject")]
    with pytest.raises(BadInput, match="line 1: has several choices"):
        answers(opened(tmp_path / "p.jsonl", {**choice, "accept": ["a", "b"]}))
    ends = {"head_span": {**span}, "child_span": {"start": 0, "end": 1, "label": "FO"}}
    linked = {**rows[0], "relations": [{"head": 1, "child": 0, "label": "eats", **ends}]}
    assert answers(opened(tmp_path / "p.jsonl", linked))[1][3] == [
        {
            "from": {"start": 1, "end": 3, "label": "PS"},
            "to": {"start": 0, "end": 1, "label": "FO"},
            "label": "eats",
        }
    ]


def test_argilla(tmp_path: Path) -> None:
    record = {
        "id": "a1",
        "fields": {"text": "猫が来た"},
        "metadata": {},
        "suggestions": {"label": {"value": "negative"}},
        "responses": {
            "label": [
                {"value": "positive", "user_id": "u1"},
                {"value": "negative", "user_id": "u2"},
            ],
            "ner": [{"value": [{"start": 0, "end": 1, "label": "PS"}], "user_id": "u1"}],
        },
    }
    reading = opened(tmp_path / "r.json", [record])
    assert answers(reading) == [
        ("a1", "u1", "label", "positive"),
        ("a1", "u2", "label", "negative"),
        ("a1", "u1", "ner", [{"start": 0, "end": 1, "label": "PS"}]),
    ]
    assert notes(reading) == {"suggestions of a model": 1, "responses without a status": 3}
    flat = {
        "id": "a1",
        "text": "猫🐈",
        "label.responses": ["positive", "negative"],
        "label.responses.users": ["u1", "u2"],
        "label.responses.status": ["submitted", "draft"],
    }
    reading = opened(tmp_path / "r.json", [flat])
    assert answers(reading) == [("a1", "u1", "label", "positive")]
    assert notes(reading) == {"draft responses": 1}
    emoji = {**record, "fields": {"text": "🐈と猫"}}
    with pytest.raises(
        BadInput, match="record 1: marks a text in which offsets depend on the unit"
    ):
        answers(opened(tmp_path / "r.json", [emoji]))
    emoji["responses"] = {
        "ner": [{"value": [{"start": 3, "end": 4, "label": "PS"}], "user_id": "u"}]
    }
    ((*_, spans),) = answers(opened(tmp_path / "r.json", [emoji], offsets="utf16"))
    assert spans == [{"start": 2, "end": 3, "label": "PS"}]
    several = {**record, "responses": {"topics": [{"value": ["a", "b"], "user_id": "u1"}]}}
    with pytest.raises(BadInput, match="record 1: has several labels or a ranking for 'topics'"):
        answers(opened(tmp_path / "r.json", [several]))


def test_mechanical_turk(tmp_path: Path) -> None:
    head = "HITId,AssignmentId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,Input.id,Input.text,"
    head += "Answer.mood,Answer.sure.yes,Answer.sure.no\n"
    rows = "h1,a1,W1,Approved,Mon Jan 05,12,ja-1,雨,good,true,false\nh1,a2,W2,Rejected,Mon Jan 05,3,ja-1,雨,bad,false,true\n"
    reading = opened(tmp_path / "batch.csv", head + rows)
    assert answers(reading) == [("ja-1", "W1", "mood", "good"), ("ja-1", "W1", "sure", "yes")]
    assert reading.form == "mturk"
    assert notes(reading) == {"rejected assignments": 1}
    with pytest.raises(BadInput, match="line 2: has several choices for 'sure'"):
        answers(opened(tmp_path / "batch.csv", head + rows.replace("true,false", "true,true")))


def test_prolific(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Prolific's list of submissions, which has no answers"):
        opened(tmp_path / "prolific.csv", "Submission id,Participant id,Status\ns1,p1,APPROVED\n")
    sheet = opened(tmp_path / "survey.csv", "item,PROLIFIC_PID,answer\n1,p1,good\n")
    assert answers(sheet) == [("1", "p1", "label", "good")]


def test_decisions_and_comments_go_out_and_come_back(tmp_path: Path) -> None:
    rows = [
        Judgement(example="1", worker="ann", question="label", answer="a", comment="迷った"),
        Judgement(
            example="1", worker="decision:owner", question="label", answer="b", kind="decision"
        ),
    ]
    write_judgements(tmp_path / "x.json", rows, "label-studio")
    reading = open_judgements(tmp_path / "x.json")
    assert [row for _, row in reading.rows] == rows[:1]
    assert [row for _, row in reading.decisions] == rows[1:]


def test_a_configuration_of_somebody_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("<View/>")
    with pytest.raises(BadInput, match="already exists"):
        write_judgements(tmp_path / "x.json", [], "label-studio")
    assert [path.name for path in tmp_path.iterdir()] == ["x.xml"]
    with pytest.raises(BadInput, match="tasks of Label Studio must be JSON"):
        write_judgements(tmp_path / "y.xml", [], "label-studio")


def test_questions_of_a_tool() -> None:
    from nikawa.io.judgements.base import parse_questions

    assert parse_questions("label=mood, score=stars") == (None, {"label": "mood", "score": "stars"})
    assert parse_questions(" label ") == ("label", {})
    for text in ("=mood", "label=", "a=b,a=c", "a=b,c=b", "a=b,c"):
        with pytest.raises(BadInput, match="does not name a question of the tool"):
            parse_questions(text)


# What tools write that must not become something else


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"start": 0, "end": 1, "text": ["好物"]}, "unsupported kind"),
        ({"start": 0, "end": 1, "rating": 3}, "unsupported kind"),
        ({"rating": [3]}, "which is not a number"),
        ({"number": "3"}, "which is not a number"),
        ({"choices": [["a", "b"]]}, "which is not a label"),
        ({"ranker": {"b": ["x", 1]}}, "ranks something that is not a label"),
    ],
)
def test_what_a_control_says_about_a_region_is_no_span(
    tmp_path: Path, value: Any, reason: str
) -> None:
    about = {"from_name": "why", "type": "any", "id": "0", "value": value}
    whole = task(region(0, 1), about)
    with pytest.raises(BadInput, match=reason):
        answers(opened(tmp_path / "tasks.json", [whole]))
    asked = opened(tmp_path / "tasks.json", [whole], questions={"spans": "ner"})
    assert [row[2:] for row in answers(asked)] == [
        ("spans", [{"start": 0, "end": 1, "label": "PS"}])
    ]


@pytest.mark.parametrize(("start", "end"), [(1, 3), (0, 1)])
def test_half_of_a_character_is_not_marked(tmp_path: Path, start: int, end: int) -> None:
    row = {"id": 1, "text": "🍣猫", "label": [[start, end, "A"]]}
    with pytest.raises(BadInput, match="marks half of a character"):
        answers(opened(tmp_path / "hana.jsonl", row, offsets="utf16"))


def test_nobody_decides_by_a_name_in_another_tool(tmp_path: Path) -> None:
    prodigy = {"_input_hash": 1, "_session_id": "decision:hana", "text": "猫", "answer": "accept"}
    prodigy |= {"options": [{"id": "a"}], "accept": ["a"]}
    potato = {"instance_id": "1", "user_id": "tie-decision:hana", "labels": {"label": {"a": "a"}}}
    doccano = {"id": 1, "text": "猫", "label": ["a"], "username": "decision:hana"}
    for name, row in {"prodigy": prodigy, "potato": potato, "doccano": doccano}.items():
        with pytest.raises(BadInput, match="has a name that is reserved for decisions"):
            answers(opened(tmp_path / f"{name}.jsonl", row))


@pytest.mark.parametrize("name", ["admin", "all", "unknown"])
def test_a_worker_that_a_row_names_is_one(tmp_path: Path, name: str) -> None:
    said = Judgement(example="1", worker=name, question="label", answer="a")
    write_judgements(tmp_path / "ours", [said], "doccano")
    assert answers(open_judgements(tmp_path / "ours")) == [("1", name, "label", "a")]
