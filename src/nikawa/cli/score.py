"""`nikawa score`: the official scores of any file of answers, with confidence intervals.

The file of answers may come from any tool; its content determines its form and the split.
Several files give one table with a row for each. `--versions` scores against every published version of the dataset. `--per-item` writes the details
of each item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    AnsweredSplit,
    ClusterAddress,
    Data,
    ExecutorName,
    Extract,
    Json,
    LabelKeysFile,
    Processes,
    Quiet,
    ShowReading,
    TableStyle,
    UnitOfTable,
    complete_tasks,
    warn_of_mode,
)
from nikawa.cli.terminal.output import (
    UNDEFINED,
    echo,
    format_count,
    format_data_cell,
    print_json,
    print_readings,
    print_rendered,
    print_result,
    print_table,
    progress_bar,
    status,
)
from nikawa.errors import BadInput
from nikawa.io.remote import expand_patterns, to_path
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.metrics.units import TableUnit
    from nikawa.records import Score
    from nikawa.scoring.many import Place, ScoredFiles
    from nikawa.scoring.score import ScoreOptions, ScoreReport, VersionReport

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa score jsquad answers.jsonl --by article"

COLUMNS = ("where", "metric", "mode", "score", "95% interval", "n")
DATA = ("where", "metric", "mode", "unit", "score", "low", "high", "n")
MAX_IDS_NAMED = 5
"""Ids to show of each kind of problem; --json lists all."""


def score(
    task: Annotated[
        str,
        typer.Argument(
            help="A task (jnli), a task with a split (jnli:dev), or the folder of a custom dataset.",
            autocompletion=complete_tasks,
        ),
    ],
    answers: Annotated[
        list[Path],
        typer.Argument(
            help="A file or folder of answers from any tool (see docs/answers.md). Several give a table with a row for each."
        ),
    ],
    split: AnsweredSplit = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Also score slices by this field: tag, gold, source, category, …; may be repeated."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric to compute; may be repeated. Default: all metrics of the task."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            help="The format of the answers, if it cannot be detected (see docs/answers.md)."
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Score only the answered items, if answers are missing."),
    ] = False,
    versions: Annotated[
        bool,
        typer.Option(
            "--versions", help="Score against every version of the dataset on this machine."
        ),
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Show the confusion matrix.")
    ] = False,
    extract: Extract = None,
    show_reading: ShowReading = False,
    per_item: Annotated[
        Path | None, typer.Option(help="Write the details of every item to this file.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing --per-item file.")
    ] = False,
    style: TableStyle = None,
    unit: UnitOfTable = "percent",
    hidden: Annotated[
        bool,
        typer.Option("--hidden", help="Also score items with hidden labels. You need the labels."),
    ] = False,
    keys: LabelKeysFile = None,
    data: Data = None,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score answers exactly as the official scorer does, with 95% confidence intervals."""
    from nikawa.io.atomic import atomic_write, private_files, refuse_existing
    from nikawa.io.json import encode_json
    from nikawa.metrics.units import parse_table_unit
    from nikawa.scoring.many import Place
    from nikawa.scoring.score import ScoreOptions, list_item_details

    table = parse_table_unit(unit)
    options = ScoreOptions(
        by=tuple(by or ()),
        partial=partial,
        metrics=tuple(metric or ()),
        form=form,
        extract=tuple(extract or ()),
        readings=show_reading,
        hidden=hidden,
        keys=keys,
        keep_texts=False,
    )
    warn_of_mode(keys)
    paths = expand_patterns(answers)
    if len(paths) > 1:
        for name, is_given in (
            ("--versions", versions),
            ("--per-item", per_item is not None),
            ("--confusion", confusion),
            ("--show-reading", show_reading),
        ):
            if is_given:
                raise BadInput(
                    f"{name} takes one file of answers", cure="score the files one by one"
                )
        return _score_many(
            task,
            paths,
            options,
            Place(workers=workers, executor=executor, address=address),
            split=split,
            data=data,
            show=lambda scored: _show_many(scored, style, table),
            json=json,
            quiet=quiet,
        )
    if executor or address:
        raise BadInput("--executor and --address need several files", cure="leave them out")
    (file,) = paths
    if versions:
        if per_item is not None:
            raise BadInput("--per-item and --versions cannot be combined", cure="pass one of them")
        with status(f"scoring {file}", quiet or json):
            report = api.score_versions(task, file, split=split, data=data, options=options)
        return print_result(
            report, lambda r: _show_versions(r, style, confusion, table), json=json, quiet=quiet
        )
    if per_item is not None:
        refuse_existing(per_item, overwrite, [to_path(file)])
    with status(f"scoring {file}", quiet or json):
        scored = api.score(task, file, split=split, data=data, options=options)
    if per_item is not None:
        with (
            private_files(hidden),
            atomic_write(per_item, overwrite=overwrite) as stream,
        ):
            for item in list_item_details(scored):
                stream.write(encode_json(item) + b"\n")
    print_result(
        scored.report,
        lambda report: _show_report(report, style, confusion, table),
        json=json,
        quiet=quiet,
    )
    return None


