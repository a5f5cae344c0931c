"""docs/templates.md: its pack is read and sound, its Python runs, its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.page_files import write_lighthouse

from nikawa.generation.check import check_pack
from nikawa.generation.notation import CASES, FIELDS, VOICES
from nikawa.generation.pack import load_pack
from nikawa.generation.times import formats_by_name

TEXT = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The page's own pack."""
    folder = tmp_path / "lighthouse"
    write_lighthouse(folder)
    return folder


def test_the_pack_is_sound(folder: Path) -> None:
    assert check_pack(folder)[1] == []
    pack = load_pack(folder)
    assert [cell.label for cell in pack.cells("test")] == [
        "entailment",
        "contradiction",
        "neutral",
    ] * 3
    assert not pack.is_seen("hard", {"category": "x", "time_span": "near"})


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
        p.read_text("utf-8")
        for p in (Path(__file__).parents[2] / "src/nikawa/generation").glob("*.py")
    )
    used = set(re.findall(r'(?:TemplateError\(|self\.add\(|Trouble\(check=)\s*"([a-z-]+)"', source))
    section = TEXT.split("## What is checked")[1].split("## A pack")[0]
    assert used == set(re.findall(r"`([a-z-]+)`", section)) - {"audit"}


def test_the_page_names_cases_voices_and_formats_of_both_languages() -> None:
    words = set(re.findall(r"[^\s`,;:.|()（）]+|\(으\)로", TEXT))
    for language, cases in CASES.items():
        assert words >= {*cases, *formats_by_name(language)}, language
    assert words >= VOICES.keys()


def test_the_korean_lines_are_sound(tmp_path: Path) -> None:
    (lines,) = re.findall(r"^    premise:.*?^    formats:[^\n]*\n", TEXT, re.DOTALL | re.MULTILINE)
    head = 'name = "k"\nlanguage = "ko"\ntitle = "k"\nlicence = "CC0-1.0"\ntemplates = ["t.txt"]\nlexicon = "ko"\n'
    (tmp_path / "pack.toml").write_text(head, "utf-8")
    (tmp_path / "t.txt").write_text(f"template k\n    category: x\n{lines}", "utf-8")
    assert check_pack(tmp_path)[1] == []
