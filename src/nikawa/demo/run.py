"""Steps of the tour that ask workers (simulated), train models, and report."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace as restruct

from nikawa.datasets import load
from nikawa.demo.generate import PACK, temporal
from nikawa.demo.steps import Outcome, Table
from nikawa.io.atomic import atomic_write
from nikawa.io.folders import JUDGEMENTS, write_card
from nikawa.io.json import encode_json
from nikawa.records import Example, Judgement, reference
from nikawa.runs.store import PREDICTIONS

if TYPE_CHECKING:
    from nikawa.runs.summary import Cell

LABELS = ("entailment", "contradiction", "neutral")
WORKERS = {"careful": 0.95, "usual": 0.9, "hasty": 0.75, "quick": 0.85, "guessing": 0.4}
"""Simulated workers and how often each answers as gold does."""
SIMULATED = f"{len(WORKERS)} simulated workers answered about every test problem, each right at a rate of its own; no person did"
MODELS = ("majority", "char-linear", "baseline")
SEEDS = (0, 1)
MAIN, METRIC, ROUNDS = "test", "accuracy", 1_000
RUNS, REPORT = "runs", "report"
"""What is left in the folder of the tour."""


def simulate_round(out: Path) -> Outcome:
    """Five simulated workers judge generated problems: agreement, and gold by majority. The card says that they are no people."""
    folder = temporal(out)
    dataset = load(str(folder))
    examples = dataset.splits["test"]
    path = folder / JUDGEMENTS
    with atomic_write(path, overwrite=True) as stream:
        for judgement in _judged(examples):
            stream.write(encode_json(judgement) + b"\n")
    write_card(
        restruct(dataset.card, workers=SIMULATED, workers_are="simulated"), folder, overwrite=True
    )
    return _weighed(path, {reference(PACK, "test", e.id): e.gold["label"] for e in examples})


def _judged(examples: tuple[Example, ...]) -> Iterator[Judgement]:
    for example in examples:
        for worker, right in WORKERS.items():
            draw = random.Random(f"{worker} {example.id}")  # noqa: S311  (a simulation, not a secret)
            gold = example.gold["label"]
            others = [label for label in LABELS if label != gold]
            answer = gold if draw.random() < right else draw.choice(others)
            full = reference(PACK, "test", example.id)
            yield Judgement(
                example=full, worker=f"simulated-{worker}", question="label", answer=answer
            )


def _weighed(path: Path, gold: dict[str, str]) -> Outcome:
    from nikawa.aggregation.agree import agree
    from nikawa.aggregation.job import aggregate

    found = agree(str(path)).report
    verdicts = aggregate(str(path)).verdicts["label"]
    right = sum(
        value == gold[item]
        for item, value in zip(verdicts.table.items, verdicts.answers(), strict=True)
    )
    rows = tuple(
        (m.name, m.level, _figure(m.value), f"{_figure(m.low)} to {_figure(m.high)}")
        for m in found.measures
    )
    table = Table(
        columns=("agreement", "level", "value", "95% interval"), rows=rows, numbers=("value",)
    )
    line = f"The workers are simulated: no person was asked. The majority finds the computed gold of {right:,} of {len(gold):,} problems."
    return Outcome(
        tables=(table,), lines=(line,), figures={"problems": len(gold), "gold_again": right}
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def train_and_report(out: Path) -> Outcome:
    """Embedded models with two seeds on a generated benchmark, one of them shown half of it, reported on a page."""
    from nikawa.reporting.job import Options as How
    from nikawa.reporting.job import report
    from nikawa.runs.job import Options, Request, run

    runs = out / RUNS
    whole = Request(tasks=(str(temporal(out)),), models=MODELS, seeds=SEEDS)
    half = replace(whole, models=MODELS[-1:], inputs=("hypothesis",))
    done = [run(request, Options(out=runs, workers=1)) for request in (whole, half)]
    cells = [cell for part in done for cell in part.cells]
    folders = dict.fromkeys(str(runs / name) for cell in cells for name in cell.runs)
    page = report(list(folders), out / REPORT, How(overwrite=True))
    seeded = any(cell.sd for cell in cells)
    lines = () if seeded else ("The seeds change nothing: these models leave nothing to chance.",)
    line = f"Intervals, paired tests, slices and every error: open {page.page}"
    main = [cell for cell in cells if cell.set == MAIN]
    return Outcome(
        tables=(_scores(main),),
        lines=(*lines, _compared(main, runs, temporal(out)), line),
        figures={
            "runs": sum(part.done + part.skipped for part in done),
            "page": page.page,
            "accuracy": {_system(cell): cell.mean for cell in main if cell.metric == "accuracy"},
        },
    )


def _compared(cells: Sequence[Cell], runs: Path, folder: Path) -> str:
    """Whether the best model is really better than the next, by the answers of all seeds."""
    from nikawa.scoring.compare import compare

    files = {
        cell.model: [runs / name / PREDICTIONS / f"{MAIN}.jsonl" for name in cell.runs]
        for cell in cells
        if cell.metric == METRIC and cell.model in MODELS[1:] and not cell.variation
    }
    found = compare([str(folder)], files, split=MAIN, rounds=ROUNDS)
    pair = next(pair for pair in found.pairs if pair.metric == METRIC)
    chance = f"p < {1 / ROUNDS:g}" if pair.p <= 1 / ROUNDS else f"p = {pair.p:.3f}"
    return (
        f"{pair.second} against {pair.first}: {pair.difference:+.1f} {METRIC} ({pair.low:+.1f} to {pair.high:+.1f}), {chance}; "
        f"differences below {pair.smallest:.1f} could hardly be told from chance."
    )


def _scores(cells: Sequence[Cell]) -> Table:
    """A row a system, a column a metric."""
    metrics = tuple(dict.fromkeys(cell.metric for cell in cells))
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        rows.setdefault(_system(cell), {})[cell.metric] = _with_deviation(cell)
    shown = tuple(
        (system, *(found.get(name, "") for name in metrics)) for system, found in rows.items()
    )
    title = f"{cells[0].n:,} test problems, {len(SEEDS)} seeds, percent"
    return Table(title=title, columns=("system", *metrics), rows=shown, numbers=metrics)


def _system(cell: Cell) -> str:
    return f"{cell.model} ({cell.variation})" if cell.variation else cell.model


def _with_deviation(cell: Cell) -> str:
    return "" if cell.mean is None else f"{cell.mean:.1f} ± {cell.sd or 0.0:.1f}"
