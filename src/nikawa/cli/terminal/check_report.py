"""Print the report of a check: label counts, then one block per finding, with each id unwrapped on its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nikawa.cli.terminal.output import MAX_CELL_CHARS, console, print_table
from nikawa.printable import printable_line

if TYPE_CHECKING:
    from nikawa.checks.job import Acceptance, CheckReport
    from nikawa.records import Finding

MAX_IDS_SHOWN = 3
"""Ids to show of each finding; the JSON has all of them."""


def print_check(report: CheckReport) -> None:
    """Print the label distribution, the findings, and how many are new."""
    from rich.text import Text

    sizes = ", ".join(f"{split} {n:,}" for split, n in report.sizes.items())
    about = printable_line(f", version {report.version}: {sizes}")
    console().print(Text.assemble((printable_line(report.dataset), "bold"), about))
    print_labels(report)
    findings = sorted(report.findings, key=lambda f: (f.known, f.check, f.where))
    widths = [
        max((len(text) for text in column), default=0)
        for column in zip(*map(_cells, findings), strict=True)
    ]
    for finding in findings:
        print_finding(finding, widths)
    for line in format_views(report.views):
        console().print(Text(printable_line(f"{line}: not compared")))
    for line in report.stale or ():
        console().print(Text(printable_line(f"known.toml, {line}")))
    new = sum(not f.known for f in findings)
    word = "finding" if len(findings) == 1 else "findings"
    compared = f"; compared with {', '.join(report.compared)}" if report.compared else ""
    console().print(Text(printable_line(f"{len(findings)} {word}, {new} new{compared}")))


def print_acceptance(report: Acceptance) -> None:
    """Print the findings that are now known, and the removed entries."""
    from rich.text import Text

    for verb, entries in (("accepted", report.accepted), ("removed", report.removed)):
        for entry in entries:
            count = len(entry.ids) or entry.count or 0
            line = f"{verb}: {entry.check}, {entry.where}, {count:,}: {entry.reason}"
            console().print(Text(printable_line(line)))
    console().print(Text(printable_line(f"Written to {report.path} and to the card.")))


def format_views(views: Mapping[str, str]) -> Iterator[str]:
    """Yield one line per split with its views."""
    for source in dict.fromkeys(views.values()):
        parts = [name for name in views if views[name] == source]
        yield f"{', '.join(parts)} repeat{'s' * (len(parts) == 1)} {source} by design"


def _cells(finding: Finding) -> tuple[str, str, str]:
    where = printable_line(finding.where, MAX_CELL_CHARS)
    return printable_line(finding.check, MAX_CELL_CHARS), where, f"{finding.count:,}"


def print_finding(finding: Finding, widths: Sequence[int]) -> None:
    """Print a finding with its counts and the first ids."""
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    check, where, count = _cells(finding)
    mark = Text("known", "dim") if finding.known else Text("new  ", "bold red")
    row = f"  {check:<{widths[0]}}  {where:<{widths[1]}}  {count:>{widths[2]}}"
    out.print(
        mark.append(row, "default not dim not bold"), no_wrap=True, overflow="ignore", crop=False
    )
    more = (
        f" … and {len(finding.ids) - MAX_IDS_SHOWN:,} more"
        if len(finding.ids) > MAX_IDS_SHOWN
        else ""
    )
    for line in filter(None, (finding.note, ("  ".join(finding.ids[:MAX_IDS_SHOWN]) + more))):
        out.print(Padding(Text(printable_line(line), "dim"), (0, 0, 0, 7), expand=False))


def print_labels(report: CheckReport) -> None:
    """Print counts of gold answers, with splits side by side, or one below the other if there are many."""
    splits = list(report.labels)
    cells: dict[tuple[str, str], dict[str, int]] = {}
    for split, questions in report.labels.items():
        for question, labels in questions.items():
            for label, count in labels.items():
                cells.setdefault((question, label), {})[split] = count
    if not cells:
        return
    if len(splits) > 4 and len(splits) > len(cells):
        names = [label for _, label in cells]
        rows = [(split, *(counts.get(split, 0) for counts in cells.values())) for split in splits]
        print_table(("split", *names), rows, numbers=names)
    else:
        table = [
            (q, label, *(counts.get(split, 0) for split in splits))
            for (q, label), counts in cells.items()
        ]
        print_table(("question", "gold", *splits), table, numbers=splits)
