"""docs/packs.md can be followed to the letter: its files are written, its commands run, its table is true."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.page_blocks import read_blocks, save

from nikawa.generation.pack import PACKS, load_pack, pack_names
from nikawa.generation.review_sample import read_pack_card

TEXT = (Path(__file__).parents[2] / "docs" / "packs.md").read_text("utf-8")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": path},
    )


@pytest.mark.slow
def test_it_can_be_followed(
    nikawa: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in read_blocks(TEXT):
        if block.file:
            save(block, tmp_path)
        if block.language == "sh":
            for command in block.text.splitlines():
                plain = command.startswith("nikawa ") and ";" not in command
                done = nikawa(*shlex.split(command)[1:]) if plain else run(command, tmp_path)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                ran += 1
    assert ran == 12
    assert (tmp_path / "my-splits" / "no-hours.jsonl").is_file()
    assert (tmp_path / "gated" / "card.json").is_file()


def test_the_table() -> None:
    table = TEXT[TEXT.index("| pack | templates |") :].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `([a-z-]+)`[^|]* \| (.*) \|$", table, re.MULTILINE))
    assert set(rows) == set(pack_names())
    for name in set(rows) - {"jamp"}:
        pack = load_pack(name)
        told = [int(cell.replace(",", "")) for cell in rows[name].split(" | ")]
        assert told == [len(pack.templates), len(pack.categories), len(pack.cells("train"))], name


def test_the_figures_of_the_reviews() -> None:
    """The table of reviews shows the figures of the cards."""
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+ \| \d+ of .*) \|$", TEXT, re.MULTILINE))
    for name, row in rows.items():
        card = read_pack_card(PACKS / name)
        assert card is not None
        assert card.review is not None
        review = card.review
        shown = (
            f"{review.n} | {review.templates_read} of {review.templates} | {review.natural:.1%} | "
            f"{review.fully_natural:.1%} | {review.label_agreed:.1%} | "
            f"{review.label_agreement:.1%}, {review.naturalness_agreement:.1%}"
        )
        assert row == shown
    assert len(rows) == 7


@pytest.mark.parametrize(
    "code", [block.text for block in read_blocks(TEXT) if block.language == "python"]
)
def test_the_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/packs.md", "exec"), {})
