"""`nikawa run`: run models on tasks, one folder per run.

`nikawa run --model …` starts runs. `list`, `diff`, `remove` and `models` manage stored runs.
A run is a folder named by its hash, so the same run is never repeated. The exit status is 1
if a run failed, and 2 if all failed because of bad input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from msgspec import UNSET, UnsetType

from nikawa import api
from nikawa.cli.terminal.options import (
    Data,
    Extract,
    Json,
    Quiet,
    ShowReading,
    TableStyle,
    UnitOfTable,
    complete_tasks,
    parse_value,
    split_list,
)
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    print_json,
    print_readings,
    print_rendered,
    print_result,
    print_table,
    progress,
)
from nikawa.errors import BadInput, unknown
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.execute import WorkProgress
    from nikawa.metrics.units import TableUnit
    from nikawa.models import Model
    from nikawa.runs.dry_run import DryRunReport
    from nikawa.runs.job import RunCell, RunOptions, RunReport
    from nikawa.runs.manage import ListedRun, RunDiff
    from nikawa.runs.request import RunRequest
    from nikawa.runs.summary import RunUsage

PANEL = "Evaluate"


Out = Annotated[Path, typer.Option(help="Folder of the runs.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        help="Tasks, datasets or suites (jnli,jsts or jglue), or the folder of a custom dataset.",
        autocompletion=complete_tasks,
    ),
]
RUNS = Path("runs")


def complete_models(incomplete: str) -> list[str]:
    """Complete names of models, with a colon if an argument must follow."""
    from nikawa.models import models

    names = [m.name + (":" if m.argument else "") for m in models().values()]
    return [name for name in names if name.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Attach the command, which also works without a subcommand, and its subcommands."""
    example = "Example: nikawa run --model baseline --tasks mini-ja --seeds 3 --out runs"
    group = typer.Typer(
        epilog=example, invoke_without_command=True, subcommand_metavar="[list|diff|remove|models]"
    )
    group.callback()(start)
    group.command("start", epilog=example.replace("run --", "run start --"))(start)
    group.command("list", epilog="Example: nikawa run list --out runs --task jnli")(list_)
    group.command("diff", epilog="Example: nikawa run diff 3f2a 9bc1 --out runs")(diff)
    group.command("remove", epilog="Example: nikawa run remove --unfinished --yes")(remove)
    group.command("models", epilog="Example: nikawa run models --json")(list_models)
    app.add_typer(group, name="run", rich_help_panel=PANEL)


