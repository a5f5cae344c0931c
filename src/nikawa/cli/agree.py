"""`nikawa agree`: how far workers agree, with confidence intervals.

All of that is about persons. Where machines judged too, it also compares them with the persons and gives a verdict;
`--alternative` shows the alternative annotator test person by person. `--plan` treats the judgements as a pilot and reports how
many workers per item you need, or, with `--alternative`, how many items and persons that test needs. `--page` writes plots. `--save` writes the judgements in the format of another tool.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct, UnsetType

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
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.aggregation.agree_job import AgreeReport, ArcGroup, MeasureRow
    from nikawa.aggregation.alternative_plan import AlternativePlan
    from nikawa.aggregation.machines import GroupAgreement, MachineReport
    from nikawa.aggregation.plan import Plan
    from nikawa.aggregation.prelabels import Estimate, PrelabelReport

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
GROUP_COLUMNS = ("who", "measure", "value", "95% interval", "items")
SLICE_COLUMNS = ("items where", "items", "persons", "machines", "difference", "95% interval", "")
HABIT_COLUMNS = (
    "where a person answers",
    "answer",
    "machines",
    "persons",
    "difference",
    "95% interval",
)
PRELABEL_COLUMNS = ("what", "value", "95% interval")
PERSON_COLUMNS = (
    "person",
    "items",
    "machine at least as close",
    "person at least as close",
    "corrected p",
    "",
)
MAX_HABITS = 10
"""Habits of machines that are printed."""
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
    alternative: Annotated[
        bool,
        typer.Option(
            "--alternative",
            help="Show the alternative annotator test of machines person by person; with --plan: plan that test.",
        ),
    ] = False,
    epsilon: Annotated[
        float,
        typer.Option(
            help="Allowance of the alternative annotator test: 0.1 for crowd workers, 0.15 for skilled ones, 0.2 for experts.",
            min=0,
            max=1,
        ),
    ] = 0.1,
    min_items: Annotated[
        int,
        typer.Option(help="Items that a person needs for the alternative annotator test.", min=2),
    ] = 30,
    accuracy: Annotated[
        float | None,
        typer.Option(
            help="With --plan --alternative: the machine's accuracy; default: as in the pilot."
        ),
    ] = None,
    power: Annotated[
        float,
        typer.Option(
            help="With --plan --alternative: the target share of studies in which such a machine passes."
        ),
    ] = 0.8,
    resamples: Annotated[int, typer.Option(help="Resamples for the intervals.", min=10)] = 1000,
    seed: ResampleSeed = 0,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well workers agree: alpha, kappas, shares, variance and span F1, each with a 95% confidence interval."""
    from nikawa.aggregation.agree_job import (
        AgreeOptions,
        plan_from_pilot,
        plan_test,
        save_judgements,
    )
    from nikawa.aggregation.alternative import AlternativeOptions
    from nikawa.aggregation.alternative_plan import AlternativeGoal
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
        alternative=AlternativeOptions(epsilon=epsilon, min_items=min_items),
    )
    if plan and alternative:
        with status(f"simulating studies like {judgements}", quiet or json):
            test_plan = plan_test(
                judgements, data, options, AlternativeGoal(accuracy=accuracy, power=power)
            )
        return print_result(test_plan, print_test_plan, json=json, quiet=quiet)
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
    if alternative and report.machines is None:
        raise BadInput(
            "no machine answers this question",
            file=judgements,
            cure="add judgements of kind machine: nikawa judge asks a model",
        )
    if page is not None:
        from nikawa.reporting.agreement import write_page

        write_page(page, report.report, report.table, overwrite=overwrite)
    if save is not None:
        save_judgements(save, judgements, data, options, form=save_as, overwrite=overwrite)
    print_result(report.report, lambda r: show(r, by_person=alternative), json=json, quiet=quiet)
    return None


def print_test_plan(plan: AlternativePlan) -> None:
    """Print the power of each number of persons (columns) and items (rows), and the cheapest study that is enough."""
    persons = sorted({row.persons for row in plan.rows})
    cells = {(row.items, row.persons): row for row in plan.rows}
    columns = ("items", *(f"{count} persons" for count in persons))
    rows = [
        (
            items,
            *(
                f"{cells[items, count].power:.2f}" + ("*" if cells[items, count].enough else "")
                for count in persons
            ),
        )
        for items in sorted({row.items for row in plan.rows})
    ]
    print_table(
        columns, rows, title="share of studies in which the machine passes", numbers=columns
    )
    if plan.needed_items is None or plan.needed_persons is None:
        verdict = "no study listed here is enough"
    else:
        answers = plan.needed_items * plan.needed_persons
        verdict = f"the cheapest study (*) has {plan.needed_items:,} items and {plan.needed_persons} persons, {answers:,} answers"
    echo(
        f"{plan.question}: for power {plan.power:g} at accuracy {plan.accuracy:.3f} (persons: {plan.person_accuracy:.3f}) and epsilon "
        f"{plan.epsilon:g}, {verdict} ({plan.studies:,} simulated studies for each number of persons, seed {plan.seed})."
    )
    for note in plan.notes:
        echo(note)


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


