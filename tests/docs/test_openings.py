"""The command that opens a page runs in an empty folder and prints the table that the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

DOCS = Path(__file__).parents[2] / "docs"
OPENING = re.compile(
    r"\A# .*?^```sh\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)


def expand_words(line: str) -> Iterator[str]:
    """Yield the words of a command line as a shell passes them on."""
    for word in shlex.split(line, comments=True):
        paths = sorted(map(str, Path().glob(word))) if "*" in word else []
        yield from paths or [word]


@pytest.mark.parametrize(
    "name",
    [
        "aggregate",
        "agreement",
        "answers",
        "build",
        "chat",
        "data",
        "models",
        "run",
        "score",
        "split",
    ],
)
def test_the_opening_command_prints_what_the_page_shows(
    name: str,
    nikawa: Callable[..., CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    opening = OPENING.match((DOCS / f"{name}.md").read_text("utf-8"))
    assert opening
    printed = set[str]()
    for line in opening[1].splitlines():
        done = nikawa(*list(expand_words(line))[1:])
        assert done.returncode == 0, done.stderr
        printed |= {row.rstrip() for row in done.stdout.splitlines()}
    assert set((opening[2] or "").splitlines()) <= printed
