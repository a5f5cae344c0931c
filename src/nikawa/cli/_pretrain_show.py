"""What `nikawa pretrain` says while it runs: how far it is, and what came of each stage when it is done."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import typer

from nikawa.cli._show import print_table, progress

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from nikawa.pretrain.coverage import CoverageReport
    from nikawa.pretrain.job import Report
    from nikawa.pretrain.report import CorpusReport

ENOUGH = 20
"""Documents of which another draw likely holds some out."""
EVERY = 10.0
"""Seconds between two lines where no terminal shows a bar."""


class Teller:
    """A bar on a terminal, else a line every so often on stderr; reports and news on stdout. Silent when quiet."""

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
            threading.Thread(target=self._lines, daemon=True).start()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._over.set()
        self._shown.__exit__(*problem)

    def news(self, what: str, done: int, total: int | None) -> None:
        """How far it is."""
        other = what.partition(",")[0] != self._what.partition(",")[0]
        if other or done < self._done:  # begun anew, with a speed of its own
            self._began, self._from = time.monotonic(), done
            self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total)
        self._what, self._done, self._total = what, done, total
        self._bar.update(self._task, description=what, completed=done, total=total)

    def _lines(self) -> None:
        while not self._over.wait(EVERY):
            typer.echo(self.line(), err=True)

    def line(self) -> str:
        """How far it is, in words."""
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

    def say(self, line: str) -> None:
        """A line to keep."""
        self._print(lambda: typer.echo(line))

    def staged(self, stage: str, report: Report) -> None:
        """What came of a stage."""
        self._print(lambda: show_stage(stage, report))

    def _print(self, show: Any) -> None:
        if self.quiet:
            return
        self._bar.stop()  # it would take standard output along to where it is itself
        show()
        sys.stdout.flush()
        self._bar.start()


def _clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def show_stage(stage: str, report: Report) -> None:
    """The counts of a stage that was reached."""
    if stage == "text" and report.text is not None:
        _show_text(report.text)
    if stage == "vocabulary" and report.vocabulary is not None and report.coverage is not None:
        v = report.vocabulary
        typer.echo(
            f"Vocabulary: {v.size:,} pieces ({v.tokenizer}), {v.alphabet:,} characters among them"
        )
        if v.crowded:
            typer.echo(
                f"No room for {_counted(v.crowded, 'character')} more that occur {v.floor} times or more: spelled in bytes; "
                f"--vocabulary {v.roomy} has room for all"
            )
        _show_coverage(report.coverage)
    if stage == "pack" and report.pack is not None:
        for name, about in report.pack.items():
            typer.echo(f"Packed {name}: {about['pieces']:,} pieces, {about['words']:,} words")
    if stage == "model" and report.model is not None:
        _show_model(report.model)


def _show_text(text: CorpusReport) -> None:
    for file in text.files:
        if file.broken:
            more = "" if len(file.broken_at) == file.broken else ", …"
            typer.echo(
                f"{_counted(file.broken, 'broken line')} dropped: {', '.join(file.broken_at)}{more}"
            )
        if file.cut:
            typer.echo(f"{file.file}: lines too long were cut at {file.cut:,} places")
        if file.outside:
            lines = f"{_counted(file.outside, 'line')} of text in no row of {text.sources}"
            typer.echo(f"{file.file}: {lines}, taken for part of the document before")
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
        typer.echo(
            f"{part}: {_counted(size.documents, 'document')}, {_counted(size.lines, 'line')}, {_counted(size.characters, 'character')}"
        )
    if not text.heldout.lines:
        many = text.train.documents >= ENOUGH
        cure = (
            "another --seed holds out others"
            if many
            else "part documents by blank lines, or name more text"
        )
        typer.echo(
            f"Nothing was held out of {_counted(text.train.documents, 'document')}, so no loss can be measured on "
            f"unseen text: {cure}"
        )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show_coverage(covered: CoverageReport) -> None:
    columns = (
        "texts",
        "characters",
        "pieces a character",
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
    typer.echo(
        f"Longest pieces: {' '.join(words)}" if words else "No piece is longer than a character"
    )


def _show_model(model: dict[str, Any]) -> None:
    typer.echo(
        f"Trained {model['parameters']:,} parameters in {_counted(model['steps'], 'step')}, {model['seconds']:.0f} s, "
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
