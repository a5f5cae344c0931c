"""Korean spacing as people vary it: bound words joined (닦고있다, 할수, 세마리), longer particles and compounds set apart (항구 에서).

Only such spaces are touched as leave one reading: 아버지가방에 cannot come of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nikawa.perturbation._surface import replace_stretches, surface_perturbation
from nikawa.perturbation.base import analyse_text
from nikawa.text import Analyser, Token

_BOUND = {"EC": ("VX",), "ETM": ("NNB",), "MM": ("NNB",), "NR": ("NNB",), "SN": ("NNB",)}
"""What may be written on to what stands before it."""
_COMPOUNDS = ("NNG", "NNP")


def _drop(text: str, analyser: Analyser) -> str:
    if " " not in text:
        return text
    pairs = pairwise(analyse_text(text, analyser))
    return replace_stretches(text, [(a.end, b.start, "") for a, b in pairs if _bound(text, a, b)])


def _bound(text: str, before: Token, after: Token) -> bool:
    return after.pos[0] in _BOUND.get(before.pos[0], ()) and text[before.end : after.start] == " "


def _add(text: str, analyser: Analyser) -> str:
    return replace_stretches(
        text, [(place, place, " ") for place in _joints(analyse_text(text, analyser))]
    )


def _joints(tokens: tuple[Token, ...]) -> Iterator[int]:
    """Where a particle of two syllables or more, or the second noun of a compound, follows without a space."""
    for before, after in pairwise(tokens):
        if before.end != after.start or not before.pos[0].startswith("N"):
            continue
        particle = after.pos[0] in ("JKB", "JX") and len(after.surface) >= 2
        compound = before.pos[0] in _COMPOUNDS and after.pos[0] in _COMPOUNDS
        if particle or (compound and min(len(before.surface), len(after.surface)) >= 2):
            yield after.start


PERTURBATIONS = (
    surface_perturbation(
        "spacing-drop",
        "ko",
        "join auxiliaries and bound nouns to the word before (닦고있다)",
        _drop,
        ("kiwi",),
    ),
    surface_perturbation(
        "spacing-add",
        "ko",
        "set longer particles and parts of compounds apart (항구 에서)",
        _add,
        ("kiwi",),
    ),
)
