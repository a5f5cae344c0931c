"""The page of every sheet of every recipe in a browser: in the worker's language, on a desk and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.browser.collect.conftest import Served
from tests.recipes.small_sources import SMALL_SOURCES

from nikawa.collect.items import sync_items
from nikawa.collect.job import create
from nikawa.collect.project import open_project
from nikawa.collect.sources import NewProject
from nikawa.collect.store import open_store
from nikawa.io.json import read_json
from nikawa.io.records import read_examples
from nikawa.io.task_sheet import SHEET, TASKS, Sheet
from nikawa.recipes.build import BuildOptions, NothingLeft, build
from nikawa.recipes.recipe import Ask, recipes
from nikawa.records import texts_inside

pytestmark = pytest.mark.slow
SEEDS = {
    "jcommonsenseqa": 2,
    "klue-mrc": 37,
    "klue-ner": 4,
    "klue-nli": 22,
    "klue-re": 4,
    "klue-sts": 3,
    "reading-ja": 41,
}
"""A seed of simulated workers with whom every question of a recipe has items; 1 where none is named."""
ALLOWED = {"Enter", "Esc", "IT", "English"}
"""Keys of the keyboard, a topic, and the name of a language."""
VISIBLE = """() => [document.body.innerText,
  ...[...document.querySelectorAll('[data-label]')].map((mark) => mark.dataset.label),
  ...[...document.querySelectorAll('[aria-label]')].map((part) => part.getAttribute('aria-label'))].join('\\n')"""
WIDE = """() => [document.documentElement.scrollWidth, window.innerWidth]"""
LOOKED_AT: set[Any] = set()
"""Questions whose page was looked at; recipes share some."""
MARKER = re.compile(r"<[^<>]+:[A-Z]{2}>|</?subj>|</?obj>|\[SEP\]|[A-Za-z]+ x\d")


def simulate(recipe: str, folder: Path) -> list[Path]:
    """The sheets of a simulated build, one for every question of the recipe."""
    for name, text in SMALL_SOURCES[recipe]().items():
        (folder / name).write_text(text, "utf-8")
    options = BuildOptions(config=folder / "config.toml", simulate=SEEDS.get(recipe, 1))
    with suppress(NothingLeft):  # these workers guess
        build(recipe, folder / "out", options)
    asks = [stage.name for stage in recipes()[recipe].stages if isinstance(stage, Ask)]
    return [folder / "out" / "people" / ask for ask in asks]


@pytest.mark.parametrize("recipe", list(recipes()))
def test_a_worker_reads_their_own_language(
    recipe: str, tmp_path: Path, chromium: Any, listen: Callable[[Any], Any]
) -> None:
    for place in simulate(recipe, tmp_path):
        sheet = read_json(place / SHEET, Sheet)
        page_of = (sheet.form, sheet.prompt, sheet.heading, tuple(sheet.names.items()))
        if page_of in LOOKED_AT:
            continue  # the same question about other items
        LOOKED_AT.add(page_of)
        texts = " ".join(
            text for e in read_examples(place / TASKS) for text in texts_inside(e.inputs)
        )
        holds_latin = sheet.form in ("translation", "tree")  # texts to translate; tags of words
        data = set(re.findall(r"[A-Za-z]{2,}", texts)) if holds_latin else set()
        folder = tmp_path / f"{place.name}.project"
        assert create(folder, str(place / TASKS), NewProject()).items == sheet.items
        project = open_project(folder)
        store = open_store("", folder, project.name)
        sync_items(project, store)
        served = Served(project, store, chromium, listen)
        try:
            page = served.worker("hanako", sheet.language)
            shown = page.open()
            for name, width in (("desk", 1100), ("phone", 360)):
                shown.set_viewport_size({"width": width, "height": 780})
                across, window = shown.evaluate(WIDE)
                assert across <= window, (place.name, name)
                page.shot(f"sheet-{recipe}-{place.name}-{name}")
            text = shown.evaluate(VISIBLE)
            shown.click("#open-report")
            text += shown.locator("#report").inner_text()
            shown.keyboard.press("Escape")
            shown.click("#open-guideline")
            guideline = shown.locator("#guideline").inner_text()
            words = set(re.findall(r"[A-Za-z]{2,}", text)) - ALLOWED - data
            assert not words, (place.name, words, text)
            assert not MARKER.search(text), (place.name, text)
            assert all(point in guideline for point in sheet.guideline)
            assert str(sheet.items) in shown.locator("#progress").inner_text()
            assert page.faults == []
        finally:
            served.close()
