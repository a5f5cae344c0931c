"""`nikawa tag` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.io.records import read_examples
from nikawa.records import Example


def nikawa(*words: str) -> Result:
    return CliRunner().invoke(build(), list(words), env={"COLUMNS": "200"})


def test_the_table_by_split() -> None:
    done = nikawa("tag", "mini-ja")
    assert done.exit_code == 0
    (row,) = [line.split() for line in done.stdout.splitlines() if "Numerical" in line]
    assert row[:3] == ["Numerical", "NUM", "jsick"]
    assert sum(map(int, row[3:6])) == int(row[6]) > 10
    assert f"mini-ja: {len(load('mini-ja')):,} examples, " in done.stdout
    assert "The pack jsick finds only the words it lists; other words stay untagged" in done.stdout
    assert "stay untagged" not in nikawa("tag", "mini-ja", "--pack", "none").stdout


def test_json_and_file(tmp_path: Path) -> None:
    out = tmp_path / "tagged.jsonl"
    done = nikawa("tag", "mini-ko:dev", "--out", str(out), "--json", "--compare")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert report["pack"] == "jsick-ko"
    assert set(report["found"]) == set(report["comparison"]["tags"])
    found: list[Example] = list(read_examples(out))
    assert sum("Numerical" in e.tags for e in found) == report["found"]["Numerical"]["dev"]


def test_comparison_is_shown(tmp_path: Path) -> None:
    done = nikawa("tag", "mini-ja:dev", "--compare")
    assert done.exit_code == 0
    assert "only carried" in done.stdout
    assert "The same tags on" in done.stdout


def test_a_table_for_a_paper() -> None:
    done = nikawa("tag", "mini-ja:dev", "--pack", "jsick", "--as", "csv")
    assert done.stdout.splitlines()[0] == "tag,short,from,dev,total"


def test_packs_are_listed_and_checked() -> None:
    done = nikawa("tag", "--json")
    assert [p["name"] for p in json.loads(done.stdout)] == ["ja", "jsick", "jsick-ko", "ko"]
    done = nikawa("tag", "--pack", "jsick")
    assert done.exit_code == 0
    assert "68 patterns, 0 faults" in done.stdout


def test_a_pack_whose_sentences_do_not_hold_is_status_1(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ntitle = "x"\nlanguage = "ja"\nanalyser = "ipadic"\nlicence = "x"\nprovenance = "x"\n'
        'patterns = [{ tag = "A", base = "赤い", pos = "名詞", hit = "赤い船。", miss = "青い船。" }]\n'
        "[tags]\nA = {}\n",
        "utf-8",
    )
    done = nikawa("tag", "--pack", str(path))
    assert done.exit_code == 1
    assert "1 pattern, 1 fault" in done.stdout
    assert "赤い/形容詞,自立,*,*" in done.stdout


@pytest.mark.parametrize("words", [("--quiet",), ("--quiet", "--compare")])
def test_quiet_says_nothing(words: tuple[str, ...]) -> None:
    assert nikawa("tag", "mini-ja:dev", *words).stdout == ""
