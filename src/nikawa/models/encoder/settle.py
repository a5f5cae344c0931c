"""Each character to one sub-word: what tokenizers tell of places, or what was found, made exact."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.models.encoder.align import Place, folded


def settle(text: str, spans: Sequence[Place]) -> tuple[list[Place], str]:
    """Spans that share no character and hold no outer white space, and the characters that none of them holds.

    A character that several pieces make up (bytes, the parts of ㍿) goes to the first of them; a mark that joins the
    character before it goes where that went.
    """
    made: list[Place] = []
    lost: list[str] = []
    at = 0
    for given in spans:
        start, end = _trimmed(text, max(given[0], at), given[1])
        if end > start:
            _close(text, made, lost, (at, start))
            at = end
        made.append((start, end) if end > start else (at, at))
    _close(text, made, lost, (at, len(text)))
    return made, "".join(lost)


def _trimmed(text: str, start: int, end: int) -> Place:
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return start + left, start + max(left, len(part.rstrip()))


def _joins(character: str) -> bool:
    """Whether it joins the character before it: accents and marks, and vowels and finals of Hangul taken apart."""
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return True
    return not folded(character, True) and not character.isspace()


def _close(text: str, made: list[Place], lost: list[str], gap: Place) -> None:
    """Give the marks at the start of a gap to the piece before it; what else is not white space is lost."""
    start, end = gap
    if start < end and made and made[-1][1] == start:
        stop = start
        while stop < end and _joins(text[stop]):
            stop += 1
        last = len(made) - 1
        while last > 0 and made[last][0] == made[last][1]:  # empty pieces hold nothing to join
            last -= 1
        made[last], start = (made[last][0], stop), stop
    lost += [c for c in text[start:end] if not c.isspace()]
