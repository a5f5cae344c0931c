"""`nikawa recheck`: the answers that a machine and the other workers contradict, for a second look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    EmptySpans,
    Json,
    JudgementForm,
    Offsets,
    Overwrite,
    Question,
    Quiet,
    SheetColumns,
    complete_datasets,
)
from nikawa.cli.terminal.output import echo, format_count, print_result, print_table, status

if TYPE_CHECKING:
    from nikawa.aggregation.recheck import RecheckReport

PANEL = "Build"
EXAMPLE = "Example: nikawa recheck judgements.jsonl --question label --out doubtful.jsonl"
COLUMNS = ("example", "worker", "answer", "other workers", "machines", "doubt")
MAX_SHOWN = 20
MAX_CHARS = 40


def recheck(
    judgements: Annotated[
        str,
        typer.Argument(
            help="judgements.jsonl with answers of persons and of machines, or another tool's file.",
            autocompletion=complete_datasets,
        ),
    ],
    question: Question = None,
    margin: Annotated[
        float,
        typer.Option(
            help="Of numbers: how far an answer must be from the machine and from the other workers."
        ),
    ] = 1.5,
    out: Annotated[
        Path | None, typer.Option(help="Write the whole list to this file, as JSON lines.")
    ] = None,
    empty: EmptySpans = "none",
    offsets: Offsets = None,
    columns: SheetColumns = None,
    form: JudgementForm = None,
    overwrite: Overwrite = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the answers of persons that a machine and the other workers contradict, the most doubtful first."""
    from nikawa.aggregation.recheck import RecheckOptions
    from nikawa.io.judgements import parse_options

    how, question = parse_options(form, columns, question, empty=empty, offsets=offsets)
    options = RecheckOptions(question=question, margin=margin, how=how)
    with status(f"comparing the answers of {judgements}", quiet or json):
        report = api.recheck(judgements, data=data, options=options, out=out, overwrite=overwrite)
    print_result(report, show, json=json, quiet=quiet)
    if out is not None and not json and not quiet:
        echo(f"{format_count(report.by_both, 'answer')} written to {out}")


def show(report: RecheckReport) -> None:
    """Print the first rows and the counts."""
    rows = [
        (
            row.example,
            row.worker,
            _shorten(row.answer),
            _shorten(list(row.others.values())),
            _shorten(list(row.machines.values())),
            f"{row.doubt:.2f}",
        )
        for row in report.doubtful[:MAX_SHOWN]
    ]
    if rows:
        print_table(COLUMNS, rows, numbers=("doubt",))
    if len(report.doubtful) > MAX_SHOWN:
        echo(f"… and {len(report.doubtful) - MAX_SHOWN:,} more; --out FILE or --json has them all")
    echo(describe(report))
    for name, accuracy in report.machine_accuracy.items():
        echo(f"{name} gives the label of the persons in {accuracy:.1%} of the cases (estimated)")


def describe(report: RecheckReport) -> str:
    """One line on what to look at, and what the machine saves."""
    if not report.compared:
        return "No item has answers of two persons and of a machine: nothing can be compared."
    return (
        f"{report.question}: of {format_count(report.compared, 'answer')} compared, the other workers contradict "
        f"{report.by_others:,}; with a machine, {report.by_both:,} in {format_count(report.items_to_check, 'item')} are on the list."
    )


def _shorten(value: object) -> str:
    """An answer, or several, in a cell."""
    from nikawa.printable import cut_middle

    values = value if isinstance(value, list) and value else [value]
    return cut_middle(", ".join(map(str, values)), MAX_CHARS)
