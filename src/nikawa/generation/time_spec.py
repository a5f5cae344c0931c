"""What decides the label of a problem's times, and the label as a compiled function of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nikawa.generation.condition import Condition, compiled
from nikawa.generation.spans import Chance, Span
from nikawa.generation.template import LABELS
from nikawa.generation.time import CALENDAR, Clock, Format, Point, Value, day_before

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


class Index:
    """Where the assignments of each label are to be found."""

    def __init__(self, found: Mapping[str, Callable[[Chance], Values]]) -> None:
        self._found = found
        self.labels = tuple(label for label in LABELS if label in found)

    def drawer(self, label: str) -> Callable[[Chance], Values] | None:
        """What draws assignments of this label, or None where it is out of reach."""
        return self._found.get(label)

    def draw(self, label: str, chance: Chance) -> Values | None:
        """An assignment of this label, or None where it is out of reach."""
        draw = self._found.get(label)
        return None if draw is None else draw(chance)


def size_ranges(spec: TimeSpec, fmt: Format, span: Span) -> list[range]:
    """The ranges intervals or numbers lie in, one of which a problem draws."""
    if fmt.measure is None or not spec.sizes:
        return [span.lengths()]
    offered, near = span.numbers(fmt), fmt.measure.near
    if not span.window or near >= len(offered):
        return [offered]
    return [offered[start : start + near] for start in range(len(offered) - near + 1)]


def places(n: int, size: int, chance: Chance) -> set[int]:
    """n different places below size, by Floyd's method: n draws, no repeats."""
    chosen: set[int] = set()
    random = chance.random
    for top in range(size - n, size):
        place = int(random() * (top + 1))
        chosen.add(top if place in chosen else place)
    return chosen
