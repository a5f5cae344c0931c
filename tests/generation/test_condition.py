"""Conditions: grammar, places of mistakes, compiled once, written back."""

from __future__ import annotations

import pytest

from nikawa.generation.conditions import (
    ALWAYS,
    NEVER,
    And,
    Or,
    bind_values,
    compares_only_points,
    compile_condition,
    parse_condition,
    parse_slot_name,
    write_condition,
)
from nikawa.generation.template_errors import Position, TemplateError
from nikawa.generation.times import CALENDAR, Value, formats_by_name

AT = Position(3, 10)


def holds(text: str, name: str, **values: Value) -> bool:
    fmt = formats_by_name("ja")[name]
    env = bind_values(values, fmt, CALENDAR)
    return compile_condition(parse_condition(text, AT), CALENDAR, fmt.largest)(env)


def test_names_of_both_notations() -> None:
    assert (
        parse_slot_name("tp_1")
        == parse_slot_name("time1")
        == parse_slot_name("time")
        == ("time", 1)
    )
    assert parse_slot_name("np_2") == ("noun", 2)
    assert parse_slot_name("time_unit_1") == ("unit", 1)
    assert parse_slot_name("格") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tp_1.start < tp_2.start", "time1 before time2"),
        ("tp_1.start < tp_2.start, tp_2.start <= tp_3.start", "time1 < time2 <= time3"),
        (
            "tp_1.start < tp_2.start or tp_1.end > tp_2.end, interval_1 == interval_2",
            "(time1 < time2 or time1.end > time2.end) and interval = interval2",
        ),
        ("tp_1.start - 1 * day == tp_2.start", "time1 - 1 day == time2"),
        ("True", "always"),
        ("False", "never"),
        ("tp_1.start ≤ tp_2.start", "not not (time1 <= time2)"[8:]),
    ],
)
def test_two_ways_to_write_one_thing(one: str, other: str) -> None:
    assert parse_condition(one, AT) == parse_condition(other, AT)


def test_or_binds_tighter_than_the_comma_and_looser_than_and() -> None:
    assert isinstance(parse_condition("number1 < 3 or number1 > 5, number2 < 3", AT), And)
    assert isinstance(parse_condition("number1 < 3 or number1 > 5 and number2 < 3", AT), Or)


@pytest.mark.parametrize(
    "text",
    [
        "always",
        "time_1.start < time_2.end",
        "interval_1 + 2 <= interval_2",
        "time_1.start - 3 day != time_2.start",
        "not (number_1 > 3 or number_2 > 3)",
        "(time_1.end < time_2.end or time_1.end > time_3.end) and number_1 == 4",
    ],
)
def test_written_and_read_again(text: str) -> None:
    assert write_condition(parse_condition(text, AT)) == text


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("", 10, "empty"),
        ("time1 <", 17, "missing"),
        ("time1 < time2 time3", 24, "not expected"),
        ("time1", 15, "comparison"),
        ("(time1 < time2", 24, "not closed"),
        ("time1.middle < time2", 16, "middle"),
        ("interval1.start < interval2", 20, "only a time"),
        ("time1 < interval1", 16, "time with a length"),
        ("time1 + time2 < time3", 16, "can be added"),
        ("time1 § time2", 16, "no place"),
    ],
)
def test_mistakes_have_a_place(text: str, column: int, word: str) -> None:
    with pytest.raises(TemplateError, match=word) as caught:
        parse_condition(text, AT)
    assert caught.value.at == Position(3, column)
    assert f"line 3, column {column}" in str(caught.value)


def test_what_holds() -> None:
    assert holds("time1 < time2", "月", time_1=(3,), time_2=(4,))
    assert holds("time1.end <= time2.start", "月", time_1=(3,), time_2=(4,))
    assert not holds("time1.end < time2.start", "月", time_1=(3,), time_2=(4,))
    assert holds(
        "time1.end + interval1 <= time2.end", "月日", time_1=(3, 31), time_2=(5, 1), interval_1=1
    )
    assert not holds(
        "time1.end + interval1 <= time2.end", "月日", time_1=(3, 31), time_2=(4, 29), interval_1=1
    )
    assert holds("time1 - 1 day == time2", "年月日", time_1=(2020, 3, 1), time_2=(2020, 2, 29))
    assert holds("not interval1 > 3", "年間", interval_1=3)
    assert holds("interval1 + interval2 == 5", "年間", interval_1=3, interval_2=2)


def test_compiled_once() -> None:
    condition = parse_condition("time1 < time2", AT)
    again = parse_condition("tp_1.start < tp_2.start", Position(9, 9))
    assert compile_condition(condition, CALENDAR, "year") is compile_condition(
        again, CALENDAR, "year"
    )


def test_only_order() -> None:
    assert compares_only_points(parse_condition("time1.end <= time2.start or time1 == time2", AT))
    assert not compares_only_points(parse_condition("time1 + interval1 < time2", AT))
    assert compares_only_points(ALWAYS)
    assert compares_only_points(NEVER)
