"""`nikawa analyse`: how good runs are, how certain that is, and where they fail.

It reads folders of stored runs and writes one JSON file per system and set to `analyses/`. The
terminal shows the main findings: what differs from the rest, and at most `-n` rows of each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    HiddenLabels,
    Json,
    LabelKeysFile,
    Quiet,
    Resamples,
    UnitOfTable,
    warn_of_mode,
)
from nikawa.cli.terminal.output import (
    echo,
    name_runs,
    print_json,
    print_table,
    progress_bar,
)
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.analysis.results import Analyses, Analysis, Figure, Slice

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa analyse runs --by tag --by source"


def analyse(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="A run folder, a folder of runs, or a pattern; several are analysed together."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; default: analyses/ next to the runs.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Slice by tag, gold, bin, length, part or a metadata key; may be repeated; default: all that fit.",
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="The metric; default: the task's first.")] = "",
    tokeniser: Annotated[
        str | None,
        typer.Option(
            "--tokeniser",
            "--tokenizer",
            "-t",
            help="Tokeniser for the lexical overlap: ipadic, juman, kiwi, characters, …, or none.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(help="Number of surprising errors and suspected labels to list.", min=1)
    ] = 50,
    workers: Annotated[
        int, typer.Option("--workers-each", help="Workers per suspected label.", min=1)
    ] = 3,
    resamples: Resamples = 1_000,
    seed: Annotated[int, typer.Option(help="Seed for the resamples.", min=0)] = 0,
    unit: UnitOfTable = "percent",
    rows: Annotated[int, typer.Option("-n", help="Rows to show of each table.", min=0)] = 20,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing analyses.")
    ] = False,
    hidden: HiddenLabels = False,
    keys: LabelKeysFile = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Report slices, confusion, calibration, overlap, surprising errors and suspected label errors of stored runs."""
    from nikawa.analysis.job import AnalysisOptions, analyses_folder, collect_commands
    from nikawa.analysis.units import analyses_in_table
    from nikawa.execute.memory import return_large_arrays
    from nikawa.metrics.units import describe_conversion, parse_table_unit

    return_large_arrays()

    table = parse_table_unit(unit)
    warn_of_mode(keys)
    options = AnalysisOptions(tuple(by or ()), metric, resamples, seed, tokeniser, top, workers)
    with progress_bar("reading", quiet or json) as bar:
        analyses = api.analyse(
            runs,
            out=out,
            data=data,
            options=options,
            overwrite=overwrite,
            hidden=hidden,
            keys=keys,
            on_progress=bar.update_stage,
        )
    place = analyses_folder(runs, out)
    sheets = collect_commands(place, analyses)
    if json:
        print_json(
            {
                "index": analyses.index,
                "analyses": analyses.each,
                "across": analyses.across,
                "collect": sheets,
            }
        )
    elif not quiet:
        show_analyses(analyses_in_table(analyses, table), rows)
        converted = describe_conversion(
            ((x.system.task, x.metric, x.unit) for x in analyses.each), table
        )
        if converted:
            echo(converted)
        echo(f"Written to {place}")
        for command in list(sheets.values())[:rows]:
            echo(f"To have workers check the suspected labels: {command}")


ALPHA = 0.05


def show_analyses(analyses: Analyses, rows: int) -> None:
    """Print every table that has rows, each cut to a number of rows."""
    each = mark_settings(analyses.each)
    show_summary(each)
    show_slices(each, rows)
    show_confusion(each, rows)
    show_calibration(each, rows)
    show_overlap(each, rows)
    show_across(analyses, rows)
    if any(one.value is not None and one.low is None for x in analyses.each for one in _figures(x)):
        echo(f"{NO_INTERVAL}: {TOO_FEW}")
    skipped: dict[str, list[str]] = {}
    for run, why in analyses.index.left_out.items():
        skipped.setdefault(why, []).append(run)
    for why, folders in skipped.items():
        echo(f"skipped, {why}: {name_runs(folders)}")


