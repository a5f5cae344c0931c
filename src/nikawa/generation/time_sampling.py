"""Times that give a wanted label, without trial and error while generating.

`index_times(rules, format, span).drawer(label)` draws from an index, which is built once for
everything that decides a label (conditions, format, span) and is shared by all templates that agree
on it. An index is of one of three kinds:

- order: conditions that only compare points depend on their order alone. The index lists the orders of each label;
  a draw takes distinct points and arranges them in one of those orders.
- exact: small domains (intervals, numbers, one-unit points, short windows) are enumerated.
- pool: large domains with arithmetic keep known assignments of each label, found by random and by neighbouring values;
  a draw takes one and moves a point as long as the label stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import prod
from operator import itemgetter
from random import Random
from typing import Any

from nikawa.generation.conditions import (
    LABELS,
    NEVER,
    Condition,
    compares_only_points,
    compile_condition,
)
from nikawa.generation.randomness import RandomSource, draw_below
from nikawa.generation.time_spans import RANDOM_SPAN, TimeSpan
from nikawa.generation.times import (
    CALENDAR,
    Clock,
    Format,
    Point,
    Value,
    Values,
    day_before,
    is_in_calendar,
)

MAX_ENUMERATED = 40_000
"""Assignments above which a domain is not enumerated."""
POOL_SIZE = 400
"""Assignments that a pool keeps of each label."""
POOL_PROPOSALS = 2_000
"""Assignments that are looked at to fill a pool."""
POOL_MOVES = 4
"""How often a draw from a pool tries to move a point."""

TimeValues = dict[str, Value]
"""Slot to value."""
Labeller = Callable[[Values], str | None]
"""The label of an assignment, None where it may not occur."""
Draw = Callable[[RandomSource], TimeValues]
"""Draws an assignment."""


@dataclass(frozen=True)
class TimeRules:
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

    def allow(self, values: Values, fmt: Format | None) -> bool:
        """Whether points differ from each other, and the days before exist and differ where they
        must.
        """
        count = len(self.points)
        if count > 1 and len({values[name] for name in self.points}) < count:
            return False
        for name in self.before:
            if _day_before(values[name], fmt) is None:
                return False
        return not any(values[a] == _day_before(values[b], fmt) for a, b in self.apart)


def _day_before(value: Value, fmt: Format | None) -> Point | None:
    assert fmt is not None
    assert isinstance(value, tuple)
    return day_before(value, fmt)


class TimeIndex:
    """The assignments of each label."""

    def __init__(self, draws: Mapping[str, Draw]) -> None:
        self._draws = draws
        self.labels = tuple(label for label in LABELS if label in draws)
        """The labels that some assignment gives."""

    def drawer(self, label: str) -> Draw | None:
        """What draws assignments of this label, or None where none gives it."""
        return self._draws.get(label)


def make_labeller(rules: TimeRules, fmt: Format | None, clock: Clock = CALENDAR) -> Labeller:
    """The label as a function of the values alone.

    Conditions are compiled and instants looked up once.
    """
    unit = fmt.largest if fmt else ""
    given = [compile_condition(condition, clock, unit) for condition in rules.given]
    entails = compile_condition(rules.entails, clock, unit)
    contradicts = compile_condition(rules.contradicts, clock, unit)
    names = [(name, f"{name}.start", f"{name}.end") for name in rules.points]

    @lru_cache(maxsize=1 << 14)
    def ends(point: Point) -> tuple[int, int]:
        assert fmt is not None
        return clock.start(point, fmt), clock.end(point, fmt)

    def label(values: Mapping[str, Any]) -> str | None:
        if not rules.allow(values, fmt):
            return None
        # What `conditions.bind_values` gives, without computing the ends of a point again.
        env = {name: values[name] for name in rules.sizes}
        for name, start, end in names:
            env[start], env[end] = ends(values[name])
        if given and not all(test(env) for test in given):
            return None
        if entails(env):
            return "entailment"
        return "contradiction" if contradicts(env) else "neutral"

    return label


@lru_cache(maxsize=4096)
def index_times(rules: TimeRules, fmt: Format | None, span: TimeSpan | None) -> TimeIndex:
    """The index of one set of rules, format and span; built at the first call."""
    if fmt is None or span is None or not (rules.points or rules.sizes):
        label = make_labeller(rules, None)({})
        return TimeIndex({label: lambda rng: {}} if label else {})
    builder = _IndexBuilder(rules, fmt, span)
    return builder.index_orders() or builder.index_tails() or builder.index_pool()


class _IndexBuilder:
    """Builds the index of one set of rules, format and span."""

    def __init__(self, rules: TimeRules, fmt: Format, span: TimeSpan) -> None:
        self.rules, self.fmt, self.span = rules, fmt, span
        self.label_of = make_labeller(rules, fmt)
        self.windows = span.windows(fmt) if rules.points else []
        """The ranges for the smallest unit of all points; none without a limit."""
        self.size_ranges = [span.lengths()]
        """The ranges of intervals or numbers; a problem draws one of the ranges."""
        if fmt.measure is not None and rules.sizes:
            numbers, width = span.numbers(fmt), fmt.measure.near
            self.size_ranges = [numbers]
            if span.window and width < len(numbers):
                starts = range(len(numbers) - width + 1)
                self.size_ranges = [numbers[i : i + width] for i in starts]

    def index_orders(self) -> TimeIndex | None:
        """The index by orders; None where neighbouring points are labelled unlike distant ones of
        the same order.
        """
        rules, fmt, n = self.rules, self.fmt, len(self.rules.points)
        conditions = (rules.entails, rules.contradicts, *rules.given)
        if rules.sizes or rules.before or rules.apart:
            return None
        if not all(map(compares_only_points, conditions)):
            return None
        if any(len(window) < n for window in self.windows):
            return None
        rng = Random(0)  # noqa: S311  (a fixed draw, no secret)

        def spread(step: int) -> list[Point] | None:
            """Rising points that are `step` smallest units apart; None where there are too few."""
            larger = RANDOM_SPAN.draw_larger(fmt, rng)
            numbers = RANDOM_SPAN.values(fmt.smallest, {})[: step * n : step]
            return [(*larger, number) for number in numbers] if len(numbers) == n else None

        close, wide = spread(1), spread(2)
        if close is None:
            return None
        orders_by_label: dict[str, list[tuple[int, ...]]] = {}
        for order in permutations(range(n)):
            labels = set()
            for points in (close, wide or close):
                arranged = [points[i] for i in order]
                values = dict(zip(rules.points, arranged, strict=True))
                labels.add(self.label_of(values))
            if len(labels) > 1:
                return None
            orders_by_label.setdefault(labels.pop() or "", []).append(order)
        draw_points = self.make_point_drawer()

        def make_drawer(orders: list[tuple[int, ...]]) -> Draw:
            names = rules.points
            if n == 1:
                return lambda rng: {names[0]: draw_points(rng)[0]}
            arrangements = [itemgetter(*order) for order in orders]
            count = len(orders)

            def draw(rng: RandomSource) -> TimeValues:
                points = draw_points(rng)
                arrange = arrangements[int(rng.random() * count)]
                return dict(zip(names, arrange(points), strict=False))

            return draw

        return TimeIndex(
            {label: make_drawer(own) for label, own in orders_by_label.items() if label}
        )

    def make_point_drawer(self) -> Callable[[RandomSource], list[Point]]:
        """A function that draws different points, one for each point slot, in rising order."""
        n, fmt = len(self.rules.points), self.fmt
        span, windows = self.span, self.windows
        if not windows:
            size, point_at = span.count_points(fmt), span.point_getter(fmt)
            return lambda rng: list(map(point_at, sorted(_draw_distinct(n, size, rng))))

        def draw(rng: RandomSource) -> list[Point]:
            larger = span.draw_larger(fmt, rng)
            window = windows[draw_below(rng, len(windows))]
            places = sorted(_draw_distinct(n, len(window), rng))
            return [(*larger, window[place]) for place in places]

        return draw

    def index_tails(self) -> TimeIndex | None:
        """The index by enumeration; None where the domain is not small.

        A tail is the smallest unit of each point, then each size. Larger units, the same for all
        points of a short problem, are drawn freely.
        """
        rules, fmt, span = self.rules, self.fmt, self.span
        tails = self.enumerate_tails()
        if tails is None:
            return None
        rng = Random(0)  # noqa: S311  (a fixed draw, no secret)
        larger = span.draw_larger(fmt, rng) if rules.points else ()
        tails_by_label: dict[str, list[tuple[int, ...]]] = {}
        for tail in tails:
            label = self.label_of(self.tail_values(larger, tail))
            if label is not None:
                tails_by_label.setdefault(label, []).append(tail)
        is_only_tail = not rules.points or len(fmt.units) == 1

        def make_drawer(label: str, own: list[tuple[int, ...]]) -> Draw:
            def draw(rng: RandomSource) -> TimeValues:
                tail = own[draw_below(rng, len(own))]
                if is_only_tail:
                    return self.tail_values((), tail)
                values = self.tail_values(span.draw_larger(fmt, rng), tail)
                # Months are not equally long: where that tips the label, the month of the index is taken.
                return values if self.label_of(values) == label else self.tail_values(larger, tail)

            return draw

        return TimeIndex({label: make_drawer(label, own) for label, own in tails_by_label.items()})

    def enumerate_tails(self) -> list[tuple[int, ...]] | None:
        """Every combination of smallest units and sizes, where the domain is small; else None."""
        rules, windows = self.rules, self.windows
        if not rules.points:
            windows = [range(1)]
        elif not windows:
            if len(self.fmt.units) > 1:
                return None
            windows = [self.span.values(self.fmt.smallest, {})]
        domains = []
        for window, sizes in product(windows, self.size_ranges):
            domains.append([window] * len(rules.points) + [sizes] * len(rules.sizes))
        if sum(prod(map(len, domain)) for domain in domains) > MAX_ENUMERATED:
            return None
        tails: dict[tuple[int, ...], None] = {}  # each once, in order
        for domain in domains:
            tails.update(dict.fromkeys(product(*domain)))
        return list(tails)

    def tail_values(self, larger: Point, tail: tuple[int, ...]) -> TimeValues:
        """The assignment of a tail."""
        points, sizes = self.rules.points, self.rules.sizes
        values: TimeValues = {}
        for name, number in zip(points, tail, strict=False):
            values[name] = (*larger, number)
        values.update(zip(sizes, tail[len(points) :], strict=True))
        return values

    def index_pool(self) -> TimeIndex:
        """The index by known assignments."""
        rules, fmt, span, label_of = self.rules, self.fmt, self.span, self.label_of
        never = {"entailment": rules.entails == NEVER, "contradiction": rules.contradicts == NEVER}
        possible = [label for label in LABELS if not never.get(label)]
        pools: dict[str, list[TimeValues]] = {}
        for values in self.propose_values():
            pool = pools.setdefault(label_of(values) or "", [])
            if len(pool) < POOL_SIZE:
                pool.append(values)
            if all(len(pools.get(label, ())) >= POOL_SIZE for label in possible):
                break
        is_movable = bool(rules.points) and not self.windows

        def make_drawer(label: str, pool: list[TimeValues]) -> Draw:
            def draw(rng: RandomSource) -> TimeValues:
                values = pool[draw_below(rng, len(pool))]
                for _ in range(POOL_MOVES if is_movable else 0):
                    name = rules.points[draw_below(rng, len(rules.points))]
                    moved = {**values, name: span.draw(fmt, rng)}
                    if label_of(moved) == label:
                        return moved
                return dict(values)

            return draw

        return TimeIndex(
            {label: make_drawer(label, pool) for label, pool in pools.items() if label}
        )

    def propose_values(self) -> Iterator[TimeValues]:
        """Random assignments; every fourth has a value near another one, so that equalities come up
        too.
        """
        points, sizes = self.rules.points, self.rules.sizes
        fmt, span = self.fmt, self.span
        rng = Random(f"{points}{sizes}{fmt.units}{span.name}")  # noqa: S311
        for i in range(POOL_PROPOSALS):
            lengths = self.size_ranges[draw_below(rng, len(self.size_ranges))]
            values: TimeValues = {}
            if self.windows:
                # All points of a problem are in one window; they may be equal.
                larger = span.draw_larger(fmt, rng)
                window = self.windows[draw_below(rng, len(self.windows))]
                for name in points:
                    values[name] = (*larger, window[draw_below(rng, len(window))])
            else:
                for name in points:
                    values[name] = span.draw(fmt, rng)
            for name in sizes:
                values[name] = lengths[draw_below(rng, len(lengths))]
            if i % 4 == 3 and len(points) > 1 and not self.windows:
                pair = _draw_distinct(2, len(points), rng)
                one, other = sorted(pair, key=lambda _: rng.random())
                values[points[one]] = self.draw_near(values[points[other]], rng)
            elif i % 4 == 3 and len(sizes) > 1:
                values[sizes[0]] = values[sizes[1]]
            yield values

    def draw_near(self, value: Value, rng: RandomSource) -> Point:
        """A point whose last or first unit is at most two away from another point's."""
        assert isinstance(value, tuple)
        units = self.fmt.units
        place = 0 if rng.random() < 0.5 else len(value) - 1
        number = value[place] + draw_below(rng, 5) - 2
        numbers = self.span.values(units[place], dict(zip(units[:place], value, strict=False)))
        number = min(max(number, numbers[0]), numbers[-1])
        near = (*value[:place], number, *value[place + 1 :])
        return near if is_in_calendar(near, self.fmt) else value


def _draw_distinct(n: int, size: int, rng: RandomSource) -> set[int]:
    """n different places below size, by Floyd's method: n draws, no repeats."""
    chosen: set[int] = set()
    random = rng.random
    for top in range(size - n, size):
        place = int(random() * (top + 1))
        chosen.add(top if place in chosen else place)
    return chosen
