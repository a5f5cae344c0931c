"""Tables on narrow terminals: words fold, numbers never do, and what does not fit stands below, under its first column again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

GAP, EDGE = 3, 2
"""Columns between two cells, and those at both ends of a line."""
LONGEST = 20
"""A word up to this width stays whole; a longer one, such as a path, may be cut."""
_TOKEN = re.compile(
    "\\s+|[!-~\u00b1\u00d7\u2010-\u2026\uac00-\ud7a3]+|.[\u3001\u3002\u300d\u300f\uff01\uff09\uff1f]*"
)
"""What is kept whole as far as it goes: blanks, words and numbers, and each kana or kanji with the marks that end a clause."""
_NUMBER = re.compile("[-+~<>=(]*[0-9][-0-9.,%:/()+\u00b1\u00d7\u2010-\u2015]*")


class Column(NamedTuple):
    """How wide a column is by nature, and how narrow it may become."""

    natural: int
    least: int
    words: bool
    """Whether it holds anything but numbers: such columns give way first."""


def measured(header: str, cells: Sequence[str], limit: int) -> Column:
    """The widths of a column on a terminal of `limit` columns."""
    natural = max(
        (_width(line) for text in (header, *cells) for line in text.split("\n")), default=0
    )
    tokens = {token for cell in cells for token in _tokens(cell)}
    heads = max((min(_width(token), LONGEST) for token in _tokens(header)), default=1)
    least = max((_whole(token) for token in tokens), default=1)
    words = any(not _NUMBER.fullmatch(token) for token in tokens)
    return Column(min(natural, limit), min(max(least, heads, 1), limit - EDGE), words)


def fitted(
    header: Sequence[str], rows: Sequence[Sequence[str]], limit: int
) -> list[dict[int, int]]:
    """The tables a table becomes on a terminal of `limit` columns: each is its columns, by number, and their widths."""
    columns = [measured(name, [row[i] for row in rows], limit) for i, name in enumerate(header)]
    if sum(column.natural for column in columns) + GAP * (len(columns) - 1) + EDGE <= limit:
        return [{i: column.natural for i, column in enumerate(columns)}]
    return [
        dict(zip(block, shared_out([columns[i] for i in block], limit), strict=True))
        for block in blocks(columns, _keys(columns, rows, limit), limit)
    ]


def _keys(columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int) -> int:
    """How many of the first columns tell the rows apart, and so stand in every block; one where they have no room."""
    needed = EDGE
    for n, column in enumerate(columns, start=1):
        needed += column.least + GAP
        if not column.words or needed > limit * 3 // 4:
            break
        if len({tuple(row[:n]) for row in rows}) == len(rows):
            return n
    return 1


def blocks(columns: Sequence[Column], keys: int, limit: int) -> list[list[int]]:
    """The columns that stand beside each other, block by block; the first `keys` stand in every block."""
    first = list(range(keys))
    start = EDGE + sum(columns[i].least for i in first) + GAP * (keys - 1)
    found, taken = [first[:]], start
    for i in range(keys, len(columns)):
        needed = GAP + columns[i].least
        if taken + needed > limit and len(found[-1]) > keys:
            found.append(first[:])
            taken = start
        found[-1].append(i)
        taken += needed
    return found


def shared_out(columns: Sequence[Column], limit: int) -> list[int]:
    """The width of each column of a block: the widest gives way first, words before numbers."""
    widths = [column.natural for column in columns]
    excess = sum(widths) + GAP * (len(widths) - 1) + EDGE - limit
    for words in (True, False):
        mine = [i for i, column in enumerate(columns) if column.words is words]
        while excess > 0 and (wide := [i for i in mine if widths[i] > columns[i].least]):
            widths[max(wide, key=lambda i: widths[i])] -= 1
            excess -= 1
    return widths


def folded(text: str, width: int) -> str:
    """A text in lines of at most `width`, broken between words, kana or kanji and never inside a number that fits."""
    return "\n".join(line for part in text.split("\n") for line in _lines(part, width))


def _lines(text: str, width: int) -> list[str]:
    lines, room = [""], width
    for token in _TOKEN.findall(text):
        rest = token
        if _width(rest) > room and lines[-1].strip():
            lines[-1] = lines[-1].rstrip()
            lines.append("")
            room, rest = width, rest.lstrip()
        while _width(rest) > room:  # a word too long for any line
            lines[-1] += rest[:room]
            lines.append("")
            rest, room = rest[room:], width
        lines[-1] += rest
        room -= _width(rest)
    return lines


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token.strip()]


def _whole(token: str) -> int:
    """How much room a token needs."""
    width = _width(token)
    return width if _NUMBER.fullmatch(token) else min(width, LONGEST)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
