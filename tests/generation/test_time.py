"""Formats, their text in two languages, and the two clocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.generation.time_spans import RANDOM_SPAN, SHORT_SPAN, TimeSpan
from nikawa.generation.times import (
    CALENDAR,
    COMPAT,
    INTERVAL_FORMATS,
    POINT_FORMATS,
    Format,
    Point,
    day_before,
    formats_by_name,
    is_in_calendar,
    parse_interval,
    parse_point,
    render_interval,
    render_point,
)


@st.composite
def points(draw: st.DrawFn, span: TimeSpan = RANDOM_SPAN) -> tuple[Format, Point]:
    fmt = draw(st.sampled_from(POINT_FORMATS))
    return fmt, span.draw(fmt, draw(st.randoms(use_true_random=False)))


def test_ten_formats_and_four_in_the_published_order() -> None:
    names = [
        "年",
        "年月",
        "年月日",
        "年月日時",
        "月",
        "月日",
        "月日時",
        "日",
        "日時",
        "時",
        "年間",
        "月間",
        "日間",
        "時間",
    ]
    assert list(formats_by_name("ja")) == names
    assert [f.name("ko") for f in (*POINT_FORMATS, *INTERVAL_FORMATS)][-4:] == [
        "년간",
        "개월간",
        "일간",
        "시간",
    ]


@pytest.mark.parametrize("language", ["ja", "ko"])
@given(points())
def test_text_and_back(language: str, one: tuple[Format, Point]) -> None:
    fmt, point = one
    assert is_in_calendar(point, fmt)
    assert parse_point(render_point(point, fmt, language), language) == one


def test_text_of_both_languages() -> None:
    ymd = formats_by_name("ja")["年月日"]
    assert render_point((2019, 8, 4), ymd, "ja") == "2019年8月4日"
    assert render_point((2019, 8, 4), ymd, "ko") == "2019년 8월 4일"
    assert [render_interval(7, unit, "ja") for unit in ("year", "month", "hour")] == [
        "7年間",
        "7ヶ月間",
        "7時間",
    ]
    assert render_interval(7, "month", "ko") == "7개월"
    assert parse_interval("7ヶ月間", "ja") == (Format("interval", ("month",)), 7)


@pytest.mark.parametrize(
    "text", ["2月30日", "13月", "24時", "2019年2月29日", "日", "8月2019年", "年間", "08月"]
)
def test_what_is_no_time(text: str) -> None:
    assert parse_point(text, "ja") is None
    assert parse_interval(text, "ja") is None


def test_without_a_year_february_has_29_days() -> None:
    assert parse_point("2月29日", "ja") is not None
    assert CALENDAR.end((2, 29), formats_by_name("ja")["月日"]) == CALENDAR.start(
        (3, 1), formats_by_name("ja")["月日"]
    )


@given(points(), points())
def test_points_of_one_format_do_not_overlap(
    one: tuple[Format, Point], other: tuple[Format, Point]
) -> None:
    fmt, a = one
    if other[0] != fmt or a == other[1]:
        return
    early, late = sorted((a, other[1]))
    assert CALENDAR.end(early, fmt) <= CALENDAR.start(late, fmt)


def test_the_calendar_cuts_days_to_the_month() -> None:
    ymd = formats_by_name("ja")["年月日"]
    start = CALENDAR.start((2019, 1, 31), ymd)
    assert CALENDAR.shift(start, 1, "month") == CALENDAR.start((2019, 2, 28), ymd)
    assert CALENDAR.shift(CALENDAR.start((2020, 2, 29), ymd), 1, "year") == CALENDAR.start(
        (2021, 2, 28), ymd
    )
    assert CALENDAR.shift(start, -1, "day") == CALENDAR.start((2019, 1, 30), ymd)
    assert CALENDAR.shift(start, 11, "month") == CALENDAR.start((2019, 12, 31), ymd)


@pytest.mark.parametrize(
    ("name", "point", "start", "end"),
    [
        ("月", (11,), 110_000, 120_000),
        ("月", (12,), 120_000, 1_010_000),
        ("年月", (2019, 12), 2_019_120_000, 2_020_010_000),
        ("年", (2019,), 2_019_000_000, 2_020_000_000),
        ("日", (30,), 3_000, 3_100),
        ("日", (31,), 3_100, 10_100),
        ("月日", (2, 29), 22_900, 30_100),
        ("月日", (12, 31), 123_100, 1_010_100),
        ("月日", (4, 30), 43_000, 50_100),
        ("年月日", (2019, 2, 28), 2_019_022_800, 2_019_030_100),
        ("時", (23,), 23, 23),
        ("日時", (4, 5), 405, 405),
    ],
)
def test_the_authors_numbers(name: str, point: Point, start: int, end: int) -> None:
    fmt = formats_by_name("ja")[name]
    assert (COMPAT.start(point, fmt), COMPAT.end(point, fmt)) == (start, end)


def test_compat_adds_plainly() -> None:
    assert COMPAT.shift(1_010_000, 7, "month") == 1_080_000
    assert COMPAT.shift(3_100, -1, "day") == 3_000


def test_the_day_before_stays_in_the_month() -> None:
    md = formats_by_name("ja")["月日"]
    assert day_before((8, 4), md) == (8, 3)
    assert day_before((8, 1), md) is None


@pytest.mark.parametrize(
    ("name", "width", "low", "high"),
    [("時", 8, 0, 22), ("日", 10, 1, 27), ("月", 4, 1, 11), ("年", 6, 2000, 2021)],
)
def test_short_windows(name: str, width: int, low: int, high: int) -> None:
    windows = SHORT_SPAN.windows(formats_by_name("ja")[name])
    assert {len(window) for window in windows} == {width}
    assert (windows[0][0], windows[-1][-1]) == (low, high)
    assert RANDOM_SPAN.windows(formats_by_name("ja")[name]) == []
    assert (list(SHORT_SPAN.lengths()), list(RANDOM_SPAN.lengths())) == (
        [1, 2, 3],
        list(range(1, 10)),
    )
