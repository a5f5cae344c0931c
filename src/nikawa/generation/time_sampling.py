"""What decides the label of a problem's times, and the label as a compiled function of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from nikawa.generation.conditions import NEVER, Condition, compares_only_points, compile_condition
from nikawa.generation.template import LABELS, Template, Time
from nikawa.generation.time_spans import RANDOM_SPAN, SHORT_SPAN, RandomSource, TimeSpan, draw_below
from nikawa.generation.times import (
    CALENDAR,
    Clock,
    Format,
    Point,
    Value,
    day_before,
    is_in_calendar,
)

TimeValues = dict[str, Value]


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

    def allowed(self, values: Mapping[str, Value], fmt: Format | None) -> bool:
        """Points differ from each other, and the days before exist and differ where they must."""
        if len(self.points) > 1 and len({values[name] for name in self.points}) < len(self.points):
            return False
        return not any(_day_before(values[name], fmt) is None for name in self.before) and not any(
            values[a] == _day_before(values[b], fmt) for a, b in self.apart
        )


Labeller = Callable[[Mapping[str, Value]], str | None]
"""The label of an assignment, None where it may not occur."""


def make_labeller(spec: TimeRules, fmt: Format | None, clock: Clock = CALENDAR) -> Labeller:
    """The label as a function of the values alone; conditions are compiled and instants looked up once."""
    unit = fmt.largest if fmt else ""
    given = [compile_condition(condition, clock, unit) for condition in spec.given]
    entails, contradicts = (
        compile_condition(condition, clock, unit) for condition in (spec.entails, spec.contradicts)
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
    spec: TimeRules, fmt: Format | None, clock: Clock
) -> Callable[[Mapping[str, Any]], dict[str, int]]:
    """`condition.bind` for one format, which remembers the ends of points."""
    if fmt is None:
        return lambda values: {}
    ends = lru_cache(maxsize=1 << 14)(
        lambda point: (clock.start(point, fmt), clock.end(point, fmt))
    )
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


class TimeIndex:
    """Where the assignments of each label are to be found."""

    def __init__(self, found: Mapping[str, Callable[[RandomSource], TimeValues]]) -> None:
        self._found = found
        self.labels = tuple(label for label in LABELS if label in found)

    def drawer(self, label: str) -> Callable[[RandomSource], TimeValues] | None:
        """What draws assignments of this label, or None where it is out of reach."""
        return self._found.get(label)

    def draw(self, label: str, chance: RandomSource) -> TimeValues | None:
        """An assignment of this label, or None where it is out of reach."""
        draw = self._found.get(label)
        return None if draw is None else draw(chance)


def size_ranges(spec: TimeRules, fmt: Format, span: TimeSpan) -> list[range]:
    """The ranges intervals or numbers lie in, one of which a problem draws."""
    if fmt.measure is None or not spec.sizes:
        return [span.lengths()]
    offered, near = span.numbers(fmt), fmt.measure.near
    if not span.window or near >= len(offered):
        return [offered]
    return [offered[start : start + near] for start in range(len(offered) - near + 1)]


def draw_distinct(n: int, size: int, chance: RandomSource) -> set[int]:
    """n different places below size, by Floyd's method: n draws, no repeats."""
    chosen: set[int] = set()
    random = chance.random
    for top in range(size - n, size):
        place = int(random() * (top + 1))
        chosen.add(top if place in chosen else place)
    return chosen


POOL, TRIES, MOVES = 400, 2_000, 4
"""Assignments a pool keeps of a label, those it looks at, and how often a draw tries to move a point."""


def pool_index(spec: TimeRules, fmt: Format, span: TimeSpan) -> TimeIndex:
    """The index by known assignments."""
    chance = Random(f"{spec.points}{spec.sizes}{fmt.units}{span.name}")  # noqa: S311
    found: dict[str, list[TimeValues]] = {}
    never = {"entailment": spec.entails == NEVER, "contradiction": spec.contradicts == NEVER}
    wanted = [label for label in LABELS if not never.get(label)]
    label_of = make_labeller(spec, fmt)
    for values in _proposals(spec, fmt, span, chance):
        label = label_of(values)
        known = found.setdefault(label or "", [])
        if len(known) < POOL:
            known.append(values)
        if all(len(found.get(label, ())) >= POOL for label in wanted):
            break
    return TimeIndex(
        {
            label: _from_pool(spec, fmt, span, label, known)
            for label, known in found.items()
            if label
        }
    )


