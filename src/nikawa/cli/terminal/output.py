"""Print results: aligned tables on a terminal, JSON for programs, nothing when quiet.

Commands print only with `echo`, `print_table`, `console` and `print_json`. Each escapes invisible characters
(`nikawa.printable`), so that names and texts from files cannot control a terminal, reorder a line or style it; Rich's markup
is off. JSON uses JSON escapes, so its value stays the same. Files are written elsewhere, without escapes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from nikawa.printable import (
    printable,
    printable_json,
    printable_line,
    printable_streams,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.text import Text

    from nikawa.io.answers.base import ShownReading

R = TypeVar("R")

UNFOLDED_WIDTH = 100_000
"""Width of a line that is never wrapped."""


MAX_CELL_CHARS = 1000
"""Maximum characters of a table cell; `--json` has all of them."""


def console(stderr: bool = False) -> Console:
    """Return a console that wraps at the terminal's width, and does not wrap in a file or a pipe.

    Text is plain: no markup, no emoji names, and escapes for invisible characters. Code that lays out cells
    escapes them first with `show_text`, because an escape is wider than its character.
    """
    stream = sys.stderr if stderr else sys.stdout
    folds = stream.isatty() or "FORCE_COLOR" in os.environ
    return _console_class()(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if folds else UNFOLDED_WIDTH,
    )


@cache
def _console_class() -> type[Console]:
    """Return the class of `console`, created on first use because Rich is slow to import."""
    from rich.console import Console
    from rich.segment import Segment

    class PrintableConsole(Console):
        """A console whose text has no control characters except Rich's."""

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else printable(segment.text, "\n")
                yield segment if text is segment.text else Segment(text, segment.style)

    return PrintableConsole


def echo(line: str = "", *, err: bool = False, whole: bool = False) -> None:
    """Print one printable line of bounded length; `whole` prints a complete text of several lines."""
    typer.echo(printable(line, "\n\t") if whole else printable_line(line, keep="\t"), err=err)


def show_text(value: str | Text, keep: str = "") -> Text:
    """Return text for layout, with escapes for invisible characters; styles inside stay in place."""
    from rich.text import Text

    if isinstance(value, str):
        return Text(printable(value, keep))
    if printable(value.plain, keep) == value.plain:
        return value
    shown = Text(style=value.style)
    for part in value.divide(span.start for span in value.spans):
        styles = [span.style for span in part.spans]
        shown.append(printable(part.plain, keep), style=styles[0] if styles else None)
    return shown


def print_json(value: Any) -> None:
    """Print a value as indented JSON; only invisible characters are escaped."""
    import msgspec

    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of a file that is not UTF-8, which JSON cannot represent
        encoded = msgspec.json.encode(_escape_texts(msgspec.to_builtins(value)))
    text = msgspec.json.format(encoded, indent=2).decode()
    sys.stdout.buffer.write(printable_json(text).encode() + b"\n")


