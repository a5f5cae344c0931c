"""`nikawa agree` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput

RUN = CliRunner()


def run(*words: str) -> str:
    done = RUN.invoke(build(), ["agree", *words, "--resamples", "50"])
    if isinstance(done.exception, BadInput):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_has_the_promised_shape() -> None:
    found = json.loads(run("mini-ja", "--json"))
    assert (found["items"], found["workers"], found["answers"]) == (36, 5, 180)
    for measure in found["measures"]:
        assert measure.keys() == {"name", "level", "value", "low", "high"}
    assert {m["name"] for m in found["measures"]} >= {
        "alpha",
        "cohen",
        "fleiss",
        "percent",
        "unanimous",
    }


def test_the_table_says_who_the_workers_are() -> None:
    said = run("mini-ja")
    assert "label: 36 items, 5 workers (simulated), 180 answers" in said
    assert "15 unanimous, 21 majority" in said


def test_a_mapped_sheet_with_its_notes(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(
        "番号,人,答え\r\n1,甲,はい\r\n1,乙,\r\n1,丙,はい\r\n2,甲, いいえ\r\n2,乙,はい\r\n".encode(
            "cp932"
        )
    )
    said = run(str(path), "--map", "example=番号,worker=人,answer=答え", "--question", "fit")
    assert "fit: 2 items, 2 workers" not in said
    assert "fit: 2 items, 3 workers (persons), 4 answers; sheet in cp932." in said
    assert "blank answers: 1 (no answer counted; line 3)" in said
    assert "stray spaces: 1 (cut off; line 5)" in said


def test_page_and_saved_judgements(tmp_path: Path) -> None:
    assert (
        run("mini-ko", "--page", str(tmp_path / "p"), "--save", str(tmp_path / "j.jsonl"), "-q")
        == ""
    )
    assert (tmp_path / "p" / "index.html").is_file()
    assert (tmp_path / "j.jsonl").read_text("utf-8").count("\n") > 100
    with pytest.raises(BadInput, match="already exists"):
        run("mini-ko", "--page", str(tmp_path / "p"))


def test_a_plan() -> None:
    plan = json.loads(
        run("mini-ja", "--plan", "--reliability", "0.8", "--items", "500", "--price", "2", "--json")
    )
    assert plan["workers"] == next(row["workers"] for row in plan["rows"] if row["enough"])
    said = run("mini-ja", "--plan", "--yield", "0.9")
    assert "workers per item for 1,000 items with gold" in said


def test_a_dataset_without_judgements() -> None:
    with pytest.raises(BadInput, match="jnli does not publish judgements; these do: "):
        run("jnli")


def spans_file(folder: Path) -> Path:
    """Three workers mark two invented sentences."""
    marked = {
        "1": [[(0, 3, "PS")], [(0, 3, "PS")], [(0, 2, "PS")]],
        "2": [[(1, 4, "LC")], [], [(1, 4, "LC")]],
    }
    lines = [
        {
            "example": item,
            "worker": f"w{n}",
            "question": "spans",
            "answer": [{"start": s, "end": e, "label": name} for s, e, name in spans],
        }
        for item, answers in marked.items()
        for n, spans in enumerate(answers)
    ]
    path = folder / "spans.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    texts = [
        {"id": n, "inputs": {"text": "나래가 새별시로 갔다."}, "meta": {"part": n}} for n in marked
    ]
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in texts), "utf-8")
    return path


def test_spans_have_measures_of_their_own(tmp_path: Path) -> None:
    path, texts = spans_file(tmp_path), str(tmp_path / "texts.jsonl")
    found = json.loads(run(str(path), "--examples", texts, "--by", "part", "--json"))
    names = ["span-f1", "span-f1-overlap", "alpha-characters"]
    assert [m["name"] for m in found["measures"]] == names
    assert [round(m["value"], 4) for m in found["measures"][:2]] == [0.4, 0.8]
    assert found["distribution"] == {"LC": 2, "PS": 3}
    assert [part["where"] for part in found["slices"]] == ["part=1", "part=2"]
    said = run(str(path), "--page", str(tmp_path / "p"))
    assert "are not corrected for chance" in said
    assert "alpha-characters needs the texts: pass them with --examples FILE." in said
    assert "Spans by label" in (tmp_path / "p" / "index.html").read_text("utf-8")


def test_spans_have_no_order(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="spans have no interval level; leave --level out"):
        run(str(spans_file(tmp_path)), "--level", "interval")
