"""Small KLUE files in the published formats, with invented sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.load import load
from nikawa.datasets.names import benchmarks
from nikawa.records import Finding

Lay = Callable[..., Path]
COMMENTS = "## 토큰, 레이블 구분자 : \\t\n## 토큰 구분자 : \\n\n## 문장 구분자 : \\n\\n\n## 주석 : ##\n## 칼럼명 : A\tB\n"


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Write one published file below the data folder: `lay("klue-nli", "dev", records)`."""

    def write(stem: str, split: str, content: Any, version: str = "1.1") -> Path:
        suffix = "tsv" if isinstance(content, str) else "json"
        folder = tmp_path / "klue" / "klue_benchmark" / f"{stem}-v{version}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{stem}-v{version}_{split}.{suffix}"
        body = (
            content
            if isinstance(content, str)
            else json.dumps(content, ensure_ascii=False, indent=4)
        )
        path.write_text(body, encoding="utf-8")
        return path

    return write


@pytest.fixture
def comments() -> str:
    """The five lines that open a column file."""
    return COMMENTS


@pytest.fixture
def sentence() -> Callable[[str, str, list[str]], str]:
    """One sentence of KLUE-NER: header, a row a character, blank line."""

    def write(guid: str, header: str, rows: list[str]) -> str:
        return f"## {guid}\t{header}\n" + "".join(row + "\n" for row in rows) + "\n"

    return write


@pytest.fixture
def tag() -> Callable[[str], list[str]]:
    """Rows from text with `[span|TYPE]`, the brackets left out."""

    def write(marked: str) -> list[str]:
        rows = []
        for piece in marked.replace("]", "[").split("["):
            if "|" in piece:
                span, _, kind = piece.partition("|")
                rows += [f"{c}\t{'I' if n else 'B'}-{kind}" for n, c in enumerate(span)]
            else:
                rows += [f"{c}\tO" for c in piece]
        return rows

    return write


@pytest.fixture
def trapped() -> Callable[[str, Path], dict[str, Finding]]:
    """The findings of a dataset's own checks, by name."""

    def find(name: str, data: Path) -> dict[str, Finding]:
        find_problems = benchmarks()[name].find_problems
        assert find_problems is not None
        return {found.check: found for found in find_problems(data / "klue", load(name, data=data))}

    return find
