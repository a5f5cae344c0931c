"""Every page of the annotation server in Japanese and Korean: no English left over, and the words of the field.

The tables of messages, the forms and the recipes are read as they are declared. The pages are fetched from the server's
routes. `tests/browser` looks at the same pages after their scripts have run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bs4 import BeautifulSoup
from starlette.testclient import TestClient

from nikawa.collect.analyses import ANALYSES
from nikawa.collect.app import create_app
from nikawa.collect.form import Form, forms
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.site import owner_messages, page_messages
from nikawa.collect.store import Store, open_store
from nikawa.collect.workers import add_worker
from nikawa.recipes.recipe import Ask, recipes
from nikawa.records import Example
from nikawa.serve.login import SESSION_COOKIE, hash_token, set_person, start_session

LATIN = re.compile(r"[A-Za-z]{2,}")
SLOT = re.compile(r"\{\w+\}")
ALLOWED = {"JavaScript", "Ctrl", "Enter", "Esc", "English", "IT", "an", "the"} | {
    "UAS",
    "LAS",
    "MASI",
    "Jaccard",
}
"""A product, keys of the keyboard, the name of a language, a topic of KLUE-TC, the English articles that a guideline
of translation explains, and measures that have no other name."""
TITLES = {"ja": "作業", "ko": "작업"}
OLD_WORDS = {
    "ja": {
        "印": "タグ, ハイライト or 要確認",
        "進みぐあい": "進捗",
        "進み具合": "進捗",
        "手がかりの検査": "ラベル漏れの検査",
        "題名": "タイトル",
        "もとの文": "元の文",
        "あてはま": "当てはま",
        "手引き": "ガイドライン",
        "言い当て": "予測率",
    },
    "ko": {
        "낱말": "단어",
        "견주": "비교하다",
        "과부족": "빠짐없이, 필요한 부분만",
        "모자라거나 남지": "빠짐없이, 필요한 부분만",
        "되풀이": "반복하다",
        "어느 쪽이라고": "참·거짓을 판단할 수 없는",
        "끌어서": "드래그하여",
        "은(는)": "a sentence that needs no particle after a slot",
        "이(가)": "a sentence that needs no particle after a slot",
        "을(를)": "a sentence that needs no particle after a slot",
    },
}
"""What native readers found childlike, purist or translated, and what the pages say instead."""
LANGUAGES = tuple(OLD_WORDS)


def find_english(text: str) -> set[str]:
    """The words in Latin letters that a reader of the page would see."""
    return set(LATIN.findall(SLOT.sub(" ", text))) - ALLOWED


def check_words(language: str, where: str, text: str) -> list[str]:
    """What is wrong with a text that workers or owners read in a language."""
    faults = [f"{where}: {word!r} is English" for word in sorted(find_english(text))]
    for old, new in OLD_WORDS[language].items():
        if old in text:
            faults.append(f"{where}: {old!r}; write: {new}")
    return faults


def form_texts(form: Form, language: str) -> Iterator[tuple[str, str]]:
    """Everything that a form says in a language, each text with its place."""
    yield "title", form.title[language]
    yield "guideline", form.guideline.get(language, "")
    yield from form.words.get(language, {}).items()


@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_are_in_their_language(language: str) -> None:
    tables = {"messages": page_messages(language), "owner": owner_messages(language)}
    faults = [
        fault
        for name, table in tables.items()
        for key, text in table.items()
        for fault in check_words(language, f"{name}.{key}", text)
    ]
    assert faults == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(forms()))
def test_forms_are_in_their_language(name: str, language: str) -> None:
    faults = [
        fault
        for place, text in form_texts(forms()[name], language)
        for fault in check_words(language, f"{name}.{place}", text)
    ]
    assert faults == []


@pytest.mark.parametrize("language", [*LANGUAGES, "en"])
@pytest.mark.parametrize("name", list(forms()))
def test_forms_say_the_same_things_in_all_languages(name: str, language: str) -> None:
    form = forms()[name]
    english = form.words["en"]
    assert set(form.words[language]) == set(english)
    for key, text in form.words[language].items():
        assert sorted(SLOT.findall(text)) == sorted(SLOT.findall(english[key])), key


@pytest.mark.parametrize("name", list(recipes()))
def test_recipes_name_their_labels_for_workers(name: str) -> None:
    recipe = recipes()[name]
    faults: list[str] = []
    for ask in (stage for stage in recipe.stages if isinstance(stage, Ask)):
        where = f"{name}.{ask.name}"
        known = forms()[ask.form].words[recipe.language]
        shown = [ask.heading, *ask.guideline, *ask.names.values(), *ask.anchors.values()]
        if ask.form == "choice":
            shown.append(ask.prompt)
        for label in ask.labels:
            shown.append(ask.names.get(label) or known.get(f"label_{label}") or label)
        faults += [fault for text in shown for fault in check_words(recipe.language, where, text)]
    assert faults == []


def serve(folder: Path, form: Form, language: str) -> tuple[Project, Store]:
    """A project with two items of a form's sample."""
    sample = form.sample
    assert sample is not None
    table = {
        "title": TITLES[language],
        "form": form.name,
        "form_settings": dict(sample.settings),
        "language": language,
    }
    examples = [Example(id=f"{n}", inputs=dict(sample.inputs)) for n in range(2)]
    project = create_project(folder, msgspec.convert(table, Settings), examples)
    store = open_store("", project.folder, project.name)
    sync_items(project, store)
    return project, store


def visible_words(html: str) -> str:
    """The text of a page and the names that screen readers speak."""
    soup = BeautifulSoup(html, "html.parser")
    for gone in soup(["script", "style"]):
        gone.decompose()
    labels = [str(part["aria-label"]) for part in soup.select("[aria-label]")]
    return "\n".join([soup.get_text(" "), *labels])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(forms()))
def test_every_page_is_in_the_readers_language(tmp_path: Path, name: str, language: str) -> None:
    project, store = serve(tmp_path / "p", forms()[name], language)
    try:
        token = project.token("1")
        owner = {"ja": "管理者", "ko": "관리자"}[language]
        store.write(
            lambda db: add_worker(db, "1", hash_token(token), "link", language=language, now=1.0)
        )
        store.write(lambda db: set_person(db, owner, "owner", "none", 1.0))
        cookie = store.write(lambda db: start_session(db, owner, time.time()))
        client = TestClient(
            create_app(project, store, analyses=ANALYSES),
            base_url="http://here",
            headers={"accept-language": language, "accept": "text/html"},
        )
        pages: dict[str, Any] = {
            path: client.get(path) for path in (f"/w/{token}", "/w/unknown", "/nowhere", "/login")
        }
        client.cookies.set(SESSION_COOKIE, cookie)
        pages |= {path: client.get(path) for path in ("/owner", "/owner/adjudicate")}
        assert [page.status_code for page in pages.values()] == [200, 404, 404, 200, 200, 200]
        faults = [
            fault
            for path, page in pages.items()
            for fault in check_words(language, path, visible_words(page.text))
        ]
        assert faults == []
    finally:
        store.close()
