"""Analyses of several systems: partial inputs against the majority, learning curves, stress.

A system that saw only some inputs, such as only the hypothesis, should not beat the most frequent label. If it does, the
data gives the label away (Gururangan et al. 2018). A learning curve joins systems that learned from shares, or shots, of the same
data. Stress compares the answers to examples with answers to examples that were made from them (see `stress`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2

import numpy as np
from msgspec.structs import replace

from nikawa.analysis.answers import SystemAnswers
from nikawa.analysis.results import Curve, CurvePoint, PartialInput, Stress, StressCell
from nikawa.analysis.set_analysis import AnalysisOptions, score_whole
from nikawa.analysis.stress import (
    MEASURES,
    NEUTRAL,
    StressCount,
    StressItem,
    choose_measure,
    keep_comparable,
    operation_of,
    parent_of,
    stress_cells,
    stress_item,
)
from nikawa.io.json import encode_json
from nikawa.metrics.accuracy import mark_right
from nikawa.records import CLASS_KINDS
from nikawa.runs.data import set_name
from nikawa.runs.load import LoadedSystem
from nikawa.runs.records import RunSpec
from nikawa.spec import name_and_split
from nikawa.stats.distributions import normal_p
from nikawa.stats.masks import finite_or_none, make_figure, measure_parts, resample_sums
from nikawa.stats.resample import Floats, correct_holm, count_units
from nikawa.stats.results import Figure
from nikawa.stats.seeds import SHARE_LIMITS, mean_p


def compare_partial_inputs(
    every: Sequence[SystemAnswers], options: AnalysisOptions
) -> tuple[PartialInput, ...]:
    """Every system that saw only some inputs, against always answering the most frequent gold label."""
    results = [
        compare_with_majority(answers, every, options)
        for answers in every
        if answers.spec.variation.inputs and answers.task.kind in CLASS_KINDS
    ]
    adjusted = correct_holm([each.p for each in results])
    return tuple(replace(each, p_holm=p) for each, p in zip(results, adjusted, strict=True))


def compare_with_majority(
    answers: SystemAnswers, every: Iterable[SystemAnswers], options: AnalysisOptions
) -> PartialInput:
    """One system against the most frequent gold label, item by item; its p is not corrected yet."""
    gold, units = answers.runs[0].gold, answers.sample.units
    n, unit_count = len(gold), count_units(units)
    label, count = Counter(gold).most_common(1)[0]
    hits = np.stack([mark_right(items.gold, items.answers) for items in answers.runs])
    majority_hits = mark_right(gold, [label] * n)
    table = np.column_stack([*hits, *(hits - majority_hits), np.ones(n)])
    drawn = resample_sums(table, units, **options.draws)
    scores_drawn, gaps_drawn = np.split((drawn[:, :-1] / drawn[:, -1:]).T, 2)  # runs by resamples
    scores = hits.mean(axis=1)
    gaps = scores - majority_hits.mean()
    p = gap_p(gaps, gaps_drawn)
    if len(answers.runs) == 1:
        scores_drawn, gaps_drawn = scores_drawn[0], gaps_drawn[0]
    spec = answers.spec
    return PartialInput(
        task=spec.task,
        set=answers.set,
        model=spec.model,
        inputs=spec.variation.inputs,
        seeds=answers.loaded.seeds,
        n=n,
        score=make_figure(
            scores, scores_drawn, units=unit_count, scale=100, n=n, limits=SHARE_LIMITS
        ),
        majority=100 * count / n,
        majority_label=str(label),
        difference=make_figure(gaps, gaps_drawn, units=unit_count, scale=100, n=n),
        p=p,
        p_holm=p,
        full=find_full_accuracy(answers, every),
    )


def gap_p(gaps: Floats, drawn: Floats) -> float:
    """Two-sided p that the mean of runs is 0: normal for one, Student's t over items and seeds for several.

    `drawn` is runs by resamples.
    """
    if len(drawn) > 1:
        return mean_p(gaps, drawn)
    return normal_p(float(gaps[0]), float(drawn[0].std(ddof=1)))


def find_full_accuracy(answers: SystemAnswers, every: Iterable[SystemAnswers]) -> float | None:
    """The accuracy of the same model with all inputs; None where that was not run."""
    spec = answers.spec
    full = _seedless_key(replace(spec, variation=replace(spec.variation, inputs=())))
    for other in every:
        if other.set == answers.set and _seedless_key(other.spec) == full:
            accuracies = [mark_right(items.gold, items.answers).mean() for items in other.runs]
            return 100 * float(np.mean(accuracies))
    return None


def _seedless_key(spec: RunSpec) -> bytes:
    """What defines a system."""
    return encode_json(replace(spec, seed=0))


def learning_curves(every: Sequence[SystemAnswers], options: AnalysisOptions) -> tuple[Curve, ...]:
    """A curve for every model that learned from several shares, or shots, of the same training data."""
    groups: dict[tuple[str, bytes], list[SystemAnswers]] = {}
    for answers in every:
        spec = answers.spec
        whole = replace(spec, variation=replace(spec.variation, share=1.0, shots=0))
        groups.setdefault((answers.set, _seedless_key(whole)), []).append(answers)
    return tuple(draw_curve(group, options) for group in groups.values() if len(group) > 1)


def draw_curve(group: Sequence[SystemAnswers], options: AnalysisOptions) -> Curve:
    """The curve of systems that differ in how much they learned from, from few examples to many."""
    ordered = sorted(group, key=lambda each: (each.loaded.trained, each.spec.variation.share))
    first = ordered[0]
    points = [
        CurvePoint(
            share=each.spec.variation.share,
            shots=each.spec.variation.shots,
            trained=each.loaded.trained,
            score=score_whole(each, options),
            seeds=each.loaded.seeds,
        )
        for each in ordered
    ]
    return Curve(
        task=first.task.name,
        set=first.set,
        model=first.spec.model,
        metric=first.metric.name,
        unit=first.unit,
        points=tuple(points),
        doubling=gain_per_doubling(ordered[-2], ordered[-1], options),
    )


def gain_per_doubling(
    fewer: SystemAnswers, more: SystemAnswers, options: AnalysisOptions
) -> Figure | None:
    """The last step of a curve, as if it had been one doubling; the items are resampled for both together."""
    few, many, n = fewer.loaded.trained, more.loaded.trained, len(fewer.examples)
    if not few or many <= few or n != len(more.examples):
        return None
    everything = np.ones(n, dtype=bool)
    one, two = (measure_parts(each.sample, [everything], **options.draws) for each in (fewer, more))
    gap = np.array([more.official.mean() - fewer.official.mean()])
    drawn = two.drawn[:, 0] - one.drawn[:, 0]
    same_seeds = fewer.loaded.seeds == more.loaded.seeds
    if one.runs is not None and two.runs is not None and same_seeds:  # seed by seed
        gap = more.official - fewer.official
        drawn = two.runs[:, :, 0] - one.runs[:, :, 0]
    doublings = log2(many / few)
    units = count_units(fewer.sample.units)
    gain = make_figure(gap / doublings, drawn / doublings, units=units, scale=more.scale, n=n)
    return replace(gain, sd=None)


def stress_systems(systems: Iterable[LoadedSystem], options: AnalysisOptions) -> tuple[Stress, ...]:
    """Consistency under perturbation, for systems that answered originals and what was made from them."""
    results = (stress_system(system, options) for system in systems)
    return tuple(result for result in results if result is not None)


def stress_system(system: LoadedSystem, options: AnalysisOptions) -> Stress | None:
    """Consistency of one system; None where it answered no example together with its original."""
    measure = choose_measure(system.task)
    runs = [list(find_stress_items(system, number)) for number in range(len(system.runs))]
    if not runs[0]:
        return None
    runs = [keep_comparable(run, measure) for run in runs]
    has_neutral = NEUTRAL in system.task.labels
    pooled = stress_cells(
        [item for run in runs for item in run],
        MEASURES[measure],
        neutral=has_neutral,
        **options.draws,
    )
    each = []
    for run in runs:
        cells = stress_cells(run, MEASURES[measure], neutral=has_neutral, resamples=1)
        each.append({_cell_key(cell): cell for cell in cells})
    spec = system.spec
    return Stress(
        task=spec.task,
        model=spec.model,
        variation=spec.variation.title,
        seeds=system.seeds,
        measure=measure,
        cells=tuple(average_cell(cell, each) for cell in pooled),
    )


CellKey = tuple[str, str, str]


def _cell_key(cell: StressCount) -> CellKey:
    return cell.operation, cell.case, cell.gold


def average_cell(pooled: StressCount, runs: Sequence[Mapping[CellKey, StressCount]]) -> StressCell:
    """Means over seeds; the interval is over premises, which bring the answers of all seeds with them."""
    key = _cell_key(pooled)
    own = [run[key] for run in runs if key in run]
    values: Floats = np.array([np.nan if cell.value is None else cell.value for cell in own])
    return StressCell(
        operation=pooled.operation,
        case=pooled.case,
        gold=pooled.gold,
        n=own[0].n,
        value=finite_or_none(values.mean()),
        low=pooled.low,
        high=pooled.high,
        sd=finite_or_none(values.std(ddof=1)) if len(own) > 1 else None,
        to_neutral=pooled.to_neutral,
        human=own[0].human,
        human_n=own[0].human_n,
    )


def find_stress_items(system: LoadedSystem, number: int) -> Iterator[StressItem]:
    """Each perturbed example of one seed with the answers around it, where the original was answered too."""
    answers, task = system.runs[number].answers_by_id, system.task
    for name, examples in system.sets.shown.items():
        for example in examples:
            operation = operation_of(example)
            if not operation:
                continue
            source, parent = parent_of(example)
            dataset, split = name_and_split(source)
            original = split if dataset == system.sets.card.name else set_name(source, task)
            before = answers.get(original, {}).get(parent) if source else None
            after = answers[name].get(example.id)
            if before is not None and after is not None:
                yield stress_item(task, operation, example, before, after)
