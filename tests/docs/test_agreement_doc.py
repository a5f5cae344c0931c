"""The page on agreement: its Python runs, its options exist, every measure it names is computed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from nikawa.aggregation.agreement import measures
from nikawa.aggregation.table import Table
from nikawa.cli.terminal.app import build

PAGE = (Path(__file__).parents[2] / "docs" / "agreement.md").read_text("utf-8")


def test_python_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_options_exist() -> None:
    command = get_command(build()).commands["agree"]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"(--[a-z][a-z-]+)", PAGE)) <= known


def test_every_measure_is_explained() -> None:
    table = Table.from_columns(
        ["1", "1", "1", "2", "2", "3", "3", "3"],
        ["author", "v1", "v2", "author", "v1", "author", "v1", "v2"],
        [1, 2, 1, 2, 2, 1, 1, 1],
    )
    named = set(re.findall(r"`([a-z-]+)`", PAGE.split("## Where")[0]))
    assert {measure.name for measure in measures(table)} <= named
