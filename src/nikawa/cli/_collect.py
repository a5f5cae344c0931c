"""How `nikawa collect` reads its settings and shows what it finds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from nikawa.cli._show import print_json, print_table

if TYPE_CHECKING:
    from nikawa.collect.job import NewReport

_LANGUAGES = {"ja": "Japanese", "ko": "Korean", "en": "English"}
SHOWN = 20
"""Workers and reports shown; all of them are in the JSON."""


def options_of(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE: the value as JSON where it is some, else as text."""
    import msgspec

    from nikawa.errors import BadInput

    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise BadInput(f"--set {pair!r} has no =", cure='write --set \'labels=["yes", "no"]\'')
        try:
            found[name.strip()] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[name.strip()] = value
    return found


def names_in(file: Path) -> list[str]:
    """The names of a file, one a line."""
    from nikawa.errors import BadInput

    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=file, cure="save it as UTF-8, a name a line") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def show_new(report: NewReport, json: bool, quiet: bool, served: bool = False) -> None:
    """What was made, and what comes next where it is not served at once."""
    if json:
        return print_json(report)
    if quiet:
        return None
    typer.echo(
        f"{report.project}: {report.items:,} items, {report.workers_per_item} workers each, form {report.form},"
        f" pages in {_LANGUAGES[report.language]}"
    )
    typer.echo(f"Log in as {report.owner} with the password {report.password} (shown this once)")
    for note in report.notes:
        typer.echo(f"note: {note}")
    if served:
        return None
    typer.echo(
        f"Look at {report.project}/project.toml first: what the form asks is at its end, in [form_settings]"
    )
    named = quote(report.project)
    typer.echo(f"Next: nikawa collect links {named} NAME …; nikawa collect serve {named}")
    return None


def tell_where(address: str, project: Path) -> None:
    """Say that links work on this machine only, where they do."""
    from urllib.parse import urlsplit

    if urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost"):
        told = f"say --address, or write address in {project / 'project.toml'}, where workers reach the server elsewhere"
        typer.echo(f"note: links to {address} work on this machine only; {told}", err=True)


def show_export(count: int, form: str | None, out: Path, pseudonymise: bool) -> None:
    """How much was written, and what must not be given away with it."""
    what = form if form in ("examples", "decisions") else "judgements"
    typer.echo(f"{count:,} {what} written to {out}")
    if form != "examples":
        return
    from nikawa.collect.writers import beside

    if pseudonymise:
        typer.echo(
            "note: without names, the project that judges these texts may hand writers their own"
        )
    else:
        typer.echo(
            f"Who wrote them is in {beside(out)}: keep it beside them for nikawa collect new, and to yourself"
        )


def show_status(found: dict[str, Any]) -> None:
    """Progress, the latest workers, and what they reported."""
    done = found["progress"]
    typer.echo(
        f"{found['title']}: {done['complete']:,} of {done['items']:,} items complete, {done['done']:,} of"
        f" {done['asked']:,} answers, {done['in_hand']:,} in hand, {done['set_aside']:,} set aside"
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
        for w in found["workers"][-SHOWN:]
    ]
    columns = ("worker", "state", "answers", "seconds", "control items", "earned", "reason")
    if rows:
        print_table(columns, rows, numbers=columns[2:6])
    for report in found["reports"][:SHOWN]:
        typer.echo(
            f"reported {report['ref']}: {report['code']} ({report['worker']}) {report['comment'][:80]}"
        )


class Where(NamedTuple):
    """Where pages are served, and where their data is."""

    host: str
    port: int
    database: str = ""


def open_for_workers(
    project: Path,
    where: Where,
    json: bool,
    quiet: bool,
    paths: Mapping[str, str] | None = None,
    made: NewReport | None = None,
) -> None:
    """Serve, and say where once the port is known; `paths` are links of workers to show."""
    from nikawa.collect.job import Serving
    from nikawa.collect.job import serve as run

    shown = f"[{where.host}]" if ":" in where.host else where.host

    def started(found: int) -> None:
        base = f"http://{shown}:{found}"
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
                typer.echo(f"{name}\t{link}")
            typer.echo(f"{base}/owner is the dashboard of {project}; Ctrl-C stops")
        sys.stdout.flush()

    run(project, Serving(*where), started)
