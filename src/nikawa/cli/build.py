"""`nikawa build`: make a dataset by a paper's recipe, pausing where people must answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli._amend import run_amend
from nikawa.cli._show import Data, Json, Quiet, complete_datasets, print_json, print_table, progress

if TYPE_CHECKING:
    from nikawa.recipes.build import BuildReport, Options

PANEL = "Build"
LIST = "list"
AMEND = "Corrected versions"


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command(
        "build",
        rich_help_panel=PANEL,
        epilog="Example: nikawa build jnli --config jnli.toml --out my-jnli --simulate 1",
    )(build)


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
    from nikawa.errors import BadInput
    from nikawa.recipes.build import Options

    if amend is not None and recipe != LIST:
        raise BadInput(f"build the recipe {recipe}, or amend {amend}?", cure="say one of them")
    if amend is None and (relabel or version or reason or runs or answers or date):
        raise BadInput(
            "these options belong to --amend", cure="say --amend DATASET --relabel FILE --out DIR"
        )
    if amend is not None:
        from nikawa.recipes.amend import Options as Correct

        how = Correct(version, reason, tuple(runs or ()), tuple(answers or ()), date, overwrite)
        return run_amend(amend, relabel, out, data, how, json=json, quiet=quiet)
    if recipe == LIST:
        return _list(json)
    if show_config:
        return _show_config(recipe, json)
    if out is None:
        raise BadInput(f"{recipe}: into which folder?", cure="say --out DIR")
    report = _run(recipe, out, Options(config, simulate, overwrite), quiet or json)
    if json:
        print_json(report)
    elif not quiet:
        show(report)
    return None


def _list(json: bool) -> None:
    from nikawa.recipes.recipe import Ask, recipes

    rows = [
        {
            "recipe": found.name,
            "language": found.language,
            "stages": len(found.stages),
            "asks people": sum(isinstance(stage, Ask) for stage in found.stages),
            "needs": ", ".join(found.sources),
            "makes": found.title,
        }
        for found in recipes().values()
    ]
    if json:
        return print_json(rows)
    return print_table(
        list(rows[0]), [list(row.values()) for row in rows], numbers=("stages", "asks people")
    )


def _show_config(name: str, json: bool) -> None:
    from nikawa.recipes.build import settings_of, show_config
    from nikawa.recipes.recipe import find_recipe

    recipe = find_recipe(name)
    if json:
        return print_json(settings_of(recipe))
    return typer.echo(show_config(recipe))


def _run(name: str, out: Path, how: Options, quiet: bool) -> BuildReport:
    from nikawa.recipes.build import build as run

    with progress(quiet) as bar:
        shown = bar.add_task(f"building {name}", total=None)
        return run(
            name,
            out,
            how,
            progress=lambda stage, done, total: bar.update(
                shown, completed=done, total=total, description=stage
            ),
        )


def show(report: BuildReport) -> None:
    """What each stage did, and what comes next."""
    rows = [
        (
            stage.name,
            "people" if stage.people else "",
            stage.state,
            _told(stage.wrote),
            _told(stage.dropped),
        )
        for stage in report.stages
    ]
    print_table(("stage", "by", "state", "out", "dropped"), rows)
    for stage in report.stages:
        for note in stage.notes:
            typer.echo(f"{stage.name}: {note}")
    for waiting in report.waiting:
        typer.echo(str(waiting))
    if report.waiting:
        typer.echo("Run the same command again when the answers are there.")
    if report.released is not None:
        found = report.released
        said = (
            "simulated workers"
            if found.workers_are == "simulated"
            else f"workers: {found.workers_are}"
        )
        word = "written to" if found.fresh else "is there already, unchanged, in"
        typer.echo(
            f"{found.name} {found.version} ({_told(found.splits)}; {said}) {word} {report.out}"
        )


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
