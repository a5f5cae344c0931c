"""docs/export.md: its table of kinds and tools, its versions and its Python are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.interop.export_items import KINDS

from nikawa.exchange import export_tools
from nikawa.exchange.base import Tool
from nikawa.records import CLASS_KINDS, Kind

TEXT = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
LIKELIHOOD_TOOLS = ("lm-eval", "lighteval")


def describe_cell(tool: Tool, kind: Kind) -> str:
    if kind not in tool.kinds:
        return "no"
    if tool.metrics is not None:
        return "its own metrics"
    has_likelihoods = tool.name in LIKELIHOOD_TOOLS and kind in CLASS_KINDS
    return "replies, likelihoods" if has_likelihoods else "replies"


def test_the_table_is_that_of_the_code() -> None:
    lines = re.findall(r"^\| (?:kind of task|`\w+`) \|.*$", TEXT, re.MULTILINE)
    header, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    tools = [export_tools()[cell.split()[0]] for cell in header[1:]]
    assert [f"{tool.name} {tool.versions[0]}" for tool in tools] == header[1:]
    assert {tool.name for tool in tools} == set(export_tools())
    assert [row[0].strip("`") for row in rows] == [*KINDS]
    for kind, *cells in rows:
        assert cells == [describe_cell(tool, kind.strip("`")) for tool in tools]


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block, names)
    task = names["report"].tasks[0]
    assert repr((task.name, task.items)) in block
    assert (tmp_path / "mini-ko-lm-eval" / "README.md").is_file()
