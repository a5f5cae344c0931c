"""Text for the cleaning tests: invented, and the shared corpus where it is."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from nikawa.cleaning import Settings, choose_steps
from nikawa.cleaning.engine import Cleaner, Rejection

Kept = Callable[..., list[str]]


@pytest.fixture
def kept() -> Kept:
    """The sentences that survive cleaning; length is left out unless asked for."""

    def run(text: str, language: str, **settings: object) -> list[str]:
        cleaner = Cleaner(choose_steps(without=["length"]), Settings(language=language, **settings))  # type: ignore[arg-type]
        return [found.text for found in cleaner.clean(text) if not isinstance(found, Rejection)]

    return run


@pytest.fixture(scope="session", params=["ja", "ko"])
def corpus(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """(Language, a slice of the shared corpus); skipped where it is absent."""
    given = os.environ.get("NIKAWA_SHARED")
    folder = (Path(given) if given else Path(__file__).parents[3] / "shared") / "corpus"
    path = folder / f"{request.param}.txt.xz"
    if not path.is_file():
        pytest.skip("no corpus here: set NIKAWA_SHARED to a folder that holds corpus/")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return request.param, [line.rstrip("\n") for line in islice(lines, 3000)]
