"""The examples of docs/files.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "files.md"


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/files.md", "exec"), names)


def test_every_suffix_is_on_the_page() -> None:
    from nikawa.io.records import SUFFIXES

    table = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `.")]
    assert {suffix for line in table for suffix in re.findall(r"`(\.[a-z.]+)`", line)} == set(
        SUFFIXES
    )


def test_the_table_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    from nikawa.io.records import read_examples

    lines = [
        line[4:]
        for line in PAGE.read_text("utf-8").splitlines()
        if line.startswith(("    id\t", "    1\t", "    2\t"))
    ]
    (tmp_path / "x.tsv").write_text("\n".join([*lines, ""]), "utf-8")
    assert [example.id for example in read_examples(tmp_path / "x.tsv")] == ["1", "2"]
