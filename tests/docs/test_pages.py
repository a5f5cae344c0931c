"""Checks of every page: links lead somewhere, commands exist, the Python of README and score.md runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.cli.terminal.app import build

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("README*.md")),
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def verbs() -> set[str]:
    app = build()
    groups = {str(g.name): g.typer_instance for g in app.registered_groups}
    found = {str(c.name) for c in app.registered_commands}
    for name, group in groups.items():
        assert group is not None
        found |= {f"{name} {c.name}" for c in group.registered_commands} | {name}
    return found


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    known = verbs()
    for line in re.findall(
        r"^(?:\$ )?nikawa ([a-z]+(?: [a-z]+)?)", page.read_text("utf-8"), re.MULTILINE
    ):
        first = line.split()[0]
        assert first in known, line


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "score.md"], ids=name_of)
def test_python_runs(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_the_list_of_commands_names_verbs_and_options_that_exist(
    nikawa: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    commands = [shlex.split(c) for c in re.findall(r"`nikawa ([a-z][^`]*)`", page)]
    known = verbs()
    assert len(commands) > 30
    helps: dict[str, str] = {}
    for words in commands:
        verb = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        assert verb in known, words
        if verb not in helps:
            helps[verb] = nikawa(*verb.split(), "--help", COLUMNS="300").stdout
        for option in (word for word in words if re.match(r"--?[a-z]", word)):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", helps[verb]), (words, option)


def test_the_readme_is_one_screen() -> None:
    for page in ROOT.glob("README*.md"):
        assert len(page.read_text("utf-8").splitlines()) <= 50, page
