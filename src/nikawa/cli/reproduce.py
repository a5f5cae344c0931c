"""`nikawa reproduce`: recompute the figures of papers from the published files.

Each figure has a verdict: equal, slip (the paper's own files or arithmetic give another number),
version, absent or differs; see `nikawa.reproduce.job`. The exit status is 1 if one differs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import Data, Json, Quiet, complete_from
from nikawa.cli.terminal.output import echo, print_json, print_rendered, print_table, status

if TYPE_CHECKING:
    from nikawa.reproduce.job import FigureResult

PANEL = "Data"
EXAMPLE = "Example: nikawa reproduce jsick --markdown"

STYLES = {
    "equal": "green",
    "slip": "yellow",
    "version": "cyan",
    "absent": "dim",
    "differs": "bold red",
}
PAPERS = ("jglue", "klue", "jsick", "jamp")
COLUMNS = ("figure", "paper", "recomputed", "verdict", "note")


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="jglue, klue, jsick or jamp.", autocompletion=complete_from(*PAPERS)),
    ],
    data: Data = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            help="Show only figures with this verdict.", autocompletion=complete_from(*STYLES)
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute the figures of a paper. Exit with status 1 if one differs without an explanation."""
    from nikawa.datasets.locate import VARIABLE, require_folder
    from nikawa.errors import BadInput, unknown
    from nikawa.reproduce.job import reproduce as run

    require_folder(data)
    if data is not None and not data.is_dir():  # a folder that does not exist reproduces nothing
        cure = f"set {VARIABLE} to the folder that holds the repositories (jglue/, jsick/, …)"
        raise BadInput("no such folder", file=data, cure=cure)
    if verdict is not None and verdict not in STYLES:
        raise unknown("verdict", verdict, STYLES)
    with status(f"recomputing the figures of {paper}", quiet):
        results = run(paper, data)
    shown = [r for r in results if verdict in (None, r.verdict)]
    if json:
        print_json(shown)
    elif markdown:
        rows = [
            (r.figure, format_figure(r.paper), format_figure(r.recomputed), r.verdict, r.note)
            for r in shown
        ]
        print_rendered(COLUMNS, rows, "markdown", numbers=COLUMNS[1:3])
    elif not quiet:
        print_figures(shown, results)
    raise typer.Exit(int(any(r.verdict == "differs" for r in results)))


def print_figures(shown: list[FigureResult], results: list[FigureResult]) -> None:
    """Print printed and recomputed figures side by side, then the counts."""
    from rich.text import Text

    rows = [
        (
            r.figure,
            format_figure(r.paper),
            format_figure(r.recomputed),
            Text(r.verdict, STYLES[r.verdict]),
            r.note,
        )
        for r in shown
    ]
    print_table(COLUMNS, rows, numbers=COLUMNS[1:3])
    counts = Counter(str(r.verdict) for r in results)
    echo(", ".join(f"{counts[v]} {v}" for v in STYLES if counts[v]))


def format_figure(value: float | None) -> str:
    """Format a number for people: thousands separators, at most four decimals.

    >>> format_figure(20073), format_figure(87.5), format_figure(87.0)
    ('20,073', '87.5', '87.0')
    """
    if value is None:
        return ""
    if float(value).is_integer() and not isinstance(value, float):
        return f"{value:,}"
    text = f"{value:,.4f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text
