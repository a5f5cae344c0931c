"""`nikawa build`: make a dataset by a paper's recipe, pausing where people must answer.

A build stops where people must answer and goes on when the same command finds their answers.
`--amend` is another job: it releases a corrected version of a dataset, with a changelog and the
scores that move.
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
"""Corrections shown; all of them are in the changelog."""


def complete_recipes(incomplete: str) -> list[str]:
    """The recipes, and the word that lists them."""
    from nikawa.recipes.recipe import recipes

    return [name for name in (LIST, *recipes()) if name.startswith(incomplete)]


def build(
    recipe: Annotated[
        str, typer.Argument(help="A recipe; list shows them all.", autocompletion=complete_recipes)
    ] = LIST,
    config: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the source files, and settings other than the paper's."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The dataset folder; the work lies in build/ and the task sheets in people/ inside it."
        ),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(help="Let simulated workers answer where nobody has, with this seed.", min=0),
    ] = None,
    show_config: Annotated[
        bool,
        typer.Option(
            "--show-config",
            help="Print the settings with the paper's numbers and where each comes from.",
        ),
    ] = False,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="override: an owner's decision is the gold whatever the votes; ties: only where the rule makes none of them. Unless said, as the config or the project has it, else override.",
            autocompletion=complete_from("override", "ties"),
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a release made of other items or settings.")
    ] = False,
    amend: Annotated[
        str | None,
        typer.Option(
            help="Instead of building: release a corrected version of this dataset.",
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
            help="The new version; the next minor one unless said.", rich_help_panel=AMEND
        ),
    ] = None,
    reason: Annotated[
        str,
        typer.Option(help="Why there is a new version, for the changelog.", rich_help_panel=AMEND),
    ] = "",
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder of stored runs: tell which of their scores move; may be repeated.",
            rich_help_panel=AMEND,
        ),
    ] = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            help="FILE or TASK=FILE of answers: the same for these; may be repeated.",
            rich_help_panel=AMEND,
        ),
    ] = None,
    date: Annotated[
        str, typer.Option(help="Date of the release; today unless said.", rich_help_panel=AMEND)
    ] = "",
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a dataset as its paper describes: sources to items, task sheets to people, answers to gold, with lineage."""
    from nikawa.recipes.build import BuildOptions, NothingLeft, settings_of
    from nikawa.recipes.build import build as run
    from nikawa.recipes.build import show_config as format_settings
    from nikawa.recipes.recipe import Ask, find_recipe, recipes

    if amend is not None and recipe != LIST:
        raise BadInput(f"build the recipe {recipe}, or amend {amend}?", cure="say one of them")
    if amend is None and (relabel or version or reason or runs or answers or date):
        raise BadInput(
            "these options belong to --amend", cure="say --amend DATASET --relabel FILE --out DIR"
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
        raise BadInput(f"{recipe}: into which folder?", cure="say --out DIR")
    try:
        with progress_bar(f"building {recipe}", quiet or json) as bar:
            options = BuildOptions(config, simulate, overwrite, decisions)
            report = run(recipe, out, options, progress=bar.update_stage)
    except NothingLeft as problem:  # the table says why; the message comes after it
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
    """Amend, and tell what was corrected and which scores move."""
    from nikawa.recipes.amend import amend

    if relabel is None:
        raise BadInput(
            f"{spec}: which answers are corrected?", cure="say --relabel FILE; see docs/release.md"
        )
    if out is None:
        raise BadInput(f"{spec}: into which folder?", cure="say --out DIR")
    with status(f"amending {spec}", quiet or json):
        report = amend(spec, relabel, out, data=data, options=options)
    print_result(report, show_amended, json=json, quiet=quiet)


def show_amended(report: AmendReport) -> None:
    """The corrections, the scores that move, and where the release is."""
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
    """What each stage did, and what comes next."""
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
        echo("Run the same command again when the answers are there.")
    if report.released is not None:
        released = report.released
        sentence = (
            "simulated workers"
            if released.workers_are == "simulated"
            else f"workers: {released.workers_are}"
        )
        word = "written to" if released.fresh else "is there already, unchanged, in"
        echo(
            f"{released.name} {released.version} ({format_counts(released.splits)}; {sentence}) {word} {report.out}"
        )
        for warning in released.warnings or ():
            echo(f"warning: {warning}", err=True)


def format_counts(counts: dict[str, int]) -> str:
    """Counts by name, in their order.

    >>> format_counts({"train": 20073, "dev": 2434})
    'train 20,073, dev 2,434'
    """
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
