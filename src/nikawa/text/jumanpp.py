"""Japanese by the program Juman++ (version 2), kept running and asked line by line.

Its output is a morpheme a line (surface, reading, lemma, then four tags each with its number, then
the semantics in quotes or NIL), further entries of the same morpheme on lines that begin with `@ `,
and EOS. Half-width characters break that format and its dictionary has none, so the program sees a
full-width copy of the text, as the pipelines of the encoders trained with it do; offsets are those
of the text as given.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from subprocess import PIPE, Popen, TimeoutExpired
from typing import IO, Any, NamedTuple
from weakref import WeakSet, finalize

from nikawa.errors import BadInput, MissingExtra
from nikawa.text.engine import find_cuts
from nikawa.text.japanese import TO_KATAKANA, Entry, find_headword
from nikawa.text.normalise import Normalised, normalise, normalise_with_offsets
from nikawa.text.protocol import Engine, Token
from nikawa.text.sentences import sentences

MAX_SILENCE_SECONDS = 120.0
"""Seconds without a word after which a program that owes an answer is given up; a model is read in
far less."""
MAX_EXIT_SECONDS = 1.0
"""Seconds a program has to end once its input has."""
BLOCK_BYTES = 1 << 16
"""Bytes that are written and read at a time."""
END = b"EOS"
"""The line that ends an answer."""

_ALL: WeakSet[LineProgram] = WeakSet()
"""Every program that may run, so that a forked process can forget them."""


class LineProgram:
    """A program under its name.

    It ends with this process, is not shared with a forked one, and starts again when asked.
    """

    def __init__(self, name: str, program: str) -> None:
        self.name, self.program = name, program
        _ALL.add(self)

    _running: Popen[bytes] | None = None
    _log: IO[bytes] | None = None
    _end: Any = None

    def ask(self, lines: Sequence[str]) -> list[list[str]]:
        """What the program answers to each line, its `EOS` left out. No line may hold a line break.

        Raises `BadInput` where the program cannot be started, ends early, or keeps silent for
        `MAX_SILENCE_SECONDS`.
        """
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
        """The program, running: the one that runs already, or a new one."""
        if self._running is not None and self._running.poll() is None:
            return self._running
        self.close()  # it ended between two questions
        log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the program; a pipe without a reader would fill up)
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
            raise BadInput(what, file=self.program, cure="run it yourself to see why") from None
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
            what, cure=f"the program was stopped; run it on that text to see why: {self.program}"
        )

    def _report_death(self, running: Popen[bytes], line: str) -> BadInput:
        """The error for a program that ended: how, at which line, and the last of its own errors."""
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
        return BadInput(what, cure=f"run it on that text to see why: {self.program}")

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
    """How much of `data` went out.

    If the reader is gone, all of it counts as sent: the next read reports the end.
    """
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


PROGRAM, NAMED_BY = "jumanpp", "JUMANPP"
HOME = "https://github.com/ku-nlp/jumanpp/releases"
MAX_LINE_BYTES = 4096
"""Bytes of a line the program takes; a longer one is an error to it, one of 65,536 not even that.
"""

UNKNOWN, ERROR = "未定義語", "# ERROR"
WIDE = "\u3000"
_BLANKS = "".join(c for c in map(chr, range(ord(WIDE))) if c.isspace())
_TO_WIDE = dict.fromkeys(map(ord, _BLANKS.replace("\n", "")), WIDE)
_LINE = re.compile(r"[^\n]+")
# Surface; reading and lemma, which may hold blanks of their own; four tags with their numbers; semantics.
_ENTRY = re.compile(r"((?:\\.|[^ \\])+) (.*? .*?)" + 4 * " ([^ ]+) [0-9]+" + r"(?: (.*))?\Z")
_BETWEEN = re.compile(r"(?<!\\) ")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"␣": " ", "t": " "}
_Answer = tuple[str, Entry]
"""A surface as the program prints it, blanks as blanks, and what it says of it."""


class _WideCopy(NamedTuple):
    """A text and the copy of it that the program sees, with where each character came from where
    that differs.
    """

    text: str
    copy: str
    places: Normalised | None

    @classmethod
    def make(cls, text: str) -> _WideCopy:
        """Character by character to full width, white space but line breaks to the full-width
        space; ｶﾞ becomes one, ガ.
        """
        blanked = text.translate(_TO_WIDE)
        copy = normalise(blanked, "fullwidth")
        same = len(copy) == len(text)  # only the pairs make it shorter, and nothing makes it longer
        return cls(text, copy, None if same else normalise_with_offsets(blanked, "fullwidth"))

    def lines(self) -> Iterator[tuple[int, int]]:
        """The lines of the copy.

        One that is too long is cut after the last sentence that fits, else where a clause ends.
        """
        for line in _LINE.finditer(self.copy):
            start, end = line.span()
            ends: list[int] | None = None
            while (room := self._count_fitting(start, end)) < end - start:
                if ends is None:
                    ends = [line.start() + span.end for span in sentences(line.group(), "ja")]
                last = bisect_right(ends, start + room) - 1
                if last >= 0 and ends[last] > start:
                    stop = ends[last]
                else:
                    stop = start + find_cuts(self.copy[start : start + room + 1], room)[1]
                yield start, stop
                start = stop
            yield start, end

    def _count_fitting(self, start: int, end: int) -> int:
        """How many characters from `start` on are one line to the program."""
        line = self.copy[start : min(end, start + MAX_LINE_BYTES)].encode()
        return len(line[:MAX_LINE_BYTES].decode("utf-8", "ignore"))

    def find(self, surface: str, at: int, stop: int) -> int:
        """Where a surface is in what is left of a line: at once, or after blanks; -1 where it is
        not.
        """
        while True:
            end = at + len(surface)
            if end <= stop:
                if self.copy.startswith(surface, at):
                    return at
                if self.copy[at:end].replace(WIDE, " ") == surface:
                    return at
            if at >= stop or self.copy[at] != WIDE:
                return -1
            at += 1

    def token(self, start: int, end: int, entry: Entry) -> Token | None:
        """The token on characters of the copy; None for white space, but not for the full-width
        space of the text.
        """
        first, last = start, end
        if self.places is not None:
            first, last = self.places.original(start, end)
        whole = self.text[first:last]
        word = whole.strip(_BLANKS)
        if not word:
            return None
        first += len(whole) - len(whole.lstrip(_BLANKS))
        base = entry.base or word
        return Token(
            surface=word,
            base=base,
            pos=entry.pos,
            reading=entry.reading,
            ctype=entry.ctype,
            cform=entry.cform,
            start=first,
            end=first + len(word),
            form=word,
            norm=entry.norm or base,
            notes=entry.notes,
        )


def load_jumanpp() -> Engine:
    """Juman++ from the PATH, or the program that JUMANPP names."""
    name = os.environ.get(NAMED_BY, "")
    path = shutil.which(name or PROGRAM)
    if path is None and name:
        cure = f"set it to the program of Juman++ 2 (see {HOME}), or unset it"
        raise MissingExtra(f"{NAMED_BY} names a file that is not a program", file=name, cure=cure)
    if path is None:
        cure = f"build Juman++ 2 from {HOME}; put it on the PATH, or set {NAMED_BY} to its path"
        raise MissingExtra(f"the program {PROGRAM!r} is not installed", cure=cure)
    program, parse = LineProgram(PROGRAM, path), lru_cache(maxsize=1 << 16)(parse_answer_line)
    program.ask(["。"])  # one that cannot answer is refused before the work

    def run(texts: Sequence[str]) -> Iterator[list[Token]]:
        copies = [_WideCopy.make(text) for text in texts]
        lines = [list(copy.lines()) for copy in copies]
        questions = []
        for copy, places in zip(copies, lines, strict=True):
            questions += [copy.copy[start:end] for start, end in places]
        answers = iter(program.ask(questions))
        for copy, places in zip(copies, lines, strict=True):
            tokens: list[Token] = []
            for place in places:
                tokens += read_answer(copy, place, next(answers), parse)
            yield tokens

    return run


def read_answer(
    copy: _WideCopy,
    place: tuple[int, int],
    lines: list[str],
    parse: Callable[[str], _Answer | None],
) -> Iterator[Token]:
    """The tokens of one line of the copy, from the lines of the program's answer."""
    at, stop = place
    for line in lines:
        # Another entry of the same morpheme, in the order of the dictionary; a remark. The text has neither sign.
        if line.startswith(("@ ", "# ")) and line != ERROR:
            continue
        answer = parse(line)
        start = -1 if answer is None else copy.find(answer[0], at, stop)
        if answer is None or start < 0:
            raise _refuse(copy.copy[place[0] : stop], line)
        surface, entry = answer
        at = start + len(surface)
        token = copy.token(start, at, entry)
        if token is not None:
            yield token
    if copy.copy[at:stop].strip():
        raise _refuse(copy.copy[place[0] : stop], "EOS")


