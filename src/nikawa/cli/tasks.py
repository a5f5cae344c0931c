"""`nikawa tasks`: list the tasks, their datasets and their metrics.

A task is a question about the examples of a dataset. `nikawa score` and `nikawa run` take the names
listed here.
"""

from __future__ import annotations

from typing import Annotated

import typer

from nikawa.cli.terminal.options import Json, Quiet, complete_tasks
from nikawa.cli.terminal.output import echo, print_json, print_table

PANEL = "Data"
EXAMPLE = "Example: nikawa tasks jglue"


def tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A task, a dataset, a suite or the folder of a custom dataset; default: all.",
            autocompletion=complete_tasks,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the tasks: kind, inputs, labels and metrics."""
    from nikawa.datasets import tasks as table
    from nikawa.datasets.task_lookup import find_tasks

    listed = find_tasks(name) if name else table().values()
    if json:
        print_json(listed)
        return
    if quiet:
        return
    rows = [
        (
            task.name,
            task.kind,
            ", ".join(task.inputs),
            len(task.labels) or "",
            ", ".join(task.metrics),
        )
        for task in listed
    ]
    print_table(("task", "kind", "inputs", "labels", "metrics"), rows, numbers=("labels",))
    if name and len(listed) == 1 and listed[0].labels:
        echo("labels, in order: " + ", ".join(listed[0].labels))