def _proposals(
    spec: TimeRules, fmt: Format, span: TimeSpan, chance: RandomSource
) -> Iterator[TimeValues]:
    """Random assignments; every fourth has a value near another one, so that equalities come up too."""
    ranges, windows = size_ranges(spec, fmt, span), span.windows(fmt) if spec.points else []
    for i in range(TRIES):
        lengths = ranges[draw_below(chance, len(ranges))]
        values: TimeValues = dict(
            zip(spec.points, _draw_points(spec, fmt, span, windows, chance), strict=True)
        )
        values.update((name, lengths[draw_below(chance, len(lengths))]) for name in spec.sizes)
        if i % 4 == 3 and len(spec.points) > 1 and not windows:
            one, other = sorted(
                draw_distinct(2, len(spec.points), chance), key=lambda _: chance.random()
            )
            values[spec.points[one]] = _near(values[spec.points[other]], fmt, span, chance)
        elif i % 4 == 3 and len(spec.sizes) > 1:
            values[spec.sizes[0]] = values[spec.sizes[1]]
        yield values


def _draw_points(
    spec: TimeRules, fmt: Format, span: TimeSpan, windows: list[range], chance: RandomSource
) -> Iterator[Point]:
    """Points of one problem, in one window where the span has windows; they may be equal."""
    if not windows:
        yield from (span.draw(fmt, chance) for _ in spec.points)
        return
    larger, window = span.draw_larger(fmt, chance), windows[draw_below(chance, len(windows))]
    yield from ((*larger, window[draw_below(chance, len(window))]) for _ in spec.points)


def _near(value: Value, fmt: Format, span: TimeSpan, chance: RandomSource) -> Point:
    """A point whose last or first unit is at most two away from another point's."""
    assert isinstance(value, tuple)
    place = 0 if chance.random() < 0.5 else len(value) - 1
    number = value[place] + draw_below(chance, 5) - 2
    larger = dict(zip(fmt.units[:place], value, strict=False))
    offered = span.values(fmt.units[place], larger)
    near = (*value[:place], min(max(number, offered[0]), offered[-1]), *value[place + 1 :])
    return near if is_in_calendar(near, fmt) else value


def _from_pool(
    spec: TimeRules, fmt: Format, span: TimeSpan, label: str, known: list[TimeValues]
) -> Callable[[RandomSource], TimeValues]:
    label_of = make_labeller(spec, fmt)

    def draw(chance: RandomSource) -> TimeValues:
        values = known[draw_below(chance, len(known))]
        if not spec.points or span.windows(fmt):
            return dict(values)
        for _ in range(MOVES):
            other = {
                **values,
                spec.points[draw_below(chance, len(spec.points))]: span.draw(fmt, chance),
            }
            if label_of(other) == label:
                return other
        return dict(values)

    return draw


MOST = 40_000
"""Assignments above which a domain is not enumerated."""


@lru_cache(maxsize=4096)
def index_times(spec: TimeRules, fmt: Format | None, span: TimeSpan | None) -> TimeIndex:
    """The index of one spec, format and span; built at the first call."""
    if fmt is None or span is None or not (spec.points or spec.sizes):
        label = make_labeller(spec, None)({})
        return TimeIndex({label: lambda chance: {}} if label else {})
    conditions = (spec.entails, spec.contradicts, *spec.given)
    if (
        not spec.sizes
        and not spec.before
        and not spec.apart
        and all(map(compares_only_points, conditions))
    ):
        orders = _orders(spec, fmt, span)
        if orders is not None:
            return orders
    tails = _tails(spec, fmt, span)
    return pool_index(spec, fmt, span) if tails is None else _exact(spec, fmt, span, tails)


