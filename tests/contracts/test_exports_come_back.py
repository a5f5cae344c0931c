"""What a project exports is read back as it was, whatever its form asks for; what has no place in a file is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nikawa.collect.form import forms
from nikawa.collect.job import create
from nikawa.collect.sources import NewProject
from nikawa.io.judgements import open_judgements
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement, JudgementKind

Nikawa = Callable[..., CompletedProcess[str]]
COMMENT = '=SUM(1)\n<b>太郎</b>\t" , ; 🍣か\u3099'
EXPORTS: dict[str, tuple[str, ...]] = {
    "all.csv": (),
    "all.tsv": (),
    "studio.json": ("--to", "label-studio"),
    "doccano": ("--to", "doccano"),
    "yahoo.tsv": ("--to", "yahoo"),
}
NO_PLACE = {
    ("studio.json", name)
    for name in (
        "dialogue",
        "dialogue-states",
        "reading",
        "reading-answers",
        "tree",
        "write-question",
    )
} | {
    ("doccano", name)
    for name in (
        "dialogue",
        "dialogue-states",
        "distractors",
        "multiple-selection",
        "preference",
        "ranked",
        "reading",
        "reading-answers",
        "tree",
        "write-contradictions",
        "write-hypotheses",
        "write-question",
    )
}
"""Exports that have no place for the answers of a form, and say so."""


def read_all(path: Path) -> list[Any]:
    """Answers, reports and decisions; workers may come in another order."""
    reading = open_judgements(path)
    rows = [row for _, row in reading.rows]
    rows += [row for _, row in (*reading.reports, *reading.decisions)]
    return sorted(
        (
            row.example,
            row.worker,
            row.question,
            json.dumps(row.answer, sort_keys=True),
            row.comment,
            row.at,
        )
        for row in rows
    )


@pytest.mark.parametrize("name", forms())
def test_an_export_comes_back(nikawa: Nikawa, tmp_path: Path, name: str) -> None:
    form = forms()[name]
    assert form.sample is not None
    inputs, settings = dict(form.sample.inputs), dict(form.sample.settings)
    examples = tmp_path / "examples.jsonl"
    write_records(examples, [Example(id=item, inputs=inputs) for item in ("e1", "e2")])
    answers = form.to_judgements(dict(form.sample.answer))
    people: tuple[tuple[str, JudgementKind], ...] = (
        ("hana", "person"),
        ("admin", "person"),
        ("decision:rin", "decision"),
    )
    rows = [
        Judgement(
            example="e1", worker=who, question=question, answer=answer, seconds=2.5, kind=kind,
            at="2026-01-01T00:00:00+00:00", comment="" if who == "admin" else COMMENT,
        )
        for who, kind in people
        for question, answer in answers
    ]  # fmt: skip
    report = Judgement(
        example="e2", worker="hana", question="report", answer="broken", kind="report", comment=COMMENT,
    )  # fmt: skip
    write_records(tmp_path / "said.jsonl", [*rows, report])
    project, second = tmp_path / "project", tmp_path / "second"
    for folder in (project, second):
        create(folder, str(examples), NewProject(name, workers=3, options=settings))
    done = nikawa("collect", "import", str(project), str(tmp_path / "said.jsonl"))
    assert done.returncode == 0, done.stderr
    nikawa("collect", "export", str(project), "--out", str(tmp_path / "all.jsonl"))
    whole = read_all(tmp_path / "all.jsonl")
    assert len(whole) == 3 * len(answers) + 1
    for file, words in EXPORTS.items():
        out = tmp_path / "out" / file
        done = nikawa("collect", "export", str(project), "--out", str(out), *words)
        if (file, name) in NO_PLACE:
            assert (done.returncode, out.exists()) == (2, False), file
            continue
        assert done.returncode == 0, (file, done.stderr)
        assert read_all(out) == whole, file
    done = nikawa("collect", "import", str(second), str(tmp_path / "out" / "all.csv"))
    assert done.returncode == 0, done.stderr
    nikawa("collect", "export", str(second), "--out", str(tmp_path / "again.jsonl"))
    assert read_all(tmp_path / "again.jsonl") == whole
