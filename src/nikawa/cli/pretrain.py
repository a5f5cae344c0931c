"""`nikawa pretrain`: an encoder of one's own from raw text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli._show import Data, Json, Quiet, complete_from, print_json, print_table, progress

if TYPE_CHECKING:
    from nikawa.jobs.pretrain import Choices, Report
    from nikawa.pretrain.coverage import CoverageReport
    from nikawa.pretrain.report import CorpusReport

PANEL = "Evaluate"
EXAMPLE = "Example: nikawa pretrain corpus.txt --language ja --size mini --minutes 8 --out my-encoder"


def register(app: typer.Typer) -> None:
    """Attach the verb."""
    app.command("pretrain", rich_help_panel=PANEL, epilog=EXAMPLE)(pretrain)


def pretrain(
    corpus: Annotated[list[Path] | None, typer.Argument(help="Text files, folders of them, or a folder of prepared text: .txt (a paragraph a line, a blank line between documents), .jsonl; .gz, .zst, .xz too. Without one, --out must hold earlier stages.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the encoder; its stages are kept in work/ inside.")] = None,
    language: Annotated[str, typer.Option(help="ja or ko.", autocompletion=complete_from("ja", "ko"))] = "",
    size: Annotated[str, typer.Option(help="tiny, mini or small.", autocompletion=complete_from("tiny", "mini", "small"))] = "mini",
    tokenizer: Annotated[str, typer.Option(help="characters, subwords or morphemes.", autocompletion=complete_from("characters", "subwords", "morphemes"))] = "morphemes",
    vocabulary: Annotated[int, typer.Option(help="Pieces of the vocabulary; 0: 16,000, of characters 8,000 at most.", min=0, max=1 << 20)] = 0,
    steps: Annotated[int, typer.Option(help="Steps of training.", min=0)] = 0,
    minutes: Annotated[float, typer.Option(help="Instead: as many steps as fit into so many minutes.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Another seed holds out other documents and draws other weights.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    batch: Annotated[int, typer.Option(help="Pieces a step; fewer where memory or time is short; 0: 65,536.", min=0)] = 0,
    only: Annotated[str, typer.Option(help="End after this stage: text, vocabulary or pack.", autocompletion=complete_from("text", "vocabulary", "pack"))] = "",
    segmenter: Annotated[str, typer.Option(help="The analyser that tells morphemes; never needed to use the encoder.")] = "",
    sample: Annotated[int | None, typer.Option(help="Characters that sub-words are learned from.", min=1000)] = None,
    against: Annotated[list[str] | None, typer.Option(help="A dataset or text file whose texts must not be in the corpus, beside all benchmarks at hand; may be repeated.")] = None,
    field: Annotated[str, typer.Option(help="The field of JSON lines that holds the text.")] = "text",
    sources: Annotated[Path | None, typer.Option(help="A table of first line (from 0), lines and source: where documents begin.")] = None,
    attribution: Annotated[Path | None, typer.Option(help="A file that names the sources and licences of the text, for the card.")] = None,
    licence: Annotated[str, typer.Option(help="Licence of the encoder, for the card.")] = "",
    name: Annotated[str, typer.Option(help="Its name, for the card; else that of the folder.")] = "",
    any_language: Annotated[bool, typer.Option("--any-language", help="Take text in another language too.")] = False,
    squeeze: Annotated[bool, typer.Option("--squeeze", help="Store packed text as small as it gets, to be carried elsewhere.")] = False,
    workers: Annotated[int, typer.Option(help="Processes; the result is the same for any number.", min=1)] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what was made with other settings.")] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Train a small Japanese or Korean encoder: clean text, learn a vocabulary, pack, train. Goes on where it was killed."""
    from nikawa.errors import BadInput
    from nikawa.jobs.pretrain import Choices
    from nikawa.pretrain.vocabulary import SAMPLE

    if out is None:
        raise BadInput("nowhere to write to", cure="say --out my-encoder")
    if not language:
        raise BadInput("no language was named", cure="say --language ja or --language ko")
    choices = Choices(
        language=language, size=size, tokenizer=tokenizer, vocabulary=vocabulary, steps=steps, minutes=minutes,
        seed=seed, device=device, batch=batch, only=only, segmenter=segmenter, sample=SAMPLE if sample is None else sample,
        against=tuple(against or ()), data=data, field=field, sources=sources, attribution=attribution,
        licence=licence, name=name, any_language=any_language, squeeze=squeeze, workers=workers, overwrite=overwrite,
    )  # fmt: skip
    report = _run(corpus or [], out, choices, quiet or json)
    if json:
        print_json(report)
    elif not quiet:
        show(report)


