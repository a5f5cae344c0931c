"""docs/tags.md: its Python runs, its commands parse, its pack is read and holds, its table is true."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.docs.page_files import write_tag_pack
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.records import Example
from nikawa.tagging import Pattern, check_pack, find_pack, pack_names, read_pack, tagger
from nikawa.text import analyser

TEXT = (Path(__file__).parents[2] / "docs" / "tags.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_the_python_runs() -> None:
    (code,) = blocks("python")
    space: dict[str, Any] = {}
    exec(compile(code, "docs/tags.md", "exec"), space)
    assert sum(space["counts"].values()) > 0


def test_what_the_pack_misses_can_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tag_pack(tmp_path)
    pack, reader = read_pack(Path("more-ja.toml")), analyser("ja")
    assert check_pack(pack) == []
    found = {
        text: (tagger(find_pack("jsick"))(example, reader), tagger(pack)(example, reader))
        for text in ("狐は来ません。", "狐は来るかもしれない。")
        for example in [Example(id="1", inputs={"text": text})]
    }
    assert found == {
        "狐は来ません。": (set(), {"Negation"}),
        "狐は来るかもしれない。": ({"Negation"}, {"Modal"}),
    }
    (block,) = [block for block in blocks("sh") if "more-ja" in block]
    for line in block.splitlines():
        assert CliRunner().invoke(build(), shlex.split(line, comments=True)[1:]).exit_code == 0


def commands() -> list[list[str]]:
    return [
        shlex.split(line, comments=True)[1:]
        for block in blocks("sh")
        for line in block.splitlines()
    ]


@pytest.mark.parametrize("words", [c for c in commands() if "mini" in c[1]], ids=" ".join)
def test_the_commands_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(build(), words).exit_code == 0


def test_the_pack_is_read_and_holds(tmp_path: Path) -> None:
    text = blocks("toml")[-1]
    path = tmp_path / "weather.toml"
    path.write_text(text, "utf-8")
    pack = read_pack(path)
    assert check_pack(pack) == []
    example = Example(id="1", inputs={"text": "雨が降り、風が吹く。"})
    assert tagger(pack)(example, analyser("ja")) == {"Rain", "Wind"}
    assert CliRunner().invoke(build(), ["tag", "--pack", str(path)]).exit_code == 0


def test_the_table_of_packs() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| \w+ \| `(\w+)` \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    packs = [find_pack(name) for name in pack_names()]
    assert rows == [(p.name, p.analyser, str(len(p.tags)), str(len(p.patterns))) for p in packs]


def test_every_field_of_a_pattern_is_explained() -> None:
    assert all(f"`{field}`" in TEXT for field in Pattern.__struct_fields__)
