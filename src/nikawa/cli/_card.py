"""`nikawa data card`: the card of a folder of one's own splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nikawa.cli._show import Json, Quiet, print_json
from nikawa.errors import BadInput, listed


def card(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with train.jsonl, dev.jsonl, test.jsonl or other splits."),
    ],
    say: Annotated[
        list[str] | None,
        typer.Option(
            help="What the card is to say: name=my-nli, version=1.0, licence=…, source=…, citation=…; may be repeated.",
            metavar="FIELD=TEXT",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Add to the card that is there; it keeps what it says."),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the card of a dataset folder, every field there to be filled in."""
    from nikawa.datasets.card import make_card

    report = make_card(folder, fields_said(say or (), "--say"), overwrite=overwrite)
    if json:
        print_json(report)
    elif not quiet:
        typer.echo(f"Written to {report.path}.")
        if report.unstated:
            typer.echo(
                f"Not stated yet: {listed(report.unstated)}; docs/records.md tells what each is for."
            )


def fields_said(texts: Sequence[str], option: str) -> dict[str, str]:
    """`licence=CC0` as field and text."""
    pairs = [text.partition("=") for text in texts]
    odd = next(
        (text for text, (*_, value) in zip(texts, pairs, strict=True) if not value.strip()), None
    )
    if odd is not None:
        raise BadInput(
            f"{option} {odd!r} says nothing", cure=f"write it as {option} licence='CC BY 4.0'"
        )
    names = [name.strip() for name, *_ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{option} says {twice!r} twice", cure="say each field once")
    return {name: value.strip() for name, (*_, value) in zip(names, pairs, strict=True)}