def _orders(spec: TimeRules, fmt: Format, span: TimeSpan) -> TimeIndex | None:
    """The index by orders; None where neighbouring points are labelled unlike distant ones of the same order."""
    chance = Random(0)  # noqa: S311  (a fixed draw, no secret)
    found: dict[str, list[tuple[int, ...]]] = {}
    if any(len(window) < len(spec.points) for window in span.windows(fmt)):
        return None
    close, wide = (_spread(spec, fmt, chance, step) for step in (1, 2))
    if close is None:
        return None
    label_of = make_labeller(spec, fmt)
    for order in permutations(range(len(spec.points))):
        labels = {
            label_of(dict(zip(spec.points, (points[i] for i in order), strict=True)))
            for points in (close, wide or close)
        }
        if len(labels) > 1:
            return None
        found.setdefault(labels.pop() or "", []).append(order)
    draw = _drawer(len(spec.points), fmt, span)
    return TimeIndex(
        {label: _arranged(spec, orders, draw) for label, orders in found.items() if label}
    )


def _spread(spec: TimeRules, fmt: Format, chance: RandomSource, step: int) -> list[Point] | None:
    """Rising points that are `step` smallest units apart; None where there are too few."""
    offered = RANDOM_SPAN.values(fmt.smallest, {})
    larger = RANDOM_SPAN.draw_larger(fmt, chance)
    values = offered[: step * len(spec.points) : step]
    return [(*larger, value) for value in values] if len(values) == len(spec.points) else None


def _drawer(n: int, fmt: Format, span: TimeSpan) -> Callable[[RandomSource], list[Point]]:
    """A function that draws n different points in rising order."""
    windows = span.windows(fmt)
    if not windows:
        size, point = span.size(fmt), span.finder(fmt)
        return lambda chance: list(map(point, sorted(draw_distinct(n, size, chance))))

    def draw(chance: RandomSource) -> list[Point]:
        larger = span.draw_larger(fmt, chance)
        window = windows[draw_below(chance, len(windows))]
        return [(*larger, window[place]) for place in sorted(draw_distinct(n, len(window), chance))]

    return draw


def _arranged(
    spec: TimeRules, orders: list[tuple[int, ...]], draw: Callable[[RandomSource], list[Point]]
) -> Callable[[RandomSource], TimeValues]:
    names, count = spec.points, len(orders)
    if len(names) == 1:
        return lambda chance: {names[0]: draw(chance)[0]}
    arranged = [itemgetter(*order) for order in orders]

    def arrange(chance: RandomSource) -> TimeValues:
        points = draw(chance)
        return dict(zip(names, arranged[int(chance.random() * count)](points), strict=False))

    return arrange


def _tails(spec: TimeRules, fmt: Format, span: TimeSpan) -> list[tuple[int, ...]] | None:
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


def _exact(spec: TimeRules, fmt: Format, span: TimeSpan, tails: list[tuple[int, ...]]) -> TimeIndex:
    """The index by enumeration; larger units, the same for all points of a short problem, are drawn freely."""
    chance = Random(0)  # noqa: S311  (a fixed draw, no secret)
    larger = span.draw_larger(fmt, chance) if spec.points else ()
    found: dict[str, list[tuple[int, ...]]] = {}
    label_of = make_labeller(spec, fmt)
    for tail in tails:
        label = label_of(_values(spec, larger, tail))
        if label is not None:
            found.setdefault(label, []).append(tail)
    return TimeIndex(
        {
            label: _from_tails(spec, fmt, span, (label, larger, some))
            for label, some in found.items()
        }
    )


def _values(spec: TimeRules, larger: Point, tail: tuple[int, ...]) -> TimeValues:
    n = len(spec.points)
    values: TimeValues = {
        name: (*larger, number) for name, number in zip(spec.points, tail, strict=False)
    }
    values.update(zip(spec.sizes, tail[n:], strict=True))
    return values


