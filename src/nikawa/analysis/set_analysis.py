"""Confusion over several runs, and precision, recall and F1 of each label with intervals over groups of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as exchanged
from math import log2
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from nikawa.analysis.calibration import Told, calibration
from nikawa.analysis.results import (
    Calibration,
    ClassScore,
    Confusion,
    CrossTable,
    Figure,
    Slice,
    Surprise,
)
from nikawa.analysis.sample import Sitting, labels_of, places, probabilities
from nikawa.datasets.custom import declared_protocol
from nikawa.metrics import Items, metrics
from nikawa.metrics.confusion import UNREAD
from nikawa.metrics.confusion import confusion as counts_of
from nikawa.records import Example
from nikawa.scoring.match import LABELLED
from nikawa.stats.masks import figure, measure_parts, resampled_sums
from nikawa.stats.resample import Floats, Ints, count_units
from nikawa.stats.slice_tests import RESAMPLES, cross_slices, measure_slices
from nikawa.stats.slices import (
    SliceMask,
    bin_similarities,
    find_slices,
    slice_examples,
    to_masks,
)

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


LEAST = 1e-12
"""The smallest probability a surprise is told of."""


def by_probability(
    examples: Sequence[Example],
    labels: Sequence[Any],
    probabilities: Floats,
    gold: Ints,
    answers: Ints,
) -> list[Surprise]:
    """Wrong answers by how little probability gold got.

    `probabilities` (runs, items, labels) and `answers` (runs, items) are places in `labels`. An item counts as wrong where more than
    half of the runs are.
    """
    mean = probabilities.mean(axis=0)
    wrong = (answers != gold).sum(axis=0)
    found = []
    for i in np.flatnonzero((2 * wrong > len(answers)) & (gold >= 0)).tolist():
        given = answers[:, i][(answers[:, i] != gold[i]) & (answers[:, i] >= 0)]
        if not len(given):  # no wrong run could be read
            continue
        answer = int(np.bincount(given).argmax())
        p_gold = float(mean[i, gold[i]])
        found.append(
            _surprise(
                examples[i],
                labels[gold[i]],
                labels[answer],
                int(wrong[i]),
                p_gold=p_gold,
                p_answer=float(mean[i, answer]),
                bits=-log2(max(p_gold, LEAST)),
            )
        )
    return sorted(found, key=lambda s: (-(s.bits or 0), s.example))


def by_error(
    examples: Sequence[Example], gold: Sequence[float], answers: Floats, step: float = 1.0
) -> list[Surprise]:
    """Scores by how far their mean over runs is from gold; a run is wrong where it is more than `step` off."""
    mean = answers.mean(axis=0)
    errors = np.abs(mean - np.asarray(gold))
    wrong = (np.abs(answers - np.asarray(gold)) > step).sum(axis=0)
    order = np.argsort(-errors, kind="stable")
    return [
        _surprise(examples[i], gold[i], float(mean[i]), int(wrong[i]), error=float(errors[i]))
        for i in order
        if wrong[i]
    ]


def by_score(
    examples: Sequence[Example],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    details: Floats,
) -> list[Surprise]:
    """Items by what their score (runs by items, best is 1) lacks on the mean."""
    lacks = 1 - details.mean(axis=0)
    order = sorted(np.flatnonzero(lacks > 0).tolist(), key=lambda i: (-lacks[i], examples[i].id))
    wrong = (details < 1).sum(axis=0)
    return [
        _surprise(
            examples[i],
            gold[i],
            most_frequent([run[i] for run in answers]),
            int(wrong[i]),
            error=float(lacks[i]),
        )
        for i in order
    ]


def most_frequent(answers: Sequence[Any]) -> Any:
    """The answer given most often, of equals the first."""
    keys = [msgspec.json.encode(answer) for answer in answers]
    return answers[keys.index(Counter(keys).most_common(1)[0][0])]


def _surprise(example: Example, gold: Any, answer: Any, wrong: int, **numbers: float) -> Surprise:
    return Surprise(
        example=example.id,
        gold=gold,
        answer=answer,
        wrong=wrong,
        tags=tuple(sorted(example.tags)),
        meta=example.meta,
        inputs=example.inputs,
        **numbers,
    )


PART = "part"
"""The key of the parts a dataset is told by: seen and unseen problems of JAMP."""


@dataclass(frozen=True)
class How:
    """How to analyse."""

    by: tuple[str, ...] = ()
    """Keys to slice by; empty: all that fit."""
    metric: str = ""
    """A metric instead of the task's first."""
    resamples: int = RESAMPLES
    seed: int = 0
    tokeniser: str | None = None
    """The segmentation of the overlap; None takes the language's own, `none` leaves it out."""
    top: int = 50
    """Surprises and suspects that are listed."""
    workers: int = 3
    """Different workers each suspect is to be judged by."""


