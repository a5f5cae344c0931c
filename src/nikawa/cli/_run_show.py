"""How runs are shown: the table of results, the list, the difference of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from nikawa.cli._show import print_rendered, print_table
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

if TYPE_CHECKING:
    from nikawa.runs.job import Cell, RunReport
    from nikawa.runs.manage import Listed, RunDiff

NAMES = ("task", "variation", "set", "metric")
ANSWERED = "answered"
"""Stands for a metric where systems did not answer everything."""
Key = tuple[str, str, str, str, str]
CURES = {
    "too long": "for those too long: fewer shots, a shorter prompt, a smaller max_tokens, or a server with a longer context",
    "length": "for length: raise max_tokens",
    "the file gives no answer": "write the answers that the file lacks",
    "not in the file": "add them to the file; nikawa score --partial scores the others alone",
}
"""What helps where questions were not answered for such a reason."""


def show(report: RunReport, style: str | None, *, main: bool = False) -> None:
    """The table, then what was chosen, left out and not answered; `main`: first metrics of whole sets alone."""
    columns, rows, numbers = table(first_of(report.cells) if main else report.cells)
    if style is not None:
        print_rendered(columns, rows, style, numbers=numbers)
    elif rows:
        print_table(columns, rows, numbers=numbers)
    for line in _notes(report):
        typer.echo(line, err=style is not None)


def _notes(report: RunReport) -> Iterator[str]:
    """What stands below the table; beside it, on stderr, where the table goes into a file."""
    seeds = sorted({len(cell.seeds) for cell in report.cells if cell.sd is not None})
    if seeds:
        yield f"±: standard deviation over {' or '.join(map(str, seeds))} seeds"
    if any(cell.few for cell in report.cells):
        yield f"{NO_INTERVAL}: {TOO_FEW}"
    for chosen in report.chosen:
        words = _said(chosen.settings)
        where = f" ({chosen.variation})" if chosen.variation else ""
        lost = "".join(
            f"; diverged: {_said(_apart(tried, chosen.settings))}" for tried in chosen.diverged
        )
        yield f"{chosen.task} {chosen.model}{where}: {words}, chosen among {chosen.among} on {chosen.on}{lost}"
    yield from _unanswered(report.cells)
    yield from (f"note: {line}" for line in report.notes)
    yield from (f"left out: {line}" for line in report.left_out)
    failed = f", {len(report.problems)} not" if report.problems else ""
    yield f"{report.done} runs done, {report.skipped} done before{failed}: {report.out}"


def _said(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in settings.items()) or "the defaults"


def _apart(tried: Mapping[str, Any], chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings that are not those that were chosen."""
    return {
        name: value for name, value in tried.items() if name not in chosen or chosen[name] != value
    }


def first_of(cells: Sequence[Cell]) -> list[Cell]:
    """The first metric of every task on the whole of each set."""
    first: dict[str, str] = {}
    for cell in cells:
        first.setdefault(cell.task, cell.metric)
    return [cell for cell in cells if cell.metric == first[cell.task] and not cell.where]


