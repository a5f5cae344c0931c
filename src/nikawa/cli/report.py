"""`nikawa report`: a page, tables and figures from stored runs.

It writes a folder with one HTML page, the same tables as Markdown, LaTeX and CSV, and the figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    HiddenLabels,
    Json,
    LabelKeysFile,
    Quiet,
    UnitOfTable,
    warn_of_mode,
)
from nikawa.cli.terminal.output import echo, format_count, name_runs, print_json, status

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa report runs --out report --open"


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs: folders, folders of runs, or patterns.")],
    out: Annotated[
        Path, typer.Option(help="Write the page, tables and figures to this folder.")
    ] = Path("report"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "",
    digits: Annotated[
        int, typer.Option(help="Decimals of percentages; fractions get two more.", min=0, max=6)
    ] = 1,
    unit: UnitOfTable = "percent",
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Resamples of paired tests; default: 2,000, more for many tests.", min=100
        ),
    ] = None,
    analyses: Annotated[
        bool, typer.Option(help="Analyse the runs: slices, confusion, calibration, …")
    ] = True,
    dataset: Annotated[
        bool, typer.Option(help="Describe the dataset: agreement of workers, artifacts.")
    ] = True,
    stamp: Annotated[bool, typer.Option("--stamp", help="Print the date on the page.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier report.")
    ] = False,
    hidden: HiddenLabels = False,
    keys: LabelKeysFile = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about runs: scores with intervals and ties, slices, calibration, every example; tables for a paper."""
    from datetime import UTC, datetime

    from nikawa.execute.memory import return_large_arrays
    from nikawa.metrics.units import parse_table_unit
    from nikawa.reporting.job import ReportOptions

    return_large_arrays()

    options = ReportOptions(
        data,
        title,
        digits,
        rounds,
        analyses=analyses,
        dataset=dataset,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC") if stamp else "",
        overwrite=overwrite,
        unit=parse_table_unit(unit),
        hidden=hidden,
        keys=keys,
    )
    warn_of_mode(keys)
    with status("reporting", quiet or json):
        written = api.report(runs, out, options)
    if json:
        print_json(written)
    elif not quiet:
        counts = {
            "run": written.runs,
            "system": len(written.systems),
            "task": len(written.tasks),
            "example": written.examples,
        }
        echo(", ".join(format_count(n, noun) for noun, n in counts.items()))
        for system, reason in written.undefined.items():
            echo(f"{system} has no score and is not compared: {reason}")
        noted = [
            (f"scored again because {why}", runs) for why, runs in written.scored_again.items()
        ]
        noted += [(f"skipped, {why}", runs) for why, runs in written.left_out.items()]
        for words, folders in noted:
            echo(f"{words}: {name_runs(folders)}")
        echo(
            f"{written.page}  ({written.bytes / 1e6:.1f} MB; the same folder has summary.md, .tex, .csv and figures/)"
        )
    if open_:
        import webbrowser

        page = Path(written.page)
        if not webbrowser.open(page.resolve().as_uri()):
            echo(f"no browser found; open {page} yourself", err=True)
