"""Persons, machines and simulations are told apart wherever answers are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.collect.conftest import crowd, database, make, postgres, start

import nikawa as nk
from nikawa.agreement import krippendorff_alpha as alpha
from nikawa.collect.dashboard import overview
from nikawa.collect.items import add_judgements
from nikawa.errors import BadInput
from nikawa.io.judgements import open_judgements, write_judgements
from nikawa.records import Example, Judgement, find_answerer, split_by_kind
from nikawa.serve.names import find_name_fault

__all__ = ["crowd", "database", "make", "postgres", "start"]

PERSONS = [
    Judgement(example=item, worker=worker, question="label", answer=answer)
    for item, worker, answer in (
        ("1", "aki", "はい"),
        ("1", "mio", "いいえ"),
        ("2", "aki", "はい"),
        ("2", "mio", "はい"),
    )
]
MACHINE = Judgement(
    example="1", worker="model:gemma#1", question="label", answer="はい", kind="machine"
)
SIMULATED = Judgement(
    example="1", worker="simulated:a", question="label", answer="いいえ", kind="simulated"
)
MIXED = [*PERSONS, MACHINE, SIMULATED]
EXAMPLES = {name: Example(id=name, inputs={"text": f"文{name}"}) for name in "12"}


def test_gold_is_made_of_persons_answers_and_the_notes_count_the_others(tmp_path: Path) -> None:
    for rows in (MIXED, [*PERSONS, nk.Judgement(**{**_fields(MACHINE), "kind": "person"})]):
        result = nk.aggregate(rows, rule="majority")
        assert result.report.workers == 2
        assert result.report.answers == 4
        assert "answers of models" in [note.what for note in result.report.notes]
        assert nk.agree(rows).report.measures == nk.agree(PERSONS).report.measures
        assert alpha(rows) == alpha(PERSONS)
    with pytest.raises(BadInput, match="no person answered"):
        nk.aggregate([MACHINE])


def _fields(judgement: Judgement) -> dict[str, Any]:
    return {name: getattr(judgement, name) for name in judgement.__struct_fields__}


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("label-studio", "a.json"),
        ("doccano", "folder"),
        (None, "a.jsonl"),
        (None, "a.tsv"),
        (None, "a.parquet"),
    ],
)
def test_every_form_keeps_the_kind(tmp_path: Path, form: str | None, name: str) -> None:
    write_judgements(tmp_path / name, MIXED, form, examples=EXAMPLES)
    reading = open_judgements(tmp_path / name)
    parts = split_by_kind(row for _, row in reading.rows)
    assert {kind: [row.worker for row in rows] for kind, rows in parts.items()} == {
        "person": ["aki", "aki", "mio", "mio"]
        if form == "doccano"
        else ["aki", "mio", "aki", "mio"],
        "machine": ["model:gemma#1"],
        "simulated": ["simulated:a"],
    }


def test_files_without_the_kind_are_of_persons(tmp_path: Path) -> None:
    """As every version before wrote them; only the name of a worker can tell otherwise."""
    path = tmp_path / "judgements.jsonl"
    line = '{"example":"1","worker":"%s","question":"label","answer":"x"}\n'
    path.write_text("".join(line % name for name in ("aki", "gpt-4", "model:m#1")), "utf-8")
    rows = [row for _, row in open_judgements(path).rows]
    assert [find_answerer(row) for row in rows] == ["person", "person", "machine"]
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("task,worker,label\n1,aki,x\n1,simulated:a,y\n", "utf-8")
    assert [find_answerer(row) for _, row in open_judgements(sheet).rows] == ["person", "simulated"]


def test_a_table_in_a_notebook_may_name_the_kind() -> None:
    """A column `kind`, or the name of the worker."""
    pandas = pytest.importorskip("pandas")
    rows = [
        {"example": str(n), "worker": name, "answer": "xy"[name == "gpt"], "kind": kind}
        for n in range(3)
        for name, kind in (("aki", "person"), ("mio", "person"), ("gpt", "machine"))
    ]
    frame = pandas.DataFrame(rows)
    result = nk.agree(frame)
    assert result.report.workers == 2
    assert result.machines is not None
    assert result.machines.machines == ("gpt",)
    assert nk.agree(frame.drop(columns="kind")).report.workers == 3


def test_a_model_in_a_project_replaces_no_person(crowd: Callable[..., Any]) -> None:
    here = crowd(items=1, assign={"workers_per_item": 1, "order": "file"})
    row = Judgement(
        example="i000", worker="gpt", question="label", answer="neutral", kind="machine"
    )
    for _ in range(2):
        here.store.write(lambda db: add_judgements(db, here.project, [(1, row)], "m.jsonl", 5.0))
    assert here.counts() == [(0, 0)]
    here.join("a")
    here.answer("a")
    assert [(one.worker, one.kind) for one in here.exported()] == [
        ("model:gpt", "machine"),
        ("a", "person"),
    ]
    shown = here.store.read(overview, here.project)
    assert [row["name"] for row in shown["workers"]] == ["a"]
    assert shown["machines"] == [{"name": "model:gpt", "kind": "machine", "answers": 1}]
    assert shown["progress"]["answers"] == 1
    assert find_name_fault("model:x").startswith("names that start with model:")
