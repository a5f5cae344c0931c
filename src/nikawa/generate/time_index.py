"""Where the times of each label are: the index behind `times.sample`, in one of three kinds.

- order: conditions that only compare points depend on their order alone. The index lists the orders of each label;
  a draw takes distinct points and arranges them in one of those orders.
- exact: small domains (intervals, numbers, one-unit points, short windows) are enumerated.
- pool: large domains with arithmetic keep known assignments of each label, found by random and by neighbouring values;
  a draw takes one and moves a point as long as the label stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from random import Random
from typing import Any

from nikawa.generate.condition import NEVER, Condition, compiled, only_order
from nikawa.generate.spans import RANDOM, Chance, Span, below
from nikawa.generate.template import LABELS
from nikawa.generate.time import CALENDAR, Clock, Format, Point, Value, day_before, exists

MOST = 40_000
"""Assignments above which a domain is not enumerated."""
POOL, TRIES, MOVES = 400, 2_000, 4
"""Assignments a pool keeps of a label, those it looks at, and how often a draw tries to move a point."""
Values = dict[str, Value]


@dataclass(frozen=True)
class TimeSpec:
    """Everything about a template that its labels and times depend on."""

    points: tuple[str, ...]
    sizes: tuple[str, ...]
    """Intervals and numbers."""
    entails: Condition
    contradicts: Condition
    given: tuple[Condition, ...]
    before: tuple[str, ...]
    """Points of which the day before is written too."""
    apart: tuple[tuple[str, str], ...]
    """(a, b): a is not the day before b."""

    def allowed(self, values: Mapping[str, Value], fmt: Format | None) -> bool:
        """Points differ from each other, and the days before exist and differ where they must."""
        if len(self.points) > 1 and len({values[name] for name in self.points}) < len(self.points):
            return False
        return not any(_day_before(values[name], fmt) is None for name in self.before) and not any(
            values[a] == _day_before(values[b], fmt) for a, b in self.apart
        )


Labeller = Callable[[Mapping[str, Value]], str | None]
"""The label of an assignment, None where it may not occur."""


def labeller(spec: TimeSpec, fmt: Format | None, clock: Clock = CALENDAR) -> Labeller:
    """The label as a function of the values alone; conditions are compiled and instants looked up once."""
    unit = fmt.largest if fmt else ""
    given = [compiled(condition, clock, unit) for condition in spec.given]
    entails, contradicts = (
        compiled(condition, clock, unit) for condition in (spec.entails, spec.contradicts)
    )
    bound = _binder(spec, fmt, clock)

    def label(values: Mapping[str, Value]) -> str | None:
        if not spec.allowed(values, fmt):
            return None
        env = bound(values)
        if given and not all(test(env) for test in given):
            return None
        return "entailment" if entails(env) else "contradiction" if contradicts(env) else "neutral"

    return label


def _binder(
    spec: TimeSpec, fmt: Format | None, clock: Clock
) -> Callable[[Mapping[str, Any]], dict[str, int]]:
    """`condition.bind` for one format, which remembers the ends of points."""
    if fmt is None:
        return lambda values: {}
    ends = lru_cache(maxsize=1 << 14)(lambda point: (clock.start(point, fmt), clock.end(point, fmt)))
    names = [(name, f"{name}.start", f"{name}.end") for name in spec.points]

    def bound(values: Mapping[str, Any]) -> dict[str, int]:
        env = {name: values[name] for name in spec.sizes}
        for name, start, end in names:
            env[start], env[end] = ends(values[name])
        return env

    return bound


def _day_before(value: Value, fmt: Format | None) -> Point | None:
    assert fmt is not None
    assert isinstance(value, tuple)
    return day_before(value, fmt)


class Index:
    """Where the assignments of each label are to be found."""

    def __init__(self, found: Mapping[str, Callable[[Chance], Values]]) -> None:
        self._found = found
        self.labels = tuple(label for label in LABELS if label in found)

    def draw(self, label: str, chance: Chance) -> Values | None:
        """An assignment of this label, or None where it is out of reach."""
        draw = self._found.get(label)
        return None if draw is None else draw(chance)


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
    return _pool(spec, fmt, span) if tails is None else _exact(spec, fmt, span, tails)


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
        return lambda chance: sorted(_different(n, lambda: span.draw(fmt, chance)))

    def draw(chance: Chance) -> list[Point]:
        larger = span.draw_larger(fmt, chance)
        window = windows[below(chance, len(windows))]
        return [(*larger, window[place]) for place in sorted(_places(n, len(window), chance))]

    return draw


def _different(n: int, draw: Callable[[], Point]) -> set[Point]:
    points: set[Point] = set()
    while len(points) < n:
        points.add(draw())
    return points


def _places(n: int, size: int, chance: Chance) -> set[int]:
    """n different places below size, by Floyd's method: n draws, no repeats."""
    chosen: set[int] = set()
    for top in range(size - n, size):
        place = below(chance, top + 1)
        chosen.add(top if place in chosen else place)
    return chosen


