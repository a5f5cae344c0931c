"""`nikawa split`: split a dataset into parts without leaks.

Without a dataset it lists the splitting methods. It writes a dataset folder and reports what leaks
from one part into another.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa import api
from nikawa.cli.terminal.check_report import format_views
from nikawa.cli.terminal.options import (
    CardFields,
    Data,
    DrawSeed,
    HiddenLabels,
    Json,
    Overwrite,
    Quiet,
    complete_datasets,
    parse_card_fields,
)
from nikawa.cli.terminal.output import echo, print_json, print_result, print_table, progress_bar

if TYPE_CHECKING:
    from nikawa.splitting.job import SplitReport

PANEL = "Build"
EXAMPLE = "Example: nikawa split mini-ja --by stratified --question label --out parts"


def complete_ways(incomplete: str) -> list[str]:
    """Complete the splitting methods."""
    from nikawa.splitting import splitters

    return [name for name in splitters() if name.startswith(incomplete)]


def split(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="A dataset, folder or records file. Without one, the command lists the splitting methods.",
            autocompletion=complete_datasets,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="random, stratified, group, stratified-groups, date, flat, balanced, least-artifact or entities; default: stratified-groups if examples have groups (group if all labels are hidden), else random.",
            autocompletion=complete_ways,
        ),
    ] = "",
    sizes: Annotated[
        str, typer.Option(help="Shares (0.8,0.1,0.1) or counts (rest,500,500).")
    ] = "0.8,0.1,0.1",
    names: Annotated[
        str | None, typer.Option(help="Names of the parts; default: train,dev,test or train,test.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            help="The field to group, balance or date by: a metadata key, an input or group; may be repeated."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="The gold to use, if there are several.")] = "",
    after: Annotated[
        str, typer.Option(help="By date: examples from this date on are for evaluation.")
    ] = "",
    unseen: Annotated[
        float,
        typer.Option(
            help="By date: share of evaluation examples that are older but contain terms that occur nowhere else.",
            min=0,
            max=1,
        ),
    ] = 0.1,
    analyser: Annotated[
        str, typer.Option(help="Tokeniser (ja, ko, …); default: split at spaces.")
    ] = "",
    scale: Annotated[str, typer.Option(help="Flat: lowest and highest score.")] = "0,5",
    bins: Annotated[int, typer.Option(help="Flat: number of bins.", min=2)] = 51,
    model: Annotated[
        str, typer.Option(help="Least-artifact: the hypothesis-only model.")
    ] = "char-linear",
    seed: DrawSeed = 0,
    out: Annotated[Path | None, typer.Option(help="Write a dataset folder.")] = None,
    card: CardFields = None,
    hidden: HiddenLabels = False,
    overwrite: Overwrite = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Split a dataset, describe each part, and check for leaks between parts."""
    if dataset is None:
        from nikawa.splitting import splitters

        rows = {splitter.name: splitter.title for splitter in splitters().values()}
        return print_json(rows) if json else print_table(("--by", "what it does"), rows.items())
    from nikawa.splitting import SplitterSettings
    from nikawa.splitting.job import SplitOptions

    low, high = parse_scale(scale)
    settings = SplitterSettings(
        seed=seed,
        question=question,
        fields=tuple(field or ()),
        after=after,
        unseen=unseen,
        scale=(low, high),
        bins=bins,
    )
    options = SplitOptions(
        by=by,
        sizes=sizes,
        names=tuple(names.split(",")) if names else (),
        settings=settings,
        analyser=analyser,
        model=model,
        out=out,
        overwrite=overwrite,
        card=parse_card_fields(card or (), "--card"),
        hidden=hidden,
    )
    with progress_bar(f"splitting {dataset}", quiet or json) as bar:
        report = api.split(
            dataset,
            data=data,
            options=options,
            on_progress=bar.update_stage,
        )
    print_result(report, show, json=json, quiet=quiet)
    return None


def parse_scale(text: str) -> tuple[float, float]:
    """Parse `--scale LOW,HIGH`; raise BadInput unless they are two numbers, the lower first.

    >>> parse_scale("0,5")
    (0.0, 5.0)
    """
    from nikawa.errors import BadInput

    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        raise BadInput(
            f"{text!r} is not a scale", cure="write the lowest and the highest score: 0,5"
        ) from None
    if not low < high:
        raise BadInput(f"{text!r} is not a scale", cure="write the lowest score first")
    return low, high


def show(report: SplitReport) -> None:
    """Print what was skipped, the sizes and labels of the parts, and the leaks."""
    for line in format_views(report.views):
        echo(f"{line}: skipped")
    if report.renamed:
        echo(
            f"{report.renamed:,} examples have an id that also occurs in another split;"
            " their new ids begin with the name of their old split"
        )
    extra = list(dict.fromkeys(name for values in report.measured.values() for name in values))
    columns = ("part", "asked", "examples", *extra)
    rows = [
        (
            name,
            report.asked[name],
            size,
            *(_percent(report.measured.get(name, {}).get(w)) for w in extra),
        )
        for name, size in report.sizes.items()
    ]
    print_table(columns, rows, numbers=columns[1:])
    print_table(("gold", "label", *report.sizes), count_labels(report), numbers=tuple(report.sizes))
    if report.leaks:
        values = [(leak.check, leak.where, leak.count, leak.note) for leak in report.leaks]
        print_table(("leak", "where", "count", "note"), values, numbers=("count",))
        if any(leak.check == "broken-groups" for leak in report.leaks):
            echo("to keep groups whole, pass --by group (--field names the field of the groups)")
    else:
        echo("nothing leaks from one part into another")
    for finding in report.uneven or ():
        echo(f"warning: {finding.where}: {finding.note}", err=True)
    if report.uneven and report.by != "stratified-groups":
        echo("to balance labels and keep groups whole, pass --by stratified-groups", err=True)
    if report.out is not None:
        echo(f"{sum(report.sizes.values()):,} examples written to {report.out}")


def count_labels(report: SplitReport) -> list[tuple[str, ...]]:
    """Print one row per label, with one column per part."""
    keys = dict.fromkeys((q, k) for part in report.labels.values() for q in part for k in part[q])
    return [
        (
            q,
            label,
            *(_percent(report.labels[name].get(q, {}).get(label, 0.0)) for name in report.sizes),
        )
        for q, label in keys
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}%"
