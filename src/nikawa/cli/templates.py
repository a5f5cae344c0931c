"""`nikawa templates`: check, show and audit templates, and review generated problems.

`check` finds faults in a template file. `show` prints one template with samples. `audit` recomputes
the labels of a published dataset. `review` writes problems to a sheet for people and reads it back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import Data, Json, Overwrite, Quiet
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    name_first,
    print_json,
    print_result,
    print_table,
    status,
)

if TYPE_CHECKING:
    from nikawa.generation.review import ReviewReport
    from nikawa.generation.show import TemplateView

MAX_ROWS_NAMED = 5
"""Rows to show of each finding; the JSON has all of them."""
Templates = Annotated[
    str,
    typer.Argument(
        help="A pack's name or folder, a template file, or jamp for the published templates."
    ),
]


PANEL = "Probe"


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    templates = typer.Typer(
        help="Check, show and audit templates; review generated problems.",
        no_args_is_help=True,
    )
    templates.command("check", epilog="Example: nikawa templates check my-pack/templates.txt")(
        check
    )
    templates.command("show", epilog="Example: nikawa templates show 25 jamp")(show)
    templates.command("audit", epilog="Example: nikawa templates audit jamp jamp:train")(audit)
    templates.command(
        "review", epilog="Example: nikawa templates review my-temporal --export sheet.tsv -n 200"
    )(review)
    app.add_typer(templates, name="templates", rich_help_panel=PANEL)


def check(
    file: Templates,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 also for warnings.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find faults, each with line and column; exit status 1 if there is an error."""
    from nikawa.generation.check import check_templates as run

    with status(f"checking {file}", quiet or json):
        report = run(file, data)
    if json:
        print_json(report)
    elif not quiet:
        for place in report.troubles:
            echo(f"{place.trouble.level}: {place}")
        counts = {"template": report.templates, "error": report.errors, "warning": report.warnings}
        echo(", ".join(format_count(n, noun) for noun, n in counts.items()))
    raise typer.Exit(int(bool(report.errors or (strict and report.warnings))))


def show(
    id: Annotated[str, typer.Argument(help="The template's id.")],
    file: Annotated[
        str | None, typer.Argument(help="A pack or template file; default: the temporal pack.")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Number of sample problems.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="Seed for the samples.")] = 0,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show a template and sample problems made from it."""
    from nikawa.generation.show import show_template as run

    with status(f"reading template {id}", json):
        shown = run(id, file, data, n=n, seed=seed)
    if json:
        print_json(shown)
    else:
        print_template(shown)


def print_template(shown: TemplateView) -> None:
    """Print a template: its text, its label conditions and sample problems."""
    rows = [
        ("template", shown.id),
        ("category", shown.category),
        ("premise", shown.premise),
        ("hypothesis", shown.hypothesis),
        ("entails when", shown.entails),
        ("contradicts when", shown.contradicts),
        ("given", shown.given or "nothing"),
        ("slots", " ".join(shown.slots)),
        ("formats", " ".join(shown.formats) or "none"),
        ("cells", ", ".join(f"{label} {n}" for label, n in shown.labels.items())),
        ("out of reach", " ".join(shown.unreachable) or "none"),
    ]
    print_table(("", ""), rows)
    columns = ("label", "format", "span", "premise", "hypothesis")
    print_table(
        columns,
        [(s.label, s.time_format, s.time_span, s.premise, s.hypothesis) for s in shown.samples],
    )


def audit(
    templates: Templates,
    dataset: Annotated[
        str,
        typer.Argument(
            help="Problems made from the templates: jamp:train, a published .tsv, a records file."
        ),
    ],
    compat: Annotated[
        bool,
        typer.Option("--compat", help="Use the base-100 numbers of JAMP's generator."),
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Parse problems with their templates and recompute the labels; exit status 1 if one disagrees."""
    from nikawa.generation.audit import audit_dataset as run

    with status(f"auditing {dataset}", quiet or json):
        report = run(templates, dataset, data, compat=compat)
    if json:
        print_json(report)
    elif not quiet:
        rows = [
            (f.check, f.count, name_first(f.ids, MAX_ROWS_NAMED), f.note) for f in report.findings
        ]
        if rows:
            print_table(("finding", "rows", "for example", "what"), rows, numbers=("rows",))
        echo(f"{report.rows:,} rows, {report.parsed:,} read back, {report.agree:,} labels agree")
        if report.disagree:
            echo(f"Labels disagree: {', '.join(map(str, report.disagree))}")
    raise typer.Exit(int(bool(report.disagree) or report.parsed < report.rows))


def review(
    dataset: Annotated[
        str, typer.Argument(help="A generated dataset: a folder or a records file.")
    ],
    export: Annotated[
        Path | None,
        typer.Option(help="Write a sheet (.tsv) for people to fill in, doubtful problems first."),
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Read the decisions from a completed sheet.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", help="Maximum rows of the sheet.", min=1)] = None,
    pack: Annotated[
        str | None,
        typer.Option(
            help="The pack the dataset was made from; default: the pack that the data names."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the dataset without the dropped problems.")
    ] = None,
    overwrite: Overwrite = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write problems to a sheet for people (keep or drop, with one of three reasons), and apply their decisions."""
    from nikawa.errors import BadInput
    from nikawa.generation.review import apply_review
    from nikawa.generation.review import export_review as write

    if (export is None) == (import_ is None):
        raise BadInput("the sheet is missing", cure="pass --export SHEET or --import SHEET")
    with status(f"reviewing {dataset}", quiet or json):
        if export is not None:
            report = write(dataset, export, data=data, pack=pack, most=n, overwrite=overwrite)
        else:
            assert import_ is not None
            report = apply_review(dataset, import_, data=data, out=out, overwrite=overwrite)
    print_result(
        report,
        lambda report: print_review(report, exported=export is not None),
        json=json,
        quiet=quiet,
    )


def print_review(report: ReviewReport, exported: bool) -> None:
    """Print how many problems were reviewed, kept and dropped."""
    if exported:
        echo(
            f"{format_count(report.rows, 'problem')} of {report.dataset} in {report.file}, {report.scored:,} were scored."
        )
        echo("Fill in the column decision (keep or drop), and the column reason if you drop.")
        return
    echo(
        f"{format_count(report.rows, 'decision')}: {report.kept:,} kept, {report.dropped:,} dropped."
    )
    if report.reasons:
        print_table(("reason", "dropped"), report.reasons.items(), numbers=("dropped",))
        print_table(
            ("template", "dropped"),
            list(report.templates.items())[:MAX_ROWS_NAMED],
            numbers=("dropped",),
        )
