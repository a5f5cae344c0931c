"""How far apart the times of a problem lie: RANDOM and the SHORT of JAMP's Appendix C, and spans a pack declares.

SHORT: all points of a problem share their larger units, and their smallest unit lies in a window of a third of the next
larger unit (hour 8, day 10, month 4; year 6, which the paper leaves open). The windows start where the published data's do.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from nikawa.generation.times import LEAP_YEAR, Format, Point


class RandomSource(Protocol):
    """Anything that gives random numbers from 0 to below 1, such as `random.Random`."""

    def random(self) -> float:
        """The next number."""


def draw_below(chance: RandomSource, n: int) -> int:
    """A whole number from 0 to below n."""
    return int(chance.random() * n)


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
                return range(24)

    def lengths(self) -> range:
        """The lengths of intervals."""
        return range(self.interval[0], self.interval[1] + 1)

    def numbers(self, fmt: Format) -> range:
        """All values of a number slot."""
        assert fmt.measure is not None
        return range(fmt.measure.low, fmt.measure.high + 1, fmt.measure.step)

    def windows(self, fmt: Format) -> list[range]:
        """The ranges the smallest unit of all points lies in, one of which a problem draws; none without a limit."""
        width = self.window.get(fmt.smallest)
        if width is None:
            return []
        first, last = self.starts[fmt.smallest]
        return [range(start, start + width) for start in range(first, last + 1)]

    def draw_larger(self, fmt: Format, chance: RandomSource) -> Point:
        """The units above the smallest, drawn for all points of a short problem."""
        return self._draw(fmt.units[:-1], chance)

    def draw(self, fmt: Format, chance: RandomSource) -> Point:
        """One point with no regard to others."""
        return self._draw(fmt.units, chance)

    def _draw(self, units: tuple[str, ...], chance: RandomSource) -> Point:
        """One point of the calendar; all are equally likely. Days are listed, hours are drawn on top."""
        if units[-1:] == ("hour",):
            return (*self._draw(units[:-1], chance), int(chance.random() * 24))
        points = _points(units, self.years)
        return points[int(chance.random() * len(points))]

    def size(self, fmt: Format) -> int:
        """How many points there are."""
        hours = fmt.smallest == "hour"
        return len(_points(fmt.units[:-1] if hours else fmt.units, self.years)) * (
            24 if hours else 1
        )

    def finder(self, fmt: Format) -> Callable[[int], Point]:
        """What gives the point at a place, from the earliest on."""
        if fmt.smallest != "hour":
            return _points(fmt.units, self.years).__getitem__
        days = _points(fmt.units[:-1], self.years)
        return lambda place: (*days[place // 24], place % 24)


@lru_cache(maxsize=64)
def _points(units: tuple[str, ...], years: tuple[int, int]) -> tuple[Point, ...]:
    """Every point whose smallest unit is a day or larger; the one empty point of no unit."""
    points: list[Point] = [()]
    span = TimeSpan("", years=years)
    for unit in units:
        points = [
            (*point, value)
            for point in points
            for value in span.values(unit, dict(zip(units, point, strict=False)))
        ]
    return tuple(points)


RANDOM_SPAN = TimeSpan("random")
SHORT_SPAN = TimeSpan(
    "short",
    interval=(1, 3),
    window={"hour": 8, "day": 10, "month": 4, "year": 6},
    starts={"hour": (0, 15), "day": (1, 18), "month": (1, 8), "year": (2000, 2016)},
)
SPANS = {"random": RANDOM_SPAN, "short": SHORT_SPAN}
