"""One Chromium for all tests in a real browser: Playwright runs once a process."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium; tests that ask for it are skipped where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: install the package chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
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
