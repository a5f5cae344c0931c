"""The house rules that no linter holds: length of functions and files, and what must not be in the tree."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_lengths(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 500
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is too long"


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_path_of_a_machine_and_no_large_file() -> None:
    files = [path for path in tracked() if path.is_file()]
    if not files:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"(?<![\w.])/(?:home|root|work|farm)/[a-z.]")
    for path in files:
        assert path.stat().st_size < 1_500_000, path
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        assert not pattern.search(text), path
