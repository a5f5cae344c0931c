"""docs/artifacts.md: its commands and its Python run, its options exist, its picture is one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import msgspec
import pytest

from nikawa.checks.artifacts import Pair

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "artifacts.md").read_text("utf-8")


Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_the_commands_run(
    nikawa: Nikawa, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(command)
    assert name == "nikawa"
    done = nikawa(*words)
    assert done.returncode == 0, done.stderr
    assert bool(done.stdout) != ("--quiet" in words)
    assert (tmp_path / "artifacts.svg").is_file() == ("--plot" in words)


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(code: str) -> None:
    exec(compile(code, "docs/artifacts.md", "exec"), {})


def test_the_options_exist(nikawa: Nikawa) -> None:
    said = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    shown = set(re.findall(r"--[a-z-]+", nikawa("probe", "artifacts", "--help").stdout))
    assert said
    assert said <= shown


def test_the_fields_of_an_entry_are_named() -> None:
    assert all(f"`{field.name}`" in TEXT for field in msgspec.structs.fields(Pair))


def test_the_picture_is_one() -> None:
    for name in re.findall(r"\]\((images/[^)]+)\)", TEXT):
        root = ElementTree.parse(DOCS / name).getroot()
        assert root.tag.endswith("svg")
        assert "いた" in {"".join(e.itertext()) for e in root.iter()}
