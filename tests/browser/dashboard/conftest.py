"""A project being served with the analyses of the real server, and its owner in a browser."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.collect.analyses import ANALYSES
from nikawa.collect.app import create_app
from nikawa.collect.export import read_judgements
from nikawa.collect.items import add_judgements, sync_items
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, open_store
from nikawa.records import Example, Judgement
from nikawa.serve.login import SESSION_COOKIE, hash_password, set_person, start_session

SHOTS = os.environ.get("NIKAWA_SCREENSHOTS")
"""A folder for pictures of the pages, to look at."""
PASSWORD = "とても長い合言葉です"
HASTE = """
  const later = window.setTimeout;
  window.setTimeout = (action, wait, ...more) => later(action, Math.min(wait ?? 0, 500), ...more);
"""
"""A dashboard looks for newer figures twice a second instead of every five."""
Row = tuple[str, str, Any, float]


class Owned:
    """A project on a port."""

    def __init__(
        self, project: Project, store: Store, browser: Any, listen: Callable[[Any], Any]
    ) -> None:
        self.project, self.store, self.browser = project, store, browser
        self.faults: list[str] = []
        self.served = listen(create_app(project, store, analyses=ANALYSES))
        self.address: str = self.served.address

    def log_in(self, role: str = "owner", language: str = "en", **how: Any) -> Any:
        """The dashboard as somebody of that role sees it after the log-in."""
        kept = hash_password(PASSWORD)
        self.store.write(lambda db: set_person(db, role, role, kept, 1.0))
        page = self._page({"locale": language, **how})
        page.goto(f"{self.address}/login")
        page.fill("[name=name]", role)
        page.fill("[name=password]", PASSWORD)
        page.click("main form button")
        page.wait_for_selector("#complete")
        return page

    def enter(self, path: str, role: str = "owner", **how: Any) -> Any:
        """A page as somebody sees it who is logged in already."""
        self.store.write(lambda db: set_person(db, role, role, "none", 1.0))
        cookie = self.store.write(lambda db: start_session(db, role, time.time()))
        page = self._page(how)
        page.context.add_cookies([{"name": SESSION_COOKIE, "value": cookie, "url": self.address}])
        page.goto(self.address + path)
        return page

    def _page(self, how: dict[str, Any]) -> Any:
        context = self.browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **how})
        self.served.contexts.append(context)
        context.add_init_script(f"{{{HASTE}}}")
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on(
            "console", lambda said: self.faults.append(said.text) if said.type == "error" else None
        )
        return page

    def take(self, rows: list[Row]) -> None:
        """Answers that come in: worker, item, answer, seconds."""
        question = self.project.options.question
        given = [
            (
                n,
                Judgement(
                    example=item, worker=worker, question=question, answer=answer, seconds=seconds
                ),
            )
            for n, (worker, item, answer, seconds) in enumerate(rows, start=1)
        ]
        self.store.write(lambda db: add_judgements(db, self.project, given, "answers", 1.0))

    def give(self, answers: dict[str, dict[str, Any]], item: str = "i") -> None:
        """Whole answers to an item, by worker, held to no rule: as brought in from elsewhere."""
        given = [
            Judgement(example=item, worker=worker, question=question, answer=value)
            for worker, answer in answers.items()
            for question, value in self.project.form.to_judgements(answer)
        ]
        rows = list(enumerate(given, start=1))
        self.store.write(lambda db: add_judgements(db, self.project, rows, "answers", 1.0))

    def decisions(self) -> list[Judgement]:
        with self.store.connection() as db:
            return list(read_judgements(db, self.project, ("decisions",)))

    def shot(self, page: Any, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)

    def close(self) -> None:
        self.served.close()
        self.store.close()


@pytest.fixture
def own(
    tmp_path: Path, chromium: Any, listen: Callable[[Any], Any]
) -> Iterator[Callable[..., Owned]]:
    """Serve examples in a form."""
    running: list[Owned] = []

    def begin(form: str, examples: list[Example], settings: Any = None, **options: Any) -> Owned:
        table = {"title": "試しの作業", "form": form, "form_settings": options, **(settings or {})}
        project = create_project(tmp_path / form, msgspec.convert(table, Settings), examples)
        store = open_store("", project.folder, project.name)
        sync_items(project, store)
        running.append(Owned(project, store, chromium, listen))
        return running[-1]

    yield begin
    for owned in running:
        owned.close()
