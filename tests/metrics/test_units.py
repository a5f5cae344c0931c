"""One function converts and formats scores for tables; stored values keep the unit of the official scorer."""

from __future__ import annotations

import math

import pytest

from nikawa.errors import BadInput
from nikawa.metrics import metrics
from nikawa.metrics.units import (
    UNDEFINED,
    convert_unit,
    format_score,
    is_converted,
    parse_table_unit,
    unit_in_table,
    value_in_table,
)


@pytest.mark.parametrize("name", list(metrics()))
def test_every_metric_has_one_unit_in_tables(name: str) -> None:
    """A bounded metric is percent whatever its scorer reports; one without a bound is printed as it is."""
    metric = metrics()[name]
    assert metric.scaled == math.isfinite(metric.high)
    expected = "percent" if metric.scaled else "fraction"
    assert unit_in_table(name, "fraction") == expected
    assert unit_in_table(name, "percent") == "percent"
    assert unit_in_table(name, "fraction", "official") == "fraction"


def test_only_the_decimal_point_moves() -> None:
    for value in (0.57, 0.29, -0.0581, 1 / 3, 1e-17, 1.0):
        shown = value_in_table(value, "accuracy", "fraction")
        assert shown == float(f"{value * 100:.15g}") or shown == pytest.approx(value * 100)
        assert (
            convert_unit(convert_unit(value, "fraction", "percent"), "percent", "fraction") == value
        )
    assert value_in_table(0.57, "accuracy", "fraction") == 57.0
    assert value_in_table(None, "accuracy", "fraction") is None
    assert value_in_table(87.19, "accuracy", "percent") == 87.19


def test_what_is_printed() -> None:
    assert format_score(0.8393, "pearson", "fraction") == "83.93"
    assert format_score(0.8393, "pearson", "fraction", "official") == "0.8393"
    assert format_score(87.19, "pearson", "percent", "official") == "87.19"
    assert format_score(0.004, "accuracy", "fraction", signed=True, digits=1) == "+0.4"
    assert format_score(1.5, "mse", "fraction") == "1.5000"
    assert format_score(float("nan"), "mcc", "fraction") == format_score(None, "mcc", "percent")
    assert format_score(None, "mcc", "percent") == UNDEFINED


def test_a_metric_that_is_not_installed_is_printed_as_it_is_stored() -> None:
    assert not is_converted("their-metric", "fraction")
    assert format_score(0.5, "their-metric", "fraction") == "0.5000"


def test_units_that_do_not_exist() -> None:
    with pytest.raises(BadInput, match="known: official, percent"):
        parse_table_unit("permille")
