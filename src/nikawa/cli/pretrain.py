"""`nikawa pretrain`: train your own encoder from raw text.

There are four stages: clean the text, learn a vocabulary, pack, train. Each stage is stored in `work/`
inside the output folder, and the same command resumes after the last finished stage.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from nikawa.cli.terminal.options import (
    ClusterAddress,
    Data,
    ExecutorName,
    Json,
    Processes,
    Quiet,
    TextField,
    complete_from,
)
from nikawa.cli.terminal.output import echo, format_count, print_json, print_table, progress

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from nikawa.pretrain.coverage import CoverageReport
    from nikawa.pretrain.job import PretrainReport
    from nikawa.pretrain.prepare import CorpusReport

PANEL = "Evaluate"
EXAMPLE = (
    "Example: nikawa pretrain corpus.txt --language ja --size mini --minutes 8 --out my-encoder"
)


MIN_DOCUMENTS_TO_REDRAW = 20
"""Documents from which another seed would probably hold some out."""
SECONDS_BETWEEN_LINES = 10.0
"""Seconds between progress lines if there is no terminal."""


def pretrain(
    corpus: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Text files, folders of text files, or a folder of prepared text: .txt (one paragraph per line, blank lines between documents) or .jsonl, also as .gz, .zst or .xz. Without files, --out must contain earlier stages."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the encoder; its work/ stores the stages."),
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
    objective: Annotated[
        str,
        typer.Option(
            help="masked (an encoder) or causal (a language model for --model lm:FOLDER).",
            autocompletion=complete_from("masked", "causal"),
        ),
    ] = "masked",
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
            help="Size of the vocabulary in sub-words; 0: 16,000, or at most 8,000 characters.",
            min=0,
            max=1 << 20,
        ),
    ] = 0,
    steps: Annotated[int, typer.Option(help="Training steps.", min=0)] = 0,
    minutes: Annotated[
        float,
        typer.Option(
            help="Instead of --steps: train for this many minutes, counted from the start of the training.",
            min=0,
        ),
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(help="Seed for the held-out documents and the initial weights.", min=0),
    ] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    batch: Annotated[
        int, typer.Option(help="Tokens per step; 0: 65,536 on a GPU, 2,048 on a CPU.", min=0)
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            help="CPU threads for training; 0: one per core. The same number gives the same weights.",
            min=0,
            max=1024,
        ),
    ] = 0,
    only: Annotated[
        str,
        typer.Option(
            help="Stop after this stage: text, vocabulary or pack.",
            autocompletion=complete_from("text", "vocabulary", "pack"),
        ),
    ] = "",
    segmenter: Annotated[
        str,
        typer.Option(help="The morphological analyser; using the encoder does not need it."),
    ] = "",
    sample: Annotated[
        int | None, typer.Option(help="Number of characters to learn sub-words from.", min=1000)
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="A dataset or text file whose texts must not be in the corpus, in addition to all installed benchmarks; may be repeated."
        ),
    ] = None,
    field: TextField = "text",
    sources: Annotated[
        Path | None,
        typer.Option(help="A table of where documents begin: first line (from 0), lines, source."),
    ] = None,
    attribution: Annotated[
        Path | None,
        typer.Option(help="A file that names the sources and licences of the text, for the card."),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the encoder, for the card.")] = "",
    name: Annotated[
        str,
        typer.Option(help="Name of the encoder, for the card; default: the name of the folder."),
    ] = "",
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Accept text in another language.")
    ] = False,
    squeeze: Annotated[
        bool,
        typer.Option(
            "--squeeze",
            help="Compress packed text as far as possible, to move it to another machine.",
        ),
    ] = False,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace output that was made with other settings.")
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small Japanese or Korean encoder or language model: clean text, learn a vocabulary, pack, train. Resumes after an interruption."""
    from nikawa.errors import BadInput
    from nikawa.pretrain.job import PretrainOptions
    from nikawa.pretrain.job import pretrain as run
    from nikawa.pretrain.vocabulary import SAMPLE_CHARS

    if out is None:
        raise BadInput("the output folder is missing", cure="pass --out my-encoder")
    if not language:
        raise BadInput("the language is missing", cure="pass --language ja or --language ko")
    options = PretrainOptions(
        language=language,
        size=size,
        objective=objective,
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
        sample=SAMPLE_CHARS if sample is None else sample,
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
        executor=executor,
        address=address,
        overwrite=overwrite,
    )
    try:
        with ProgressReporter(quiet or json) as reporter:
            report = run(
                corpus or [],
                out,
                options,
                reporter.on_progress,
                reporter.on_stage,
                reporter.print_line,
            )
    except KeyboardInterrupt as stop:
        reason = str(stop) or "stopped; finished stages are kept; run the same command to resume"
        echo(f"nikawa: {reason}", err=True)
        raise typer.Exit(130) from None
    if json:
        print_json(report)
    elif not quiet:
        echo(f"Written to {report.out}")


