"""`nikawa tag`: find linguistic phenomena in the texts of a dataset.

Without a dataset it lists the tag packs. With only `--pack` it tests the pack on its own test
sentences; the exit status is 1 if one fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa import api
from nikawa.cli.terminal.options import (
    ClusterAddress,
    Data,
    ExecutorName,
    HiddenLabels,
    Json,
    Overwrite,
    Processes,
    Quiet,
    Shards,
    TableStyle,
)
from nikawa.cli.terminal.output import (
    echo,
    explain_interrupt,
    format_count,
    print_json,
    print_rendered,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from nikawa.tagging import Pack
    from nikawa.tagging.job import Comparison, TagReport

PANEL = "Probe"
EXAMPLE = "Example: nikawa tag mini-ja --pack jsick --out tagged"
MAX_DIFFERENCES_SHOWN = 20
"""Differences to show; the JSON has all of them."""


def tag(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="A dataset, folder or records file. Without one, the command lists the packs."
        ),
    ] = None,
    pack: Annotated[
        str | None,
        typer.Option(
            help="A tag pack by name or file (docs/tags.md); `none` counts the existing tags."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the tagged records to this file or dataset folder.")
    ] = None,
    shards: Shards = False,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare the new tags with the existing tags."),
    ] = False,
    instead: Annotated[
        bool,
        typer.Option("--replace", help="Replace the existing tags instead of adding to them."),
    ] = False,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="Tag only this input; may be repeated.")
    ] = None,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    hidden: HiddenLabels = False,
    overwrite: Overwrite = False,
    style: TableStyle = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find phenomena (negation, passive, …) in the texts, and count them by split."""
    from nikawa.io.growing import is_unfinished
    from nikawa.tagging.job import TagOptions

    if dataset is None:
        return list_packs(json) if pack is None else show_pack(pack, json)
    names = tuple(inputs or ())
    options = TagOptions(
        pack,
        names,
        instead,
        out,
        overwrite,
        compare,
        hidden=hidden,
        workers=workers,
        executor=executor,
        address=address,
        shards=shards,
    )
    with (
        explain_interrupt(lambda: out is not None and is_unfinished(out)),
        progress_bar(f"tagging {dataset}", quiet or json) as bar,
    ):
        report = api.tag(
            dataset,
            data=data,
            options=options,
            on_progress=bar.update,
        )
    if json:
        print_json(report)
    elif not quiet:
        show(report, style)
        if out is not None:
            echo(f"Written to {out}")
    return None


def show(report: TagReport, style: str | None) -> None:
    """Print the table by split, the skipped examples, and the comparison."""
    splits = list(report.sizes)
    columns = ("tag", "short", "from", *splits, "total")
    rows: list[tuple[Any, ...]] = [
        (tag, report.aliases.get(tag, ""), origin, *counts.values(), sum(counts.values()))
        for origin, part in ((report.pack, report.found), ("data", report.carried))
        for tag, counts in part.items()
    ]
    numbers = (*splits, "total")
    if style is not None:
        return print_rendered(
            columns, [[str(cell) for cell in row] for row in rows], style, numbers=numbers
        )
    print_table(columns, rows, numbers=numbers)
    n, tagged = sum(report.sizes.values()), sum(report.tagged.values())
    echo(f"{report.dataset}: {n:,} examples, {tagged:,} with at least one tag")
    if report.found:
        echo(
            f"The pack {report.pack} finds only the words it lists; other words stay untagged (docs/tags.md)"
        )
    for skipped in report.skipped[:MAX_DIFFERENCES_SHOWN]:
        echo(f"skipped {skipped.example}: {skipped.why}")
    if report.comparison is not None:
        show_comparison(report.comparison)
    return None


def show_comparison(comparison: Comparison) -> None:
    """Print how the pack's tags differ from the existing tags."""
    rows = [
        (tag, a.carried, a.found, a.both, a.carried - a.both, a.found - a.both)
        for tag, a in comparison.tags.items()
    ]
    columns = ("tag", "carried", "found", "both", "only carried", "only found")
    print_table(columns, rows, numbers=columns[1:])
    echo(f"The same tags on {comparison.equal:,} of {comparison.n:,} examples")
    shown = [
        (d.example, ", ".join(d.carried_only), ", ".join(d.found_only), d.known)
        for d in comparison.differences[:MAX_DIFFERENCES_SHOWN]
    ]
    if shown:
        print_table(("example", "only carried", "only found", "known"), shown)
    if len(comparison.differences) > MAX_DIFFERENCES_SHOWN:
        echo(
            f"… and {len(comparison.differences) - MAX_DIFFERENCES_SHOWN:,} more: --json has them all"
        )


def list_packs(json: bool) -> None:
    """Print the included tag packs."""
    from nikawa.tagging import find_pack, pack_names

    packs = [find_pack(name) for name in pack_names()]
    if json:
        return print_json([_head(pack) for pack in packs])
    rows = [(p.name, p.language, p.analyser, len(p.tags), len(p.patterns), p.title) for p in packs]
    columns = ("pack", "language", "analyser", "tags", "patterns", "title")
    return print_table(columns, rows, numbers=("tags", "patterns"))


def _head(pack: Pack) -> dict[str, Any]:
    names = ("name", "title", "language", "analyser", "licence", "provenance", "tags")
    return {**{name: getattr(pack, name) for name in names}, "patterns": len(pack.patterns)}


def _format_field(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else ""


def show_pack(name: str, json: bool) -> None:
    """Test a pack on its own sentences; exit status 1 if one fails."""
    from nikawa.tagging import check_pack, find_pack

    pack = find_pack(name)
    faults = check_pack(pack)
    if json:
        print_json({**_head(pack), "faults": faults})
    else:
        columns = ["tag", "base", "pos", "before", "after", "hit", "miss"]
        if any(p.earlier or p.later or p.cancel for p in pack.patterns):
            columns[5:5] = ["earlier", "later", "cancel"]
        rows = [[_format_field(getattr(p, name)) for name in columns] for p in pack.patterns]
        print_table(columns, rows)
        for fault in faults:
            echo(f"{fault.tag} {fault.base} {fault.pos}: {fault.what}  [{fault.analysis}]")
        echo(
            f"{pack.name}: {format_count(len(pack.patterns), 'pattern')}, {format_count(len(faults), 'fault')}"
        )
    raise typer.Exit(int(bool(faults)))
