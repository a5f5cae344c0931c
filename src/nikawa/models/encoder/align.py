"""Which characters of a text each sub-word stands for, where the tokenizer does not tell.

Sub-words may have lost marks (`##`, `▁`), case, width or accents, and unknown ones tell nothing. Both sides are taken
apart (NFKD) and case-folded; runs of known pieces must be found in the text as they are, and where a run could stand in
several places, the one is taken that leaves each unknown piece a word of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from nikawa.models.encoder.units import UNITS, Gaps

Place = tuple[int, int]
"""Start and end (exclusive) of characters."""
MARKS = ("##", "▁", "Ġ")
BYTE = re.compile(r"<0x([0-9A-F]{2})>\Z")
CANDIDATES = 32
"""Places a run of known pieces is looked for after an unknown one."""
STATES = 16
"""Ends that are followed up after each run: a text of mostly unknown pieces has thousands."""


def align(text: str, pieces: Sequence[str], unknown: str | None) -> list[Place]:
    """Start and end (exclusive) in `text` of every piece; empty where a piece stands for nothing."""
    for strip in (False, True):  # accents count unless the tokenizer drops them
        found = _aligned(text, pieces, unknown, strip)
        if found is not None:
            return found
    return _loose(text, pieces, unknown)


def folded(character: str, strip: bool) -> str:
    """A character taken apart and case-folded; with `strip` without accents and marks."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    return "".join(
        c
        for c in parts
        if not c.isspace() and not (strip and unicodedata.category(c) in {"Mn", "Cf", "Cc", "Co"})
    )


def _fold(text: str, strip: bool) -> tuple[str, list[int]]:
    """The text without spaces, taken apart, and the character each part came from."""
    out: list[str] = []
    place: list[int] = []
    for i, character in enumerate(text):
        for part in folded(character, strip):
            out.append(part)
            place.append(i)
    return "".join(out), [*place, len(text)]


@dataclass
class _Run:
    """Known pieces that follow each other, and how many unknown ones stand before them."""

    unknown: int
    pieces: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    first: str = ""
    """The first piece as it is, which tells whether it begins a word."""


def _runs(pieces: Sequence[str], unknown: str | None, strip: bool) -> list[_Run]:
    runs = [_Run(0)]
    for i, bare in enumerate(_bare(pieces, unknown, strip)):
        if bare is None:
            if runs[-1].pieces:
                runs.append(_Run(0))
            runs[-1].unknown += 1
        else:
            runs[-1].first = runs[-1].first or pieces[i]
            runs[-1].pieces.append(i)
            runs[-1].texts.append(bare)
    return runs


def _bare(pieces: Sequence[str], unknown: str | None, strip: bool) -> list[str | None]:
    """The folded text of every piece; None for unknown ones. Bytes in a row speak through the first of them."""
    made: list[str | None] = []
    raw: list[int] = []
    for i, piece in enumerate(pieces):
        found = BYTE.match(piece)
        if found:
            raw.append(int(found[1], 16))
            made.append("")
        if raw and (not found or i + 1 == len(pieces)):
            first = i - len(raw) + (1 if found else 0)
            made[first] = _fold(bytes(raw).decode("utf-8", "ignore"), strip)[0]
            raw = []
        if not found:
            made.append(None if piece == unknown else _fold(_unmarked(piece), strip)[0])
    return made


def _unmarked(piece: str) -> str:
    mark = next((m for m in MARKS if piece.startswith(m)), "")
    return piece[len(mark) :] if piece != "##" else piece


State = tuple[float, tuple[int, ...]]
"""What it cost to place the runs so far, and where they start."""


def _aligned(
    text: str, pieces: Sequence[str], unknown: str | None, strip: bool
) -> list[Place] | None:
    """Every run where it is found whole, at the least cost; None where one is not found."""
    folded, place = _fold(text, strip)
    runs, gaps = _runs(pieces, unknown, strip), Gaps(text)
    ends: dict[int, State] = {0: (0.0, ())}
    for run in runs:
        ends = _fewer(_placed(run, ends, gaps, folded, place))
    last = runs[-1]
    if last.pieces or not last.unknown:
        ends = {end: state for end, state in ends.items() if end == len(folded)}
    if not ends:
        return None
    starts = min(ends.values())[1]
    return _spread(text, len(pieces), runs, starts, place)


