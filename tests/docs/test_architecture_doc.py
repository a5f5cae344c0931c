"""docs/architecture.md and CONTRIBUTING.md: the files and functions they name are there, and the table is the contract."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nikawa"
PAGES = (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_exist(page: Path) -> None:
    named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+(?:\.py|\.toml|/))`", page.read_text("utf-8")))
    missing = {
        name
        for name in named
        if not (SOURCE / name).exists()
        and not (ROOT / name).exists()
        and not (SOURCE / "collect" / name).exists()
        and name not in ("job.py", "known.toml")
        and not re.search(r"[A-Z]{4}", name)  # a placeholder
    }
    assert len(named) > 5
    assert not missing


def test_functions_of_the_walks_exist() -> None:
    text = PAGES[0].read_text("utf-8")
    pairs = re.findall(r"`(\w+)` (?:of|in) `((?:\w+/)*\w+\.py)`", text)
    assert len(pairs) > 4
    for function, file in pairs:
        tree = ast.parse((SOURCE / file).read_text("utf-8"))
        names = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert function in names, (function, file)


def test_the_table_lists_the_layers_of_the_contract() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = config["tool"]["importlinter"]["contracts"]
    layers = [set(re.findall(r"nikawa\.(\w+)", layer)) for layer in contract["layers"]]
    rows = re.findall(r"^\| (`.*?) \|", PAGES[0].read_text("utf-8"), re.MULTILINE)
    told = [{name.strip("/`").removesuffix(".py") for name in row.split(", ")} for row in rows]
    assert [row for row in told if row & set().union(*layers)] == layers
    assert not contract.get("ignore_imports")