def mark_settings(each: Sequence[Analysis]) -> list[Analysis]:
    """Return the analyses; systems that differ only in their settings have these in their marks."""
    from msgspec.structs import replace

    from nikawa.io.json import encode_json
    from nikawa.reporting.systems import spell_setting

    settings: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for x in each:
        alike = settings.setdefault((x.system.task, x.set, format_title(x)), [])
        alike.append(x.system.settings)
    marked = []
    for x in each:
        alike = settings[x.system.task, x.set, format_title(x)]
        telling = [
            f"{key}={spell_setting(value)}"
            for key, value in x.system.settings.items()
            if len({encode_json(other.get(key)) for other in alike}) > 1
        ]
        if len({encode_json(other) for other in alike}) > 1:
            words = filter(None, (x.system.mark, ", ".join(telling) or "default settings"))
            marked.append(replace(x, system=replace(x.system, mark=", ".join(words))))
        else:
            marked.append(x)
    return marked


def _figures(x: Analysis) -> Iterator[Figure | Slice]:
    yield x.score
    yield from x.slices


def cut_rows(rows: Iterable[Sequence[Any]], most: int, what: str) -> list[Sequence[Any]]:
    """Return the first rows of a table, and print how many more are in the files."""
    every = list(rows)
    if len(every) > most:
        echo(f"{len(every) - most:,} more {what} are in the files; -n shows more")
    return every[:most]


def format_figure(value: float | None, unit: str = "percent") -> str:
    """Format a percentage with two decimals or a fraction with three; an undefined value is a dash.

    >>> format_figure(71.2), format_figure(0.5, "fraction"), format_figure(None)
    ('71.20', '0.500', '-')
    """
    return "-" if value is None else f"{value:.{2 if unit == 'percent' else 3}f}"


def format_interval(x: Figure | Slice, unit: str) -> str:
    """Format the 95% interval of a figure, or the reason it has none; empty if the figure is undefined."""
    if x.low is None:
        return "" if x.value is None else NO_INTERVAL
    return f"{format_figure(x.low, unit)} to {format_figure(x.high, unit)}"


def format_p(p: float | None) -> str:
    """Format a p-value with three decimals, or as `<0.001`."""
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def format_title(x: Analysis) -> str:
    """Return the name of a system with the mark that distinguishes it from others of that name."""
    return f"{x.system.title} [{x.system.mark}]" if x.system.mark else x.system.title


def show_summary(each: Sequence[Analysis]) -> None:
    """Print the main figures of every system."""
    rows = [
        (
            x.system.task,
            x.set,
            format_title(x),
            x.metric,
            format_figure(x.score.value, x.unit),
            format_interval(x.score, x.unit),
            "" if x.score.sd is None else format_figure(x.score.sd, x.unit),
            len(x.system.seeds),
            x.n,
        )
        for x in each
    ]
    columns = ("task", "set", "model", "metric", "value", "95% interval", "sd", "seeds", "n")
    print_table(columns, rows, numbers=("value", "sd", "seeds", "n"))


def show_slices(each: Sequence[Analysis], most: int) -> None:
    """Print all slices of a single analysis, or the slices of several that differ from the rest."""
    single = len(each) == 1
    kept = [
        (x, s)
        for x in each
        for s in x.slices
        if single or (s.p_holm is not None and s.p_holm < ALPHA)
    ]
    if not kept:
        return echo(
            "No slice differs from the rest (Holm, 5%)." if any(x.slices for x in each) else ""
        )
    if not single:
        kept.sort(key=lambda pair: pair[1].p_holm or 0.0)
    rows = [
        (
            x.system.task,
            format_title(x),
            x.set,
            f"{s.by}={s.where}",
            s.n,
            format_figure(s.value, x.unit),
            format_interval(s, x.unit),
            format_figure(s.rest, x.unit),
            format_figure(s.difference, x.unit),
            format_p(s.p_holm),
        )
        for x, s in kept
    ]
    columns = (
        "task",
        "model",
        "set",
        "slice",
        "n",
        "value",
        "95% interval",
        "rest",
        "difference",
        "p (Holm)",
    )
    title = "Slices" if single else "Slices that differ from the rest (Holm, 5%)"
    return print_table(columns, cut_rows(rows, most, "slices"), title=title, numbers=columns[4:])


def show_confusion(each: Sequence[Analysis], most: int) -> None:
    """Print the most frequent wrong answers."""
    rows = [
        (x.system.task, format_title(x), x.set, gold, answer, f"{count:g}")
        for x in each
        if x.confusion is not None
        for gold, row in x.confusion.counts.items()
        for answer, count in row.items()
        if gold != answer and count
    ]
    rows.sort(key=lambda row: -float(row[-1]))
    columns = ("task", "model", "set", "gold", "answered", "items")
    if rows:
        print_table(
            columns,
            cut_rows(rows, most, "confusions"),
            title="Confused most often",
            numbers=("items",),
        )


