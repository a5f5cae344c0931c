"""`nikawa build`: make a dataset by a paper's recipe, pausing where people must answer.

A build stops where people must answer. Run the same command again when their answers are there.
`--amend` is another job: it releases a corrected version of a dataset, with a changelog and the
scores that change.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import Data, Json, Quiet, complete_datasets, complete_from
from nikawa.cli.terminal.output import (
    echo,
    print_json,
    print_result,
    print_table,
    progress_bar,
    status,
)
from nikawa.errors import BadInput

if TYPE_CHECKING:
    from nikawa.recipes.amend import AmendOptions, AmendReport
    from nikawa.recipes.build import BuildReport

PANEL = "Build"
EXAMPLE = "Example: nikawa build jnli --config jnli.toml --out my-jnli --simulate 1"
LIST = "list"
AMEND = "Corrected versions"
MAX_CHANGES_SHOWN = 20
"""Corrections to show; the changelog has all of them."""


def complete_recipes(incomplete: str) -> list[str]:
    """Complete recipes, and the word that lists them."""
    from nikawa.recipes.recipe import recipes

    return [name for name in (LIST, *recipes()) if name.startswith(incomplete)]


def build(
    recipe: Annotated[
        str,
        typer.Argument(
            help="The recipe; `list` shows all recipes.", autocompletion=complete_recipes
        ),
    ] = LIST,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the source files and the settings that differ from the paper's."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The dataset folder; its build/ holds intermediate files, its people/ the task sheets."
        ),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(help="Simulate workers with this seed where answers are missing.", min=0),
    ] = None,
    show_config: Annotated[
        bool,
        typer.Option(
            "--show-config",
            help="Print the settings with the paper's values and where each comes from.",
        ),
    ] = False,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="override: an owner's decision replaces the votes; ties: a decision counts only if the rule gives no gold. Default: the setting of the config or the project, else override.",
            autocompletion=complete_from("override", "ties"),
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace a release made from other items or settings."),
    ] = False,
    amend: Annotated[
        str | None,
        typer.Option(
            help="Release a corrected version of this dataset instead of building one.",
            rich_help_panel=AMEND,
            autocompletion=complete_datasets,
        ),
    ] = None,
    relabel: Annotated[
        Path | None,
        typer.Option(
            help="The corrections: id, question, label, reason, by, as JSON lines or a sheet; or a folder that nikawa aggregate wrote.",
            rich_help_panel=AMEND,
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="The new version; default: the next minor version.", rich_help_panel=AMEND
        ),
    ] = None,
    reason: Annotated[
        str,
        typer.Option(
            help="The reason for the new version, for the changelog.", rich_help_panel=AMEND
        ),
    ] = "",
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder of stored runs: report which of their scores change; may be repeated.",
            rich_help_panel=AMEND,
        ),
    ] = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            help="Answers as FILE or TASK=FILE: report which of their scores change; may be repeated.",
            rich_help_panel=AMEND,
        ),
    ] = None,
    date: Annotated[
        str, typer.Option(help="Date of the release; default: today.", rich_help_panel=AMEND)
    ] = "",
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a dataset as its paper describes: make items from sources, write task sheets for workers, turn their answers into gold."""
    from nikawa.recipes.build import BuildOptions, NothingLeft, settings_of
    from nikawa.recipes.build import build as run
    from nikawa.recipes.build import show_config as format_settings
    from nikawa.recipes.recipe import Ask, find_recipe, recipes

    if amend is not None and recipe != LIST:
        raise BadInput(
            f"the recipe {recipe} and --amend {amend} cannot be combined", cure="pass one of them"
        )
    if amend is None and (relabel or version or reason or runs or answers or date):
        raise BadInput(
            "these options need --amend", cure="pass --amend DATASET --relabel FILE --out DIR"
        )
    if amend is not None:
        from nikawa.recipes.amend import AmendOptions

        changes = AmendOptions(
            version, reason, tuple(runs or ()), tuple(answers or ()), date, overwrite
        )
        return run_amend(amend, relabel, out, data, changes, json=json, quiet=quiet)
    if recipe == LIST:
        rows = [
            {
                "recipe": r.name,
                "language": r.language,
                "stages": len(r.stages),
                "asks people": sum(isinstance(stage, Ask) for stage in r.stages),
                "needs": ", ".join(r.sources),
                "makes": r.title,
            }
            for r in recipes().values()
        ]
        if json:
            return print_json(rows)
        return print_table(
            list(rows[0]), [list(row.values()) for row in rows], numbers=("stages", "asks people")
        )
    if show_config:
        known = find_recipe(recipe)
        return print_json(settings_of(known)) if json else echo(format_settings(known), whole=True)
    if out is None:
        raise BadInput(f"{recipe}: the output folder is missing", cure="pass --out DIR")
    try:
        with progress_bar(f"building {recipe}", quiet or json) as bar:
            options = BuildOptions(config, simulate, overwrite, decisions)
            report = run(recipe, out, options, progress=bar.update_stage)
    except NothingLeft as problem:  # the table gives the reason; the message comes after it
        print_result(problem.report, show, json=json, quiet=quiet)
        raise
    print_result(report, show, json=json, quiet=quiet)
    return None


