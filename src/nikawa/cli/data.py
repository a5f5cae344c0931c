"""`nikawa data`: list, show, check, fetch, describe, import, export, hide and compare datasets.

The subcommands are list, show, check, fetch, card, import, export, hide and shift. `check` exits with status
1 if it finds a problem that the dataset's card does not mention.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from nikawa.cli.terminal.options import (
    CardFields,
    Data,
    HiddenLabels,
    Json,
    OutFolder,
    Overwrite,
    Quiet,
    complete_datasets,
    complete_from,
    complete_tasks,
    parse_card_fields,
)
from nikawa.cli.terminal.output import (
    console,
    description_column,
    echo,
    format_count,
    format_number,
    print_json,
    print_rendered,
    print_result,
    print_table,
    progress_bar,
    status,
)
from nikawa.errors import BadInput, list_names, unknown

if TYPE_CHECKING:
    from nikawa.checks.hide_job import HideReport
    from nikawa.datasets import Benchmark
    from nikawa.datasets.fetch import FetchReport
    from nikawa.datasets.import_table import ImportOptions, ImportReport
    from nikawa.datasets.shift import ShiftPart, ShiftReport
    from nikawa.exchange.reading.job import TaskReport
    from nikawa.records import Dataset, Example, Kind

PANEL = "Data"


def card(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with train.jsonl, dev.jsonl, test.jsonl or other splits."),
    ],
    say: CardFields = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Add fields to an existing card; existing fields stay."),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the card of a dataset folder, with every field for you to fill in."""
    from nikawa.datasets.card import make_card

    report = make_card(folder, parse_card_fields(say or (), "--say"), overwrite=overwrite)
    if json:
        print_json(report)
    elif not quiet:
        echo(f"Written to {report.path}.")
        if report.unstated:
            echo(
                f"Not stated yet: {list_names(report.unstated)}; docs/records.md explains the fields."
            )


def fetch_with_bar(
    name: str, data: Path | None, *, base: str | None, overwrite: bool, quiet: bool
) -> FetchReport:
    """Fetch a dataset or suite; on a terminal, show the progress of each file."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    from nikawa.datasets.fetch import fetch

    columns = (
        description_column(),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    bar_task = sys.stderr.isatty() and not quiet
    with Progress(*columns, console=console(stderr=True), disable=not bar_task) as bar:
        summary = fetch(name, data, base=base, overwrite=overwrite, on_progress=_Bars(bar))
    if not quiet:
        for file in summary.files:
            echo(f"{file.outcome:8} {file.bytes:>12,}  {file.place}")
        for note in summary.notes:
            echo(note, err=True)
    return summary


class _Bars:
    """One bar per file, created when its download starts."""

    def __init__(self, bar: Any) -> None:
        self.bar, self.rows = bar, {}  # type: ignore[var-annotated]

    def __call__(self, place: str, done: int, total: int | None) -> None:
        if place not in self.rows:
            self.rows[place] = self.bar.add_task(place, total=total)
        self.bar.update(self.rows[place], completed=done, total=total)


ComparedDataset = Annotated[
    str, typer.Argument(help="A dataset, folder or records file.", autocompletion=complete_datasets)
]


def shift(
    before: ComparedDataset,
    after: ComparedDataset,
    question: Annotated[
        str | None, typer.Option(help="The gold to compare; default: label.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Compare by part: split, tag or a metadata key; may be repeated."),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many differing examples to list.", min=0)] = 0,
    style: Annotated[
        str | None,
        typer.Option("--as", help="markdown, latex or csv: print only the table by part."),
    ] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show how gold labels differ between a dataset and its translation, or between two versions."""
    from nikawa.datasets.shift import SPLIT, TAG, shift_to_json
    from nikawa.datasets.shift import shift as run

    report = run(before, after, question=question, by=tuple(by or (SPLIT, TAG)), data=data)
    if json:
        print_json(shift_to_json(report))
    elif quiet:
        return
    elif style is not None:
        columns, rows = tabulate_parts(report)
        text = (
            str if style == "csv" else _format_cell
        )  # JSON is for programs, the tables are for people
        print_rendered(
            columns, [[text(cell) for cell in row] for row in rows], style, numbers=columns[1:]
        )
    else:
        show_shift(report, n)


