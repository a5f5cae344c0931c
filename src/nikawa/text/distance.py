"""How far apart two texts are: Levenshtein, counted and as a share of the longer text."""

from __future__ import annotations


def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance, a column of the table at a time as the bits of whole numbers (Myers
    1999, Hyyrö 2003).

    >>> edit_distance("猫が寝る", "犬が寝た")
    2
    """
    if not one or not other:
        return len(one) or len(other)
    places: dict[str, int] = {}
    for at, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << at
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    plus, minus, distance = full, 0, len(one)
    for character in other:
        equal = places.get(character, 0)
        diagonal = (((equal & plus) + plus) ^ plus) | equal | minus
        up, down = minus | ~(diagonal | plus), plus & diagonal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1 | 1) & full, down << 1 & full
        plus, minus = (down | ~(diagonal | up)) & full, up & diagonal
    return distance


def relative_distance(one: str, other: str) -> float:
    """Edit distance as a share of the longer text: 0 for the same, 1 for nothing in common.

    >>> relative_distance("猫が寝る", "犬が寝た")
    0.5
    """
    return edit_distance(one, other) / max(len(one), len(other), 1)