def _escape_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {_escape_texts(key): _escape_texts(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_texts(part) for part in value]
    return printable(value) if isinstance(value, str) else value


def print_result(report: R, show: Callable[[R], None], *, json: bool, quiet: bool) -> None:
    """Print the result of a command as `--json` and `--quiet` require.

    `json` prints the report itself, also with `quiet`; `quiet` alone prints nothing; otherwise `show` prints
    it for people.
    """
    if json:
        print_json(report)
    elif not quiet:
        show(report)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    numbers: Sequence[str] = (),
) -> None:
    """Print an aligned table; columns named in `numbers` are right-aligned.

    Full-width text is aligned. On a narrow terminal, words wrap and numbers do not; columns that do
    not fit are printed in another table below.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    screen = console()
    cells = [
        [show_text(cell) if isinstance(cell, Text) else Text(_cell(cell)) for cell in row]
        for row in rows
    ]
    names, title = [printable_line(name, MAX_CELL_CHARS) for name in columns], printable_line(title)
    for short in (row for row in cells if len(row) < len(columns)):
        short.extend([Text()] * (len(columns) - len(short)))
    parts: list[dict[int, int]] = [dict.fromkeys(range(len(columns)), UNFOLDED_WIDTH)]
    if screen.width < UNFOLDED_WIDTH and columns:
        parts = _fit_columns(names, [[cell.plain for cell in row] for row in cells], screen.width)
    for number, part in enumerate(parts):
        name = title if not number else ""
        table = Table(title=name or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
        for i, width in part.items():
            justify: Any = "right" if columns[i] in numbers else "left"
            table.add_column(fold_cell(Text(names[i]), width), justify=justify, overflow="fold")
        for row in cells:
            table.add_row(*(fold_cell(row[i], width) for i, width in part.items()))
        screen.print(table)


MAX_READINGS_PRINTED = 20
"""Readings to show on a terminal; --json has more."""


def print_readings(readings: Sequence[ShownReading], title: str = "") -> None:
    """Print how answers were read, unreadable ones first."""
    ordered = sorted(readings, key=lambda each: each.why is None)
    rows = [
        (
            each.example,
            each.text,
            "unreadable" if each.reading is None else each.reading,
            each.pattern if each.why is None else each.why,
        )
        for each in ordered[:MAX_READINGS_PRINTED]
    ]
    print_table(("id", "text", "reading", "pattern or reason"), rows, title=title)
    if len(ordered) > len(rows):
        echo(f"and {len(ordered) - len(rows):,} more readings (--json has them)")


def fold_cell(cell: Text, width: int) -> Text:
    """Wrap a cell at this width; the table wraps a styled cell itself."""
    from rich.text import Text

    if width >= UNFOLDED_WIDTH or cell.spans:
        return cell
    return Text(fold_text(cell.plain, width), style=cell.style)


def print_rendered(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    notation: str,
    *,
    numbers: Sequence[str] = (),
) -> None:
    """Print a table as Markdown, LaTeX or CSV, for pasting or piping.

    Raises UnknownName for another notation.
    """
    from nikawa.errors import unknown
    from nikawa.reporting.tables import NOTATIONS, TextTable

    if notation not in NOTATIONS:
        raise unknown("notation", notation, NOTATIONS)
    echo(TextTable(columns, list(rows), numbers).render(notation), whole=True)


def format_number(value: float | None, digits: int = 3, missing: str = "") -> str:
    """Format a figure with this many decimals, or `missing` for None."""
    return missing if value is None else f"{value:.{digits}f}"


def format_interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format an interval for people; empty if none was computed.

    >>> format_interval(0.7123, 0.754)
    '0.712 to 0.754'
    """
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def name_first(names: Sequence[str], most: int) -> str:
    """Join the first names of a list, and append how many more there are.

    >>> name_first(["a", "b", "c", "d", "e"], 2)
    'a, b … +3'
    """
    more = f" … +{len(names) - most:,}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


MAX_RUNS_NAMED = 3


def name_runs(folders: Sequence[str]) -> str:
    """Join the first of the folders of runs, and append how many there are.

    >>> name_runs(["a", "b", "c", "d"])
    'a, b, c, … (4 runs)'
    """
    more = ", …" if len(folders) > MAX_RUNS_NAMED else ""
    names = ", ".join(folders[:MAX_RUNS_NAMED])
    return f"{names}{more} ({format_count(len(folders), 'run')})"


def format_count(n: int, noun: str) -> str:
    """Format a number with its noun.

    >>> format_count(1, "template"), format_count(2000, "template")
    ('1 template', '2,000 templates')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return f"{value:,}" if isinstance(value, int) else printable_line(str(value), MAX_CELL_CHARS)


def description_column() -> ProgressColumn:
    """Return the title of a bar as plain text, because it may contain names from files."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class DescriptionColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(printable_line(task.description), style="none")

    return DescriptionColumn()


@cache
def _progress_class() -> type[Progress]:
    """Return the class of progress displays, created on first use because Rich is slow to import."""
    from rich.progress import Progress, TimeRemainingColumn

    class NotedProgress(Progress):
        """Bars, and below them a note that has no bar of its own."""

        note = ""

        def show_note(self, note: str, *, tells_time: bool = False) -> None:
            """Replace the note. If it tells how much time is left, the bars stop telling it."""
            self.note = note
            if tells_time:
                self.columns = tuple(
                    column for column in self.columns if not isinstance(column, TimeRemainingColumn)
                )

        def get_renderables(self) -> Iterable[Any]:
            yield from super().get_renderables()
            if self.note:
                line = show_text(self.note)
                line.no_wrap, line.overflow = True, "ellipsis"
                yield line

    return NotedProgress


