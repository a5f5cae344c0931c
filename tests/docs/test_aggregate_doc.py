"""docs/aggregate.md: its commands and its Python run, its options exist, its rules can be read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.docs.page_files import write_aggregate

from nikawa.aggregation.rules import NAMES, parse_rule

TEXT = (Path(__file__).parents[2] / "docs" / "aggregate.md").read_text("utf-8")


Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("command", [line for block in blocks("sh") for line in block.splitlines()])
def test_the_commands_run(
    nikawa: Nikawa, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_aggregate(tmp_path)
    name, *words = shlex.split(command)
    assert name == "nikawa"
    done = nikawa(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if "--rank" in words and "--out" in words:
        written = {path.name for path in (tmp_path / "scores").iterdir()}
        assert written == {"scores.jsonl", "examples.jsonl", "summary.json"}
    elif "--out" in words:
        written = {path.name for path in (tmp_path / "gold").iterdir()}
        expected = {"items.jsonl", "agreement.json", "summary.json"}
        if words[1] != "judgements.jsonl":  # the file of judgements has no texts
            expected.add("examples.jsonl")
        assert expected <= written
        assert all(f"`{name}`" in TEXT for name in written)


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/aggregate.md", "exec"), {})
    assert capsys.readouterr().out.startswith(("30 ", "task\nq1    yes\nq2     no\n"))


@pytest.mark.slow
def test_the_options_exist(nikawa: Nikawa) -> None:
    said = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    shown = {
        option
        for verb in ("aggregate", "agree")
        for option in re.findall(r"--[a-z-]+", nikawa(verb, "--help").stdout)
    }
    assert said <= shown


def test_every_step_is_told_and_every_rule_can_be_read() -> None:
    assert all(re.search(rf"`{re.escape(name)}\b", TEXT) for name in NAMES)
    papers = TEXT.partition("### Rules of published datasets")[2].partition("###")[0]
    rules = re.findall(r"`((?:first|votes|mean|majority)[^`]*)`", papers.replace("\\|", "|"))
    assert len(rules) >= 8
    for rule in rules:
        parse_rule(rule)
