"""What a worker waits for: the first page of every form over loopback, its size, and the time until a browser shows the item."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

VISITS = 20


@contextmanager
def served(name: str, folder: Path) -> Iterator[tuple[int, str]]:
    """The port of a server with items of a form's sample, and the path of a worker."""
    import uvicorn

    from nikawa.collect.app import create_app
    from nikawa.collect.form import forms
    from nikawa.collect.items import sync_items
    from nikawa.collect.project import create_project
    from nikawa.collect.settings import Settings
    from nikawa.collect.store import open_store
    from nikawa.collect.workers import make_links
    from nikawa.records import Example

    sample = forms()[name].sample
    assert sample is not None
    settings = msgspec.convert(
        {"title": name, "form": name, "form_settings": dict(sample.settings)}, Settings
    )
    examples = [Example(id=str(n), inputs=dict(sample.inputs)) for n in range(1000)]
    project = create_project(folder / name, settings, examples)
    with open_store("", project.folder, project.name) as store:
        sync_items(project, store)
        ((_, token),) = store.write(make_links, project, ["w"], "bench", 1.0)
        server = uvicorn.Server(
            uvicorn.Config(create_app(project, store), port=0, log_level="error")
        )
        running = threading.Thread(target=server.run)
        running.start()
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1], f"/w/{token}"
        server.should_exit = True
        running.join()


def visit(port: int, path: str) -> float:
    """Milliseconds until the whole page is loaded, on a new connection."""
    began = time.perf_counter()
    link = HTTPConnection("127.0.0.1", port)
    link.request("GET", path)
    link.getresponse().read()
    link.close()
    return 1000 * (time.perf_counter() - began)


def shown(browser: Any, address: str) -> tuple[float, int, int]:
    """Milliseconds until a browser without a cache shows the item, and the bytes and the number of its requests."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#answer:not([hidden])[aria-busy=false]")
    script = """() => { const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
      const next = all.find((one) => one.name.endsWith('/next'));
      return [next.responseEnd, all.reduce((sum, one) => sum + one.encodedBodySize, 0), all.length]; }"""
    wait, size, count = page.evaluate(script)
    context.close()
    return wait, size, count


def main() -> None:
    from playwright.sync_api import sync_playwright

    from nikawa.collect.form import forms

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox"],
        )
        print(f"{'form':22} {'first':>8} {'median':>8} {'browser':>8} {'bytes':>8} requests")
        for name in forms():
            with served(name, Path(folder)) as (port, path):
                first, *others = [visit(port, path) for _ in range(VISITS)]
                wait, size, count = min(
                    shown(browser, f"http://127.0.0.1:{port}{path}") for _ in range(3)
                )
                print(
                    f"{name:22} {first:6.1f}ms {median(others):6.1f}ms {wait:6.0f}ms {size:8,} {count}"
                )
        browser.close()
