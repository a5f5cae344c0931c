"""The unit in which tables print scores, and the one place where scores are converted and formatted.

Official scorers report in two units: those of JGLUE's sentence tasks as fractions (0.8393), all others in percent (87.19).
Stored scores, `Score.value` and `--json` keep the official unit, so that they can be compared with the scorer's own output to
the last digit. Tables for people show several tasks side by side and have one unit, percent.

- A metric that declares `scaled` is a share, or a correlation, and is printed times 100. The papers are divided over
  correlations: JGLUE (Table 9) prints 0.899, KLUE's scorer and JSICK (Table 8, "Pearson correlation ×100") print 89.9. In a table whose
  other columns are percent, 89.9 is what a reader expects.
- A metric without an upper bound, such as a mean squared error, has no percent: it is printed as it is, with four decimals.

`--unit official` prints every score as its official scorer reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import isnan
from typing import Literal, get_args

from nikawa.errors import unknown
from nikawa.metrics import metrics
from nikawa.records import Unit
from nikawa.tables import ResultTable

TableUnit = Literal["percent", "official"]
"""What a table prints: percent, or what the official scorer of each task reports."""
UNDEFINED = "not defined"
"""Shown for a score without a value."""
CONVERTED = "in percent; the official scorer reports fractions: --unit official prints them"
"""The line below a table whose scores are in another unit than the official one."""
PERCENT_DIGITS = 2
"""Decimals of a percentage; a fraction has two more, so that both show the same."""


def parse_table_unit(text: str) -> TableUnit:
    """The unit that `--unit` names; raises UnknownName for another word."""
    units: dict[str, TableUnit] = {unit: unit for unit in get_args(TableUnit)}
    if text not in units:
        raise unknown("unit", text, units)
    return units[text]


def is_converted(metric: str, unit: Unit, table: TableUnit = "percent") -> bool:
    """Whether a table prints the scores of a metric, which are stored in `unit`, in another unit than that.

    A metric that is not installed here declares nothing: its scores are printed as they are stored.
    """
    return (
        table == "percent"
        and unit == "fraction"
        and metric in metrics()
        and metrics()[metric].scaled
    )


SCORE_COLUMNS = ("value", "mean", "sd", "low", "high", "difference", "smallest", "rest")
"""Columns of a result's tables that are in the unit of its column `unit`."""


def convert_table(table: ResultTable) -> ResultTable:
    """A table of a result with its scores in percent; one without the columns `metric` and `unit` stays as it is."""
    columns = table.columns
    if not {"metric", "unit"} <= set(columns):
        return table
    metric, unit = columns.index("metric"), columns.index("unit")
    rows = []
    for row in table.rows:
        cells = list(row)
        if is_converted(row[metric], row[unit]):
            for place, name in enumerate(columns):
                if name in SCORE_COLUMNS and cells[place] is not None:
                    cells[place] *= 100
            cells[unit] = "percent"
        rows.append(tuple(cells))
    return ResultTable(table.title, columns, rows)


def describe_conversion(
    scores: Iterable[tuple[str, str, Unit]], table: TableUnit = "percent"
) -> str | None:
    """The line below a table of scores, each given by task, metric and stored unit; None where nothing is converted.

    The tasks are named where the table has others whose official scorers report percent.
    """
    tasks: dict[str, bool] = {}
    for task, metric, unit in scores:
        tasks[task] = tasks.get(task, False) or is_converted(metric, unit, table)
    names = [task for task, converted in tasks.items() if converted]
    if not names or len(names) == len(tasks):
        return CONVERTED if names else None
    return CONVERTED.replace(
        "the official scorer reports", f"the official scorers of {', '.join(names)} report"
    )


def unit_in_table(metric: str, unit: Unit, table: TableUnit = "percent") -> Unit:
    """The unit in which a table prints the scores of a metric that are stored in `unit`."""
    return "percent" if is_converted(metric, unit, table) else unit


def value_in_table(
    value: float | None, metric: str, unit: Unit, table: TableUnit = "percent"
) -> float | None:
    """A score as a table has it, before it is rounded; also for differences, deviations and ends of intervals.

    The decimal point moves, so that no digit is invented:

    >>> value_in_table(0.57, "accuracy", "fraction"), 0.57 * 100
    (57.0, 56.99999999999999)
    """
    if value is None:
        return None
    return convert_unit(value, unit, unit_in_table(metric, unit, table))


def convert_unit(value: float, before: Unit, after: Unit) -> float:
    """A share in another unit, such as the score of a run on a copy of a dataset, which has another official unit."""
    if before == after:
        return value
    return float(Decimal(repr(float(value))).scaleb(2 if after == "percent" else -2))


def score_digits(unit: Unit, digits: int = PERCENT_DIGITS) -> int:
    """Decimals of a score that is printed in `unit`: `digits` are those of a percentage."""
    return digits if unit == "percent" else digits + 2


def format_score(
    value: float | None,
    metric: str,
    unit: Unit,
    table: TableUnit = "percent",
    *,
    digits: int = PERCENT_DIGITS,
    signed: bool = False,
) -> str:
    """A score, stored in `unit`, as a table prints it; `signed` is for differences.

    >>> format_score(0.8393, "accuracy", "fraction"), format_score(0.8393, "accuracy", "fraction", "official")
    ('83.93', '0.8393')
    >>> format_score(-0.021, "accuracy", "fraction", signed=True), format_score(1.25, "mse", "fraction")
    ('-2.10', '1.2500')
    """
    if value is None or isnan(value):
        return UNDEFINED
    shown = value_in_table(value, metric, unit, table)
    decimals = score_digits(unit_in_table(metric, unit, table), digits)
    return f"{shown:{'+' if signed else ''}.{decimals}f}"
