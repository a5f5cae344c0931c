"""The README of an export: the one command that runs it, and how to score the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nikawa.datasets.custom import is_custom
from nikawa.exchange.base import TaskExport, ToolExport
from nikawa.exchange.scoring import UNREAD
from nikawa.metrics import metrics
from nikawa.version import __version__

Command = tuple[TaskExport, str, str]
"""A task, a split and the name of both in the tool."""


def write_readme(
    export: ToolExport,
    tool: str,
    commands: Sequence[Command],
    run_lines: Callable[[TaskExport, str, str], list[str]],
    list_notes: Callable[[ToolExport], list[str]],
    log: str = "out",
    place: str = "this folder",
    own_metrics: Mapping[str, str] | None = None,
) -> str:
    """README.md of an export.

    `log` is the log as the scoring command names it; `place` is where to run the commands. `own_metrics` is `Tool.metrics`; if the tool has only its own, its log cannot
    be scored here.
    """
    task, split, name = choose_main(commands)
    lines = [
        f"# {export.title} for {tool}",
        "",
        f"Nikawa {__version__} wrote this folder for {tool} {export.tool_version}. Run in {place}:",
        "",
        "```sh",
        *run_lines(task, split, name),
        "```",
        "",
        "## Tasks",
        "",
        "| task | split | items | prompt | few-shot examples | reports |",
        "|---|---|---:|---|---:|---|",
    ]
    for own, part, label in commands:
        names = own.metric_names(part)
        if own_metrics is not None:
            names = [own_metrics[metric] for metric in own.task.metrics if metric in own_metrics]
        count = f"{len(own.splits[part]):,}"
        cells = (label, part, count, own.prompt, str(len(own.shots)), ", ".join(names))
        lines.append(f"| {' | '.join(cells)} |")
    if own_metrics is None:
        lines += explain_metrics(export, tool)
    hidden = [(own, part, label) for own, part, label in commands if own.is_hidden(part)]
    if hidden:
        labels = ", ".join(f"`{label}`" for _, _, label in hidden)
        lines += [
            "",
            "## Hidden labels",
            "",
            f"The labels of {labels} are not published. The task collects the replies and reports only the unread ones. To get "
            f"a score, send the log to the owners of the labels: {export.card.homepage}",
        ]
    notes = list_notes(export)
    if notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in notes)]
    if own_metrics is None:
        typed = "DATASET" if is_custom(task.task.dataset) else task.task.name
        what = (
            "DATASET is the path of the dataset that was exported. "
            if is_custom(task.task.dataset)
            else ""
        )
        lines += [
            "",
            "## Score the log with Nikawa",
            "",
            f"{what}The scores are those that {tool} prints, with confidence intervals:",
            "",
            "```sh",
            f"nikawa score {typed}:{split} {log}",
            "```",
        ]
    card = export.card
    lines += ["", "## Dataset", "", card.description, "", f"Licence: {card.licence}", ""]
    lines += [f"Homepage: {card.homepage}", ""]
    return "\n".join(lines)


def explain_metrics(export: ToolExport, tool: str) -> list[str]:
    """What the figures are, and which cannot be computed."""
    lines = [
        "",
        f"The metrics are the official ones, in the unit of the official scorer. `{UNREAD}` is the share of replies without a readable "
        "answer. An unread reply counts as wrong, except in correlations, which skip it.",
        "",
        f"If Nikawa is installed in the environment of {tool}, its code reads the replies and computes the metrics. Otherwise the "
        "Python file of the task does, with a copy of that code. Both give the same numbers.",
    ]
    left_out = [
        f"- `{metric}` of {own.task.name} needs a score for every label, which a generated reply does not have."
        for own in export.tasks
        for metric in own.task.metrics
        if metrics()[metric].needs_scores
    ]
    if left_out:
        lines += ["", "Metrics that cannot be computed from replies:", "", *left_out]
    return lines


def choose_main(commands: Sequence[Command]) -> Command:
    """The task that the README runs first: test if it has labels, else the first split with labels."""
    labelled = [one for one in commands if not one[0].is_hidden(one[1])] or list(commands)
    tests = [one for one in labelled if one[1] == "test"]
    return (tests or labelled)[0]
