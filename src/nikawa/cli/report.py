"""`nikawa report`: a page, tables and figures from stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import Data, Json, Quiet
from nikawa.cli.terminal.output import print_json, status

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa report runs --out report --open"
MAX_RUNS_NAMED = 3


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs: folders, folders of runs, or patterns.")],
    out: Annotated[
        Path, typer.Option(help="Write the page and what stands beside it to this folder.")
    ] = Path("report"),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "",
    digits: Annotated[
        int, typer.Option(help="Decimals of percentages; fractions get two more.", min=0, max=6)
    ] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(help="Resamples of paired tests; else 2,000, more for many tests.", min=100),
    ] = None,
    analyses: Annotated[
        bool, typer.Option(help="Analyse the runs: slices, confusion, calibration, …")
    ] = True,
    dataset: Annotated[
        bool, typer.Option(help="Tell of the dataset: agreement of workers, artifacts.")
    ] = True,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="Say on the page when it was made.")
    ] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the page.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier report.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about runs: scores with intervals and ties, slices, calibration, every example; tables for a paper."""
    from nikawa.reporting.job import ReportOptions

    options = ReportOptions(
        data,
        title,
        digits,
        rounds,
        analyses=analyses,
        dataset=dataset,
        made=_now() if stamp else "",
        overwrite=overwrite,
    )
    with status("reporting", quiet or json):
        written = api.report(runs, out, options)
    if json:
        print_json(written)
    elif not quiet:
        typer.echo(
            ", ".join(
                f"{n:,} {what}{'' if n == 1 else 's'}"
                for what, n in (
                    ("run", written.runs),
                    ("system", len(written.systems)),
                    ("task", len(written.tasks)),
                    ("example", written.examples),
                )
            )
        )
        for reason, folders in written.scored_again.items():
            names = ", ".join(folders[:MAX_RUNS_NAMED])
            more = ", …" if len(folders) > MAX_RUNS_NAMED else ""
            count = f"{len(folders):,} run{'' if len(folders) == 1 else 's'}"
            typer.echo(f"scored again, since {reason}: {names}{more} ({count})")
        typer.echo(
            f"{written.page}  ({written.bytes / 1e6:.1f} MB; beside it summary.md, .tex, .csv and figures/)"
        )
    if open_:
        page = Path(written.page)
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            typer.echo(f"no browser was found here: open {page} yourself", err=True)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
