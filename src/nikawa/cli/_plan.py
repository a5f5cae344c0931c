"""How a plan made from a pilot is shown; `nikawa agree --plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nikawa.cli._show import print_json, print_table, status

if TYPE_CHECKING:
    from nikawa.aggregation.agree import Options
    from nikawa.aggregation.plan import Plan

COLUMNS = (
    "workers",
    "reliability",
    "95% interval",
    "yield",
    "items to judge",
    "answers",
    "cost",
    "",
)
DEFAULT = 0.9


def show_plan(
    spec: str,
    data: Path | None,
    options: Options,
    wish: tuple[float | None, float | None, str | None, int, float],
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Make the plan and print it; `wish` is reliability, yield, rule, items, price."""
    from nikawa.aggregation.agree import plan_from
    from nikawa.aggregation.plan import Wish

    reliability, share, rule, items, price = wish
    if reliability is None and share is None:
        reliability = DEFAULT
    wished = Wish(reliability=reliability, yield_=share, rule=rule, items=items, price=price)
    with status(f"planning from {spec}", quiet or json):
        plan = plan_from(spec, data, options, wished)
    if json:
        print_json(plan)
    elif not quiet:
        _print(plan, items)


def _print(plan: Plan, items: int) -> None:
    rows = [
        (
            row.workers,
            "" if row.reliability is None else f"{row.reliability:.3f}",
            "" if row.low is None else f"{row.low:.3f} to {row.high:.3f}",
            f"{row.yield_:.3f}",
            row.judged,
            row.answers,
            f"{row.cost:,.2f}",
            ("enough, " if row.enough else "") + row.how,
        )
        for row in plan.rows
    ]
    print_table(COLUMNS, rows, numbers=COLUMNS[:-1])
    told = (
        f"{plan.workers} workers an item will do"
        if plan.workers
        else "no number of workers shown here will do"
    )
    typer.echo(
        f"{plan.question}: {told} for {items:,} items with gold (rule {plan.rule}, from {plan.answers:,} answers)."
    )
    for note in plan.notes:
        typer.echo(note)
