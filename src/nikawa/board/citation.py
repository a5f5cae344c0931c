"""How an entry of a board is cited: as a sentence, and as BibTeX."""

from __future__ import annotations

import re
from datetime import datetime

from nikawa.board.views import BoardView, EntryView
from nikawa.board.words import say

_BIBTEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def escape_bibtex(text: str) -> str:
    r"""A text inside the braces of a BibTeX field.

    >>> escape_bibtex("100% {A_B}")
    '100\\% \\{A\\_B\\}'
    """
    return "".join(_BIBTEX.get(char, char) for char in " ".join(text.split()))


def _when(board: BoardView, moment: float | None) -> datetime:
    return datetime.fromtimestamp(moment or 0.0, board.zone)


def _address(board: BoardView, entry: EntryView | None) -> str:
    base = board.address.rstrip("/")
    return f"{base}/s/{entry.id}" if entry else f"{base}/"


def cite_entry(language: str, board: BoardView, entry: EntryView, name: str) -> str:
    """An entry as a sentence."""
    values = {
        "author": f"{entry.by}, " if entry.by else "",
        "name": name,
        "id": entry.id,
        "board": board.title,
        "date": _when(board, entry.published).strftime("%Y-%m-%d"),
        "address": _address(board, entry),
    }
    return say(language, "cite_entry", values).strip()


def cite_board(language: str, board: BoardView, now: float) -> str:
    """The board as a sentence."""
    values = {
        "board": board.title,
        "date": _when(board, now).strftime("%Y-%m-%d"),
        "address": _address(board, None),
    }
    return say(language, "cite_whole", values).strip()


def format_bibtex(board: BoardView, entry: EntryView | None, name: str, now: float) -> str:
    """An entry, or the board itself as it is now, as BibTeX."""
    key = re.sub(r"[^A-Za-z0-9-]+", "-", board.name).strip("-") or "board"
    fields = {"title": f"{{{escape_bibtex(name)}}}"}
    if entry is not None:
        key = f"{key}-{entry.id}"
        if entry.by:
            fields["author"] = f"{{{escape_bibtex(entry.by)}}}"
        fields["year"] = str(_when(board, entry.published).year)
        note = f"Entry {entry.id} on the leaderboard {board.title}"
        note += _when(board, entry.published).strftime(", published %Y-%m-%d")
        fields["note"] = escape_bibtex(note)
    else:
        fields["year"] = str(_when(board, now).year)
        fields["note"] = _when(board, now).strftime("Leaderboard, accessed %Y-%m-%d")
    if board.address:
        fields["howpublished"] = f"\\url{{{_address(board, entry)}}}"
    lines = [f"  {field} = {{{value}}}" for field, value in fields.items()]
    return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}"