def show_shift(report: ShiftReport, n: int) -> None:
    """Print how gold differs between two datasets: counts by label, then by part."""
    from nikawa.datasets.shift import summarise_shift

    echo(summarise_shift(report))
    whole = report.parts[0]
    names = tuple(whole.table)
    rows = [(one, *row.values(), sum(row.values())) for one, row in whole.table.items()]
    sums = [sum(row[name] for row in whole.table.values()) for name in names]
    columns = (f"{report.before} \\ {report.after}", *names, "total")
    print_table(columns, [*rows, ("total", *sums, sum(sums))], numbers=columns[1:])
    parts, shown = tabulate_parts(report)
    print_table(parts, shown, numbers=parts[1:])
    show_unshared(report, n)


def show_unshared(report: ShiftReport, n: int) -> None:
    """Print the examples that changed, and count those that only one of the two datasets has."""
    if n and report.moved:
        listed = [(m.example, m.before, m.after, ", ".join(m.tags)) for m in report.moved[:n]]
        print_table(("example", report.before, report.after, "tags"), listed)
    for count, name in ((report.only_before, report.before), (report.only_after, report.after)):
        if count:
            echo(f"{format_count(count, 'example')} {'is' if count == 1 else 'are'} in {name} only")
    if report.without_gold:
        echo(f"{format_count(report.without_gold, 'shared example')} without gold on either side")


