"""Files that people write or fill, in whatever editor or spreadsheet they have.

A byte order mark, CR LF and UTF-16 (the Unicode text of spreadsheets) are read as what they stand
for, and so are kana and Hangul written in pieces (NFD): カ and a voicing mark is ガ.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.lines import decode_line, numbered_lines, read_bytes
from nikawa.io.tsv import parse_rows
from nikawa.text.compose import compose_text


def read_lines(path: Path, name: str = "settings") -> Iterator[tuple[int, str]]:
    """(Line number from 1, text without its end); `name` is the limit the file is held to."""
    data = read_bytes(path, name)
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            cure = "save it again, as UTF-8"
            raise BadInput("begins as UTF-16 and is none", file=path, cure=cure) from None
    for number, raw in numbered_lines(BytesIO(data.removeprefix(BOM_UTF8))):
        line = decode_line(raw.removesuffix(b"\n").removesuffix(b"\r"), path, number)
        yield number, compose_text(line)


def read_whole(path: Path, name: str = "settings") -> str:
    """The text of a file; `name` is the limit it is held to."""
    return "\n".join(line for _, line in read_lines(path, name))


def read_rows(
    path: Path, needs: Sequence[str], *, cut: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """(Line number, row by column) of a tab-separated table.

    With `cut` rows may lack their last cells.
    Spreadsheets leave the tabs of empty cells out where a row ends in them.
    """
    return parse_rows(read_lines(path), path, needs, cut=cut)
