"""`nikawa pair`: from sentences to pairs that workers can judge.

Without a method it lists the methods. The file holds one sentence per line, or records with the image
or intent that a method needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    ClusterAddress,
    ExecutorName,
    Json,
    Overwrite,
    Processes,
    Quiet,
    complete_from,
)
from nikawa.cli.terminal.output import echo, print_json, print_result, print_table, progress_bar

if TYPE_CHECKING:
    from nikawa.pairing.job import PairReport

PANEL = "Build"
EXAMPLE = "Example: nikawa pair greedy sentences.txt --units characters --out pairs.jsonl"


def complete_methods(incomplete: str) -> list[str]:
    """Complete the pairing methods."""
    from nikawa.pairing import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def pair(
    method: Annotated[
        str | None,
        typer.Argument(
            help="greedy, greedy-global, same-image, different-image, same-intent, different-intent or round-trip. Without a method, the command lists all.",
            autocompletion=complete_methods,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(help="A text file with one sentence per line, or a records file."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the pairs to this records file.")] = None,
    rouge: Annotated[
        str,
        typer.Option(
            help="ROUGE variant for greedy matching: 1, 2 or L.",
            autocompletion=complete_from("1", "2", "L"),
        ),
    ] = "L",
    units: Annotated[
        str,
        typer.Option(
            help="Units for ROUGE: words (separated by spaces), characters, or morphemes of an analyser (ja, ko, …).",
            autocompletion=complete_from("words", "characters", "ja", "ko"),
        ),
    ] = "words",
    field: Annotated[
        str | None, typer.Option(help="The metadata key of the image or intent.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="Pair only sentences with the same value of this metadata key (topic, …)."
        ),
    ] = None,
    most: Annotated[int, typer.Option(help="Maximum pairs per image or intent.", min=1)] = 1,
    translator: Annotated[
        list[str] | None,
        typer.Option(
            help="A command that translates line by line; pass it twice, for both directions."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Time limit of a translator in seconds; default: none.", min=0.1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for random choices.", min=0)] = 0,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Pair sentences for a similarity or inference task, from very similar to dissimilar."""
    from nikawa.errors import BadInput
    from nikawa.pairing import METHODS
    from nikawa.pairing.job import PairOptions

    if method is None:
        return print_json(METHODS) if json else print_table(("method", "pairs"), METHODS.items())
    if file is None:
        raise BadInput(
            f"{method}: the file of sentences is missing",
            cure="run: nikawa pair METHOD FILE --out PAIRS",
        )
    options = PairOptions(
        rouge=rouge,
        units=units,
        field=field,
        within=within,
        most=most,
        translators=tuple(translator or ()),
        seconds=seconds,
        seed=seed,
        out=out,
        overwrite=overwrite,
        workers=workers,
        executor=executor,
        address=address,
    )
    with progress_bar(f"pairing {file.name}", quiet or json) as bar:
        report = api.pair(
            method,
            file,
            options=options,
            on_progress=bar.update,
        )
    print_result(report, show, json=json, quiet=quiet)
    return None


def show(report: PairReport) -> None:
    """Print counts, and how similar the pairs are."""
    columns = (
        "method",
        "sentences",
        "pairs",
        "paired",
        "left alone",
        "mean ROUGE",
        "share nothing",
    )
    mean = "" if report.mean is None else f"{report.mean:.4f}"
    row = (
        report.method,
        report.sentences,
        report.pairs,
        report.paired,
        report.left,
        mean,
        report.zero,
    )
    print_table(columns, [row], numbers=columns[1:])
    for note in report.notes:
        echo(note)
    if report.out is not None:
        echo(f"{report.pairs:,} pairs written to {report.out}")
