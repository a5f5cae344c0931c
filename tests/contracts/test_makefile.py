"""The Makefile: every target is told of, and what cannot run is refused before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
Make = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Run make in an empty folder with a Python that is not there: to install anything would fail."""
    if shutil.which("make") is None:
        pytest.skip("no make here: install the package make")

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(
            ["make", "-f", str(MAKEFILE), "PYTHON=no-such-python", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**kept, "LC_ALL": "C", **env},
        )

    return run


def test_every_target_is_told_of(make: Make) -> None:
    [declared] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE.read_text("utf-8"), re.MULTILINE)
    told = re.findall(r"^make ([a-z]+) +\S", make("help").stdout, re.MULTILINE)
    assert sorted(told) == sorted(declared.split())
    assert make().stdout == make("help").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the folder that holds ja.txt.xz and ko.txt.xz"),
        (("CORPUS=nope",), "there is no folder nope"),
        (("CORPUS=file",), "file is not a folder"),
        (("CORPUS=a folder",), "there is no ko.txt or ko.txt.xz (.gz, .zst) in a folder"),
        (("CORPUS=a folder", "MINUTES=soon"), "MINUTES=soon is no number of minutes"),
        (("CORPUS=a folder", "MINUTES=0"), "MINUTES=0 is no number of minutes"),
    ],
)
def test_models_looks_at_its_arguments_first(
    make: Make, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "ja.txt").touch()
    done = make("models", *words)
    first, *rest = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(rest)) == (2, "", 1)  # make itself adds a line
    assert first.startswith(f"make models: {said}")
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "soak", "format"])
def test_a_python_that_is_not_there(make: Make, tmp_path: Path, target: str) -> None:
    (tmp_path / "pyproject.toml").touch()
    done = make(target)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "make: there is no no-such-python here; name a Python of 3.11 or newer: make PYTHON=python3.12 …",
    )
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """An environment that holds what models need, with a command that only tells how it was called."""
    (tmp_path / "pyproject.toml").touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "nikawa"):
        (programs / name).write_text("#!/bin/bash\nprintf '<%s>' \"$@\"; echo\n")
        (programs / name).chmod(0o755)
    (tmp_path / ".venv" / ".encoder").touch()
    return tmp_path


def test_models_hands_on_what_it_was_told(make: Make, ready: Path) -> None:
    folder = ready / "a folder"
    folder.mkdir()
    for name in ("ja.txt.zst", "ko.txt", "ko.txt.xz", "ko.sources.tsv.gz", "README.md"):
        (folder / name).touch()
    done = make("models", "CORPUS=a folder", "LICENCE=CC BY 4.0", "MINUTES=.5")
    common = "<--size><mini><--minutes><.5><--licence><CC BY 4.0>"
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("<")] == [
        f"<pretrain><a folder/ja.txt.zst><--language><ja>{common}<--attribution><a folder/README.md><--out><models/nikawa-mini-ja>",
        f"<pretrain><a folder/ko.txt><--language><ko>{common}<--segmenter><mecab-ko><--sources><a folder/ko.sources.tsv.gz>"
        "<--attribution><a folder/README.md><--out><models/nikawa-mini-ko>",
    ]


def test_models_that_are_there_need_nothing(make: Make, tmp_path: Path) -> None:
    for language in ("ja", "ko"):
        (tmp_path / f"{language}.txt").touch()
        made = tmp_path / "models" / f"nikawa-mini-{language}"
        made.mkdir(parents=True)
        (made / "config.json").touch()
    done = make("models", "CORPUS=.")
    assert (
        done.returncode,
        done.stdout.count("is there already; remove it to train it again"),
    ) == (0, 2)
    assert not (tmp_path / ".venv").exists()


def test_an_empty_torch_leaves_the_choice_to_pip(make: Make, ready: Path) -> None:
    (ready / ".venv" / ".encoder").unlink()
    assert "<install><-q><torch==" in make(".venv/.encoder").stdout
    (ready / ".venv" / ".encoder").unlink()
    assert "torch==" not in make(".venv/.encoder", "TORCH=").stdout