def _run(corpus: list[Path], out: Path, choices: Choices, quiet: bool) -> Report:
    from nikawa.jobs.pretrain import pretrain as run

    with progress(quiet) as bar:
        task = bar.add_task("pre-training", total=None)

        def news(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=what, completed=done, total=total)

        return run(corpus, out, choices, news)


def show(report: Report) -> None:
    """The counts of each stage that was reached."""
    if report.text is not None:
        _show_text(report.text)
    if report.vocabulary is not None and report.coverage is not None:
        v = report.vocabulary
        typer.echo(f"Vocabulary: {v.size:,} pieces ({v.tokenizer}), {v.alphabet:,} characters among them")
        _show_coverage(report.coverage)
    if report.pack is not None:
        for name, about in report.pack.items():
            typer.echo(f"Packed {name}: {about['pieces']:,} pieces, {about['words']:,} words")
    if report.model is not None:
        _show_model(report.model)
    typer.echo(f"Written to {report.out}")


def _show_text(text: CorpusReport) -> None:
    for file in text.files:
        if file.broken:
            more = "" if len(file.broken_at) == file.broken else ", …"
            typer.echo(f"{_counted(file.broken, 'broken line')} dropped: {', '.join(file.broken_at)}{more}")
        if file.cut:
            typer.echo(f"{file.file}: lines too long were cut at {file.cut:,} places")
    rows = [(step, text.changed.get(step, 0), text.removed.get(step, 0)) for step in sorted({*text.changed, *text.removed})]  # fmt: skip
    print_table(("step", "lines changed", "lines removed"), rows, numbers=("lines changed", "lines removed"))
    met = [(b.benchmark, b.texts, b.lines, b.examples, ", ".join(b.ids[:3])) for b in text.benchmarks]
    if met:
        columns = ("benchmark", "texts", "lines removed", "examples met", "first")
        print_table(columns, met, numbers=columns[1:4])
    for part, size in (("Text", text.train), ("Held out", text.heldout)):
        typer.echo(
            f"{part}: {_counted(size.documents, 'document')}, {_counted(size.lines, 'line')}, {_counted(size.characters, 'character')}"
        )
    if not text.heldout.lines:
        typer.echo(
            f"Nothing was held out of {_counted(text.train.documents, 'document')}, so no loss can be measured on "
            "unseen text: part documents by blank lines, or name more text"
        )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show_coverage(covered: CoverageReport) -> None:
    columns = ("texts", "characters", "pieces a character", "unknown", "in bytes", "exact", "crossing")
    rows: list[tuple[Any, ...]] = [
        (
            c.texts, c.characters, f"{c.pieces_a_character:.3f}", f"{c.unknown:.4%}", f"{c.in_bytes:.4%}",
            f"{c.exact:.2%}", "" if c.crossing is None else f"{c.crossing:.1%}",
        )
        for c in covered.sets
    ]  # fmt: skip
    print_table(columns, rows, numbers=columns[1:])
    typer.echo(f"Longest pieces: {' '.join(covered.longest)}")


def _show_model(model: dict[str, Any]) -> None:
    typer.echo(
        f"Trained {model['parameters']:,} parameters in {model['steps']:,} steps, {model['seconds']:.0f} s, "
        f"{model['pieces_a_second']:,} pieces a second on {model['device']}"
    )
    if model.get("heldout") is not None:
        typer.echo(
            f"Held-out loss {model['heldout']:.3f} (piece frequencies alone: {model['unigram']:.3f}), "
            f"masked pieces guessed right {model['accuracy']:.1%}"
        )
    else:
        typer.echo("No loss on held-out text: too little of it, or none")
    for note in model.get("notes", ()):
        typer.echo(f"Note: {note}")