@contextmanager
def progress(quiet: bool = False) -> Iterator[Any]:
    """Show a progress display on stderr, only on a terminal; it disappears at the end.

    While nodes of a cluster work on chunks, a line below the bars says so.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    columns = (
        description_column(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with (
        _progress_class()(
            *columns,
            console=console(stderr=True),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        ) as bar,
        printable_streams(),  # Rich installs its own streams, which interpret colours in a text
        _show_nodes(bar),
    ):
        yield bar


@contextmanager
def _show_nodes(bar: Any) -> Iterator[None]:
    """Show below the bars how many nodes of a cluster work on chunks, while they do."""
    from nikawa.execute.base import WorkProgress, work_listener

    def show(work: WorkProgress) -> None:
        is_over = work.nodes and not work.under_way
        bar.show_note("" if is_over else f"  {work.describe('chunk')}")

    before = work_listener.set(show)
    try:
        yield
    finally:
        work_listener.reset(before)


class ProgressBar:
    """One bar of a progress display; its methods are `on_progress` callbacks for jobs."""

    def __init__(self, display: Any, what: str) -> None:
        self._display, self._stage = display, what
        self._task = display.add_task(what, total=None)

    def update(self, done: int, total: int | None = None) -> None:
        """Move the bar; without a total, keep the previous total or only count."""
        self._display.update(self._task, completed=done, total=total)

    def update_stage(self, stage: str, done: int, total: int | None) -> None:
        """Move the bar of a job with several stages, and show the current stage."""
        self._display.update(self._task, description=stage, completed=done, total=total)

    def start_stage(self, stage: str, done: int, total: int | None) -> None:
        """Like `update_stage`, with a new estimate of the remaining time for each stage."""
        if stage != self._stage:
            self._display.remove_task(self._task)
            self._task = self._display.add_task(stage, total=total)
            self._stage = stage
        self.update(done, total)


@contextmanager
def explain_interrupt(is_resumable: Callable[[], bool]) -> Iterator[None]:
    """Say after Ctrl+C whether the same command resumes."""
    try:
        yield
    except KeyboardInterrupt:
        left = "run the same command to resume" if is_resumable() else "nothing was written"
        echo(f"nikawa: interrupted; {left}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[ProgressBar]:
    """Show a single bar on stderr for work that reports its progress.

    with progress_bar("tagging mini-ja", quiet or json) as bar:
        report = api.tag("mini-ja", on_progress=bar.update)
    """
    with progress(quiet) as display:
        yield ProgressBar(display, what)


@contextmanager
def status(what: str, quiet: bool = False) -> Iterator[None]:
    """Show a spinner on stderr for work of unknown length; nothing when quiet or not on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(show_text(what)), printable_streams():
        yield


COLUMN_GAP, LINE_MARGIN = 3, 2
"""Spaces between two cells, and at both ends of a line."""
MAX_WHOLE_WORD = 20
"""A word up to this width is never broken; a longer one, such as a path, may be."""
_TOKEN = re.compile(
    "\\s+|[!-~\u00b1\u00d7\u2010-\u2026\uac00-\ud7a3]+|.[\u3001\u3002\u300d\u300f\uff01\uff09\uff1f]*"
)
"""The units that are not broken: spaces, words and numbers, and each kana or kanji with the
punctuation after it."""
_NUMBER = re.compile("[-+~<>=(]*[0-9][-0-9.,%:/()+\u00b1\u00d7\u2010-\u2015]*")


class Column(NamedTuple):
    """The natural and the minimum width of a column."""

    natural: int
    """The widest line of header and cells."""
    least: int
    """The widest word or number that must not be broken."""
    words: bool
    """Whether it contains anything but numbers: such columns shrink first."""


