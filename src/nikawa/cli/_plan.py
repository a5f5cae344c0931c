"""How a plan is shown: a row a number of workers, and which of them will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from nikawa.cli._show import print_table

if TYPE_CHECKING:
    from nikawa.aggregate.plan import Plan, Row

COLUMNS = (
    "workers",
    "reliability",
    "95% interval",
    "yield",
    "items to judge",
    "answers",
    "cost",
    "how",
    "enough",
)


def show_plan(plan: Plan) -> None:
    """The table, then the answer in one sentence."""
    print_table(COLUMNS, [_row(row) for row in plan.rows], numbers=COLUMNS[:7])
    for note in plan.notes:
        typer.echo(f"Note: {note}.")
    if plan.workers is None:
        typer.echo(f"Up to {plan.rows[-1].workers} workers an item do not fulfil the wish under {plan.rule}.")
        return
    row = next(row for row in plan.rows if row.workers == plan.workers)
    cost = f", at a cost of {row.cost:,.0f}" if row.cost else ""
    typer.echo(f"{plan.workers} workers an item will do under {plan.rule}: {row.answers:,} answers{cost}.")


def _row(row: Row) -> tuple[object, ...]:
    interval = "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
    value = "" if row.reliability is None else f"{row.reliability:.3f}"
    return (
        row.workers, value, interval, f"{row.yield_:.3f}", row.judged, row.answers, f"{row.cost:,.0f}", row.how,
        "yes" if row.enough else "",
    )  # fmt: skip
