"""`nikawa data`: what exists, what is here, what it looks like, whether it is sound, and copies of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli._card import card as write_card
from nikawa.cli._shift import shift
from nikawa.cli._show import (
    Data,
    Json,
    Quiet,
    complete_datasets,
    complete_from,
    complete_tasks,
    print_json,
    print_table,
    progress,
    status,
)
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.datasets import Benchmark
    from nikawa.records import Dataset, Example

FORMATS = ("parquet", "jsonl", "hf", "croissant")
Name = Annotated[
    str,
    typer.Argument(
        help="A dataset (jsick, jsick:test), a dataset folder, a records file, or jsick@FILE.",
        autocompletion=complete_datasets,
    ),
]


PANEL = "Data"


def register(app: typer.Typer) -> None:
    """Attach the verb and its seven parts."""
    data = typer.Typer(
        help="List, show, check, fetch, describe, export and compare datasets.",
        epilog="Example: nikawa data list",
        no_args_is_help=True,
    )
    data.command("list", epilog="Example: nikawa data list --data ~/benchmarks")(list_datasets)
    data.command("show", epilog="Example: nikawa data show mini-ja --split dev -n 3")(show)
    data.command("check", epilog="Example: nikawa data check jsick")(check)
    data.command("fetch", epilog="Example: nikawa data fetch jnli")(fetch)
    data.command("card", epilog="Example: nikawa data card my-data --say licence='CC BY 4.0'")(
        write_card
    )
    data.command("export", epilog="Example: nikawa data export mini-ja --to hf --out mini-ja-hf")(
        export
    )
    data.command("shift", epilog="Example: nikawa data shift jsick-en jsick")(shift)
    app.add_typer(data, name="data", rich_help_panel=PANEL)


def list_datasets(data: Data = None, json: Json = False, quiet: Quiet = False) -> None:
    """What exists, what is here, and where."""
    from nikawa.datasets import benchmarks
    from nikawa.datasets.locate import data_root, require_folder

    require_folder(data)
    rows = [_listed(benchmark, data) for benchmark in benchmarks().values()]
    if json:
        print_json(rows)
    elif not quiet:
        columns = ("dataset", "language", "version", "here", "absent")
        print_table(columns, [tuple(_joined(row[c]) for c in columns) for row in rows])
        missing = "" if data_root(data).is_dir() else ", which does not exist"
        typer.echo(
            f"Data folder: {data_root(data)}{missing}  (set NIKAWA_DATA or say --data to change it)"
        )


def _listed(benchmark: Benchmark, data: Path | None) -> dict[str, Any]:
    from nikawa.datasets.locate import present, repository_folder

    here = present(benchmark, data)
    files = [str(path) for paths in here.values() for path in paths]
    found = {name for source in benchmark.sources if source.split in here for name in source.splits}
    return {
        "dataset": benchmark.name,
        "language": benchmark.language,
        "version": benchmark.card.version,
        "tasks": [task.name for task in benchmark.tasks],
        "here": [name for name in benchmark.split_names() if name in found],
        "absent": [name for name in benchmark.split_names() if name not in found],
        "licence": benchmark.card.licence,
        "folder": str(repository_folder(benchmark, data)),
        "files": files,
    }


def _joined(value: Any, most: int = 7) -> str:
    if not isinstance(value, list):
        return str(value)
    rest = f" +{len(value) - most} more" if len(value) > most else ""
    return " ".join(value[:most]) + rest


def show(
    name: Name,
    split: Annotated[str | None, typer.Option(help="The split to show; all when left out.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many examples of each split.", min=1)] = 5,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Show these examples; may be repeated.")
    ] = None,
    card: Annotated[bool, typer.Option("--card", help="Show the dataset's card instead.")] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show examples a person can read; with --quiet only tell, by the status, whether they can be read."""
    from nikawa.cli._examples import print_card, print_examples
    from nikawa.datasets.load import load, named, peek

    if card and name.partition(":")[0] in _names():
        from nikawa.datasets import benchmarks

        return print_card(benchmarks()[name.partition(":")[0]].card, json)
    spec = with_split(name, split)
    whole = bool(ids) or named(spec) is not None
    with status(f"reading {name}"):
        dataset = load(spec, data=data) if whole else peek(spec, n + 1)
    if card:
        return print_card(dataset.card, json)
    chosen = picked(dataset, n, ids)
    if quiet:
        return None
    return print_json(chosen) if json else print_examples(dataset, chosen, whole)


