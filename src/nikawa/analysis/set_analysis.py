"""The analyses of one system on one set: score, slices, label by similarity, confusion, calibration, surprising errors.

Each figure is the mean over the seeds of the system; intervals are over groups of items.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from nikawa.analysis.answers import SystemAnswers
from nikawa.analysis.calibration import RunProbabilities, calibrate
from nikawa.analysis.results import Calibration, ClassScore, Confusion, CrossTable, Surprise
from nikawa.datasets.custom import declared_protocol
from nikawa.metrics import metrics
from nikawa.metrics.confusion import UNREAD, count_confusion
from nikawa.records import LABELLED_KINDS, Example
from nikawa.stats.masks import make_figure, measure_parts, resample_sums
from nikawa.stats.resample import Floats, Ints, count_units
from nikawa.stats.results import Figure, Slice
from nikawa.stats.slice_tests import SLICE_RESAMPLES, cross_slices, measure_slices
from nikawa.stats.slices import SliceMask, to_masks

PART = "part"
"""The key of the parts that a dataset declares, such as problems seen and unseen in training."""
MIN_PROBABILITY = 1e-12
"""The smallest probability of gold that a surprise counts."""

Counts = Mapping[str, Mapping[str, int]]
"""Gold label to answer to count, of one run."""


@dataclass(frozen=True)
class AnalysisOptions:
    """How to analyse."""

    by: tuple[str, ...] = ()
    """Keys to slice by; empty: all that fit."""
    metric: str = ""
    """A metric instead of the task's first."""
    resamples: int = SLICE_RESAMPLES
    seed: int = 0
    tokeniser: str | None = None
    """The segmentation of the overlap; None takes the language's own, `none` leaves it out."""
    top: int = 50
    """Surprises and suspects that are listed."""
    workers: int = 3
    """Different workers each suspect is to be judged by."""


def score_whole(answers: SystemAnswers, options: AnalysisOptions) -> Figure:
    """The metric over all items: the official value, its interval."""
    n, sample = len(answers.examples), answers.sample
    everything = np.ones(n, dtype=bool)
    parts = measure_parts(sample, [everything], resamples=options.resamples, seed=options.seed)
    official = dataclasses.replace(parts, values=answers.official[:, None])
    return official.figure(0, units=count_units(sample.units), scale=answers.scale, n=n)


def slice_answers(
    answers: SystemAnswers, options: AnalysisOptions
) -> tuple[tuple[Slice, ...], dict[str, str]]:
    """Every slice, and the keys that were skipped with the reason."""
    keys = tuple(key for key in options.by if key != PART)
    masks: list[SliceMask] = []
    skipped: dict[str, str] = {}
    if keys or not options.by:
        masks, skipped = answers.items.find_slices(keys)
    if not options.by or PART in options.by:
        masks = [*masks, *declared_parts(answers)]
    slices = measure_slices(
        answers.sample, masks, scale=answers.scale, resamples=options.resamples, seed=options.seed
    )
    return tuple(slices), dict(skipped)


def declared_parts(answers: SystemAnswers) -> list[SliceMask]:
    """The parts that the dataset declares, given what the system learned from."""
    divide = declared_protocol(answers.task.dataset).divide
    if divide is None:
        return []
    places: dict[str, list[int]] = {}
    for name, part in divide(answers.spec.protocol.train, list(answers.examples)).items():
        ids = {example.id for example in part}
        if ids:
            places[name] = [i for i, each in enumerate(answers.examples) if each.id in ids]
    return to_masks(PART, places, len(answers.examples))


def cross_tabulate(answers: SystemAnswers, options: AnalysisOptions) -> CrossTable | None:
    """Gold label by similarity, where the examples have both."""
    labels, bins = answers.items.label_slices, answers.items.similarity_bins
    if not labels or not bins:
        return None
    cells = cross_slices(
        answers.sample,
        labels,
        bins,
        scale=answers.scale,
        resamples=options.resamples,
        seed=options.seed,
    )
    if answers.items.label_question == answers.task.question:
        in_bin = {each.where: each.mask for each in bins}
        in_bin[""] = np.ones(len(answers.examples), dtype=bool)
        cells = [
            replace(cell, answered=_count_answers(answers, cell.label, in_bin[cell.bin]))
            for cell in cells
        ]
    return CrossTable(
        metric=answers.metric.name,
        unit=answers.unit,
        labels=tuple(each.where for each in labels),
        bins=tuple(each.where for each in bins),
        cells=tuple(cells),
    )


