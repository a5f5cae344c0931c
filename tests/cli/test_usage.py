"""Words that no verb can use: one line that names the cure, and exit status 2."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from nikawa.cli.terminal.app import build

Nikawa = Callable[..., subprocess.CompletedProcess[str]]


def verbs() -> list[tuple[str, ...]]:
    """Every command path and every group, such as ("data", "list") and ("data",)."""
    app = build()
    flat: list[tuple[str, ...]] = [(str(c.name),) for c in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        flat += [(str(group.name), str(c.name)) for c in group.typer_instance.registered_commands]
        flat.append((str(group.name),))
    return flat


@pytest.mark.parametrize("words", [(), *verbs()], ids=" ".join)
def test_every_verb_tells_a_wrong_option_in_one_line(
    nikawa: Nikawa, words: tuple[str, ...]
) -> None:
    done = nikawa(*words, "--hlep")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nikawa: there is no option '--hlep'; did you mean --help?\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pretrain x --sise mini", "there is no option '--sise'; did you mean --size?"),
        (
            "pretrain x --any_language",
            "there is no option '--any_language'; did you mean --any-language?",
        ),
        ("pretrain -out x", "there is no option '-out'; did you mean --out?"),
        ("data show mini-ja --n 3", "there is no option '--n'; did you mean -n?"),
        ("agree --frobnicate", "there is no option '--frobnicate'; see nikawa agree --help"),
        ("tasks -z", "there is no option '-z'; see nikawa tasks --help"),
        (
            "--data x tasks",
            "there is no option '--data'; write the options of a command after it; see nikawa --help",
        ),
        ("taks", "there is no command 'taks'; did you mean 'tasks'?"),
        ("data lst", "there is no command 'data lst'; did you mean 'list'?"),
        ("frobnicate", "there is no command 'frobnicate'; known: aggregate, agree, "),
        (
            "data show",
            "the argument NAME is missing; for example: nikawa data show mini-ja --split dev -n 3",
        ),
        (
            "data show a b c",
            "nikawa data show does not take the argument 'b c'; for example: nikawa data show ",
        ),
        ("tasks --json=yes", "--json does not take a value; it is: Print JSON"),
        ("pretrain x --language", "--language requires an argument; it is: ja or ko ("),
        ("data show mini-ja -n", "-n requires an argument; it is: How many examples"),
    ],
)
def test_the_line_names_the_cure(nikawa: Nikawa, typed: str, said: str) -> None:
    done = nikawa(*typed.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"nikawa: {said}")


@pytest.mark.parametrize("value", ["-1", "ten", "1.5"])
def test_a_wrong_value_is_named_with_what_its_option_stands_for(nikawa: Nikawa, value: str) -> None:
    done = nikawa("pretrain", "x", "--steps", value)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.match(f"nikawa: --steps: '?{re.escape(value)}'? (should|is not)", done.stderr)
    assert "; it is: Training steps (see nikawa pretrain --help)" in done.stderr


def test_a_wrong_word_cannot_flood_or_steer_the_terminal(nikawa: Nikawa) -> None:
    for words in (
        ("tasks", "--\x1b[31m" + "x" * 5000),
        ("\x1b[31m" + "x" * 5000,),
        ("tasks", "a", "b\nc"),
    ):
        done = nikawa(*words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert len(done.stderr) < 500
        assert "\x1b" not in done.stderr


def test_a_group_alone_shows_its_help(nikawa: Nikawa) -> None:
    done = nikawa("data")
    assert "Usage: nikawa data" in done.stdout + done.stderr
    assert "there is no" not in done.stderr


def ending(line: str) -> subprocess.CompletedProcess[str]:
    """How the process ends whose one verb does this."""
    code = (
        "import sys, typer, nikawa.cli.terminal.app as m; sys.argv = ['nikawa']; a = typer.Typer()\n"
        f"@a.command()\ndef go() -> None:\n    {line}\n"
        "m.build_overview = lambda: a\nm.main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [("pass", 0), ("raise typer.Exit(1)", 1), ("raise KeyboardInterrupt", 130)],
)
def test_the_status_of_a_verb_is_that_of_the_process(line: str, status: int) -> None:
    done = ending(line)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_a_question_without_an_answer_is_told() -> None:
    done = ending("typer.prompt('Password')")
    assert (done.returncode, "nikawa: nothing was done; answer the question" in done.stderr) == (
        1,
        True,
    )
    assert "Traceback" not in done.stderr