def whole(sitting: Sitting, how: How) -> Figure:
    """The metric over all items: the official value, its interval."""
    everything = np.ones(len(sitting.examples), dtype=bool)
    found = measure_parts(sitting.sample, [everything], resamples=how.resamples, seed=how.seed)
    units, n = count_units(sitting.sample.units), len(sitting.examples)
    official = exchanged(found, values=sitting.official[:, None])
    return official.figure(0, units=units, scale=sitting.scale, n=n)


def sliced(sitting: Sitting, how: How) -> tuple[tuple[Slice, ...], dict[str, str]]:
    """Every slice, and the keys that were passed over."""
    own = parts_of(sitting)
    keys = tuple(key for key in how.by if key != PART)
    parts: list[SliceMask] = []
    passed: dict[str, str] = {}
    if keys or not how.by:
        parts, passed = find_slices(sitting.task, sitting.examples, keys)
    parts += own if not how.by or PART in how.by else []
    found = measure_slices(
        sitting.sample, parts, scale=sitting.scale, resamples=how.resamples, seed=how.seed
    )
    return tuple(found), passed


def parts_of(sitting: Sitting) -> list[SliceMask]:
    """The parts its dataset is told by."""
    divide = declared_protocol(sitting.task.dataset).divide
    if divide is None:
        return []
    found = divide(sitting.loaded.spec.protocol.train, list(sitting.examples))
    ids = {name: {example.id for example in part} for name, part in found.items() if part}
    places = {
        name: [i for i, example in enumerate(sitting.examples) if example.id in own]
        for name, own in ids.items()
    }
    return to_masks(PART, places, len(sitting.examples))


def crossed(sitting: Sitting, how: How) -> CrossTable | None:
    """Gold label by similarity, where the examples have both."""
    question = _label_question(sitting.examples)
    bins = bin_similarities(sitting.examples)
    if question is None or not bins:
        return None
    places = slice_examples(question, sitting.examples, sitting.task)
    order: list[str] = [
        label for label in ("entailment", "contradiction", "neutral") if label in places
    ]
    names = order or sorted(places)
    labels = to_masks(question, {name: places[name] for name in names}, len(sitting.examples))
    cells = cross_slices(
        sitting.sample, labels, bins, scale=sitting.scale, resamples=how.resamples, seed=how.seed
    )
    if question == sitting.task.question:
        masks = {part.where: part.mask for part in bins} | {
            "": np.ones(len(sitting.examples), dtype=bool)
        }
        cells = [replace(c, answered=_answered(sitting.runs, c.label, masks[c.bin])) for c in cells]
    return CrossTable(
        metric=sitting.metric.name,
        unit=sitting.unit,
        labels=tuple(names),
        bins=tuple(part.where for part in bins),
        cells=tuple(cells),
    )


def _label_question(examples: Sequence[Example]) -> str | None:
    """The question whose gold is a label on every example."""
    names = [name for name, value in examples[0].gold.items() if isinstance(value, str)]
    return next((n for n in names if all(isinstance(e.gold.get(n), str) for e in examples)), None)


