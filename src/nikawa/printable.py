r"""Make text safe for a terminal, a log or a message: invisible characters become escapes.

Names, ids and labels come from files that anyone may have written. A terminal obeys control
characters (ECMA-48: colours, cursor moves, the window's title), bidirectional controls
reorder the text around them (UAX 9; "Trojan Source", Boucher and Anderson 2023), and
zero-width characters make two names look alike. `printable` writes each of them as an escape of Python
and JSON, such as `\x1b` and `\u202e`.

Ordinary text stays as it is: letters of every script, combining marks, spaces (also the ideographic one), emoji with
their selectors, skin tones and joiners, and kanji with an ideographic variation selector. A joiner or selector without
effect is escaped. A backslash is not doubled: the result is for reading; `--json` and files have the exact text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

MAX_LINE_CHARS = 2000
"""Maximum characters of a line for people: a name of a megabyte must not flood the terminal."""

_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef"
"""Letters, marks and symbols that are invisible (fillers, selectors, joiners); the Unicode category identifies
all other invisible characters."""
_EMOJI = (
    "[#*0-9\u00a9\u00ae\u203c\u2049\u2122-\u27ff\u2900-\u2fff\u3001-\u3299\U0001f000-\U0001faff]"
)
_IDEOGRAPH = "[\u2e80-\u2fdf\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"
_SEQUENCE = (
    rf"{_EMOJI}(?:[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\u20e3]|\u200d{_EMOJI})+"
    "|\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # the flag of Scotland
    rf"|{_IDEOGRAPH}[\ufe00-\ufe02\U000e0100-\U000e01ef]"
)
"""Characters that are invisible alone and belong to the previous character: UTS 51, UTS 37."""
_BLANK_CHAR = re.compile(f"[{_BLANK}]")
_KEPT = re.compile(f"({_SEQUENCE})")
_SHAPELESS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


@lru_cache(maxsize=4096)
def _has_shape(char: str) -> bool:
    return unicodedata.category(char) not in _SHAPELESS and not _BLANK_CHAR.match(char)


def _escape(char: str) -> str:
    code = ord(char)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _SHORT.get(char) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")


def _escape_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def printable(text: str, keep: str = "", escape: Callable[[str], str] = _escape) -> str:
    r"""Return `text` on one line, with a visible escape for each invisible character.

    `keep` has characters that stay unescaped, such as the line feed of a text of several lines.

    >>> print(printable("a\x1b[2Jb\u202e\n日本 한국 👩‍👧"))
    a\x1b[2Jb\u202e\n日本 한국 👩‍👧
    """
    if text.isprintable() and (text.isascii() or not _BLANK_CHAR.search(text)):
        return text
    shapeless = [char for char in set(text) if not _has_shape(char) and char not in keep]
    if not shapeless:
        return text
    table = {ord(char): escape(char) for char in shapeless}
    if max(shapeless) < "\u200d":  # nothing that could belong to the previous character
        return text.translate(table)
    parts = _KEPT.split(text)  # every second one is a sequence
    return "".join(part if i % 2 else part.translate(table) for i, part in enumerate(parts))


def printable_json(text: str) -> str:
    r"""Encode JSON with escapes for invisible characters: the same value, and safe to print.

    JSON itself requires escapes only for the first 32 control characters.
    """
    return printable(text, "\n", _escape_json)


def plain_markdown(text: str) -> str:
    """Text for a page in Markdown, with names that others chose: control characters and HTML are shown and do nothing.

    >>> plain_markdown("model:<b>x</b>")
    'model:&lt;b>x&lt;/b>'
    """
    return printable(text, keep="\n").replace("<", "&lt;")


def cut_middle(text: str, limit: int) -> str:
    """Cut the middle of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def shorten(text: str, limit: int) -> str:
    """Cut the middle of a text that is too long, and append its length.

    >>> shorten("a" * 500_000, 9)
    'aaaa…aaaa (500,000 characters)'
    """
    short = cut_middle(text, limit)
    return text if short is text else f"{short} ({len(text):,} characters)"


def printable_line(text: str, limit: int = MAX_LINE_CHARS, keep: str = "") -> str:
    """Return one printable line of bounded length."""
    shown = cut_middle(printable(cut_middle(text, limit), keep), limit)
    return shown if len(text) <= limit else f"{shown} ({len(text):,} characters)"


class PrintableStream:
    """A text stream that escapes the text written to it; everything else is delegated to the stream.

    Rich writes colours and moves the cursor: its consoles find the original stream by `rich_proxied_file` and escape text
    themselves. A carriage return at the start of a write stays, because progress bars of other libraries begin with it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def rich_proxied_file(self) -> Any:
        """The stream for text that Rich has rendered: the original one, however many proxies are around it."""
        stream = self._stream
        while (inner := getattr(stream, "rich_proxied_file", stream)) is not stream:
            stream = inner
        return stream

    def write(self, text: str) -> int:
        """Write a text with escapes; line feeds and tabs stay."""
        start = "\r" if text.startswith("\r") else ""
        self._stream.write(start + printable(text[len(start) :], keep="\n\t"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_streams() -> Iterator[None]:
    """Make standard output and standard error printable, also for warnings, logs, tracebacks and other libraries."""
    before = sys.stdout, sys.stderr
    guards: Any = tuple(
        stream if isinstance(stream, PrintableStream) else PrintableStream(stream)
        for stream in before
    )
    sys.stdout, sys.stderr = guards
    try:
        yield
    finally:
        if (sys.stdout, sys.stderr) == guards:  # otherwise other code has replaced the streams
            sys.stdout, sys.stderr = before
