"""`nikawa compare`: is B really better than A?

Each system is one or more files of answers to the same items, one file per seed. The report lists the
systems, with letters that group systems without a significant difference, then one row per pair with its
paired test.
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
    Extract,
    Json,
    LabelKeysFile,
    Quiet,
    TableStyle,
    UnitOfTable,
    complete_tasks,
    warn_of_mode,
)
from nikawa.cli.terminal.output import (
    echo,
    format_data_cell,
    print_rendered,
    print_result,
    print_table,
    progress_bar,
)
from nikawa.errors import BadInput
from nikawa.io.remote import to_path
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.metrics.units import TableUnit
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
    "unreadable",
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
            help="Answer files; NAME=FILE names a system; commas separate seeds: b=1.jsonl,2.jsonl."
        ),
    ],
    task: Annotated[
        list[str],
        typer.Option(
            help="The task; may be repeated if each system is a folder.",
            autocompletion=complete_tasks,
        ),
    ],
    split: AnsweredSplit = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Count wins and losses by tag, source, …")
    ] = None,
    items: Annotated[int, typer.Option(help="How many differing items to list.", min=0)] = 0,
    form: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FORM",
            help="The form of all files, or of one system's files, if it cannot be detected: new=lm-eval:strict.",
        ),
    ] = None,
    extract: Extract = None,
    rounds: Annotated[int, typer.Option(help="Resamples and random swaps.", min=100)] = 10_000,
    style: TableStyle = None,
    unit: UnitOfTable = "percent",
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden", help="Also compare on hidden items; only for owners of their labels."
        ),
    ] = False,
    keys: LabelKeysFile = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare systems on the same items: paired tests, intervals, ties."""
    from nikawa.metrics.units import parse_table_unit
    from nikawa.scoring.score import ScoreOptions

    table = parse_table_unit(unit)
    warn_of_mode(keys)
    forms = parse_forms(form or [])
    with progress_bar("reading", quiet or json) as bar:
        options = ScoreOptions(
            by=tuple(by or ()),
            extract=tuple(extract or ()),
            form=forms.pop("", None),
            hidden=hidden,
            keys=keys,
            on_progress=bar.start_stage,
        )
        comparison = api.compare(
            task,
            parse_systems(systems),
            split=split,
            data=data,
            options=options,
            rounds=rounds,
            forms=forms,
        )
    print_result(
        comparison,
        lambda report: show_comparison(report, style, items, table),
        json=json,
        quiet=quiet,
    )


def parse_forms(words: list[str]) -> dict[str, str]:
    """Return the form of answer files by system; the form of all other files has an empty name.

    >>> parse_forms(["lm-eval:strict", "new=inspect:2"])
    {'': 'lm-eval:strict', 'new': 'inspect:2'}
    """
    forms: dict[str, str] = {}
    for word in words:
        head, colon, variant = word.partition(
            ":"
        )  # the name of a filter may contain an equals sign
        name, _, form = head.rpartition("=")
        if name in forms:
            whose = f"of {name!r} " if name else ""
            raise BadInput(f"the form {whose}is given twice", cure="pass it once")
        forms[name] = f"{form}{colon}{variant}"
    return forms


def parse_systems(systems: list[str]) -> dict[str, list[Path]]:
    """Return the files of each system by its name; an unnamed system has the name of its file, or its path if that name
    occurs twice.

    >>> [file.name for file in parse_systems(["a.jsonl", "b=1.jsonl,2.jsonl"])["b"]]
    ['1.jsonl', '2.jsonl']
    >>> list(parse_systems(["old/test.jsonl", "new/test.jsonl"]))
    ['old/test.jsonl', 'new/test.jsonl']
    """
    named = []
    for system in systems:
        name, equals, files = system.partition("=")
        paths = [to_path(file) for file in (files if equals else system).split(",")]
        named.append((name if equals else paths[0].stem, bool(equals), paths))
    labels = [name for name, _, _ in named]
    by_name: dict[str, list[Path]] = {}
    for name, is_chosen, paths in named:
        is_clear = is_chosen or (name and labels.count(name) == 1)
        label = name if is_clear else str(paths[0])
        if label in by_name:
            raise BadInput(
                f"{label!r} is given twice", cure="give each system a name: a=FILE b=FILE"
            )
        by_name[label] = paths
    return by_name


