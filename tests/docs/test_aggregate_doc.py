"""docs/aggregate.md: its commands and its Python run, its options exist, its rules can be read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.aggregation.rules import NAMES, parse_rule
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

TEXT = (Path(__file__).parents[2] / "docs" / "aggregate.md").read_text("utf-8")


Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def write_comparisons(folder: Path) -> None:
    """Two systems in pairs, and four texts of which the best and the worst were chosen."""
    pairs, sets, better, poles = [], [], [], []
    for n in range(24):
        pairs.append(
            Example(
                id=str(n),
                inputs={"a": f"訳{n}", "b": f"文{n}"},
                meta={"a": "system-a", "b": "system-b"},
            )
        )
        answer = "tie" if n % 6 == 0 else "b" if n % 5 else "a"
        better.append(Judgement(example=str(n), worker="aki", question="better", answer=answer))
        sets.append(Example(id=str(n), inputs={"choices": ["はい", "ええ", "うん", "おう"]}))
        for question, letter in (("best", "AABC"[n % 4]), ("worst", "DDDA"[n % 4])):
            poles.append(Judgement(example=str(n), worker="aki", question=question, answer=letter))
    write_records(folder / "pairs.jsonl", pairs)
    write_records(folder / "preferences.jsonl", better)
    write_records(folder / "sets.jsonl", sets)
    write_records(folder / "choices.jsonl", poles)


@pytest.mark.slow
@pytest.mark.parametrize("command", [line for block in blocks("sh") for line in block.splitlines()])
def test_the_commands_run(
    nikawa: Nikawa, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    votes = {"aki": "yes", "ben": "no", "cho": "yes", "model:m#1": "yes", "model:m#2": "no"}
    rows = [
        Judgement(example=str(item), worker=worker, question="label", answer=answer)
        for item in range(6)
        for worker, answer in votes.items()
    ]
    write_records(tmp_path / "judgements.jsonl", rows)
    write_comparisons(tmp_path)
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
