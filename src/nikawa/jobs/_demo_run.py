"""Steps of the tour that ask workers (simulated), train models, and report."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nikawa.benchmarks import load
from nikawa.io.json import encode_json
from nikawa.jobs._demo_steps import Outcome, Table
from nikawa.records import Example, Judgement, reference

PACK, PER = "temporal-ja", 1
LABELS = ("entailment", "contradiction", "neutral")
WORKERS = {"careful": 0.95, "usual": 0.9, "hasty": 0.75, "quick": 0.85, "guessing": 0.4}
"""Simulated workers and how often each answers as gold does."""
MODELS = ("majority", "char-linear", "baseline")
SEEDS = (0, 1)


def simulate_round() -> Outcome:
    """Five simulated workers judge generated problems: agreement, gold by majority, and who is out of line."""
    from nikawa.jobs.generate import Options, generate

    with TemporaryDirectory(prefix="nikawa-demo-") as folder:
        made = Path(folder) / "problems"
        generate(PACK, made, options=Options(counts={"": PER}))
        examples = load(str(made)).splits["test"]
        path = Path(folder) / "judgements.jsonl"
        path.write_bytes(b"".join(encode_json(j) + b"\n" for j in _judged(examples)))
        return _weighed(path, {reference(PACK, "test", e.id): e.gold["label"] for e in examples})


def _judged(examples: tuple[Example, ...]) -> Iterator[Judgement]:
    for example in examples:
        for worker, right in WORKERS.items():
            draw = random.Random(f"{worker} {example.id}")  # noqa: S311  (a simulation, not a secret)
            gold = example.gold["label"]
            others = [label for label in LABELS if label != gold]
            answer = gold if draw.random() < right else draw.choice(others)
            full = reference(PACK, "test", example.id)
            yield Judgement(example=full, worker=f"simulated-{worker}", question="label", answer=answer)


def _weighed(path: Path, gold: dict[str, str]) -> Outcome:
    from nikawa.jobs.aggregate import aggregate
    from nikawa.jobs.agree import agree

    found = agree(str(path)).report
    verdicts = aggregate(str(path)).verdicts["label"]
    right = sum(
        value == gold[item] for item, value in zip(verdicts.table.items, verdicts.answers(), strict=True)
    )
    rows = tuple(
        (m.name, m.level, _figure(m.value), f"{_figure(m.low)} to {_figure(m.high)}") for m in found.measures
    )
    table = Table(columns=("agreement", "level", "value", "95% interval"), rows=rows, numbers=("value",))
    line = f"The workers are simulated. The majority finds the computed gold of {right:,} of {len(gold):,} problems."
    return Outcome(tables=(table,), lines=(line,), figures={"problems": len(gold), "gold_again": right})


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def train_and_report(out: Path) -> Outcome:
    """Embedded models with two seeds on every task of the mini-benchmark, compared and reported on a page."""
    from nikawa.jobs.report import Options as How
    from nikawa.jobs.report import report
    from nikawa.jobs.run import Options, Request, run

    request = Request(tasks=("demo",), models=MODELS, seeds=SEEDS)
    done = run(request, Options(out=out / "runs"))
    first: dict[tuple[str, str], str] = {}
    for cell in done.cells:
        scale = 1 if cell.unit == "percent" else 100
        first.setdefault((cell.task, cell.model), "" if cell.mean is None else f"{scale * cell.mean:.1f}")
    tasks = list(dict.fromkeys(task for task, _ in first))
    rows = tuple((task, *(first.get((task, model), "") for model in MODELS)) for task in tasks)
    page = report([str(out / "runs")], out / "report", How(overwrite=True))
    table = Table(columns=("task", *MODELS), rows=rows, numbers=MODELS)
    line = f"Intervals, paired tests, slices and every error: open {page.page}"
    return Outcome(
        tables=(table,), lines=(line,), figures={"runs": done.done + done.skipped, "page": page.page}
    )
