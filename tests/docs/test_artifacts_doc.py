"""docs/artifacts.md: its commands and its Python run, its options exist, its picture is one."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from nikawa.analyse.artifacts import Pair

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "artifacts.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from nikawa.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_the_commands_run(command: str, tmp_path: Path) -> None:
    name, *words = shlex.split(command)
    assert name == "nikawa"
    done = run(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert bool(done.stdout) != ("--quiet" in words)
    assert (tmp_path / "artifacts.svg").is_file() == ("--plot" in words)


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(code: str) -> None:
    exec(compile(code, "docs/artifacts.md", "exec"), {})


def test_the_options_exist(tmp_path: Path) -> None:
    said = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    shown = set(re.findall(r"--[a-z-]+", run("probe", "artifacts", "--help", folder=tmp_path).stdout))
    assert said
    assert said <= shown


def test_the_fields_of_an_entry_are_named() -> None:
    assert all(f"`{field.name}`" in TEXT for field in msgspec.structs.fields(Pair))


def test_the_picture_is_one() -> None:
    for name in re.findall(r"\]\((images/[^)]+)\)", TEXT):
        root = ElementTree.parse(DOCS / name).getroot()
        assert root.tag.endswith("svg")
        assert "いた" in {"".join(e.itertext()) for e in root.iter()}