def show(report: AgreeReport, *, by_person: bool = False) -> None:
    """Print the measures as a table, machines compared with persons, the counts, and the problems found."""
    print_table(COLUMNS, [format_measure(m) for m in report.measures], numbers=COLUMNS[2:])
    for part in report.slices:
        title = f"{part.where} ({part.items:,} items, {part.answers:,} answers)"
        print_table(
            COLUMNS, [format_measure(m) for m in part.measures], title=title, numbers=COLUMNS[2:]
        )
    if not isinstance(report.arcs, UnsetType):
        for by in dict.fromkeys(row.by for row in report.arcs):
            rows = [format_arcs(row) for row in report.arcs if row.by == by]
            print_table(ARC_COLUMNS, rows, title=f"Arcs by {by}", numbers=ARC_COLUMNS[1:])
    if isinstance(report.machines, Struct):
        show_machines(report.machines, by_person)
    if isinstance(report.prelabels, Struct):
        show_prelabels(report.prelabels)
    for line in format_sentences(report):
        echo(line)


ARC_COLUMNS = ("", "arcs", "UAS", "95% interval", "LAS", "95% interval")


def format_arcs(row: ArcGroup) -> tuple[str, ...]:
    """The cells of one relation or distance."""
    cells = [row.value, f"{row.arcs:,}"]
    for value, low, high in (
        (row.uas, row.uas_low, row.uas_high),
        (row.las, row.las_low, row.las_high),
    ):
        cells.append("" if value is None else f"{value:.4f}")
        cells.append("" if low is None or high is None else f"{low:.4f} to {high:.4f}")
    return tuple(cells)


def show_machines(report: MachineReport, by_person: bool) -> None:
    """Print how machines compare with persons: agreement, slices, habits, the test, and the verdict."""
    title = f"Machines and persons ({format_count(report.items, 'shared item')})"
    rows = [
        (row.who, row.measure, *format_estimate(row), f"{row.items:,}") for row in report.agreement
    ]
    print_table(GROUP_COLUMNS, rows, title=title, numbers=GROUP_COLUMNS[2:])
    slices = [
        (
            part.where,
            part.items,
            f"{part.persons:.3f}",
            f"{part.machines:.3f}",
            f"{part.difference:+.3f}",
            format_interval(part.low, part.high),
            "unusual" if part.unusual else "",
        )
        for part in report.slices
    ]
    if slices:
        print_table(
            SLICE_COLUMNS, slices, title=f"By item: {report.unit}", numbers=SLICE_COLUMNS[1:-1]
        )
    habits = [
        (
            habit.persons_answer or "anything",
            habit.answer,
            f"{habit.machines:.3f}",
            f"{habit.persons:.3f}",
            f"{habit.difference:+.3f}",
            format_interval(habit.low, habit.high),
        )
        for habit in report.habits[:MAX_HABITS]
    ]
    if habits:
        print_table(
            HABIT_COLUMNS, habits, title="What machines answer otherwise", numbers=HABIT_COLUMNS[2:]
        )
    for test in report.tests if by_person else ():
        people = [
            (
                row.worker,
                row.items,
                f"{row.advantage:.3f}",
                f"{row.person_advantage:.3f}",
                "undefined" if row.p_adjusted is None else f"{row.p_adjusted:.4f}",
                "replaced" if row.beaten else "",
            )
            for row in test.persons
        ]
        title = f"Alternative annotator test of {test.machine} (epsilon {test.epsilon:g})"
        print_table(PERSON_COLUMNS, people, title=title, numbers=PERSON_COLUMNS[1:-1])
    echo(f"Verdict: {report.verdict}")
    for remark in report.remarks:
        echo(remark)


def show_prelabels(report: PrelabelReport) -> None:
    """Print the answers with and without a machine's answer filled in, and the verdict."""

    def cells(estimate: Estimate) -> tuple[str, str]:
        if estimate.value is None:
            return "undefined", ""
        return f"{estimate.value:.4f}", format_interval(estimate.low, estimate.high, 4)

    rows = [
        ("answers filled in that workers changed", *cells(report.changed)),
        ("agreement with the machine, filled in", *cells(report.agreement_shown)),
        ("agreement with the machine, not filled in", *cells(report.agreement_withheld)),
        ("difference", *cells(report.effect)),
        ("agreement of two workers, both filled in", *cells(report.persons_shown)),
        ("agreement of two workers, neither filled in", *cells(report.persons_withheld)),
        ("difference", *cells(report.persons_effect)),
        ("time, filled in over not filled in", *cells(report.time_ratio)),
    ]
    title = (
        f"Pre-labels ({report.shown:,} answers filled in, {report.withheld:,} not; {report.unit})"
    )
    print_table(PRELABEL_COLUMNS, rows, title=title, numbers=PRELABEL_COLUMNS[1:])
    echo(f"Pre-labels: {report.verdict}")


def format_estimate(row: GroupAgreement) -> tuple[str, str]:
    """Return the value and its interval."""
    if row.value is None:
        return "undefined", ""
    return f"{row.value:.4f}", format_interval(row.low, row.high, 4)


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
        verbs = "has no answer and is" if report.missing == 1 else "have no answer and are"
        lines.append(f"{format_count(report.missing, 'judgement')} {verbs} skipped.")
    lines += report.remarks
    for note in report.notes:
        where = ", ".join(map(str, note.lines)) + (", …" if note.count > len(note.lines) else "")
        lines.append(f"{note.what}: {note.count:,} ({note.done}; {note.place} {where})")
    return lines
