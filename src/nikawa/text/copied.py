"""How much of a short text is copied from a longer one.

A character of the short text counts as copied if it is in a run of three characters or more that the longer text has
too. Only letters and digits count, in lower case; blanks and punctuation are skipped in both texts.

    share = copied characters / characters

A question is copied in part in any case, as it names the same things. Inflected endings and particles break runs, so
the share falls with every word that the writer replaces. The annotation page computes the same while somebody types.
"""

from __future__ import annotations

RUN = 3
"""Characters of the shortest run that counts as copied."""


def fold_letters(text: str) -> list[str]:
    """The letters and digits of a text, in lower case."""
    return [char.lower() for char in text if char.isalnum()]


def copied_share(text: str, source: str) -> float:
    """The share of the characters of a text that are copied from a source; 0 for a text without letters.

    >>> copied_share("いつ建てられたか？", "灯台は明治に建てられた。")
    0.625
    """
    letters, given = fold_letters(text), fold_letters(source)
    runs = {tuple(given[place : place + RUN]) for place in range(len(given) - RUN + 1)}
    copied: set[int] = set()
    for place in range(len(letters) - RUN + 1):
        if tuple(letters[place : place + RUN]) in runs:
            copied.update(range(place, place + RUN))
    return len(copied) / len(letters) if letters else 0.0
