"""What a model is asked: the items, the form and the guideline of a project, or of a sheet of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nikawa.collect.form import Form, find_form
from nikawa.collect.forms._base import format_guideline
from nikawa.collect.project import EXAMPLES, GUIDELINES, SETTINGS, open_project
from nikawa.collect.sources import NewProject, complete_settings, read_sources
from nikawa.errors import BadInput
from nikawa.judging.structures import find_structure
from nikawa.records import Example
from nikawa.serve.languages import LANGUAGES
from nikawa.text.marked import is_marked

OTHERS_ANSWERS = ("votes",)
"""Inputs that hold answers of other workers: people who adjudicate see them, a model never does."""


@dataclass(frozen=True)
class JudgingTask:
    """The items to judge, and how they are asked about."""

    name: str
    """The project or file, as it was named."""
    form: Form
    options: Any
    """The form's own settings."""
    language: str
    guideline: str
    """Markdown, as workers read it."""
    examples: tuple[Example, ...] = field(repr=False)
    """Ids and inputs alone: no gold, tags or metadata."""


def open_task(
    spec: str,
    *,
    form: str = "",
    language: str = "",
    settings: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> JudgingTask:
    """The task of a project folder, of a sheet of tasks (`tasks.jsonl` with its `sheet.json`), or of examples and a form.

    Of a project only the main items are read, never control or pilot items. Raises `BadInput` for an item that the form
    cannot show, and where no form is known.
    """
    if (Path(spec) / SETTINGS).is_file():
        return _open_project_task(Path(spec), form, language, settings)
    new = NewProject(form=form, language=language, options=dict(settings or {}))
    new, rows = complete_settings(new, spec, read_sources(spec, data))
    chosen_form = find_form(new.form)
    options = chosen_form.parse_options(chosen_form.initial_options(new.options))
    texts = {**GUIDELINES, **chosen_form.guidelines(options)}
    guideline = texts.get(new.language, texts["en"])
    if new.guideline:
        guideline = format_guideline(new.language, new.guideline)
    examples = tuple(_strip(row) for row in rows)
    return _check(JudgingTask(spec, chosen_form, options, new.language, guideline, examples))


def _open_project_task(
    folder: Path, form: str, language: str, settings: Mapping[str, Any] | None
) -> JudgingTask:
    if form or settings:
        what = "a project has its own form and settings"
        raise BadInput(what, file=folder, cure="leave out --form and --form-set")
    project = open_project(folder)
    language = language or project.settings.language
    guideline = project.guideline(language)
    examples = tuple(_strip(row) for row in read_sources(str(folder / EXAMPLES)))
    options = project.options
    return _check(JudgingTask(str(folder), project.form, options, language, guideline, examples))


def _strip(example: Example) -> Example:
    """The id and the inputs that a worker without others' answers would see."""
    inputs = {name: value for name, value in example.inputs.items() if name not in OTHERS_ANSWERS}
    return Example(id=example.id, inputs=inputs)


def find_form_limit(form: Form) -> str:
    """Why a model cannot be asked by this form; empty: it can.

    The form declares it. The form of another package that does not is asked only for labels, texts, spans, trees and the
    states of dialogues.
    """
    if form.why_no_machine or form.offers is not None or find_structure(form):
        return form.why_no_machine
    answer = {} if form.sample is None else form.sample.answer
    structures = (part for part in answer.values() if not is_marked(part))
    if any(isinstance(part, dict) or _is_nested(part) for part in structures):
        return "its answer is a structure"
    return ""


def _is_nested(part: Any) -> bool:
    return isinstance(part, list) and any(isinstance(one, list) for one in part)


def _check(task: JudgingTask) -> JudgingTask:
    if limit := find_form_limit(task.form):
        what = f"a model cannot answer the form {task.form.name}: {limit}"
        cure = "let persons answer it"
        raise BadInput(what, file=task.name, cure=cure)
    if task.language not in LANGUAGES:
        raise BadInput(
            f"there is no language {task.language!r}", cure=f"use {', '.join(LANGUAGES)}"
        )
    if not task.examples:
        raise BadInput(
            "there are no items", file=task.name, cure="pass a project or file with items"
        )
    seen: set[str] = set()
    for example in task.examples:
        if fault := task.form.find_fault(example, task.options):
            what = f"example {example.id!r}: {fault}"
            raise BadInput(what, file=task.name, cure="choose another form, or correct the item")
        if example.id in seen:
            raise BadInput(
                f"two items have the id {example.id!r}", file=task.name, cure="rename one"
            )
        seen.add(example.id)
    return task
