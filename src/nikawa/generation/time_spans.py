"""How far apart the times of a problem lie: RANDOM and the SHORT of JAMP's Appendix C, and spans a
pack declares.

SHORT: all points of a problem share their larger units, and their smallest unit is in a window of
a third of the next larger unit (hour 8, day 10, month 4; year 6, which the paper leaves open). The
windows start where the published data's do.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nikawa.generation.randomness import RandomSource
from nikawa.generation.times import LEAP_YEAR, Format, Point


@dataclass(frozen=True)
class TimeSpan:
    """Which values the times of a problem take together."""

    name: str
    interval: tuple[int, int] = (1, 9)
    """Shortest and longest interval."""
    window: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Smallest unit to the number of neighbouring values; none means no limit."""
    starts: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)
    """Smallest unit to the first and last value a window may start at."""
    years: tuple[int, int] = (2000, 2020)
    hours: tuple[int, int] = (0, 23)
    """The first and the last hour of the day that a time may have."""

    def values(self, unit: str, larger: Mapping[str, int]) -> range:
        """Every value of a unit, given the larger ones."""
        match unit:
            case "year":
                return range(self.years[0], self.years[1] + 1)
            case "month":
                return range(1, 13)
            case "day":
                last = monthrange(larger.get("year", LEAP_YEAR), larger.get("month", 1))[1]
                return range(1, last + 1)
            case _:
                return range(self.hours[0], self.hours[1] + 1)

    def lengths(self) -> range:
        """The lengths of intervals."""
        return range(self.interval[0], self.interval[1] + 1)

    def numbers(self, fmt: Format) -> range:
        """All values of a number slot."""
        assert fmt.measure is not None
        return range(fmt.measure.low, fmt.measure.high + 1, fmt.measure.step)

    def windows(self, fmt: Format) -> list[range]:
        """The ranges for the smallest unit of all points, one of which a problem draws; none
        without a limit.
        """
        width = self.window.get(fmt.smallest)
        if width is None:
            return []
        first, last = self.starts[fmt.smallest]
        return [range(start, start + width) for start in range(first, last + 1)]

    def draw_larger(self, fmt: Format, rng: RandomSource) -> Point:
        """The units above the smallest, drawn once for all points of a short problem."""
        return self._draw(fmt.units[:-1], rng)

    def draw(self, fmt: Format, rng: RandomSource) -> Point:
        """One point with no regard to others."""
        return self._draw(fmt.units, rng)

    def _draw(self, units: tuple[str, ...], rng: RandomSource) -> Point:
        """One point of the calendar; all are equally likely.

        Days are listed; hours are drawn in addition.
        """
        if units[-1:] == ("hour",):
            hours = self.values("hour", {})
            return (*self._draw(units[:-1], rng), hours[int(rng.random() * len(hours))])
        points = _list_points(units, self.years)
        return points[int(rng.random() * len(points))]

    def count_points(self, fmt: Format) -> int:
        """How many points there are."""
        if fmt.smallest == "hour":
            return len(_list_points(fmt.units[:-1], self.years)) * len(self.values("hour", {}))
        return len(_list_points(fmt.units, self.years))

    def point_getter(self, fmt: Format) -> Callable[[int], Point]:
        """A function from a place, counted from the earliest point, to the point."""
        if fmt.smallest != "hour":
            return _list_points(fmt.units, self.years).__getitem__
        days = _list_points(fmt.units[:-1], self.years)
        hours = self.values("hour", {})
        return lambda place: (*days[place // len(hours)], hours[place % len(hours)])


@lru_cache(maxsize=64)
def _list_points(units: tuple[str, ...], years: tuple[int, int]) -> tuple[Point, ...]:
    """Every point whose smallest unit is a day or larger; the one empty point of no unit."""
    points: list[Point] = [()]
    span = TimeSpan("", years=years)
    for unit in units:
        longer = []
        for point in points:
            larger = dict(zip(units, point, strict=False))
            longer += [(*point, value) for value in span.values(unit, larger)]
        points = longer
    return tuple(points)


RANDOM_SPAN = TimeSpan("random")
SHORT_SPAN = TimeSpan(
    "short",
    interval=(1, 3),
    window={"hour": 8, "day": 10, "month": 4, "year": 6},
    starts={
        "hour": (0, 15),
        "day": (1, 18),
        "month": (1, 8),
        "year": (2000, 2016),
    },
)
SPANS = {"random": RANDOM_SPAN, "short": SHORT_SPAN}
