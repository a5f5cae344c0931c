"""What `pip install nikawa` alone can do: the commands that promise to need no extra are run without any."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = """
import sys
sys.path[:0] = [{source!r}, {libraries!r}]
sys.argv = ["nikawa", *{words!r}]
from nikawa.cli import main
main()
"""


def core_distributions() -> dict[str, Distribution]:
    """The distributions that the core requires, with what those require in turn; no extra counts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    closure: dict[str, Distribution] = {}
    names = [re.split(r"[<>=!~]", requirement)[0] for requirement in project["dependencies"]]
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in closure:
            continue
        closure[name] = distribution(name)
        for requirement in closure[name].requires or ():
            words, _, marker = requirement.partition(";")
            unwanted = ("extra", "sys_platform ==", "python_version <", "implementation_name ==")
            if not any(word in marker for word in unwanted):
                names.append(re.split(r"[\s\[<>=!~(]", words.strip())[0])
    return closure


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the core's libraries and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    for library in core_distributions().values():
        for file in library.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (folder / top).exists():
                (folder / top).symlink_to(Path(str(library.locate_file(top))))
    return folder


def run_bare(libraries: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the core's libraries alone: `-S` leaves out site-packages, `-I` the environment."""
    code = START.format(source=str(ROOT / "src"), libraries=str(libraries), words=words)
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_extras_are_out_of_reach(libraries: Path, tmp_path: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import sklearn"
    command = [sys.executable, "-I", "-S", "-c", code, str(libraries)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'sklearn'" in done.stderr


def test_runs_are_made_analysed_and_reported(libraries: Path, tmp_path: Path) -> None:
    for words in (
        ("run", "--tasks", "mini-ja-nli,mini-ko-nli", "--model", "majority"),
        ("analyse", "runs"),
        ("report", "runs", "--out", "page"),
    ):
        done = run_bare(libraries, tmp_path, *words)
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "mini-ja-nli" in page
