"""Programs of the user's own that read lines and write lines: a translator, a scorer."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from nikawa.errors import BadInput


def pipe_lines(
    command: str, texts: Iterable[str], *, called: str, seconds: float | None = None
) -> list[str]:
    """Run `command` without a shell on the texts, one per line, and return its output.

    `called` is its name in errors. White space inside a text becomes one space, so that each text is one
    line. `seconds` limits the whole run. Raises BadInput if the command cannot run, fails,
    takes longer, or does not write UTF-8; the caller counts the lines.
    """
    words = split_command(command, called)
    lines = "".join(f"{' '.join(text.split())}\n" for text in texts).encode()
    try:
        with ignore_broken_pipes():
            done = subprocess.run(  # noqa: S603  (the user's own command)
                words, input=lines, capture_output=True, check=False, timeout=seconds
            )
    except OSError as problem:
        what = f"{called} {words[0]!r} cannot run ({problem.strerror})"
        raise BadInput(what, cure="check its path and permissions") from None
    except subprocess.TimeoutExpired:
        what = f"{called} {words[0]!r} did not end within {seconds:g} seconds"
        raise BadInput(what, cure="try it by hand on one line, or allow more time") from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        what = f"{called} {words[0]!r} exited with status {done.returncode}: {errors[-1]}"
        raise BadInput(what, cure="try it by hand on one line")
    try:
        return done.stdout.decode().removesuffix("\n").split("\n") if done.stdout else []
    except UnicodeDecodeError:
        what = f"{called} {words[0]!r} does not write UTF-8"
        raise BadInput(what, cure="make it write UTF-8, or convert its output with iconv") from None


def split_command(command: str, called: str) -> list[str]:
    """The program and its arguments, as a shell would part them."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise BadInput(
            f"{called} {command!r} cannot be read ({problem})", cure="close the quotation mark"
        ) from None
    if not words:
        raise BadInput(
            f"{called} is empty", cure="pass a program that reads lines and writes lines"
        )
    return words


@contextmanager
def ignore_broken_pipes() -> Iterator[None]:
    """A program that ends before it has read everything must not end this one: the command line
    lets SIGPIPE do so.
    """
    if not hasattr(signal, "SIGPIPE") or current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
