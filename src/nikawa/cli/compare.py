"""`nikawa compare`: is B really better than A?

Each system is one or more files of answers to the same items, a file a seed. The report has the
systems with letters that tell which cannot be told apart, then a row a pair with its paired test.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    AnsweredSplit,
    Data,
    Json,
    LabelKeysFile,
    Quiet,
    TableStyle,
    complete_tasks,
    warn_of_mode,
)
from nikawa.cli.terminal.output import (
    UNDEFINED,
    echo,
    format_data_cell,
    print_rendered,
    print_result,
    print_table,
    progress_bar,
    score_digits,
)
from nikawa.errors import BadInput
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.scoring.compare import Comparison, PairResult

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa compare a.jsonl b.jsonl --task jnli"

SYSTEMS = ("task", "metric", "system", "score", "sd", "runs", "ties")
PAIRS = (
    "task",
    "metric",
    "pair",
    "n",
    "difference",
    "95% interval",
    "p",
    "p (Holm)",
    "McNemar",
    "effect",
    "detectable",
    "won/lost/tied",
)
NUMBERS = (
    "score",
    "sd",
    "runs",
    "n",
    "difference",
    "effect",
    "p",
    "p (Holm)",
    "McNemar",
    "detectable",
)
CSV = (
    "task",
    "metric",
    "unit",
    "first",
    "second",
    "n",
    "first_score",
    "first_sd",
    "first_runs",
    "first_ties",
    "second_score",
    "second_sd",
    "second_runs",
    "second_ties",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "p_mcnemar",
    "effect",
    "detectable",
    "won",
    "lost",
    "tied",
)
SMALLEST_P = 0.0001


def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Answer files; NAME=FILE names one; a comma joins seeds: b=1.jsonl,2.jsonl."
        ),
    ],
    task: Annotated[
        list[str],
        typer.Option(
            help="The task; may be repeated, then each system is a folder.",
            autocompletion=complete_tasks,
        ),
    ],
    split: AnsweredSplit = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Count wins and losses by tag, source, …")
    ] = None,
    items: Annotated[
        int, typer.Option(help="How many of the items where they differ to list.", min=0)
    ] = 0,
    rounds: Annotated[int, typer.Option(help="Resamples and random swaps.", min=100)] = 10_000,
    style: TableStyle = None,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden", help="Compare on hidden items too: only for whoever holds their labels."
        ),
    ] = False,
    keys: LabelKeysFile = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare systems on the same items: paired tests, intervals, ties."""
    from nikawa.scoring.score import ScoreOptions

    warn_of_mode(keys)
    with progress_bar("reading", quiet or json) as bar:
        options = ScoreOptions(
            by=tuple(by or ()), hidden=hidden, keys=keys, on_progress=bar.start_stage
        )
        comparison = api.compare(
            task, parse_systems(systems), split=split, data=data, options=options, rounds=rounds
        )
    print_result(
        comparison, lambda report: show_comparison(report, style, items), json=json, quiet=quiet
    )


def parse_systems(systems: list[str]) -> dict[str, list[Path]]:
    """The files of each system by its name; without a name, the file's own.

    >>> [file.name for file in parse_systems(["a.jsonl", "b=1.jsonl,2.jsonl"])["b"]]
    ['1.jsonl', '2.jsonl']
    """
    by_name: dict[str, list[Path]] = {}
    for system in systems:
        name, equals, files = system.partition("=")
        paths = [Path(file) for file in (files if equals else system).split(",")]
        label = name if equals else paths[0].stem or str(paths[0])
        label = str(paths[0]) if label in by_name else label
        if label in by_name:
            raise BadInput(f"{label!r} is given twice", cure="name the systems: a=FILE b=FILE")
        by_name[label] = paths
    return by_name


