"""Time points, intervals and numbers: formats, two clocks, and their text in each language.

A point is a tuple of numbers, one a unit of its format: 8月4日 is (8, 4) in the format 月日. An
interval or a number is an integer. A clock turns points into instants (integers that compare and
shift):

- `calendar`: hours; units a format leaves out come from 2000-01-01 0:00, a leap year, so that 2月29日 exists;
  a point lasts one of its smallest units; months and years shift by the calendar, the day cut to the month's length.
- `compat`: the numbers of JAMP's generator, hour + 100 day + 10^4 month + 10^6 year, units left out are 0. The end of
  12月 carries into the year even if no year is written, and so do month ends; hours end where they start.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType
from typing import Literal, Protocol

UNITS = ("year", "month", "day", "hour")
"""The units of times, the largest first."""
VERB_TIMES = ("point", "within", "during", "again")
"""What a verb may go with: a point of time, an interval it is finished in, one it lasts, a
repetition."""
Kind = Literal["point", "interval", "number"]
Point = tuple[int, ...]
"""One number for each unit of its format."""
Value = Point | int
"""A point, the length of an interval, or a number."""
Values = Mapping[str, Value]
"""Slot to the value of its time, interval or number."""
LEAP_YEAR = 2000
_NUMBER = "[0-9]{1,6}"
_BASE = (LEAP_YEAR, 1, 1, 0)
"""What the units have that a format leaves out."""
MAX_YEAR = 9900
"""Years above this leave no room for arithmetic."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a number slot counts: its text around the number, and the numbers it takes."""

    name: str
    text: str
    low: int
    high: int
    step: int = 1
    near: int = 4
    """How many neighbouring values a short span has."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a time is written: the units of a point, the one unit of an interval, the name of a
    number's measure.
    """

    kind: Kind
    units: tuple[str, ...]
    measure: Quantity | None = None

    @property
    def largest(self) -> str:
        """The unit of an interval in a problem with points of this format."""
        return self.units[0]

    @property
    def smallest(self) -> str:
        """The unit a point of this format lasts."""
        return self.units[-1]

    def name(self, language: str) -> str:
        """What the format is called in a language: 年月日, 月間, 년월; a number's measure has one name."""
        return _format_name(self, language)


POINT_FORMATS = tuple(
    Format("point", UNITS[first:end]) for first in range(4) for end in range(first + 1, 5)
)
"""The ten formats of a point, by largest unit, then by length."""
INTERVAL_FORMATS = tuple(Format("interval", (unit,)) for unit in UNITS)
"""One format for each unit."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The words of one language for times. A new language is a new row of `SURFACES`."""

    point: dict[str, str]
    """What follows a number in a point, by unit."""
    interval: dict[str, str]
    """What follows a number in an interval."""
    bare_interval: dict[str, str]
    """What follows a number in an interval before 以内, 以上, で and かかる, where 間 is not said."""
    interval_name: dict[str, str]
    """What the interval's format is called in the data."""
    unit: dict[str, str]
    """What follows the word for `every`."""
    gap: str = ""
    """The text between the parts of a point."""


TIME_WORDS = {
    "ja": TimeWords(
        point={"year": "年", "month": "月", "day": "日", "hour": "時"},
        interval={"year": "年間", "month": "ヶ月間", "day": "日間", "hour": "時間"},
        bare_interval={"year": "年", "month": "ヶ月", "day": "日", "hour": "時間"},
        interval_name={"year": "年間", "month": "月間", "day": "日間", "hour": "時間"},
        unit={"year": "年", "month": "月", "day": "日", "hour": "時間"},
    ),
    "ko": TimeWords(
        point={"year": "년", "month": "월", "day": "일", "hour": "시"},
        interval={"year": "년", "month": "개월", "day": "일", "hour": "시간"},
        bare_interval={"year": "년", "month": "개월", "day": "일", "hour": "시간"},
        interval_name={"year": "년간", "month": "개월간", "day": "일간", "hour": "시간"},
        unit={"year": "년", "month": "월", "day": "일", "hour": "시간"},
        gap=" ",
    ),
}


