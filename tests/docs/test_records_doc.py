"""docs/records.md says what the records are: its tables name the fields, its lines decode, its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from nikawa import records
from nikawa.records import Example, Kind, Record, Span, revive

TEXT = (Path(__file__).parents[2] / "docs" / "records.md").read_text("utf-8")
SHAPES = {
    "text": ({"text"}, {"label"}),
    "inference": ({"premise", "hypothesis"}, {"label"}),
    "similarity": ({"sentence1", "sentence2"}, {"score"}),
    "choice": ({"question", "choices"}, {"choice"}),
    "reading": ({"title", "context", "question"}, {"answers"}),
    "tagging": ({"text"}, {"spans"}),
    "relation": ({"text", "subject", "object"}, {"relation"}),
    "tree": ({"text", "words"}, {"tree"}),
    "dialogue": ({"turns"}, {"state"}),
}


def lines() -> list[tuple[str, str]]:
    """(record, line) of every JSON block; its fence names the record."""
    blocks = re.findall(r"^```json *(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return [(name, line) for name, block in blocks for line in block.splitlines()]


def kind_of(name: str) -> type[Record]:
    found: type[Record] = getattr(records, name)
    return found


def examples() -> dict[str, list[Example]]:
    """Kind of task to the examples below its heading."""
    parts = re.findall(r"^### (\w+)\n(.*?)(?=^##)", TEXT, re.DOTALL | re.MULTILINE)
    return {
        kind: [
            revive(msgspec.json.decode(line, type=Example))
            for line in part.splitlines()
            if line[:1] == "{"
        ]
        for kind, part in parts
    }


@pytest.mark.parametrize(("name", "line"), lines())
def test_every_line_decodes(name: str, line: str) -> None:
    record = msgspec.json.decode(line, type=kind_of(name))
    anew = msgspec.json.decode(msgspec.json.encode(record))
    assert anew.items() >= msgspec.json.decode(line).items()


def test_every_kind_has_its_shape() -> None:
    assert set(examples()) == set(get_args(Kind)) == set(SHAPES)
    for kind, found in examples().items():
        assert found, kind
        for example in found:
            assert (set(example.inputs), set(example.gold)) == SHAPES[kind]


def test_places_in_texts_are_right() -> None:
    found = examples()
    text = found["tagging"][0].inputs["text"]
    assert [text[s.start : s.end] for s in found["tagging"][0].gold["spans"]] == ["하루", "푸른섬"]
    inputs = found["relation"][0].inputs
    spans: list[Span] = [inputs["subject"], inputs["object"]]
    assert [inputs["text"][s.start : s.end] for s in spans] == ["등대상사", "하루"]
    for example in found["reading"]:
        for answer in example.gold["answers"]:
            assert example.inputs["context"].startswith(answer["text"], answer["start"])


@pytest.mark.parametrize("name", ["Example", "Judgement", "Prediction", "Score", "Card"])
def test_tables_name_the_fields(name: str) -> None:
    section = re.search(rf"^## {name}\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE)
    assert section is not None
    assert (
        tuple(re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE))
        == kind_of(name).__struct_fields__
    )


def test_the_first_table_names_records() -> None:
    for name in re.findall(r"^\| `([A-Z]\w+)` \|", TEXT, re.MULTILINE):
        assert issubclass(kind_of(name), Record)


def test_the_code_runs(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIKAWA_DATA", str(shared_data))
    monkeypatch.chdir(tmp_path)
    code = re.search(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert code is not None
    exec(code[1], {})
    assert len((tmp_path / "short.jsonl").read_text("utf-8").splitlines()) == 4680