def show_comparison(comparison: Comparison, style: str | None, items: int) -> None:
    """Print the scores, the paired tests and the items that systems answer differently."""
    if style == "csv":
        return print_rendered(
            CSV, [format_data(comparison, pair) for pair in comparison.pairs], style
        )
    systems = [
        (
            s.task,
            s.metric,
            s.system,
            format_score(s.value, s.unit),
            format_score(s.sd, s.unit),
            str(s.runs),
            s.letters,
        )
        for s in comparison.systems
    ]
    pairs = [format_pair(pair) for pair in comparison.pairs]
    if style is not None:
        print_rendered(SYSTEMS, systems, style, numbers=NUMBERS)
        echo()
        return print_rendered(PAIRS, pairs, style, numbers=NUMBERS)
    print_table(SYSTEMS, systems, numbers=NUMBERS)
    print_table(PAIRS, pairs, numbers=NUMBERS)
    if comparison.slices:
        rows = [
            (s.task, f"{s.second} - {s.first}", s.where, s.wins, s.losses, s.ties)
            for s in comparison.slices
        ]
        print_table(
            ("task", "pair", "where", "won", "lost", "tied"), rows, numbers=("won", "lost", "tied")
        )
    for title, ids in comparison.differing.items():
        shown = f": {', '.join(ids[:items])}" if items else ""
        echo(f"{title}: they differ on {len(ids):,} items{shown}")
    for line in format_footnotes(comparison):
        echo(line)
    return None


def format_footnotes(comparison: Comparison) -> Iterator[str]:
    """Yield the remarks below the table."""
    from nikawa.metrics import metrics

    if any(isnan(pair.low) and not isnan(pair.difference) for pair in comparison.pairs):
        yield f"{NO_INTERVAL}: {TOO_FEW}"
    for s in comparison.systems:
        if isnan(s.value):
            yield f"{s.metric} of {s.system} is not defined: {metrics()[s.metric].undefined}"
    yield "Systems that share a letter cannot be told apart at 5% after Holm's correction."


def format_pair(pair: PairResult) -> tuple[str, ...]:
    """Format a paired test as a row for people."""
    d = score_digits(pair.unit)
    counts = (pair.wins, pair.losses, pair.ties)
    undefined = isnan(pair.difference)
    few = "" if undefined else NO_INTERVAL
    return (
        pair.task,
        pair.metric,
        f"{pair.second} - {pair.first}",
        f"{pair.n:,}",
        UNDEFINED if undefined else f"{pair.difference:+.{d}f}",
        few if isnan(pair.low) else f"{pair.low:+.{d}f} to {pair.high:+.{d}f}",
        format_p(pair.p),
        format_p(pair.p_holm),
        format_p(pair.p_mcnemar),
        "" if pair.effect is None else f"{pair.effect:+.2f}",
        "" if isnan(pair.smallest) else f"{pair.smallest:.{d}f}",
        " / ".join(f"{count:,}" for count in counts) if any(counts) else "",
    )


def format_p(value: float | None) -> str:
    """Four decimals; what is smaller is said to be."""
    if value is None or isnan(value):
        return ""
    return f"{value:.4f}" if value >= SMALLEST_P else f"<{SMALLEST_P}"


def format_score(value: float | None, unit: str) -> str:
    """A score with the digits of its unit; empty where there is none."""
    if value is None:
        return ""
    return UNDEFINED if isnan(value) else f"{value:.{score_digits(unit)}f}"


def format_data(comparison: Comparison, pair: PairResult) -> tuple[str, ...]:
    """A pair as data: whole numbers and all digits, nothing where a figure is not defined."""
    both = {
        s.system: s for s in comparison.systems if (s.task, s.metric) == (pair.task, pair.metric)
    }
    one, two = both[pair.first], both[pair.second]
    counted = pair.wins + pair.losses + pair.ties
    values = (
        pair.task,
        pair.metric,
        pair.unit,
        pair.first,
        pair.second,
        pair.n,
        one.value,
        one.sd,
        one.runs,
        one.letters,
        two.value,
        two.sd,
        two.runs,
        two.letters,
        pair.difference,
        pair.low,
        pair.high,
        pair.p,
        pair.p_holm,
        pair.p_mcnemar,
        pair.effect,
        pair.smallest,
        *((pair.wins, pair.losses, pair.ties) if counted else (None, None, None)),
    )
    return tuple(map(format_data_cell, values))
