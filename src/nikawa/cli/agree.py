"""`nikawa agree`: how far workers agree, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.output import (
    Data,
    Json,
    Quiet,
    complete_datasets,
    complete_from,
    print_json,
    print_table,
    status,
)

if TYPE_CHECKING:
    from nikawa.aggregation.agree import AgreeOptions, AgreeReport, AgreeResult, MeasureRow
    from nikawa.aggregation.plan import Plan


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
PLAN_RULE = 0.9


def show_plan(
    spec: str,
    data: Path | None,
    options: AgreeOptions,
    wish: tuple[float | None, float | None, str | None, int, float],
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Make the plan and print it; `wish` is reliability, yield, rule, items, price."""
    from nikawa.aggregation.agree import plan_from_pilot
    from nikawa.aggregation.plan import PlanGoal

    reliability, share, rule, items, price = wish
    if reliability is None and share is None:
        reliability = PLAN_RULE
    wished = PlanGoal(reliability=reliability, yield_=share, rule=rule, items=items, price=price)
    with status(f"planning from {spec}", quiet or json):
        plan = plan_from_pilot(spec, data, options, wished)
    if json:
        print_json(plan)
    elif not quiet:
        print_plan(plan, items)


def print_plan(plan: Plan, items: int) -> None:
    """Print a row for each number of workers that the pilot was extended to."""
    rows = [
        (
            row.workers,
            "" if row.reliability is None else f"{row.reliability:.3f}",
            "" if row.low is None else f"{row.low:.3f} to {row.high:.3f}",
            f"{row.yield_:.3f}",
            row.judged,
            row.answers,
            f"{row.cost:,.2f}",
            ("enough, " if row.enough else "") + row.how,
        )
        for row in plan.rows
    ]
    print_table(PLAN_COLUMNS, rows, numbers=PLAN_COLUMNS[:-1])
    told = (
        f"{plan.workers} workers an item will do"
        if plan.workers
        else "no number of workers shown here will do"
    )
    typer.echo(
        f"{plan.question}: {told} for {items:,} items with gold (rule {plan.rule}, from {plan.answers:,} answers)."
    )
    for note in plan.notes:
        typer.echo(note)


PANEL = "Build"
COLUMNS = ("measure", "level", "value", "95% interval")


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "agree",
        rich_help_panel=PANEL,
        epilog="Example: nikawa agree judgements.jsonl --question label",
    )(agree)


def agree(
    judgements: Annotated[
        str,
        typer.Argument(
            help="judgements.jsonl, a platform's sheet, Label Studio or doccano files, or a dataset (jsick, klue-sts, mini-ja).",
            autocompletion=complete_datasets,
        ),
    ],
    question: Annotated[
        str | None, typer.Option(help="The question, where there are several.")
    ] = None,
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
    columns: Annotated[
        str | None,
        typer.Option("--map", help="Columns of a sheet: example=task_id,worker=user,answer=label."),
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="records, sheet, label-studio, doccano; else by content.")
    ] = None,
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
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 0,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how far workers agree: alpha, kappas, shares, variance, F1 of spans, each with a 95% interval over items."""
    from nikawa.aggregation.agree import AgreeOptions
    from nikawa.io.judgements import QUESTION, JudgementOptions, parse_map

    mapping = parse_map(columns) if columns else None
    how = JudgementOptions(
        form=form, mapping=mapping, question=question or QUESTION, encoding=encoding
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
        wish = (reliability, wished_yield, rule, items, price)
        return show_plan(judgements, data, options, wish, json=json, quiet=quiet)
    with status(f"measuring the agreement of {judgements}", quiet or json):
        report = api.agree(judgements, data=data, options=options)
    write_files(report, judgements, (page, save, save_as), options, data, overwrite)
    if json:
        print_json(report.report)
    elif not quiet:
        show(report.report)
    return None


def write_files(
    report: AgreeResult,
    spec: str,
    targets: tuple[Path | None, Path | None, str | None],
    options: AgreeOptions,
    data: Path | None,
    overwrite: bool,
) -> None:
    """Write the page and the judgements where the options ask for them."""
    page, save, save_as = targets
    if page is not None:
        from nikawa.reporting.agreement import write_page

        write_page(page, report.report, report.table, overwrite=overwrite)
    if save is not None:
        from nikawa.aggregation.agree import save_judgements as write

        write(save, spec, data, options, form=save_as, overwrite=overwrite)


def show(report: AgreeReport) -> None:
    """The measures as a table, what was counted and what was odd."""
    print_table(COLUMNS, [_row(m) for m in report.measures], numbers=COLUMNS[2:])
    for part in report.slices:
        title = f"{part.where} ({part.items:,} items, {part.answers:,} answers)"
        print_table(COLUMNS, [_row(m) for m in part.measures], title=title, numbers=COLUMNS[2:])
    for line in sentences(report):
        typer.echo(line)


def _row(measure: MeasureRow) -> tuple[str, str, str, str]:
    if measure.value is None:
        return measure.name, measure.level, "undefined", ""
    interval = "" if measure.low is None else f"{measure.low:.4f} to {measure.high:.4f}"
    return measure.name, measure.level, f"{measure.value:.4f}", interval


def sentences(report: AgreeReport) -> list[str]:
    """What was counted, who the workers are, and what was odd about the file."""
    lines = [
        f"{report.question}: {report.items:,} items, {report.workers:,} workers ({_who(report.workers_are)}), "
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
        lines.append(f"{note.what}: {note.count:,} ({note.done}; line {where})")
    return lines


def _who(workers_are: str) -> str:
    return {"columns": "columns, not persons", "unknown": "persons or columns: not said"}.get(
        workers_are, workers_are
    )
