"""The tour: each step runs offline on the embedded data and shows the command that does the same."""

from __future__ import annotations

import json
import shlex
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets import load
from nikawa.demo import steps as acts
from nikawa.demo import steps as making
from nikawa.demo import steps as running
from nikawa.demo.job import STEPS, Step, demo
from nikawa.errors import BadInput, missing_extra
from nikawa.io.cards import making_command


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    of_others = set(threading.enumerate()) - {threading.current_thread()}  # of a cluster, say

    def guard(original: Callable[..., Any]) -> Callable[..., Any]:
        def connect(*values: Any, **named: Any) -> Any:
            if threading.current_thread() in of_others:
                return original(*values, **named)
            raise AssertionError("the demo opened a connection")

        return connect

    monkeypatch.setattr(socket.socket, "connect", guard(socket.socket.connect))
    monkeypatch.setattr(socket, "getaddrinfo", guard(socket.getaddrinfo))


@pytest.fixture
def user_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder and a data folder of the user that the demo has no business with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIKAWA_DATA", str(tmp_path / "nothing-here"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_prints_each_step_and_leaves_one_folder(
    user_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # choosing settings on few examples changes nothing that is checked here
    monkeypatch.setattr("nikawa.models.linear.MAX_EXAMPLES_TO_CHOOSE", 200)
    result = CliRunner().invoke(build(), ["demo"])
    assert result.exit_code == 0, result.output
    for number, step in enumerate(STEPS, start=1):
        assert f"{number}. {step.title}" in result.output
        assert all(f"$ {command}\n" in result.output for command in step.command.split(" && "))
    (left,) = user_folder.iterdir()
    assert sorted(path.name for path in left.iterdir()) == [
        "README.txt",
        "report",
        "runs",
        "temporal",
    ]
    assert (left / "report" / "index.html").stat().st_size > 100_000
    assert "open nikawa-demo/report/index.html" in result.output
    assert result.output.rstrip().endswith("The report of this tour: nikawa-demo/report/index.html")
    assert "nikawa collect demo" in result.output
    check_what_is_left(left)
    typed = [
        line
        for line in (left / "README.txt").read_text().splitlines()
        if line.startswith("nikawa ")
    ]
    assert len(typed) == 4
    for line in (line for line in typed if "--train" not in line):
        done = CliRunner().invoke(build(), shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output, done.exception)


def check_what_is_left(left: Path) -> None:
    """The scrambled problems were answered beside the others, and the judgements are said to be simulated."""
    across = json.loads((left / "report" / "analyses" / "across.json").read_bytes())
    assert {cell["operation"] for each in across["stress"] for cell in each["cells"]} == {
        "scramble"
    }
    assert {each["set"] for each in across["suspects"]} == {"test"}
    card = load(str(left / "temporal")).card
    assert card.workers_are == "simulated"
    assert "no person did" in card.workers
    assert making_command(card) == "nikawa generate temporal-ja -n 2 --seed 0 --split all --gate"


@pytest.mark.usefixtures("offline", "user_folder")
def test_json_is_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [step for step in STEPS if not step.writes and "apart" not in step.title]
    monkeypatch.setattr(demo, "__defaults__", (None, quick, None))
    result = CliRunner().invoke(build(), ["demo", "--json"])
    told = json.loads(result.stdout)
    assert [step["title"] for step in told["steps"]] == [step.title for step in quick]
    assert told["steps"][0]["figures"] == {"tasks": 10, "examples": 232}
    assert next(s for s in told["steps"] if "copy" in s["title"])["figures"]["same"] is True
    assert told["seconds"] >= max(step["seconds"] for step in told["steps"])


def test_quiet_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[object] = []

    def record(show: object, out: Path) -> tuple[()]:
        taken.extend((show, out))
        return ()

    monkeypatch.setattr("nikawa.demo.job.demo", record)
    result = CliRunner().invoke(build(), ["demo", "--quiet", "--out", "here"])
    assert (result.exit_code, result.output, taken) == (0, "", [None, Path("here")])