def table(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]], list[str]]:
    """Columns, rows and which columns are numbers: a row a figure, a column a model."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    rows = _rows(cells)
    keep = [0, *([1] if any(key[1] for key in rows) else []), 2, 3]
    protocol = any(key[4] for key in rows)
    shown = _short(models)
    columns = [NAMES[i] for i in keep] + shown + ["n"] + (["protocol"] if protocol else [])
    body = [
        [key[i] for i in keep]
        + [_shown(found[m], key[3]) if m in found else "" for m in models]
        + [f"{max(_items(cell, key[3]) for cell in found.values()):,}"]
        + ([key[4]] if protocol else [])
        for key, found in rows.items()
    ]
    return columns, body, [*shown, "n"]


def _rows(cells: Sequence[Cell]) -> dict[Key, dict[str, Cell]]:
    """Row to model to figure; below the metrics of a set that was not answered whole, how much of it was."""
    rows: dict[Key, dict[str, Cell]] = {}
    for cell in cells:
        part = f"{cell.set} {cell.where}".strip()
        rows.setdefault((cell.task, cell.variation, part, cell.metric, cell.protocol), {})[
            cell.model
        ] = cell
    gaps = {(cell.task, cell.variation, cell.set) for cell in cells if cell.unanswered}
    if not gaps:
        return rows
    for cell in cells:
        if (cell.task, cell.variation, cell.set) in gaps:
            key = (cell.task, cell.variation, cell.set, ANSWERED, cell.protocol)
            rows.setdefault(key, {})[cell.model] = cell
    first: dict[tuple[str, ...], int] = {}
    for i, key in enumerate(rows):
        first.setdefault(key[:3], i)
    return {key: rows[key] for key in sorted(rows, key=lambda key: first[key[:3]])}


def _shown(cell: Cell, metric: str) -> str:
    return f"{cell.answered:,} of {cell.asked:,}" if metric == ANSWERED else figure(cell)


def _items(cell: Cell, metric: str) -> int:
    return cell.asked // len(cell.seeds) if metric == ANSWERED else cell.n


def _short(models: Sequence[str]) -> list[str]:
    """Models made from a path by its last part, where that tells them apart."""
    from nikawa.runs.value import short_name

    short = [short_name(model) for model in models]
    return short if len(set(short)) == len(short) else list(models)


def figure(cell: Cell) -> str:
    """Mean and deviation over seeds, or the value with its interval; in percent, also where scorers give fractions."""
    if cell.mean is None:
        return "not defined"
    from nikawa.metrics import metrics

    share = cell.unit == "fraction" and metrics()[cell.metric].scaled
    digits, times = (
        (4, 1.0) if cell.unit == "fraction" and not share else (2, 100.0 if share else 1.0)
    )
    mean = f"{cell.mean * times:.{digits}f}"
    if cell.sd is not None:
        return f"{mean} ± {cell.sd * times:.{digits}f}"
    if cell.low is None or cell.high is None:
        return f"{mean} ({NO_INTERVAL})" if cell.few else mean
    return f"{mean} ({cell.low * times:.{digits}f} to {cell.high * times:.{digits}f})"


def _why(reasons: Mapping[str, int]) -> str:
    """The reasons with their counts, and what to do about those that have a cure."""
    counted = ", ".join(f"{count:,} {kind}" for kind, count in reasons.items())
    cures = "; ".join(CURES[kind] for kind in reasons if kind in CURES)
    return f" ({counted}); {cures or 'scores.json tells why'}"


def _unanswered(cells: Sequence[Cell]) -> list[str]:
    lost = {(c.task, c.model, c.variation, c.set): c for c in cells if c.unanswered and not c.where}
    said = [
        f"{c.task} {c.model} {c.set}: {c.unanswered:,} of {c.asked:,} not answered{_why(c.reasons)}"
        for c in lost.values()
    ]
    kept = {(c.task, c.set): c.hidden for c in cells if c.hidden}
    return said + [
        f"{task} {name}: {n:,} items with hidden labels were answered but not scored"
        for (task, name), n in kept.items()
    ]


def show_list(rows: Sequence[Listed]) -> None:
    """A line a run."""
    columns = (
        "run",
        "task",
        "model",
        "variation",
        "seed",
        "state",
        "set",
        "metric",
        "score",
        "protocol",
    )
    shown = [
        (
            r.run.rpartition("--")[2],
            r.task,
            r.model,
            _words(r),
            r.seed,
            r.state,
            r.set,
            r.metric,
            _score(r),
            r.protocol,
        )
        for r in rows
    ]
    print_table(columns, shown, numbers=("seed", "score"))
    for row in rows:
        if row.problem:
            typer.echo(f"{row.run}: {row.problem}")


def _score(row: Listed) -> str:
    return "" if row.value is None else _number(row.value)


def _words(row: Listed) -> str:
    return ", ".join(
        word for word in (row.variation, "selection" if row.stage == "selection" else "") if word
    )


def show_diff(found: RunDiff) -> None:
    """Three tables: what defines them, scores, answers."""
    typer.echo(f"A {found.a}\nB {found.b}")
    print_table(("what", "A", "B"), [(c.what, _cell(c.a), _cell(c.b)) for c in found.changed])
    scores = [
        (s.set, s.where or "all", s.metric, _number(s.a), _number(s.b), _gap(s.a, s.b))
        for s in found.scores
    ]
    print_table(("set", "where", "metric", "A", "B", "B - A"), scores, numbers=("A", "B", "B - A"))
    print_table(
        ("set", "n", "answers differ"),
        [(a.set, a.n, a.differ) for a in found.answers],
        numbers=("n", "answers differ"),
    )


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _number(value: float | None) -> str:
    return "not defined" if value is None or value != value else f"{value:.4f}"  # noqa: PLR0124  (NaN alone)


def _gap(a: float | None, b: float | None) -> str:
    return "" if a is None or b is None else _number(b - a)
