"""The command line as a user meets it: its output and its exit status, at times in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.cli.terminal import app
from nikawa.cli.terminal.app import build, find_requested_verb, make_interrupt_handler
from nikawa.datasets.jamp.jamp import COLUMNS as JAMP


def process(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    code = "from nikawa.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **env},
    )


Nikawa = Callable[..., subprocess.CompletedProcess[str]]


def verbs() -> list[tuple[str, ...]]:
    """Every command path, such as ("data", "list")."""
    app = build()
    flat: list[tuple[str, ...]] = [(str(c.name),) for c in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        flat += [(str(group.name), str(c.name)) for c in group.typer_instance.registered_commands]
    return flat


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_every_help_has_an_example(nikawa: Nikawa, words: tuple[str, ...]) -> None:
    done = nikawa(*words, "--help")
    assert done.returncode == 0
    assert f"Example: nikawa {' '.join(words)}" in done.stdout


def test_help_names_the_panels() -> None:
    done = process("--help")
    assert done.returncode == 0
    assert "Data" in done.stdout
    assert "demo" in done.stdout


def test_a_verb_is_alone_in_the_file_of_its_name() -> None:
    """Only that file is imported when the verb is asked for."""
    for verb in {words[0] for words in verbs()}:
        assert find_requested_verb([verb, "--help"]) == verb
        alone = build(verb)
        assert {c.name for c in alone.registered_commands} | {
            g.name for g in alone.registered_groups
        } == {verb}
    assert (
        find_requested_verb(["--help"])
        is find_requested_verb([])
        is find_requested_verb(["_main"])
        is find_requested_verb(["tsks"])
        is None
    )


def test_the_package_can_be_run() -> None:
    words = [sys.executable, "-m", "nikawa", "--version"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, process("--version").stdout)


def test_version() -> None:
    assert process("--version").stdout.startswith("nikawa ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tasks", "mini-jaa-nli"), "did you mean 'mini-ja-nli'"),
        (("data", "show", "mini-jaa"), "did you mean 'mini-ja'"),
        (("data", "show", "mini-ja", "--split", "tets"), "did you mean 'test'"),
        (("data", "show", "no/such/file.jsonl"), "no such file"),
        (("data", "check", "jsick"), "nikawa data fetch jsick"),
        (("reproduce", "jglu"), "did you mean 'jglue'"),
        (("reproduce", "jglue", "--verdict", "equel"), "did you mean 'equal'"),
        (("data", "export", "mini-ja", "--to", "parkuet", "--out", "x"), "did you mean 'parquet'"),
        (("data", "fetch", "jnl"), "did you mean 'jnli'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    nikawa: Nikawa, words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = nikawa(*words, NIKAWA_DATA=str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("data", "list"), ("reproduce", "jsick")])
def test_a_data_folder_that_is_none(nikawa: Nikawa, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, said in (("file", "is not a folder"), ("none", "no such folder")):
        done = nikawa(*words, "--data", str(tmp_path / name))
        assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True)
        assert done.stdout == ""


@pytest.mark.parametrize("verb", ["show", "check", "export"])
def test_a_table_without_rows(nikawa: Nikawa, verb: str, tmp_path: Path) -> None:
    table = tmp_path / "jamp/dataset/test_2.tsv"
    table.parent.mkdir(parents=True)
    table.write_text("\t".join(JAMP) + "\n", "utf-8")
    more = ("--to", "jsonl", "--out", str(tmp_path / "out")) if verb == "export" else ()
    done = nikawa("data", verb, "jamp", "--data", str(tmp_path), *more)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{table}: holds no rows" in done.stderr


def test_a_file_is_read_only_as_far_as_it_is_shown(nikawa: Nikawa, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [f'{{"id":"{n}","inputs":{{"text":"猫が{n}匹。"}}}}' for n in range(3)]
    path.write_text("\n".join([*lines, "broken"]) + "\n", "utf-8")
    assert "version 0, first 2 examples" in nikawa("data", "show", str(path), "-n", "2").stdout
    assert nikawa("data", "show", str(path), "-n", "3").returncode == 2
    assert nikawa("data", "show", str(path), "-n", "1", "--id", "0").returncode == 2
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert "version 0, 3 examples" in nikawa("data", "show", str(path), "-n", "3").stdout


def test_a_report_in_a_pipe_is_not_padded(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id":"1","inputs":{"text":""}}\n', "utf-8")
    done = process("data", "check", str(path))
    assert "empty-text" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 1000


def test_mistyped_verb_gets_a_suggestion() -> None:
    done = process("taks")
    assert done.returncode == 2
    assert "tasks" in done.stderr


def test_broken_file_names_line_and_cure(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(
        '{"id":"1","inputs":{"text":"水"}}\n{"id":"2","inputs":{"text":"火"}, "colour":"red"}\n',
        "utf-8",
    )
    done = process("data", "show", str(path))
    assert done.returncode == 2
    assert "broken.jsonl, line 2" in done.stderr
    assert "colour" in done.stderr


def test_json_is_json(nikawa: Nikawa) -> None:
    assert {task["name"] for task in json.loads(nikawa("tasks", "--json").stdout)} >= {
        "mini-ja-nli",
        "mini-ko-nli",
    }
    listed = json.loads(nikawa("data", "list", "--json").stdout)
    assert {"dataset", "here", "absent", "folder"} <= set(listed[0])
    shown = json.loads(
        nikawa("data", "show", "mini-ko", "--split", "dev", "-n", "2", "--json").stdout
    )
    assert len(shown["dev"]) == 2


def test_full_width_text_lines_up(nikawa: Nikawa) -> None:
    done = nikawa("data", "show", "mini-ja", "--split", "dev", "-n", "3")
    assert done.returncode == 0
    assert "premise" in done.stdout
    assert "→ " in done.stdout


def test_card(nikawa: Nikawa) -> None:
    done = nikawa("data", "show", "jsick", "--card")
    assert done.returncode == 0
    assert "CC BY-SA 4.0" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "euc-kr", "cp932"])
def test_any_terminal_is_survived(encoding: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from nikawa.cli import main; main()",
            "data",
            "show",
            "mini-ja:dev",
            "-n",
            "2",
        ],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_command_that_ends_is_not_interrupted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    handle = make_interrupt_handler()
    with pytest.raises(KeyboardInterrupt):
        handle(2, None)
    handle(2, None)
    assert ended == []
    monkeypatch.setattr(app, "ENDING_SECONDS", -1.0)
    handle(2, None)
    assert ended == [130]


def test_text_is_never_taken_for_markup_or_commands(nikawa: Nikawa, tmp_path: Path) -> None:
    path = tmp_path / "odd@name.jsonl"
    record = {
        "id": "[/b]",
        "inputs": {"text": "[/x] [red]赤[/red] :smile: \u001b[31m"},
        "gold": {"choice": 5, "tree": {}},
    }
    path.write_text(json.dumps(record) + "\n", "utf-8")
    for words in (("show", str(path)), ("show", str(path), "--split", "all")):
        done = nikawa("data", *words)
        assert done.returncode == 0
        assert "[/x] [red]赤[/red] :smile: \\x1b[31m" in done.stdout


def test_closed_output_is_survived() -> None:
    code = "import sys; sys.stdout = None; sys.argv[1:] = ['tasks']; from nikawa.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_two_splits_are_one_too_many(nikawa: Nikawa) -> None:
    done = nikawa("data", "show", "mini-ja:dev", "--split", "test")
    assert (done.returncode, "name different splits" in done.stderr) == (2, True)


def test_panels_in_their_order(nikawa: Nikawa) -> None:
    shown = nikawa("--help").stdout
    assert shown.index("─ Data ") < shown.index("─ Evaluate ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("data show mini", "mini-ja"),
        ("data show jsick:te", "jsick:test"),
        ("reproduce kl", "klue"),
        ("tasks jsq", "jsquad"),
        ("data export mini-ja --to cro", "croissant"),
    ],
)
def test_completion_offers_values(nikawa: Nikawa, typed: str, offered: str) -> None:
    words = f"nikawa {typed}"
    env = {
        "_NIKAWA_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    assert offered in nikawa(**env).stdout.split()


def test_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -c 'from nikawa.cli import main; main()' data show mini-ja -n 100 | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    env = {"_NIKAWA_COMPLETE": f"source_{shell}"}
    code = "import sys; sys.argv = ['nikawa']; from nikawa.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **env},
    )
    assert "nikawa" in done.stdout
    assert "_NIKAWA_COMPLETE" in done.stdout
