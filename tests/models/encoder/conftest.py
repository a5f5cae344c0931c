"""Small random encoders with a vocabulary of characters, made on the spot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.models.encoder.checkpoints import save_tiny

from nikawa.models.encoder import Encoder
from nikawa.records import Kind


def _letters(value: Any) -> set[str]:
    if isinstance(value, str):
        return {c for c in value if not c.isspace()}
    if isinstance(value, Mapping):
        value = list(value.values())
    return set().union(*(_letters(v) for v in value)) if isinstance(value, Iterable) else set()


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small matrices gain nothing from threads, and sums come out the same. Each time, as other tests set the number too."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, invented: Mapping[Kind, Any]) -> Path:
    """The folder of a small random BERT that knows the characters of the invented tasks."""
    texts = [[e.inputs for e in (*case.learn, *case.ask)] for case in invented.values()]
    return save_tiny(tmp_path_factory.mktemp("tiny"), _letters([texts, "0123456789"]))


@pytest.fixture
def made(tiny: Path) -> Callable[..., Encoder]:
    """An encoder over the small BERT, with settings for small tests."""
    from nikawa.models import model

    def make(
        folder: Path | None = None, checkpoint: Path = tiny, seed: int = 1, **settings: Any
    ) -> Encoder:
        whole = {"epochs": 1, "batch": 8, "device": "cpu", "learning_rate": 1e-3, **settings}
        found = model(f"encoder:{checkpoint}", seed=seed, settings=whole, folder=folder)
        assert isinstance(found, Encoder)
        return found

    return make


@pytest.fixture(scope="session")
def tiny_maker() -> Callable[..., Path]:
    """Save a small random BERT with a vocabulary of these characters."""
    return save_tiny


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The folder of golden files; tests that ask for it are skipped where it is absent."""
    given = os.environ.get("NIKAWA_SHARED")
    folder = (Path(given) if given else Path(__file__).parents[4] / "shared") / "golden"
    if not folder.is_dir():
        pytest.skip("no golden files here: set NIKAWA_SHARED to a folder that holds golden/")
    return folder