def tabulate_parts(report: ShiftReport) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Print one row per part: how many examples differ, and from what to what, or by how much."""
    if report.parts[0].numbers is not None:
        columns: tuple[str, ...] = (
            "part",
            "n",
            "differ",
            "percent",
            "mean before",
            "mean after",
            "shift",
            "distance",
            "pearson",
        )
        return columns, [(*format_part(part), *format_number_shift(part)) for part in report.parts]
    table = report.parts[0].table
    moves = [(one, other) for one in table for other in table if one != other and table[one][other]]
    columns = (
        "part",
        "n",
        "differ",
        "percent",
        "95%",
        "kappa",
        *(f"{one} > {other}" for one, other in moves),
    )
    rows = [
        (
            *format_part(part),
            f"{100 * part.low:.1f}-{100 * part.high:.1f}",
            format_number(part.kappa),
            *[part.table.get(one, {}).get(other, 0) for one, other in moves],
        )
        for part in report.parts
    ]
    return columns, rows


def format_part(part: ShiftPart) -> tuple[Any, ...]:
    """Return the first cells of a row of a part: name, size, how many differ, in percent."""
    return part.where or "all", part.n, part.changed, f"{100 * part.share:.1f}"


def format_number_shift(part: ShiftPart) -> list[str]:
    """Return the numeric figures of a part: means, shift, distance and correlation."""
    numbers = part.numbers
    if numbers is None:  # a part may have only labels where the whole has labels and numbers
        return [""] * 5
    figures = (
        numbers.mean_before,
        numbers.mean_after,
        numbers.shift,
        numbers.distance,
        numbers.pearson,
    )
    return [format_number(figure) for figure in figures]


def _format_cell(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


FORMATS = ("parquet", "jsonl", "hf", "croissant")
TOOLS = ("lm-eval", "flexeval", "inspect", "lighteval", "llm-jp-eval")
"""Tools of `nikawa data export --to`; `tests/exchange` compares the list with what is registered."""
Name = Annotated[
    str,
    typer.Argument(
        help="A dataset (jsick, jsick:test), a dataset folder, a records file, or jsick@FILE.",
        autocompletion=complete_datasets,
    ),
]


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    data = typer.Typer(
        help="List, show, check, fetch, describe, export, hide and compare datasets.",
        epilog="Example: nikawa data list",
        no_args_is_help=True,
    )
    data.command("list", epilog="Example: nikawa data list --data ~/benchmarks")(list_datasets)
    data.command("show", epilog="Example: nikawa data show mini-ja --split dev -n 3")(show)
    data.command("check", epilog="Example: nikawa data check jsick")(check)
    data.command("fetch", epilog="Example: nikawa data fetch jnli")(fetch)
    data.command("card", epilog="Example: nikawa data card my-data --say licence='CC BY 4.0'")(card)
    data.command("import", epilog="Example: nikawa data import pairs.csv --out my-nli")(import_file)
    data.command("export", epilog="Example: nikawa data export mini-ja --to hf --out mini-ja-hf")(
        export
    )
    data.command(
        "hide",
        epilog="Example: nikawa data hide mine --split test --out mine-hidden --keys mine-keys.jsonl",
    )(hide)
    data.command("shift", epilog="Example: nikawa data shift jsick-en jsick")(shift)
    app.add_typer(data, name="data", rich_help_panel=PANEL)


def list_datasets(data: Data = None, json: Json = False, quiet: Quiet = False) -> None:
    """List the datasets, which are on this machine, and where."""
    from nikawa.datasets import benchmarks
    from nikawa.datasets.locate import data_root, require_folder

    require_folder(data)
    rows = [describe_dataset(benchmark, data) for benchmark in benchmarks().values()]
    if json:
        print_json(rows)
    elif not quiet:
        columns = ("dataset", "language", "version", "here", "absent")
        print_table(columns, [tuple(join_values(row[c]) for c in columns) for row in rows])
        missing = "" if data_root(data).is_dir() else ", which does not exist"
        echo(
            f"Data folder: {data_root(data)}{missing}  (set NIKAWA_DATA or pass --data to change it)"
        )


def describe_dataset(benchmark: Benchmark, data: Path | None) -> dict[str, Any]:
    """Describe a dataset and which of its files are on this machine."""
    from nikawa.datasets.locate import files_here, repository_folder

    here = files_here(benchmark, data)
    files = [str(path) for paths in here.values() for path in paths]
    splits = {
        name for source in benchmark.sources if source.split in here for name in source.splits
    }
    return {
        "dataset": benchmark.name,
        "language": benchmark.language,
        "version": benchmark.card.version,
        "tasks": [task.name for task in benchmark.tasks],
        "here": [name for name in benchmark.split_names() if name in splits],
        "absent": [name for name in benchmark.split_names() if name not in splits],
        "licence": benchmark.card.licence,
        "folder": str(repository_folder(benchmark, data)),
        "files": files,
    }


def join_values(value: Any, most: int = 7) -> str:
    """Format a value as a cell; a long list is cut, with a count of the rest."""
    if not isinstance(value, list):
        return str(value)
    rest = f" +{len(value) - most} more" if len(value) > most else ""
    return " ".join(value[:most]) + rest


def show(
    name: Name,
    split: Annotated[str | None, typer.Option(help="The split to show; default: all.")] = None,
    n: Annotated[
        int, typer.Option("-n", help="How many examples to show of each split.", min=1)
    ] = 5,
    ids: Annotated[
        list[str] | None, typer.Option("--id", help="Show these examples; may be repeated.")
    ] = None,
    card: Annotated[bool, typer.Option("--card", help="Show the dataset's card instead.")] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show examples in a readable form; with --quiet, only check that they can be read."""
    from nikawa.cli.terminal.examples import print_card, print_examples
    from nikawa.datasets.load import load, peek
    from nikawa.datasets.names import benchmarks, spec_of

    spec = spec_of(name, split)
    if card and spec.name and spec.path is None:
        return print_card(benchmarks()[spec.name].card, json)
    whole = bool(ids) or bool(spec.name)
    with status(f"reading {name}"):
        dataset = load(str(spec), data=data) if whole else peek(str(spec), n + 1)
    if card:
        return print_card(dataset.card, json)
    chosen = pick_examples(dataset, n, ids)
    if quiet:
        return None
    return print_json(chosen) if json else print_examples(dataset, chosen, whole)


