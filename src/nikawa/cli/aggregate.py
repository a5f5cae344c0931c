"""`nikawa aggregate`: turn judgements into gold labels, with a reason for every item.

It has four reports: gold by a rule (the default), `--workers` (how well each worker works),
`--human` (how people score against each other) and `--rank` (scores of what they compared). `--out` writes a folder with gold, the reason for
each item, the ties to settle and the agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    EmptySpans,
    HiddenLabels,
    Json,
    JudgementForm,
    Offsets,
    OverwriteFolder,
    Question,
    Quiet,
    SheetColumns,
    complete_datasets,
    complete_from,
)
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    format_number,
    print_result,
    print_table,
    status,
)
from nikawa.errors import BadInput
from nikawa.printable import cut_middle

if TYPE_CHECKING:
    from nikawa.aggregation.human import HumanReport
    from nikawa.aggregation.job import WorkersReport
    from nikawa.aggregation.ranking import RankReport
    from nikawa.aggregation.report import AggregateReport, RemarkCounts, RuleReport

PANEL = "Build"
MAX_THINGS_SHOWN = 40
"""Things of a ranking that the terminal lists."""
MAX_THING_CHARS = 48
EXAMPLE = "Example: nikawa aggregate judgements.jsonl --rule votes:3/5 --ties adjudicate --examples examples.jsonl --out gold"
MAX_ITEMS_NAMED = 5
"""Ties and differences that the terminal lists; `--json` lists more."""
NUMBERS = (
    "items",
    "accepted",
    "dropped",
    "tied",
    "settled",
    "decided",
    "answers",
    "value",
    "as published",
)
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
            help="Aggregation rule: majority, votes:7/10, mean+variance<1+round:1, first+votes:2/3, dawid-skene, mace, …; with several questions, QUESTION=RULE; may be repeated.",
            autocompletion=complete_from(
                "majority", "votes:3/5", "mean", "median", "dawid-skene", "mace"
            ),
        ),
    ] = None,
    ties: Annotated[
        str,
        typer.Option(
            help="What to do with ties: drop, adjudicate or prefer:LABEL.",
            autocompletion=complete_from("drop", "adjudicate", "prefer:"),
        ),
    ] = "adjudicate",
    labels: Annotated[
        str | None,
        typer.Option(
            help="All labels of the form, separated by commas. Needed only for labels that no worker chose: models can still answer them.",
            metavar="LABEL,…",
        ),
    ] = None,
    question: Question = None,
    empty: EmptySpans = "none",
    offsets: Offsets = None,
    examples: Annotated[
        str | None,
        typer.Option(
            help="The examples that were judged. The command adds gold to them, and compares it with gold that they already have."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for gold, reasons, ties and agreement.", metavar="DIR"),
    ] = None,
    adjudicated: Annotated[
        Path | None,
        typer.Option(
            help="Decisions on ties: the completed sheet of ties, or the decisions exported from a project.",
            metavar="FILE",
        ),
    ] = None,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="Effect of a decision: override (it replaces the votes) or ties (it counts only if the rule gives no gold). Default: the setting of the project, else override.",
            autocompletion=complete_from("override", "ties"),
        ),
    ] = None,
    machines: Annotated[
        str,
        typer.Option(
            help="Use of answers of models: ignore, tie-break (they decide only where persons tie) or weigh (with persons, by what they are worth; rules dawid-skene and mean); with --rank: ignore or count (like persons).",
            autocompletion=complete_from("ignore", "tie-break", "weigh", "count"),
        ),
    ] = "ignore",
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="Exclude workers by a limit, such as r<0.80, alpha<0.20, accuracy<0.9 or seconds<2; may be repeated."
        ),
    ] = None,
    workers: Annotated[
        bool, typer.Option("--workers", help="Show the quality of each worker; do not aggregate.")
    ] = False,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Known answers, to compute accuracy: a sheet with columns example and answer, or examples with gold.",
            metavar="FILE",
        ),
    ] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(help="With --known: the accuracy that a worker needs to pass.", min=0, max=1),
    ] = None,
    human: Annotated[
        bool,
        typer.Option(
            "--human",
            help="Score each worker against the others, as a human baseline; do not aggregate.",
        ),
    ] = False,
    rank: Annotated[
        str | None,
        typer.Option(
            help="Score the things that workers compared: bradley-terry (form preference), best-worst or best-worst-logit (form best-worst); needs --examples.",
            autocompletion=complete_from("bradley-terry", "best-worst", "best-worst-logit"),
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="With --human: the task whose metrics are used.")
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="Use only the answers that the published gold was made from."
        ),
    ] = False,
    workers_are_columns: Annotated[
        bool,
        typer.Option(
            "--workers-are-columns",
            help="Treat each worker in the file as a column with answers of several people.",
        ),
    ] = False,
    columns: SheetColumns = None,
    form: JudgementForm = None,
    hidden: HiddenLabels = False,
    overwrite: OverwriteFolder = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Aggregate judgements into gold labels with a rule that you choose, and list the ties."""
    from nikawa.aggregation.job import AggregateOptions, report_workers
    from nikawa.io.judgements import parse_options

    how, question = parse_options(form, columns, question, empty=empty, offsets=offsets)
    options = AggregateOptions(
        rules=tuple(rule or ("majority",)),
        ties=ties,
        labels=tuple(label.strip() for label in labels.split(",")) if labels else (),
        question=question,
        examples=examples,
        adjudicated=adjudicated,
        decisions=decisions,
        exclude=tuple(exclude or ()),
        known=known,
        as_published=as_published,
        columns=workers_are_columns,
        how=how,
        machines=machines,
        hidden=hidden,
    )
    if rank is not None:
        chosen = {
            "--rule": rule,
            "--workers": workers,
            "--human": human,
            "--labels": labels,
            "--adjudicated": adjudicated,
            "--decisions": decisions,
            "--exclude": exclude,
            "--known": known,
            "--hidden": hidden,
        }
        if others := [name for name, value in chosen.items() if value]:
            raise BadInput(
                f"--rank cannot be combined with {others[0]}", cure=f"leave out {others[0]}"
            )
        from nikawa.aggregation.ranking import RankOptions, rank_compared, write_ranking

        settings = RankOptions(
            method=rank, question=question, examples=examples, how=how, machines=machines == "count"
        )
        if machines not in ("ignore", "count"):
            raise BadInput(
                f"--rank cannot {machines} answers of models", cure="pass ignore or count"
            )
        with status(f"ranking what {judgements} compare", quiet or json):
            ranking = rank_compared(judgements, data, settings)
            files = write_ranking(ranking, out, overwrite=overwrite) if out is not None else []
        print_result(ranking, show_ranking, json=json, quiet=quiet)
        if out is not None and not json and not quiet:
            echo(f"{out}: {', '.join(files)}")
        return None
    if workers and human:
        raise BadInput("--workers and --human cannot be combined", cure="pass one of them")
    if workers:
        with status(f"measuring the workers of {judgements}", quiet or json):
            about = report_workers(judgements, data, options, pass_mark)
        return print_result(about, show_workers, json=json, quiet=quiet)
    if human:
        from nikawa.aggregation.human import score_humans

        with status(f"scoring the workers of {judgements}", quiet or json):
            people = score_humans(judgements, data, options, task)
        return print_result(people, show_human, json=json, quiet=quiet)
    if not rule:
        raise BadInput(
            "the aggregation rule is missing",
            cure="pass --rule RULE, such as majority, votes:3/5, mean or dawid-skene",
        )
    from nikawa.aggregation.report import write_result

    with status(f"aggregating {judgements}", quiet or json):
        result = api.aggregate(judgements, data=data, options=options)
        files = write_result(result, out, overwrite=overwrite) if out is not None else []
    print_result(result.report, show, json=json, quiet=quiet)
    if out is not None and not json and not quiet:
        echo(f"{out}: {', '.join(files)}")
    return None


