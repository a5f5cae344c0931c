"""Confusion over several runs, and precision, recall and F1 of each label with intervals over groups of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nikawa.analysis.results import ClassScore, Confusion
from nikawa.stats.masks import figure, resampled_sums
from nikawa.stats.resample import Floats, Ints, count_units

Counts = Mapping[str, Mapping[str, int]]
"""Gold label to answer to count, of one run."""


def confusion(
    each: Sequence[Counts],
    gold: Sequence[str],
    answers: Sequence[Sequence[str]],
    units: Ints,
    *,
    resamples: int,
    seed: int = 0,
) -> Confusion:
    """Counts averaged over runs, and each label on its own; `answers` has a row a run."""
    rows = list(dict.fromkeys(label for counts in each for label in counts))
    columns = list(
        dict.fromkeys(name for counts in each for row in counts.values() for name in row)
    )
    ordered = [*rows, *(name for name in columns if name not in rows)]
    mean = {
        row: {
            name: float(np.mean([c.get(row, {}).get(name, 0) for c in each]))
            for name in ordered
            if name in columns
        }
        for row in rows
    }
    classes = _classes(rows, gold, answers, units, resamples, seed)
    return Confusion(
        labels=tuple(rows),
        columns=tuple(n for n in ordered if n in columns),
        counts=mean,
        classes=classes,
    )


def _classes(
    labels: Sequence[str],
    gold: Sequence[str],
    answers: Sequence[Sequence[str]],
    units: Ints,
    resamples: int,
    seed: int,
) -> tuple[ClassScore, ...]:
    stacked = np.stack([_counts(labels, gold, run) for run in answers])  # runs, items, 3k
    exact = stacked.sum(axis=1)
    drawn = np.stack(
        [resampled_sums(run, units, resamples=resamples, seed=seed) for run in stacked]
    )
    k = len(labels)
    parts = [
        _rates(table[..., :k], table[..., k : 2 * k], table[..., 2 * k :])
        for table in (exact, drawn)
    ]
    found = []
    for i, label in enumerate(labels):
        n = int(exact[0, 2 * k + i])
        each = [
            figure(
                parts[0][j][:, i], parts[1][j][:, :, i].mean(axis=0), units=count_units(units), n=n
            )
            for j in range(3)
        ]
        found.append(
            ClassScore(
                label=label,
                gold=n,
                answered=float(exact[:, k + i].mean()),
                precision=each[0],
                recall=each[1],
                f1=each[2],
            )
        )
    return tuple(found)


def _counts(labels: Sequence[str], gold: Sequence[str], answers: Sequence[str]) -> Floats:
    """Items by 3k: right, answered and gold of each label."""
    place = {label: i for i, label in enumerate(labels)}
    wanted, given = (
        np.array([place.get(x, -1) for x in side], dtype=np.int64)[:, None]
        == np.arange(len(labels))
        for side in (gold, answers)
    )
    return np.concatenate([wanted & given, given, wanted], axis=1).astype(np.float64)


def _rates(hits: Floats, answered: Floats, wanted: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision, recall, F1; NaN where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return hits / answered, hits / wanted, 2 * hits / (answered + wanted)
