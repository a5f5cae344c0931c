"""docs/import.md: the walk runs, and its table of kinds and fields is that of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from nikawa.datasets.import_table import FIELDS

TEXT = (Path(__file__).parents[2] / "docs" / "import.md").read_text("utf-8")
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
    assert "train: 2 examples" in printed
    assert "Labels: bad 1, good 1" in printed
    assert "text {'bad': 1, 'good': 1} ('page',)" in printed


def test_kinds_and_fields_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TEXT, re.MULTILINE))
    written = {kind: set(re.findall(r"\w+", row)) - {"or"} for kind, row in rows.items()}
    assert written == {kind: {field.name for field in fields} for kind, fields in FIELDS.items()}
