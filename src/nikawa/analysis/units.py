"""Analyses in the unit of tables: applies `nikawa.metrics.units` to every score of an analysis.

Files keep the official unit; the terminal and the page print what these functions return. Probabilities, overlaps and their
correlations are always fractions: they are not scores of a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import fields, replace

from nikawa.analysis.results import Across, Analyses, Analysis, Curve
from nikawa.metrics.units import TableUnit, convert_unit, is_converted, unit_in_table
from nikawa.records import Record, Unit

R = TypeVar("R", bound=Record)
MEASURED = ("value", "low", "high", "sd", "rest", "difference", "difference_low", "difference_high")
"""Fields of figures, slices, cells and bins that are in the unit of the metric."""


def figure_in_table(figure: R, metric: str, unit: Unit, table: TableUnit) -> R:
    """A figure, slice, cell or bin with its values as tables print them."""
    return figure_in_percent(figure) if is_converted(metric, unit, table) else figure


def figure_in_percent(figure: R) -> R:
    """A figure of a share, such as the recall of one label, in percent; what is not defined stays so."""
    values = {}
    for field in fields(figure):
        value = getattr(figure, field.name)
        if field.name in MEASURED and value is not None:
            values[field.name] = convert_unit(value, "fraction", "percent")
    return replace(figure, **values)


def figures_in_table(
    figures: Sequence[R], metric: str, unit: Unit, table: TableUnit
) -> tuple[R, ...]:
    """Each of them as tables print it."""
    return tuple(figure_in_table(figure, metric, unit, table) for figure in figures)


def analysis_in_table(analysis: Analysis, table: TableUnit = "percent") -> Analysis:
    """The analysis of a system on a set as tables print it."""
    metric, unit = analysis.metric, analysis.unit
    cross, overlap = analysis.cross, analysis.overlap
    if cross is not None:
        cross = replace(
            cross,
            cells=figures_in_table(cross.cells, cross.metric, cross.unit, table),
            unit=unit_in_table(cross.metric, cross.unit, table),
        )
    if overlap is not None:
        overlap = replace(
            overlap,
            bins=figures_in_table(overlap.bins, overlap.metric, overlap.unit, table),
            unit=unit_in_table(overlap.metric, overlap.unit, table),
        )
    return replace(
        analysis,
        score=figure_in_table(analysis.score, metric, unit, table),
        slices=figures_in_table(analysis.slices, metric, unit, table),
        cross=cross,
        overlap=overlap,
        unit=unit_in_table(metric, unit, table),
    )


def curve_in_table(curve: Curve, table: TableUnit = "percent") -> Curve:
    """A learning curve as tables and plots show it."""
    metric, unit = curve.metric, curve.unit
    doubling = curve.doubling
    points = [
        replace(point, score=figure_in_table(point.score, metric, unit, table))
        for point in curve.points
    ]
    return replace(
        curve,
        points=tuple(points),
        doubling=doubling and figure_in_table(doubling, metric, unit, table),
        unit=unit_in_table(metric, unit, table),
    )


def analyses_in_table(analyses: Analyses, table: TableUnit = "percent") -> Analyses:
    """All analyses of some runs as tables print them; partial inputs and stress are in percent already."""
    across: Across = replace(
        analyses.across,
        curves=tuple(curve_in_table(curve, table) for curve in analyses.across.curves),
    )
    each = tuple(analysis_in_table(analysis, table) for analysis in analyses.each)
    return Analyses(analyses.index, each, across)
