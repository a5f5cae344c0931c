"""What the browser tests of collect share: forms served as workers meet them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.collect.app import create_app
from nikawa.collect.export import read_judgements
from nikawa.collect.form import Form, forms
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, open_store
from nikawa.collect.workers import add_worker
from nikawa.records import Example, Judgement
from nikawa.serve.login import hash_token

SHOTS = os.environ.get("NIKAWA_SCREENSHOTS")
"""A folder for pictures of every form, to look at."""
AT = """([start, end]) => {
  const host = document.querySelector('.pick');
  const walk = document.createTreeWalker(host, NodeFilter.SHOW_TEXT);
  const place = (wanted) => {
    walk.currentNode = host;
    let before = 0;
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const chars = [...node.data];
      if (wanted < before + chars.length) {
        const range = document.createRange();
        const inside = chars.slice(0, wanted - before).join('').length;
        range.setStart(node, inside); range.setEnd(node, inside + chars[wanted - before].length);
        return range.getBoundingClientRect();
      }
      before += chars.length;
    }
  };
  const [first, last] = [place(start), place(end - 1)];
  return [first.left + 1, first.top + first.height / 2, last.right - 1, last.top + last.height / 2];
}"""
"""Where characters of a text to select in stand on the screen."""
CLOCK = """(() => {
  const now = performance.now.bind(performance);
  let held = false, passed = 0;
  performance.now = () => (held ? 0 : now() + passed);
  window.clock = { hold() { held = true; }, pass(seconds) { held = false; passed += 1000 * seconds; } };
})()"""
"""The time that a page measures, in the hands of the test: how busy the machine is must not decide what was looked at."""


class Page:
    """A worker's page, with everything it asked for and complained about."""

    def __init__(self, context: Any, address: str) -> None:
        self.context, self.address = context, address
        self.faults: list[str] = []
        context.add_init_script(CLOCK)
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("console", self._console)

    def _console(self, message: Any) -> None:
        if (
            message.type == "error"
            and "net::ERR_" not in message.text
            and "status of 4" not in message.text
        ):
            self.faults.append(message.text)

    def loaded(self) -> list[tuple[str, int]]:
        """Address and size of everything the page asked for."""
        script = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .map((entry) => [entry.name, entry.encodedBodySize])"""
        return [(url, size) for url, size in self.page.evaluate(script)]

    def open(self) -> Any:
        self.page.goto(self.address)
        return self.ready()

    def ready(self) -> Any:
        """Wait until an item is there to be answered."""
        self.page.wait_for_selector("#answer:not([hidden])[aria-busy=false]")
        return self.page

    def hold_clock(self) -> None:
        """Until time is let pass, the item has just come into sight."""
        self.page.evaluate("clock.hold()")

    def let_pass(self, seconds: float) -> None:
        """Have the page believe that so many seconds have passed."""
        self.page.evaluate("(seconds) => clock.pass(seconds)", seconds)

    def ended(self) -> Any:
        self.page.wait_for_selector("#ended:not([hidden])")
        return self.page

    def typed(self, text: str) -> None:
        """Write into what has the focus."""
        self.page.keyboard.insert_text(text)

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def drag(self, start: int, end: int) -> None:
        """Select characters with the mouse."""
        left, top, right, bottom = self.page.evaluate(AT, [start, end])
        self.page.mouse.move(left, top)
        self.page.mouse.down()
        self.page.mouse.move(right, bottom, steps=3)
        self.page.mouse.up()

    def shot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)

    def view(self, name: str) -> None:
        """A picture of what is in sight."""
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


class Served:
    """A form with items of its sample, served on a port."""

    def __init__(
        self, project: Project, store: Store, browser: Any, listen: Callable[[Any], Any]
    ) -> None:
        self.project, self.store, self.browser = project, store, browser
        self.served = listen(create_app(project, store))
        self.address: str = self.served.address

    @property
    def form(self) -> Form:
        return self.project.form

    def worker(self, name: str = "hanako", language: str = "ja", **how: Any) -> Page:
        """A worker's page on a device of its own."""
        token = self.project.token(name)
        self.store.write(
            lambda db: add_worker(db, name, hash_token(token), "link", language=language, now=1.0)
        )
        return self.device(name, **how)

    def device(self, name: str = "hanako", **how: Any) -> Page:
        context = self.browser.new_context(**{"viewport": {"width": 1000, "height": 850}, **how})
        self.served.contexts.append(context)
        return Page(context, f"{self.address}/w/{self.project.token(name)}")

    def read_judgements(self, worker: str = "hanako") -> list[Judgement]:
        with self.store.connection() as db:
            return [found for found in read_judgements(db, self.project) if found.worker == worker]

    def answers(self, worker: str = "hanako") -> dict[str, Any]:
        return {found.question: found.answer for found in self.read_judgements(worker)}

    def close(self) -> None:
        self.served.close()
        self.store.close()


@pytest.fixture
def serve(
    tmp_path: Path, chromium: Any, listen: Callable[[Any], Any]
) -> Iterator[Callable[..., Served]]:
    """Serve so many items of a form's sample."""
    running: list[Served] = []

    def begin(
        name: str, items: int = 3, inputs: dict[str, Any] | None = None, **tables: Any
    ) -> Served:
        sample = forms()[name].sample
        assert sample is not None
        table = {
            "title": "試しの作業",
            "form": name,
            "form_settings": dict(sample.settings),
            **tables,
        }
        settings = msgspec.convert(table, Settings)
        examples = [Example(id=f"i{n}", inputs=dict(inputs or sample.inputs)) for n in range(items)]
        made = create_project(tmp_path / f"project{len(running)}", settings, examples)
        project = replace(made, settings=settings)
        store = open_store("", project.folder, project.name)
        sync_items(project, store)
        running.append(Served(project, store, chromium, listen))
        return running[-1]

    yield begin
    for served in running:
        served.close()