def show(report: AggregateReport) -> None:
    """Print the results of each rule, the effect of exclusions, and the open ties."""
    columns = (
        "question",
        "rule",
        "items",
        "accepted",
        "dropped",
        "tied",
        "settled",
        "decided",
        "as published",
    )
    print_table(columns, [format_rule(r) for r in report.rules], numbers=NUMBERS)
    if report.excluded:
        show_exclusions(report.excluded)
    for r in report.rules:
        lines = [f"{r.question}: {count:,} dropped by {step}" for step, count in r.dropped.items()]
        lines += describe_decisions(r)
        lines += describe_machines(r)
        if r.tied:
            shown = _first_items(r.tied_items, r.tied)
            lines.append(f"{r.question}: {format_count(r.tied, 'tie')} to adjudicate ({shown})")
        if r.published is not None and r.published.differing:
            shown = _first_items(r.published.different, r.published.differing)
            lines.append(
                f"{r.question}: {r.published.differing:,} differ from the examples' gold ({shown})"
            )
        for line in lines:
            echo(line)
    for note in report.notes:
        echo(f"{note.what}: {note.count:,} ({note.done})")
    if report.remarks:
        for line in describe_remarks(report.remarks):
            echo(line)
    if report.unjudged:
        echo(f"{report.unjudged:,} of the examples have no judgement.")
    echo(
        f"{report.kept:,} of {report.items:,} items have gold. The items have {format_count(report.answers, 'answer')} in total."
    )


