"""Where the times of each label are: the index behind `times.sample`, in one of three kinds.

- order: conditions that only compare points depend on their order alone. The index lists the orders of each label;
  a draw takes distinct points and arranges them in one of those orders.
- exact: small domains (intervals, numbers, one-unit points, short windows) are enumerated.
- pool: large domains with arithmetic keep known assignments of each label, found by random and by neighbouring values;
  a draw takes one and moves a point as long as the label stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import permutations, product
from operator import itemgetter
from random import Random

from nikawa.generation.condition import only_order
from nikawa.generation.spans import RANDOM, Chance, Span, below
from nikawa.generation.time import Format, Point
from nikawa.generation.time_pool import pool_index
from nikawa.generation.time_spec import Index, TimeSpec, Values, labeller, places, size_ranges

MOST = 40_000
"""Assignments above which a domain is not enumerated."""


@lru_cache(maxsize=4096)
def index(spec: TimeSpec, fmt: Format | None, span: Span | None) -> Index:
    """The index of one spec, format and span; built at the first call."""
    if fmt is None or span is None or not (spec.points or spec.sizes):
        label = labeller(spec, None)({})
        return Index({label: lambda chance: {}} if label else {})
    conditions = (spec.entails, spec.contradicts, *spec.given)
    if not spec.sizes and not spec.before and not spec.apart and all(map(only_order, conditions)):
        orders = _orders(spec, fmt, span)
        if orders is not None:
            return orders
    tails = _tails(spec, fmt, span)
    return pool_index(spec, fmt, span) if tails is None else _exact(spec, fmt, span, tails)


def _orders(spec: TimeSpec, fmt: Format, span: Span) -> Index | None:
    """The index by orders; None where neighbouring points are labelled unlike distant ones of the same order."""
    chance = Random(0)  # noqa: S311  (a fixed draw, no secret)
    found: dict[str, list[tuple[int, ...]]] = {}
    if any(len(window) < len(spec.points) for window in span.windows(fmt)):
        return None
    close, wide = (_spread(spec, fmt, chance, step) for step in (1, 2))
    if close is None:
        return None
    label_of = labeller(spec, fmt)
    for order in permutations(range(len(spec.points))):
        labels = {
            label_of(dict(zip(spec.points, (points[i] for i in order), strict=True)))
            for points in (close, wide or close)
        }
        if len(labels) > 1:
            return None
        found.setdefault(labels.pop() or "", []).append(order)
    draw = _drawer(len(spec.points), fmt, span)
    return Index({label: _arranged(spec, orders, draw) for label, orders in found.items() if label})


def _spread(spec: TimeSpec, fmt: Format, chance: Chance, step: int) -> list[Point] | None:
    """Rising points that are `step` smallest units apart; None where there are too few."""
    offered = RANDOM.values(fmt.smallest, {})
    larger = RANDOM.draw_larger(fmt, chance)
    values = offered[: step * len(spec.points) : step]
    return [(*larger, value) for value in values] if len(values) == len(spec.points) else None


def _drawer(n: int, fmt: Format, span: Span) -> Callable[[Chance], list[Point]]:
    """A function that draws n different points in rising order."""
    windows = span.windows(fmt)
    if not windows:
        size, point = span.size(fmt), span.finder(fmt)
        return lambda chance: list(map(point, sorted(places(n, size, chance))))

    def draw(chance: Chance) -> list[Point]:
        larger = span.draw_larger(fmt, chance)
        window = windows[below(chance, len(windows))]
        return [(*larger, window[place]) for place in sorted(places(n, len(window), chance))]

    return draw


def _arranged(
    spec: TimeSpec, orders: list[tuple[int, ...]], draw: Callable[[Chance], list[Point]]
) -> Callable[[Chance], Values]:
    names, count = spec.points, len(orders)
    if len(names) == 1:
        return lambda chance: {names[0]: draw(chance)[0]}
    arranged = [itemgetter(*order) for order in orders]

    def arrange(chance: Chance) -> Values:
        points = draw(chance)
        return dict(zip(names, arranged[int(chance.random() * count)](points), strict=False))

    return arrange


def _tails(spec: TimeSpec, fmt: Format, span: Span) -> list[tuple[int, ...]] | None:
    """Every combination of smallest units and sizes, where the domain is small; else None."""
    windows = span.windows(fmt) if spec.points else [range(1)]
    if not windows:
        if len(fmt.units) > 1:
            return None
        windows = [span.values(fmt.smallest, {})]
    ranges = [
        (window,) * len(spec.points) + (sizes,) * len(spec.sizes)
        for window in windows
        for sizes in size_ranges(spec, fmt, span)
    ]
    if sum(_volume(r) for r in ranges) > MOST:
        return None
    return _distinct(product(*r) for r in ranges)


def _distinct(parts: Iterable[Iterable[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(tail for part in parts for tail in part))


def _volume(ranges: tuple[range, ...]) -> int:
    volume = 1
    for offered in ranges:
        volume *= len(offered)
    return volume


def _exact(spec: TimeSpec, fmt: Format, span: Span, tails: list[tuple[int, ...]]) -> Index:
    """The index by enumeration; larger units, the same for all points of a short problem, are drawn freely."""
    chance = Random(0)  # noqa: S311  (a fixed draw, no secret)
    larger = span.draw_larger(fmt, chance) if spec.points else ()
    found: dict[str, list[tuple[int, ...]]] = {}
    label_of = labeller(spec, fmt)
    for tail in tails:
        label = label_of(_values(spec, larger, tail))
        if label is not None:
            found.setdefault(label, []).append(tail)
    return Index(
        {
            label: _from_tails(spec, fmt, span, (label, larger, some))
            for label, some in found.items()
        }
    )


def _values(spec: TimeSpec, larger: Point, tail: tuple[int, ...]) -> Values:
    n = len(spec.points)
    values: Values = {
        name: (*larger, number) for name, number in zip(spec.points, tail, strict=False)
    }
    values.update(zip(spec.sizes, tail[n:], strict=True))
    return values


def _from_tails(
    spec: TimeSpec, fmt: Format, span: Span, known: tuple[str, Point, list[tuple[int, ...]]]
) -> Callable[[Chance], Values]:
    label, larger, tails = known
    if not spec.points or len(fmt.units) == 1:
        return lambda chance: _values(spec, (), tails[below(chance, len(tails))])

    label_of = labeller(spec, fmt)

    def draw(chance: Chance) -> Values:
        tail = tails[below(chance, len(tails))]
        values = _values(spec, span.draw_larger(fmt, chance), tail)
        # Months are not equally long: where that tips the label, the month of the index is taken.
        return values if label_of(values) == label else _values(spec, larger, tail)

    return draw
