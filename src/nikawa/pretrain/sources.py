"""The files a text is read from: named or found in folders, each once, and what came of reading each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.lines import guess_encoding, read_lines

KINDS = tuple(
    f"{kind}{packed}" for kind in (".txt", ".jsonl") for packed in ("", ".gz", ".zst", ".xz")
)
"""Names that a folder is searched for."""
NAMED = 20
"""Broken lines whose numbers are told."""
SHOWN = 1 << 16
"""Bytes of a broken line that its encoding is guessed from."""


@dataclass
class Broken:
    """Lines that could not be read."""

    count: int = 0
    places: list[str] = field(default_factory=list)
    """`file:line` of the first of them."""
    raw: bytes = b""
    """The first of them, or its beginning."""

    def add(self, place: str, raw: bytes) -> None:
        """One more."""
        self.raw = self.raw if self.count else raw[:SHOWN]
        self.count += 1
        if len(self.places) < NAMED:
            self.places.append(place)


@dataclass
class Source:
    """One file and what came of reading it."""

    path: Path
    name: str
    key: str = "text"
    """The field of JSON lines that holds the text."""
    found: Path | None = None
    """The folder that was searched for it; None where it was named by itself."""
    starts: frozenset[int] | None = None
    """Lines (from 1) at which documents begin, where a table tells."""
    table: str = ""
    """The name of that table."""
    held: tuple[tuple[int, int], ...] = ()
    """The first and the last line (from 1) of each of its rows, ascending."""
    outside: int = 0
    """Lines of text that no row holds."""
    broken: Broken = field(default_factory=Broken)
    cut: int = 0
    """Places at which lines that were too long were cut."""
    lines: int = 0
    characters: int = 0


def sources_of(
    given: Sequence[Path],
    text_field: str = "text",
    table: Path | None = None,
    made: Path | None = None,
) -> list[Source]:
    """The files that are meant, folders searched (but for `made`, where what is made of them is written); each once."""
    files = [
        (file, path if file != path else None) for path in given for file in _files(path, made)
    ]
    if not files:
        raise BadInput("no text was named", cure="name a .txt or .jsonl file, or a folder of them")
    _refuse_names([file for file, _ in files])
    if table is not None and (len(files) > 1 or holds_records(files[0][0])):
        raise BadInput(
            "a table of sources is about one file of plain text", file=table, cure="name one file"
        )
    names = Counter(file.name for file, _ in files)
    held = _held(table) if table else ()
    starts = frozenset(first for first, _ in held) if table else None
    return [
        Source(
            file,
            file.name if names[file.name] == 1 else file.as_posix(),
            text_field,
            found,
            starts,
            table.name if table else "",
            held,
        )
        for file, found in files
    ]


def holds_records(path: Path) -> bool:
    """Whether a file is JSON lines, by its name."""
    return path.name.endswith(tuple(kind for kind in KINDS if kind.startswith(".jsonl")))


def _files(path: Path, made: Path | None) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file for file in path.rglob("*") if file.name.endswith(KINDS) and _meant(file, path, made)
    )
    if not found:
        raise BadInput("holds no text", file=path, cure=f"it may hold {', '.join(KINDS)}")
    return found


def _meant(file: Path, folder: Path, made: Path | None) -> bool:
    """Whether a file of a folder is text to read: not hidden, and not made here before."""
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    ours = made is not None and file.resolve().is_relative_to(made.resolve())
    return not hidden and not ours and file.is_file()


def _refuse_names(files: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for file in files:
        if file.exists() and not file.is_file():  # a pipe can be read once only
            raise BadInput(
                "is no plain file", file=file, cure="write the text to a file and name that"
            )
        if not _encodes(str(file)):
            raise BadInput(
                "the name is not UTF-8", file=ascii(str(file)), cure="give the file another name"
            )
        if (other := seen.setdefault(file.resolve(), file)) is not file:
            raise BadInput(
                f"is named twice, here and as {other}", file=file, cure="name each file once"
            )


def _encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _held(table: Path) -> tuple[tuple[int, int], ...]:
    """First and last lines (from 1) of the rows of a table of first line (from 0), number of lines and source."""
    rows: list[tuple[int, int, int]] = []
    for number, line in read_lines(table):
        start, count, *_ = *line.split("\t"), ""
        if not (start.isdecimal() and count.isdecimal()):
            cure = "write first line (from 0), number of lines and source, with tabs between"
            raise BadInput("is not a row of sources", file=table, line=number, cure=cure)
        rows.append((int(start) + 1, int(start) + int(count), number))
    rows.sort()
    for (_, last, row), (first, _, number) in pairwise(rows):
        if first <= last:
            what = f"begins at {first - 1}, which belongs to the row of line {row}"
            cure = "let each line of the text belong to one row"
            raise BadInput(what, file=table, line=number, cure=cure)
    return tuple((first, last) for first, last, _ in rows)


def unreadable(source: Source, what: str) -> BadInput:
    """The error for a file whose lines cannot be read, with the cure that its first broken line tells."""
    line = int(source.broken.places[0].rpartition(":")[2])
    if _encoded(source.broken.raw):
        cure = "write an object a line with a text in it, or call it .txt if it is plain text"
    else:
        guess = guess_encoding(source.broken.raw)
        cure = f"convert it, e.g. with iconv -f {guess} -t UTF-8" if guess else "save it as UTF-8"
    return BadInput(what, file=source.path, line=line, cure=cure)


def _encoded(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return problem.reason == "unexpected end of data"  # it was cut
    return True
