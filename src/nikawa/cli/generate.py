"""`nikawa generate`: a dataset from templates, with computed labels.

It writes a dataset folder and resumes where it was interrupted. With `--gate`, the exit status is 1
if words still give the labels away.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    ClusterAddress,
    Data,
    ExecutorName,
    Json,
    Processes,
    Quiet,
)
from nikawa.cli.terminal.output import (
    echo,
    explain_interrupt,
    format_count,
    name_first,
    print_result,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from nikawa.generation.job import GenerateReport

PANEL = "Probe"
EXAMPLE = "Example: nikawa generate temporal-ja -n 10 --per cell --seed 1 --out my-temporal"
MAX_NAMES_SHOWN = 8
"""Cells or tokens to show of a list; the JSON has all of them."""


def complete_packs(incomplete: str) -> list[str]:
    """Complete the packs that come with Nikawa."""
    from nikawa.generation.pack import pack_names

    return [name for name in pack_names() if name.startswith(incomplete)]


def generate(
    pack: Annotated[
        str,
        typer.Argument(
            help="An included pack (temporal-ja, negation-ko, …), a pack folder or a template file.",
            autocompletion=complete_packs,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the dataset.")],
    n: Annotated[
        list[str] | None,
        typer.Option(
            "-n",
            help="Problems per cell: 10 for the first split, test=2 for another; default: as in the pack.",
        ),
    ] = None,
    per: Annotated[str, typer.Option(help="What -n counts: cell, or total.")] = "cell",
    seed: Annotated[int, typer.Option(help="Seed for words and times.")] = 0,
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="Also write a training split of the pack (template-easy, …; all); may be repeated."
        ),
    ] = None,
    shards: Annotated[
        int,
        typer.Option(
            help="Write each split to this many files; a killed command keeps the finished files when you start it again.",
            metavar="N",
            min=0,
        ),
    ] = 0,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate", help="Repeat until the artifact test passes, or report why it cannot."
        ),
    ] = False,
    gate_over: Annotated[
        int, typer.Option(help="Pairs over the line that the gate allows.", metavar="N", min=0)
    ] = 0,
    tokeniser: Annotated[
        str | None,
        typer.Option(
            "--tokeniser",
            "--tokenizer",
            "-t",
            help="Tokeniser for the gate; default: the language's.",
        ),
    ] = None,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing dataset.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate a dataset from a pack of templates: the same number of problems of every kind, with computed labels."""
    from nikawa.generation.job import GenerateOptions, is_resumable

    options = GenerateOptions(
        counts=dict(map(parse_count, n or ())),
        per=per,
        seed=seed,
        splits=tuple(split or ()),
        workers=workers,
        executor=executor,
        address=address,
        overwrite=overwrite,
        gate=gate_over if gate else None,
        tokeniser=tokeniser,
        shards=shards,
    )
    with (
        explain_interrupt(lambda: is_resumable(out)),
        progress_bar("generating", quiet or json) as bar,
    ):
        report = api.generate(
            pack,
            out,
            data=data,
            options=options,
            on_progress=bar.update,
        )
    print_result(report, print_report, json=json, quiet=quiet)
    raise typer.Exit(int(report.gate is not None and not report.gate.passed))


def parse_count(text: str) -> tuple[str, int]:
    """Parse `-n` into split and number: `10` is for the first split, `test=2` for another.

    >>> parse_count("10"), parse_count("test=2")
    (('', 10), ('test', 2))
    """
    from nikawa.errors import BadInput

    name, _, number = text.rpartition("=")
    if not number.isdecimal():
        raise BadInput(f"-n {text} is not a number", cure="write -n 10, or -n test=2")
    return name, int(number)


def print_report(report: GenerateReport) -> None:
    """Print the size of every split, what is missing and the result of the artifact gate."""
    rows = [
        (name, split.problems, split.cells, *(split.labels.get(label, 0) for label in LABELS))
        for name, split in report.splits.items()
    ]
    columns = ("split", "problems", "cells", *LABELS)
    print_table(columns, rows, numbers=columns[1:])
    if report.unreachable:
        echo(
            f"Out of reach: {format_count(len(report.unreachable), 'cell')}, {name_first(report.unreachable, MAX_NAMES_SHOWN)}"
        )
    if report.short:
        short = [f"{name} ({n})" for name, n in report.short.items()]
        echo(
            f"Fewer problems than requested: {format_count(len(short), 'cell')}, {name_first(short, MAX_NAMES_SHOWN)}"
        )
    print_shortfall(report)
    if report.gate is not None:
        print_gate(report)
    if report.gate is None or report.gate.passed:
        echo(f"Written to {report.folder}, seed {report.seed}.")


def print_shortfall(report: GenerateReport) -> None:
    """Yield what is missing from the request, split by split."""
    for split, n in report.asked.items():
        made = report.splits[split]
        each = f"{made.per:,} from each of {format_count(made.cells, 'cell')}"
        echo(f"{split}: {made.problems:,} of the {n:,} requested problems, {each}.")
    for split, names in report.untested.items():
        echo(
            f"No words separate {split} from the other splits, so it has no problems of: {name_first(names, MAX_NAMES_SHOWN)}"
        )
    for split, n in report.repeated.items():
        whole = report.splits[split].problems
        echo(
            f"Duplicates: {n:,} of {whole:,} problems of {split}; add words, or request fewer problems."
        )


LABELS = ("entailment", "contradiction", "neutral")


def print_gate(report: GenerateReport) -> None:
    """Print whether words give labels away."""
    gate = report.gate
    assert gate is not None
    tries = f"{report.attempt + 1} attempt{'s' if report.attempt else ''}"
    for number, names in enumerate(report.failed or (), 1):
        count = format_count(len(names), "pair")
        echo(f"Attempt {number}: {count} over the line: {name_first(names, MAX_NAMES_SHOWN)}")
    over = f"{format_count(len(gate.over), 'pair')} over the line, {gate.allowed:,} allowed ({gate.tokeniser}, {tries})"
    if gate.passed:
        echo(f"Gate: passed, {over}.")
        return
    echo(f"Gate: failed, {over}; nothing was written.")
    if not gate.impossible:
        pairs = [f"{pair.token} {pair.label}" for pair in gate.over]
        echo(f"More attempts did not help with: {name_first(pairs, MAX_NAMES_SHOWN)}")
        return
    echo("Other words cannot help: these literals give the label away:")
    for culprit in gate.impossible[:MAX_NAMES_SHOWN]:
        echo(f"  {culprit.sentence()}")
    if len(gate.impossible) > MAX_NAMES_SHOWN:
        echo(f"  … {len(gate.impossible) - MAX_NAMES_SHOWN:,} more; --json has all of them.")
