"""The pages for newcomers: every command runs in order in an empty folder and prints what the page shows.

The pages exist in English, Japanese and Korean. A test compares the commands and figures of the
three versions, so a change of one version cannot leave the others behind.
"""

from __future__ import annotations

import csv
import io
import json
import re
import runpy
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.docs.page_blocks import Block, read_blocks, read_commands

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAMES = ("quickstart", "first-annotation", "score-answers", "stress-test")
LANGUAGES = ("en", "ja", "ko")
WITH_TEXTS = ("first-annotation", "score-answers")
"""Pages whose items are in the reader's language. The blocks of the others are the same in all versions."""
VERSIONS = {
    **{
        name: {lang: DOCS / ("" if lang == "en" else lang) / f"{name}.md" for lang in LANGUAGES}
        for name in NAMES
    },
    "README": {
        lang: ROOT / ("README.md" if lang == "en" else f"README.{lang}.md") for lang in LANGUAGES
    },
}
RUN_ELSEWHERE = ("python3 -m venv", "source ", "pip install ", "make ")
"""Commands of the installation: tests/docs/test_install_doc.py and the Makefile's tests check them."""


def check_output(shown: list[str], printed: str) -> None:
    """Find the lines of the page in the output, in order; `…` is any number of further lines."""
    real = [squeeze(line) for line in printed.splitlines() if line.strip()]
    at, may_skip = 0, False
    for line in map(squeeze, shown):
        if line == "…":
            may_skip = True
            continue
        place = real.index(line, at) if may_skip and line in real[at:] else at
        assert real[place : place + 1] == [line], f"the page shows {line!r}; printed:\n{printed}"
        at, may_skip = place + 1, False
    assert may_skip or not shown or at == len(real), f"the page leaves out: {real[at:]}"


def squeeze(line: str) -> str:
    """A line with single spaces; rules of tables are as long as their columns."""
    return re.sub(r"─+", "─", " ".join(line.split()))


def run_page(page: Path, nikawa: Callable[..., CompletedProcess[str]]) -> int:
    """Run the blocks of a page in the current folder, and return how many commands ran."""
    count = 0
    for block in read_blocks(page.read_text("utf-8")):
        if block.file:
            Path(block.file).write_text(block.text, "utf-8")
        elif block.language == "python":
            exec(compile(block.text, page.name, "exec"), {})
        elif block.language in {"sh", "console"}:
            for command, shown in read_commands(block):
                count += run_command(command, shown, nikawa)
    return count


def run_command(
    command: str, shown: list[str], nikawa: Callable[..., CompletedProcess[str]]
) -> bool:
    program, *words = shlex.split(command, comments=True)
    if command.startswith(RUN_ELSEWHERE):
        return False
    if program == "python":
        runpy.run_path(words[0], run_name="__main__")
    elif words[:2] == ["collect", "serve"]:
        open_pages(Path(words[2]))
    else:
        assert program == "nikawa", command
        words += ["--no-serve"] if words == ["collect", "demo"] else []
        done = nikawa(*words)
        assert done.returncode == 0, (command, done.stderr)
        check_output(shown, done.stdout)
    return True


def open_pages(folder: Path) -> None:
    """Open the first page of a worker and the owner's log-in, as `collect serve` would serve them."""
    from starlette.testclient import TestClient

    from nikawa.collect.app import create_app
    from nikawa.collect.items import open_synced

    with open_synced(folder) as (project, store):
        client = TestClient(create_app(project, store))
        assert client.get("/owner").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "language"),
    [(name, lang) for name in VERSIONS for lang in LANGUAGES if lang == "en" or name in WITH_TEXTS],
)
def test_the_page_runs(
    name: str,
    language: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nikawa: Callable[..., CompletedProcess[str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(VERSIONS[name][language], nikawa) >= 4


def mask_texts(block: Block) -> Any:
    """A block without the words that are in the reader's language: texts of items, and reasons."""
    if block.file.endswith(".jsonl"):
        rows = [json.loads(line) for line in block.text.splitlines()]
        return [
            {**row, "inputs": sorted(row["inputs"])} if "inputs" in row else row for row in rows
        ]
    if block.file.endswith(".csv"):
        rows = list(csv.DictReader(io.StringIO(block.text)))
        return [{**row, **dict.fromkeys({"text", "reason"} & set(row), "")} for row in rows]
    return [re.sub(r" +#.*", "", line) for line in block.text.splitlines()]


def read_figures(page: str) -> tuple[Counter[str], Counter[str]]:
    """The numbers of a page's prose and tables: those of several digits, and single digits."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"\]\([^)]*\)|^\d+\. |^#+ \d+\. ", "] ", prose, flags=re.MULTILINE)
    numbers = re.findall(r"\d[\d,.]*\d|\d", prose)
    return Counter(n for n in numbers if len(n) > 1), Counter(n for n in numbers if len(n) == 1)


def find_differences(one: str, other: str) -> list[str]:
    """What two language versions of a page do not share: blocks, figures, inline code, pictures."""
    differences = []
    blocks = [
        [(b.language, b.file, mask_texts(b)) for b in read_blocks(page)] for page in (one, other)
    ]
    if blocks[0] != blocks[1]:
        differences.append(f"blocks: {[b for b in blocks[0] if b not in blocks[1]]}")
    (long, short), (other_long, other_short) = read_figures(one), read_figures(other)
    # English writes "two files" where Japanese and Korean have a digit, so they may have more digits.
    if long != other_long or not short <= other_short:
        missing, added = (long + short) - (other_long + other_short), other_long - long
        differences.append(f"figures: {dict(missing)} missing, {dict(added)} added")
    code = [Counter(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", page)) for page in (one, other)]
    if set(code[0]) != set(code[1]):
        differences.append(f"code in the text: {set(code[0]) ^ set(code[1])}")
    pictures = [re.findall(r"[\w/-]+\.(?:png|svg)", page) for page in (one, other)]
    if pictures[0] != pictures[1]:
        differences.append("pictures")
    return differences


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("name", VERSIONS)
def test_the_versions_have_the_same_commands_and_figures(name: str, language: str) -> None:
    english, other = (VERSIONS[name][lang].read_text("utf-8") for lang in ("en", language))
    assert find_differences(english, other) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("--seed 1", "--seed 2", "blocks"),
        (" 49.64 ", " 49.65 ", "blocks"),
        ("18.84", "18.94", "figures"),
        ("`replay`", "`repeat`", "code in the text"),
    ],
)
def test_a_version_that_differs_is_noticed(old: str, new: str, kind: str) -> None:
    page = VERSIONS["quickstart"]["ja"].read_text("utf-8")
    assert old in page
    [difference] = find_differences(page, page.replace(old, new))
    assert difference.startswith(kind)


def test_texts_of_items_may_be_in_the_readers_language() -> None:
    page = VERSIONS["score-answers"]["en"].read_text("utf-8")
    assert not find_differences(
        page, page.replace("三日で壊れてしまった。", "사흘 만에 고장 났다.")
    )
    assert find_differences(page, page.replace("r12,positive", "r12,negative"))


@pytest.mark.parametrize("shown", [["a 1", "c 3"], ["b 2"], ["a 1", "b 9", "…"], ["…", "a 9", "…"]])
def test_an_output_that_differs_is_noticed(shown: list[str]) -> None:
    check_output(["a 1", "…"], "a  1\nb 2\nc 3\n")
    check_output(["…", "b 2", "…"], "a  1\nb 2\nc 3\n")
    with pytest.raises(AssertionError):
        check_output(shown, "a  1\nb 2\nc 3\n")
