"""`nikawa agree`: how far workers agree, with intervals.

`--plan` takes the judgements for a pilot and reports how many workers an item needs. `--page`
writes plots, `--save` writes the judgements in another tool's form.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    EmptySpans,
    Json,
    JudgementForm,
    Offsets,
    Question,
    Quiet,
    ResampleSeed,
    SheetColumns,
    complete_datasets,
    complete_from,
)
from nikawa.cli.terminal.output import (
    echo,
    format_interval,
    format_number,
    print_result,
    print_table,
    status,
)

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeReport, MeasureRow
    from nikawa.aggregation.plan import Plan

PANEL = "Build"
EXAMPLE = "Example: nikawa agree judgements.jsonl --question label"
WORKERS_ARE = {"columns": "columns, not persons", "unknown": "persons or columns: not said"}
"""What the summary calls workers who may not be persons."""
COLUMNS = ("measure", "level", "value", "95% interval")
PLAN_COLUMNS = (
    "workers",
    "reliability",
    "95% interval",
    "yield",
    "items to judge",
    "answers",
    "cost",
    "",
)
DEFAULT_RELIABILITY = 0.9
"""What a plan aims at where neither --reliability nor --yield is given."""


def agree(
    judgements: Annotated[
        str,
        typer.Argument(
            help="judgements.jsonl, a platform's sheet, Label Studio or doccano files, or a dataset (jsick, klue-sts, mini-ja).",
            autocompletion=complete_datasets,
        ),
    ],
    question: Question = None,
    empty: EmptySpans = "none",
    offsets: Offsets = None,
    level: Annotated[
        str | None,
        typer.Option(
            help="nominal, ordinal, interval or ratio; else all that fit.",
            autocompletion=complete_from("nominal", "ordinal", "interval", "ratio"),
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Slice by tag, source, …; may be repeated.")
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(help="The worker who wrote the items, to be held against the validators."),
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(
            help="The examples: answers about others are refused, slices are made by them."
        ),
    ] = None,
    each: Annotated[
        int | None,
        typer.Option(
            help="Answers asked for an item: fewer make it incomplete. Else guessed.", min=2
        ),
    ] = None,
    columns: SheetColumns = None,
    form: JudgementForm = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a sheet, where the detected one is wrong.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page of plots to this folder.", metavar="DIR")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the judgements to this file.", metavar="FILE")
    ] = None,
    save_as: Annotated[
        str | None,
        typer.Option(
            help="Form of --save: label-studio, doccano, yahoo, lancers, selectstar; else by suffix."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what --page and --save find.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Take the judgements for a pilot: how many workers does an item need?"
        ),
    ] = False,
    reliability: Annotated[
        float | None,
        typer.Option(help="With --plan: the wished reliability, 0.9 unless --yield is wished."),
    ] = None,
    wished_yield: Annotated[
        float | None,
        typer.Option("--yield", help="With --plan: the wished share of items that get gold."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="With --plan: the rule of aggregation, such as votes:{half}/{k}."),
    ] = None,
    items: Annotated[
        int, typer.Option(help="With --plan: items with gold that are wanted.", min=1)
    ] = 1000,
    price: Annotated[float, typer.Option(help="With --plan: paid for one answer.", min=0)] = 0.0,
    resamples: Annotated[int, typer.Option(help="Resamples of the intervals.", min=10)] = 1000,
    seed: ResampleSeed = 0,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how far workers agree: alpha, kappas, shares, variance, F1 of spans, each with a 95% interval over items."""
    from nikawa.aggregation.agree_job import AgreeOptions, plan_from_pilot, save_judgements
    from nikawa.aggregation.plan import PlanGoal
    from nikawa.io.judgements import parse_options

    how, question = parse_options(
        form, columns, question, encoding=encoding, empty=empty, offsets=offsets
    )
    options = AgreeOptions(
        question=question,
        level=level,
        by=tuple(by or ()),
        author=author,
        examples=examples,
        how=how,
        resamples=resamples,
        seed=seed,
        each=each,
    )
    if plan:
        if reliability is None and wished_yield is None:
            reliability = DEFAULT_RELIABILITY
        goal = PlanGoal(
            reliability=reliability, yield_=wished_yield, rule=rule, items=items, price=price
        )
        with status(f"planning from {judgements}", quiet or json):
            planned = plan_from_pilot(judgements, data, options, goal)
        return print_result(planned, lambda p: print_plan(p, items), json=json, quiet=quiet)
    with status(f"measuring the agreement of {judgements}", quiet or json):
        report = api.agree(judgements, data=data, options=options)
    if page is not None:
        from nikawa.reporting.agreement import write_page

        write_page(page, report.report, report.table, overwrite=overwrite)
    if save is not None:
        save_judgements(save, judgements, data, options, form=save_as, overwrite=overwrite)
    print_result(report.report, show, json=json, quiet=quiet)
    return None


def print_plan(plan: Plan, items: int) -> None:
    """Print a row for each number of workers that the pilot was extended to."""
    rows = [
        (
            row.workers,
            format_number(row.reliability),
            format_interval(row.low, row.high),
            f"{row.yield_:.3f}",
            row.judged,
            row.answers,
            f"{row.cost:,.2f}",
            ("enough, " if row.enough else "") + row.how,
        )
        for row in plan.rows
    ]
    print_table(PLAN_COLUMNS, rows, numbers=PLAN_COLUMNS[:-1])
    verdict = (
        f"{plan.workers} workers an item will do"
        if plan.workers
        else "no number of workers shown here will do"
    )
    echo(
        f"{plan.question}: {verdict} for {items:,} items with gold (rule {plan.rule}, from {plan.answers:,} answers)."
    )
    for note in plan.notes:
        echo(note)


def show(report: AgreeReport) -> None:
    """The measures as a table, what was counted and what was odd."""
    print_table(COLUMNS, [format_measure(m) for m in report.measures], numbers=COLUMNS[2:])
    for part in report.slices:
        title = f"{part.where} ({part.items:,} items, {part.answers:,} answers)"
        print_table(
            COLUMNS, [format_measure(m) for m in part.measures], title=title, numbers=COLUMNS[2:]
        )
    for line in format_sentences(report):
        echo(line)


def format_measure(measure: MeasureRow) -> tuple[str, str, str, str]:
    """The row of a measure: name, level, value and 95% interval.

    `undefined` where it has no value.
    """
    if measure.value is None:
        return measure.name, measure.level, "undefined", ""
    interval = format_interval(measure.low, measure.high, 4)
    return measure.name, measure.level, f"{measure.value:.4f}", interval


def format_sentences(report: AgreeReport) -> list[str]:
    """What was counted, who the workers are, and what was odd about the file."""
    who = WORKERS_ARE.get(report.workers_are, report.workers_are)
    lines = [
        f"{report.question}: {report.items:,} items, {report.workers:,} workers ({who}), "
        f"{report.answers:,} answers; {report.form}."
    ]
    if report.counts:
        lines.append(
            ", ".join(f"{count:,} {name}" for name, count in report.counts.items() if count) + "."
        )
    if report.missing:
        lines.append(f"{report.missing:,} judgements hold no answer and are left out.")
    lines += report.remarks
    for note in report.notes:
        where = ", ".join(map(str, note.lines)) + (", …" if note.count > len(note.lines) else "")
        lines.append(f"{note.what}: {note.count:,} ({note.done}; {note.place} {where})")
    return lines
