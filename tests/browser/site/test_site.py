"""The built site in a real browser: search finds Japanese, Korean and English; nothing comes from other hosts."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("material", "mkdocstrings"):
        if not any((Path(folder) / name).is_dir() for folder in sys.path):
            pytest.skip("the tools of the site are not installed: make docs installs them")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(chromium: Any, address: str) -> Iterator[Any]:
    """A window that fails the test when a page asks another host or has an error."""
    context = chromium.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("request", lambda r: None if r.url.startswith(address) else problems.append(r.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert not problems


@pytest.mark.parametrize(
    ("query", "expected", "marked"),
    [
        ("含意", "answers.html", "含意"),
        ("모순", "answers.html", "모순"),
        ("모순을", "answers.html", "모순"),  # with its particle
        ("形容詞", "glossary.html", "形容詞"),
        ("형용사", "glossary.html", "형용사"),
        ("ＪＮＬＩ", "build.html", "JNLI"),  # full-width letters
        ("krippendorff", "agreement.html", "Krippendorff"),
        ("judgements gold", "aggregate.html", "gold"),
    ],
)
def test_search_finds(page: Any, address: str, query: str, expected: str, marked: str) -> None:
    page.goto(address + "index.html")
    page.fill(".md-search__input", query)
    page.press(".md-search__input", "End")  # the theme listens to keys
    page.wait_for_selector(".md-search-result__link mark")
    links = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.pathname)")
    assert any(link.endswith(expected) for link in links)
    marks = page.locator(".md-search-result__link mark").all_text_contents()
    assert marked.lower() in {mark.lower() for mark in marks}


def test_pages_fit_a_phone(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("index", "api", "glossary", "run", "project/changelog"):
        page.goto(f"{address}{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