def _from_tails(
    spec: TimeRules, fmt: Format, span: TimeSpan, known: tuple[str, Point, list[tuple[int, ...]]]
) -> Callable[[RandomSource], TimeValues]:
    label, larger, tails = known
    if not spec.points or len(fmt.units) == 1:
        return lambda chance: _values(spec, (), tails[draw_below(chance, len(tails))])

    label_of = make_labeller(spec, fmt)

    def draw(chance: RandomSource) -> TimeValues:
        tail = tails[draw_below(chance, len(tails))]
        values = _values(spec, span.draw_larger(fmt, chance), tail)
        # Months are not equally long: where that tips the label, the month of the index is taken.
        return values if label_of(values) == label else _values(spec, larger, tail)

    return draw


def moved(point: Point, days: int, fmt: Format) -> Point:
    """A point as it is written some days earlier; days lie within the month."""
    for _ in range(-days):
        earlier = day_before(point, fmt)
        assert earlier is not None
        point = earlier
    return point


def spec_of(template: Template, *, given: bool = True) -> TimeRules:
    """What the labels of a template depend on; without `given` self-contradicting premises may occur."""
    times = [use for use in template.uses if isinstance(use, Time)]
    named = dict.fromkeys((use.slot, use.kind) for use in times)
    return TimeRules(
        points=tuple(slot for slot, kind in named if kind == "time"),
        sizes=tuple(slot for slot, kind in named if kind in ("interval", "number")),
        entails=template.entails,
        contradicts=template.contradicts,
        given=template.given if given else (),
        before=tuple(dict.fromkeys(use.slot for use in times if use.days)),
        apart=tuple((use.slot, use.apart[0]) for use in times if use.apart),
    )


class Cell(NamedTuple):
    """Problems of one kind: a template, a format and a span (None where it has no times), a label."""

    template: Template
    format: Format | None
    span: TimeSpan | None
    label: str

    @property
    def name(self) -> str:
        """Stable name, such as `1/年月/random/neutral`."""
        language = self.template.language
        fmt = self.format.name(language) if self.format else "-"
        return f"{self.template.id}/{fmt}/{self.span.name if self.span else '-'}/{self.label}"


def cells_of(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[TimeSpan, ...] | None = None,
) -> tuple[Cell, ...]:
    """The reachable cells, by format, span and label in the published order."""
    return tuple(cell for cell, reachable in all_cells(template, formats, spans) if reachable)


def unreachable_cells(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[TimeSpan, ...] | None = None,
) -> tuple[Cell, ...]:
    """Cells of labels that the template has elsewhere but that no assignment of this format and span reaches."""
    found = list(all_cells(template, formats, spans))
    labels = {cell.label for cell, reachable in found if reachable}
    return tuple(cell for cell, reachable in found if not reachable and cell.label in labels)


def all_cells(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[TimeSpan, ...] | None = None,
) -> Iterator[tuple[Cell, bool]]:
    """Every combination, and whether it can be reached."""
    spanned = bool(template.spec.points or template.spec.sizes)
    for fmt in _offered(template, formats):
        for span in (spans or (RANDOM_SPAN, SHORT_SPAN)) if spanned else (None,):
            reached = labels_of(template, fmt, span)
            yield from ((Cell(template, fmt, span, label), label in reached) for label in LABELS)


def _offered(template: Template, formats: tuple[Format, ...] | None) -> Iterable[Format | None]:
    if not template.formats:
        return (None,)
    return (
        template.formats if formats is None else [fmt for fmt in template.formats if fmt in formats]
    )


def labels_of(template: Template, fmt: Format | None, span: TimeSpan | None) -> tuple[str, ...]:
    """The labels some assignment of times gives."""
    return index_times(template.spec, fmt, span).labels


def sample_times(
    template: Template, fmt: Format | None, span: TimeSpan | None, label: str, chance: RandomSource
) -> TimeValues | None:
    """Times that give the label, or None where none do. The same chance gives the same times."""
    return index_times(template.spec, fmt, span).draw(label, chance)