def pick_examples(dataset: Dataset, n: int, ids: list[str] | None) -> dict[str, list[Example]]:
    """Return the first `n` examples of each split, or those with the given ids."""
    if not ids:
        return {split: list(examples[:n]) for split, examples in dataset.splits.items()}
    by_split = {
        split: [e for e in examples if e.id in ids] for split, examples in dataset.splits.items()
    }
    missing = set(ids) - {e.id for examples in by_split.values() for e in examples}
    if missing:
        raise BadInput(
            f"{dataset.name} has no example {min(missing)!r}",
            cure="pass an id that nikawa data show prints, the part after the last slash",
        )
    return {split: examples for split, examples in by_split.items() if examples}


def check(
    name: Name,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Mark new findings as known, in known.toml of the folder and on its card.",
        ),
    ] = False,
    reason: Annotated[
        str, typer.Option(help="With --accept: the reason why the finding is correct or stays.")
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="With --accept: accept only the findings of this check; may be repeated.",
            metavar="CHECK",
        ),
    ] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check for faults, duplicates, leaks and giveaways; exit status 1 if there are new findings."""
    from nikawa.checks.job import accept as accept_findings
    from nikawa.checks.job import check as run
    from nikawa.cli.terminal.check_report import print_acceptance, print_check

    if (reason or only) and not accept:
        raise BadInput("--reason and --only need --accept", cure="add --accept")
    if accept:
        with status(f"checking {name}", quiet or json):
            acceptance = accept_findings(name, reason, tuple(only or ()), data)
        print_result(acceptance, print_acceptance, json=json, quiet=quiet)
        return
    with progress_bar(f"checking {name}", quiet or json) as bar:
        report = run(name, data, bar.update_stage)
    print_result(report, print_check, json=json, quiet=quiet)
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
            help="The source; default: the authors' repositories.", envvar="NIKAWA_UPSTREAM"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that differ.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Download the published files, pinned and verified, into the data folder."""

    fetched = fetch_with_bar(name, data, base=base, overwrite=overwrite, quiet=quiet or json)
    if json:
        print_json(fetched)


