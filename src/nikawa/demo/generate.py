"""The step of the tour that makes a benchmark from templates: gated, split, and read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.datasets import load
from nikawa.demo.steps import Outcome, Table
from nikawa.io.folders import is_dataset_folder
from nikawa.records import Example

if TYPE_CHECKING:
    from nikawa.generation.job import GenerateReport

PACK, PER, SHOWN = "temporal-ja", 2, 10
DATA = "temporal"
"""The folder it is left in."""
LABELS = ("entailment", "contradiction", "neutral")


def make_temporal(out: Path) -> Outcome:
    """A temporal benchmark that passes the artifact test, its training splits, and ten of its problems."""
    report = _generate(out / DATA, gate=0)
    assert report.gate is not None
    test = load(str(out / DATA)).splits["test"] if report.gate.passed else ()
    sizes = tuple(
        (name, s.problems, s.cells, *(s.labels[label] for label in LABELS))
        for name, s in report.splits.items()
    )
    columns = ("split", "problems", "cells", *LABELS)
    told = (
        f"Artifact test ({report.gate.tokeniser}): {len(report.gate.over)} of {report.gate.vocabulary:,} tokens "
        "give a label away. Nor do any at ten problems a cell; in JAMP's published training data 35 do."
    )
    tables = (
        Table(title="problems", columns=columns, rows=sizes, numbers=columns[1:]),
        _seen(test, [name for name in report.splits if name not in ("train", "test")]),
        _problems(test),
    )
    figures = {
        "problems": {name: s.problems for name, s in report.splits.items()},
        "over": len(report.gate.over),
        "shown": len(tables[-1].rows),
    }
    return Outcome(tables=tables, lines=(told,), figures=figures)


def temporal(out: Path) -> Path:
    """Where the benchmark of the tour lies; a step that is taken alone makes it."""
    if not is_dataset_folder(out / DATA):
        _generate(out / DATA)
    return out / DATA


def _generate(folder: Path, gate: int | None = None) -> GenerateReport:
    from nikawa.generation.job import Options, generate

    return generate(
        PACK, folder, options=Options(counts={"": PER}, splits=("all",), gate=gate, overwrite=True)
    )


def _seen(test: tuple[Example, ...], splits: list[str]) -> Table:
    counts = {split: Counter(example.meta[split] for example in test) for split in splits}
    rows = tuple((split, found["seen"], found["unseen"]) for split, found in counts.items())
    columns = ("trained on", "test problems of a seen kind", "of an unseen kind")
    return Table(title="what a split tests", columns=columns, rows=rows, numbers=columns[1:])


def _problems(test: tuple[Example, ...]) -> Table:
    """Problems of as many categories as there is room for."""
    first: dict[str, Example] = {}
    for example in test:
        first.setdefault(example.meta["category"], example)
    found = list(first.values())
    chosen = [found[i * len(found) // SHOWN] for i in range(min(SHOWN, len(found)))]
    rows = tuple(
        (e.meta["category"], f"{e.inputs['premise']}\n→ {e.inputs['hypothesis']}", e.gold["label"])
        for e in chosen
    )
    return Table(
        title="ten problems", columns=("category", "premise and hypothesis", "gold"), rows=rows
    )
