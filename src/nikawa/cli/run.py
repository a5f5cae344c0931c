"""`nikawa run`: models on tasks, one folder a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli._show import Data, Json, Quiet, complete_tasks, print_json, print_table, progress

if TYPE_CHECKING:
    from nikawa.runs.job import Options, Request, RunReport

PANEL = "Evaluate"

Out = Annotated[Path, typer.Option(help="Folder of the runs.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        help="Tasks, datasets or suites (jnli,jsts or jglue), or a dataset folder of your own.",
        autocompletion=complete_tasks,
    ),
]
RUNS = Path("runs")


def complete_models(incomplete: str) -> list[str]:
    """Names of models; a colon where something must follow."""
    from nikawa.models import models

    names = [m.name + (":" if m.argument else "") for m in models().values()]
    return [name for name in names if name.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Attach the verb, which runs by itself, and its parts."""
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
            help="A model, such as baseline or replay:FILE, or one you name: NAME=replay:FILE; may be repeated.",
            autocompletion=complete_models,
        ),
    ] = None,
    tasks: Tasks = None,
    seeds: Annotated[str | None, typer.Option(help="How many seeds, or which: 5, or 7,8.")] = None,
    out: Out = RUNS,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting of the models that have it: KEY=VALUE; may be repeated."
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Settings to choose among on dev: KEY=V1,V2; may be repeated."),
    ] = None,
    choose_seeds: Annotated[
        int, typer.Option(help="How many of the seeds choose among them; 0: all.", min=0)
    ] = 0,
    preset: Annotated[
        str | None, typer.Option(help="Choices by name (learning-curve, …) or from a TOML file.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="The inputs that are kept: hypothesis.")
    ] = None,
    share: Annotated[
        str, typer.Option(help="Shares of the training data, each run apart: 0.25,0.5,1.0.")
    ] = "1.0",
    train: Annotated[
        str | None, typer.Option(help="Other training sets, by name or file: jsick,jnli.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="What a label of such a set stands for: OLD=NEW; may be repeated."),
    ] = None,
    shots: Annotated[
        int, typer.Option(help="Training examples a label, by seed; 0 for all.", min=0)
    ] = 0,
    base_url: Annotated[
        str | None, typer.Option(help="The server of a chat model: http://localhost:8000/v1.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Runs at a time; 0: as many as processors, 1 for chat and encoder models.", min=0
        ),
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            help="Threads of numerical libraries in a run; 0: 1, or all for encoder models.", min=0
        ),
    ] = 0,
    executor: Annotated[
        str | None, typer.Option(help="Where runs are done: pool, here, or one of your own.")
    ] = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep what models wrote while at work.")
    ] = False,
    style: Annotated[str | None, typer.Option("--as", help="markdown, latex or csv.")] = None,
    main: Annotated[
        bool,
        typer.Option(
            "--main", help="The table has the first metric of each task alone, on whole sets."
        ),
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run models on tasks: scores with intervals, mean and deviation over seeds; what is done is not done again."""
    if context.invoked_subcommand is not None:
        return
    if not model and not tasks:
        typer.echo(context.get_help())
        return
    from nikawa.cli._run_words import asked, checked
    from nikawa.runs.job import Options

    checked(style)
    words = {
        "settings": settings,
        "grid": grid,
        "preset": preset,
        "inputs": inputs,
        "share": share,
        "train": train,
        "label": label,
        "shots": shots,
        "base_url": base_url,
        "seeds": seeds,
        "choose_seeds": choose_seeds,
    }
    request = asked(model or [], tasks or [], words)
    how = Options(out, data, workers, threads, executor or "", keep_state)
    try:
        report = _run(request, how, quiet or json)
    except KeyboardInterrupt:
        typer.echo("nikawa: interrupted; the same command goes on from here", err=True)
        raise typer.Exit(130) from None
    if json:
        print_json(report)
    elif not quiet:
        from nikawa.cli._run_show import show

        show(report, style, main=main)
    _exit(report)


def _run(request: Request, how: Options, quiet: bool) -> RunReport:
    from dataclasses import replace

    from nikawa.runs.job import run
    from nikawa.runs.value import Outcome

    with progress(quiet) as bar:
        shown = bar.add_task("planning", total=None)
        inner = bar.add_task("", total=None, visible=False)

        def told(outcome: Outcome | None, done: int, total: int) -> None:
            what = "running" if outcome is None else f"{outcome.run.task} {outcome.run.model}"
            bar.update(shown, description=what, completed=done, total=total)
            bar.update(inner, visible=False)

        def heard(what: str, done: int, total: int | None) -> None:
            bar.update(inner, description=f"  {what}", completed=done, total=total, visible=True)

        return run(request, replace(how, told=told, progress=heard))


def _exit(report: RunReport) -> None:
    """Each problem once, on stderr; status 1 where something was done, 2 where all of it was bad input."""
    if not report.problems:
        return
    by_problem: dict[str, list[str]] = {}
    for problem in report.problems:
        by_problem.setdefault(problem.problem, []).append(problem.run)
    for said, runs in by_problem.items():
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        typer.echo(f"nikawa: {runs[0]}{more}: {said}", err=True)
    bad = all(p.bad_input for p in report.problems) and not (report.done or report.skipped)
    raise typer.Exit(2 if bad else 1)


def list_(
    out: Out = RUNS,
    task: Annotated[str | None, typer.Option(help="Runs of this task only.")] = None,
    model: Annotated[str | None, typer.Option(help="Runs of this model only.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The runs of a folder, finished or not, with their main score."""
    from nikawa.cli._run_show import show_list
    from nikawa.runs.manage import list_runs

    rows = list_runs(out, task, model)
    if json:
        print_json(rows)
    elif not quiet:
        show_list(rows)


def diff(
    a: Annotated[str, typer.Argument(help="A run: its folder, or the beginning of its hash.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    out: Out = RUNS,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What two runs do not share: what defines them, packages, scores, answers."""
    from nikawa.cli._run_show import show_diff
    from nikawa.runs.manage import diff_runs

    found = diff_runs(a, b, out)
    if json:
        print_json(found)
    elif not quiet:
        show_diff(found)


def remove(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs: folders, or the beginnings of hashes.")
    ] = None,
    out: Out = RUNS,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Those that were not finished.")
    ] = False,
    task: Annotated[str | None, typer.Option(help="Those of this task.")] = None,
    model: Annotated[str | None, typer.Option(help="Those of this model.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove them; without it they are only named.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove runs, answers and all; without --yes only tell which."""
    from nikawa.runs.manage import remove_runs, to_remove

    found = to_remove(runs or [], out, unfinished=unfinished, task=task, model=model)
    if yes:
        remove_runs(found)
    if json:
        print_json({"removed": yes, "runs": [run.path.name for run in found]})
    elif not quiet:
        for run in found:
            typer.echo(run.path)
        typer.echo(
            f"{len(found)} runs removed" if yes else f"{len(found)} runs; say --yes to remove them"
        )


def list_models(json: Json = False, quiet: Quiet = False) -> None:
    """The models, the kinds of task they answer, and their settings with defaults."""
    from nikawa.cli._run_words import described
    from nikawa.models import models

    rows = [described(found) for found in models().values()]
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
