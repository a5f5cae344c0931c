"""Every sheet of every recipe: from the build to the worker's page, through the server's routes, and back into the build.

The page is checked here by what the server hands to it: the words of the page, the names of labels and inputs, and the item.
`tests/browser/collect/test_sheets.py` looks at the same pages in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from bs4 import BeautifulSoup
from tests.recipes.sheet_walk import answer_sheet, read_sheet, served, write_sources
from tests.recipes.small_sources import SMALL_SOURCES

from nikawa.collect.job import create_links
from nikawa.collect.project import Project, open_project
from nikawa.collect.site import page_messages
from nikawa.io.records import read_examples
from nikawa.io.task_sheet import Sheet
from nikawa.recipes.recipe import Ask, recipes
from nikawa.records import texts_inside

LATIN = re.compile(r"[A-Za-z]{2,}")
ALLOWED = {"Enter", "Esc", "IT", "English", "JavaScript", "an", "the"}
"""Keys of the keyboard, a topic, the name of a language, and the articles that a guideline of translation speaks of."""
MARKER = re.compile(r"<[^<>]+:[A-Z]{2}>|</?subj>|</?obj>|\[SEP\]|[A-Za-z]+ x\d")
WALKED: set[tuple[str, str]] = set()


def page_words(html: str) -> str:
    """The text of a page as it stands in the HTML, without what is for scripts."""
    soup = BeautifulSoup(html, "html.parser")
    for gone in soup(["script", "style", "noscript"]):
        gone.decompose()
    return soup.get_text(" ")


def shown_words(project: Project, sheet: Sheet, inputs: dict[str, Any]) -> Iterator[str]:
    """What the script of a form writes around an item: the prompt, names of labels, inputs and numbers."""
    language, options = sheet.language, project.options
    messages = page_messages(language, project.form)
    names = options.names
    yield re.sub(r"\{\w+\}", "", options.prompt or messages["prompt"])  # filled in by the script
    labels = list(getattr(options, "labels", ()) or sheet.labels)
    labels += [span["label"] for span in inputs.get("spans", ())]
    labels += [label for label, _ in inputs.get("votes", ())]
    yield from (names.get(label) or messages.get(f"label_{label}") or label for label in labels)
    texts = [name for name, value in inputs.items() if isinstance(value, str | list)]
    inside = {"spans", "votes", "choices", "candidates", "answer", "begun", "types"}
    inside |= {"words", "answers"}
    if len(texts) > 1:
        yield from (
            names.get(name) or messages.get(f"input_{name}") or name
            for name in texts
            if name not in inside
        )
    if sheet.scale is not None:
        low, high = map(int, sheet.scale)
        anchors = options.anchors or {str(n): messages[f"anchor_{n}"] for n in range(low, high + 1)}
        yield from anchors.values()


def check_page(project: Project, sheet: Sheet, html: str, inputs: dict[str, Any]) -> None:
    """No English word, no internal token, no raw marker in what a worker sees."""
    where = f"{sheet.recipe}/{sheet.name}"
    words = " ".join((page_words(html), *shown_words(project, sheet, inputs)))
    foreign = [word for word in LATIN.findall(words) if word not in ALLOWED]
    assert not foreign, (where, foreign)
    texts = " ".join(texts_inside({k: v for k, v in inputs.items() if k != "candidates"}))
    assert not MARKER.search(words + texts), (where, texts)


@pytest.mark.parametrize("recipe", list(recipes()))
def test_a_sheet_becomes_a_page_and_its_answers_come_back(
    recipe: str, tmp_path: Path, nikawa: Callable[..., CompletedProcess[str]]
) -> None:
    out = tmp_path / "out"
    run = write_sources(recipe, tmp_path)
    report = run()
    while report.waiting:
        for waiting in report.waiting:
            sheet, tasks = read_sheet(out, waiting.ask)
            folder = tmp_path / f"{waiting.ask}.project"
            made = nikawa("collect", "new", str(folder), "--examples", str(tasks))
            assert made.returncode == 0, made.stderr
            check_project(open_project(folder), sheet, tasks)
            states = answer_sheet(folder, sheet)
            # whoever wrote what is judged has nothing to do here; the first of the others has it all
            assert max(state["progress"]["left"] for state in states) == sheet.items
            answers = tasks.with_name("answers.jsonl")
            written = nikawa("collect", "export", str(folder), "--out", str(answers))
            assert written.returncode == 0, written.stderr
            WALKED.add((recipe, waiting.ask))
        before, report = report, run()
        assert report.waiting[:1] != before.waiting[:1], str(report.waiting[0])
    assert report.released is not None
    assert report.released.workers_are == "persons"
    assert sum(report.released.splits.values())
    notes = [note for stage in report.stages for note in stage.notes]
    assert not notes


def check_project(project: Project, sheet: Sheet, tasks: Path) -> None:
    """The project asks what the sheet asks, shows every column, and its page is in the worker's language."""
    settings = project.settings
    assert settings.title == sheet.heading
    assert settings.assign.workers_per_item == sheet.workers
    assert project.form.main_question(project.options) == sheet.question
    if sheet.guideline:
        assert all(point in project.guideline(sheet.language) for point in sheet.guideline)
    examples = list(read_examples(tasks))
    views = [project.form.view(project.form, example, project.options) for example in examples]
    for example, view in zip(examples, views, strict=True):
        unseen = set(example.inputs) - set(view) - {"japanese"}  # it is in the field, as `begun`
        assert {name for name in unseen if example.inputs[name]} == set(), sheet
    with served(project.folder) as (_, client):
        ((_, link),) = create_links(project.folder, ["볼 사람"], "http://here").links
        check_page(project, sheet, client.get(link).text, views[0])


def test_every_question_to_people_was_walked() -> None:
    """Runs after the walks of this file; alone it has nothing to compare."""
    if not WALKED:
        pytest.skip("no walk of this process")
    walked = {recipe for recipe, _ in WALKED}
    asked = {
        (recipe, stage.name)
        for recipe in walked
        for stage in recipes()[recipe].stages
        if isinstance(stage, Ask)
    }
    assert asked - WALKED == set()


def test_every_recipe_has_small_sources() -> None:
    assert set(SMALL_SOURCES) == set(recipes())
