"""A program that is started once and asked line by line: each line is answered by lines up to one that says `EOS`."""

from __future__ import annotations

import os
import select
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from subprocess import PIPE, Popen, TimeoutExpired
from typing import IO, Any
from weakref import WeakSet, finalize

from nikawa.errors import BadInput

MAX_SILENCE_SECONDS = 120.0
"""Seconds without a word after which a program that owes an answer is given up; a model is read in far less."""
MAX_EXIT_SECONDS = 1.0
"""Seconds a program has to end once its input has."""
BLOCK_BYTES = 1 << 16
END = b"EOS"

_ALL: WeakSet[LineProgram] = WeakSet()


class LineProgram:
    """A program under its name. It ends with this process, is not shared with a forked one, and starts again when asked."""

    def __init__(self, name: str, program: str) -> None:
        self.name, self.program = name, program
        _ALL.add(self)

    _running: Popen[bytes] | None = None
    _log: IO[bytes] | None = None
    _end: Any = None

    def ask(self, lines: Sequence[str]) -> list[list[str]]:
        """What the program answers to each line, its `EOS` left out. No line may hold a line break."""
        if not lines:
            return []
        running = self._start()
        try:
            return self._talk(running, lines)
        except BaseException:  # what is left unread would pass for the next answer
            running.kill()
            self.close()
            raise

    def close(self) -> None:
        """End the program, if it runs."""
        if self._end is not None:
            self._end()
        self._running = self._log = self._end = None

    def forget(self) -> None:
        """Leave the program to the process this one was forked from."""
        if self._running is not None and self._end is not None:
            self._end.detach()
            self._running.returncode = 0  # it is not ours to wait for
            _close(self._running.stdin, self._running.stdout, self._log)
        self._running = self._log = self._end = None

    def _start(self) -> Popen[bytes]:
        if self._running is not None and self._running.poll() is None:
            return self._running
        self.close()  # it ended between two questions
        log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the program; a pipe nobody reads would fill up)
        try:
            # A session of its own: an interruption from the keyboard is for this process to handle.
            self._running = Popen(  # noqa: S603
                [self.program],
                bufsize=0,
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                start_new_session=True,
            )
        except OSError as problem:
            log.close()
            what = f"{self.name} cannot be started: {problem.strerror}"
            raise BadInput(what, file=self.program, cure="see that it runs by itself") from None
        self._log, self._end = log, finalize(self, _end_program, self._running, log)
        os.set_blocking(_number(self._running.stdin), False)
        return self._running

    def _talk(self, running: Popen[bytes], lines: Sequence[str]) -> list[list[str]]:
        """Write and read by turns: a program that waits to be read does not read."""
        given, taken = _number(running.stdin), _number(running.stdout)
        left = memoryview("".join(f"{line}\n" for line in lines).encode())
        answers, answer, rest = list[list[str]](), list[str](), b""
        poll = select.poll()
        poll.register(taken, select.POLLIN)
        poll.register(given, select.POLLOUT)
        while len(answers) < len(lines):
            ready = dict(poll.poll(MAX_SILENCE_SECONDS * 1000))
            if not ready:
                raise self._report_silence(lines[len(answers)])
            if given in ready:
                left = left[_write_some(given, left) :]
                if not left:
                    poll.unregister(given)
            if taken in ready:
                if not (block := os.read(taken, BLOCK_BYTES)):
                    raise self._report_death(running, lines[len(answers)])
                *whole, rest = (rest + block).split(b"\n")
                for line in whole:
                    if line.rstrip(b"\r") == END:
                        answers.append(answer)
                        answer = []
                    else:
                        answer.append(line.decode("utf-8", "replace").rstrip("\r"))
        return answers

    def _report_silence(self, line: str) -> BadInput:
        what = f"{self.name} did not answer {line!r} within {MAX_SILENCE_SECONDS:g} s"
        return BadInput(
            what, cure=f"it was ended; see what it does with that text by itself: {self.program}"
        )

    def _report_death(self, running: Popen[bytes], line: str) -> BadInput:
        with suppress(TimeoutExpired):
            running.wait(MAX_EXIT_SECONDS)
        status = running.poll()
        if status is None:
            how = "stopped answering"
        elif status >= 0:
            how = f"ended with status {status}"
        else:
            how = f"was ended by signal {-status}"
            with suppress(ValueError):
                how = f"was ended by {signal.Signals(-status).name}"
        last = self._last_error()
        what = f"{self.name} {how} at {line!r}" + (f": {last}" if last else "")
        return BadInput(what, cure=f"see what it does with that text by itself: {self.program}")

    def _last_error(self) -> str:
        """The last line of its errors."""
        if self._log is None:
            return ""
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - BLOCK_BYTES))
        lines = [line.strip() for line in self._log.read().decode("utf-8", "replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")


def _number(stream: IO[bytes] | None) -> int:
    assert stream is not None
    return stream.fileno()


def _write_some(place: int, data: memoryview) -> int:
    """How much of `data` went out; all of it where nobody is left to read, which the silent other side will tell."""
    try:
        return os.write(place, data[:BLOCK_BYTES])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def _end_program(running: Popen[bytes], log: IO[bytes]) -> None:
    """A program ends when its input does; one that does not is killed."""
    _close(running.stdin)
    try:
        running.wait(MAX_EXIT_SECONDS)
    except TimeoutExpired:
        running.kill()
        running.wait()
    _close(running.stdout, log)


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _forget_all() -> None:
    for program in list(_ALL):
        program.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
