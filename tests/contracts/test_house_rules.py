"""The house rules that no linter holds: what must not be in the tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