def _score_many(
    task: str,
    answers: Sequence[Path],
    options: ScoreOptions,
    place: Place,
    *,
    split: str | None,
    data: Path | None,
    show: Callable[[ScoredFiles], None],
    json: bool,
    quiet: bool,
) -> None:
    """Score several files and print a table; what is wrong with a file is one line on stderr, and the status is then 2."""
    with progress_bar(f"scoring {format_count(len(answers), 'file')}", quiet or json) as bar:
        bar.update(0, len(answers))
        scored = api.score_many(
            task,
            answers,
            split=split,
            data=data,
            options=replace(options, on_progress=lambda _, done, total: bar.update(done, total)),
            workers=place.workers,
            executor=place.executor,
            address=place.address,
        )
    if json:
        print_json(scored.files)
    elif not quiet and any(file.report for file in scored.files):
        show(scored)
    problems = [file.problem for file in scored.files if file.problem]
    for problem in problems:
        echo(f"error: {problem}", err=True)
    if problems:
        raise typer.Exit(2)


def _show_many(scored: ScoredFiles, style: str | None, table: TableUnit) -> None:
    """Print a row for each file, or for each slice of each file, and a column for each metric."""
    from nikawa.metrics.units import CONVERTED, format_score, is_converted, value_in_table

    reports = [(file.file, file.report) for file in scored.files if file.report is not None]
    every = [score for _, report in reports for score in report.scores]
    modes = {
        name: {s.mode for s in every if s.metric == name} for name in [s.metric for s in every]
    }
    kinds = list(dict.fromkeys((s.metric, s.mode) for s in every))
    names = [f"{name} ({mode})" if len(modes[name]) > 1 else name for name, mode in kinds]
    rows = []
    for file, report in reports:
        for where in dict.fromkeys(score.where for score in report.scores):
            by_kind = {(s.metric, s.mode): s for s in report.scores if s.where == where}
            cells = []
            for kind in kinds:
                s = by_kind.get(kind)
                if s is None:
                    cells.append("")
                elif style == "csv":
                    cells.append(format_data_cell(value_in_table(s.value, s.metric, s.unit, table)))
                else:
                    cells.append(format_score(s.value, s.metric, s.unit, table))
            split = f"{report.split} {report.version}"
            sizes = (str(max(s.n for s in by_kind.values())), str(report.unparsed))
            rows.append((file, split, where or "all", *sizes, *cells))
    columns: tuple[str, ...] = ("file", "split", "where", "n", "unreadable", *names)
    if not any(score.where for score in every):
        columns = columns[:2] + columns[3:]
        rows = [row[:2] + row[3:] for row in rows]
    numbers = ("n", "unreadable", *names)
    if style is not None:
        return print_rendered(columns, rows, style, numbers=numbers)
    print_table(columns, rows, numbers=numbers)
    if any(is_converted(s.metric, s.unit, table) for s in every):
        echo(CONVERTED)
    return None


