"""`nikawa build --amend`: release a corrected version of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nikawa.cli._show import print_json, print_table, status
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.recipes.amend import AmendReport, Options

SHOWN = 20
"""Corrections shown; all of them are in the changelog."""


def run_amend(
    spec: str,
    relabel: Path | None,
    out: Path | None,
    data: Path | None,
    how: Options,
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Amend, and tell what was corrected and which scores move."""
    from nikawa.recipes.amend import amend

    if relabel is None:
        raise BadInput(
            f"{spec}: which answers are corrected?", cure="say --relabel FILE; see docs/release.md"
        )
    if out is None:
        raise BadInput(f"{spec}: into which folder?", cure="say --out DIR")
    with status(f"amending {spec}", quiet or json):
        report = amend(spec, relabel, out, data=data, options=how)
    if json:
        print_json(report)
    elif not quiet:
        show(report)


def show(report: AmendReport) -> None:
    """The corrections, the scores that move, and where the release is."""
    from nikawa.cli._examples import answer_text
    from nikawa.recipes.changelog import SCORE_COLUMNS, moves_told, score_row

    release = report.release
    rows = [
        (c.example, c.question, answer_text(c.before), answer_text(c.after), c.why, c.by)
        for c in release.corrections[:SHOWN]
    ]
    print_table(("example", "question", "before", "after", "why", "by"), rows)
    if len(release.corrections) > SHOWN:
        typer.echo(f"… and {len(release.corrections) - SHOWN:,} more: CHANGELOG.md has them all")
    moved = [score for score in release.scores if score.moves]
    if moved:
        print_table(SCORE_COLUMNS, [score_row(score) for score in moved], numbers=SCORE_COLUMNS[4:])
    if release.scores:
        typer.echo(moves_told(release.scores))
    for note in release.notes:
        typer.echo(note)
    sizes = ", ".join(f"{split} {count:,}" for split, count in report.splits.items())
    said = f"{report.dataset} {release.previous} -> {release.version}, {len(release.corrections):,} corrected"
    typer.echo(f"{said} ({sizes}) written to {report.out}")
