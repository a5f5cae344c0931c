"""`nikawa data shift`: how the gold of two datasets with the same ids differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli._show import (
    Data,
    Json,
    Quiet,
    complete_datasets,
    counted,
    print_json,
    print_rendered,
    print_table,
)

if TYPE_CHECKING:
    from nikawa.scoring.shift import ShiftReport
    from nikawa.scoring.shift_parts import Part

Dataset = Annotated[
    str, typer.Argument(help="A dataset, folder or records file.", autocompletion=complete_datasets)
]


def shift(
    before: Dataset,
    after: Dataset,
    question: Annotated[
        str | None, typer.Option(help="The gold to compare; label unless said.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Parts to tell apart: split, tag or a key of the meta; may be repeated."),
    ] = None,
    n: Annotated[
        int, typer.Option("-n", help="How many of the examples that differ are listed.", min=0)
    ] = 0,
    style: Annotated[
        str | None, typer.Option("--as", help="markdown, latex or csv: the table by part alone.")
    ] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell how gold differs between a dataset and its translation, or between two versions."""
    from nikawa.scoring.shift import as_json
    from nikawa.scoring.shift import shift as run
    from nikawa.scoring.shift_parts import SPLIT, TAG

    report = run(before, after, question=question, by=tuple(by or (SPLIT, TAG)), data=data)
    if json:
        print_json(as_json(report))
    elif quiet:
        return
    elif style is not None:
        columns, rows = _by_part(report)
        text = str if style == "csv" else _text  # a program reads the one, people the others
        print_rendered(
            columns, [[text(cell) for cell in row] for row in rows], style, numbers=columns[1:]
        )
    else:
        _show(report, n)


def _show(report: ShiftReport, n: int) -> None:
    from nikawa.scoring.shift import summary

    typer.echo(summary(report))
    whole = report.parts[0]
    names = tuple(whole.table)
    rows = [(one, *row.values(), sum(row.values())) for one, row in whole.table.items()]
    sums = [sum(row[name] for row in whole.table.values()) for name in names]
    columns = (f"{report.before} \\ {report.after}", *names, "total")
    print_table(columns, [*rows, ("total", *sums, sum(sums))], numbers=columns[1:])
    parts, shown = _by_part(report)
    print_table(parts, shown, numbers=parts[1:])
    _show_rest(report, n)


def _show_rest(report: ShiftReport, n: int) -> None:
    if n and report.moved:
        listed = [(m.example, m.before, m.after, ", ".join(m.tags)) for m in report.moved[:n]]
        print_table(("example", report.before, report.after, "tags"), listed)
    for count, name in ((report.only_before, report.before), (report.only_after, report.after)):
        if count:
            typer.echo(
                f"{counted(count, 'example')} {'is' if count == 1 else 'are'} in {name} only"
            )
    if report.without_gold:
        typer.echo(f"{counted(report.without_gold, 'shared example')} without gold on either side")


def _by_part(report: ShiftReport) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """A row a part: how many differ, and from what to what, or by how much."""
    if report.parts[0].numbers is not None:
        columns: tuple[str, ...] = (
            "part",
            "n",
            "differ",
            "percent",
            "mean before",
            "mean after",
            "shift",
            "distance",
            "pearson",
        )
        return columns, [(*_head(part), *_figures(part)) for part in report.parts]
    table = report.parts[0].table
    moves = [(one, other) for one in table for other in table if one != other and table[one][other]]
    columns = (
        "part",
        "n",
        "differ",
        "percent",
        "95%",
        "kappa",
        *(f"{one} > {other}" for one, other in moves),
    )
    rows = [
        (
            *_head(part),
            f"{100 * part.low:.1f}-{100 * part.high:.1f}",
            _decimals(part.kappa),
            *_counts(part, moves),
        )
        for part in report.parts
    ]
    return columns, rows


def _head(part: Part) -> tuple[Any, ...]:
    return part.where or "all", part.n, part.changed, f"{100 * part.share:.1f}"


def _counts(part: Part, moves: list[tuple[str, str]]) -> list[int]:
    return [part.table.get(one, {}).get(other, 0) for one, other in moves]


def _figures(part: Part) -> list[str]:
    found = part.numbers
    if found is None:  # a part may hold labels where the whole holds both
        return [""] * 5
    figures = (found.mean_before, found.mean_after, found.shift, found.distance, found.pearson)
    return [_decimals(figure) for figure in figures]


def _decimals(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _text(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