def _count_answers(answers: SystemAnswers, label: str, mask: Any) -> float:
    """How many items of a part were answered with a label (all of them for no label), mean over seeds."""
    if not label:
        return float(mask.sum())
    counts = []
    for items in answers.runs:
        is_label = np.array([answer == label for answer in items.answers])
        counts.append((is_label & mask).sum())
    return float(np.mean(counts))


def tabulate_confusion(answers: SystemAnswers, options: AnalysisOptions) -> Confusion | None:
    """Confusion, for tasks with labels."""
    if answers.task.kind not in LABELLED_KINDS:
        return None
    texts = {
        id(items): [UNREAD if answer is None else str(answer) for answer in items.answers]
        for items in answers.runs
    }
    return average_confusion(
        [count_confusion(items) for items in answers.runs],
        [str(label) for label in answers.runs[0].gold],
        [texts[id(items)] for items in answers.runs],
        answers.sample.units,
        resamples=options.resamples,
        seed=options.seed,
    )


def average_confusion(
    counts: Sequence[Counts],
    gold: Sequence[str],
    answers: Sequence[Sequence[str]],
    units: Ints,
    *,
    resamples: int,
    seed: int = 0,
) -> Confusion:
    """Counts averaged over runs, and each label on its own; `answers` has a row a run."""
    labels = list(dict.fromkeys(label for run in counts for label in run))
    given = list(dict.fromkeys(name for run in counts for row in run.values() for name in row))
    columns = [label for label in labels if label in given]
    columns += [name for name in given if name not in labels]
    mean = {
        label: {
            name: float(np.mean([run.get(label, {}).get(name, 0) for run in counts]))
            for name in columns
        }
        for label in labels
    }
    return Confusion(
        labels=tuple(labels),
        columns=tuple(columns),
        counts=mean,
        classes=_score_classes(labels, gold, answers, units, resamples, seed),
    )


