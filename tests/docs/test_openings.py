"""Every page opens with a title, a sentence or more, and a command that does what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    name
    for name in re.findall(
        r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    if not name.startswith("project/")  # copies of CONTRIBUTING.md, SECURITY.md and CHANGELOG.md
]
"""The pages of the navigation."""
COMMANDS = ("sh", "console", "python")
"""Languages of the blocks that a reader runs."""
INPUTS = ("csv", "json")
"""Languages of the blocks that a reader saves first; the command that reads the file follows."""
MAX_SENTENCES = 500
"""Characters of the sentences between the title and the command."""
OPENING = re.compile(
    r"\A# .*?^```sh\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_sentences_and_a_command(name: str) -> None:
    title, _, rest = (DOCS / name).read_text("utf-8").partition("\n")
    assert re.fullmatch(r"# \S.*", title)
    sentences, _, rest = rest.partition("\n```")
    assert 0 < len(sentences.strip()) <= MAX_SENTENCES
    assert not re.search(r"^(#|\||[-*] |\d+\. |!\[|<)", sentences, re.MULTILINE)
    section = re.split(r"^## ", f"```{rest}", maxsplit=1, flags=re.MULTILINE)[0]
    languages = re.findall(r"^```(\w+).*\n(?:(?!```).*\n)*```$", section, re.MULTILINE)
    if languages[0] in INPUTS:
        languages = languages[1:]
    assert languages[0] in COMMANDS


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
        "build-klue",
        "chat",
        "data",
        "datasets",
        "export",
        "glossary",
        "hidden",
        "lexicon",
        "models",
        "packs",
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
