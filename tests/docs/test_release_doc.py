"""docs/release.md: read from top to bottom in an empty folder, every block runs, and its figures hold."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.page_files import write_corrections
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets.shift import shift
from nikawa.recipes.corrections import NAMES

TEXT = (Path(__file__).parents[2] / "docs" / "release.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(csv|sh|python)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = ""
    for language, block in BLOCKS:
        if language == "csv":
            write_corrections(tmp_path)
        elif language == "python":
            exec(compile(block, "docs/release.md", "exec", dont_inherit=True), {})
        else:
            for line in block.splitlines():
                done = CliRunner().invoke(build(), shlex.split(line)[1:])
                assert done.exit_code == 0, (line, done.exception)
                shown += done.stdout
    assert "mini-ja 1.0 -> 1.1, 2 corrected" in shown
    assert "the date leaves no doubt" in shown
    assert "label of mini-ja 1.0 -> mini-ja 1.1: 2 of" in shown
    assert capsys.readouterr().out.startswith("1.1 {")


def test_every_column_is_named() -> None:
    for names in NAMES.values():
        assert any(f"`{name}`" in TEXT for name in names), names


def test_the_figures_hold(shared_data: Path) -> None:
    report = shift("jsick-en", "jsick", data=shared_data)
    rows = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", TEXT, re.MULTILINE)
    told = {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}
    assert told == {name: list(row.values()) for name, row in report.parts[0].table.items()}
    parts = {part.where: part for part in report.parts}
    negation = parts["tag=Negation"]
    assert (
        f"{100 * negation.share:.1f}% differ; {100 * negation.low:.1f} to {100 * negation.high:.1f}"
        in TEXT
    )
    others = (parts[f"tag={name}"] for name in ("Disjunction", "Quantification"))
    assert " and ".join(f"{100 * part.share:.1f}%" for part in others) in TEXT
