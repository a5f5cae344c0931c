"""`nikawa demo`: a guided tour on the embedded data.

It runs every stage once on the embedded mini-benchmark and prints the command for each.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import Json, Quiet
from nikawa.cli.terminal.output import console, print_json, print_table

if TYPE_CHECKING:
    from nikawa.demo.job import Step
    from nikawa.demo.steps import Outcome

PANEL = "Data"
EXAMPLE = "Example: nikawa demo"


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the dataset, the runs and the report.")
    ] = Path("nikawa-demo"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Build, score and report a small benchmark as a tour. It needs no network and writes one folder."""
    from nikawa.demo.job import demo as run

    done = run(None if quiet or json else show_step, out=out)
    if json:
        steps = [
            {
                "title": d.title,
                "command": d.command,
                "seconds": d.seconds,
                "figures": d.outcome.figures,
            }
            for d in done
        ]
        print_json({"steps": steps, "seconds": round(sum(d.seconds for d in done), 3)})


def show_step(number: int, step: Step, outcome: Outcome) -> None:
    """Print one step of the tour: what it does, its command, its outcome."""
    from rich.panel import Panel
    from rich.text import Text

    out = console()
    title = Text(f"{number}. {step.title}", style="bold")
    # A panel wraps its lines; only the tables below may be wider than a pipe.
    out.print(
        Panel(step.why, title=title, title_align="left", width=min(out.width, 100)), soft_wrap=False
    )
    for command in step.command.split(
        " && "
    ):  # outside the panel and unwrapped, so that it can be copied
        out.print(Text.assemble(("$ ", "dim"), (command, "cyan")), soft_wrap=True)
    for table in outcome.tables:
        print_table(table.columns, table.rows, title=table.title, numbers=table.numbers)
    for line in outcome.lines:
        out.print(line, markup=False)
    out.print()
