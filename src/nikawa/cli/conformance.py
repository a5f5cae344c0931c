"""`nikawa conformance`: compare Nikawa's metrics with the values of the official functions.

A golden file holds inputs and the values that the official functions returned for them. The exit
status is 1 if a case fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import Json, Quiet
from nikawa.cli.terminal.output import echo, print_json, print_table

if TYPE_CHECKING:
    from nikawa.scoring.conformance import GroupResult

PANEL = "Data"
EXAMPLE = "Example: nikawa conformance golden.json"


def conformance(
    file: Annotated[
        Path, typer.Argument(help="A file with inputs and the results of the official scorers.")
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare Nikawa's metrics with results of the official scorers, stored in a file. Exit with status 1 if one differs."""
    from nikawa.aggregation.golden import GOLDEN
    from nikawa.cli.terminal.output import status
    from nikawa.scoring.conformance import check_conformance

    with status(f"running the cases of {file.name}", quiet):
        report = check_conformance(file, GOLDEN)
    if json:
        print_json(report)
    elif not quiet:
        from rich.text import Text

        rows = [
            (
                g.name,
                g.cases,
                Text(str(g.passed), "bold red" if g.failures else "green"),
                first_failure(g),
            )
            for g in report.groups
        ]
        print_table(
            ("group", "cases", "passed", "first failure"), rows, numbers=("cases", "passed")
        )
        cases = sum(g.cases for g in report.groups)
        echo(f"{len(report.groups)} groups, {cases:,} cases, {report.failed:,} failed")
    raise typer.Exit(int(report.failed > 0))


def first_failure(group: GroupResult) -> str:
    """Return one line about the first failed case, or an empty text."""
    if not group.failures:
        return ""
    first = group.failures[0]
    return f"{first.id}: {first.why}" if first.id else first.why
