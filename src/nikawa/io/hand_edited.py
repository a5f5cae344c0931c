"""Read files that people write or fill in with any editor or spreadsheet.

A byte order mark, CR LF and UTF-16 (the Unicode text of spreadsheets) are accepted, and so are
decomposed kana and Hangul (NFD): カ and a voicing mark is ガ.
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
            raise BadInput("starts like UTF-16 but is not UTF-16", file=path, cure=cure) from None
    for number, raw in numbered_lines(BytesIO(data.removeprefix(BOM_UTF8))):
        line = decode_line(raw.removesuffix(b"\n").removesuffix(b"\r"), path, number)
        yield number, compose_text(line)


def read_whole(path: Path, name: str = "settings") -> str:
    """The text of a file; `name` is the limit it is held to."""
    return "\n".join(line for _, line in read_lines(path, name))


def read_rows(
    path: Path, needs: Sequence[str], *, cut: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row by column) of a tab-separated table.

    With `cut`, rows may lack their last cells: spreadsheets omit the tabs of empty cells at the end of a row.
    """
    return parse_rows(read_lines(path), path, needs, cut=cut)