def run_amend(
    spec: str,
    relabel: Path | None,
    out: Path | None,
    data: Path | None,
    options: AmendOptions,
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Amend a dataset, and print the corrections and the scores that change."""
    from nikawa.recipes.amend import amend

    if relabel is None:
        raise BadInput(
            f"{spec}: the corrections are missing", cure="pass --relabel FILE; see docs/release.md"
        )
    if out is None:
        raise BadInput(f"{spec}: the output folder is missing", cure="pass --out DIR")
    with status(f"amending {spec}", quiet or json):
        report = amend(spec, relabel, out, data=data, options=options)
    print_result(report, show_amended, json=json, quiet=quiet)


def show_amended(report: AmendReport) -> None:
    """Print the corrections, the scores that change, and the folder of the release."""
    from nikawa.cli.terminal.examples import format_answer
    from nikawa.recipes.changelog import SCORE_COLUMNS, describe_moves, score_row

    release = report.release
    rows = [
        (c.example, c.question, format_answer(c.before), format_answer(c.after), c.why, c.by)
        for c in release.corrections[:MAX_CHANGES_SHOWN]
    ]
    print_table(("example", "question", "before", "after", "why", "by"), rows)
    if len(release.corrections) > MAX_CHANGES_SHOWN:
        echo(
            f"… and {len(release.corrections) - MAX_CHANGES_SHOWN:,} more: CHANGELOG.md has them all"
        )
    moved = [score for score in release.scores if score.moves]
    if moved:
        print_table(SCORE_COLUMNS, [score_row(score) for score in moved], numbers=SCORE_COLUMNS[4:])
    if release.scores:
        echo(describe_moves(release.scores))
    for note in release.notes:
        echo(note)
    sizes = ", ".join(f"{split} {count:,}" for split, count in report.splits.items())
    sentence = f"{report.dataset} {release.previous} -> {release.version}, {len(release.corrections):,} corrected"
    echo(f"{sentence} ({sizes}) written to {report.out}")


def show(report: BuildReport) -> None:
    """Print what each stage did and what comes next."""
    rows = [
        (
            stage.name,
            "people" if stage.people else "",
            stage.state,
            format_counts(stage.read),
            format_counts(stage.wrote),
            format_counts(stage.dropped),
        )
        for stage in report.stages
    ]
    print_table(("stage", "by", "state", "in", "out", "dropped"), rows)
    for stage in report.stages:
        for note in stage.notes:
            echo(f"{stage.name}: {note}")
    for waiting in report.waiting:
        echo(str(waiting))
    if report.waiting:
        echo("When the answers are complete, run the same command again.")
    if report.released is not None:
        released = report.released
        sentence = (
            "simulated workers"
            if released.workers_are == "simulated"
            else f"workers: {released.workers_are}"
        )
        word = "written to" if released.fresh else "is unchanged in"
        echo(
            f"{released.name} {released.version} ({format_counts(released.splits)}; {sentence}) {word} {report.out}"
        )
        for warning in released.warnings or ():
            echo(f"warning: {warning}", err=True)


def format_counts(counts: dict[str, int]) -> str:
    """Format counts by name, in their order.

    >>> format_counts({"train": 20073, "dev": 2434})
    'train 20,073, dev 2,434'
    """
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
