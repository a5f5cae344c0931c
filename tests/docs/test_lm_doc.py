"""docs/lm.md: its command and its Python run with a tiny checkpoint, and it names every setting."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import get_args

import msgspec
import pytest
from tests.models.lm.checkpoints import save_checkpoint

from nikawa.models.lm.settings import LmSettings, Normalisation

PAGE = (Path(__file__).parents[2] / "docs" / "lm.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoint that the page names."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("page")
    save_checkpoint(folder / "models" / "tiny")
    return folder


def test_the_first_command_prints_the_table(
    nikawa: Callable[..., CompletedProcess[str]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command, shown = re.findall(r"```(?:sh|text)\n(.*?)```", PAGE, re.DOTALL)[:2]
    done = nikawa(*shlex.split(command)[1:], COLUMNS="140")
    assert done.returncode == 0, done.stderr
    assert {*shown.splitlines()} <= {line.rstrip() for line in done.stdout.splitlines()}


def test_the_python_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/lm.md", "exec"), {})
    assert capsys.readouterr().out.strip().endswith("} 0")


def test_every_setting_and_normalisation_is_named() -> None:
    for field in msgspec.structs.fields(LmSettings):
        assert f"`{field.name}`" in PAGE, field.name
    for name in get_args(Normalisation):
        assert re.search(rf"^\| `{name}`", PAGE, re.MULTILINE), name