def describe_machines(rule: RuleReport) -> list[str]:
    """One line on the machines that took part, and one on the gold that they changed."""
    counts = rule.machines
    if not counts:
        return []
    models = ", ".join(counts.models) or "no model"
    if counts.use == "tie-break":
        return [f"{rule.question}: {format_count(counts.ties, 'tie')} broken by {models}"]
    worth = ", ".join(f"{name} {share:.2f}" for name, share in counts.accuracy.items())
    known = f" (right as often as: {worth})" if worth else ""
    if counts.share is not None:
        known = f" (mean share of machines in the gold: {counts.share:.2f})"
    lines = [f"{rule.question}: {models} took part in {counts.labels:,} labels{known}"]
    if counts.correlation is not None:
        lines.append(
            f"{rule.question}: the errors of the models correlate by {counts.correlation:.2f}"
        )
    if counts.changed:
        shown = _first_items(counts.changed_items, counts.changed)
        lines.append(
            f"{rule.question}: machines changed the gold of {counts.changed:,} items ({shown})"
        )
    if counts.unused:
        lines.append(
            f"{rule.question}: {format_count(counts.unused, 'answer')} of machines not used: no person answered the item, or gave the label"
        )
    return lines


def describe_decisions(rule: RuleReport) -> list[str]:
    """Yield one line per effect of the owner's decisions."""
    counts = rule.decisions
    lines = []
    if counts and counts.overruled:
        shown = _first_items(counts.overruled_items, counts.overruled)
        lines.append(f"{rule.question}: {counts.overruled:,} decided against the votes ({shown})")
    if counts and counts.not_counted:
        lines.append(
            f"{rule.question}: {counts.not_counted:,} decisions do not count, because the rule gives gold from the votes or drops the label"
        )
    if counts and counts.decided_again:
        lines.append(
            f"{rule.question}: {counts.decided_again:,} decided more than once; the last decision counts"
        )
    return lines


def describe_remarks(remarks: RemarkCounts) -> list[str]:
    """Yield one line per kind of remark that workers made."""
    lines = []
    if remarks.comments:
        lines.append(f"{remarks.comments:,} answers have a comment (remarks.jsonl with --out).")
    if remarks.reports:
        words = ", ".join(f"{code} {count:,}" for code, count in remarks.reports.items())
        items = _first_items(remarks.reported_items, len(remarks.reported_items))
        count = sum(remarks.reports.values())
        lines.append(f"{count:,} reports of workers: {words} ({items})")
    return lines


def _first_items(items: Sequence[str], count: int) -> str:
    return ", ".join(items[:MAX_ITEMS_NAMED]) + (", …" if count > MAX_ITEMS_NAMED else "")


