"""Where to write the names of points so that they can be read: near, inside the frame, over nothing else.

Each name has candidate places on rings around its point, each with a cost: distance, and a price for every thing
covered or crossed. Names are placed one after the other, then each is moved to its cheapest place given the others,
a few times over. Nothing is random: the same points give the same places.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Point = tuple[float, float]

# Distances of the rings around a point that names are tried on, in pixels.
RINGS = (7, 11, 16, 22, 30, 40, 52, 66, 82, 100, 120, 145, 170, 200, 240, 280)
TURNS = 24
SWEEPS = 5
ALONG = np.linspace(0.0, 1.0, 16)[:, None]
"""Where a wire is looked at."""
# What a place costs, in pixels of distance.
OUTSIDE = 1e6
"""A name that leaves the frame."""
COVERED = 900.0
"""A name over another name."""
DOT = 400.0
"""The cost of a name over a dot; a quarter of it for a line close to one."""
LINE = 300.0
"""A name over the line."""
CROSSED = 130.0
"""A wire that crosses another wire."""
THROUGH = 400.0
"""A wire through another name."""
BELOW = 110.0
"""A name below the line."""
DOUBT = 45.0
"""A name so near to another dot that it would seem to be that dot's name."""

DOUBLE_COST_DISTANCE = 120.0
"""Pixels at which a wire costs twice its length."""


class Box(NamedTuple):
    """A rectangle in pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def nearest(self, x: float, y: float) -> Point:
        """The point of the box nearest to (x, y)."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)


class LabelledPoint(NamedTuple):
    """A point and its name."""

    x: float
    y: float
    text: str
    group: int
    """The number of its label or series, for its colour."""
    size: int
    """Of the font, in pixels."""


class Scene(NamedTuple):
    """What names must keep clear of."""

    dots: Floats
    line: Floats
    """Points along a line that names had better be above; may be empty."""
    frame: Box


def text_width(text: str, size: float) -> float:
    """About how wide a text is: an em for a full-width character, three fifths for a letter."""
    ems = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            ems += 1.0
        else:
            ems += 0.3 if character in " .,:;'|" else 0.6
    return size * ems


def place_labels(
    marks: Sequence[LabelledPoint], dots: Sequence[Point], line: Sequence[Point], frame: Box
) -> list[Box]:
    """A box for the name of each mark: the cheapest layout of a few orders of placing them.

    `dots` are all points of the picture, named or not; `line` are points along a line that names had better be above, and may
    be empty. Boxes stay inside `frame` where there is room. The result is in the order of `marks`.
    """
    scene = Scene(_points(dots), _points(line), frame)
    choices = [list_candidates(mark) for mark in marks]
    costs = [price_alone(mark, boxes, scene) for mark, boxes in zip(marks, choices, strict=True)]
    spots = _points([(m.x, m.y) for m in marks])
    across = sorted(range(len(marks)), key=lambda i: (marks[i].x, marks[i].y))
    wide = sorted(range(len(marks)), key=lambda i: -text_width(marks[i].text, marks[i].size))
    orders = (range(len(marks)), across, across[::-1], wide)
    layouts = [lay_out(order, choices, costs, spots) for order in orders]
    return [Box(*box) for box in min(layouts, key=lambda found: found[0])[1].tolist()]


def lay_out(
    order: Sequence[int], choices: Sequence[Floats], costs: Sequence[Floats], spots: Floats
) -> tuple[float, Floats]:
    """Boxes by placing names in this order, then moving each in turn; and what they cost together."""
    chosen, placed = np.zeros((len(spots), 4)), np.zeros(len(spots), dtype=bool)
    price = np.zeros(len(spots))
    for _ in range(SWEEPS):
        for i in order:
            others = placed.copy()
            others[i] = False
            cost = costs[i] + price_among_others(
                spots[i], choices[i], spots[others], chosen[others]
            )
            best = int(np.argmin(cost))
            chosen[i], placed[i], price[i] = choices[i][best], True, cost[best]
    return float(price.sum()), chosen


def _points(points: Sequence[Point]) -> Floats:
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def list_candidates(mark: LabelledPoint) -> Floats:
    """Boxes around a mark, one row each: the side that faces it is on a ring."""
    ring, turn = (each.ravel() for each in np.meshgrid(RINGS, np.arange(TURNS), indexing="ij"))
    cos, sin = np.cos(2 * pi * turn / TURNS), np.sin(2 * pi * turn / TURNS)
    wide, high = text_width(mark.text, mark.size), mark.size + 4
    left = mark.x + ring * cos + (cos - 1) / 2 * wide
    top = mark.y - ring * sin - (sin + 1) / 2 * high
    return np.column_stack([left, top, left + wide, top + high])


