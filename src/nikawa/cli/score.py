"""`nikawa score`: the official numbers for any file of answers, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli._show import (
    Data,
    Json,
    Quiet,
    complete_tasks,
    print_json,
    print_rendered,
    print_table,
    status,
)
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.jobs.score import Options, Scored, ScoreReport
    from nikawa.records import Score

Columns = ("where", "metric", "mode", "score", "95% interval", "n")


PANEL = "Evaluate"


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "score", rich_help_panel=PANEL, epilog="Example: nikawa score jsquad answers.jsonl --by article"
    )(score)


def score(
    task: Annotated[str, typer.Argument(help="A task, with a split if you like: jnli, jnli:dev.", autocompletion=complete_tasks)],
    answers: Annotated[Path, typer.Argument(help="A file or folder of answers, of any tool (see docs/answers.md).")],
    split: Annotated[str | None, typer.Option(help="The split; else the one whose ids fit.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Slice by tag, gold, source, category, …; may be repeated.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Metrics instead of the task's own; may be repeated.")] = None,
    form: Annotated[str | None, typer.Option(help="The form of the file, where its content does not tell.")] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Score what is answered and say so.")] = False,
    versions: Annotated[bool, typer.Option("--versions", help="Score against every version that is here.")] = False,
    confusion: Annotated[bool, typer.Option("--confusion", help="Show which label was answered for which.")] = False,
    per_item: Annotated[Path | None, typer.Option(help="Write the detail of every item to this file.")] = None,
    style: Annotated[str | None, typer.Option("--as", help="markdown, latex or csv.")] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Score answers exactly as the official scorer does, with 95% intervals."""
    from nikawa.jobs.score import Options
    from nikawa.jobs.score import score as run

    how = Options(by=tuple(by or ()), partial=partial, metrics=tuple(metric or ()), form=form)
    if versions:
        return _versions(task, answers, split, data, how, json)
    with status(f"scoring {answers}", quiet or json):
        scored = run(task, answers, split=split, data=data, options=how)
    if per_item is not None:
        _write_items(scored, per_item)
    if json:
        print_json(scored.report)
    elif not quiet:
        show(scored.report, style)
        if confusion:
            _show_confusion(scored.report)
    return None


def show(report: ScoreReport, style: str | None) -> None:
    """The scores as a table, what was counted, and where the official code and the paper part ways."""
    rows = [_row(s) for s in report.scores]
    columns = Columns if any(s.where for s in report.scores) else Columns[1:]
    rows = [row[len(Columns) - len(columns) :] for row in rows]
    if style is not None:
        return print_rendered(columns, rows, style, numbers=("score", "n"))
    typer.echo(f"{report.task} {report.split}, version {report.version}: {counted(report)}")
    print_table(columns, rows, numbers=("score", "n"))
    for note in report.notes:
        typer.echo(f"{note.metric}: {note.difference}")
    return None


def _show_confusion(report: ScoreReport) -> None:
    if not report.confusion:
        raise BadInput(f"{report.task} has no labels to confuse", cure="leave --confusion out")
    answers = list(next(iter(report.confusion.values())))
    rows = [(gold, *(row[a] for a in answers), sum(row.values())) for gold, row in report.confusion.items()]
    print_table(("gold \\ answer", *answers, "total"), rows, numbers=(*answers, "total"))


def counted(report: ScoreReport) -> str:
    """How many items were answered, and what became of the rest."""
    parts = [f"{report.answered:,} of {report.n:,} answered"]
    parts += [
        f"{count:,} {word}"
        for count, word in (
            (report.missing, "missing"),
            (report.unparsed, "unreadable"),
            (report.unknown, "unknown ids"),
            (report.duplicates, "repeated ids"),
        )
        if count
    ]
    return ", ".join(parts) + ("; partial: the missing ones are left out" if report.partial else "")


def _row(s: Score) -> tuple[str, ...]:
    digits = 2 if s.unit == "percent" else 4
    span = "" if s.low is None or s.high is None else f"{s.low:.{digits}f} to {s.high:.{digits}f}"
    return s.where or "all", s.metric, s.mode, f"{s.value:.{digits}f}", span, f"{s.n:,}"


def _write_items(scored: Scored, path: Path) -> None:
    from nikawa.io.atomic import atomic_write
    from nikawa.io.json import encode_json
    from nikawa.jobs.score import per_item

    with atomic_write(path) as stream:
        for item in per_item(scored):
            stream.write(encode_json(item) + b"\n")


def _versions(
    task: str, answers: Path, split: str | None, data: Path | None, how: Options, json: bool
) -> None:
    from nikawa.jobs.versions import score_versions

    found = score_versions(task, answers, split=split, data=data, options=how)
    if json:
        return print_json(found)
    for report in found.reports:
        show(report, None)
    rows = [(m.example, m.older, m.newer, m.answer) for m in found.moved]
    if rows:
        print_table(("item", f"gold in {found.versions[0]}", f"gold in {found.versions[-1]}", "answer"), rows)
    typer.echo(
        f"{len(rows)} items have another gold answer in {found.versions[-1]} than in {found.versions[0]}"
    )
    return None