def show_comparison(
    comparison: Comparison, style: str | None, items: int, table: TableUnit
) -> None:
    """Print the scores, the paired tests, and the items that systems answer differently."""
    from nikawa.metrics.units import format_score

    has_unreadable = any(s.unreadable for s in comparison.systems)
    columns = (*SYSTEMS, "unreadable") if has_unreadable else SYSTEMS
    if style == "csv":
        print_rendered(
            CSV, [format_data(comparison, pair, table) for pair in comparison.pairs], style
        )
        shares = {(s.task, s.system): s.unreadable for s in comparison.systems if s.unreadable}
        for (task, system), share in shares.items():  # on stderr, because the data may go to a file
            echo(f"{task} {system}: {share:.1%} of the answers are unreadable", err=True)
        return None
    systems = [
        (
            s.task,
            s.metric,
            s.system,
            format_score(s.value, s.metric, s.unit, table),
            "" if s.sd is None else format_score(s.sd, s.metric, s.unit, table),
            str(s.runs),
            s.letters,
            *((f"{s.unreadable or 0:.1%}",) if has_unreadable else ()),
        )
        for s in comparison.systems
    ]
    pairs = [format_pair(pair, table) for pair in comparison.pairs]
    if style is not None:
        print_rendered(columns, systems, style, numbers=NUMBERS)
        echo()
        return print_rendered(PAIRS, pairs, style, numbers=NUMBERS)
    print_table(columns, systems, numbers=NUMBERS)
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
        echo(f"{title}: they differ on {len(ids):,} {'item' if len(ids) == 1 else 'items'}{shown}")
    for line in format_footnotes(comparison, table):
        echo(line)
    return None


def format_footnotes(comparison: Comparison, table: TableUnit) -> Iterator[str]:
    """Yield the remarks below the table."""
    from nikawa.metrics import metrics
    from nikawa.metrics.units import describe_conversion

    if any(isnan(pair.low) and not isnan(pair.difference) for pair in comparison.pairs):
        yield f"{NO_INTERVAL}: {TOO_FEW}"
    converted = describe_conversion(((s.task, s.metric, s.unit) for s in comparison.systems), table)
    if converted:
        yield converted
    without = {(each.task, each.system) for each in comparison.undefined or ()}
    for each in comparison.undefined or ():
        yield f"{each.system} has no score on {each.task} and is in no pair: {each.why}"
    for s in comparison.systems:
        if isnan(s.value) and (s.task, s.system) not in without:
            yield f"{s.metric} of {s.system} is not defined: {metrics()[s.metric].undefined}"
    yield "Systems that share a letter do not differ significantly (5%, Holm's correction)."


def format_pair(pair: PairResult, table: TableUnit) -> tuple[str, ...]:
    """Format a paired test as a row for people."""
    from nikawa.metrics.units import format_score

    def show(value: float, *, signed: bool = True) -> str:
        return format_score(value, pair.metric, pair.unit, table, signed=signed)

    counts = (pair.wins, pair.losses, pair.ties)
    few = "" if isnan(pair.difference) else NO_INTERVAL
    return (
        pair.task,
        pair.metric,
        f"{pair.second} - {pair.first}",
        f"{pair.n:,}",
        show(pair.difference),
        few if isnan(pair.low) else f"{show(pair.low)} to {show(pair.high)}",
        format_p(pair.p),
        format_p(pair.p_holm),
        format_p(pair.p_mcnemar),
        "" if pair.effect is None else f"{pair.effect:+.2f}",
        "" if isnan(pair.smallest) else show(pair.smallest, signed=False),
        " / ".join(f"{count:,}" for count in counts) if any(counts) else "",
    )


def format_p(value: float | None) -> str:
    """Format a p-value with four decimals, or as smaller than that."""
    if value is None or isnan(value):
        return ""
    return f"{value:.4f}" if value >= SMALLEST_P else f"<{SMALLEST_P}"


def format_data(comparison: Comparison, pair: PairResult, table: TableUnit) -> tuple[str, ...]:
    """Return a pair as data: all digits of each number, and an empty cell for an undefined figure."""
    from nikawa.metrics.units import unit_in_table, value_in_table

    def convert(value: float | None) -> float | None:
        return value_in_table(value, pair.metric, pair.unit, table)

    both = {
        s.system: s for s in comparison.systems if (s.task, s.metric) == (pair.task, pair.metric)
    }
    one, two = both[pair.first], both[pair.second]
    counted = pair.wins + pair.losses + pair.ties
    values = (
        pair.task,
        pair.metric,
        unit_in_table(pair.metric, pair.unit, table),
        pair.first,
        pair.second,
        pair.n,
        convert(one.value),
        convert(one.sd),
        one.runs,
        one.letters,
        convert(two.value),
        convert(two.sd),
        two.runs,
        two.letters,
        convert(pair.difference),
        convert(pair.low),
        convert(pair.high),
        pair.p,
        pair.p_holm,
        pair.p_mcnemar,
        pair.effect,
        convert(pair.smallest),
        *((pair.wins, pair.losses, pair.ties) if counted else (None, None, None)),
    )
    return tuple(map(format_data_cell, values))