def _refuse(question: str, line: str) -> BadInput:
    """The error for an answer that cannot be read, or that does not fit the text it is about."""
    if line == ERROR:
        cure = "leave that text out, or change it"
        return BadInput(f"{PROGRAM} cannot analyse {question!r}", cure=cure)
    what = f"{PROGRAM} answers {question!r} with {line!r}, which is not in the expected format"
    return BadInput(what, cure="use Juman++ 2 with its standard output format")


def parse_answer_line(line: str) -> _Answer | None:
    """Parse a line of the answer; None if it does not have the format."""
    match = _ENTRY.match(line)
    if match is None:
        return None
    surface, between, pos, fine, ctype, cform, semantics = match.groups(default="NIL")
    words = [_unescape(word) for word in _BETWEEN.split(between)]
    half = len(words) // 2  # a lemma with a blank has a reading with one
    notes = "" if semantics == "NIL" else semantics.strip('"')
    reading = base = norm = ""
    if pos != UNKNOWN and "未知語" not in notes:
        reading, base = " ".join(words[:half]), " ".join(words[half:])
        norm = find_headword(notes.split(" "))
    entry = Entry(
        base=base,
        pos=(pos, fine),
        reading=reading.translate(TO_KATAKANA),
        ctype=ctype.strip("*"),
        cform=cform.strip("*"),
        norm=norm,
        notes=notes,
    )
    return _unescape(surface), entry


def _unescape(field: str) -> str:
    if "\\" not in field:
        return field
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), field)
