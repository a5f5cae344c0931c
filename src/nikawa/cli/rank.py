"""`nikawa rank`: rank articles by the links between them.

It reads a table of links, computes PageRank, and writes the names that `nikawa clean --only` takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nikawa.cli.terminal.options import Json, Overwrite, Quiet
from nikawa.cli.terminal.output import echo, print_json, print_table, status

PANEL = "Build"
EXAMPLE = "Example: nikawa rank links.tsv -n 10000 --out articles.tsv"
MAX_ARTICLES_SHOWN = 20


def rank(
    links: Annotated[Path, typer.Argument(help="One link per line: source, tab, target.")],
    count: Annotated[
        int, typer.Option("-n", help="How many of the best articles to take.", min=1)
    ] = 10_000,
    sample: Annotated[
        int | None, typer.Option(help="Draw this many of them at random.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for the random draw.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write name and rank to this file (for clean --only).")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank articles by PageRank over their links, as for JSQuAD."""
    from nikawa.cleaning.rank import rank_articles

    with status("ranking", quiet or json):
        report = rank_articles(links, count, sample=sample, seed=seed, out=out, overwrite=overwrite)
    if json:
        print_json([{"article": name, "rank": score} for name, score in report])
    elif not quiet:
        rows = [
            (i, name, f"{score:.6g}")
            for i, (name, score) in enumerate(report[:MAX_ARTICLES_SHOWN], start=1)
        ]
        print_table(("", "article", "rank"), rows, numbers=("", "rank"))
        if len(report) > MAX_ARTICLES_SHOWN:
            echo(f"… and {len(report) - MAX_ARTICLES_SHOWN:,} more")
        if out is not None:
            echo(f"Written to {out}")