def test_only_its_own_folder_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(BadInput, match="neither empty nor left by an earlier tour"):
        demo(steps=STEPS[:1], out=tmp_path)
    with pytest.raises(BadInput, match="is a file"):
        demo(steps=STEPS[:1], out=tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    for _ in range(2):
        demo(steps=STEPS[:1], out=tmp_path / "new")
    assert "report/index.html" in (tmp_path / "new" / "README.txt").read_text()


def test_a_missing_extra_does_not_end_the_tour() -> None:
    def lacking() -> acts.Outcome:
        raise missing_extra("fugashi", "ja")

    broken = Step(title="Broken", why="Shows the cure.", command="nikawa", act=lacking)
    first, second = demo(steps=(broken, STEPS[-1]))
    assert first.outcome.lines == (f"Left out: {first.outcome.figures['left_out']}",)
    assert "[ja]'" in first.outcome.lines[0]
    assert second.title == STEPS[-1].title


def test_show_gets_number_step_and_outcome() -> None:
    seen: list[tuple[int, str, int]] = []
    demo(
        lambda number, step, outcome: seen.append((number, step.title, len(outcome.tables))),
        STEPS[:1],
    )
    assert seen == [(1, STEPS[0].title, 1)]


def test_examples_of_every_kind_in_both_languages() -> None:
    outcome = acts.show_examples()
    assert [table.title for table in outcome.tables] == ["mini-ja", "mini-ko"]
    for table in outcome.tables:
        assert [row[0] for row in table.rows] == [
            "inference",
            "similarity",
            "reading",
            "choice",
            "tagging",
        ]
        assert all(row[3] for row in table.rows)


def test_check_finds_nothing() -> None:
    outcome = acts.check_data()
    assert outcome.tables[0].rows == (("mini-ja", 116, 0, 0), ("mini-ko", 116, 0, 0))
    assert outcome.lines == ("No problems found.",)


def test_check_leaves_the_users_data_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the published data at hand a check compares with all of it, which takes far too long here."""
    asked: list[Path | None] = []
    monkeypatch.setattr("nikawa.checks.job.comparable", lambda _, data: asked.append(data) or [])  # type: ignore[func-returns-value]
    monkeypatch.setenv("NIKAWA_DATA", "somewhere")
    acts.check_data()
    assert len(asked) == 2
    assert all(folder is not None and folder != Path("somewhere") for folder in asked)


def test_gold_is_made_again_from_the_judgements() -> None:
    figures = acts.weigh_judgements().figures
    assert figures == {name: {"judged": 60, "gold_remade": 60} for name in ("mini-ja", "mini-ko")}


def test_copy_holds_a_card_and_three_splits() -> None:
    outcome = acts.write_and_read_back()
    assert [row[0] for row in outcome.tables[0].rows] == [
        "card.json",
        "dev.jsonl",
        "test.jsonl",
        "train.jsonl",
    ]
    assert outcome.figures == {"files": 4, "same": True}


@pytest.mark.slow
def test_sentences_are_covered_by_their_offsets() -> None:
    outcome = acts.analyse_sentences()
    for table in outcome.tables:
        for surface, _, _, offsets in table.rows:
            start, end = map(int, offsets.split("–"))
            assert table.title[start:end] == surface


@pytest.mark.slow
def test_a_temporal_benchmark_is_made_read_and_judged(tmp_path: Path) -> None:
    outcome = making.make_temporal(tmp_path)
    sizes, seen, problems = outcome.tables
    assert outcome.figures["over"] == 0
    assert outcome.figures["problems"]["train"] == 4434
    assert {row[0] for row in seen.rows} == {row[0] for row in sizes.rows} - {"train", "test"}
    assert all(0 < row[1] < outcome.figures["problems"]["test"] for row in seen.rows)
    assert len({row[0] for row in problems.rows}) == 10
    judged = running.simulate_round(tmp_path).figures
    assert judged["problems"] == outcome.figures["problems"]["test"]
    assert 0.9 < judged["gold_again"] / judged["problems"] < 1


def commands() -> list[str]:
    typed = [row[0] for row in acts.where_next(Path()).tables[0].rows]
    shown = [step.command for step in STEPS if step.command != "nikawa --help"]
    each = [command for line in [*typed, *shown] for command in line.split(" && ")]
    return [command for command in each if command.startswith("nikawa ")]


@pytest.mark.parametrize("command", commands())
def test_every_command_the_tour_names_exists(command: str) -> None:
    """The words lead to a command that takes these arguments."""
    found: Any = typer.main.get_command(build())
    words = shlex.split(command)[1:]
    while words and hasattr(found, "commands") and words[0] in found.commands:
        found = found.commands[words.pop(0)]
    assert not hasattr(found, "commands") or found.invoke_without_command, (
        f"there is no {command!r}"
    )
    with found.make_context(found.name, words) as context:
        assert context.args == []


@pytest.mark.parametrize("step", [s for s in STEPS if s.command.startswith("python -c ")])
def test_every_python_line_the_tour_names_runs(
    step: Step, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(shlex.split(step.command)[2], "<demo>", "exec"), {})
    assert capsys.readouterr().out
