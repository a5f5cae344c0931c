"""Pairs by what is known of sentences: of one image or intent, or of two.

Draws are keyed by the sentences' names and the seed, not by position: one sentence more leaves most
pairs as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from nikawa.datasets.subsets import draw, group_by


@dataclass(frozen=True)
class Linked:
    """A sentence and what it belongs to."""

    name: str
    link: str
    """The image or intent."""
    within: str = ""
    """The topic: only sentences of one topic are paired, even where the links must differ."""


def pair_same_link(
    sentences: Sequence[Linked], *, most: int = 1, seed: int = 0
) -> Iterator[tuple[int, int]]:
    """Up to `most` pairs a link, of sentences that share it.

    In the order of the links, then of the draw.
    """

    def order(pair: tuple[int, int]) -> int:
        return draw(seed, *(sentences[place].name for place in pair))

    for members in group_by(range(len(sentences)), lambda i: sentences[i].link).values():
        yield from sorted(combinations(members, 2), key=order)[:most]


def pair_different_links(
    sentences: Sequence[Linked], *, seed: int = 0
) -> Iterator[tuple[int, int]]:
    """Each sentence at most once, with one of another link and the same topic.

    The sentences of a topic, shuffled and then ordered by link, are folded in the middle: position
    i goes with i + half, which is of another link unless one link holds more than half of them.
    """
    for members in group_by(range(len(sentences)), lambda i: sentences[i].within).values():
        order = sorted(members, key=lambda i: draw(seed, sentences[i].name))
        links = group_by(order, lambda i: sentences[i].link)
        ranked = sorted(links.values(), key=len, reverse=True)
        lined = [place for places in ranked for place in places]
        half = len(lined) // 2
        for first, second in zip(lined[:half], lined[-half:] if half else [], strict=True):
            if sentences[first].link != sentences[second].link:
                yield first, second