def _fewer(ends: dict[int, State]) -> dict[int, State]:
    """The cheapest states, and the one that leaves most of the text."""
    if len(ends) <= STATES:
        return ends
    cheap = sorted(ends, key=lambda end: (ends[end][0], end))[:STATES]
    return {end: ends[end] for end in {*cheap, min(ends)}}


def _placed(
    run: _Run, ends: dict[int, State], gaps: Gaps, folded: str, place: list[int]
) -> dict[int, State]:
    """The states after one more run, the cheapest for each end."""
    whole = "".join(run.texts)
    made: dict[int, State] = {}
    for end, (cost, starts) in ends.items():
        for start in _candidates(whole, run, end, folded):
            here = cost + _cost(run, gaps, place[end] if end else 0, place[start])
            stop = start + len(whole)
            if stop not in made or here < made[stop][0] or (here, (*starts, start)) < made[stop]:
                made[stop] = (here, (*starts, start))
    return made


def _candidates(whole: str, run: _Run, end: int, folded: str) -> list[int]:
    if not run.unknown:
        return [end] if folded.startswith(whole, end) else []
    if not run.pieces:
        return [len(folded)] if len(folded) > end else []
    found: list[int] = []
    at = folded.find(whole, end + 1)
    while at >= 0 and len(found) < CANDIDATES:
        found.append(at)
        at = folded.find(whole, at + 1)
    if found and (last := folded.rfind(whole)) > found[-1]:
        found.append(last)
    return found


def _cost(run: _Run, gaps: Gaps, start: int, end: int) -> float:
    """How ill the gap before a run fits the unknown pieces in it, and the place fits the run's first piece."""
    if not run.unknown:
        return 0.0
    text = gaps.text
    cost = min(
        abs(count - run.unknown) + level / 4 for level, count in enumerate(gaps.counts(start, end))
    )
    if run.first.startswith("##") or (
        run.first.startswith("▁") and not text[end - 1 : end].isspace()
    ):
        cost += 1.5
    within = text[end - 1 : end].isalnum() and text[end : end + 1].isalnum()
    return cost + (0.5 if within and not run.first.startswith("▁") else 0.0)


def _spread(
    text: str, n: int, runs: Sequence[_Run], starts: Sequence[int], place: list[int]
) -> list[Place]:
    """Spans of the pieces from where the runs start."""
    made: list[Place] = [(0, 0)] * n
    at, number = 0, 0
    for run, first in zip(runs, starts, strict=True):
        made[number : number + run.unknown] = _shares(text, at, place[first], run.unknown)
        number += run.unknown + len(run.pieces)
        start = first
        for piece, bare in zip(run.pieces, run.texts, strict=True):
            stop = start + len(bare)
            made[piece] = (
                (place[start], place[stop - 1] + 1) if bare else (place[start], place[start])
            )
            start, at = stop, made[piece][1]
    return made


def _shares(text: str, start: int, end: int, parts: int) -> list[Place]:
    """A stretch of text shared out to unknown pieces: words, or parts of words where there are not enough."""
    if not parts:
        return []
    for units in UNITS:
        found = [match.span() for match in units.finditer(text, start, end)]
        if len(found) >= parts:
            break
    if len(found) > parts:
        found[parts - 1 :] = [(found[parts - 1][0], found[-1][1])]
    last = found[-1][1] if found else end
    return found + [(last, last)] * (parts - len(found))


def _loose(text: str, pieces: Sequence[str], unknown: str | None) -> list[Place]:
    """Piece by piece, where the tokenizer lost or changed characters: what is not found stands for nothing."""
    folded, place = _fold(text, True)
    made: list[Place | None] = []
    at = 0
    for bare in _bare(pieces, unknown, True):
        start = folded.find(bare, at) if bare else -1
        if bare is None:
            made.append(None)
        elif start < 0:
            made.append((place[at], place[at]))
        else:
            at = start + len(bare)
            made.append((place[start], place[at - 1] + 1))
    return _between(text, made)


def _between(text: str, found: Sequence[Place | None]) -> list[Place]:
    made: list[Place] = []
    i = 0
    while i < len(found):
        known = found[i]
        last = i
        while last < len(found) and found[last] is None:
            last += 1
        if known is not None:
            made.append(known)
            i += 1
            continue
        start = max((end for _, end in made), default=0)
        after = found[last] if last < len(found) else None
        made += _shares(text, start, after[0] if after is not None else len(text), last - i)
        i = last
    return made
