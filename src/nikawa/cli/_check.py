"""A check's report as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nikawa.cli._show import console, print_table

if TYPE_CHECKING:
    from nikawa.jobs.check import Report

SHOWN = 3
"""Ids shown of each finding; all of them are in the JSON."""


def print_report(report: Report) -> None:
    """Label distribution, findings, and whether anything is new."""
    from rich.text import Text

    sizes = ", ".join(f"{split} {n:,}" for split, n in report.sizes.items())
    console().print(f"[bold]{report.dataset}[/bold] version {report.version}: {sizes}")
    _print_labels(report)
    rows = [
        (
            Text("known", "dim") if f.known else Text("new", "bold red"),
            f.check,
            f.where,
            f.count,
            _ids(f.ids),
            f.note,
        )
        for f in sorted(report.findings, key=lambda f: (f.known, f.check, f.where))
    ]
    if rows:
        print_table(("", "check", "where", "count", "for example", "note"), rows, numbers=("count",))
    new = sum(not f.known for f in report.findings)
    compared = f"; compared with {', '.join(report.compared)}" if report.compared else ""
    console().print(f"{len(rows)} findings, {new} new{compared}")


def _print_labels(report: Report) -> None:
    splits = list(report.labels)
    cells: dict[tuple[str, str], dict[str, int]] = {}
    for split, questions in report.labels.items():
        for question, labels in questions.items():
            for label, count in labels.items():
                cells.setdefault((question, label), {})[split] = count
    if cells:
        rows = [
            (q, label, *(counts.get(split, 0) for split in splits)) for (q, label), counts in cells.items()
        ]
        print_table(("question", "gold", *splits), rows, numbers=splits)


def _ids(ids: tuple[str, ...]) -> str:
    more = f" … +{len(ids) - SHOWN:,}" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more