def _arranged(
    spec: TimeSpec, orders: list[tuple[int, ...]], draw: Callable[[Chance], list[Point]]
) -> Callable[[Chance], Values]:
    def arrange(chance: Chance) -> Values:
        points = draw(chance)
        order = orders[below(chance, len(orders))]
        return dict(zip(spec.points, (points[place] for place in order), strict=True))

    return arrange


def _tails(spec: TimeSpec, fmt: Format, span: Span) -> list[tuple[int, ...]] | None:
    """Every combination of smallest units and sizes, where the domain is small; else None."""
    sizes = span.numbers(fmt) if fmt.kind == "number" else span.lengths()
    windows = span.windows(fmt) if spec.points else []
    if spec.points and not windows:
        if len(fmt.units) > 1:
            return None
        windows = [span.values(fmt.smallest, {})]
    if fmt.measure is not None and span.window:
        near = fmt.measure.near
        return _distinct(
            product(sizes[i : i + near], repeat=len(spec.sizes)) for i in range(max(1, len(sizes) - near + 1))
        )
    ranges = [(window,) * len(spec.points) + (sizes,) * len(spec.sizes) for window in windows or [range(0)]]
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
        {label: _from_tails(spec, fmt, span, (label, larger, some)) for label, some in found.items()}
    )


def _values(spec: TimeSpec, larger: Point, tail: tuple[int, ...]) -> Values:
    n = len(spec.points)
    values: Values = {name: (*larger, number) for name, number in zip(spec.points, tail, strict=False)}
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


def _pool(spec: TimeSpec, fmt: Format, span: Span) -> Index:
    """The index by known assignments."""
    chance = Random(f"{spec.points}{spec.sizes}{fmt.units}{span.name}")  # noqa: S311
    found: dict[str, list[Values]] = {}
    never = {"entailment": spec.entails == NEVER, "contradiction": spec.contradicts == NEVER}
    wanted = [label for label in LABELS if not never.get(label)]
    label_of = labeller(spec, fmt)
    for values in _proposals(spec, fmt, span, chance):
        label = label_of(values)
        known = found.setdefault(label or "", [])
        if len(known) < POOL:
            known.append(values)
        if all(len(found.get(label, ())) >= POOL for label in wanted):
            break
    return Index(
        {label: _from_pool(spec, fmt, span, label, known) for label, known in found.items() if label}
    )


def _proposals(spec: TimeSpec, fmt: Format, span: Span, chance: Chance) -> Iterator[Values]:
    """Random assignments; every fourth has a point near another one, so that equalities come up too."""
    lengths = span.lengths()
    for i in range(TRIES):
        values: Values = {name: span.draw(fmt, chance) for name in spec.points}
        values.update((name, lengths[below(chance, len(lengths))]) for name in spec.sizes)
        if i % 4 == 3 and len(spec.points) > 1:
            one, other = sorted(_places(2, len(spec.points), chance), key=lambda _: chance.random())
            values[spec.points[one]] = _near(values[spec.points[other]], fmt, span, chance)
        yield values


def _near(value: Value, fmt: Format, span: Span, chance: Chance) -> Point:
    """A point whose last or first unit is at most two away from another point's."""
    assert isinstance(value, tuple)
    place = 0 if chance.random() < 0.5 else len(value) - 1
    number = value[place] + below(chance, 5) - 2
    larger = dict(zip(fmt.units[:place], value, strict=False))
    offered = span.values(fmt.units[place], larger)
    near = (*value[:place], min(max(number, offered[0]), offered[-1]), *value[place + 1 :])
    return near if exists(near, fmt) else value


def _from_pool(
    spec: TimeSpec, fmt: Format, span: Span, label: str, known: list[Values]
) -> Callable[[Chance], Values]:
    label_of = labeller(spec, fmt)

    def draw(chance: Chance) -> Values:
        values = known[below(chance, len(known))]
        if not spec.points:
            return dict(values)
        for _ in range(MOVES):
            other = {**values, spec.points[below(chance, len(spec.points))]: span.draw(fmt, chance)}
            if label_of(other) == label:
                return other
        return dict(values)

    return draw
