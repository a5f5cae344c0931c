"""`nikawa stress`: do the answers change when the text does, and only when its meaning does?

It compares answers to original examples with answers to their perturbed versions, and reports how
many answers stay the same, by operation and label, next to the answers of people.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import (
    Data,
    Json,
    Quiet,
    Resamples,
    ResampleSeed,
    TableStyle,
    complete_tasks,
)
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    format_number,
    print_rendered,
    print_result,
    print_table,
    status,
)
from nikawa.errors import clip
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.analysis.stress import StressCount, StressReport

PANEL = "Probe"
EXAMPLE = "Example: nikawa stress test.jsonl perturbed/ --task jsick-stress-nli"
MAX_ANSWERS_NAMED, MAX_ANSWER_CHARACTERS = 5, 60
"""Unreadable answers to show, and the characters of each."""


def stress(
    original: Annotated[Path, typer.Argument(help="Answers to the original examples.")],
    perturbed: Annotated[
        Path,
        typer.Argument(
            help="Answers to the perturbed examples: a file, or a folder with one file per set (swap-o.jsonl, …)."
        ),
    ],
    task: Annotated[
        str, typer.Option(help="The task that was answered.", autocompletion=complete_tasks)
    ],
    sets: Annotated[
        str | None,
        typer.Option(
            help="The perturbed examples that nikawa perturb wrote; default: those of the task's dataset."
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Skip examples without an answer.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(help="The form of the answer files, if it cannot be detected."),
    ] = None,
    resamples: Resamples = 10_000,
    seed: ResampleSeed = 0,
    style: TableStyle = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare a model's answers to original and perturbed examples with each other and with people's answers."""
    from nikawa.analysis.stress import StressOptions
    from nikawa.analysis.stress import stress as run

    options = StressOptions(sets, partial, resamples, seed, form)
    with status("comparing", quiet or json):
        report = run(original, perturbed, task=task, data=data, options=options)
    print_result(report, lambda report: show(report, style), json=json, quiet=quiet)


def show(report: StressReport, style: str | None) -> None:
    """Print one row per operation, then one row per operation and case."""
    labels = list(dict.fromkeys(cell.gold for cell in report.cells if cell.gold))
    by_place = {(c.operation, c.case, c.gold): c for c in report.cells}
    name = "same" if report.measure == "same" else "Pearson"
    columns = (
        "operation",
        "case",
        *labels,
        name,
        "95% interval",
        "n",
        "to neutral",
        "human",
        "on judged",
        "judged",
    )
    rows = [
        format_row(cell, [by_place.get((cell.operation, cell.case, label)) for label in labels])
        for cell in sorted(report.cells, key=lambda c: bool(c.case))
        if not cell.gold
    ]
    used = [i for i, column in enumerate(columns) if any(row[i] for row in rows)]
    columns, rows = tuple(columns[i] for i in used), [tuple(row[i] for i in used) for row in rows]
    numbers = tuple(c for c in columns if c not in ("operation", "case"))
    if style is not None:
        return print_rendered(columns, rows, style, numbers=numbers)
    print_table(columns, rows, numbers=numbers)
    for line in format_notes(report):
        echo(line)
    return None


def format_row(cell: StressCount, by_label: list[StressCount | None]) -> tuple[str, ...]:
    """Format one operation: how often answers stay the same, overall and by label."""
    span = "" if cell.value is None else NO_INTERVAL
    if cell.low is not None and cell.high is not None:
        span = f"{cell.low:.1f} to {cell.high:.1f}"
    return (
        cell.operation,
        cell.case or "all",
        *("" if count is None else format_number(count.value, 1) for count in by_label),
        format_number(cell.value, 1),
        span,
        f"{cell.n:,}",
        format_number(cell.to_neutral, 1),
        format_number(cell.human, 1),
        format_number(cell.judged, 1),
        f"{cell.human_n:,}" if cell.human_n else "",
    )


def format_notes(report: StressReport) -> list[str]:
    """Print what the comparison skipped, and why."""
    same = "Share of answers that stay the same (%), by the original's label and overall"
    pearson = "Pearson correlation of the scores before and after (times 100)"
    notes = [
        f"{same if report.measure == 'same' else pearson}; scrambling should change none of them."
    ]
    if any(cell.human_n for cell in report.cells):
        notes.append("human: people on the items they judged; on judged: the model on those items.")
    if any(cell.value is not None and cell.low is None for cell in report.cells):
        notes.append(f"{NO_INTERVAL}: {TOO_FEW}")
    if report.absent:
        notes.append(f"No answers to: {', '.join(report.absent)}")
    if report.unread or report.left_out:
        notes.append(
            f"{format_count(report.unread, 'answer')} could not be read, {format_count(report.left_out, 'example')} skipped."
        )
    notes += [
        f"unreadable: {x.set}/{x.example}: {clip(repr(x.raw), MAX_ANSWER_CHARACTERS)} ({x.why})"
        for x in report.unread_items[:MAX_ANSWERS_NAMED]
    ]
    if len(report.unread_items) > MAX_ANSWERS_NAMED:
        notes.append(
            f"unreadable: and {len(report.unread_items) - MAX_ANSWERS_NAMED:,} more (--json lists all)"
        )
    return notes
