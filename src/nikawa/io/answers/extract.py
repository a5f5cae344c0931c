"""`--extract REGEX`: take the part of a text that holds the answer, before it is read.

Several expressions make a chain: each is applied to what the one before gave. Of each, the last
match in the text counts (a model that thinks aloud ends with its answer), and of a match its first
group, or the whole where it has no group. What a model thought between `<think>` and `</think>` is
not searched.

Python's `re` can take for ever on patterns such as `(a+)+b`, and nothing inside the process can
stop it for certain: signals reach the main thread only, and threads wait for the interpreter's
lock. So expressions run in a process of their own, which is ended when one text takes longer than
`MAX_SECONDS`; the command then stops with one line that names the expression.
"""

from __future__ import annotations

import atexit
import json
import queue
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from nikawa.errors import BadInput
from nikawa.io.answers.readings import Reader, Reading
from nikawa.io.answers.replies import blank_thoughts
from nikawa.records import Example

MAX_SECONDS = 5.0
"""Seconds that the expressions may take on one text; a usual one takes microseconds."""
MAX_SECONDS_TO_START = 60.0
MAX_EXPRESSIONS = 20
EXTRACT = "extract"
"""The pattern of a reading by an expression, before the one that read what it gave."""

_WORKER = """
import json, re, sys
patterns = [re.compile(source) for source in json.loads(sys.stdin.readline())]
print("ready", flush=True)
for line in sys.stdin:
    text, start, missed = json.loads(line), 0, None
    for place, pattern in enumerate(patterns):
        match = None
        for match in pattern.finditer(text):
            pass
        if match is None or match[bool(pattern.groups)] is None:
            missed = place
            break
        group = 1 if pattern.groups else 0
        start, text = start + match.start(group), match[group]
    print(json.dumps([start, start + len(text), missed]), flush=True)
"""


class Extract(NamedTuple):
    """What expressions gave."""

    start: int
    end: int
    missed: str | None
    """The expression that matched nothing; then there is no part."""


class Extractor:
    """A chain of expressions at work."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self.expressions = tuple(expressions)
        check_expressions(self.expressions)
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._lock = threading.Lock()

    def find(self, text: str) -> Extract:
        """The part of a text that the chain gives; raises `BadInput` where it takes too long."""
        searched = blank_thoughts(text).encode("utf-8", "replace").decode()
        with self._lock:
            process = self._process or self._start()
            try:
                assert process.stdin is not None
                process.stdin.write(json.dumps(searched) + "\n")
                process.stdin.flush()
                line = self._lines.get(timeout=MAX_SECONDS)
            except (queue.Empty, OSError):
                line = ""
            if not line:
                self.close()
                shown = " ".join(map(repr, self.expressions))
                raise BadInput(
                    f"--extract {shown} takes more than {MAX_SECONDS:g} s on one text",
                    cure="write it without repeats inside repeats, such as (a+)+",
                )
        start, end, missed = json.loads(line)
        return Extract(start, end, None if missed is None else self.expressions[missed])

    def close(self) -> None:
        """End the process, if one runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was written cannot be delivered any more
                        stream.close()

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(  # noqa: S603  (this interpreter, with a program of our own)
            [sys.executable, "-I", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._process, self._lines = process, queue.Queue()
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.expressions) + "\n")
        process.stdin.flush()
        threading.Thread(
            target=_pass_lines, args=(process.stdout, self._lines), daemon=True
        ).start()
        atexit.register(self.close)
        with suppress(queue.Empty):  # the limit is one of expressions, not of a busy machine
            self._lines.get(timeout=MAX_SECONDS_TO_START)
        return process


def _pass_lines(stream: Any, lines: queue.Queue[str]) -> None:
    try:
        for line in stream:
            lines.put(line)
    except (OSError, ValueError):  # closed from the other side
        pass
    lines.put("")


def check_expressions(expressions: Sequence[str]) -> None:
    """Raise `BadInput`, one line, for an expression that Python cannot compile."""
    if len(expressions) > MAX_EXPRESSIONS:
        what = f"{len(expressions)} expressions are too many"
        raise BadInput(what, cure=f"pass --extract at most {MAX_EXPRESSIONS} times")
    for expression in expressions:
        if not expression:
            raise BadInput("--extract is empty", cure="write a Python regular expression")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(expression)
        except (re.error, OverflowError, RecursionError) as problem:
            what = f"--extract {expression!r} is not a regular expression: {problem}"
            raise BadInput(what, cure="write a Python regular expression, in quotes") from None


@lru_cache(maxsize=8)
def get_extractor(expressions: tuple[str, ...]) -> Extractor:
    """The chain of these expressions; the same one, with its process, for all who ask."""
    return Extractor(expressions)


def read_extracts(read: Reader, expressions: Sequence[str]) -> Reader:
    """A reader that applies the expressions first; with none, the same reader."""
    if not expressions:
        return read
    extractor = get_extractor(tuple(expressions))

    def parse(raw: Any, example: Example) -> Reading:
        if not isinstance(raw, str):
            return read(raw, example)
        part = extractor.find(raw)
        if part.missed is not None:
            return Reading(why=f"--extract matches nothing: {part.missed}")
        reading = read(raw[part.start : part.end], example)
        if reading.why is not None:
            return reading
        start, end = part.start + reading.start, part.start + reading.end
        return reading._replace(start=start, end=end, pattern=f"{EXTRACT}, {reading.pattern}")

    return parse
