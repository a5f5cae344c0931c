"""Which characters of a text each sub-word stands for, where the tokenizer does not tell.

Sub-words may have lost marks (`##`, `▁`), case, width or accents, and unknown ones tell nothing. Both sides are folded
character by character; known pieces are found in order, and an unknown piece takes what lies between its neighbours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MARKS = ("##", "▁", "Ġ")


def align(text: str, pieces: Sequence[str], unknown: str | None) -> list[tuple[int, int]]:
    """Start and end (exclusive) in `text` of every piece; empty spans where a piece stands for nothing."""
    folded, place = _fold(text)
    found: list[tuple[int, int] | None] = []
    at, skipped = 0, False
    for piece in pieces:
        bare = _bare(piece)
        if piece == unknown:
            found.append(None)
            skipped = True
            continue
        start = folded.find(bare, at) if bare and (skipped or folded.startswith(bare, at)) else -1
        if start < 0 and bare:
            start = folded.find(bare, at)
        if start < 0 or not bare:
            found.append((place[at], place[at]))
            continue
        at = start + len(bare)
        found.append((place[start], place[at - 1] + 1))
        skipped = False
    return _between(text, found)


def _bare(piece: str) -> str:
    for mark in MARKS:
        if piece.startswith(mark) and piece != mark:
            piece = piece[len(mark) :]
            break
    return _fold(piece)[0] if piece not in MARKS else ""


def _fold(text: str) -> tuple[str, list[int]]:
    """Lower case, compatibility forms, no accents, no spaces; and where each character came from."""
    out: list[str] = []
    place: list[int] = []
    for i, character in enumerate(text):
        for part in unicodedata.normalize("NFKC", character).lower():
            if not part.isspace():
                out.append(part)
                place.append(i)
    return "".join(out), [*place, len(text)]


def _between(text: str, found: list[tuple[int, int] | None]) -> list[tuple[int, int]]:
    """Give every unknown piece its share of the characters that no known piece took: one space-free run each."""
    made: list[tuple[int, int]] = []
    i = 0
    while i < len(found):
        known = found[i]
        if known is not None:
            made.append(known)
            i += 1
            continue
        last = i
        while last < len(found) and found[last] is None:
            last += 1
        start = made[-1][1] if made else 0
        after = found[last] if last < len(found) else None
        end = after[0] if after is not None else len(text)
        made += _runs(text, start, end, last - i)
        i = last
    return made


def _runs(text: str, start: int, end: int, parts: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for i in range(start, end):
        if text[i].isspace():
            continue
        if runs and runs[-1][1] == i:
            runs[-1] = (runs[-1][0], i + 1)
        else:
            runs.append((i, i + 1))
    if not runs:
        return [(start, start)] * parts
    if len(runs) > parts:  # more words than unknown pieces: the last takes the rest
        runs[parts - 1 :] = [(runs[parts - 1][0], runs[-1][1])]
    return runs + [(runs[-1][1], runs[-1][1])] * (parts - len(runs))
