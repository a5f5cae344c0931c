"""docs/data.md: its Python runs, its check names exist, its example of a known problem is listed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.checks.job import CUSTOM_CHECKS, GIVEAWAY, known_problems
from nikawa.checks.label_balance import LACKING, SINGLE
from nikawa.checks.quality import TEXT_CHECKS
from nikawa.checks.schema import NOTES
from nikawa.datasets import fetch as fetching
from nikawa.datasets.known import KnownFinding

TEXT = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "pinned_files", lambda name: ())
    space: dict[str, Any] = {}
    exec(compile(code, "docs/data.md", "exec"), space)
    assert {"summary", "report", "known_entries", "answers"} & space.keys()
    assert space.get("answers", True)


def test_the_known_problem_is_listed() -> None:
    example, block = blocks("toml")
    (entry,) = msgspec.convert(tomllib.loads(example)["known"], tuple[KnownFinding, ...])
    assert entry.check in CUSTOM_CHECKS
    for dataset, checks in tomllib.loads(block).items():
        for check, places in checks.items():
            assert known_problems()[dataset][check].items() >= places.items()


def test_named_checks_of_shape_and_text_exist() -> None:
    for check in ("missing-input", "wrong-type", "label-outside", "span-outside"):
        assert f"`{check}`" in TEXT
        assert check in NOTES
    assert all(f"`{check}`" in TEXT for check in TEXT_CHECKS)
    assert all(f"`{check}`" in TEXT for check in (SINGLE, LACKING, GIVEAWAY))
