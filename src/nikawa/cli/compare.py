"""`nikawa compare`: is B really better than A?"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.analyse.result_parts import NO_INTERVAL, TOO_FEW
from nikawa.cli._show import (
    Data,
    Json,
    Quiet,
    complete_tasks,
    print_json,
    print_rendered,
    print_table,
    status,
)
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.jobs.compare import Comparison, PairResult

SYSTEMS = ("task", "metric", "system", "score", "sd", "runs", "ties")
PAIRS = (
    "task", "metric", "pair", "n", "difference", "95% interval", "p", "p (Holm)", "McNemar", "effect", "detectable",
    "won/lost/tied",
)  # fmt: skip
NUMBERS = ("score", "sd", "runs", "n", "difference", "effect", "p", "p (Holm)", "McNemar", "detectable")


PANEL = "Evaluate"


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "compare", rich_help_panel=PANEL, epilog="Example: nikawa compare a.jsonl b.jsonl --task jnli"
    )(compare)


def compare(
    systems: Annotated[list[str], typer.Argument(help="Answer files; NAME=FILE names one; a comma joins seeds: b=1.jsonl,2.jsonl.")],
    task: Annotated[list[str], typer.Option(help="The task; may be repeated, then each system is a folder.", autocompletion=complete_tasks)],
    split: Annotated[str | None, typer.Option(help="The split; else the one whose ids fit.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Count wins and losses by tag, source, …")] = None,
    items: Annotated[int, typer.Option(help="How many of the items where they differ to list.", min=0)] = 0,
    rounds: Annotated[int, typer.Option(help="Resamples and random swaps.", min=100)] = 10_000,
    style: Annotated[str | None, typer.Option("--as", help="markdown, latex or csv.")] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Compare on hidden items too: only for whoever holds their labels.")] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compare systems on the same items: paired tests, intervals, ties."""
    from nikawa.jobs.compare import compare as run
    from nikawa.jobs.score import Options

    with status("comparing", quiet or json):
        how = Options(by=tuple(by or ()), hidden=hidden)
        found = run(task, named(systems), split=split, data=data, options=how, rounds=rounds)
    if json:
        print_json(found)
    elif not quiet:
        _show(found, style, items)


def named(systems: list[str]) -> dict[str, list[Path]]:
    """`b=1.jsonl,2.jsonl` as a name and its files; without a name, the file's own."""
    found: dict[str, list[Path]] = {}
    for given in systems:
        name, equals, files = given.partition("=")
        paths = [Path(file) for file in (files if equals else given).split(",")]
        label = name if equals else paths[0].stem or str(paths[0])
        label = str(paths[0]) if label in found else label
        if label in found:
            raise BadInput(f"{label!r} is given twice", cure="name the systems: a=FILE b=FILE")
        found[label] = paths
    return found


def _show(found: Comparison, style: str | None, items: int) -> None:
    systems = [
        (s.task, s.metric, s.system, _number(s.value), _number(s.sd), str(s.runs), s.ties)
        for s in found.systems
    ]
    pairs = [_pair(pair) for pair in found.pairs]
    if style is not None:
        print_rendered(SYSTEMS, systems, style, numbers=NUMBERS)
        return print_rendered(PAIRS, pairs, style, numbers=NUMBERS)
    print_table(SYSTEMS, systems, numbers=NUMBERS)
    print_table(PAIRS, pairs, numbers=NUMBERS)
    if found.slices:
        rows = [(s.task, f"{s.second} - {s.first}", s.where, s.wins, s.losses, s.ties) for s in found.slices]
        print_table(("task", "pair", "where", "won", "lost", "tied"), rows, numbers=("won", "lost", "tied"))
    for title, ids in found.differing.items():
        shown = f": {', '.join(ids[:items])}" if items else ""
        typer.echo(f"{title}: they differ on {len(ids):,} items{shown}")
    if any(isnan(pair.low) for pair in found.pairs):
        typer.echo(f"{NO_INTERVAL}: {TOO_FEW}")
    typer.echo("Systems that share a letter cannot be told apart at 5% after Holm's correction.")
    return None


def _pair(pair: PairResult) -> tuple[str, ...]:
    return (
        pair.task,
        pair.metric,
        f"{pair.second} - {pair.first}",
        f"{pair.n:,}",
        f"{pair.difference:+.4g}",
        NO_INTERVAL if isnan(pair.low) else f"{pair.low:+.4g} to {pair.high:+.4g}",
        f"{pair.p:.4f}",
        f"{pair.p_holm:.4f}",
        "" if pair.p_mcnemar is None else f"{pair.p_mcnemar:.4f}",
        "" if pair.effect is None else f"{pair.effect:+.2f}",
        f"{pair.smallest:.4g}",
        f"{pair.wins}/{pair.losses}/{pair.ties}" if pair.wins + pair.losses + pair.ties else "",
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
