"""The errors that users see. Each is one line: what is wrong, where, and what to do."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import accumulate, takewhile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from nikawa.printable import cut_middle, printable, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_WHAT, MAX_CURE, MAX_PLACE, MAX_QUOTE = 200, 400, 240, 60
"""Maximum characters of a message's parts, so that the content of a file cannot flood the terminal."""
MAX_LIST = 240
"""Characters after which a message stops listing names."""
TORCH_EXTRAS = ("encoder", "lora", "lm", "all", "dev")
"""Extras that install torch."""

_BLANKS = " \t\n\r\v\f"
_BLANK_RUN = re.compile(f"[{_BLANKS}]+")
_QUOTE = re.compile(rf"(?<![^\s(\[{{=:])(['\"`])((?:\\.|(?!\1).){{{MAX_QUOTE + 1},}})\1(?!\w)")


class NikawaError(Exception):
    """The base of all errors that Nikawa raises on purpose; the command line prints it as one line."""


class BadInput(NikawaError):
    """Input that cannot be used. Exit status 2. Place and cure are part of the message.

    The message is one line of bounded length without control characters, whatever a file contains:
    see `clip`. The parts themselves (`what`, `file`, `cure`) stay unchanged.

    >>> print(BadInput("is empty", file="x.jsonl", line=3, cure="remove the line"))
    x.jsonl, line 3: is empty; remove the line
    """

    def __init__(
        self, what: str, *, file: str | Path | None = None, line: int | None = None, cure: str = ""
    ) -> None:
        self.what, self.file, self.line, self.cure = what, file, line, cure
        super().__init__(str(self))

    @property
    def position(self) -> str:
        """The position in the file, or an empty text if it is not known."""
        return "" if self.line is None else f"line {self.line}"

    def __str__(self) -> str:
        place = "" if self.file is None else printable(str(self.file)[-MAX_PLACE - 1 :])
        if len(place) > MAX_PLACE:
            place = f"…{place[1 - MAX_PLACE :]}"
        if position := self.position:
            place = f"{place}, {position}" if place else position
        what, cure = clip(self.what, MAX_WHAT), clip(self.cure, MAX_CURE)
        text = f"{place}: {what}" if place else what
        return f"{text}; {cure}" if cure else text

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Allow pickling, so that a worker process can return the error."""
        return (_rebuild, (type(self), self.what, self.file, self.line, self.cure))


class UnknownName(BadInput):
    """A name that is not registered."""


class MissingData(BadInput):
    """A published file that is not on this machine."""


class MissingExtra(BadInput):
    """A capability whose optional packages are not installed."""


@contextmanager
def name_faulty_file(file: str | Path | None) -> Iterator[None]:
    """Add `file` to an error that names no file; None changes nothing.

    Use it around code that works on records and does not know where they come from.

    >>> with name_faulty_file("x.jsonl"):
    ...     raise BadInput("holds no pair")
    Traceback (most recent call last):
    nikawa.errors.BadInput: x.jsonl: holds no pair
    """
    try:
        yield
    except BadInput as problem:
        if problem.file is None:
            problem.file = file
        raise


def _rebuild(
    kind: type[BadInput], what: str, file: str | Path | None, line: int | None, cure: str
) -> BadInput:
    return kind(what, file=file, line=line, cure=cure)


def place_fault(what: str, *, file: str | Path, unit: str, place: int, cure: str = "") -> BadInput:
    """Return the error for a line, row, record or sample (`unit`) at a place, counted from 1.

    >>> print(place_fault("has no id", file="x.parquet", unit="row", place=3))
    x.parquet: row 3: has no id
    """
    if unit == "line":
        return BadInput(what, file=file, line=place, cure=cure)
    return BadInput(f"{unit} {place}: {what}", file=file, cure=cure)


def clip(text: str, limit: int) -> str:
    """Return `text` on one printable line; cut the middle of long quoted parts, then the end of the whole.

    >>> print(clip(f"there is no field {'a' * 5000!r}", 200))
    there is no field 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaa' (5,000 characters)
    """
    half = 8 * MAX_CURE
    left_out = max(0, len(text) - 2 * half)
    if left_out:  # the ends are enough to find the quotes; no NUL is left in printable text
        text = f"{printable(text[:half], _BLANKS)}\0{printable(text[-half:], _BLANKS)}"
    else:
        text = printable(text, _BLANKS)

    def shorten_quote(quote: re.Match[str]) -> str:
        mark, inside = quote[1], quote[2]
        count = len(inside) + (left_out - 1 if "\0" in inside else 0)
        size = "" if "\\" in inside else f" ({count:,} characters)"  # an escape is not a character
        return f"{mark}{cut_middle(inside, MAX_QUOTE)}{mark}{size}"

    text = _QUOTE.sub(shorten_quote, _BLANK_RUN.sub(" ", text).strip()).replace("\0", "…")
    if len(text) > limit:  # a long word may hide the text after it
        text = re.sub(r"\S+", lambda word: cut_middle(word[0], max(limit // 3, MAX_QUOTE)), text)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def list_names(names: Iterable[str]) -> str:
    """Join names as `a, b, c`; for a long list, the first few and how many more there are."""
    shown = [printable_line(name, MAX_QUOTE) for name in names]
    ends = accumulate(len(name) + 2 for name in shown)
    count = max(1, sum(1 for end in takewhile(lambda end: end <= MAX_LIST, ends)))
    text = ", ".join(shown[:count])
    return text if len(shown) <= count else f"{text} and {len(shown) - count:,} more"


def suggest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """Return `did you mean …?` with the nearest known names, or the first known names."""
    names, name = sorted(known), name[:MAX_WHAT]
    folded = {n.casefold(): n for n in names}
    near = [folded[n] for n in get_close_matches(name.casefold(), folded, n=limit, cutoff=0.6)]
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    return f"known: {list_names(names)}" if names else "there are no known names"


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """Return the error for an unknown `kind` (dataset, task, split, …) called `name`."""
    return UnknownName(f"there is no {kind} {name!r}", cure=suggest(name, known))


def missing_extra(what: str, extra: str) -> MissingExtra:
    """Return the error for a missing optional package, with the command that installs it."""
    return MissingExtra(f"{what} is not installed", cure=f"run: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation: a checkout, a copy of one, or a package from an index."""
    origin = read_install_origin()
    folder = find_checkout(origin)
    pip = pip_command(folder)
    note = ""
    if extra in TORCH_EXTRAS:
        note = " (this also installs GPU libraries; docs/install.md shows how to avoid them)"
    if folder is not None:
        flag = "-e " if origin is None or origin.get("dir_info", {}).get("editable") else ""
        there = "" if folder.samefile(Path()) else f"cd {quote(str(folder))} && "
        return f"{there}{pip} install {flag}'.[{extra}]'{note}"
    if origin and "dir_info" not in origin:
        source = f"the original address is {origin.get('url')}"
        return f"{pip} install 'nikawa[{extra}] @ ADDRESS'; {source}"
    return f"{pip} install 'nikawa[{extra}]'{note}"


def pip_command(folder: Path | None) -> str:
    """Return how to call the pip of this Python from a folder: `pip` if the shell finds the right one."""
    from shutil import which

    python, pip = Path(sys.executable), which("pip")
    if pip and Path(pip).parent == python.parent:
        return "pip"
    if folder is not None and python.is_relative_to(folder):
        python = python.relative_to(folder)
    return f"{quote(str(python))} -m pip"


def read_install_origin() -> dict[str, Any] | None:
    """Return where pip installed nikawa from (PEP 610): empty for an index, None if it was never installed."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return dict(json.loads(distribution("nikawa").read_text("direct_url.json") or "{}"))
    except PackageNotFoundError:
        return None
    except ValueError:
        return {}


def find_checkout(origin: dict[str, Any] | None) -> Path | None:
    """Return the checkout that nikawa runs from or was installed from, if it still exists."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    folder = Path(__file__).parents[2]
    if origin is not None:
        if "dir_info" not in origin:
            return None
        folder = Path(url2pathname(urlsplit(str(origin.get("url", ""))).path))
    return folder if (folder / "pyproject.toml").is_file() else None