def export(
    name: Name,
    to: Annotated[
        str,
        typer.Option(
            help="A format (parquet, jsonl, hf, croissant) or a tool that runs models (lm-eval, flexeval, inspect, lighteval, llm-jp-eval).",
            autocompletion=complete_from(*FORMATS, *TOOLS),
        ),
    ],
    out: OutFolder,
    tool_version: Annotated[
        str | None,
        typer.Option(
            help="The version of the tool to write for; default: the newest that was tried."
        ),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(help="For tools: few-shot examples from train; default: 0.", min=0),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="For tools: seed for the few-shot examples; default: 0.")
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(
            help="For tools: a prompt file to use instead of the one that comes with Nikawa."
        ),
    ] = None,
    data: Data = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a copy in a format that other tools read, or as tasks of a tool that runs models."""
    from itertools import chain

    own = {
        "tool_version": tool_version,
        "shots": shots,
        "seed": seed,
        "prompt": None if prompt is None else str(prompt),
    }
    if to not in FORMATS:
        settings = {key: value for key, value in own.items() if value is not None}
        export_for_tool(name, to, out, data, {**settings, "overwrite": overwrite}, quiet, json)
        return
    for key, value in own.items():
        if value is not None:
            option = f"--{key.replace('_', '-')}"
            raise BadInput(f"{option} is for tools, and {to} is a format", cure=f"omit {option}")
    from nikawa.checks.giveaways import find_open_giveaways
    from nikawa.datasets.export import export as run
    from nikawa.datasets.hidden import refuse_label_loss
    from nikawa.datasets.keys import carry_notice
    from nikawa.datasets.load import load
    from nikawa.datasets.names import find_benchmark

    with status(f"exporting {name}", quiet):
        dataset = load(name, data=data)
        refuse_label_loss(name, out, chain.from_iterable(dataset.splits.values()))
        benchmark = find_benchmark(name)
        tasks = benchmark.tasks if benchmark is not None else ()
        notice = carry_notice(name, dataset.splits)
        run(dataset, tasks, to, out, overwrite=overwrite, extra_files=notice)
        # A published dataset stays as its authors released it; `nikawa probe giveaways` tests it.
        giveaways = [] if benchmark is not None else find_open_giveaways(dataset.splits)
    if json:
        sizes = {split: len(examples) for split, examples in dataset.splits.items()}
        print_json(
            {
                "dataset": dataset.name,
                "version": dataset.version,
                "to": to,
                "out": str(out),
                "splits": sizes,
                **({"giveaways": giveaways} if giveaways else {}),
            }
        )
    elif not quiet:
        echo(f"{len(dataset):,} examples of {dataset.name} written to {out}")
        for giveaway in giveaways:
            where = f"{giveaway.field} in {giveaway.split}"
            echo(f"warning: {where} gives labels away: {giveaway.what}", err=True)


def export_for_tool(
    name: str,
    to: str,
    out: Path,
    data: Path | None,
    settings: dict[str, Any],
    quiet: bool,
    json: bool,
) -> None:
    """Write a dataset as tasks of a tool, and print what can be run and what the tool cannot express."""
    from nikawa import api
    from nikawa.exchange.job import ToolOptions

    with status(f"exporting {name}", quiet):
        report = api.export(name, to, out, data=data, options=ToolOptions(**settings))
    assert report is not None, "a tool gives a report"
    if json:
        print_json(report)
        return
    for task, reason in report.skipped.items():
        echo(f"warning: {task} was not exported: {reason}", err=True)
    if quiet:
        return
    rows = [
        (one.name, one.task, one.split, one.items, "hidden" if one.hidden else "")
        for one in report.tasks
    ]
    columns = (f"task in {to}", "task", "split", "items", "labels")
    print_table(columns, rows)
    echo(f"written to {out} for {to} {report.tool_version}; README.md has the command to run it")


def import_file(
    source: Annotated[
        Path,
        typer.Argument(
            help="A table: JSON lines, JSON, CSV, TSV, Parquet, or a folder with one file per split; "
            "with --from, the file of a task."
        ),
    ],
    out: OutFolder,
    tool: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The tool of a task: lm-eval (YAML), flexeval (Jsonnet) or inspect (Python). "
            "Its code is not run; the command lists what it cannot read.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="The columns by field: premise=sentence1,label=gold; may be repeated.",
            metavar="FIELD=COLUMN",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="The kind of task: text, inference, similarity, choice, reading, tagging or relation; "
            "default: detected from the columns."
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="New names for the table's labels: 0=entailment,1=neutral; may be repeated.",
            metavar="VALUE=LABEL",
        ),
    ] = None,
    question: Annotated[str | None, typer.Option(help="The name of the gold field.")] = None,
    split: Annotated[str | None, typer.Option(help="The split of a single file.")] = None,
    join: Annotated[
        str | None,
        typer.Option(help='The separator for a text that is given as tokens: "" or " ".'),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="With --from: the task, if the file has several.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="With --from: the data of the task, a file or folder, instead of what the task names."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="With --from: a part of the task that cannot be read and changes nothing in this data; may be repeated.",
            metavar="PART",
        ),
    ] = None,
    say: CardFields = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import a flat table, or a task of another tool, as a dataset folder; on a terminal, the command asks what the columns of a table are."""
    from nikawa import api
    from nikawa.datasets.import_table import ImportOptions

    options = ImportOptions(
        columns=parse_pairs(columns or (), "--columns"),
        kind=kind,
        labels=parse_pairs(labels or (), "--labels"),
        question=question,
        split=split,
        joiner=join,
        card=parse_card_fields(say or (), "--say"),
        overwrite=overwrite,
    )
    if tool is not None:
        with status(f"importing {source}", quiet or json):
            imported = api.import_task(
                tool, source, out, task=task, data=data, ignore=tuple(ignore or ()), options=options
            )
        print_result(imported, show_task_import, json=json, quiet=quiet)
        return
    for name, value in (("task", task), ("data", data), ("ignore", ignore)):
        if value:
            raise BadInput(f"--{name} is for tasks of other tools", cure="pass --from, or omit it")
    if sys.stdin.isatty() and sys.stderr.isatty() and not (columns or json or quiet):
        options = ask_columns(source, options)
    with status(f"importing {source}", quiet or json):
        report = api.import_table(source, out, options=options)
    print_result(report, show_import, json=json, quiet=quiet)


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse `["a=b,c=d", "e=f"]` as a mapping. A comma that no pair follows belongs to the value.

    >>> parse_pairs(["premise=s1,hypothesis=s2", "label=good, or bad"], "--columns")
    {'premise': 's1', 'hypothesis': 's2', 'label': 'good, or bad'}
    """
    pairs: dict[str, str] = {}
    for part in (part for text in texts for part in re.split(r",(?=[^,]*=)", text)):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not name or not equals or not value:
            raise BadInput(f"{option} {part!r} is not a pair", cure=f"write {option} A=B,C=D")
        if name in pairs:
            raise BadInput(f"{option} has {name!r} twice", cure="pass each name once")
        pairs[name] = value
    return pairs


def ask_columns(source: Path, options: ImportOptions) -> ImportOptions:
    """Show the columns, ask what they contain, and return the answers as options.

    The command suggests answers from the names of the columns; the return key accepts them.
    """
    from dataclasses import replace

    from nikawa.datasets.import_table import (
        FIELDS,
        NO_COLUMN,
        guess_columns,
        list_fields,
        match_columns,
        plan_columns,
        sample_rows,
    )
    from nikawa.io.flat_tables import open_tables

    tables = open_tables(source)
    rows = sample_rows(tables)
    names = list(dict.fromkeys(name for table in tables for name in table.list_columns()))
    first = {name: next((row[name] for row in rows if name in row), "") for name in names}
    print_table(["column", "first value"], [(name, first[name]) for name in names])
    try:
        default = plan_columns(tables, options).kind
    except BadInput:
        default = None
    answer = options.kind or typer.prompt(
        f"Kind of task ({', '.join(FIELDS)})", default=default, err=True
    )
    if answer not in FIELDS:
        raise unknown("kind of task", answer, FIELDS)
    kind = cast("Kind", answer)
    guessed = guess_columns(kind, names)
    answers: dict[str, str] = {}
    for each in list_fields(kind):
        offered = "+".join(guessed.get(each.name, ()))
        note = "" if each.required else f", {NO_COLUMN} for none"
        while each.name not in answers:
            column = typer.prompt(
                f"Column of the {each.name}{note}",
                default=offered or (None if each.required else NO_COLUMN),
                err=True,
            )
            try:
                if each.required or column != NO_COLUMN:
                    match_columns(column, names, source)
                answers[each.name] = column
            except BadInput as problem:
                echo(str(problem), err=True)
    return replace(options, kind=kind, columns=answers)


def show_import(report: ImportReport) -> None:
    """Print the field of each column, and the number of examples."""
    rows = [(name, " + ".join(columns)) for name, columns in report.columns.items()]
    print_table(["field", "column"], rows)
    echo(f"Kind of task: {report.kind}; the question is {report.question}")
    if report.meta:
        echo(f"In the metadata: {list_names(report.meta)}")
    if report.made_ids:
        echo("The table has no id column: ids are made from the split and the row number.")
    for split, count in report.splits.items():
        echo(f"{split}: {format_count(count, 'example')}")
    if report.labels:
        counts = [f"{label} {count:,}" for label, count in report.labels.items()]
        echo(f"Labels: {list_names(counts)}")
    if report.unlabelled:
        echo(f"Without an answer: {format_count(report.unlabelled, 'example')}")
    echo(f"Written to {report.out}.")
    echo(f"Next: nikawa data check {quote(report.out)}; nikawa tasks {quote(report.out)}")


def show_task_import(report: TaskReport) -> None:
    """Print what was imported from a task, what could not be read, and which metrics fit."""
    echo(f"Task: {report.task} of {report.tool}; it evaluates {list_names(report.evaluated)}")
    show_import(report)
    rows = [(one.tool, one.nikawa or "-", one.difference) for one in report.metrics]
    if rows:
        print_table([f"metric of {report.tool}", "metric here", "difference"], rows)
    for note in report.notes:
        echo(f"note: {note}")
    for part in report.unread:
        echo(f"not read: {part}", err=True)
    if report.prompt:
        run = f"nikawa run --model chat:NAME --tasks {quote(report.out)}"
        echo(f"Prompt: {run} --set prompt={quote(report.prompt)}")


def hide(
    name: Name,
    out: OutFolder,
    keys: Annotated[
        Path,
        typer.Option(help="The key file for the labels (mode 0600); keep it safe and private."),
    ],
    split: Annotated[
        list[str] | None, typer.Option(help="The split whose labels to hide; may be repeated.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Fields to keep in addition to the inputs: tags, group, origin, meta, meta.KEY; may be repeated.",
            metavar="FIELD",
        ),
    ] = None,
    keep_ids: Annotated[
        bool, typer.Option("--keep-ids", help="Keep the ids of the items.")
    ] = False,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of the items.")
    ] = False,
    allow_leak: Annotated[
        list[str] | None,
        typer.Option(
            help="Continue although this reveals labels: id, order, copies, tags, …; may be repeated.",
            metavar="NAME",
        ),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="An earlier key file: the same items get the same ids and order."),
    ] = None,
    hidden: HiddenLabels = False,
    say: CardFields = None,
    data: Data = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a copy without the labels of a split; the labels go to a separate key file."""
    from nikawa import api
    from nikawa.checks.hide_job import HideOptions

    options = HideOptions(
        splits=tuple(split or ()),
        keep=tuple(keep or ()),
        keep_ids=keep_ids,
        keep_order=keep_order,
        allow=tuple(allow_leak or ()),
        secret=secret,
        hidden=hidden,
        card=parse_card_fields(say or (), "--say"),
        overwrite=overwrite,
    )
    with status(f"hiding labels of {name}", quiet or json):
        report = api.hide_labels(name, out, keys, data=data, options=options)
    print_result(report, show_hidden, json=json, quiet=quiet)


def show_hidden(report: HideReport) -> None:
    """Print what was hidden, what still reveals labels, and where the labels are."""
    for giveaway in report.giveaways:
        echo(f"allowed: {giveaway.field} ({giveaway.split}): {giveaway.what}")
    for split in report.untested:
        echo(f"{split}: too few items to test whether a field reveals labels")
    for split, count in report.hidden.items():
        echo(f"{split}: {format_count(count, 'label')} hidden, sha256:{report.digests[split]}")
    for split, count in report.carried.items():
        echo(f"{split}: {format_count(count, 'example')} copied")
    if report.published:
        echo(f"{report.dataset} is a published dataset: others may already have its labels")
    if report.left_behind:
        echo(f"Not copied: {list_names(report.left_behind)}")
    echo(f"Kept in addition to the inputs: {', '.join(report.kept) or 'nothing'}")
    echo(f"Written to {report.out}; the labels are in {report.keys}: keep this file private.")
