"""`nikawa clean`: from source texts to candidate sentences.

Without texts it lists the steps. With texts it writes the remaining sentences to `--out`, and
the removed ones to `--removed`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nikawa import api
from nikawa.cli.run import parse_setting
from nikawa.cli.terminal.options import (
    ClusterAddress,
    ExecutorName,
    Json,
    Overwrite,
    Processes,
    Quiet,
    TextField,
    complete_from,
    parse_value,
    split_list,
)
from nikawa.cli.terminal.output import (
    echo,
    explain_interrupt,
    print_json,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from nikawa.cleaning.job import CleanReport
    from nikawa.cleaning.toxicity_review import ToxicityReport

PANEL = "Build"
EXAMPLE = "Example: nikawa clean news.txt --out candidates.jsonl --removed removed.jsonl"


def clean(
    texts: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Plain text (one document per line) or JSON lines, also as .gz, .zst or .xz; - reads standard input. Without files, the command lists the steps."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the candidates to this file.")] = None,
    shards: Annotated[
        bool,
        typer.Option(
            "--shards",
            help="Write a file for each input file: --out and --removed are folders. A killed command keeps the finished files when you start it again.",
        ),
    ] = False,
    language: Annotated[
        str,
        typer.Option(
            help="ja or ko; default: detected from the text.",
            autocompletion=complete_from("ja", "ko"),
        ),
    ] = "",
    steps: Annotated[
        str | None, typer.Option(help="Run only these steps; separate names with commas.")
    ] = None,
    without: Annotated[str, typer.Option(help="Skip these steps.")] = "",
    min_length: Annotated[int, typer.Option(help="Minimum characters of a sentence.", min=1)] = 20,
    max_length: Annotated[int, typer.Option(help="Maximum characters of a sentence.", min=1)] = 90,
    max_other: Annotated[
        int, typer.Option(help="Maximum characters in scripts of neighbouring languages.", min=0)
    ] = 10,
    min_own: Annotated[
        float,
        typer.Option(help="Minimum share of letters in the script of the language.", min=0, max=1),
    ] = 0.5,
    pii: Annotated[
        str,
        typer.Option(
            help="drop: remove sentences with personal data; replace: replace the data by <email> and so on.",
            autocompletion=complete_from("drop", "replace"),
        ),
    ] = "drop",
    similar: Annotated[
        float,
        typer.Option(help="Similarity from which a sentence is a near-duplicate.", min=0.5, max=1),
    ] = 0.8,
    window: Annotated[
        int,
        typer.Option(
            help="Number of kept sentences to search for near-duplicates.", min=1, max=1 << 26
        ),
    ] = 1 << 20,
    toxicity: Annotated[
        str | None,
        typer.Option(
            help="Score toxicity by chat:NAME, lm:PATH or encoder:PATH, or by a command that reads one sentence per line and writes one score per line."
        ),
    ] = None,
    toxic: Annotated[
        float | None,
        typer.Option(
            help="Score from which a sentence is toxic; default: measured with --judged, else 0.5 for a command."
        ),
    ] = None,
    toxic_label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label that means toxic, of an encoder and of judged texts; may be repeated. Default: toxic."
        ),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(help="Texts that people judged: the threshold is measured on them."),
    ] = None,
    min_recall: Annotated[
        float | None,
        typer.Option(
            help="Choose the highest threshold that finds this share of the toxic texts; default: the highest F1.",
            max=1,
        ),
    ] = None,
    flagged: Annotated[
        Path | None,
        typer.Option(
            help="Write the flagged sentences to this folder, as a task sheet for people to decide."
        ),
    ] = None,
    decided: Annotated[
        Path | None,
        typer.Option(
            help="What people decided about flagged sentences: these stay or go as decided."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The server of a chat model, such as http://localhost:8000/v1."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model; may be repeated."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="The budget, in the unit of price_in and price_out.", min=0),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Send sentences with personal data to a server elsewhere too.",
        ),
    ] = False,
    licence: Annotated[str, typer.Option(help="Licence of texts that do not state one.")] = "",
    source: Annotated[str, typer.Option(help="Source of texts that do not state one.")] = "",
    sources: Annotated[
        Path | None,
        typer.Option(help="A table with the columns first line (from 0), lines, source, licence."),
    ] = None,
    only: Annotated[
        Path | None,
        typer.Option(help="Use only the documents that this file lists (see nikawa rank)."),
    ] = None,
    field: TextField = "text",
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the files, if it cannot be detected.")
    ] = None,
    removed: Annotated[
        Path | None, typer.Option(help="Write the removed sentences, with reasons, to this file.")
    ] = None,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Split texts into sentences, remove noise and personal data, and report the effect of each step."""
    from nikawa.cleaning import Settings
    from nikawa.cleaning.job import CleanOptions, ReadOptions
    from nikawa.cleaning.toxicity import command_scorer
    from nikawa.cleaning.toxicity_models import names_model
    from nikawa.cleaning.toxicity_review import ToxicityOptions
    from nikawa.errors import BadInput
    from nikawa.io.growing import is_unfinished
    from nikawa.io.processes import hide_arguments
    from nikawa.models.secrets import find_secrets

    if not texts:
        return list_steps(json)
    if out is None:
        raise BadInput("the output file is missing", cure="pass --out candidates.jsonl")
    model_settings = {name: parse_value(text) for name, text in map(parse_setting, settings or ())}
    hide_arguments(find_secrets(model_settings))
    if base_url:
        model_settings["base_url"] = base_url
    is_model = toxicity is not None and names_model(toxicity)
    if toxicity is not None and not is_model and (model_settings or max_cost is not None):
        what = "a command takes no settings of a model"
        raise BadInput(what, cure="leave out --set, --base-url and --max-cost")
    review = ToxicityOptions(
        model=toxicity if toxicity is not None and is_model else "",
        settings=model_settings,
        labels=tuple(toxic_label or ("toxic",)),
        threshold=toxic,
        judged=judged,
        min_recall=min_recall,
        decided=decided,
        flagged=flagged,
        max_cost=max_cost,
        allow_remote=allow_remote,
    )
    step_settings = Settings(
        language=language,
        min_length=min_length,
        max_length=max_length,
        max_other=max_other,
        min_own=min_own,
        pii=parse_pii(pii),
        similar=similar,
        window=window,
        toxic=0.5 if toxic is None else toxic,
    )
    reading = ReadOptions(
        encoding=encoding, field=field, licence=licence, source=source, sources=sources, only=only
    )
    chosen = CleanOptions(
        settings=step_settings,
        steps=tuple(split_list(steps)) if steps is not None else None,
        without=tuple(split_list(without)),
        reading=reading,
        removed=removed,
        workers=workers,
        executor=executor,
        address=address,
        overwrite=overwrite,
        shards=shards,
        toxicity=review,
    )
    with (
        explain_interrupt(lambda: out is not None and is_unfinished(out)),
        progress_bar("cleaning, characters", quiet or json) as bar,
    ):
        report = api.clean(
            texts,
            out,
            options=chosen,
            scorer=command_scorer(toxicity) if toxicity is not None and not is_model else None,
            on_progress=lambda documents, characters: bar.update(characters),
        )
    if json:
        print_json(report)
    elif not quiet:
        show(report)
        echo(f"Written to {out}" + (f", removed to {removed}" if removed else ""))
    return None