def price_alone(mark: LabelledPoint, boxes: Floats, scene: Scene) -> Floats:
    """The cost of each candidate on its own."""
    spot, frame = np.array([mark.x, mark.y]), scene.frame
    ends = _nearest(spot, boxes)
    outside = (boxes[:, 0] < frame.left) | (boxes[:, 1] < frame.top)
    outside |= (boxes[:, 2] > frame.right) | (boxes[:, 3] > frame.bottom)
    distance = np.hypot(*(ends - spot).T)
    cost: Floats = distance + distance**2 / DOUBLE_COST_DISTANCE + OUTSIDE * outside
    cost += DOT * _holds(boxes, scene.dots, 4).sum(axis=1)
    cost += LINE * _holds(boxes, scene.line, 2).any(axis=1)
    away = scene.dots[np.hypot(*(scene.dots - spot).T) > 4]
    cost += DOT / 4 * find_dots_near_wires(spot, ends, away).sum(axis=1)
    cost += DOUBT * _holds(boxes, away, 9).sum(axis=1)
    if len(scene.line):
        height = np.interp((boxes[:, 0] + boxes[:, 2]) / 2, scene.line[:, 0], scene.line[:, 1])
        cost += BELOW * (boxes[:, 3] > height)
    return cost


def price_among_others(spot: Floats, boxes: Floats, spots: Floats, chosen: Floats) -> Floats:
    """What each candidate costs given where the other names are."""
    if not len(spots):
        return np.zeros(len(boxes))
    a, b = boxes[:, None, :], chosen[None, :, :]
    apart = (a[..., 0] > b[..., 2] + 5) | (b[..., 0] > a[..., 2] + 5)
    apart |= (a[..., 1] > b[..., 3]) | (b[..., 1] > a[..., 3])
    ends, theirs = _nearest(spot, boxes), np.clip(spots, chosen[:, :2], chosen[:, 2:])
    cost: Floats = COVERED * (~apart).sum(axis=1)
    cost += CROSSED * find_crossings(spot, ends, spots, theirs).sum(axis=1)
    ours = spot + ALONG[None] * (ends - spot)[:, None, :]
    through = _holds(chosen, ours.reshape(-1, 2), 0).reshape(len(chosen), len(boxes), -1)
    cost += THROUGH * through.any(axis=2).sum(axis=0)
    for start, end in zip(spots, theirs, strict=True):
        cost += THROUGH * _holds(boxes, start + ALONG * (end - start), 0).any(axis=1)
    return cost


def _nearest(spot: Floats, boxes: Floats) -> Floats:
    """The point of each box nearest to the spot: where its wire ends."""
    return np.clip(spot, boxes[:, :2], boxes[:, 2:])


def _holds(boxes: Floats, points: Floats, gap: float) -> NDArray[np.bool_]:
    """Whether each box contains each point or comes within `gap` of it."""
    x, y = points[None, :, 0], points[None, :, 1]
    wide = (x > boxes[:, :1] - gap) & (x < boxes[:, 2:3] + gap)
    return wide & (y > boxes[:, 1:2] - gap) & (y < boxes[:, 3:] + gap)


def find_dots_near_wires(spot: Floats, ends: Floats, points: Floats) -> NDArray[np.bool_]:
    """Whether the wire to each end passes within four pixels of each point."""
    way = ends - spot
    length = np.maximum((way**2).sum(axis=1), 1e-9)[:, None]
    along = np.clip(way @ (points - spot).T / length, 0, 1)
    off = spot + along[..., None] * way[:, None, :] - points[None]
    return np.asarray(np.hypot(off[..., 0], off[..., 1]) < 4, dtype=np.bool_)


def find_crossings(spot: Floats, ends: Floats, starts: Floats, stops: Floats) -> NDArray[np.bool_]:
    """Whether the wire to each end crosses each of the other wires."""
    p, q, r, s = spot[None, None], ends[:, None], starts[None], stops[None]
    return (_side(p, q, r) * _side(p, q, s) < 0) & (_side(r, s, p) * _side(r, s, q) < 0)


def _side(p: Floats, q: Floats, r: Floats) -> Floats:
    """Positive if r is on one side of the line from p to q, negative on the other."""
    way, other = q - p, r - p
    area: Floats = way[..., 0] * other[..., 1] - way[..., 1] * other[..., 0]
    return area
