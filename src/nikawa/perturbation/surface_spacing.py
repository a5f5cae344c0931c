"""Korean spacing as people vary it: bound words joined (닦고있다, 할수, 세마리), longer particles and
compounds set apart (항구 에서).

Only such spaces are touched as leave one reading: 아버지가방에 cannot come of it.
"""

from __future__ import annotations

from itertools import pairwise

from nikawa.perturbation._surface import surface_perturbation
from nikawa.perturbation.base import analyse_text, replace_stretches
from nikawa.text import Analyser

_BOUND = {"EC": "VX", "ETM": "NNB", "MM": "NNB", "NR": "NNB", "SN": "NNB"}
"""A tag, and the tag of what may be written on to it."""
_COMPOUNDS = ("NNG", "NNP")


def drop_spaces(text: str, analyser: Analyser) -> str:
    """The text with auxiliaries and bound nouns joined to the word before."""
    if " " not in text:
        return text
    stretches = []
    for before, after in pairwise(analyse_text(text, analyser)):
        is_bound = after.pos[0] == _BOUND.get(before.pos[0])
        if is_bound and text[before.end : after.start] == " ":
            stretches.append((before.end, after.start, ""))
    return replace_stretches(text, stretches)


def add_spaces(text: str, analyser: Analyser) -> str:
    """The text with particles of two syllables or more, and second nouns of compounds, set apart."""
    stretches = []
    for before, after in pairwise(analyse_text(text, analyser)):
        if before.end != after.start or not before.pos[0].startswith("N"):
            continue
        is_particle = after.pos[0] in ("JKB", "JX") and len(after.surface) >= 2
        is_compound = before.pos[0] in _COMPOUNDS and after.pos[0] in _COMPOUNDS
        is_long = min(len(before.surface), len(after.surface)) >= 2
        if is_particle or (is_compound and is_long):
            stretches.append((after.start, after.start, " "))
    return replace_stretches(text, stretches)


PERTURBATIONS = (
    surface_perturbation(
        "spacing-drop",
        "ko",
        "join auxiliaries and bound nouns to the word before (닦고있다)",
        drop_spaces,
        ("kiwi",),
    ),
    surface_perturbation(
        "spacing-add",
        "ko",
        "set longer particles and parts of compounds apart (항구 에서)",
        add_spaces,
        ("kiwi",),
    ),
)