def format_rule(r: RuleReport) -> tuple[object, ...]:
    """Return the row of a rule: how many items have gold, and how many agree with earlier gold."""
    agreement = "" if r.published is None else f"{r.published.same:,} of {r.published.items:,}"
    return (
        r.question,
        r.rule,
        r.items,
        r.accepted,
        sum(r.dropped.values()),
        r.tied,
        r.settled,
        r.decisions.decided if r.decisions else 0,
        agreement,
    )


def show_ranking(report: RankReport) -> None:
    """Print the things with their scores, the best first, and how sure the order is."""
    is_model = report.method != "best-worst"
    rows = []
    for number, one in enumerate(report.things[:MAX_THINGS_SHOWN], start=1):
        places = "" if one.first_place is None else f"{one.first_place} to {one.last_place}"
        rows.append(
            (
                number,
                cut_middle(one.thing, MAX_THING_CHARS),
                format_number(one.score, 3),
                "" if one.low is None or one.high is None else f"{one.low:.3f} to {one.high:.3f}",
                one.wins,
                one.losses,
                *((one.ties,) if report.tie_parameter is not None else ()),
                *((places,) if is_model else ()),
            )
        )
    columns: tuple[str, ...] = ("place", "thing", "score", "95% interval")
    columns += ("wins", "losses") if report.method == "bradley-terry" else ("best", "worst")
    columns += (("ties",) if report.tie_parameter is not None else ()) + (
        ("may be",) if is_model else ()
    )
    print_table(columns, rows, numbers=("place", "score", *columns[4:]))
    if len(report.things) > MAX_THINGS_SHOWN:
        echo(f"… and {len(report.things) - MAX_THINGS_SHOWN:,} more (--out or --json lists all)")
    if report.in_order is not None:
        echo(f"{report.in_order:.1%} of the wins agree with this order.")
    if report.split_half is not None:
        echo(f"Split-half reliability of the counts: {report.split_half:.3f}.")
    for remark in report.remarks:
        echo(f"{remark[0].upper()}{remark[1:]}.")
    for note in report.notes:
        echo(f"{note.what}: {note.count:,} ({note.done})")
    echo(
        f"{format_count(report.answers, 'answer')} about {format_count(report.items, 'item')} by {format_count(report.workers, 'worker')}."
    )


def show_workers(report: WorkersReport) -> None:
    """Print one row per worker, then the effect of excluding some of them."""
    rows = [
        (
            w.worker,
            w.answers,
            format_number(w.r),
            format_number(w.agreement),
            format_number(w.alpha),
            w.gold_items,
            format_number(w.accuracy),
            format_number(w.seconds, 1),
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
        show_exclusions(report.excluded)


def show_exclusions(excluded: tuple[object, ...]) -> None:
    """Print the effect of each exclusion, and of all exclusions together."""
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
            format_number(c.mean_change),
        )
        for c in excluded
        if isinstance(c, ExclusionEffect)
    ]
    print_table(EFFECTS, rows, title="effect of excluding workers", numbers=EFFECTS[2:])


def show_human(report: HumanReport) -> None:
    """Print the human baseline with its intervals, in percent."""
    from nikawa.metrics.units import format_score

    rows = []
    for s in report.scores:
        value, low, high = (format_score(one, s.metric, s.unit) for one in (s.value, s.low, s.high))
        interval = "" if s.low is None or s.high is None else f"{low} to {high}"
        rows.append((s.metric, s.where or "all", value, interval, s.n))
    columns = ("metric", "answers", "people", "95% interval", "n")
    print_table(
        columns, rows, title=f"{report.task}, each answer against the rest", numbers=columns[2:]
    )
    if report.by_worker:
        names = list(dict.fromkeys(name for values in report.by_worker.values() for name in values))
        units = {s.metric: s.unit for s in report.scores}
        each = [
            (w, *(format_score(v[n], n, units[n]) if n in v else "" for n in names))
            for w, v in report.by_worker.items()
        ]
        print_table(("worker", *names), each, numbers=names)
    if report.tied:
        echo(
            f"For {report.tied:,} answers, the other answers are tied. With random tie-breaking the human score is too low; "
            "without those answers it is too high."
        )