def parse_pii(text: str) -> Literal["drop", "replace"]:
    """Parse `--pii`: drop or replace."""
    from nikawa.errors import unknown

    if text == "drop":
        return "drop"
    if text == "replace":
        return "replace"
    raise unknown("way with personal data", text, ("drop", "replace"))


def show(report: CleanReport) -> None:
    """Print the counts of each step, then the total."""
    rows = [
        (s.step, s.title, s.changed, s.removed, s.examples[0] if s.examples else "")
        for s in report.steps
    ]
    print_table(
        ("step", "what", "changed", "removed", "first example"),
        rows,
        numbers=("changed", "removed"),
    )
    for file in report.files:
        echo(f"{file.path}: {file.language}, {file.encoding}")
    skipped = f", {report.unselected:,} not selected" if report.unselected else ""
    echo(
        f"Read {report.documents:,} documents, {report.characters:,} characters{skipped}. "
        f"Of {report.sentences:,} sentences {report.kept:,} were kept"
    )
    if report.toxicity is not None:
        show_toxicity(report.toxicity)


def show_toxicity(review: ToxicityReport) -> None:
    """Print the threshold, and what waits for a decision."""
    from nikawa.cleaning.toxicity_threshold import describe_threshold

    for line in describe_threshold(review.threshold):
        echo(line)
    if review.decided:
        echo(f"{review.decided:,} decisions, {review.decided_toxic:,} of them toxic")
    if review.flagged:
        echo(
            f"{review.flagged:,} sentences wait for a decision: nikawa collect new review --examples {review.sheet}"
        )


def list_steps(json: bool) -> None:
    """Print the cleaning steps in order."""
    from nikawa.cleaning import steps

    rows: list[dict[str, Any]] = [
        {"step": step.name, "what": step.title, "personal data": step.pii}
        for step in steps().values()
    ]
    if json:
        return print_json(rows)
    return print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
