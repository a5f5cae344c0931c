"""The scores of the embedded models and the majority on each available published task, and their times.

If there is no published train file, the dev file is split into folds by group; the table shows this. The data is
found as everywhere else (NIKAWA_DATA); NIKAWA_BENCH_TASKS names some of the tasks, separated by commas.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import MissingData
from nikawa.metrics import Items, metrics
from nikawa.models import Trainable, model
from nikawa.models.folds import predict_out_of_fold
from nikawa.records import Example, Prediction, Task

SLOW = ("paraphrase-f1", "auprc")
"""Metrics that need more than answers, or more than a table has room for."""

MORE = {"tree": ("uas-micro", "las-micro")}
"""Metrics that a kind of task is better known by than by its official ones."""


def by_group(example: Example) -> str:
    return example.group or example.id


def by_premise(example: Example) -> str:
    return str(example.inputs["premise"])


def by_article(example: Example) -> str:
    return str(example.meta["article"])


@dataclass(frozen=True)
class Row:
    """A task with the models tried on it."""

    task: str
    models: tuple[str, ...]
    train: str = "train"
    """The split learned from; the same as `test` means folds."""
    test: str = "dev"
    inputs: tuple[str, ...] = ()
    """The inputs left; empty: all."""
    folds: int = 5
    group: Callable[[Example], str] = by_group


ROWS = (
    Row("jsick-nli", ("pair-linear", "char-linear"), test="test"),
    Row("jsick-nli", ("pair-linear", "char-linear"), test="test", inputs=("hypothesis",)),
    Row("jsick-sts", ("pair-linear", "char-overlap", "char-linear"), test="test"),
    Row("jsick-en-nli", ("pair-linear",), test="test"),
    Row("jsick-en-sts", ("pair-linear", "char-overlap"), test="test"),
    Row("jsts", ("pair-linear", "char-overlap")),
    Row("jnli", ("pair-linear",), train="dev"),
    Row("jcola", ("char-linear",)),
    Row("jcola", ("char-linear",), test="ood"),
    Row("jcommonsenseqa", ("nearest-choice",)),
    Row("jsquad", ("span-overlap",), train="dev", folds=3, group=by_article),
    Row("klue-nli", ("pair-linear",), train="dev", group=by_premise),
    Row("klue-sts", ("pair-linear", "char-overlap"), train="dev"),
    Row("klue-ner", ("crf",), train="dev"),
    Row("klue-dp", ("tree-graph", "right-headed"), train="dev"),
)


def asked(row: Row) -> tuple[Task, tuple[Example, ...], tuple[Example, ...]]:
    """The task, what to learn from and what to answer."""
    task = tasks()[row.task]
    splits = load(task.dataset).splits
    task = replace(task, inputs=row.inputs or task.inputs)
    return task, splits.get(row.train, ()), splits.get(row.test, ())


def reached(task: Task, examples: Sequence[Example], answers: Sequence[Prediction]) -> str:
    items = Items(
        gold=[e.gold[task.question] for e in examples],
        answers=[a.answer for a in answers],
        inputs=[e.inputs for e in examples],
        labels=task.labels,
        scores=[a.scores for a in answers],
    )
    chosen = [
        metrics()[name] for name in (*task.metrics, *MORE.get(task.kind, ())) if name not in SLOW
    ]
    values = {
        m.name: m.evaluate(items, "official").value * (100 if m.scaled else 1) for m in chosen
    }
    return "  ".join(f"{name} {value:.1f}" for name, value in values.items())


def answers(
    row: Row, name: str, data: tuple[Task, Sequence[Example], Sequence[Example]]
) -> tuple[list[Prediction], float, float]:
    """Answers, seconds of learning, seconds of answering (folds: all of it, and none)."""
    task, learn, ask = data
    began = time.perf_counter()
    if row.train == row.test:
        groups = [row.group(e) for e in ask]
        found = predict_out_of_fold(
            lambda: cast(Trainable, model(name)), task, ask, groups, folds=row.folds
        )
        return found, time.perf_counter() - began, 0.0
    fitted = cast(Trainable, model(name))
    fitted.fit(task, learn)
    learned = time.perf_counter()
    found = fitted.predict(task, ask)
    return found, learned - began, time.perf_counter() - learned


def show(row: Row) -> None:
    try:
        data = asked(row)
    except MissingData:
        print(f"{row.task:<16}not available")
        return
    task, learn, ask = data
    how = (
        f"{row.folds} folds of {row.test}"
        if row.train == row.test
        else f"{row.train} {len(learn):,}"
    )
    what = f"{row.test} {len(ask):,}{' ' + '+'.join(row.inputs) if row.inputs else ''}"
    for name in (*row.models, "majority"):
        try:
            found, learning, answering = answers(row, name, data)
        except ValueError as problem:
            print(f"{row.task:<16}{name:<16}{problem}")
            continue
        value = reached(task, ask, found)
        print(
            f"{row.task:<16}{name:<16}{how:<18}{what:<22}{learning:>7.1f} s{answering:>7.1f} s  {value}",
            flush=True,
        )


def main() -> None:
    wanted = set(filter(None, os.environ.get("NIKAWA_BENCH_TASKS", "").split(",")))
    for row in ROWS:
        if not wanted or row.task in wanted:
            show(row)


if __name__ == "__main__":
    main()