@cache
def _format_name(fmt: Format, language: str) -> str:
    """See `Format.name`: computed once, for cells are named by it."""
    words = TIME_WORDS[language]
    if fmt.kind == "point":
        return "".join(words.point[unit] for unit in fmt.units)
    if fmt.kind == "interval":
        return words.interval_name[fmt.units[0]]
    return fmt.units[0]


@cache
def formats_by_name(language: str) -> dict[str, Format]:
    """Every format of points and intervals by its name in a language."""
    return {fmt.name(language): fmt for fmt in (*POINT_FORMATS, *INTERVAL_FORMATS)}


def render_point(point: Point, fmt: Format, language: str) -> str:
    """A point as text: 2019年8月, 2019년 8월.

    >>> render_point((2019, 8), Format("point", ("year", "month")), "ko")
    '2019년 8월'
    """
    words = TIME_WORDS[language]
    pairs = zip(point, fmt.units, strict=True)
    return words.gap.join(f"{number}{words.point[unit]}" for number, unit in pairs)


def render_interval(length: int, unit: str, language: str, *, is_bare: bool = False) -> str:
    """An interval as text: 7ヶ月間, 7개월; 7ヶ月 if it is bare."""
    words = TIME_WORDS[language]
    return f"{length}{(words.bare_interval if is_bare else words.interval)[unit]}"


def render_value(value: Value, fmt: Format, language: str, *, is_bare: bool = False) -> str:
    """A point, an interval in the largest unit of the format, or a number with its measure, as
    text.
    """
    if isinstance(value, tuple):
        return render_point(value, fmt, language)
    if fmt.measure is not None:
        return fmt.measure.text.replace("{}", str(value))
    return render_interval(value, fmt.largest, language, is_bare=is_bare)


@cache
def point_pattern(language: str) -> str:
    """A regular expression without groups that matches a point of any format."""
    words = TIME_WORDS[language]
    parts = [f"{_NUMBER}{words.point[unit]}" for unit in UNITS]
    gap = re.escape(words.gap)
    runs = []
    for first in range(4):
        for end in range(4, first, -1):  # the longest first
            runs.append(gap.join(parts[first:end]))
    return f"(?:{'|'.join(runs)})"


@cache
def interval_pattern(language: str, is_bare: bool = False) -> str:
    """A regular expression without groups that matches an interval of any unit."""
    words = TIME_WORDS[language]
    units = words.bare_interval if is_bare else words.interval
    return rf"{_NUMBER}(?:{'|'.join(units.values())})"


def parse_point(text: str, language: str) -> tuple[Format, Point] | None:
    """The format and numbers of a point, or None if `text` is not a point or its date does not exist."""
    unit_by_word = {word: unit for unit, word in TIME_WORDS[language].point.items()}
    parts = re.findall(rf"({_NUMBER})(\D+)", text)
    units = tuple(unit_by_word.get(word.strip(), "") for _, word in parts)
    fmt = Format("point", units)
    point = tuple(int(number) for number, _ in parts)
    if fmt not in POINT_FORMATS or render_point(point, fmt, language) != text:
        return None
    return (fmt, point) if is_in_calendar(point, fmt) else None


def parse_interval(text: str, language: str, *, is_bare: bool = False) -> tuple[Format, int] | None:
    """The format and length of an interval, or None if `text` is not an interval."""
    match = re.fullmatch(rf"({_NUMBER})(\D+)", text)
    if match is None:
        return None
    number, written = match.groups()
    words = TIME_WORDS[language]
    for unit, word in (words.bare_interval if is_bare else words.interval).items():
        if word == written:
            return Format("interval", (unit,)), int(number)
    return None


def is_in_calendar(point: Point, fmt: Format) -> bool:
    """Whether the calendar has this point.

    Without a year February has 29 days, without a month a month has 31.
    """
    year, month, day, hour = _all_units(point, fmt)
    if not (1 <= year <= MAX_YEAR and 1 <= month <= 12 and 0 <= hour <= 23):
        return False
    return 1 <= day <= monthrange(year, month)[1]