def show_calibration(each: Sequence[Analysis], most: int) -> None:
    """Print how well the probabilities of systems are calibrated."""
    rows = [
        (
            x.system.task,
            format_title(x),
            x.set,
            f"{c.accuracy:.3f}",
            f"{c.confidence:.3f}",
            f"{c.ece:.3f}",
            f"{c.ece_chance:.3f}",
            format_figure(c.brier.value, "fraction"),
            format_figure(c.nll.value, "fraction"),
            f"{c.aurc:.3f}",
            f"{c.aurc_best:.3f}",
        )
        for x in each
        if (c := x.calibration) is not None
    ]
    columns = (
        "task",
        "model",
        "set",
        "accuracy",
        "confidence",
        "ECE",
        "ECE by chance",
        "Brier",
        "NLL",
        "AURC",
        "best",
    )
    if rows:
        print_table(columns, cut_rows(rows, most, "rows"), title="Calibration", numbers=columns[3:])


def show_overlap(each: Sequence[Analysis], most: int) -> None:
    """Print scores by the lexical overlap of the inputs."""
    rows = [
        (
            x.system.task,
            format_title(x),
            x.set,
            f"{o.of} in {o.inside}",
            o.segmentation,
            format_figure(o.mean.value, "fraction"),
            format_figure(o.correlation.value, "fraction"),
            format_interval(o.correlation, "fraction"),
        )
        for x in each
        if (o := x.overlap) is not None
    ]
    columns = (
        "task",
        "model",
        "set",
        "tokens of",
        "segmentation",
        "mean share",
        "rho with score",
        "95% interval",
    )
    if rows:
        print_table(
            columns, cut_rows(rows, most, "rows"), title="Lexical overlap", numbers=columns[5:]
        )


def show_across(analyses: Analyses, most: int) -> None:
    """Print the findings that need several systems: partial inputs, curves, stress, suspected labels."""
    across = analyses.across
    partial = [
        (
            p.task,
            p.set,
            p.model,
            "+".join(p.inputs),
            format_figure(p.score.value),
            format_interval(p.score, "percent"),
            format_figure(p.majority),
            format_figure(p.difference.value),
            format_p(p.p_holm),
            format_figure(p.full),
        )
        for p in across.partial
    ]
    _print_figures(
        "Partial inputs against the majority",
        (
            "task",
            "set",
            "model",
            "inputs",
            "accuracy",
            "95% interval",
            "majority",
            "difference",
            "p (Holm)",
            "all inputs",
        ),
        partial,
        4,
        most,
    )
    points = [
        (
            c.task,
            c.set,
            c.model,
            p.trained,
            c.metric,
            format_figure(p.score.value, c.unit),
            format_interval(p.score, c.unit),
            format_figure(c.doubling.value, c.unit)
            if c.doubling is not None and p is c.points[-1]
            else "",
        )
        for c in across.curves
        for p in c.points
    ]
    _print_figures(
        "Learning curves",
        ("task", "set", "model", "learned from", "metric", "value", "95% interval", "by doubling"),
        points,
        5,
        most,
    )
    stress = [
        (
            s.task,
            f"{s.model} ({s.variation})" if s.variation else s.model,
            c.operation,
            c.case,
            c.gold,
            c.n,
            format_figure(c.value),
            ("" if c.low is None else f"{format_figure(c.low)} to {format_figure(c.high)}"),
            format_figure(c.human),
        )
        for s in across.stress
        for c in s.cells
        if not c.gold
    ]
    _print_figures(
        "Answers that stay under perturbation (% or Pearson)",
        ("task", "model", "operation", "case", "gold", "n", "value", "95% interval", "people"),
        stress,
        5,
        most,
    )
    doubts = [
        (s.task, s.set, len(s.systems), s.n, s.total, len(s.items), s.sheet)
        for s in across.suspects
    ]
    _print_figures(
        "Suspected label errors",
        ("task", "set", "systems", "items", "suspects", "on the sheet", "sheet"),
        doubts,
        2,
        most,
    )
    for skipped in (across.no_suspects or ())[:most]:
        echo(f"No suspected label errors of {skipped.task} {skipped.set}: {skipped.why}")


def _print_figures(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], first: int, most: int
) -> None:
    if rows:
        print_table(
            columns,
            cut_rows(rows, most, "rows"),
            title=title,
            numbers=[c for c in columns[first:] if c != "sheet"],
        )