def picked(dataset: Dataset, n: int, ids: list[str] | None) -> dict[str, list[Example]]:
    """The first `n` examples of each split, or those with the given ids."""
    if not ids:
        return {split: list(examples[:n]) for split, examples in dataset.splits.items()}
    found = {
        split: [e for e in examples if e.id in ids] for split, examples in dataset.splits.items()
    }
    missing = set(ids) - {e.id for examples in found.values() for e in examples}
    if missing:
        raise BadInput(
            f"no example {min(missing)!r} in {dataset.name}",
            cure="nikawa data show lists ids as dataset:split/id",
        )
    return {split: examples for split, examples in found.items() if examples}


def _names() -> set[str]:
    from nikawa.datasets import benchmarks

    return set(benchmarks())


def with_split(spec: str, split: str | None) -> str:
    """`jsick` and `test` make `jsick:test`; a file keeps its `@` part last."""
    if split is None:
        return spec
    name, at, path = (
        spec.partition("@")
        if spec.partition("@")[0].partition(":")[0] in _names()
        else (spec, "", "")
    )
    if name not in _names() and name.partition(":")[0] not in _names():
        return f"{spec}:{split}"
    if ":" in name and name.partition(":")[2] != split:
        raise BadInput(f"{spec} and --split {split} name two splits", cure="say one of them")
    return f"{name.partition(':')[0]}:{split}{at}{path}"


def check(name: Name, data: Data = None, json: Json = False, quiet: Quiet = False) -> None:
    """Look for faults, repeats and leaks; status 1 when something is found that is not known."""
    from nikawa.checks.job import check as run
    from nikawa.cli._check import print_report

    with progress(quiet or json) as bar:
        row = bar.add_task(f"checking {name}", total=None)
        report = run(
            name,
            data,
            lambda what, done, total: bar.update(
                row, description=what, completed=done, total=total
            ),
        )
    if json:
        print_json(report)
    elif not quiet:
        print_report(report)
    raise typer.Exit(int(report.new))


def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="A dataset, a suite (jglue, klue, jsick, jamp), or all.",
            autocompletion=complete_tasks,
        ),
    ],
    data: Data = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Where from; default: the authors' repositories.", envvar="NIKAWA_UPSTREAM"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that differ.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Download the published files, pinned and verified, into the data folder."""
    from nikawa.cli._fetch import fetch_with_bar

    fetched = fetch_with_bar(name, data, base=base, overwrite=overwrite, quiet=quiet or json)
    if json:
        print_json(fetched)


def export(
    name: Name,
    to: Annotated[
        str,
        typer.Option(
            help="parquet, jsonl, hf or croissant.", autocompletion=complete_from(*FORMATS)
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    data: Data = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a copy that other tools read."""
    from nikawa.datasets.export import export as run
    from nikawa.datasets.hidden import load_veiled
    from nikawa.datasets.load import named

    with status(f"exporting {name}", quiet):
        dataset = load_veiled(name, data=data)
        known = named(name)
        tasks = known.benchmark.tasks if known is not None else ()
        run(dataset, tasks, to, out, overwrite=overwrite)
    if json:
        sizes = {split: len(examples) for split, examples in dataset.splits.items()}
        print_json(
            {
                "dataset": dataset.name,
                "version": dataset.version,
                "to": to,
                "out": str(out),
                "splits": sizes,
            }
        )
    elif not quiet:
        typer.echo(f"{len(dataset):,} examples of {dataset.name} written to {out}")
