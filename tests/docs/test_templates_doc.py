"""docs/templates.md: its pack is read and sound, its Python runs, its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nikawa.generate.check import check
from nikawa.generate.native import FIELDS
from nikawa.generate.pack import load_pack

TEXT = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The page's own pack."""
    folder = tmp_path / "lighthouse"
    folder.mkdir()
    (template,), (head,) = blocks("text"), blocks("toml")
    (folder / "templates.txt").write_text(template.replace("年月日時", "年月"), "utf-8")
    (folder / "pack.toml").write_text(head, "utf-8")
    return folder


def test_the_pack_is_sound(folder: Path) -> None:
    assert check(folder)[1] == []
    pack = load_pack(folder)
    assert [cell.label for cell in pack.cells("test")] == ["entailment", "contradiction", "neutral"] * 3
    assert not pack.seen("hard", {"category": "x", "time_span": "near"})


def test_the_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert len(blocks("python")) == 2
    for block in blocks("python"):
        exec(compile(block, "docs/templates.md", "exec"), {})


def test_the_table_names_every_field() -> None:
    rows = re.findall(r"^\| ((?:`[a-z ]+`(?:, )?)+) \|", TEXT.split("### Slots")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z ]+)`", row)}
    assert named == set(FIELDS) - {"entails", "contradicts"}


def test_the_table_names_every_check() -> None:
    source = "".join(
        p.read_text("utf-8") for p in (Path(__file__).parents[2] / "src/nikawa/generate").glob("*.py")
    )
    used = set(re.findall(r'(?:Mistake\(\s*|_trouble\(\s*template,\s*)"([a-z-]+)"', source))
    section = TEXT.split("## What is checked")[1].split("## A pack")[0]
    assert used == set(re.findall(r"`([a-z-]+)`", section)) - {"audit"}
