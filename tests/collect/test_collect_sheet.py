"""A project from a task sheet: what `sheet.json` says need not be said again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.collect.form import forms
from nikawa.collect.job import create
from nikawa.collect.project import Project, open_project
from nikawa.collect.sources import NewProject
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example

SHEET: dict[str, Any] = {
    "recipe": "klue-ner",
    "name": "check",
    "title": "whether they are right",
    "form": "choice",
    "question": "right",
    "prompt": "모두 맞으면 right를 고르세요.",
    "labels": ["right", "wrong"],
    "scale": None,
    "texts": 1,
    "workers": 2,
    "items": 1,
    "answer": "one of the labels",
    "language": "ko",
    "tasks": "0",
}


def made(tmp_path: Path, how: NewProject, text: str = "x", **sheet: Any) -> Project:
    folder = tmp_path / "people"
    folder.mkdir()
    form = forms()[str(sheet.get("form", "choice"))]
    assert form.sample is not None
    inputs = {"text": text} if form.name == "choice" else dict(form.sample.inputs)
    write_records(folder / "tasks.jsonl", [Example(id="a", inputs=inputs)])
    (folder / "sheet.json").write_bytes(msgspec.json.encode({**SHEET, **sheet}))
    create(tmp_path / "p", str(folder / "tasks.jsonl"), how)
    return open_project(tmp_path / "p")


def test_a_sheet_says_what_is_asked(tmp_path: Path) -> None:
    project = made(tmp_path, NewProject())
    settings = project.settings
    assert (settings.form, settings.language, settings.title) == ("choice", "ko", "p")
    assert settings.assign.workers_per_item == 2
    assert (project.options.question, project.options.labels) == ("right", ("right", "wrong"))
    assert project.options.prompt == SHEET["prompt"]


def test_what_is_said_goes_before_the_sheet(tmp_path: Path) -> None:
    how = NewProject(
        "choice", workers=5, language="en", title="mine", options={"labels": ["a", "b"]}
    )
    project = made(tmp_path, how)
    settings = project.settings
    assert (settings.language, settings.title, settings.assign.workers_per_item) == (
        "en",
        "mine",
        5,
    )
    assert (project.options.labels, project.options.question) == (("a", "b"), "right")


def test_another_form_keeps_its_own_settings(tmp_path: Path) -> None:
    project = made(tmp_path, NewProject("ranked"))
    assert (project.settings.form, project.options.question, project.options.most) == (
        "ranked",
        "label",
        3,
    )
    assert project.settings.language == "ko"


@pytest.mark.parametrize(
    ("sheet", "wanted"),
    [
        (
            {"form": "inference", "question": "label", "labels": ["entailment"]},
            {"naturalness": False, "prompt": ""},
        ),
        (
            {"form": "scale", "question": "relatedness", "labels": [], "scale": [1, 5]},
            {"low": 1.0, "high": 5.0, "question": "relatedness"},
        ),
        (
            {"form": "ranked", "question": "label", "labels": ["a", "b"], "texts": 2},
            {"most": 2, "labels": ("a", "b")},
        ),
        (
            {"form": "distractors", "question": "distractors", "labels": [], "texts": 3},
            {"texts": 3},
        ),
        (
            {"form": "span-tagging", "question": "boundaries", "labels": ["subject"]},
            {"labels": ("subject",), "prompt": SHEET["prompt"]},
        ),
    ],
    ids=lambda value: str(value.get("form", "")),
)
def test_each_form_takes_from_it_what_it_has(
    tmp_path: Path, sheet: dict[str, Any], wanted: dict[str, Any]
) -> None:
    project = made(tmp_path, NewProject(), **sheet)
    assert {name: getattr(project.options, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("강가에서 고양이가 잔다.", "ko"),
        ("\u1100\u1161\u11bc\u1100\u1161", "ko"),
        ("川辺で猫が寝ている。「고양이」", "ja"),
        ("A cat sleeps.", "ja"),
    ],
)
def test_texts_say_which_language_the_pages_are_in(
    tmp_path: Path, text: str, language: str
) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="a", inputs={"text": text})])
    report = create(tmp_path / "p", str(tmp_path / "e.jsonl"), NewProject("choice"))
    assert (report.language, report.workers_per_item) == (language, 3)
    assert open_project(tmp_path / "p").settings.language == language


def test_a_form_must_be_named_where_no_sheet_does(tmp_path: Path) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="a", inputs={"text": "x"})])
    (tmp_path / "sheet.json").write_text("{}")  # of something else: no tasks lie beside it
    with pytest.raises(BadInput, match="pass --form FORM"):
        create(tmp_path / "p", str(tmp_path / "e.jsonl"), NewProject())
    assert not (tmp_path / "p").exists()
