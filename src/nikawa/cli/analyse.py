"""`nikawa analyse`: how good runs are, how sure that is, and where they fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli._show import Data, Json, Quiet, print_json, progress

if TYPE_CHECKING:
    from nikawa.analysis.job import How
    from nikawa.analysis.stored import Analyses

PANEL = "Evaluate"


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "analyse", rich_help_panel=PANEL, epilog="Example: nikawa analyse runs --by tag --by source"
    )(analyse)


def analyse(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="A run's folder, a folder of runs, or a pattern; several belong together."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write; else analyses/ beside the runs.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Slice by tag, gold, bin, length, part or a key of meta; may be repeated; else by all that fit.",
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="A metric instead of the task's first.")] = "",
    tokeniser: Annotated[
        str | None,
        typer.Option(
            "--tokeniser",
            "--tokenizer",
            "-t",
            help="Segmentation of the overlap: ipadic, juman, kiwi, characters, …, or none.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Surprising errors and suspects to list.", min=1)] = 50,
    workers: Annotated[
        int, typer.Option("--workers-each", help="Workers to judge each suspect.", min=1)
    ] = 3,
    resamples: Annotated[int, typer.Option(help="Resamples of the intervals.", min=100)] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.", min=0)] = 0,
    rows: Annotated[int, typer.Option("-n", help="Rows of each table to show.", min=0)] = 20,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the analyses that are there.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Slices, confusion, calibration, overlap, surprising errors and suspected label errors of stored runs."""
    from nikawa.analysis.job import How, place_of, sheets_of

    how = How(tuple(by or ()), metric, resamples, seed, tokeniser, top, workers)
    found = _run(runs, (out, data, overwrite), how, quiet or json)
    place = place_of(runs, out)
    sheets = sheets_of(place, found)
    if json:
        print_json(
            {
                "index": found.index,
                "analyses": found.each,
                "across": found.across,
                "collect": sheets,
            }
        )
    elif not quiet:
        from nikawa.cli._analyse_show import show

        show(found, rows)
        typer.echo(f"Written to {place}")
        for command in list(sheets.values())[:rows]:
            typer.echo(f"To have workers look at suspects again: {command}")


def _run(
    runs: list[str], places: tuple[Path | None, Path | None, bool], how: How, quiet: bool
) -> Analyses:
    from nikawa.analysis.job import analyse as run

    out, data, overwrite = places
    with progress(quiet) as bar:
        shown = bar.add_task("reading", total=None)
        return run(
            runs,
            out=out,
            data=data,
            how=how,
            overwrite=overwrite,
            progress=lambda what, done, total: bar.update(
                shown, description=what, completed=done, total=total
            ),
        )
