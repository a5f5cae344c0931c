"""The tables of a study, from its stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from nikawa.cli.run import format_figure, results_table, select_main_cells
from nikawa.io.atomic import atomic_write
from nikawa.metrics.units import TableUnit
from nikawa.reporting.tables import TextTable
from nikawa.runs.job import RunCell
from nikawa.runs.records import DIVERGED
from nikawa.runs.summary import DIFFERENCE
from studies._pairs import Contest
from studies._stored import counted_runs

UNIT: TableUnit = "official"
"""The unit of the tables: that of the official scorers, as in the papers they are compared with."""
PARTED = ("seen", "unseen", DIFFERENCE)
CASES = ("", "o", "de")
GOLD = ("", "entailment", "contradiction", "neutral")
"""The order of the rows of the stress test, totals first; other rows follow by name."""


def main_table(cells: Sequence[RunCell]) -> str:
    """The first metric of each task on whole sets, for models trained as published."""
    columns, rows, numbers = results_table(
        [cell for cell in select_main_cells(cells) if not cell.variation], UNIT
    )
    return TextTable(columns, rows, numbers).markdown()


def curve_table(cells: Sequence[RunCell]) -> str:
    """One row per task, one column per share of its training data."""
    shares = sorted({share_of(cell) for cell in cells})
    rows: dict[tuple[str, str, str], dict[float, str]] = {}
    for cell in select_main_cells(cells):
        if "trained on" not in cell.variation:
            rows.setdefault((cell.task, cell.set, cell.metric), {})[share_of(cell)] = format_figure(
                cell, UNIT
            )
    columns = ["task", "set", "metric", *(f"{share:.0%}" for share in shares)]
    body = [
        [*key, *(found.get(share, "") for share in shares)]
        for key, found in rows.items()
        if len(found) > 1
    ]
    return TextTable(columns, body, columns[3:]).markdown()


def share_of(cell: RunCell) -> float:
    """The share of the training data of a figure, from its title."""
    word = next(
        (w for w in cell.variation.split(", ") if w.endswith("% of train")), "100% of train"
    )
    return float(word.partition("%")[0]) / 100


def splits_table(cells: Sequence[RunCell], names: dict[str, str]) -> str:
    """Seen, unseen and the difference by training split, as Table 8 of JAMP's paper."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        if cell.task == "jamp" and cell.where in PARTED:
            split = cell.variation.removeprefix("trained on jamp:")
            rows.setdefault((split, names.get(cell.model, cell.model)), {})[cell.where] = (
                format_figure(cell, UNIT)
            )
    columns = ["training split", "model", "seen", "unseen", "difference"]
    body = [
        [*key, *(found.get(part, "") for part in PARTED)] for key, found in sorted(rows.items())
    ]
    return TextTable(columns, body, columns[2:]).markdown()


def grid_table(runs: Path, names: dict[str, str]) -> str:
    """Every combination that was tried, with its mean on the set that settings are chosen on."""
    found: dict[tuple[str, str, str, str], list[float]] = {}
    lost: set[tuple[str, str, str, str]] = set()
    for stored in counted_runs(runs):
        if stored.spec.stage == "selection":
            spec, score = stored.spec, stored.scores()[0].scores[0]
            shown = {
                k: v for k, v in spec.settings.items() if k in {"learning_rate", "epochs", "model"}
            }
            setting = ", ".join(
                f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items()
            )
            model = names.get(spec.model, spec.model)
            key = (spec.task, f"{model} {spec.variation.title}".strip(), setting, score.metric)
            found.setdefault(key, []).append(score.value * (100 if score.unit == "fraction" else 1))
            lost |= {key} if stored.diverged else set()
    columns = ["task", "model", "setting", "metric", "score on the choosing set", "seeds"]
    rows = [
        [*key, DIVERGED if key in lost else _mean(values), str(len(values))]
        for key, values in sorted(found.items())
    ]
    return TextTable(columns, rows, columns[4:]).markdown()


def stress_table(sections: Iterable[dict[str, Any]]) -> str:
    """How often answers stay the same when a sentence is perturbed, by operation, case and label, as Table 16 of JSICK's paper."""
    columns = ["task", "operation", "case", "gold", "n", "unchanged", "became neutral"]
    rows = [
        [
            found["task"],
            cell["operation"],
            cell["case"] or "all",
            cell["gold"] or "all",
            str(cell["n"]),
            _number(cell["value"]),
            _number(cell["to_neutral"]),
        ]
        for section in sections
        for found in map(_inner, section.get("stress", ()))
        for cell in sorted(found["cells"], key=_stress_order)
    ]
    return TextTable(columns, rows, columns[4:]).markdown()


def _stress_order(cell: dict[str, Any]) -> tuple[str, int, str, int, str]:
    """By operation, case and label of the original."""
    case, gold = cell["case"], cell["gold"]
    return cell["operation"], _rank(case, CASES), case, _rank(gold, GOLD), gold


def _rank(word: str, known: Sequence[str]) -> int:
    return known.index(word) if word in known else len(known)


def _inner(stress: dict[str, Any]) -> dict[str, Any]:
    """The analysis itself, with or without a wrapper for its path."""
    return (
        stress
        if "cells" in stress
        else next(v for v in stress.values() if isinstance(v, dict) and "cells" in v)
    )


def _mean(values: Sequence[float]) -> str:
    mean = sum(values) / len(values)
    return "not defined" if isnan(mean) else f"{mean:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def section(heading: str, table: str) -> str:
    """A table under its heading; empty without rows."""
    return f"## {heading}\n\n{table}" if table.count("\n") > 1 else ""


def write_page(path: Path, parts: Sequence[str]) -> None:
    """Headings, paragraphs and tables, all or nothing."""
    with atomic_write(path, overwrite=True) as file:
        file.write(("\n\n".join(part for part in parts if part) + "\n").encode())


def figures(columns: Sequence[str], rows: Iterable[Sequence[Any]], words: int) -> str:
    """A table of figures, tests and words as they are printed; the first columns are `words`."""
    return TextTable(
        columns, [[_shown(value) for value in row] for row in rows], columns[words:]
    ).markdown()


def fewer_seeds(cells: Sequence[RunCell], names: Mapping[str, str]) -> str:
    """The figures with fewer seeds than others of the same model: runs that failed, or are not done yet."""
    most: dict[str, int] = {}
    for cell in cells:
        most[cell.model] = max(most.get(cell.model, 0), len(cell.seeds))
    few = {
        (
            cell.task,
            f"{names.get(cell.model, cell.model)} {cell.variation}".strip(),
        ): f"{len(cell.seeds)} of {most[cell.model]}"
        for cell in cells
        if len(cell.seeds) < most[cell.model]
    }
    each = ", ".join(f"{task} {model} ({count})" for (task, model), count in sorted(few.items()))
    return f"Not all seeds are done: {each}." if few else ""


def _shown(value: Any) -> str:
    if isinstance(value, RunCell):
        return format_figure(value, UNIT)
    if isinstance(value, Contest):
        return f"**{value.text}**" if value.p < 0.05 else value.text
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
