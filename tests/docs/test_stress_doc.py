"""docs/stress.md: read from top to bottom in an empty folder, every block that needs no published data runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.io.records import read_examples
from nikawa.perturbation import perturbations

TEXT = (Path(__file__).parents[2] / "docs" / "stress.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def run_commands(block: str) -> str:
    shown = ""
    for line in block.splitlines():
        words = shlex.split(line)[1:]
        if not any(word.startswith("jsick") for word in words):
            done = CliRunner().invoke(build(), words)
            assert done.exit_code == 0, (line, done.exception)
            shown += done.stdout
    return shown


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown, space = "", dict[str, Any]()
    for language, block in BLOCKS:
        if language == "sh":
            shown += run_commands(block)
        else:
            exec(compile(block, "docs/stress.md", "exec"), space)
    (row,) = [line for line in shown.splitlines() if re.match(r"\s*scramble +all ", line)]
    assert re.search(r" 100\.0 +— ", row)
    assert space["found"].cells[0].value == 100.0
    assert len(list(read_examples(tmp_path / "additions.jsonl"))) == 9


def test_every_operation_is_named() -> None:
    surface = {
        p.name
        for p in perturbations().values()
        if p.effect == "keeps" and not p.name.startswith("scramble")
    }
    assert all(f"`{name}`" in TEXT for name in surface)
    assert all(
        f"`{p.name.partition('-')[2]}`" in TEXT
        for p in perturbations().values()
        if p.effect == "neutral"
    )
