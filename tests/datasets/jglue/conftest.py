"""Small invented files in the published formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Put = Callable[[str, Iterable[dict[str, Any]]], Path]
Findings = Callable[..., dict[tuple[str, str], Any]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data root."""
    return tmp_path / "data"


@pytest.fixture
def put(data: Path) -> Put:
    """Write rows as JSON lines to a path below the data root."""

    def write(name: str, rows: Iterable[dict[str, Any]]) -> Path:
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
        )
        return path

    return write


@pytest.fixture
def findings() -> Findings:
    """The findings of a dataset's own traps, by check and place."""
    from nikawa.datasets import benchmarks, load
    from nikawa.datasets.locate import repository_folder

    def find(name: str, data: Path) -> dict[tuple[str, str], Any]:
        benchmark = benchmarks()[name]
        assert benchmark.find_problems is not None
        found = benchmark.find_problems(repository_folder(benchmark, data), load(name, data=data))
        return {(f.check, f.where): f for f in found}

    return find