def _show_report(report: ScoreReport, style: str | None, confusion: bool, table: TableUnit) -> None:
    """Print the scores of one version, and with `confusion` the confusion matrix."""
    _refuse_confusion(report, confusion)
    _show_scores(report, style, table)
    if confusion:
        _show_confusion(report, style)


def _refuse_confusion(report: ScoreReport, confusion: bool) -> None:
    if confusion and not report.confusion:
        raise BadInput(
            f"{report.task} has no labels for a confusion matrix", cure="leave out --confusion"
        )


def _show_scores(report: ScoreReport, style: str | None, table: TableUnit) -> None:
    """Print the scores, the counts, and the differences between the official code and the paper."""
    from nikawa.metrics.units import CONVERTED, is_converted

    columns, rows = _tabulate_scores(report, style, table)
    if style is not None:
        print_rendered(columns, rows, style, numbers=("score", "n"))
        if report.unparsed:  # on stderr, because the table may go to a file
            echo(f"{report.task} {report.split}: {_format_counts(report)}", err=True)
        return
    echo(f"{report.task} {report.split}, version {report.version}: {_format_counts(report)}")
    for line in _format_oddities(report):
        echo(line)
    if report.readings:
        print_readings(report.readings)
    print_table(columns, rows, numbers=("score", "n"))
    if any(_lacks_interval(score) for score in report.scores):
        echo(f"{NO_INTERVAL}: {TOO_FEW}")
    if any(is_converted(score.metric, score.unit, table) for score in report.scores):
        echo(CONVERTED)
    for line in _explain_undefined(report):
        echo(line)
    for note in report.notes:
        echo(f"{note.metric}: {note.difference}")
    return


def _explain_undefined(report: ScoreReport) -> Iterator[str]:
    """Print why metrics have no value, one line per metric."""
    from nikawa.metrics import metrics

    for name in dict.fromkeys(s.metric for s in report.scores if isnan(s.value)):
        yield f"{name} is {UNDEFINED}: {metrics()[name].undefined}"


def _show_confusion(report: ScoreReport, style: str | None, gold: str = "gold") -> None:
    """Print gold labels against answers; `gold` is their name in the corner of the table."""
    answers = list(next(iter(report.confusion.values())))
    columns, numbers = (f"{gold} \\ answer", *answers, "total"), (*answers, "total")
    rows = [
        (gold, *(row[a] for a in answers), sum(row.values()))
        for gold, row in report.confusion.items()
    ]
    if style is None:
        return print_table(columns, rows, numbers=numbers)
    echo()
    return print_rendered(columns, [tuple(map(str, row)) for row in rows], style, numbers=numbers)


def _format_oddities(report: ScoreReport) -> Iterator[str]:
    """Print the first ids that are missing, unknown or repeated, and the first unreadable answers."""
    for word, ids in (
        ("missing", report.missing_ids),
        ("unknown ids", report.unknown_ids),
        ("repeated ids", report.duplicate_ids),
    ):
        if ids:
            yield f"{word}: {', '.join(ids[:MAX_IDS_NAMED])}{_format_more(len(ids))}"
    for item in report.unparsed_items[:MAX_IDS_NAMED]:
        from nikawa.scoring.match import shorten

        yield f"unreadable: {item.example}: {shorten(item.raw)!r} ({item.why})"
    if len(report.unparsed_items) > MAX_IDS_NAMED:
        yield f"unreadable:{_format_more(len(report.unparsed_items))}"


def _format_more(count: int) -> str:
    """Return how many ids the terminal does not show, or an empty text."""
    return (
        f" and {count - MAX_IDS_NAMED:,} more (--json lists all)" if count > MAX_IDS_NAMED else ""
    )


