"""`nikawa perturb`: change the particles, the order or the surface of texts, and link each to its
original.

Without an operation it lists the operations. It writes a dataset in which each example names its
parent, so that `nikawa stress` can compare the answers.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    ClusterAddress,
    Data,
    DrawSeed,
    ExecutorName,
    Json,
    Overwrite,
    Processes,
    Quiet,
    Shards,
    complete_datasets,
)
from nikawa.cli.terminal.output import (
    echo,
    explain_interrupt,
    print_json,
    print_result,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from nikawa.perturbation.job import PerturbReport

PANEL = "Probe"
EXAMPLE = "Example: nikawa perturb swap --case o mini-ja --split dev --out swapped.jsonl"
MAX_REASONS_SHOWN = 3
"""Reasons to show per operation."""


class AugmentGold(StrEnum):
    """Complete the label of additions whose meaning changed."""

    random = "random"
    neutral = "neutral"


def complete_operations(incomplete: str) -> list[str]:
    """Complete families, groups and names of operations."""
    from nikawa.perturbation import perturbations
    from nikawa.perturbation.selection import FAMILIES, GROUPS

    names = {*FAMILIES, *GROUPS, *(p.name for p in perturbations().values())}
    return sorted(name for name in names if name.startswith(incomplete))


def perturb(
    operation: Annotated[
        str | None,
        typer.Argument(
            help="scramble, swap, delete, particles, surface, or the name of an operation; separate several with commas. Without one, the command lists all.",
            autocompletion=complete_operations,
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Argument(help="A dataset, folder or records file.", autocompletion=complete_datasets),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            "-c",
            help="The case particle: o, ni or de (Korean: eul, e or eseo); may be repeated; default: all.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this records file, or to a dataset folder with one split per operation."
        ),
    ] = None,
    shards: Shards = False,
    split: Annotated[str | None, typer.Option(help="Use only this split.")] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", help="Change this input (premise, hypothesis, …); may be repeated."
        ),
    ] = None,
    assume: Annotated[
        bool,
        typer.Option("--assume-eligible", help="Rewrite every text that can be rewritten."),
    ] = False,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            help="Refuse a particle rewrite below this confidence, from 0 to 1; default: 0.5.",
            min=0,
            max=1,
        ),
    ] = None,
    parser: Annotated[
        str | None,
        typer.Option(
            help="Refuse particle rewrites that this parser reads otherwise: ginza (Japanese); default: none."
        ),
    ] = None,
    augment: Annotated[
        int | None, typer.Option(help="Write this many training additions of each kind.", min=1)
    ] = None,
    augment_gold: Annotated[
        AugmentGold, typer.Option(help="Label of additions whose meaning changed.")
    ] = AugmentGold.random,
    seed: DrawSeed = 0,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    overwrite: Overwrite = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rewrite examples and link each to its original, to test whether a model reads particles."""
    from nikawa.errors import BadInput
    from nikawa.io.growing import is_unfinished
    from nikawa.perturbation.job import PerturbOptions

    if operation is None:
        from nikawa.perturbation import perturbations

        operations = perturbations().values()
        if json:
            names = ("name", "language", "effect", "title", "inputs", "analysers")
            return print_json([{name: getattr(p, name) for name in names} for p in operations])
        rows = [(p.name, p.language or "any", p.effect, p.title) for p in operations]
        return print_table(("operation", "language", "label", "what it does"), rows)
    if dataset is None:
        raise BadInput(
            f"{operation}: the dataset is missing", cure="run: nikawa perturb OPERATION DATASET"
        )
    options = PerturbOptions(
        cases=tuple(case or ()),
        split=split,
        inputs=tuple(inputs or ()),
        assume_eligible=assume,
        min_confidence=min_confidence,
        parser=parser,
        seed=seed,
        augment=augment,
        augment_gold=augment_gold.value,
        out=out,
        overwrite=overwrite,
        workers=workers,
        executor=executor,
        address=address,
        shards=shards,
    )
    with (
        explain_interrupt(lambda: out is not None and is_unfinished(out)),
        progress_bar(f"perturbing {dataset}", quiet or json) as bar,
    ):
        report = api.perturb(
            operation,
            dataset,
            data=data,
            options=options,
            on_progress=bar.update_stage,
        )
    print_result(report, show, json=json, quiet=quiet)
    return None


def show(report: PerturbReport) -> None:
    """Print counts by operation, and some of the texts."""
    columns = ("operation", "label", "examples", "eligible", "rewritten", "skipped")
    rows = [
        (o.operation, o.effect, o.examples, o.eligible, o.rewritten, o.skipped)
        for o in report.operations
    ]
    print_table(columns, rows, numbers=columns[2:])
    print_skipped(report)
    most = 3 if len(report.operations) <= 3 else 1
    texts = [
        (o.operation, s.example, s.before, s.after)
        for o in report.operations
        for s in o.samples[:most]
    ]
    if texts:
        print_table(("operation", "id", "original", "rewritten"), texts)
    if report.out is not None:
        echo(f"{report.written:,} examples written to {report.out}")


def print_skipped(report: PerturbReport) -> None:
    """Print why examples were skipped; operations with the same counts share a row.

    The JSON has all reasons.
    """
    alike: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for done in report.operations:
        alike.setdefault(tuple(done.reasons.items()), []).append(done.operation)
    rows: list[tuple[str, str, int]] = []
    for reasons, names in alike.items():
        shown, rest = reasons[:MAX_REASONS_SHOWN], reasons[MAX_REASONS_SHOWN:]
        others = [("other reasons", sum(n for _, n in rest))] if rest else []
        rows += [(", ".join(names), why, n) for why, n in (*shown, *others)]
    if rows:
        print_table(("operation", "skipped because", "examples"), rows, numbers=("examples",))
