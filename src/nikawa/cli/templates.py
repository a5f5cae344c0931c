"""`nikawa templates`: check, show and audit templates, and review generated problems.

`check` finds faults in a template file. `show` prints one template with samples. `audit` recomputes
the labels of a published dataset. `review` writes problems to a sheet for people and reads it back, or lets readers judge a sample of
a pack on the annotation pages and writes the figures to its card.
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
    from nikawa.generation.review_sample import PackReviewReport
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
    if shown.placeholders:
        echo(f"The words of the samples are placeholders: {shown.placeholders}.")


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
        str,
        typer.Argument(
            help="A generated dataset (with --export or --import), or a pack (with --project or --judgements)."
        ),
    ],
    export: Annotated[
        Path | None,
        typer.Option(help="Write a sheet (.tsv) for people to fill in, doubtful problems first."),
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Read the decisions from a completed sheet.")
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            help="Draw a sample of a pack, and make an annotation project of it in this folder."
        ),
    ] = None,
    judgements: Annotated[
        list[Path] | None,
        typer.Option(help="Judgements of a sample, for the card of the pack; may be repeated."),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="The sample that was judged: sample.jsonl, which --project wrote."),
    ] = None,
    read_by: Annotated[
        str,
        typer.Option(help="Who judged the sample; default: the number of persons."),
    ] = "",
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            help="Maximum rows of the sheet, or problems of the sample (default: 150).",
            min=1,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    pack: Annotated[
        str | None,
        typer.Option(
            help="The pack the dataset was made from; default: the pack that the data names."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the dataset without the dropped problems, or for the card of the pack."
        ),
    ] = None,
    overwrite: Overwrite = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let people review problems: on a sheet (keep or drop), or on the annotation pages (naturalness and label)."""
    from nikawa.errors import BadInput
    from nikawa.generation.review import apply_review
    from nikawa.generation.review import export_review as write

    steps = [step for step in (export, import_, project, judgements) if step]
    if len(steps) != 1:
        cure = "pass one of --export SHEET, --import SHEET, --project FOLDER, --judgements FILE"
        raise BadInput("the step of the review is missing", cure=cure)
    if project is not None:
        start_review_project(
            dataset, project, n, seed, data, overwrite=overwrite, json=json, quiet=quiet
        )
        return
    if judgements:
        from nikawa.generation.review_sample import review_pack

        if sample is None:
            raise BadInput("the sample is missing", cure="pass --sample FOLDER/sample.jsonl")
        with status(f"evaluating the review of {dataset}", quiet or json):
            result = review_pack(dataset, sample, judgements, read_by=read_by, out=out, data=data)
        print_result(result, print_figures, json=json, quiet=quiet)
        return
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


READERS = 2
"""Readers of each problem of a review."""
SAMPLE_SUFFIX = "-sample"
"""The folder of the sample is named after the project: readers must not see its labels."""


def start_review_project(
    spec: str,
    project: Path,
    n: int | None,
    seed: int,
    data: Path | None,
    *,
    overwrite: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Draw a sample of a pack and make a project with the form `inference`, which also asks for naturalness.

    `overwrite` replaces an earlier sample; an existing project is never replaced.
    """
    from nikawa.cli.collect import show_new
    from nikawa.collect.forms._base import make_guideline
    from nikawa.collect.job import create
    from nikawa.collect.sources import NewProject
    from nikawa.errors import BadInput
    from nikawa.generation.pack import open_pack
    from nikawa.generation.review_sample import MIN_READ, READING_POINTS, write_sample

    if project.exists():
        raise BadInput("exists already", file=project, cure="choose another folder")
    folder = project.with_name(project.name + SAMPLE_SUFFIX)
    with status(f"drawing a sample of {spec}", quiet or json):
        drawn = write_sample(
            spec, folder, n=n or MIN_READ, seed=seed, data=data, overwrite=overwrite
        )
        new = NewProject(
            form="inference",
            workers=READERS,
            language=open_pack(spec, data).language,
            options={"naturalness": True},
        )
        report = create(project, drawn.items, new, data=data)
        for language, text in make_guideline(**READING_POINTS).items():
            (project / f"guideline.{language}.md").write_text(text, "utf-8")
    show_new(report, json, quiet)
    if not (quiet or json):
        echo(
            f"{format_count(drawn.problems, 'problem')} of {format_count(drawn.templates, 'template')}. "
            f"The labels are in {drawn.sample}; keep this file away from readers."
        )
        echo(
            f"When all are judged: nikawa collect export {project} --out judgements.jsonl, then "
            f"nikawa templates review {spec} --sample {drawn.sample} --judgements judgements.jsonl"
        )


def print_figures(report: PackReviewReport) -> None:
    """Print the figures of a review."""
    figures = report.figures
    rows = [
        ("read by", figures.read_by),
        ("readers", figures.readers),
        ("problems", figures.n),
        ("natural", f"{figures.natural:.1%}"),
        ("without reservation", f"{figures.fully_natural:.1%}"),
        ("clearly unnatural for a reader", figures.unnatural),
        ("label agreed", f"{figures.label_agreed:.1%}"),
        ("label disputed by a reader", figures.disputed),
    ]
    if figures.label_agreement is not None and figures.naturalness_agreement is not None:
        rows.append(("readers agree on the label", f"{figures.label_agreement:.1%}"))
        rows.append(("readers agree on naturalness", f"{figures.naturalness_agreement:.1%}"))
    print_table(("", ""), rows)
    if figures.faults:
        print_table(
            ("template", "unnatural", "disputed"),
            [(fault.template, fault.unnatural, fault.disputed) for fault in figures.faults],
            numbers=("unnatural", "disputed"),
        )
    echo(f"Written to {report.card}")


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
