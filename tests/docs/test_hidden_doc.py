"""docs/hidden.md: the walk runs from top to bottom, and the names of leaks are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from nikawa.checks.giveaways import MAX_ITEMS, MIN_ITEMS, SHUFFLES
from nikawa.checks.hide_job import CURES
from nikawa.datasets.hide import WHOLE_FIELDS

TEXT = (Path(__file__).parents[2] / "docs" / "hidden.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    for language, block in BLOCKS:
        words = ["bash", "-ec", block] if language == "sh" else [sys.executable, "-c", block]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (block, done.stderr)
        printed += done.stdout
    assert "test: 28 labels hidden" in printed
    assert "9 items with hidden labels were answered but not scored" in printed
    assert "tag=negation" in printed
    for name in ("mine-keys.jsonl", "items.jsonl", "keys.jsonl"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_names_and_figures_are_those_of_the_code() -> None:
    for name in (*CURES, *WHOLE_FIELDS):
        assert f"`{name}" in TEXT
    assert f"fewer than {MIN_ITEMS} items" in TEXT
    assert f"more than {MAX_ITEMS:,} items" in TEXT
    assert f"{SHUFFLES} or more shuffles" in TEXT
