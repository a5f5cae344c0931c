"""`nikawa aggregate`: from many judgements to gold, with a reason for every item."""

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
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.aggregation.human import HumanReport
    from nikawa.aggregation.job import AggregateOptions, WorkersReport
    from nikawa.aggregation.report import AggregateReport, RuleReport

PANEL = "Build"
NUMBERS = ("items", "accepted", "dropped", "tied", "settled", "answers", "value", "as published")
FIGURES = (
    "worker",
    "answers",
    "r",
    "agreement",
    "alpha",
    "known",
    "accuracy",
    "seconds",
    "run",
    "odd",
)
EFFECTS = (
    "left out",
    "why",
    "answers",
    "kept",
    "fewest",
    "gold changed",
    "lost",
    "gained",
    "mean change",
)


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "aggregate",
        rich_help_panel=PANEL,
        epilog="Example: nikawa aggregate judgements.jsonl --rule votes:3/5 --ties adjudicate --examples examples.jsonl --out gold",
    )(aggregate)


def aggregate(
    judgements: Annotated[
        str,
        typer.Argument(
            help="judgements.jsonl, a platform's sheet, or a dataset (jsick, klue-sts, mini-ja).",
            autocompletion=complete_datasets,
        ),
    ],
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="majority, votes:7/10, mean+variance<1+round:1, first+votes:2/3, dawid-skene, mace, …; QUESTION=RULE where there are several.",
            autocompletion=complete_from(
                "majority", "votes:3/5", "mean", "median", "dawid-skene", "mace"
            ),
        ),
    ] = None,
    ties: Annotated[
        str,
        typer.Option(
            help="drop, adjudicate or prefer:LABEL.",
            autocompletion=complete_from("drop", "adjudicate", "prefer:"),
        ),
    ] = "adjudicate",
    question: Annotated[
        str | None, typer.Option(help="The question, where there are several.")
    ] = None,
    examples: Annotated[
        str | None,
        typer.Option(
            help="The examples: gold is merged into them, and held against what they have."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for gold, reasons, ties and agreement.", metavar="DIR"),
    ] = None,
    adjudicated: Annotated[
        Path | None, typer.Option(help="The sheet of ties, filled in.", metavar="FILE")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave workers out: r<0.80, alpha<0.20, accuracy<0.9, seconds<2; may be repeated."
        ),
    ] = None,
    workers: Annotated[
        bool, typer.Option("--workers", help="Show how well each worker works instead.")
    ] = False,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Known answers, for accuracy (sheet example, answer; or examples with gold).",
            metavar="FILE",
        ),
    ] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(help="With --known: the share of right answers that passes.", min=0, max=1),
    ] = None,
    human: Annotated[
        bool, typer.Option("--human", help="Show how people score against each other instead.")
    ] = False,
    task: Annotated[
        str | None, typer.Option(help="With --human: the task whose metrics to use.")
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Only the answers a published gold was made from."),
    ] = False,
    workers_are_columns: Annotated[
        bool,
        typer.Option(
            "--workers-are-columns", help="A worker is only a column of the file, not a person."
        ),
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option("--map", help="Columns of a sheet: example=task_id,worker=user,answer=label."),
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="records, sheet, label-studio, doccano; else by content.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the folder.")] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make gold of judgements by a named rule; ties are never settled in silence."""
    from nikawa.aggregation.job import AggregateOptions
    from nikawa.io.judgements import JudgementOptions, parse_map

    how = JudgementOptions(form=form, mapping=parse_map(columns) if columns else None)
    if question is not None:
        how = JudgementOptions(form=how.form, mapping=how.mapping, question=question)
    options = AggregateOptions(
        rules=tuple(rule or ("majority",)),
        ties=ties,
        question=question,
        examples=examples,
        adjudicated=adjudicated,
        exclude=tuple(exclude or ()),
        known=known,
        as_published=as_published,
        columns=workers_are_columns,
        how=how,
    )
    if workers and human:
        raise BadInput("--workers and --human are two reports", cure="ask for one of them")
    if workers:
        return check_workers(judgements, data, options, pass_mark, (json, quiet))
    if human:
        return score_people(judgements, data, options, task, (json, quiet))
    if not rule:
        raise BadInput(
            "which rule makes the gold?",
            cure="say --rule majority, votes:3/5, mean, dawid-skene, …",
        )
    return make_gold(judgements, data, options, (out, overwrite), (json, quiet))


def make_gold(
    spec: str,
    data: Path | None,
    options: AggregateOptions,
    target: tuple[Path | None, bool],
    how: tuple[bool, bool],
) -> None:
    """Aggregate, write what the options name, and print the report."""
    from nikawa.aggregation.report import write_result

    (out, overwrite), (json, quiet) = target, how
    with status(f"making gold of {spec}", quiet or json):
        report = api.aggregate(spec, data=data, options=options)
        files = write_result(report, out, overwrite=overwrite) if out is not None else []
    if json:
        print_json(report.report)
    elif not quiet:
        show(report.report)
        if out is not None:
            typer.echo(f"{out}: {', '.join(files)}")


def show(report: AggregateReport) -> None:
    """What each rule made, what exclusions changed, what is left to decide."""
    columns = (
        "question",
        "rule",
        "items",
        "accepted",
        "dropped",
        "tied",
        "settled",
        "as published",
    )
    print_table(columns, [_rule(r) for r in report.rules], numbers=NUMBERS)
    if report.excluded:
        _effects(report.excluded)
    for r in report.rules:
        lines = [f"{r.question}: {count:,} dropped by {step}" for step, count in r.dropped.items()]
        if r.tied:
            shown = ", ".join(r.tied_items[:5]) + (", …" if r.tied > 5 else "")
            lines.append(f"{r.question}: {r.tied:,} ties to adjudicate ({shown})")
        if r.published is not None and r.published.differing:
            shown = ", ".join(r.published.different[:5]) + (
                ", …" if r.published.differing > 5 else ""
            )
            lines.append(
                f"{r.question}: {r.published.differing:,} differ from the examples' gold ({shown})"
            )
        for line in lines:
            typer.echo(line)
    for note in report.notes:
        typer.echo(f"{note.what}: {note.count:,} ({note.done})")
    if report.unjudged:
        typer.echo(f"{report.unjudged:,} of the examples were judged by nobody.")
    typer.echo(
        f"{report.kept:,} of {report.items:,} items have gold, from {report.answers:,} answers."
    )


def _rule(r: RuleReport) -> tuple[object, ...]:
    agreement = "" if r.published is None else f"{r.published.same:,} of {r.published.items:,}"
    return (
        r.question,
        r.rule,
        r.items,
        r.accepted,
        sum(r.dropped.values()),
        r.tied,
        r.settled,
        agreement,
    )


def check_workers(
    spec: str,
    data: Path | None,
    options: AggregateOptions,
    pass_mark: float | None,
    how: tuple[bool, bool],
) -> None:
    """Print or write how well each worker works."""
    from nikawa.aggregation.job import report_workers

    with status(f"looking at the workers of {spec}", any(how)):
        report = report_workers(spec, data, options, pass_mark)
    if how[0]:
        print_json(report)
    elif not how[1]:
        show_workers(report)


def show_workers(report: WorkersReport) -> None:
    """Print a row for each worker, then what excluding some of them changes."""
    rows = [
        (
            w.worker,
            w.answers,
            _number(w.r),
            _number(w.agreement),
            _number(w.alpha),
            w.gold_items,
            _number(w.accuracy),
            _number(w.seconds, 1),
            w.longest_run,
            ", ".join(w.flags),
        )
        for w in report.workers
    ]
    print_table(FIGURES, rows, title=report.question, numbers=FIGURES[1:-1])
    if report.trials:
        columns = ("worker", "right", "asked", "share", "95% interval", "passed")
        trials = [
            (t.worker, t.right, t.asked, f"{t.share:.3f}", f"{t.low:.3f} to {t.high:.3f}", t.passed)
            for t in report.trials
        ]
        print_table(columns, trials, numbers=columns[1:4])
    if report.excluded:
        _effects(report.excluded)


def _effects(excluded: tuple[object, ...]) -> None:
    from nikawa.aggregation.workers import ExclusionEffect

    rows = [
        (
            c.worker or "all of them",
            ", ".join(c.why),
            c.answers,
            c.answers_kept,
            c.fewest,
            c.changed,
            c.lost,
            c.gained,
            _number(c.mean_change),
        )
        for c in excluded
        if isinstance(c, ExclusionEffect)
    ]
    print_table(EFFECTS, rows, title="what leaving workers out changes", numbers=EFFECTS[2:])


def score_people(
    spec: str,
    data: Path | None,
    options: AggregateOptions,
    task: str | None,
    how: tuple[bool, bool],
) -> None:
    """Print how well people do the task, by their own judgements."""
    from nikawa.aggregation.human import score_humans

    with status(f"scoring the workers of {spec}", any(how)):
        report = score_humans(spec, data, options, task)
    if how[0]:
        print_json(report)
    elif not how[1]:
        show_human(report)


def show_human(report: HumanReport) -> None:
    """Print the human baseline with its intervals."""
    rows = [
        (
            s.metric,
            s.where or "all",
            (f"{s.value:.2f}" if s.unit == "percent" else f"{s.value:.4f}"),
            ("" if s.low is None or s.high is None else f"{s.low:.4g} to {s.high:.4g}"),
            s.n,
        )
        for s in report.scores
    ]
    columns = ("metric", "answers", "people", "95% interval", "n")
    print_table(
        columns, rows, title=f"{report.task}, each answer against the rest", numbers=columns[2:]
    )
    if report.by_worker:
        names = list(dict.fromkeys(name for values in report.by_worker.values() for name in values))
        each = [
            (w, *(_number(values.get(name), 2) for name in names))
            for w, values in report.by_worker.items()
        ]
        print_table(("worker", *names), each, numbers=names)
    if report.tied:
        typer.echo(
            f"The rest is tied for {report.tied:,} answers: with the tie drawn by lot people come out too low, "
            "without those answers too high."
        )


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"
