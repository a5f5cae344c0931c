"""Tab-separated tables with quoting off: a quote mark is text, as in all the published files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_lines


def read_tsv(
    path: Path, needs: Sequence[str] = (), separator: str = "\t", *, ended: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, row by column name). `needs` are the columns that must be there.

    With `ended` a last line without LF is refused; some published tables end so.
    """
    lines = read_lines(path, ended=ended)
    try:
        _, first = next(lines)
    except StopIteration:
        raise BadInput("is empty", file=path, cure="write a header line and rows") from None
    header = first.split(separator)
    check_header(header, needs, path)
    for number, line in lines:
        cells = line.split(separator)
        if len(cells) != len(header):
            raise BadInput(
                f"has {len(cells)} columns, the header has {len(header)}",
                file=path,
                line=number,
                cure="look for a stray or missing tab",
            )
        yield number, dict(zip(header, cells, strict=True))


def check_header(header: Sequence[str], needs: Sequence[str], path: Path) -> None:
    """Refuse a header with repeated names or without one of `needs`."""
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise BadInput(
            f"column {twice!r} occurs twice", file=path, line=1, cure="rename one of them"
        )
    for name in needs:
        if name not in header:
            raise BadInput(
                f"column {name!r} is missing", file=path, line=1, cure=suggest(name, header)
            )