class ProgressReporter:
    """Show a bar on a terminal, or regular lines on stderr; print reports and notes on stdout.

    Prints nothing when quiet.
    """

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._what, self._done, self._total = "", 0, None  # type: tuple[str, int, int | None]
        self._began, self._from = time.monotonic(), 0
        self._task: Any = None
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._shown: AbstractContextManager[Any] = progress(self.quiet)
        self._bar = self._shown.__enter__()
        self._task = self._bar.add_task("pre-training", total=None)
        if not (self.quiet or sys.stderr.isatty()):
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._over.set()
        self._shown.__exit__(*problem)

    def on_progress(self, what: str, done: int, total: int | None) -> None:
        """Update the progress of a stage; a new stage starts a new bar, with its own speed."""
        other = what.partition(",")[0] != self._what.partition(",")[0]
        if other or done < self._done:  # a new bar with its own speed
            self._began, self._from = time.monotonic(), done
            self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total)
        self._what, self._done, self._total = what, done, total
        self._bar.update(self._task, description=what, completed=done, total=total)

    def _print_lines(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LINES):
            echo(self.format_line(), err=True)

    def format_line(self) -> str:
        """Describe the progress and the remaining time."""
        what, done, total = self._what or "starting", self._done, self._total
        spent = time.monotonic() - self._began
        far = f": {done:,} of {total:,}" if total else f": {done:,}" if done else ""
        made = done - self._from
        left = (
            f"{_clock(spent * (total - done) / made)} left"
            if total and made > 0
            else f"for {_clock(spent)}"
        )
        return f"{what}{far}, {left}"

    def print_line(self, line: str) -> None:
        """Print a line that stays above the bar."""
        self._print(lambda: echo(line))

    def on_stage(self, stage: str, report: PretrainReport) -> None:
        """Print the result of a stage."""
        self._print(lambda: show_stage(stage, report))

    def _print(self, show: Any) -> None:
        if self.quiet:
            return
        self._bar.stop()  # a started bar would also redirect standard output
        show()
        sys.stdout.flush()
        self._bar.start()


def _clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def show_stage(stage: str, report: PretrainReport) -> None:
    """Print the counts of a finished stage."""
    import msgspec

    from nikawa.pretrain.stages import PackCounts

    if stage == "text" and report.text is not None:
        show_text(report.text)
    if stage == "vocabulary" and report.vocabulary is not None and report.coverage is not None:
        v = report.vocabulary
        echo(
            f"Vocabulary: {v.size:,} sub-words ({v.tokenizer}), including {v.alphabet:,} characters"
        )
        if v.crowded:
            echo(
                f"No room for {format_count(v.crowded, 'character')} more that occur {v.floor} times or more: they are encoded as bytes; "
                f"--vocabulary {v.size_for_all} has room for all"
            )
        show_coverage(report.coverage)
    if stage == "pack" and report.pack is not None:
        for name, about in report.pack.items():
            counts = msgspec.convert(about, PackCounts)
            tokens, words = counts.pieces, counts.words
            echo(f"Packed {name}: {tokens:,} tokens, {words:,} words")
    if stage == "model" and report.model is not None:
        echo(
            f"Trained {report.model['parameters']:,} parameters in {format_count(report.model['steps'], 'step')}, {report.model['seconds']:.0f} s, "
            f"{report.model['pieces_a_second']:,} tokens per second on {report.model['device']}"
        )
        if report.model.get("heldout") is not None:
            kind = "next" if report.model["settings"].get("objective") == "causal" else "masked"
            echo(
                f"Held-out loss {report.model['heldout']:.3f} (token frequencies alone: {report.model['unigram']:.3f}), "
                f"{kind} tokens predicted correctly {report.model['accuracy']:.1%}"
            )
        else:
            echo("No loss on held-out text: there is too little or no held-out text")
        for note in report.model.get("notes", ()):
            echo(f"Note: {note}")


def show_text(text: CorpusReport) -> None:
    """Print what the preparation of the text kept, replaced and removed."""
    for file in text.files:
        if file.broken:
            more = "" if len(file.broken_at) == file.broken else ", …"
            echo(
                f"{format_count(file.broken, 'broken line')} dropped: {', '.join(file.broken_at)}{more}"
            )
        if file.cut:
            echo(f"{file.file}: {file.cut:,} cuts in lines that were too long")
        if file.outside:
            lines = f"{format_count(file.outside, 'line')} of text in no row of {text.sources}"
            echo(f"{file.file}: {lines}, treated as part of the previous document")
    rows = [
        (step, text.changed.get(step, 0), text.removed.get(step, 0))
        for step in sorted({*text.changed, *text.removed})
    ]
    if rows:
        print_table(
            ("step", "lines changed", "lines removed"),
            rows,
            numbers=("lines changed", "lines removed"),
        )
    met = [
        (b.benchmark, b.texts, b.lines, b.examples, ", ".join(b.ids[:3])) for b in text.benchmarks
    ]
    if met:
        columns = ("benchmark", "texts", "lines removed", "examples met", "first")
        print_table(columns, met, numbers=columns[1:4])
    for part, size in (("Text", text.train), ("Held out", text.heldout)):
        echo(
            f"{part}: {format_count(size.documents, 'document')}, {format_count(size.lines, 'line')}, {format_count(size.characters, 'character')}"
        )
    if not text.heldout.lines:
        many = text.train.documents >= MIN_DOCUMENTS_TO_REDRAW
        cure = (
            "pass another --seed"
            if many
            else "separate documents by blank lines, or pass more text"
        )
        echo(
            f"No document of {format_count(text.train.documents, 'document')} was held out, so there is no loss on "
            f"unseen text: {cure}"
        )


def show_coverage(covered: CoverageReport) -> None:
    """Print how well the vocabulary fits each set of texts."""
    columns = (
        "texts",
        "characters",
        "tokens per character",
        "unknown",
        "in bytes",
        "exact",
        "crossing",
    )
    rows: list[tuple[Any, ...]] = [
        (
            c.texts,
            c.characters,
            f"{c.pieces_a_character:.3f}",
            f"{c.unknown:.4%}",
            f"{c.in_bytes:.4%}",
            f"{c.exact:.2%}",
            "" if c.crossing is None else f"{c.crossing:.1%}",
        )
        for c in covered.sets
    ]
    print_table(columns, rows, numbers=columns[1:])
    words = [piece for piece in covered.longest if len(piece.removeprefix("▁")) > 1]
    echo(
        f"Longest sub-words: {' '.join(words)}"
        if words
        else "No sub-word is longer than a character"
    )