def day_before(point: Point, fmt: Format) -> Point | None:
    """The point with its day number one less, as the templates' `-1day` asks; None on a first day."""
    place = fmt.units.index("day")
    if point[place] <= 1:
        return None
    return (*point[:place], point[place] - 1, *point[place + 1 :])


def move_days(point: Point, days: int, fmt: Format) -> Point:
    """A point some days earlier, `days` being 0 or negative; it must stay within its month."""
    for _ in range(-days):
        earlier = day_before(point, fmt)
        assert earlier is not None
        point = earlier
    return point


def _all_units(point: Point, fmt: Format) -> Point:
    """All four units; those the format leaves out from the base."""
    first = UNITS.index(fmt.units[0])
    return (*_BASE[:first], *point, *_BASE[first + len(point) :])


class Clock(Protocol):
    """Points to instants, and instants moved."""

    name: str

    def __hash__(self) -> int:
        """Clocks are compared by identity."""

    def start(self, point: Point, fmt: Format) -> int:
        """The instant a point begins."""

    def end(self, point: Point, fmt: Format) -> int:
        """The instant it is over."""

    def shift(self, instant: int, count: int, unit: str) -> int:
        """The instant `count` units later."""


class CalendarClock:
    """Instants are hours of the proleptic Gregorian calendar."""

    name = "calendar"

    def start(self, point: Point, fmt: Format) -> int:
        """The first hour of a point."""
        year, month, day, hour = _all_units(point, fmt)
        return date(year, month, day).toordinal() * 24 + hour

    def end(self, point: Point, fmt: Format) -> int:
        """The first hour after a point."""
        year, month, day, hour = _all_units(point, fmt)
        match fmt.smallest:
            case "year":
                return date(year + 1, 1, 1).toordinal() * 24
            case "month":
                return date(year + month // 12, month % 12 + 1, 1).toordinal() * 24
            case "day":
                return date(year, month, day).toordinal() * 24 + 24
            case _:
                return date(year, month, day).toordinal() * 24 + hour + 1

    def shift(self, instant: int, count: int, unit: str) -> int:
        """`count` units later; a day the month does not have becomes its last."""
        if unit in ("hour", "day"):
            return instant + count * (24 if unit == "day" else 1)
        day = date.fromordinal(instant // 24)
        step = 12 if unit == "year" else 1
        months = day.year * 12 + day.month - 1 + count * step
        year, month = months // 12, months % 12 + 1
        last = monthrange(year, month)[1]
        return date(year, month, min(day.day, last)).toordinal() * 24 + instant % 24


class CompatClock:
    """Instants are base-100 numbers, as in the generator that made JAMP."""

    name = "compat"
    size: Mapping[str, int] = MappingProxyType(
        {"hour": 1, "day": 100, "month": 10_000, "year": 1_000_000}
    )

    def start(self, point: Point, fmt: Format) -> int:
        """The number of a point; units left out count nothing."""
        return sum(n * self.size[unit] for n, unit in zip(point, fmt.units, strict=True))

    def end(self, point: Point, fmt: Format) -> int:
        """One smallest unit later; hours end where they start."""
        if fmt.smallest == "hour":
            return self.start(point, fmt)
        if fmt.smallest == "year":
            return self.start(point, fmt) + self.size["year"]
        numbers = dict(zip(fmt.units, point, strict=True))
        year, month, day = (numbers.get(unit, 0) for unit in UNITS[:3])
        # The generator asked a calendar that begins in January 2020 for the day after.
        if fmt.smallest == "day" and day < monthrange(year or 2020, month or 1)[1]:
            day += 1
        else:
            # A new month begins on its first day where days are written. In a month alone the day is 0 anyway.
            day = 1 if fmt.smallest == "day" else 0
            year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        return year * self.size["year"] + month * self.size["month"] + day * self.size["day"]

    def shift(self, instant: int, count: int, unit: str) -> int:
        """Plain addition."""
        return instant + count * self.size[unit]


CALENDAR: Clock = CalendarClock()
COMPAT: Clock = CompatClock()
