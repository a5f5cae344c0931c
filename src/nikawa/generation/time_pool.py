"""Times for conditions with arithmetic over long formats: known assignments of each label, and ways to vary them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from nikawa.generation.condition import NEVER
from nikawa.generation.spans import Chance, Span, below
from nikawa.generation.template import LABELS
from nikawa.generation.time import Format, Point, Value, exists
from nikawa.generation.time_spec import Index, TimeSpec, Values, labeller, places, size_ranges

POOL, TRIES, MOVES = 400, 2_000, 4
"""Assignments a pool keeps of a label, those it looks at, and how often a draw tries to move a point."""


def pool_index(spec: TimeSpec, fmt: Format, span: Span) -> Index:
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
        {
            label: _from_pool(spec, fmt, span, label, known)
            for label, known in found.items()
            if label
        }
    )


def _proposals(spec: TimeSpec, fmt: Format, span: Span, chance: Chance) -> Iterator[Values]:
    """Random assignments; every fourth has a value near another one, so that equalities come up too."""
    ranges, windows = size_ranges(spec, fmt, span), span.windows(fmt) if spec.points else []
    for i in range(TRIES):
        lengths = ranges[below(chance, len(ranges))]
        values: Values = dict(
            zip(spec.points, _draw_points(spec, fmt, span, windows, chance), strict=True)
        )
        values.update((name, lengths[below(chance, len(lengths))]) for name in spec.sizes)
        if i % 4 == 3 and len(spec.points) > 1 and not windows:
            one, other = sorted(places(2, len(spec.points), chance), key=lambda _: chance.random())
            values[spec.points[one]] = _near(values[spec.points[other]], fmt, span, chance)
        elif i % 4 == 3 and len(spec.sizes) > 1:
            values[spec.sizes[0]] = values[spec.sizes[1]]
        yield values


def _draw_points(
    spec: TimeSpec, fmt: Format, span: Span, windows: list[range], chance: Chance
) -> Iterator[Point]:
    """Points of one problem, in one window where the span has windows; they may be equal."""
    if not windows:
        yield from (span.draw(fmt, chance) for _ in spec.points)
        return
    larger, window = span.draw_larger(fmt, chance), windows[below(chance, len(windows))]
    yield from ((*larger, window[below(chance, len(window))]) for _ in spec.points)


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
        if not spec.points or span.windows(fmt):
            return dict(values)
        for _ in range(MOVES):
            other = {**values, spec.points[below(chance, len(spec.points))]: span.draw(fmt, chance)}
            if label_of(other) == label:
                return other
        return dict(values)

    return draw
