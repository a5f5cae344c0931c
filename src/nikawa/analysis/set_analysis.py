"""The analyses of one system on one set: score, slices, label by similarity, confusion, calibration, surprising errors, lexical overlap.

Each figure is the mean over the seeds of the system; intervals are over groups of items.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import log2
from sys import intern
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from nikawa.analysis.answers import SystemAnswers, label_indices
from nikawa.analysis.calibration import RunProbabilities, calibrate
from nikawa.analysis.results import (
    Calibration,
    ClassScore,
    Confusion,
    CrossTable,
    Overlap,
    Surprise,
)
from nikawa.checks.overlap import (
    TokenOverlap,
    join_overlaps,
    mean_share,
    overlap_bins,
    rank_correlation,
    shared_tokens,
)
from nikawa.datasets.task_lookup import declared_protocol
from nikawa.errors import MissingExtra
from nikawa.metrics import metrics
from nikawa.metrics.base import f1, ratio
from nikawa.metrics.classes import class_counts, split_counts
from nikawa.metrics.confusion import UNREAD, count_confusion
from nikawa.records import LABELLED_KINDS, Example, Task
from nikawa.stats.masks import make_figure, measure_parts, resample_sums
from nikawa.stats.resample import Floats, Ints, count_units
from nikawa.stats.results import Figure, Slice
from nikawa.stats.slice_tests import SLICE_RESAMPLES, cross_slices, measure_slices
from nikawa.stats.slices import SliceMask, to_masks
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

PART = "part"
"""The key of the parts that a dataset declares, such as problems seen and unseen in training."""
MIN_PROBABILITY = 1e-12
"""The smallest probability of gold that a surprise counts."""

SIDES = {"reading": ("question", "context"), "inference": ("hypothesis", "premise")}
"""Kind to (the input whose tokens are looked for, the input they are looked for in)."""
NO_TOKENISER, PLAIN = "none", "whitespace"
"""The segmentation that leaves the overlap out, and that of languages without an analyser."""
TITLE_MARK = " [SEP] "
"""What parts title and body in a published context: only the body counts."""

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

    @property
    def draws(self) -> dict[str, int]:
        """The keyword arguments of functions that resample."""
        return {"resamples": self.resamples, "seed": self.seed}


def score_whole(answers: SystemAnswers, options: AnalysisOptions) -> Figure:
    """The metric over all items: the official value, its interval."""
    n, sample = len(answers.examples), answers.sample
    everything = np.ones(n, dtype=bool)
    parts = measure_parts(sample, [everything], **options.draws)
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
    slices = measure_slices(answers.sample, masks, scale=answers.scale, **options.draws)
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
        **options.draws,
    )
    if answers.items.label_question == answers.task.question:
        in_bin = {each.where: each.mask for each in bins}
        in_bin[""] = np.ones(len(answers.examples), dtype=bool)
        cells = [
            replace(cell, answered=count_answers(answers, cell.label, in_bin[cell.bin]))
            for cell in cells
        ]
    return CrossTable(
        metric=answers.metric.name,
        unit=answers.unit,
        labels=tuple(each.where for each in labels),
        bins=tuple(each.where for each in bins),
        cells=tuple(cells),
    )


def count_answers(answers: SystemAnswers, label: str, mask: Any) -> float:
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
    distinct = {id(items): items for items in answers.runs}
    counts = {name: count_confusion(items) for name, items in distinct.items()}
    return average_confusion(
        [counts[id(items)] for items in answers.runs],
        answers.runs[0].gold,
        [items.answers for items in answers.runs],
        answers.sample.units,
        **options.draws,
    )


def average_confusion(
    counts: Sequence[Counts],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    units: Ints,
    *,
    resamples: int,
    seed: int = 0,
) -> Confusion:
    """Counts averaged over runs, and each label on its own; `answers` has one row per run."""
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
        classes=score_classes(labels, gold, answers, units, resamples, seed),
    )


def score_classes(
    labels: Sequence[str],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    units: Ints,
    resamples: int,
    seed: int,
) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of each label."""
    sums = {}  # runs with the same answers share one list
    gold_codes = label_indices(gold, labels)
    for run in answers:
        if id(run) not in sums:
            codes = label_indices(run, labels, unread=UNREAD)
            table = class_counts(gold_codes, codes, len(labels))
            resampled = resample_sums(table, units, resamples=resamples, seed=seed)
            sums[id(run)] = (table.sum(axis=0, dtype=np.float64), resampled)
    exact = np.stack([sums[id(run)][0] for run in answers])
    drawn = np.stack([sums[id(run)][1] for run in answers])
    exact_rates, drawn_rates = compute_rates(exact), compute_rates(drawn)
    scores = []
    for i, label in enumerate(labels):
        n = int(exact[0, 2 * len(labels) + i])
        precision, recall, f1_score = (
            make_figure(
                values[:, i], resampled[:, :, i].mean(axis=0), units=count_units(units), n=n
            )
            for values, resampled in zip(exact_rates, drawn_rates, strict=True)
        )
        answered = float(exact[:, len(labels) + i].mean())
        scores.append(
            ClassScore(
                label=label,
                gold=n,
                answered=answered,
                precision=precision,
                recall=recall,
                f1=f1_score,
            )
        )
    return tuple(scores)


