"""`nikawa pretrain`: an encoder of one's own from raw text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli._pretrain_show import Teller
from nikawa.cli._show import Data, Json, Quiet, complete_from, print_json

if TYPE_CHECKING:
    from nikawa.pretrain.job import Choices, Report

PANEL = "Evaluate"
EXAMPLE = (
    "Example: nikawa pretrain corpus.txt --language ja --size mini --minutes 8 --out my-encoder"
)


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command("pretrain", rich_help_panel=PANEL, epilog=EXAMPLE)(pretrain)


def pretrain(
    corpus: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Text files, folders of them, or a folder of prepared text: .txt (a paragraph a line, a blank line between documents), .jsonl; .gz, .zst, .xz too. Without one, --out must hold earlier stages."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the encoder; its stages are kept in work/ inside."),
    ] = None,
    language: Annotated[
        str, typer.Option(help="ja or ko.", autocompletion=complete_from("ja", "ko"))
    ] = "",
    size: Annotated[
        str,
        typer.Option(
            help="tiny, mini or small.", autocompletion=complete_from("tiny", "mini", "small")
        ),
    ] = "mini",
    tokenizer: Annotated[
        str,
        typer.Option(
            help="characters, subwords or morphemes.",
            autocompletion=complete_from("characters", "subwords", "morphemes"),
        ),
    ] = "morphemes",
    vocabulary: Annotated[
        int,
        typer.Option(
            help="Pieces of the vocabulary; 0: 16,000, of characters 8,000 at most.",
            min=0,
            max=1 << 20,
        ),
    ] = 0,
    steps: Annotated[int, typer.Option(help="Steps of training.", min=0)] = 0,
    minutes: Annotated[
        float,
        typer.Option(
            help="Instead: as many steps as fit into so many minutes, which count from the training's start.",
            min=0,
        ),
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(help="Another seed holds out other documents and draws other weights.", min=0),
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    batch: Annotated[
        int, typer.Option(help="Pieces a step; 0: 65,536 on a card, 2,048 on a processor.", min=0)
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            help="Threads of the processor while training, fewer beside other work; 0: a thread a core. Weights are the same for the same number.",
            min=0,
            max=1024,
        ),
    ] = 0,
    only: Annotated[
        str,
        typer.Option(
            help="End after this stage: text, vocabulary or pack.",
            autocompletion=complete_from("text", "vocabulary", "pack"),
        ),
    ] = "",
    segmenter: Annotated[
        str,
        typer.Option(help="The analyser that tells morphemes; never needed to use the encoder."),
    ] = "",
    sample: Annotated[
        int | None, typer.Option(help="Characters that sub-words are learned from.", min=1000)
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="A dataset or text file whose texts must not be in the corpus, beside all benchmarks at hand; may be repeated."
        ),
    ] = None,
    field: Annotated[
        str, typer.Option(help="The field of JSON lines that holds the text.")
    ] = "text",
    sources: Annotated[
        Path | None,
        typer.Option(
            help="A table of first line (from 0), lines and source: where documents begin."
        ),
    ] = None,
    attribution: Annotated[
        Path | None,
        typer.Option(help="A file that names the sources and licences of the text, for the card."),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the encoder, for the card.")] = "",
    name: Annotated[
        str, typer.Option(help="Its name, for the card; else that of the folder.")
    ] = "",
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Take text in another language too.")
    ] = False,
    squeeze: Annotated[
        bool,
        typer.Option(
            "--squeeze", help="Store packed text as small as it gets, to be carried elsewhere."
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option(help="Processes; the result is the same for any number.", min=1)
    ] = 1,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what was made with other settings.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small Japanese or Korean encoder: clean text, learn a vocabulary, pack, train. Goes on where it was killed."""
    from nikawa.errors import BadInput
    from nikawa.pretrain.job import Choices
    from nikawa.pretrain.vocabulary import SAMPLE

    if out is None:
        raise BadInput("nowhere to write to", cure="say --out my-encoder")
    if not language:
        raise BadInput("no language was named", cure="say --language ja or --language ko")
    choices = Choices(
        language=language,
        size=size,
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        steps=steps,
        minutes=minutes,
        seed=seed,
        device=device,
        batch=batch,
        threads=threads,
        only=only,
        segmenter=segmenter,
        sample=SAMPLE if sample is None else sample,
        against=tuple(against or ()),
        data=data,
        field=field,
        sources=sources,
        attribution=attribution,
        licence=licence,
        name=name,
        any_language=any_language,
        squeeze=squeeze,
        workers=workers,
        overwrite=overwrite,
    )
    report = _run(corpus or [], out, choices, quiet or json)
    if json:
        print_json(report)
    elif not quiet:
        typer.echo(f"Written to {report.out}")


def _run(corpus: list[Path], out: Path, choices: Choices, quiet: bool) -> Report:
    from nikawa.pretrain.job import pretrain as run

    try:
        with Teller(quiet) as teller:
            return run(corpus, out, choices, teller.news, teller.staged, teller.say)
    except KeyboardInterrupt as stop:
        said = str(stop) or "stopped; what is finished is kept, and the same command goes on"
        typer.echo(f"nikawa: {said}", err=True)
        raise typer.Exit(130) from None
