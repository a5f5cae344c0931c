"""`nikawa collect`: annotation pages for a crowd, from a folder to judgements.

A project is a folder; every command below takes it as its first argument. `serve` runs the web
server, the others read or change the project while it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nikawa.cli.terminal.options import (
    Data,
    EmptySpans,
    Json,
    JudgementForm,
    Offsets,
    Overwrite,
    Port,
    Quiet,
    complete_from,
    parse_value,
)
from nikawa.cli.terminal.output import echo, format_count, print_json, print_table, status

if TYPE_CHECKING:
    from nikawa.collect.export import ExportCount
    from nikawa.collect.job import NewReport

PANEL = "Build"


_LANGUAGES = {"ja": "Japanese", "ko": "Korean", "en": "English"}
MAX_WORKERS_SHOWN = 20
"""Workers and reports to show; the JSON has all of them."""


def parse_form_settings(pairs: list[str]) -> dict[str, Any]:
    """Parse the settings of `--set NAME=VALUE`; see `parse_value`."""
    from nikawa.errors import BadInput

    settings: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise BadInput(f"--set {pair!r} has no =", cure='write --set \'labels=["yes", "no"]\'')
        settings[name.strip()] = parse_value(value)
    return settings


def read_names(file: Path) -> list[str]:
    """Read the names in a file, one per line."""
    from nikawa.io.lines import read_text

    text = read_text(file, "settings").decode()
    return [line.strip() for line in text.splitlines() if line.strip()]


def show_new(report: NewReport, json: bool, quiet: bool, served: bool = False) -> None:
    """Print what was created, and the next command if the project is not served at once."""
    if json:
        return print_json(report)
    if quiet:
        return None
    echo(
        f"{report.project}: {report.items:,} items, {format_count(report.workers_per_item, 'worker')} per item, form {report.form},"
        f" pages in {_LANGUAGES[report.language]}"
    )
    echo(f"Log in as {report.owner} with the password {report.password} (shown only once)")
    for note in report.notes:
        echo(f"note: {note}")
    if served:
        return None
    echo(
        f"Before you serve it, check {report.project}/project.toml. The settings of the form are at the end, in [form_settings]."
    )
    folder = quote(report.project)
    echo(f"Next: nikawa collect links {folder} NAME …, then nikawa collect serve {folder}")
    return None


def warn_local_address(address: str, project: Path) -> None:
    """Print a note if links work on this machine only."""
    from urllib.parse import urlsplit

    if urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost"):
        advice = (
            f"for workers elsewhere, pass --address or set address in {project / 'project.toml'}"
        )
        echo(f"note: links to {address} work on this machine only; {advice}", err=True)


def show_export(count: ExportCount, form: str | None, out: Path, pseudonymise: bool) -> None:
    """Print how much was written, and which files must stay private."""
    what = form if form in ("examples", "decisions") else "judgements"
    if form == "label-studio":
        what = "tasks with their judgements"
    echo(f"{count.written:,} {what} written to {out}")
    further = {"decisions": count.decisions, "reports": count.reports, "comments": count.comments}
    if any(further.values()):
        words = ", ".join(f"{number:,} {name}" for name, number in further.items() if number)
        echo(f"Also {words}, in {count.remarks or out}")
    if count.remarks is not None:
        echo(f"Copy or rename both files together: {count.remarks.name} is read with {out.name}")
    if form != "examples":
        return
    from nikawa.collect.writers import writers_file

    if pseudonymise:
        echo(
            "Writers have pseudonyms: projects with the same key do not show workers their own texts"
            " (nikawa collect new --share-key-with PROJECT)"
        )
    else:
        echo(
            f"The writers are in {writers_file(out)}: keep it next to the texts for nikawa collect new, and keep it private"
        )


def show_status(project_status: dict[str, Any]) -> None:
    """Print the progress, the latest workers and their reports."""
    from nikawa.serve.names import describe_look_alikes

    done = project_status["progress"]
    echo(
        f"{project_status['title']}: {done['complete']:,} of {done['items']:,} items complete, {done['done']:,} of"
        f" {done['asked']:,} answers, {done['in_hand']:,} in progress, {done['set_aside']:,} set aside"
    )
    rows = [
        (
            w["name"],
            w["state"],
            w["answered"],
            w["mean_seconds"],
            f"{w['gold_right']}/{w['gold']}",
            w["earned"],
            w["reason"],
        )
        for w in project_status["workers"][-MAX_WORKERS_SHOWN:]
    ]
    columns = ("worker", "state", "answers", "seconds", "control items", "earned", "reason")
    if rows:
        print_table(columns, rows, numbers=columns[2:6])
    for group in project_status.get("look_alikes", [])[:MAX_WORKERS_SHOWN]:
        echo(f"names that look alike: {describe_look_alikes(group)}")
    for report in project_status["reports"][:MAX_WORKERS_SHOWN]:
        echo(
            f"reported {report['ref']}: {report['code']} ({report['worker']}) {report['comment'][:80]}"
        )


class ServeAddress(NamedTuple):
    """The address of the pages and the place of their data."""

    host: str
    port: int
    database: str = ""
    trusted_proxies: tuple[str, ...] = ()


def serve_pages(
    project: Path,
    where: ServeAddress,
    json: bool,
    quiet: bool,
    paths: Mapping[str, str] | None = None,
    made: NewReport | None = None,
) -> None:
    """Serve, and print the address once the port is known; `paths` are links of workers to print."""
    from nikawa.collect.job import ServeOptions
    from nikawa.collect.job import serve as run

    shown = f"[{where.host}]" if ":" in where.host else where.host

    def started(site: int) -> None:
        base = f"http://{shown}:{site}"
        links = {name: base + path for name, path in (paths or {}).items()}
        if json:
            more = {"links": links} if links else {}
            print_json(
                {
                    "address": base,
                    "process": os.getpid(),
                    **more,
                    **({} if made is None else asdict(made)),
                }
            )
        elif not quiet:
            for name, link in links.items():
                echo(f"{name}\t{link}")
            echo(f"{base}/owner is the dashboard of {project}; press Ctrl+C to stop")
        sys.stdout.flush()

    def note(text: str) -> None:
        if not quiet:
            echo(text, err=True)

    run(project, ServeOptions(*where), started, note)


def demo(
    project: Annotated[Path, typer.Argument(help="The folder to create.")] = Path(
        "nikawa-collect-demo"
    ),
    port: Port = 8000,
    start: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the project, or only create it.")
    ] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create and serve a project with the included example data."""
    from nikawa.collect.job import create_demo, create_links

    fresh = not (project / "project.toml").exists()
    made = create_demo(project) if fresh else None
    if made is not None and not (json and start):
        show_new(made, json, quiet, start)
    elif not fresh and not quiet and not json:
        echo(
            f"{project} already exists; nikawa collect password {quote(str(project))} sets a new password"
        )
    paths = dict(create_links(project, ["worker-1", "worker-2", "worker-3"], "").links)
    if start:
        serve_pages(project, ServeAddress("127.0.0.1", port), json, quiet, paths, made)
    elif not json and not quiet:
        for name, path in paths.items():
            echo(f"{name}\thttp://127.0.0.1:{port}{path}")


