"""The plots of a result in a notebook: the same SVG as on the report page and the page of agreement.

Results name these functions (`ShownAsTables.plots_by`); they are imported when a notebook asks for HTML.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nikawa.aggregation.agree_job import AgreeResult
from nikawa.metrics import metrics
from nikawa.metrics.units import convert_table, is_converted
from nikawa.printable import printable
from nikawa.records import Unit
from nikawa.reporting.agreement import draw_plots
from nikawa.reporting.plots import Dot, PlotRow, draw_dots, possible_values
from nikawa.runs.job import RunReport
from nikawa.scoring.compare import Comparison
from nikawa.scoring.score import ScoreReport, ScoreResult
from nikawa.tables import ResultTable

if TYPE_CHECKING:
    from nikawa.reporting.job import ReportResult

MAX_PLOT_ROWS = 40
"""Rows of a plot; the table has all."""
AGREEMENT_STYLE = (
    ".nikawa-agreement{--one:#2f6fb5;--s1:#8fb8de;--s2:#d9822b;--s3:#b8bec6}"
    ".nikawa .nikawa-agreement svg .wire{stroke:var(--one);stroke-width:2.5;stroke-opacity:.45}"
    ".nikawa .nikawa-agreement svg :is(.dot,.bar,.heat,.s0){fill:var(--one);stroke:none}"
    ".nikawa .nikawa-agreement svg .s1{fill:var(--s1);stroke:none}.nikawa .nikawa-agreement svg .s2{fill:var(--s2);stroke:none}"
    ".nikawa .nikawa-agreement svg .s3{fill:var(--s3);stroke:none}.nikawa .nikawa-agreement svg text.on{fill:var(--paper)}"
    ".nikawa .nikawa-agreement svg .tag{paint-order:stroke;stroke:var(--paper);stroke-width:3px}"
)
"""The classes of the page of agreement, inside a notebook."""


def to_rows(columns: tuple[str, ...], records: list[Any]) -> list[dict[str, Any]]:
    """Some fields of records as mappings, with scores in percent."""
    rows = [tuple(getattr(record, name) for name in columns) for record in records]
    table = convert_table(ResultTable("", columns, rows))
    return [dict(zip(columns, row, strict=True)) for row in table.rows]


def limits(metric: str, unit: Unit) -> tuple[float, float]:
    """The possible values of a metric in the unit that is shown."""
    return possible_values("percent" if is_converted(metric, unit) else unit, metric)


def draw_scores(result: ScoreResult | ScoreReport) -> list[str]:
    """The first metric over all items and in each slice, with intervals."""
    report = result.report if isinstance(result, ScoreResult) else result
    if not report.scores:
        return []
    first = report.scores[0]
    same = [one for one in report.scores if (one.metric, one.mode) == (first.metric, first.mode)]
    rows = [
        PlotRow(
            row["where"] or "all items",
            [Dot(row["value"], row["low"], row["high"])],
            note=f"n {row['n']:,}",
        )
        for row in to_rows(("metric", "unit", "value", "low", "high", "where", "n"), same)
        if row["value"] == row["value"]
    ]
    if not rows or first.metric not in metrics():
        return []
    title = f"{first.metric} on {report.task} {report.split}, 95% intervals"
    return [draw_dots(rows[:MAX_PLOT_ROWS], title, limits(first.metric, first.unit))]


def draw_comparison(comparison: Comparison) -> list[str]:
    """The difference of each pair of systems under the first metric of each task, against 0."""
    plots = []
    for task, group in groupby(comparison.pairs, key=lambda pair: pair.task):
        pairs = list(group)
        same = [pair for pair in pairs if pair.metric == pairs[0].metric]
        columns = ("metric", "unit", "first", "second", "difference", "low", "high")
        rows = [
            PlotRow(
                f"{row['second']} - {row['first']}",
                [Dot(row["difference"], row["low"], row["high"])],
            )
            for row in to_rows(columns, same)
        ]
        _, most = limits(pairs[0].metric, pairs[0].unit)
        title = f"Differences in {pairs[0].metric} on {task}, 95% intervals"
        plots.append(draw_dots(rows[:MAX_PLOT_ROWS], title, (-most, most), rule=0.0))
    return plots


def draw_agreement(result: AgreeResult) -> list[str]:
    """The plots of the page of agreement, in its colours."""
    plots = draw_plots(result.report, result.table).values()
    return [f'<style>{AGREEMENT_STYLE}</style><div class="nikawa-agreement">{"".join(plots)}</div>']


def draw_runs(report: RunReport) -> list[str]:
    """The models on each set under its first metric; the interval over examples where there is one seed."""
    plots = []
    whole = [cell for cell in report.cells if not cell.where and cell.mean is not None]
    for task, set_name in dict.fromkeys((cell.task, cell.set) for cell in whole):
        cells = [cell for cell in whole if (cell.task, cell.set) == (task, set_name)]
        metric, unit = cells[0].metric, cells[0].unit
        same = [cell for cell in cells if cell.metric == metric]
        columns = ("metric", "unit", "model", "variation", "mean", "low", "high")
        rows = [
            PlotRow(
                " ".join(filter(None, (row["model"], row["variation"]))),
                [Dot(row["mean"], row["low"], row["high"])],
            )
            for row in to_rows(columns, same)
        ]
        if metric in metrics():
            title = f"{metric} of every model on {task} {set_name}"
            plots.append(draw_dots(rows[:MAX_PLOT_ROWS], title, limits(metric, unit)))
    return plots


def link_page(result: ReportResult) -> list[str]:
    """A link to the page of a report."""
    address = escape(quote(result.page))
    return [f'<p><a href="{address}">{escape(printable(result.page))}</a></p>']
