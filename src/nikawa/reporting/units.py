"""A page in the unit of tables.

`numbers.json` has the official unit of every score. Everything that is shown from it (the page, its plots and the tables next to
it) has one unit: this module converts the whole page once, before anything is drawn.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from nikawa.analysis.units import analysis_in_table, curve_in_table, figure_in_table
from nikawa.metrics.units import TableUnit, is_converted, unit_in_table, value_in_table
from nikawa.reporting.page_data import Number, Page, PairRow, Section, SettingChoices


def page_in_table(page: Page, table: TableUnit = "percent") -> Page:
    """The page with every score as tables print it, and the names of the sections that were converted.

    A page that is converted already comes back as it is.
    """
    converted = [section.name for section in page.sections if _has_fractions(section, table)]
    return replace(
        page,
        sections=tuple(section_in_table(section, table) for section in page.sections),
        choices=tuple(choices_in_table(choices, table) for choices in page.choices),
        converted=tuple(converted) if converted else page.converted or UNSET,
    )


def _has_fractions(section: Section, table: TableUnit) -> bool:
    return any(
        is_converted(metric, number.unit, table)
        for row in section.rows
        for metric, number in row.metrics.items()
    )


def number_in_table(number: Number, metric: str, table: TableUnit) -> Number:
    """A score of the page as tables print it."""
    shown = figure_in_table(number, metric, number.unit, table)
    return replace(shown, unit=unit_in_table(metric, number.unit, table))


def section_in_table(section: Section, table: TableUnit) -> Section:
    """One task with its scores, differences, parts, analyses and curves as tables print them."""
    rows = [
        replace(row, metrics={m: number_in_table(n, m, table) for m, n in row.metrics.items()})
        for row in section.rows
    ]
    parts = [
        replace(part, number=number_in_table(part.number, part.metric, table))
        for part in section.parts
    ]
    analysed = [
        replace(each, analysis=analysis_in_table(each.analysis, table)) for each in section.analysed
    ]
    curves = [replace(each, found=curve_in_table(each.found, table)) for each in section.curves]
    return replace(
        section,
        rows=tuple(rows),
        pairs=tuple(pair_in_table(pair, table) for pair in section.pairs),
        parts=tuple(parts),
        analysed=tuple(analysed),
        curves=tuple(curves),
        choices=section.choices and choices_in_table(section.choices, table),
    )


def pair_in_table(pair: PairRow, table: TableUnit) -> PairRow:
    """A difference, and the smallest that would have been detected, as tables print them."""
    unit = pair.difference.unit
    return replace(
        pair,
        difference=number_in_table(pair.difference, pair.metric, table),
        smallest=value_in_table(pair.smallest, pair.metric, unit, table),
    )


def choices_in_table(choices: SettingChoices, table: TableUnit) -> SettingChoices:
    """The scores by which settings were chosen as tables print them."""
    tried = [
        replace(
            each,
            scores={s: number_in_table(n, choices.metric, table) for s, n in each.scores.items()},
        )
        for each in choices.tried
    ]
    return replace(choices, tried=tuple(tried))
