"""One Chromium for all tests in a real browser: Playwright runs once a process."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Programs, the one without windows of its own first: it opens a page in a quarter of the CPU time."""
_loops: list[asyncio.AbstractEventLoop] = []
"""The event loop of Playwright, while it runs."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let the loop of Playwright count as running in tests of a browser alone.

    Playwright marks it so from the first browser test to the end of the process, and `asyncio.run` would fail in every test
    that comes after one in the same process.
    """
    is_ours = item.path.is_relative_to(Path(__file__).parent)  # pytest calls this for every test
    asyncio._set_running_loop(_loops[-1] if _loops and is_ours else None)
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium; tests that ask for it are skipped where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: install the package chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=120_000
        )
        _loops.append(asyncio.get_running_loop())
        yield browser
        asyncio._set_running_loop(_loops.pop())  # the test that ends the session may be any
        browser.close()


class Listening:
    """An application on a port of its own, in a thread, and the browser windows that look at it."""

    def __init__(self, app: Any) -> None:
        import uvicorn

        self.contexts: list[Any] = []
        self._server = uvicorn.Server(
            uvicorn.Config(app, port=0, log_level="error", access_log=False)
        )
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.address = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """Close the windows, then the server."""
        for context in self.contexts:
            context.close()
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture
def listen() -> type[Listening]:
    """Serves an application for a browser."""
    return Listening