def _score_classes(
    labels: Sequence[str],
    gold: Sequence[str],
    answers: Sequence[Sequence[str]],
    units: Ints,
    resamples: int,
    seed: int,
) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of each label."""
    sums = {}  # runs that answered alike are one list
    for run in answers:
        if id(run) not in sums:
            table = _count_classes(labels, gold, run)
            resampled = resample_sums(table, units, resamples=resamples, seed=seed)
            sums[id(run)] = (table.sum(axis=0), resampled)
    exact = np.stack([sums[id(run)][0] for run in answers])
    drawn = np.stack([sums[id(run)][1] for run in answers])
    exact_rates, drawn_rates = _compute_rates(exact), _compute_rates(drawn)
    scores = []
    for i, label in enumerate(labels):
        n = int(exact[0, 2 * len(labels) + i])
        precision, recall, f1 = (
            make_figure(
                values[:, i], resampled[:, :, i].mean(axis=0), units=count_units(units), n=n
            )
            for values, resampled in zip(exact_rates, drawn_rates, strict=True)
        )
        answered = float(exact[:, len(labels) + i].mean())
        scores.append(
            ClassScore(
                label=label, gold=n, answered=answered, precision=precision, recall=recall, f1=f1
            )
        )
    return tuple(scores)


def _count_classes(labels: Sequence[str], gold: Sequence[str], answers: Sequence[str]) -> Floats:
    """Items by three times the labels: right, answered and gold of each label."""
    place = {label: i for i, label in enumerate(labels)}

    def is_label(values: Sequence[str]) -> Any:
        indices = np.array([place.get(value, -1) for value in values], dtype=np.int64)
        return indices[:, None] == np.arange(len(labels))

    in_gold, in_answers = is_label(gold), is_label(answers)
    return np.concatenate([in_gold & in_answers, in_answers, in_gold], axis=1).astype(np.float64)


def _compute_rates(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision, recall, F1 from what `_count_classes` counts; NaN where there is nothing to divide by."""
    hits, answered, in_gold = np.split(counts, 3, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return hits / answered, hits / in_gold, 2 * hits / (answered + in_gold)


def measure_calibration(
    answers: SystemAnswers, options: AnalysisOptions
) -> tuple[Calibration | None, str]:
    """Calibration, or why there is none."""
    probabilities = answers.probabilities
    if isinstance(probabilities, str):
        return None, probabilities
    kept = np.flatnonzero(np.isfinite(probabilities).all(axis=(0, 2)))
    if not len(kept):
        return None, "no item has the probabilities of every run"
    units = np.unique(answers.sample.units[kept], return_inverse=True)[1].astype(np.int64)
    gold, given = answers.gold_indices[kept], answers.answer_indices[:, kept]
    runs = {}  # by their items: runs that answered alike are one
    for i, items in enumerate(answers.runs):
        if id(items) not in runs:
            runs[id(items)] = RunProbabilities(probabilities[i, kept], gold, given[i])
    left_out = len(answers.examples) - len(kept)
    calibration = calibrate(
        [runs[id(items)] for items in answers.runs],
        units,
        left_out=left_out,
        resamples=options.resamples,
        seed=options.seed,
    )
    return calibration, ""


def rank_surprises(
    answers: SystemAnswers, options: AnalysisOptions
) -> tuple[tuple[Surprise, ...], str]:
    """The most surprising errors (sure and wrong, far from gold, or wholly missed), and what they are ranked by."""
    gold, probabilities = answers.runs[0].gold, answers.probabilities
    if answers.task.kind == "similarity":
        scores = np.array([items.answers for items in answers.runs], dtype=np.float64)
        surprises = surprises_by_error(answers.examples, gold, scores)
        return tuple(surprises[: options.top]), "error"
    if not isinstance(probabilities, str):
        kept = np.flatnonzero(np.isfinite(probabilities).all(axis=(0, 2))).tolist()
        labels: Sequence[Any] = answers.labels
        if answers.task.kind == "choice":  # answers are numbers there
            labels = [int(label) for label in labels]
        surprises = surprises_by_probability(
            [answers.examples[i] for i in kept],
            labels,
            probabilities[:, kept],
            answers.gold_indices[kept],
            answers.answer_indices[:, kept],
        )
        return tuple(surprises[: options.top]), "probability"
    details = _item_scores(answers)
    if details is None:
        return (), ""
    given = [items.answers for items in answers.runs]
    surprises = surprises_by_score(answers.examples, gold, given, details)
    return tuple(surprises[: options.top]), "score"


def _item_scores(answers: SystemAnswers) -> Floats | None:
    """Runs by items, under the last of the task's metrics that scores items from 0 to 1."""
    for name in reversed(answers.task.metrics):
        metric = metrics()[name]
        if metric.needs_scores or metric.better != "higher":
            continue
        details = [metric.evaluate(items, "official").detail for items in answers.runs]
        known = [each for each in details if each is not None]
        if len(known) == len(details) and all(len(each) == len(answers.examples) for each in known):
            return np.stack(known)
    return None


def surprises_by_probability(
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
    surprises = []
    for i in np.flatnonzero((2 * wrong > len(answers)) & (gold >= 0)).tolist():
        given = answers[:, i]
        given = given[(given != gold[i]) & (given >= 0)]
        if not len(given):  # no wrong run could be read
            continue
        answer = int(np.bincount(given).argmax())
        p_gold = float(mean[i, gold[i]])
        surprises.append(
            _surprise(
                examples[i],
                labels[gold[i]],
                labels[answer],
                int(wrong[i]),
                p_gold=p_gold,
                p_answer=float(mean[i, answer]),
                bits=-log2(max(p_gold, MIN_PROBABILITY)),
            )
        )
    return sorted(surprises, key=lambda surprise: (-(surprise.bits or 0), surprise.example))


def surprises_by_error(
    examples: Sequence[Example], gold: Sequence[float], answers: Floats, step: float = 1.0
) -> list[Surprise]:
    """Scores by how far their mean over runs is from gold; a run is wrong where it is more than `step` off."""
    mean = answers.mean(axis=0)
    errors = np.abs(mean - np.asarray(gold))
    wrong = (np.abs(answers - np.asarray(gold)) > step).sum(axis=0)
    return [
        _surprise(examples[i], gold[i], float(mean[i]), int(wrong[i]), error=float(errors[i]))
        for i in np.argsort(-errors, kind="stable")
        if wrong[i]
    ]


def surprises_by_score(
    examples: Sequence[Example],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    details: Floats,
) -> list[Surprise]:
    """Items by what their score (runs by items, best is 1) lacks on the mean."""
    lacks = 1 - details.mean(axis=0)
    wrong = (details < 1).sum(axis=0)
    order = sorted(np.flatnonzero(lacks > 0).tolist(), key=lambda i: (-lacks[i], examples[i].id))
    surprises = []
    for i in order:
        answer = most_frequent([run[i] for run in answers])
        lack = float(lacks[i])
        surprises.append(_surprise(examples[i], gold[i], answer, int(wrong[i]), error=lack))
    return surprises


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
