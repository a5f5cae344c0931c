"""Fetching with a bar a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nikawa.cli._show import console

if TYPE_CHECKING:
    from nikawa.datasets.fetch import Summary


def fetch_with_bar(
    name: str, data: Path | None, *, base: str | None, overwrite: bool, quiet: bool
) -> Summary:
    """Fetch a dataset or suite, showing each file's progress on a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from nikawa.datasets.fetch import fetch

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    shown = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=console(stderr=True), disable=not shown) as bar:
        summary = fetch(name, data, base=base, overwrite=overwrite, progress=_Bars(bar))
    if not quiet:
        _say(summary)
    return summary


class _Bars:
    """A bar a file, made when the file is first heard of."""

    def __init__(self, bar: Any) -> None:
        self.bar, self.rows = bar, {}  # type: ignore[var-annotated]

    def __call__(self, place: str, done: int, total: int | None) -> None:
        if place not in self.rows:
            self.rows[place] = self.bar.add_task(place, total=total)
        self.bar.update(self.rows[place], completed=done, total=total)


def _say(summary: Summary) -> None:
    for file in summary.files:
        typer.echo(f"{file.outcome:8} {file.bytes:>12,}  {file.place}")
    for note in summary.notes:
        typer.echo(note, err=True)
