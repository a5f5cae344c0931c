"""The official values, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of golden files; tests that ask for it are skipped where it is absent."""
    given = os.environ.get("NIKAWA_SHARED")
    folder = (Path(given) if given else Path(__file__).parents[3] / "shared") / "golden"
    if not folder.is_dir():
        pytest.skip("no golden files here: set NIKAWA_SHARED to a folder that holds golden/")
    return folder
