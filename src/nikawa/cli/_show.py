"""How results are shown: aligned tables on a terminal, JSON for programs, nothing when quiet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WHOLE = 100_000
"""Columns of a line that is never folded."""


def complete_datasets(incomplete: str) -> list[str]:
    """Dataset names, and the splits of one once its name and a colon stand there."""
    from nikawa.datasets import benchmarks

    name, colon, _ = incomplete.partition(":")
    if colon and name in benchmarks():
        return [
            f"{name}:{split}"
            for split in benchmarks()[name].split_names()
            if f"{name}:{split}".startswith(incomplete)
        ]
    return [known for known in benchmarks() if known.startswith(incomplete)]


def complete_tasks(incomplete: str) -> list[str]:
    """Task, dataset and suite names."""
    from nikawa.datasets import benchmarks, suites, tasks

    return sorted(
        {name for name in (*tasks(), *benchmarks(), *suites()) if name.startswith(incomplete)}
    )


def complete_from(*words: str) -> Callable[[str], list[str]]:
    """The words that start as typed."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder with the published datasets.", envvar="NIKAWA_DATA", show_envvar=True
    ),
]


def console(stderr: bool = False) -> Console:
    """A console that folds at the terminal's width, and keeps lines whole in a file or a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    folds = stream.isatty() or "FORCE_COLOR" in os.environ
    return Console(stderr=stderr, highlight=False, width=None if folds else WHOLE)


def print_json(value: Any) -> None:
    """Print a value as indented JSON, text unescaped."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    numbers: Sequence[str] = (),
) -> None:
    """Print an aligned table; columns named in `numbers` are right-aligned. Full-width text lines up.

    On a narrow terminal words fold and numbers do not; columns that have no room stand in a further table below.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from nikawa.cli._fit import fitted

    screen = console()
    cells = [
        [cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row] for row in rows
    ]
    for short in (row for row in cells if len(row) < len(columns)):
        short.extend([Text()] * (len(columns) - len(short)))
    parts: list[dict[int, int]] = [dict.fromkeys(range(len(columns)), WHOLE)]
    if screen.width < WHOLE and columns:
        parts = fitted(columns, [[cell.plain for cell in row] for row in cells], screen.width)
    for number, part in enumerate(parts):
        name = title if not number else ""
        table = Table(title=name or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
        for i, width in part.items():
            justify: Any = "right" if columns[i] in numbers else "left"
            table.add_column(_folded(Text(columns[i]), width), justify=justify, overflow="fold")
        for row in cells:
            table.add_row(*(_folded(row[i], width) for i, width in part.items()))
        screen.print(table)


def _folded(cell: Text, width: int) -> Text:
    """A cell in lines of this width; one with marks inside is left to the table."""
    from rich.text import Text

    from nikawa.cli._fit import folded

    if width >= WHOLE or cell.spans:
        return cell
    return Text(folded(cell.plain, width), style=cell.style)


def print_rendered(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    notation: str,
    *,
    numbers: Sequence[str] = (),
) -> None:
    """Print a table as Markdown, LaTeX or CSV."""
    from nikawa.errors import unknown
    from nikawa.reporting.tables import NOTATIONS, Table

    if notation not in NOTATIONS:
        raise unknown("notation", notation, NOTATIONS)
    typer.echo(Table(columns, list(rows), numbers).render(notation))


def counted(n: int, noun: str) -> str:
    """A number with its noun: 1 template, 2,000 templates."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def progress(quiet: bool = False) -> Iterator[Any]:
    """A progress display on stderr: shown on a terminal only, gone when done."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    ) as bar:
        yield bar


@contextmanager
def status(what: str, quiet: bool = False) -> Iterator[None]:
    """A spinner on stderr for work of unknown length; nothing when quiet or not on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(what):
        yield
