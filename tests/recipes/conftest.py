"""People who answer the task sheets of a build as a test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.io.records import read_examples, write_records
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.records import Example, Judgement

Tell = Callable[[Example], list[Any]]


@pytest.fixture
def people() -> Callable[..., int]:
    """Write the answers to an `Ask`: of each item the answers of as many workers; returns how many."""

    def answer(out: Path, ask: str, tell: Tell, who: str = "w") -> int:
        place = out / "people" / ask
        rows = [
            Judgement(
                example=item.id, worker=f"{who}{n}", question="q", answer=given, at="2026-01-02"
            )
            for item in read_examples(place / "tasks.jsonl")
            for n, given in enumerate(tell(item))
        ]
        return write_records(place / "answers.jsonl", rows, overwrite=True)

    return answer


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Callable[[], BuildReport]]:
    """A build of a recipe from source lines and settings, as a function to call again and again."""

    def make(
        recipe: str, source: str, lines: list[dict[str, Any]], **settings: Any
    ) -> Callable[[], BuildReport]:
        path = tmp_path / f"{source}.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        config = tmp_path / f"{recipe}.toml"
        told = {source: path.name, **settings}
        config.write_text(
            "".join(f"{k} = {msgspec.json.encode(v).decode()}\n" for k, v in told.items()), "utf-8"
        )
        return lambda: build(recipe, tmp_path / "out", BuildOptions(config=config))

    return make
