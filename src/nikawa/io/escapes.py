r"""Text in one cell of a line: tab, line feed, carriage return, NUL and backslash are escaped, as PostgreSQL does.

`\N` stands for a value that is absent.
"""

from __future__ import annotations

import re
from pathlib import Path

from nikawa.errors import BadInput

ABSENT = r"\N"

_OUT = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": r"\0"})
_IN = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r", "0": "\0", "_": "_"}
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)


def escape(text: str) -> str:
    """Return `text` for a cell: one line without tabs; `unescape` is the inverse."""
    return text.translate(_OUT)


def unescape(cell: str) -> str:
    """The text of a cell; a `ValueError` names an escape that means nothing."""

    def meaning(escape: re.Match[str]) -> str:
        try:
            return _IN[escape[1]]
        except KeyError:
            raise ValueError(f"{escape[0]!r} is not an escape") from None

    return _ESCAPE.sub(meaning, cell) if "\\" in cell else cell


def unescape_cell(cell: str, path: Path, line: int) -> str:
    """Like `unescape`, for a cell on a line of a file, which the error names."""
    try:
        return unescape(cell)
    except ValueError as problem:
        cure = r"write a backslash as \\"
        raise BadInput(str(problem), file=path, line=line, cure=cure) from None
