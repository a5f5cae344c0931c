"""`nikawa data`: what exists, what is here, what it looks like, whether it is sound, and copies of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli._show import Data, Json, Quiet, print_json, print_table, status

if TYPE_CHECKING:
    from nikawa.benchmarks import Benchmark

Name = Annotated[
    str, typer.Argument(help="A dataset (jsick, jsick:test), a dataset folder, a records file, or jsick@FILE.")
]


def register(app: typer.Typer) -> None:
    """Attach the verb and its five parts."""
    data = typer.Typer(help="List, show, check, fetch and export datasets.", no_args_is_help=True)
    data.command("list", epilog="Example: nikawa data list --data ~/benchmarks")(list_datasets)
    data.command("show", epilog="Example: nikawa data show mini-ja --split dev -n 3")(show)
    data.command("check", epilog="Example: nikawa data check jsick")(check)
    data.command("fetch", epilog="Example: nikawa data fetch jnli")(fetch)
    data.command("export", epilog="Example: nikawa data export mini-ja --to hf --out mini-ja-hf")(export)
    app.add_typer(data, name="data", rich_help_panel="Data")


def list_datasets(data: Data = None, json: Json = False, quiet: Quiet = False) -> None:
    """What exists, what is here, and where."""
    from nikawa.benchmarks import benchmarks
    from nikawa.benchmarks.locate import data_root

    rows = [_listed(benchmark, data) for benchmark in benchmarks().values()]
    if json:
        print_json(rows)
    elif not quiet:
        columns = ("dataset", "language", "version", "tasks", "here", "absent", "licence")
        print_table(columns, [tuple(_joined(row[c]) for c in columns) for row in rows])
        typer.echo(f"Data folder: {data_root(data)}  (set NIKAWA_DATA or say --data to change it)")


def _listed(benchmark: Benchmark, data: Path | None) -> dict[str, Any]:
    from nikawa.benchmarks.locate import present, repository_folder

    here = present(benchmark, data)
    files = [str(path) for paths in here.values() for path in paths]
    return {
        "dataset": benchmark.name,
        "language": benchmark.language,
        "version": benchmark.card.version,
        "tasks": [task.name for task in benchmark.tasks],
        "here": [split or "all" for split in here],
        "absent": [s.split or "all" for s in benchmark.sources if s.split not in here],
        "licence": benchmark.card.licence,
        "folder": str(repository_folder(benchmark, data)),
        "files": files,
    }


def _joined(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def show(
    name: Name,
    split: Annotated[str | None, typer.Option(help="The split to show; all when left out.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many examples of each split.", min=1)] = 5,
    card: Annotated[bool, typer.Option("--card", help="Show the dataset's card instead.")] = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show examples a person can read."""
    from nikawa.benchmarks import load
    from nikawa.cli._examples import print_card, print_examples

    if card and name.partition(":")[0] in _names():
        from nikawa.benchmarks import benchmarks

        return print_card(benchmarks()[name.partition(":")[0]].card, json)
    with status(f"reading {name}"):
        dataset = load(with_split(name, split), data=data)
    if card:
        return print_card(dataset.card, json)
    if json:
        return print_json({name: list(examples[:n]) for name, examples in dataset.splits.items()})
    return print_examples(dataset, n)


def _names() -> set[str]:
    from nikawa.benchmarks import benchmarks

    return set(benchmarks())


def with_split(spec: str, split: str | None) -> str:
    """`jsick` and `test` make `jsick:test`; a file keeps its `@` part last."""
    if split is None:
        return spec
    name, at, path = spec.partition("@")
    return f"{name.partition(':')[0]}:{split}{at}{path}"