def start(
    context: typer.Context,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A model, such as baseline or replay:FILE. NAME=MODEL sets the name to show. May be repeated.",
            autocompletion=complete_models,
        ),
    ] = None,
    tasks: Tasks = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Number of seeds (5), or a list of seeds (7,8); default: as in the preset, else 1."
        ),
    ] = None,
    out: Out = RUNS,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting KEY=VALUE, for all models that have it; may be repeated."
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Values of a setting to choose from on dev: KEY=V1,V2; may be repeated."),
    ] = None,
    choose_seeds: Annotated[
        int, typer.Option(help="Number of seeds for choosing settings; 0 means all.", min=0)
    ] = 0,
    preset: Annotated[
        str | None, typer.Option(help="A preset: its name (learning-curve, …) or a TOML file.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="Show the model only these inputs, such as hypothesis.")
    ] = None,
    share: Annotated[
        str,
        typer.Option(
            help="Shares of the training data, such as 0.25,0.5,1.0; each share is a separate run."
        ),
    ] = "1.0",
    train: Annotated[
        str | None, typer.Option(help="Other training sets, by name or file, such as jsick,jnli.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Rename a label of the --train sets: OLD=NEW; may be repeated."),
    ] = None,
    shots: Annotated[
        int,
        typer.Option(
            help="Number of training examples per label, drawn by the seed; 0 means all.", min=0
        ),
    ] = 0,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Answer only the first N items of each set; the run is marked as partial.", min=1
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the estimated requests, tokens and cost; send and write nothing.",
        ),
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(help="The server of a chat model, such as http://localhost:8000/v1."),
    ] = None,
    extract: Extract = None,
    show_reading: ShowReading = False,
    workers: Annotated[
        int,
        typer.Option(
            help="Number of parallel runs; 0 means one per CPU core, but 1 for chat and encoder models and one per GPU for lm models.",
            min=0,
        ),
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            help="Number of threads per run; 0 means 1, but all cores for encoder and lm models.",
            min=0,
        ),
    ] = 0,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Where runs are executed: pool (processes), here (this process), ray (a cluster) or a custom executor."
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="The Ray cluster: HOST:PORT, or auto for the one that this machine belongs to; default: that one, else one on this machine."
        ),
    ] = None,
    cpus_per_run: Annotated[
        float | None, typer.Option(help="CPUs of the cluster that each run takes; default: 1.")
    ] = None,
    gpus_per_run: Annotated[
        float | None,
        typer.Option(
            help="GPUs of the cluster that each run takes, such as 1, or 0.25 for a share."
        ),
    ] = None,
    memory_per_run: Annotated[
        float | None,
        typer.Option(help="GiB of memory that a node must have for each run; default: any."),
    ] = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep intermediate files of models.")
    ] = False,
    style: TableStyle = None,
    unit: UnitOfTable = "percent",
    main: Annotated[
        bool,
        typer.Option("--main", help="Show only the first metric of each task, on whole sets."),
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run models on tasks, and print scores with confidence intervals or standard deviations. Finished runs are not repeated."""
    if context.invoked_subcommand is not None:
        return
    if not model and not tasks:
        typer.echo(context.get_help())
        return
    from nikawa.metrics.units import parse_table_unit
    from nikawa.runs.job import RunOptions

    check_notation(style)
    table = parse_table_unit(unit)
    words = {
        "settings": settings,
        "grid": grid,
        "preset": preset,
        "inputs": inputs,
        "share": share,
        "train": train,
        "label": label,
        "shots": shots,
        "limit": limit,
        "base_url": base_url,
        "extract": extract,
        "seeds": seeds,
        "choose_seeds": choose_seeds,
    }
    request = parse_request(model or [], tasks or [], words)
    options = RunOptions(
        out,
        data,
        workers,
        threads,
        executor or "",
        keep_state,
        show_readings=show_reading,
        address=address or "",
        cpus_per_run=cpus_per_run,
        gpus_per_run=gpus_per_run,
        memory_per_run=None if memory_per_run is None else int(memory_per_run * 2**30),
    )
    if dry_run:
        from nikawa.runs.dry_run import estimate_runs

        print_result(estimate_runs(request, options), show_estimate, json=json, quiet=quiet)
        return
    try:
        report = run_with_progress(request, options, quiet or json)
    except KeyboardInterrupt:
        echo("nikawa: interrupted; run the same command to resume", err=True)
        raise typer.Exit(130) from None
    print_result(
        report,
        lambda report: show_results(report, style, table, main=main),
        json=json,
        quiet=quiet,
    )
    report_failures(report)


def run_with_progress(request: RunRequest, options: RunOptions, quiet: bool) -> RunReport:
    """Run, with one bar for all runs and one for the current run."""
    from dataclasses import replace

    from nikawa.runs.records import Outcome

    with progress(quiet) as bar:
        bar_task = bar.add_task("planning", total=None)
        inner = bar.add_task("", total=None, visible=False)

        def on_outcome(outcome: Outcome | None, done: int, total: int) -> None:
            what = "running" if outcome is None else f"{outcome.run.task} {outcome.run.model}"
            bar.update(bar_task, description=what, completed=done, total=total)
            bar.update(inner, visible=False)

        def on_progress(what: str, done: int, total: int | None) -> None:
            bar.update(inner, description=f"  {what}", completed=done, total=total, visible=True)

        def on_work(work: WorkProgress) -> None:
            if options.executor:  # the user chose where the runs are done
                bar.show_note(f"  {work.describe('run')}", tells_time=True)

        options = replace(options, on_outcome=on_outcome, on_progress=on_progress, on_work=on_work)
        return api.run(request, options)


def report_failures(report: RunReport) -> None:
    """Print each problem once, on stderr.

    Exit with status 1 if some runs succeeded, 2 if all failed because of bad input.
    """
    if not report.problems:
        return
    by_problem: dict[str, list[str]] = {}
    for problem in report.problems:
        by_problem.setdefault(problem.problem, []).append(problem.run)
    for message, runs in by_problem.items():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        echo(f"nikawa: {runs[0]}{more}: {message}", err=True)
    bad = all(p.bad_input for p in report.problems) and not (report.done or report.skipped)
    raise typer.Exit(2 if bad else 1)


def list_(
    out: Out = RUNS,
    task: Annotated[str | None, typer.Option(help="List only runs of this task.")] = None,
    model: Annotated[str | None, typer.Option(help="List only runs of this model.")] = None,
    unit: UnitOfTable = "percent",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the runs of a folder, finished or not, with their main score."""
    from nikawa.metrics.units import parse_table_unit
    from nikawa.runs.manage import find_differences, list_runs

    table = parse_table_unit(unit)

    def show(rows: Sequence[ListedRun]) -> None:
        show_list(rows, find_differences(rows, out), table)

    print_result(list_runs(out, task, model), show, json=json, quiet=quiet)


def diff(
    a: Annotated[str, typer.Argument(help="A run: its folder, or a prefix of its hash.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    out: Out = RUNS,
    unit: UnitOfTable = "percent",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show how two runs differ: settings, packages, scores, answers."""
    from nikawa.metrics.units import parse_table_unit
    from nikawa.runs.manage import diff_runs

    table = parse_table_unit(unit)
    difference = diff_runs(a, b, out)
    print_result(
        difference, lambda difference: show_diff(difference, table), json=json, quiet=quiet
    )


def remove(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs: folders, or prefixes of hashes.")
    ] = None,
    out: Out = RUNS,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Remove unfinished runs.")
    ] = False,
    task: Annotated[str | None, typer.Option(help="Remove runs of this task.")] = None,
    model: Annotated[str | None, typer.Option(help="Remove runs of this model.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove the runs; without it, only list them.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove runs with their answers; without --yes, only list them."""
    from nikawa.runs.manage import pick_runs, remove_runs

    picked = pick_runs(runs or [], out, unfinished=unfinished, task=task, model=model)
    if yes:
        remove_runs(picked)
    if json:
        print_json({"removed": yes, "runs": [run.path.name for run in picked]})
    elif not quiet:
        for run in picked:
            echo(str(run.path))
        echo(
            f"{format_count(len(picked), 'run')} removed"
            if yes
            else f"{format_count(len(picked), 'run')}; pass --yes to remove"
        )


def list_models(json: Json = False, quiet: Quiet = False) -> None:
    """List the models, the kinds of task they answer, and their settings with defaults."""
    from nikawa.models import models

    rows = [describe_settings(kind) for kind in models().values()]
    if json:
        return print_json(rows)
    if quiet:
        return None
    columns = ("model", "kinds", "settings", "title")
    shown = [
        (
            r["model"],
            ", ".join(r["kinds"]) if len(r["kinds"]) < 9 else "all",
            ", ".join(f"{k}={v}" for k, v in r["settings"].items()),
            r["title"],
        )
        for r in rows
    ]
    return print_table(columns, shown)


NAMES = ("task", "variation", "set", "metric")
ANSWERED = "answered"
"""The row that replaces a metric if systems did not answer everything."""
CellKey = tuple[str, str, str, str, str]
UNANSWERED_CURES = {
    "too long": "for requests that are too long, use fewer shots, a shorter prompt, a smaller max_tokens, or a server with a longer context",
    "length": "for replies cut off at the maximum length, raise max_tokens",
    "the file gives no answer": "add the missing answers to the file",
    "not in the file": "add the missing answers to the file, or use nikawa score --partial to score only the answered items",
}
"""The cure for each reason that a question was not answered."""


def show_results(
    report: RunReport, style: str | None, table: TableUnit, *, main: bool = False
) -> None:
    """Print the table, then the chosen settings and what was skipped or not answered.

    With `main`, the table has only the first metrics of whole sets.
    """
    columns, rows, numbers = results_table(
        select_main_cells(report.cells) if main else report.cells, table
    )
    if style is not None:
        print_rendered(columns, rows, style, numbers=numbers)
    elif rows:
        print_table(columns, rows, numbers=numbers)
    if report.usage and style is None:
        show_usage(report)
    elif report.usage:  # only the table of scores goes to a file
        for each in report.usage:
            counts = f"{each.requests:,} requests, {each.kept:,} cached, {each.retries:,} retries"
            tokens = f"{each.tokens_in:,} tokens in, {each.tokens_out:,} out"
            cost = format_cost(each.cost + each.cost_unmetered + each.cost_lost)
            lost = "".join(
                f", {format_loss(count)} {title}"
                for name, title in LOSSES.items()
                if (count := getattr(each, name)) is not UNSET
            )
            echo(f"{each.task} {each.model}: {counts}, {tokens}, cost {cost}{lost}", err=True)
    for part in report.readings or ():
        title = f"{part.task} {part.model} {part.set}, seed {part.seed}"
        print_readings(part.readings, title)
    for line in format_notes(report, table):
        echo(line, err=style is not None)


USAGE_COLUMNS = (
    "task",
    "model",
    "requests",
    "cached",
    "tokens in",
    "tokens out",
    "retries",
    "cost",
)


LOSSES = {"lost_shots": "lost shots", "truncated": "truncated"}
"""Counts of prompts that did not fit into a local model, and their columns."""


def show_usage(report: RunReport) -> None:
    """Print the usage of prompted models: one line per model and task, and the total."""
    usages = report.usage or ()
    losses = [name for name in LOSSES if any(getattr(each, name) is not UNSET for each in usages)]
    rows: list[tuple[str, ...]] = [
        (
            " ".join(filter(None, (each.task, each.variation))),
            each.model,
            f"{each.requests:,}",
            f"{each.kept:,}",
            f"{each.tokens_in:,}",
            f"{each.tokens_out:,}",
            f"{each.retries:,}",
            format_cost(each.cost + each.cost_unmetered + each.cost_lost),
            *(format_loss(getattr(each, name)) for name in losses),
        )
        for each in usages
    ]
    if len(rows) > 1:
        sums = [
            f"{sum(getattr(each, name) for each in usages):,}"
            for name in ("requests", "kept", "tokens_in", "tokens_out", "retries")
        ]
        cost = sum(each.cost + each.cost_unmetered + each.cost_lost for each in usages)
        lost = [f"{sum(getattr(each, name) or 0 for each in usages):,}" for name in losses]
        rows.append(("total", "", *sums, format_cost(cost), *lost))
    columns = (*USAGE_COLUMNS, *(LOSSES[name] for name in losses))
    print_table(columns, rows, numbers=columns[2:])


def format_loss(count: int | UnsetType) -> str:
    """Format a count of prompts that did not fit; a dash for a server, which refuses them."""
    return "—" if isinstance(count, UnsetType) else f"{count:,}"


def format_uncertain_cost(usage: RunUsage) -> Iterator[str]:
    """Print which part of a cost is an estimate."""
    for cost, why in (
        (usage.cost_unmetered, "replies without a token count, estimated at the maximum"),
        (usage.cost_lost, "requests without a reply, which the server may have billed"),
    ):
        if cost:
            yield f"{usage.task} {usage.model}: {cost:.4f} of the cost is for {why}"


def format_cost(cost: float | None) -> str:
    """Format a cost with four decimals; a dash if no price is set."""
    return f"{cost:.4f}" if cost else "—"


def show_estimate(report: DryRunReport) -> None:
    """Print the estimated usage of a command: one line per model and task, the total, and the method."""
    columns = (
        "task",
        "model",
        "runs",
        "requests",
        "cached",
        "tokens in",
        "tokens out",
        "cost",
        "at most",
    )
    shown = [
        (
            " ".join(filter(None, (row.task, row.variation))),
            row.model,
            f"{row.runs:,}",
            f"{row.requests:,}",
            f"{row.kept:,}",
            f"{row.tokens_in:,}",
            f"{row.tokens_out:,}",
            format_cost(row.cost),
            format_cost(row.cost_at_most),
        )
        for row in (*report.rows, *([report.total] if len(report.rows) > 1 else []))
    ]
    print_table(columns, shown, numbers=columns[2:])
    for line in report.notes:
        echo(f"note: {line}")
    for line in report.left_out:
        echo(f"skipped: {line}")
    runs = "1 run is" if report.total.done == 1 else f"{report.total.done:,} runs are"
    done = f"; {runs} done" if report.total.done else ""
    echo(f"Nothing was sent or written{done}.")


def format_notes(report: RunReport, table: TableUnit) -> Iterator[str]:
    """Print the notes below the table, or on stderr if the table goes to a file."""
    from nikawa.metrics.units import describe_conversion

    seeds = sorted({len(cell.seeds) for cell in report.cells if cell.sd is not None})
    if seeds:
        yield f"±: standard deviation over {' or '.join(map(str, seeds))} seeds"
    if any(cell.few for cell in report.cells):
        yield f"{NO_INTERVAL}: {TOO_FEW}"
    scored = ((c.task, c.metric, c.unit) for c in report.cells if c.mean is not None)
    converted = describe_conversion(scored, table)
    if converted:
        yield converted
    for chosen in report.chosen:
        words = format_settings(chosen.settings)
        where = f" ({chosen.variation})" if chosen.variation else ""
        lost = "".join(
            f"; diverged: {format_settings(differing_settings(tried, chosen.settings))}"
            for tried in chosen.diverged
        )
        yield f"{chosen.task} {chosen.model}{where}: {words}, chosen from {chosen.among} on {chosen.on}{lost}"
    if any(cell.limit for cell in report.cells):
        yield "first N items: only a part of each set; do not compare with results on the whole set"
    for each in report.usage or ():
        yield from format_uncertain_cost(each)
    if report.spent:
        unfinished = " (unfinished runs included)" if report.problems else ""
        yield f"spent under the budget so far: {report.spent:.4f}{unfinished}"
    yield from format_unanswered(report.cells)
    yield from (f"note: {line}" for line in report.notes)
    yield from (f"skipped: {line}" for line in report.left_out)
    failed = f", {len(report.problems)} failed" if report.problems else ""
    runs = "run" if report.done == 1 else "runs"
    yield f"{report.done} {runs} done, {report.skipped} already done{failed}; see {report.out}"


def format_settings(settings: Mapping[str, Any]) -> str:
    """Format settings as `lr=0.1, epochs=3`, or `the defaults`."""
    return ", ".join(f"{k}={v}" for k, v in settings.items()) or "the defaults"


def differing_settings(tried: Mapping[str, Any], chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings that differ from the chosen ones."""
    return {
        name: value for name, value in tried.items() if name not in chosen or chosen[name] != value
    }


def select_main_cells(cells: Sequence[RunCell]) -> list[RunCell]:
    """Return the first metric of every task on each whole set."""
    first: dict[str, str] = {}
    for cell in cells:
        first.setdefault(cell.task, cell.metric)
    return [cell for cell in cells if cell.metric == first[cell.task] and not cell.where]


def results_table(
    cells: Sequence[RunCell], table: TableUnit
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return columns, rows and numeric columns of the table: one row per figure, one column per model."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    rows = group_cells(cells)
    keep = [0, *([1] if any(key[1] for key in rows) else []), 2, 3]
    protocol = any(key[4] for key in rows)
    from nikawa.models import parse_model_name

    short = [parse_model_name(model).short for model in models]
    shown = short if len(set(short)) == len(short) else list(models)
    columns = [NAMES[i] for i in keep] + shown + ["n"] + (["protocol"] if protocol else [])
    body = [
        [key[i] for i in keep]
        + [_shown(by_model[m], key[3], table) if m in by_model else "" for m in models]
        + [
            f"{max((cell.asked // len(cell.seeds) if key[3] == ANSWERED else cell.n) for cell in by_model.values()):,}"
        ]
        + ([key[4]] if protocol else [])
        for key, by_model in rows.items()
    ]
    return columns, body, [*shown, "n"]


def group_cells(cells: Sequence[RunCell]) -> dict[CellKey, dict[str, RunCell]]:
    """Return figures by row and model.

    A set that was not answered completely has an additional row with the share of answers.
    """
    rows: dict[CellKey, dict[str, RunCell]] = {}
    for cell in cells:
        part = f"{cell.set} {cell.where}".strip()
        rows.setdefault((cell.task, cell.variation, part, cell.metric, cell.protocol), {})[
            cell.model
        ] = cell
    gaps = {(cell.task, cell.variation, cell.set) for cell in cells if cell.unanswered}
    if not gaps:
        return rows
    for cell in cells:
        if (cell.task, cell.variation, cell.set) in gaps:
            key = (cell.task, cell.variation, cell.set, ANSWERED, cell.protocol)
            rows.setdefault(key, {})[cell.model] = cell
    first: dict[tuple[str, ...], int] = {}
    for i, key in enumerate(rows):
        first.setdefault(key[:3], i)
    return {key: rows[key] for key in sorted(rows, key=lambda key: first[key[:3]])}


def _shown(cell: RunCell, metric: str, table: TableUnit) -> str:
    if metric == ANSWERED:
        share = f" ({cell.answered / cell.asked:.1%})" if cell.unanswered else ""
        return f"{cell.answered:,} of {cell.asked:,}{share}"
    return format_figure(cell, table)


def format_figure(cell: RunCell, table: TableUnit) -> str:
    """Format the mean and deviation over seeds, or the value with its interval."""
    from nikawa.metrics.units import format_score

    def show(value: float | None) -> str:
        return format_score(value, cell.metric, cell.unit, table)

    mean = show(cell.mean)
    if cell.mean is None:
        return mean
    if cell.sd is not None:
        return f"{mean} ± {show(cell.sd)}"
    if cell.low is None or cell.high is None:
        return f"{mean} ({NO_INTERVAL})" if cell.few else mean
    return f"{mean} ({show(cell.low)} to {show(cell.high)})"


def format_reasons(reasons: Mapping[str, int]) -> str:
    """Format the reasons with their counts, and the cures."""
    between = "; " if any("," in kind for kind in reasons) else ", "
    counted = between.join(f"{count:,} {kind}" for kind, count in reasons.items())
    cures = "; ".join(UNANSWERED_CURES[kind] for kind in reasons if kind in UNANSWERED_CURES)
    return f" ({counted}); {cures or 'pass --show-reading to see how each answer was read'}"


def format_unanswered(cells: Sequence[RunCell]) -> list[str]:
    """Print for each system how many items it did not answer, and why."""
    lost = {(c.task, c.model, c.variation, c.set): c for c in cells if c.unanswered and not c.where}
    sentences = [
        f"{c.task} {c.model} {c.set}: {c.unanswered:,} of {c.asked:,} items have no answer{format_reasons(c.reasons)}"
        for c in lost.values()
    ]
    kept = {(c.task, c.set): c.hidden for c in cells if c.hidden}
    return sentences + [
        f"{task} {name}: {n:,} items with hidden labels were answered but not scored"
        for (task, name), n in kept.items()
    ]


def format_differences(differs: Mapping[str, Any]) -> str:
    """Format what tells a run from others like it.

    >>> format_differences({"settings.dtype": "float32", "data.llama": "file 0123456789abcdef"})
    'dtype=float32, llama: file 01234567'
    """
    words = []
    for name, value in differs.items():
        part, _, key = name.partition(".")
        if part == "settings":
            words.append(f"{key}={value}")
        elif part == "data":
            version, _, digest = f"{value}".rpartition(" ")
            words.append(f"{key}: {version} {digest[:8]}")
        else:
            words.append(f"{name}={value}")
    return ", ".join(words)


def show_list(
    rows: Sequence[ListedRun], differences: Mapping[str, Mapping[str, Any]], table: TableUnit
) -> None:
    """Print one line per run; `differences` has what tells runs apart that look alike."""
    from nikawa.metrics.units import describe_conversion, format_score

    columns: tuple[str, ...] = (
        "run",
        "task",
        "model",
        "variation",
        "seed",
        "state",
        "set",
        "metric",
        "score",
        "protocol",
    )
    if differences:
        columns = (*columns, "differs in")
    shown = [
        (
            r.run.rpartition("--")[2],
            r.task,
            r.model,
            ", ".join(
                word
                for word in (r.variation, "selection" if r.stage == "selection" else "")
                if word
            ),
            r.seed,
            r.state,
            r.set,
            r.metric,
            "" if r.value is None else format_score(r.value, r.metric, r.unit or "percent", table),
            r.protocol,
            *([format_differences(differences.get(r.run, {}))] if differences else []),
        )
        for r in rows
    ]
    print_table(columns, shown, numbers=("seed", "score"))
    scored = ((r.task, r.metric, r.unit or "percent") for r in rows if r.value is not None)
    converted = describe_conversion(scored, table)
    if converted:
        echo(converted)
    for row in rows:
        if row.problem:
            echo(f"{row.run}: {row.problem}")
        elif row.undefined:
            echo(f"{row.run}: {row.metric} is not defined: {row.undefined}")


def show_diff(difference: RunDiff, table: TableUnit) -> None:
    """Print three tables: settings, scores, answers."""
    from nikawa.metrics.units import describe_conversion, format_score

    echo(f"A {difference.a}")
    echo(f"B {difference.b}")
    print_table(
        ("what", "A", "B"),
        [(c.what, format_value(c.a), format_value(c.b)) for c in difference.changed],
    )
    scores = [
        (
            s.set,
            s.where or "all",
            s.metric,
            format_score(s.a, s.metric, s.unit or "percent", table),
            format_score(s.b, s.metric, s.unit or "percent", table),
            ""
            if s.a is None or s.b is None
            else format_score(s.b - s.a, s.metric, s.unit or "percent", table, signed=True),
        )
        for s in difference.scores
    ]
    print_table(("set", "where", "metric", "A", "B", "B - A"), scores, numbers=("A", "B", "B - A"))
    converted = describe_conversion(
        (("", s.metric, s.unit or "percent") for s in difference.scores), table
    )
    if converted:
        echo(converted)
    print_table(
        ("set", "n", "answers differ"),
        [(a.set, a.n, a.differ) for a in difference.answers],
        numbers=("n", "answers differ"),
    )


def format_value(value: Any) -> str:
    """Format a setting of a run as a cell: a list with commas, an empty text for None."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


MAX_SEED = 2**32 - 1
"""The largest seed that every library accepts."""


def parse_request(models: list[str], tasks: list[str], words: Mapping[str, Any]) -> RunRequest:
    """Build the request from the options.

    `words` are the other options by name, as the user typed them. Raises BadInput if the model or the
    task is missing, and for settings, shares and seeds that cannot be parsed.
    """
    from dataclasses import replace

    from nikawa.io.processes import hide_arguments
    from nikawa.models.secrets import find_secrets
    from nikawa.runs.request import Preset, RunRequest, apply_preset, read_preset

    names = [name for entry in tasks for name in split_list(entry)]
    if not models:
        raise BadInput(
            "the model is missing", cure="pass --model NAME (nikawa run models lists the models)"
        )
    if not names:
        raise BadInput(
            "the task is missing", cure="pass --tasks NAME (nikawa tasks lists the tasks)"
        )
    settings = dict(parse_setting(entry) for entry in words["settings"] or ())
    hide_arguments(find_secrets({name: parse_value(text) for name, text in settings.items()}))
    if words["base_url"]:
        settings["base_url"] = words["base_url"]
    extract = tuple(words["extract"] or ())
    if extract:
        check_extract(models, extract)
    request = RunRequest(
        tasks=tuple(dict.fromkeys(names)),
        models=tuple(dict.fromkeys(models)),
        seeds=parse_seeds(words["seeds"]),
        settings={
            **{name: parse_value(text) for name, text in settings.items()},
            **({"extract": extract} if extract else {}),
        },
        grid={
            name: tuple(map(parse_value, split_list(text)))
            for name, text in map(parse_setting, words["grid"] or ())
        },
        inputs=tuple(split_list(words["inputs"] or "")),
        shares=tuple(map(parse_share, split_list(words["share"]))),
        shots=words["shots"],
        limit=words["limit"] or 0,
        train=tuple(split_list(words["train"] or "")),
        labels=dict(parse_setting(entry, "OLD=NEW") for entry in words["label"] or ()),
        choose_seeds=words["choose_seeds"],
    )
    preset = words["preset"]
    if preset and preset.endswith(".toml"):
        request = replace(request, preset=Path(preset))
    return apply_preset(read_preset(preset) if preset else Preset(), request)


def check_extract(models: Sequence[str], expressions: Sequence[str]) -> None:
    """Reject unusable expressions, and models without replies to apply them to."""
    from nikawa.io.answers.extract import check_expressions
    from nikawa.models import find_model, parse_model_name

    check_expressions(expressions)
    kinds = [find_model(parse_model_name(name, may_have_label=True).full)[0] for name in models]
    if not any("extract" in kind.default_settings for kind in kinds):
        what = f"{', '.join(models)} has no replies to extract answers from"
        raise BadInput(what, cure="use --extract with chat: and replay: models")


def check_notation(notation: str | None) -> None:
    """Reject an unknown notation before the work starts."""
    from nikawa.reporting.tables import NOTATIONS

    if notation is not None and notation not in NOTATIONS:
        raise unknown("notation", notation, NOTATIONS)


def parse_setting(text: str, notation: str = "KEY=VALUE") -> tuple[str, str]:
    """Parse `KEY=VALUE` into key and text; the value may contain equals signs.

    `notation` is the form that the message asks for.

    >>> parse_setting("prompt=a=b")
    ('prompt', 'a=b')
    """
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        # A value may be a secret, so the message repeats only the first word.
        word = re.match(r"[A-Za-z_]*", text)
        shown = text if word and word[0] == text else f"{word[0] if word else ''}…"
        what = "is not a setting" if notation == "KEY=VALUE" else "does not rename a label"
        raise BadInput(f"{shown!r} {what}", cure=f"write {notation}")
    return key.strip(), rest.strip()


def parse_share(text: str) -> float:
    """Parse a share of the training data."""
    try:
        return float(text)
    except ValueError:
        raise BadInput(
            f"{text!r} is not a share", cure="write numbers up to 1: 0.25,0.5,1.0"
        ) from None


def parse_seeds(text: str | None) -> tuple[int, ...]:
    """Parse `--seeds`: a number of seeds, or the seeds themselves; without it, the preset decides.

    >>> parse_seeds("3"), parse_seeds("7,8"), parse_seeds("7,"), parse_seeds(None)
    ((0, 1, 2), (7, 8), (7,), ())

    Raises BadInput for anything else, for more than `MAX_SEEDS` and for a seed above `MAX_SEED`.
    """
    from nikawa.runs.request import MAX_SEEDS

    if text is None:
        return ()
    words = split_list(text)
    counted = len(words) == 1 and "," not in text
    if not words or not all(word.isdecimal() for word in words) or (counted and int(words[0]) < 1):
        raise BadInput(
            f"{text!r} is not a number or list of seeds", cure="write a number (5) or a list (7,8)"
        )
    if counted and int(words[0]) > MAX_SEEDS:
        raise BadInput(
            f"{text} seeds are too many",
            cure=f"write a number up to {MAX_SEEDS:,}; for the single seed, write {text},",
        )
    if max(map(int, words)) > MAX_SEED:
        raise BadInput(f"a seed of {text!r} is too large", cure=f"write numbers up to {MAX_SEED}")
    return tuple(range(int(words[0]))) if counted else tuple(dict.fromkeys(map(int, words)))


def describe_settings(model: Model) -> dict[str, Any]:
    """Return a row of the list of models: name with its argument, kinds of task, settings with defaults."""
    fields = msgspec.structs.fields(model.settings) if model.settings else ()
    defaults = {f.encode_name: find_default(f) for f in fields}
    name = f"{model.name}:{model.argument}" if model.argument else model.name
    return {"model": name, "title": model.title, "kinds": list(model.kinds), "settings": defaults}


def find_default(field: Any) -> Any:
    """Return the default of a setting as plain JSON, or None."""
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return (
        None
        if field.default_factory is msgspec.NODEFAULT
        else msgspec.to_builtins(field.default_factory())
    )