def _measure_column(header: str, cells: Sequence[str], limit: int) -> Column:
    """Measure a column for a terminal of width `limit`."""
    natural = max(
        (_width(line) for text in (header, *cells) for line in text.split("\n")), default=0
    )
    tokens = {token for cell in cells for token in _tokens(cell)}
    heads = max((min(_width(token), MAX_WHOLE_WORD) for token in _tokens(header)), default=1)
    least = max((_whole(token) for token in tokens), default=1)
    words = any(not _NUMBER.fullmatch(token) for token in tokens)
    return Column(min(natural, limit), min(max(least, heads, 1), limit - LINE_MARGIN), words)


def _fit_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], limit: int
) -> list[dict[int, int]]:
    """Divide a table for a terminal of width `limit`: each part is a list of column numbers and their widths."""
    columns = [
        _measure_column(name, [row[i] for row in rows], limit) for i, name in enumerate(header)
    ]
    if (
        sum(column.natural for column in columns) + COLUMN_GAP * (len(columns) - 1) + LINE_MARGIN
        <= limit
    ):
        return [{i: column.natural for i, column in enumerate(columns)}]
    return [
        dict(zip(block, _share_width([columns[i] for i in block], limit), strict=True))
        for block in _split_columns(columns, _count_key_columns(columns, rows, limit), limit)
    ]


def _count_key_columns(columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int) -> int:
    """Return how many of the first columns identify a row and so appear in every block.

    It is 1 if there is no room for more.
    """
    needed = LINE_MARGIN
    for n, column in enumerate(columns, start=1):
        needed += column.least + COLUMN_GAP
        if not column.words or needed > limit * 3 // 4:
            break
        if len({tuple(row[:n]) for row in rows}) == len(rows):
            return n
    return 1


def _split_columns(columns: Sequence[Column], keys: int, limit: int) -> list[list[int]]:
    """Return the columns of each block; the first `keys` columns appear in every block."""
    first = list(range(keys))
    start = LINE_MARGIN + sum(columns[i].least for i in first) + COLUMN_GAP * (keys - 1)
    blocks, taken = [first[:]], start
    for i in range(keys, len(columns)):
        needed = COLUMN_GAP + columns[i].least
        if taken + needed > limit and len(blocks[-1]) > keys:
            blocks.append(first[:])
            taken = start
        blocks[-1].append(i)
        taken += needed
    return blocks


def _share_width(columns: Sequence[Column], limit: int) -> list[int]:
    """Return the width of each column of a block: the widest shrinks first, words before numbers."""
    widths = [column.natural for column in columns]
    excess = sum(widths) + COLUMN_GAP * (len(widths) - 1) + LINE_MARGIN - limit
    for words in (True, False):
        mine = [i for i, column in enumerate(columns) if column.words is words]
        while excess > 0 and (wide := [i for i in mine if widths[i] > columns[i].least]):
            widths[max(wide, key=lambda i: widths[i])] -= 1
            excess -= 1
    return widths


def fold_text(text: str, width: int) -> str:
    """Wrap a text at `width`, between words, kana or kanji, and never inside a number that fits.

    >>> fold_text("0.712 to 0.754", 8)
    '0.712 to\\n0.754'
    """
    return "\n".join(line for part in text.split("\n") for line in _fold_line(part, width))


def _fold_line(text: str, width: int) -> list[str]:
    """Wrap one line of text; a word that is too long is broken."""
    lines, room = [""], width
    for token in _TOKEN.findall(text):
        rest = token
        if _width(rest) > room and lines[-1].strip():
            lines[-1] = lines[-1].rstrip()
            lines.append("")
            room, rest = width, rest.lstrip()
        while _width(rest) > room:  # a word too long for any line
            lines[-1] += rest[:room]
            lines.append("")
            rest, room = rest[room:], width
        lines[-1] += rest
        room -= _width(rest)
    return lines


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token.strip()]


def _whole(token: str) -> int:
    """Return the width of a token."""
    width = _width(token)
    return width if _NUMBER.fullmatch(token) else min(width, MAX_WHOLE_WORD)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


UNDEFINED = "not defined"


def format_data_cell(value: object) -> str:
    """Format a value for CSV: all digits of a number, an empty cell for an undefined value.

    >>> format_data_cell(1 / 3), format_data_cell(float("nan"))
    ('0.3333333333333333', '')
    """
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