def _answered(runs: Sequence[Items], label: str, mask: Any) -> float:
    if not label:
        return float(mask.sum())
    given = [np.array([answer == label for answer in items.answers]) for items in runs]
    return float(np.mean([(answer & mask).sum() for answer in given]))


def confused(sitting: Sitting, how: How) -> Confusion | None:
    """Confusion, for tasks with labels."""
    if sitting.task.kind not in LABELLED:
        return None
    gold = [str(label) for label in sitting.runs[0].gold]
    answers = [[UNREAD if a is None else str(a) for a in items.answers] for items in sitting.runs]
    each = [counts_of(items) for items in sitting.runs]
    return confusion(
        each, gold, answers, sitting.sample.units, resamples=how.resamples, seed=how.seed
    )


def calibrated(sitting: Sitting, how: How) -> tuple[Calibration | None, str]:
    """Calibration, or why there is none."""
    labels = labels_of(sitting.task, sitting.runs)
    tables = [probabilities(items, labels) for items in sitting.runs]
    why = next((table for table in tables if isinstance(table, str)), "")
    if why:
        return None, why
    full = np.stack([table for table in tables if not isinstance(table, str)])
    kept = np.flatnonzero(np.isfinite(full).all(axis=(0, 2)))
    if not len(kept):
        return None, "no item has the probabilities of every run"
    gold = places(sitting.runs[0].gold, labels)[kept]
    answers = [places(items.answers, labels)[kept] for items in sitting.runs]
    units = np.unique(sitting.sample.units[kept], return_inverse=True)[1].astype(np.int64)
    told = [Told(table[kept], gold, answer) for table, answer in zip(full, answers, strict=True)]
    left = len(sitting.examples) - len(kept)
    return calibration(told, units, left_out=left, resamples=how.resamples, seed=how.seed), ""


def surprised(sitting: Sitting, how: How) -> tuple[tuple[Surprise, ...], str]:
    """The most surprising errors, and what they are ranked by."""
    if sitting.task.kind == "similarity":
        scores = np.array([items.answers for items in sitting.runs], dtype=np.float64)
        return tuple(by_error(sitting.examples, sitting.runs[0].gold, scores)[: how.top]), "error"
    labels = labels_of(sitting.task, sitting.runs)
    tables = [probabilities(items, labels) for items in sitting.runs]
    if all(not isinstance(table, str) for table in tables):
        stacked = np.stack([table for table in tables if not isinstance(table, str)])
        kept = np.flatnonzero(np.isfinite(stacked).all(axis=(0, 2))).tolist()
        answers = np.stack([places(items.answers, labels)[kept] for items in sitting.runs])
        found = by_probability(
            [sitting.examples[i] for i in kept],
            _spoken(sitting, labels),
            stacked[:, kept],
            places(sitting.runs[0].gold, labels)[kept],
            answers,
        )
        return tuple(found[: how.top]), "probability"
    details = _details(sitting)
    if details is None:
        return (), ""
    every = [items.answers for items in sitting.runs]
    found = by_score(sitting.examples, sitting.runs[0].gold, every, details)
    return tuple(found[: how.top]), "score"


def _spoken(sitting: Sitting, labels: Sequence[str]) -> Sequence[Any]:
    """Labels as answers have them: choices are numbers."""
    return [int(label) for label in labels] if sitting.task.kind == "choice" else labels


def _details(sitting: Sitting) -> Any:
    """Runs by items, under the last of the task's metrics that scores items from 0 to 1."""
    for name in reversed(sitting.task.metrics):
        metric = metrics()[name]
        if name == "auprc" or metric.better != "higher":
            continue
        found = [metric.evaluate(items, "official").detail for items in sitting.runs]
        if all(d is not None and len(d) == len(sitting.examples) for d in found):
            return np.stack([d for d in found if d is not None])
    return None
