"""docs/build.md: its commands and its recipe run, and its tables name every form and every stage of JNLI."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.recipes.answer_readers import ANSWER_READERS
from nikawa.recipes.recipe import recipes

TEXT = (Path(__file__).parents[2] / "docs" / "build.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def captions() -> str:
    lines = []
    for image in range(12):
        who, where = ("猫", "犬", "子供", "老人")[image % 4], ("橋の上", "駅前", "浜辺")[image % 3]
        for number, text in enumerate(
            (f"{where}で{who}が休んでいる。", f"{who}が{where}にいる", f"{where}の{who}")
        ):
            line = {"id": image * 10 + number, "image": f"m{image}", "text": text}
            lines.append(msgspec.json.encode(line).decode())
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_commands_run(captions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captions.jsonl").write_text(captions, "utf-8")
    example = msgspec.json.decode(blocks("json")[1])
    pairs = (("弟が母に手紙を渡した。", ""), (example["text"], example["diacritic"]))
    rows = [
        {**example, "id": f"{n}{mark}", "text": f"{n}日に{text}", "diacritic": mark, "pair": n}
        | {"source": ("handbook", "journal 3")[n % 3 == 2]}
        for n in range(1, 16)
        for text, mark in pairs
    ]
    Path("examples.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    for name, settings in zip(("jnli", "jcola"), blocks("toml"), strict=True):
        Path(f"{name}.toml").write_text(settings, "utf-8")
    for line in "".join(blocks("sh")).splitlines():
        done = CliRunner().invoke(build(), shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output, done.exception)
    assert Path("trial/card.json").is_file()
    assert not Path("my-jnli/card.json").exists()
    assert Path("acceptability/ood.jsonl").is_file()
    assert "mcc" in Path("report/index.html").read_text("utf-8")


def test_the_recipe_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "docs/build.md", "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out == "{'too long': 1} {'train': 1, 'test': 1}\n"


def test_the_tables_are_whole() -> None:
    section = TEXT.partition("## Answer formats")[2].partition("## ")[0]
    assert set(re.findall(r"`([a-z-]+)`(?=.*\|.*\|)", section)) == set(ANSWER_READERS)
    stages = re.findall(
        r"^\| `([\w-]+)` \|", TEXT.partition("## Run a build")[2].partition("## ")[0], re.M
    )
    assert stages == [stage.name for stage in recipes()["jnli"].stages]


def test_the_recipes_of_jglue_are_listed() -> None:
    section = TEXT.partition("### Recipes of JGLUE")[2].partition("### ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", section, re.MULTILINE)
    assert [name for name, _ in rows] == [
        "marc-ja",
        "jsts",
        "jnli",
        "jsquad",
        "jcola",
        "jcommonsenseqa",
    ]
    assert all(recipes()[name].sources == (source,) for name, source in rows)