def _format_counts(report: ScoreReport) -> str:
    """Format how many items were answered, and what happened to the rest."""
    parts = [f"{report.answered:,} of {report.n:,} answered"]
    parts += [
        f"{count:,} {word}"
        for count, word in (
            (report.hidden, "hidden and skipped"),
            (report.missing, "missing"),
            (report.unparsed, f"unreadable ({report.unparsed / max(report.n, 1):.1%})"),
            (report.unknown, "unknown ids"),
            (report.duplicates, "repeated ids"),
        )
        if count
    ]
    line = ", ".join(parts) + (
        "; items without an answer are skipped (--partial)" if report.partial else ""
    )
    return (
        f"{line}; the run was limited to the first {report.limit:,} items" if report.limit else line
    )


def _tabulate_scores(
    report: ScoreReport, style: str | None, table: TableUnit
) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Format the scores for people; as CSV they have all digits and a unit."""
    from nikawa.metrics.units import unit_in_table, value_in_table

    if style == "csv":
        rows = []
        for s in report.scores:
            numbers = [
                value_in_table(value, s.metric, s.unit, table) for value in (s.value, s.low, s.high)
            ]
            unit = unit_in_table(s.metric, s.unit, table)
            values = (s.where or "all", s.metric, s.mode, unit, *numbers, s.n)
            rows.append(tuple(map(format_data_cell, values)))
        return DATA, rows
    columns = COLUMNS if any(s.where for s in report.scores) else COLUMNS[1:]
    return columns, [_format_row(s, table)[len(COLUMNS) - len(columns) :] for s in report.scores]


def _format_row(s: Score, table: TableUnit) -> tuple[str, ...]:
    """Format a score for people: the digits of its unit, and its interval."""
    from nikawa.metrics.units import format_score

    span = NO_INTERVAL if _lacks_interval(s) else ""
    if s.low is not None and s.high is not None:
        low, high = (format_score(end, s.metric, s.unit, table) for end in (s.low, s.high))
        span = f"{low} to {high}"
    shown = format_score(s.value, s.metric, s.unit, table)
    return s.where or "all", s.metric, s.mode, shown, span, f"{s.n:,}"


def _lacks_interval(s: Score) -> bool:
    """Whether a score has no interval although it is defined."""
    return s.low is None and not isnan(s.value)


def _show_versions(
    versions: VersionReport, style: str | None, confusion: bool, table: TableUnit
) -> None:
    """Print the scores of every version, and the items whose gold changed."""
    for report in versions.reports:
        _refuse_confusion(report, confusion)
    oldest, newest = versions.versions[0], versions.versions[-1]
    columns = ("item", f"gold in {oldest}", f"gold in {newest}", "answer")
    rows = [(m.example, m.older, m.newer, m.answer) for m in versions.moved]
    if style is not None:
        return _render_versions(versions, style, confusion, table, (columns, rows))
    for version, report in zip(versions.versions, versions.reports, strict=True):
        if version != report.version:
            echo(f"the files called {version} contain version {report.version}:")
        _show_report(report, None, confusion, table)
    if rows:
        print_table(columns, rows)
    echo(f"{format_count(len(rows), 'item')} with different gold in {newest} and {oldest}")
    return None


def _render_versions(
    versions: VersionReport,
    style: str,
    confusion: bool,
    table: TableUnit,
    moved: tuple[Sequence[str], Sequence[Sequence[object]]],
) -> None:
    """Print one table with the scores of all versions, then the other tables, separated by empty lines."""
    reports = list(zip(versions.versions, versions.reports, strict=True))
    columns = _tabulate_scores(versions.reports[0], style, table)[0]
    rows = [
        (version, *row)
        for version, report in reports
        for row in _tabulate_scores(report, style, table)[1]
    ]
    print_rendered(("version", *columns), rows, style, numbers=("score", "n"))
    for version, report in reports if confusion else ():
        _show_confusion(report, style, f"gold in {version}")
    if moved[1]:
        echo()
        print_rendered(
            moved[0], [["" if c is None else str(c) for c in row] for row in moved[1]], style
        )