Project = Annotated[Path, typer.Argument(help="The folder of the project.")]
Key = Annotated[
    Path | None,
    typer.Option(
        help="The file with the key for pseudonyms, created if it does not exist; default: the key of the build, or your key for all projects.",
        show_default=False,
    ),
]
ShareKeyWith = Annotated[
    Path | None,
    typer.Option(
        help="Use the key for pseudonyms of another project: a worker has the same pseudonym in both.",
        show_default=False,
    ),
]
Database = Annotated[
    str,
    typer.Option(
        help="A PostgreSQL address; default: a SQLite file in the folder.",
        envvar="NIKAWA_COLLECT_DATABASE",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    verb = typer.Typer(
        help="Run annotation projects: create one, serve its pages to workers, export the judgements.",
        no_args_is_help=True,
    )
    start = "Example: nikawa collect"
    verb.command("new", epilog=f"{start} new my-round --examples pairs.jsonl --form choice")(new)
    verb.command("serve", epilog=f"{start} serve my-round --port 8000")(serve)
    verb.command("links", epilog=f"{start} links my-round hanako taro")(links)
    verb.command("status", epilog=f"{start} status my-round")(status_)
    verb.command("export", epilog=f"{start} export my-round --out judgements.jsonl --pseudonymise")(
        export
    )
    verb.command("import", epilog=f"{start} import my-round results.csv")(import_)
    verb.command("backup", epilog=f"{start} backup my-round --out collect-backup.db")(backup)
    verb.command("password", epilog=f"{start} password my-round --name reviewer-1 --role reviewer")(
        password
    )
    verb.command("rekey", epilog=f"{start} rekey my-round --yes")(rekey)
    verb.command("forms", epilog=f"{start} forms")(forms)
    verb.command("demo", epilog=f"{start} demo")(demo)
    app.add_typer(verb, name="collect", rich_help_panel=PANEL)


def new(
    project: Project,
    examples: Annotated[
        str, typer.Option(help="The examples to judge: a dataset, folder or records file.")
    ],
    form: Annotated[
        str,
        typer.Option(
            help="The form; nikawa collect forms lists them. A task sheet (sheet.json next to tasks.jsonl) names the form and its settings.",
            show_default=False,
        ),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers-per-item",
            "-k",
            help="Workers per item; default: as in the task sheet, else 3.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            help="Language of the pages: ja, ko or en; default: that of the task sheet or the texts.",
            autocompletion=complete_from("ja", "ko", "en"),
            show_default=False,
        ),
    ] = "",
    title: Annotated[
        str, typer.Option(help="Title of the pages; default: the name of the folder.")
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the form, NAME=VALUE; may be repeated."),
    ] = None,
    share_key_with: ShareKeyWith = None,
    key: Key = None,
    database: Database = "",
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a project: a folder with settings, guidelines and items, and files for control and pilot items."""
    from nikawa.collect.job import create
    from nikawa.collect.sources import NewProject

    options = NewProject(
        form,
        workers,
        language,
        title,
        parse_form_settings(settings or []),
        database,
        key,
        share_key_with,
    )
    with status(f"creating {project}", quiet or json):
        report = create(project, examples, options, data=data)
    show_new(report, json, quiet)


def serve(
    project: Project,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Port = 8000,
    database: Database = "",
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A reverse proxy whose X-Forwarded-For is trusted, such as 127.0.0.1; may be repeated.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the pages until you press Ctrl+C."""
    address = ServeAddress(host, port, database, tuple(trust_proxy or ()))
    serve_pages(project, address, json, quiet)


def links(
    project: Project,
    names: Annotated[list[str] | None, typer.Argument(help="The workers' names or ids.")] = None,
    file: Annotated[
        Path | None, typer.Option("--from", help="A file with one name per line.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="The address that workers use; default: as in project.toml, or where the server last ran.",
            show_default=False,
        ),
    ] = None,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create links for workers; the same name always gets the same link."""
    from nikawa.collect.job import create_links

    workers = list(names or [])
    if file is not None:
        workers += read_names(file)
    links_made = create_links(project, workers, address, database)
    if json:  # the key is present only if there are notes
        return print_json(
            {name: one for name, one in asdict(links_made).items() if one or name != "notes"}
        )
    if not quiet:
        for name, link in links_made.links:
            echo(f"{name}\t{link}")
        if links_made.join is not None:
            echo(f"link for a crowdsourcing platform (append the worker's id): {links_made.join}")
        for note in links_made.notes:
            echo(f"note: {note}", err=True)
        warn_local_address(links_made.address, project)
    return None


def status_(
    project: Project, database: Database = "", json: Json = False, quiet: Quiet = False
) -> None:
    """Show the progress of a project; works while it is served."""
    from nikawa.collect.job import read_status

    report = read_status(project, database)
    if json:
        return print_json(report)
    if not quiet:
        show_status(report)
    return None


def export(
    project: Project,
    out: Annotated[
        Path, typer.Option(help="judgements.jsonl, .jsonl.zst, .tsv, .parquet or .csv.")
    ],
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Also export: gold, pilot, surplus, withdrawn, excluded; may be repeated. Decisions, reports and comments are always exported."
        ),
    ] = None,
    pseudonymise: Annotated[
        bool,
        typer.Option("--pseudonymise", help="Replace the names of the workers with pseudonyms."),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="csv, yahoo, lancers, selectstar, label-studio or doccano; default: by the suffix. examples: texts that workers wrote, for others to judge, and a file of their writers; decisions: a sheet for nikawa aggregate --adjudicated.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write all judgements so far for nikawa aggregate or another tool; works while it is served."""
    from nikawa.collect.export import WHOLE, ExportOptions
    from nikawa.collect.export import export as run

    options = ExportOptions((*WHOLE, *(include or ())), pseudonymise, form, overwrite)
    with status(f"writing {out}", quiet or json):
        count = run(project, out, options, database)
    if json:
        further = {
            "decisions": count.decisions,
            "reports": count.reports,
            "comments": count.comments,
            "remarks": str(count.remarks or ""),
        }
        counted = {name: value for name, value in further.items() if value}
        print_json({"judgements": count.written, "out": str(out), **counted})
    elif not quiet:
        show_export(count, form, out, pseudonymise)


def import_(
    project: Project,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Judgements from elsewhere: records, a sheet, or an export of Label Studio, doccano, potato, Prodigy, Argilla or MTurk."
        ),
    ] = None,
    examples: Annotated[
        str | None, typer.Option(help="Further examples: a dataset, folder or file.")
    ] = None,
    form: JudgementForm = None,
    mapping: Annotated[
        str | None,
        typer.Option("--map", help="Columns of a sheet: example=ID,worker=USER,answer=LABEL."),
    ] = None,
    question: Annotated[
        str,
        typer.Option(
            help="OURS=THEIRS: the tool's name for a question of the project, if it cannot be detected; separate several with commas. Or the question of a sheet that names none; default: the project's."
        ),
    ] = "label",
    empty: EmptySpans = "none",
    offsets: Offsets = None,
    skip_invalid: Annotated[
        bool,
        typer.Option(
            "--skip-invalid",
            help="Skip and count answers that the form does not accept instead of rejecting the file.",
        ),
    ] = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add judgements made elsewhere, or more examples. A file with an error adds nothing.

    The command checks every answer against the form of the project. It counts the answers that it added, those
    already present, and those it skipped, with reasons.
    """
    from nikawa.collect.items import import_judgements
    from nikawa.errors import BadInput
    from nikawa.io.judgements import parse_options

    if file is None and examples is None:
        raise BadInput(
            "the file to import is missing", cure="pass a file of judgements, or --examples FILE"
        )
    options, _ = parse_options(form, mapping, question, empty=empty, offsets=offsets)
    report = import_judgements(
        project, file, options, examples, database, skip_invalid=skip_invalid
    )
    if json:  # keys that only some files need are present only there
        further = ("decisions", "reports", "differing")
        parts = {name: getattr(report, name) for name in asdict(report)}
        return print_json(
            {name: part for name, part in parts.items() if part or name not in further}
        )
    if not quiet:
        echo(
            f"{report.answers:,} answers and {report.examples:,} examples added, {report.known:,} already present"
        )
        if report.differing:
            echo(
                f"{report.differing:,} of the answers already present differ from the file; the stored answers stay"
            )
        if report.decisions or report.reports:
            echo(f"{report.decisions:,} decisions and {report.reports:,} reports added")
        for note in report.notes:
            echo(f"{note.what}: {note.count:,}, {note.done}")
    return None


def backup(
    project: Project,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    overwrite: Overwrite = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy the SQLite database to a file; works while it is served."""
    from nikawa.collect.job import backup as run

    run(project, out, overwrite=overwrite, database=database)
    if json:
        print_json({"out": str(out), "bytes": out.stat().st_size})
    elif not quiet:
        echo(f"Written to {out}")


def password(
    project: Project,
    name: Annotated[str, typer.Option(help="The name to log in with.")] = "owner",
    role: Annotated[
        str,
        typer.Option(
            help="The role: owner or reviewer.", autocompletion=complete_from("owner", "reviewer")
        ),
    ] = "owner",
    ask: Annotated[
        bool, typer.Option("--ask", help="Type the password instead of having one generated.")
    ] = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add an owner or reviewer, or set a new password, which ends all their sessions."""
    from nikawa.collect.job import set_password

    typed = typer.prompt("Password", hide_input=True, confirmation_prompt=True) if ask else None
    made = set_password(project, name, role, typed, database)
    if json:
        print_json({"name": name, "role": role, "password": None if ask else made})
    elif not quiet:
        echo(
            f"{name} is {role}"
            if ask
            else f"{name} is {role}, with the password {made} (shown only once)"
        )


def rekey(
    project: Project,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Apply the change; without it, only show what would change."),
    ] = False,
    pseudonyms: Annotated[
        bool,
        typer.Option(
            "--pseudonyms", help="Also give workers the pseudonyms of your other projects."
        ),
    ] = False,
    share_key_with: ShareKeyWith = None,
    key: Key = None,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Upgrade a project from an older version, so that workers cannot predict its control items.

    Control items are then drawn with the project's secret. Links, answers and the items that workers have seen stay.
    New projects need no rekey.
    """
    from nikawa.collect.job import rekey as run

    report = run(
        project,
        apply=yes,
        pseudonyms=pseudonyms,
        key=key,
        share_key_with=share_key_with,
        database=database,
    )
    if json:
        return print_json(report)
    if quiet:
        return None
    for change in report.changes:
        echo(change)
    if not report.changes:
        echo(f"{project} already has these keys; nothing changes")
    elif not yes:
        echo("Nothing was changed; pass --yes to apply the change")
    return None


def forms(json: Json = False, quiet: Quiet = False) -> None:
    """List the forms."""
    from nikawa.collect.form import forms as table

    known_forms = table().values()
    if json:
        return print_json(
            [
                {
                    "name": f.name,
                    "title": dict(f.title),
                    "questions": f.questions,
                    "inputs": f.inputs,
                }
                for f in known_forms
            ]
        )
    if not quiet:
        rows = [
            (f.name, f.title["en"], ", ".join(f.inputs), ", ".join(f.questions))
            for f in known_forms
        ]
        print_table(("form", "title", "inputs", "questions"), rows)
    return None
