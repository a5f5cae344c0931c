"""`nikawa agree`: how far workers agree, with confidence intervals.

`--plan` treats the judgements as a pilot and reports how many workers per item you need. `--page`
writes plots. `--save` writes the judgements in the format of another tool.
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
    format_count,
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
WORKERS_ARE = {
    "columns": "columns, not persons",
    "unknown": "the file does not say whether they are persons",
}
"""How the summary describes workers who may not be persons."""
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
"""The target of a plan without --reliability and --yield."""


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
            help="nominal, ordinal, interval or ratio; default: all that fit.",
            autocompletion=complete_from("nominal", "ordinal", "interval", "ratio"),
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Slice by tag, source, …; may be repeated.")
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(help="The worker who wrote the items, to be compared with the validators."),
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(help="The examples, for slices; judgements of other items are an error."),
    ] = None,
    each: Annotated[
        int | None,
        typer.Option(
            help="Expected answers per item; an item with fewer is incomplete. Default: estimated from the data.",
            min=2,
        ),
    ] = None,
    columns: SheetColumns = None,
    form: JudgementForm = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of a sheet, if the detected one is wrong.")
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
            help="Format of --save: label-studio, doccano, yahoo, lancers, selectstar; default: by suffix."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing output of --page and --save.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Treat the judgements as a pilot and plan the number of workers per item.",
        ),
    ] = False,
    reliability: Annotated[
        float | None,
        typer.Option(help="With --plan: the target reliability; default: 0.9 without --yield."),
    ] = None,
    wished_yield: Annotated[
        float | None,
        typer.Option("--yield", help="With --plan: the target share of items that get gold."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="With --plan: the aggregation rule, such as votes:{half}/{k}."),
    ] = None,
    items: Annotated[
        int, typer.Option(help="With --plan: the number of items with gold you need.", min=1)
    ] = 1000,
    price: Annotated[
        float, typer.Option(help="With --plan: the price of one answer.", min=0)
    ] = 0.0,
    resamples: Annotated[int, typer.Option(help="Resamples for the intervals.", min=10)] = 1000,
    seed: ResampleSeed = 0,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well workers agree: alpha, kappas, shares, variance and span F1, each with a 95% confidence interval."""
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
    """Print one row per number of workers that the pilot was extrapolated to."""
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
        f"you need {format_count(plan.workers, 'worker')} per item"
        if plan.workers
        else "no number of workers listed here is enough"
    )
    echo(
        f"{plan.question}: {verdict} for {items:,} items with gold (rule {plan.rule}, from {plan.answers:,} answers)."
    )
    for note in plan.notes:
        echo(note)


def show(report: AgreeReport) -> None:
    """Print the measures as a table, the counts, and the problems found."""
    print_table(COLUMNS, [format_measure(m) for m in report.measures], numbers=COLUMNS[2:])
    for part in report.slices:
        title = f"{part.where} ({part.items:,} items, {part.answers:,} answers)"
        print_table(
            COLUMNS, [format_measure(m) for m in part.measures], title=title, numbers=COLUMNS[2:]
        )
    for line in format_sentences(report):
        echo(line)


def format_measure(measure: MeasureRow) -> tuple[str, str, str, str]:
    """Return the row of a measure: name, level, value (or `undefined`) and 95% interval."""
    if measure.value is None:
        return measure.name, measure.level, "undefined", ""
    interval = format_interval(measure.low, measure.high, 4)
    return measure.name, measure.level, f"{measure.value:.4f}", interval


def format_sentences(report: AgreeReport) -> list[str]:
    """Print the counts, the kind of workers, and the problems of the file."""
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
        lines.append(f"{report.missing:,} judgements have no answer and are skipped.")
    lines += report.remarks
    for note in report.notes:
        where = ", ".join(map(str, note.lines)) + (", …" if note.count > len(note.lines) else "")
        lines.append(f"{note.what}: {note.count:,} ({note.done}; {note.place} {where})")
    return lines
