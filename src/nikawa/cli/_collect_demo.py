"""`nikawa collect demo`: a project to try, made and served with one command."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from nikawa.cli._collect import Where, open_for_workers, show_new
from nikawa.cli._show import Json, Quiet


def demo(
    project: Annotated[Path, typer.Argument(help="The folder to make.")] = Path(
        "nikawa-collect-demo"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 for a free one.", min=0, max=65535)] = 8000,
    start: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve it, or only make it.")
    ] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """A project on the embedded mini-benchmark, made and served with one command."""
    from nikawa.collect.job import demo as make
    from nikawa.collect.job import links as link

    fresh = not (project / "project.toml").exists()
    made = make(project) if fresh else None
    if made is not None and not (json and start):
        show_new(made, json, quiet, start)
    elif not fresh and not quiet and not json:
        typer.echo(
            f"{project} is there already; nikawa collect password {quote(str(project))} gives a new password"
        )
    paths = dict(link(project, ["worker-1", "worker-2", "worker-3"], "").links)
    if start:
        open_for_workers(project, Where("127.0.0.1", port), json, quiet, paths, made)
    elif not json and not quiet:
        for name, path in paths.items():
            typer.echo(f"{name}\thttp://127.0.0.1:{port}{path}")
