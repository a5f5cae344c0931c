"""Where the published data is, for the tests that use it: `NIKAWA_SHARED`, else a folder beside the checkout."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # each core has its test process: more threads would only wait
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))


def _shared() -> Path:
    given = os.environ.get("NIKAWA_SHARED")
    return Path(given) if given else Path(__file__).parents[2] / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that no process is left alone with one at the end."""
    items.sort(
        key=lambda item: (item.get_closest_marker("longest") is None, item.get_closest_marker("slow") is None)
    )


def pytest_collection_finish() -> None:
    """Keep what collecting made out of every later search for garbage: most of it lives to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published datasets; tests that ask for it are skipped where it is absent."""
    folder = _shared() / "data"
    if not folder.is_dir():
        pytest.skip("no published data here: set NIKAWA_SHARED to a folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def shared_corpus() -> Path:
    """The folder of source text; tests that ask for it are skipped where it is absent."""
    folder = _shared() / "corpus"
    if not folder.is_dir():
        pytest.skip("no source text here: set NIKAWA_SHARED to a folder that holds corpus/")
    return folder


@pytest.fixture(scope="session")
def _no_data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.getbasetemp() / "no-data")


@pytest.fixture(autouse=True)
def _no_user_data(monkeypatch: pytest.MonkeyPatch, _no_data: str) -> None:
    """No test sees the data folder of the person who runs it."""
    monkeypatch.delenv("NIKAWA_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", _no_data)
