"""Long work beside the server: exports and analyses in a process of their own, at a lower priority.

A thread would share Python's lock with those who answer; a process leaves them a core, or their share of one. The
task goes in by standard input, since an address may hold a password and lists of processes can be read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from nikawa.collect.database import address
from nikawa.collect.export import MARK, csv_lines, json_lines, judgements
from nikawa.collect.project import Project, open_project
from nikawa.collect.store import Store
from nikawa.errors import NikawaError

NICE = 10
BLOCK = 1 << 20
"""Bytes of the pipe between the two."""


class Task(msgspec.Struct, frozen=True):
    """What the process is to do."""

    folder: str
    database: str
    function: str = ""
    """`module:name` of a function of project and store; empty: an export."""
    form: str = "jsonl"
    pseudonymise: bool = False


class Failed(NikawaError):
    """The process ended before it was done."""


def exported(project: Project, store: Store, form: str, *, pseudonymise: bool) -> Iterator[bytes]:
    """The judgements so far as lines of JSON or commas, in blocks."""
    task = Task(str(project.folder), store.database.address, form=form, pseudonymise=pseudonymise)
    return _blocks(task)


def beside(function: Callable[[Project, Store], Any]) -> Callable[[Project, Store], Any]:
    """The same function of project and store, computed in a process; its result must be JSON."""
    name = f"{function.__module__}:{function.__qualname__}"

    def compute(project: Project, store: Store) -> Any:
        task = Task(str(project.folder), store.database.address, function=name)
        return msgspec.json.decode(b"".join(_blocks(task)))

    return compute


def _blocks(task: Task) -> Iterator[bytes]:
    """What the process writes, as it comes; it is ended when nobody wants more."""
    words = [sys.executable, "-m", "nikawa.collect.aside"]
    with subprocess.Popen(  # noqa: S603  (our own program)
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=BLOCK
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with suppress(BrokenPipeError):  # it ended already; what it said of that is read below
                process.stdin.write(msgspec.json.encode(task))
                process.stdin.close()
            while block := os.read(process.stdout.fileno(), BLOCK):
                yield block
            told = process.stderr.read().decode(errors="replace").strip().splitlines()
            if process.wait():
                raise Failed(
                    told[-1]
                    if told
                    else f"a process beside the server ended with {process.returncode}"
                )
        finally:
            if process.poll() is None:
                process.kill()


def perform(task: Task, out: BinaryIO) -> None:
    """Do a task and write what comes of it."""
    project = open_project(Path(task.folder))
    database = address(task.database, project.folder, project.name)
    if task.function:
        module, _, name = task.function.partition(":")
        with Store(database) as store:
            out.write(msgspec.json.encode(getattr(import_module(module), name)(project, store)))
        return
    link = database.connect()
    try:
        found = judgements(link, project, pseudonymise=task.pseudonymise)
        if task.form == "csv":
            out.write(MARK)
            out.writelines(block.encode() for block in csv_lines(found))
        else:
            out.writelines(json_lines(found))
    finally:
        link.close()


def main() -> int:
    """Read a task and do it; the last line of standard error says why it could not be done."""
    with suppress(OSError):
        os.nice(NICE)
    out = sys.stdout.buffer
    try:
        perform(msgspec.json.decode(sys.stdin.buffer.read(), type=Task), out)
        out.flush()
    except BrokenPipeError:  # nobody waits for it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except NikawaError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