def compute_rates(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision, recall, F1 from what `class_counts` counts; NaN where there is nothing to divide by."""
    hits, answered, wanted = split_counts(counts)
    return (
        ratio(hits, answered, np.nan),
        ratio(hits, wanted, np.nan),
        f1(hits, answered, wanted, np.nan),
    )


def measure_calibration(
    answers: SystemAnswers, options: AnalysisOptions
) -> tuple[Calibration | None, str]:
    """Calibration, or the reason for a missing one."""
    probabilities = answers.probabilities
    if isinstance(probabilities, str):
        return None, probabilities
    kept = np.flatnonzero(np.isfinite(probabilities).all(axis=(0, 2)))
    if not len(kept):
        return None, "no item has probabilities from every run"
    units = np.unique(answers.sample.units[kept], return_inverse=True)[1].astype(np.int64)
    gold, given = answers.gold_indices[kept], answers.answer_indices[:, kept]
    runs = {}  # by their items: runs with the same answers count once
    for i, items in enumerate(answers.runs):
        if id(items) not in runs:
            runs[id(items)] = RunProbabilities(probabilities[i, kept], gold, given[i])
    left_out = len(answers.examples) - len(kept)
    calibration = calibrate(
        [runs[id(items)] for items in answers.runs],
        units,
        left_out=left_out,
        **options.draws,
    )
    return calibration, ""


def rank_surprises(
    answers: SystemAnswers, options: AnalysisOptions
) -> tuple[tuple[Surprise, ...], str]:
    """The most surprising errors (sure and wrong, far from gold, or wholly missed), and what they are ranked by."""
    gold, probabilities = answers.runs[0].gold, answers.probabilities
    if answers.task.kind == "similarity":
        scores = np.array([items.answers for items in answers.runs], dtype=np.float64)
        surprises = surprises_by_error(answers.examples, gold, scores, top=options.top)
        return tuple(surprises), "error"
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
            top=options.top,
        )
        return tuple(surprises), "probability"
    details = stack_item_scores(answers)
    if details is None:
        return (), ""
    given = [items.answers for items in answers.runs]
    surprises = surprises_by_score(answers.examples, gold, given, details, top=options.top)
    return tuple(surprises), "score"


def stack_item_scores(answers: SystemAnswers) -> Floats | None:
    """Runs by items, under the last of the task's metrics that scores items from 0 to 1."""
    for name in reversed(answers.task.metrics):
        metric = metrics()[name]
        if metric.needs_scores or metric.better != "higher":
            continue
        details = [metric.evaluate(items, "official").detail for items in answers.runs]
        known = [each for each in details if each is not None]
        is_complete = len(known) == len(details)
        if is_complete and all(len(each) == len(answers.examples) for each in known):
            return np.stack(known)
    return None


def surprises_by_probability(
    examples: Sequence[Example],
    labels: Sequence[Any],
    probabilities: Floats,
    gold: Ints,
    answers: Ints,
    *,
    top: int | None = None,
) -> list[Surprise]:
    """Wrong answers by how little probability gold got, the `top` ones.

    `probabilities` (runs, items, labels) and `answers` (runs, items) are places in `labels`. An item counts as wrong where more than
    half of the runs are.
    """
    mean = probabilities.mean(axis=0)
    wrong = (answers != gold).sum(axis=0)
    is_readable = ((answers != gold) & (answers >= 0)).any(axis=0)  # in a wrong run
    missed = np.flatnonzero((2 * wrong > len(answers)) & (gold >= 0) & is_readable)

    def rank(i: int) -> tuple[float, str]:
        return -_bits(mean[i, gold[i]]), examples[i].id

    surprises = []
    for i in take_first(missed, rank, top):
        given = answers[:, i]
        given = given[(given != gold[i]) & (given >= 0)]
        answer = int(np.bincount(given).argmax())
        p_gold = float(mean[i, gold[i]])
        surprises.append(
            make_surprise(
                examples[i],
                labels[gold[i]],
                labels[answer],
                int(wrong[i]),
                p_gold=p_gold,
                p_answer=float(mean[i, answer]),
                bits=_bits(p_gold),
            )
        )
    return surprises


def take_first(
    places: Ints, rank: Callable[[int], tuple[float, str]], top: int | None
) -> list[int]:
    """The `top` places of least rank, or all of them, in the order of their ranks."""
    if top is None:
        return sorted(places.tolist(), key=rank)
    return nsmallest(top, map(int, places), key=rank)


def _bits(p_gold: float) -> float:
    return -log2(max(float(p_gold), MIN_PROBABILITY))


def surprises_by_error(
    examples: Sequence[Example],
    gold: Sequence[float],
    answers: Floats,
    step: float = 1.0,
    *,
    top: int | None = None,
) -> list[Surprise]:
    """Scores by how far their mean over runs is from gold, the `top` ones; a run is wrong where it is more than `step` off."""
    mean = answers.mean(axis=0)
    errors = np.abs(mean - np.asarray(gold))
    wrong = (np.abs(answers - np.asarray(gold)) > step).sum(axis=0)
    surprises = []
    order = np.argsort(-errors, kind="stable")
    for i in order[wrong[order] > 0][:top]:
        answer, error = float(mean[i]), float(errors[i])
        surprises.append(make_surprise(examples[i], gold[i], answer, int(wrong[i]), error=error))
    return surprises


def surprises_by_score(
    examples: Sequence[Example],
    gold: Sequence[Any],
    answers: Sequence[Sequence[Any]],
    details: Floats,
    *,
    top: int | None = None,
) -> list[Surprise]:
    """Items by what their score (runs by items, best is 1) lacks on the mean, the `top` ones."""
    lacks = 1 - details.mean(axis=0)
    wrong = (details < 1).sum(axis=0)

    def rank(i: int) -> tuple[float, str]:
        return -lacks[i], examples[i].id

    surprises = []
    for i in take_first(np.flatnonzero(lacks > 0), rank, top):
        answer = most_frequent([run[i] for run in answers])
        lack = float(lacks[i])
        surprises.append(make_surprise(examples[i], gold[i], answer, int(wrong[i]), error=lack))
    return surprises


def most_frequent(answers: Sequence[Any]) -> Any:
    """The answer given most often, of equals the first."""
    keys = [msgspec.json.encode(answer) for answer in answers]
    return answers[keys.index(Counter(keys).most_common(1)[0][0])]


def make_surprise(
    example: Example, gold: Any, answer: Any, wrong: int, **numbers: float
) -> Surprise:
    """An example as a surprise; `numbers` are the fields that rank it, and further fields."""
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


def sides_of(task: Task) -> tuple[str, str] | None:
    """The two inputs whose tokens are compared; None without two texts."""
    if task.kind == "similarity":
        return task.inputs[1], task.inputs[0]
    return SIDES.get(task.kind)


EXAMPLES_AT_ONCE = 10_000
"""Examples whose tokens are in memory at a time."""
MAX_TEXTS_KEPT = 100_000
"""Texts whose tokens are kept for other sets: every published set has fewer. Of a larger set none are kept."""


class Overlaps:
    """Overlaps of an analysis: as many texts as are kept are cut into tokens once, whatever set they are in."""

    def __init__(self, options: AnalysisOptions) -> None:
        self.options = options
        self._tokens: dict[str, dict[str, list[str]]] = {}
        """Analyser to text to tokens."""
        self._shared: dict[tuple[int, str], tuple[TokenOverlap, Figure]] = {}
        """Item set and analyser to what its texts share, and the mean of it."""

    def measure(self, answers: SystemAnswers) -> tuple[Overlap | None, str]:
        """The overlap of a set and its relation to the metric, or the reason for a missing one."""
        task, language = answers.task, answers.loaded.sets.language
        sides = sides_of(task)
        if sides is None:
            return None, f"{task.kind} tasks do not have two texts"
        if self.options.tokeniser == NO_TOKENISER:
            return None, "left out by request"
        own = language if language in DEFAULTS else PLAIN
        try:
            cutter = analyser(self.options.tokeniser or own, cache=0)
        except MissingExtra as problem:
            return None, str(problem)
        if cutter.language not in ("", language):
            return None, f"{cutter.name} is for {cutter.language}, but the texts are {language}"
        key = (id(answers.items), cutter.name)
        if key not in self._shared:
            known = self._tokens.setdefault(cutter.name, {})
            shared = count_shared(answers.examples, sides, cutter, known)
            mean = mean_share(shared, answers.items.units, **self.options.draws)
            self._shared[key] = shared, mean
        return self._relate(answers, sides, *self._shared[key], cutter.name), ""

    def _relate(
        self,
        answers: SystemAnswers,
        sides: tuple[str, str],
        shared: TokenOverlap,
        mean: Figure,
        segmentation: str,
    ) -> Overlap:
        """The overlap of the texts with the metric on them."""
        sample, shares = answers.sample, shared.shares
        detail = sample.detail
        if detail is None:  # a correlation has no score an item
            detail = score_closeness(answers)
        draws = self.options.draws
        gold = [example.gold.get(answers.task.question) for example in answers.examples]
        labels = {label for label in gold if isinstance(label, str) and answers.task.labels}
        return Overlap(
            of=sides[0],
            inside=sides[1],
            segmentation=segmentation,
            n=len(shares),
            mean=mean,
            pooled=shared.pooled,
            labels={
                name: float(shares[[label == name for label in gold]].mean())
                for name in sorted(labels)
            },
            metric=answers.metric.name,
            unit=answers.unit,
            bins=overlap_bins(shares, sample, scale=answers.scale, **draws),
            correlation=rank_correlation(shares, detail, sample.units, **draws),
        )


def count_shared(
    examples: Sequence[Example],
    sides: tuple[str, str],
    cutter: Analyser,
    known: dict[str, list[str]] | None = None,
) -> TokenOverlap:
    """Tokens of one input that are in the other; `known` caches the tokens of texts, as many as it may hold."""
    kept = {} if known is None else known
    parts = []
    for start in range(0, len(examples), EXAMPLES_AT_ONCE):
        part = examples[start : start + EXAMPLES_AT_ONCE]
        searched = [str(example.inputs.get(sides[0], "")) for example in part]
        holding = [
            str(example.inputs.get(sides[1], "")).rpartition(TITLE_MARK)[2] for example in part
        ]
        distinct = list(dict.fromkeys((*searched, *holding)))
        tokens = {text: kept[text] for text in distinct if text in kept}
        new = [text for text in distinct if text not in tokens]
        for text, cut in zip(new, cutter.analyse_many(new), strict=True):
            tokens[text] = [intern(token.surface) for token in cut]  # words recur
        if 2 * len(examples) <= MAX_TEXTS_KEPT >= len(kept) + len(new):
            kept |= {text: tokens[text] for text in new}
        token_sets = {text: frozenset(tokens[text]) for text in dict.fromkeys(holding)}
        pairs = zip(searched, holding, strict=True)
        parts.append(shared_tokens((tokens[one], token_sets[other]) for one, other in pairs))
    return join_overlaps(parts)


def score_closeness(answers: SystemAnswers) -> Floats:
    """One score per item: the squared error with its sign turned, or whether the answer is gold; mean over seeds."""
    is_similarity = answers.task.kind == "similarity"
    rows = []
    for run in answers.runs:
        pairs = zip(run.gold, run.answers, strict=True)
        if is_similarity:
            rows.append([-((answer - gold) ** 2) for gold, answer in pairs])
        else:
            rows.append([gold == answer for gold, answer in pairs])
    mean: Floats = np.array(rows, dtype=np.float64).mean(axis=0)
    return mean
