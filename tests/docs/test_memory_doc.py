"""docs/memory.md: its command and its Python run with a tiny checkpoint, and it names every option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.models.lm.checkpoints import save_checkpoint

from nikawa.analysis.memory.job import MIN_PERMUTATIONS, NEAR_DISTANCE, MemoryOptions
from nikawa.analysis.memory.min_k import SHARE
from nikawa.cli.probe import memory

PAGE = (Path(__file__).parents[2] / "docs" / "memory.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoint that the page names."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("page")
    save_checkpoint(folder / "models" / "tiny")
    return folder


def test_the_first_command_prints_the_table(
    nikawa: Callable[..., CompletedProcess[str]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0]
    words = [word if word != "99" else "19" for word in shlex.split(command)[1:]]
    done = nikawa(*words, "--limit", "12", COLUMNS="140")
    assert done.returncode == 0, done.stderr
    assert re.search(r"test +items +value +compared with +p", done.stdout)


def test_the_python_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/memory.md", "exec"), {})
    assert "seen the" in capsys.readouterr().out.replace("these", "the")


def test_the_page_names_every_option_and_its_default() -> None:
    for name in signature(memory).parameters:
        if name not in ("dataset", "settings", "data", "json", "quiet"):
            assert f"--{name}" in PAGE, name
    assert f"(default: {MemoryOptions().permutations})" in PAGE
    assert f"{MIN_PERMUTATIONS} or more" in PAGE
    assert f"its {SHARE:.0%} least expected tokens" in PAGE
    assert f"{NEAR_DISTANCE:.0%} different" in PAGE
