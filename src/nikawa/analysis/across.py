"""What is seen only in several systems: partial inputs against the majority, learning curves, stress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log2
from typing import Any

import numpy as np
from msgspec.structs import replace

from nikawa.analysis.answers import SystemAnswers
from nikawa.analysis.results import Curve, CurvePoint, Figure, PartialInput, Stress, StressCell
from nikawa.analysis.set_analysis import AnalysisOptions, score_whole
from nikawa.analysis.stress import (
    MEASURES,
    StressCount,
    StressItem,
    parent_of,
    stress_cells,
    stress_item,
)
from nikawa.analysis.systems import Loaded
from nikawa.io.json import encode_json
from nikawa.metrics.accuracy import right
from nikawa.records import Example, Prediction
from nikawa.runs.data import set_name
from nikawa.runs.records import Variation
from nikawa.spec import name_and_split
from nikawa.stats.masks import figure, finite_or_none, measure_parts, resampled_sums
from nikawa.stats.resample import Floats, count_units, holm
from nikawa.stats.run_means import SHARE, mean_p
from nikawa.stats.slice_tests import normal_p

KINDS_WITH_MAJORITY = ("text", "inference", "relation", "choice")
"""Kinds that have a majority label."""


def compare_partial_inputs(
    sittings: Sequence[SystemAnswers], how: AnalysisOptions
) -> tuple[PartialInput, ...]:
    """Every system that saw only some inputs, against always answering the most frequent gold label."""
    some = [s for s in sittings if s.loaded.system.inputs and s.task.kind in KINDS_WITH_MAJORITY]
    found = [_partial(sitting, sittings, how) for sitting in some]
    adjusted = holm([each.p for each in found])
    return tuple(replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True))


def _partial(
    sitting: SystemAnswers, others: Iterable[SystemAnswers], how: AnalysisOptions
) -> PartialInput:
    gold = sitting.runs[0].gold
    label, count = Counter(gold).most_common(1)[0]
    hits = np.stack([right(items.gold, items.answers) for items in sitting.runs])
    base = right(gold, [label] * len(gold))
    table = np.column_stack([*hits, *(hits - base), np.ones(len(gold))])
    drawn = resampled_sums(table, sitting.sample.units, resamples=how.resamples, seed=how.seed)
    score, gap = np.split((drawn[:, :-1] / drawn[:, -1:]).T, 2)  # runs by resamples
    values, n = hits.mean(axis=1), len(gold)
    units = count_units(sitting.sample.units)
    p = _p(values - base.mean(), gap)
    system = sitting.loaded.system
    return PartialInput(
        task=system.task,
        set=sitting.set,
        model=system.model,
        inputs=system.inputs,
        seeds=system.seeds,
        n=n,
        score=figure(values, _several(score), units=units, scale=100, n=n, limits=SHARE),
        majority=100 * count / n,
        majority_label=str(label),
        difference=figure(values - base.mean(), _several(gap), units=units, scale=100, n=n),
        p=p,
        p_holm=p,
        full=_full(sitting, others),
    )


def _several(drawn: Floats) -> Floats:
    """As `figure` takes them: runs by resamples, or the resamples of the only run."""
    return drawn if len(drawn) > 1 else drawn[0]


def _p(values: Floats, drawn: Floats) -> float:
    """Two-sided p that the mean of runs is 0: normal for one, Student's t over items and seeds for several."""
    if len(drawn) > 1:
        return mean_p(values, drawn)
    return normal_p(float(values[0]), float(drawn[0].std(ddof=1)))


def _full(sitting: SystemAnswers, others: Iterable[SystemAnswers]) -> float | None:
    """The accuracy of the same model with all inputs."""
    key = _without(sitting.loaded, inputs=())
    same = (s for s in others if s.set == sitting.set and _without(s.loaded, inputs=None) == key)
    found = next(same, None)
    return (
        None
        if found is None
        else 100 * float(np.mean([right(r.gold, r.answers).mean() for r in found.runs]))
    )


def _without(loaded: Loaded, *, inputs: tuple[str, ...] | None) -> bytes:
    """What defines a system, with its inputs put back where they are told."""
    spec = replace(loaded.spec, seed=0)
    return encode_json(
        spec if inputs is None else replace(spec, variation=replace(spec.variation, inputs=inputs))
    )


def learning_curves(sittings: Sequence[SystemAnswers], how: AnalysisOptions) -> tuple[Curve, ...]:
    """A curve for every model that learned from several shares, or shots, of the same training data."""
    groups: dict[tuple[str, bytes], list[SystemAnswers]] = {}
    for sitting in sittings:
        spec = replace(sitting.loaded.spec, seed=0)
        kept: Variation = replace(spec.variation, share=1.0, shots=0)
        key = encode_json(replace(spec, variation=kept))
        groups.setdefault((sitting.set, key), []).append(sitting)
    return tuple(_curve(part, how) for part in groups.values() if len(part) > 1)


def _curve(part: Sequence[SystemAnswers], how: AnalysisOptions) -> Curve:
    ordered = sorted(part, key=lambda s: (s.loaded.system.trained, s.loaded.system.share))
    first = ordered[0]
    points = tuple(
        CurvePoint(
            share=s.loaded.system.share,
            shots=s.loaded.system.shots,
            trained=s.loaded.system.trained,
            score=score_whole(s, how),
            seeds=s.loaded.system.seeds,
        )
        for s in ordered
    )
    return Curve(
        task=first.task.name,
        set=first.set,
        model=first.loaded.system.model,
        metric=first.metric.name,
        unit=first.unit,
        points=points,
        doubling=_doubling(ordered[-2], ordered[-1], how),
    )


def _doubling(a: SystemAnswers, b: SystemAnswers, how: AnalysisOptions) -> Figure | None:
    """The last step of a curve, as if it had been one doubling; the items are resampled for both together."""
    few, many = a.loaded.system.trained, b.loaded.system.trained
    same = len(a.examples) == len(b.examples)
    if not few or many <= few or not same:
        return None
    mask = np.ones(len(a.examples), dtype=bool)
    one, two = (
        measure_parts(s.sample, [mask], resamples=how.resamples, seed=how.seed) for s in (a, b)
    )
    units, n, steps = count_units(a.sample.units), len(a.examples), log2(many / few)
    gap = np.array([b.official.mean() - a.official.mean()])
    drawn = two.drawn[:, 0] - one.drawn[:, 0]
    if (
        one.runs is not None
        and two.runs is not None
        and a.loaded.system.seeds == b.loaded.system.seeds
    ):
        gap, drawn = b.official - a.official, two.runs[:, :, 0] - one.runs[:, :, 0]  # seed by seed
    return replace(figure(gap / steps, drawn / steps, units=units, scale=b.scale, n=n), sd=None)


def stress_systems(systems: Iterable[Loaded], how: AnalysisOptions) -> tuple[Stress, ...]:
    """Consistency under perturbation, for systems that answered originals and what was made from them."""
    found = (_stress(loaded, how) for loaded in systems)
    return tuple(each for each in found if each is not None)


def _stress(loaded: Loaded, how: AnalysisOptions) -> Stress | None:
    every = [list(_items(loaded, number)) for number in range(len(loaded.system.seeds))]
    if not every[0]:
        return None
    scored = loaded.task.kind == "similarity"
    if scored:
        every = [[item for item in run if None not in (item.before, item.after)] for run in every]
    measured, neutral = MEASURES[scored], "neutral" in loaded.task.labels
    pooled = stress_cells(
        [i for run in every for i in run],
        measured,
        neutral=neutral,
        resamples=how.resamples,
        seed=how.seed,
    )
    runs = [
        {_place(c): c for c in stress_cells(run, measured, neutral=neutral, resamples=1)}
        for run in every
    ]
    system = loaded.system
    return Stress(
        task=system.task,
        model=system.model,
        variation=system.variation,
        seeds=system.seeds,
        measure="pearson" if scored else "same",
        cells=tuple(_cell(cell, runs) for cell in pooled),
    )


def _place(cell: StressCount) -> tuple[str, str, str]:
    return cell.operation, cell.case, cell.gold


def _cell(
    pooled: StressCount, runs: Sequence[Mapping[tuple[str, str, str], StressCount]]
) -> StressCell:
    """Means over seeds; the interval is over premises, which bring the answers of all seeds with them."""
    own = [run[_place(pooled)] for run in runs if _place(pooled) in run]
    values: Floats = np.array([np.nan if c.value is None else c.value for c in own])
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


def _items(loaded: Loaded, number: int) -> Iterable[StressItem]:
    """Each perturbed example of one seed with the answers around it, where the original was answered too."""
    for name, examples in loaded.sets.items():
        for example in examples:
            before = _original(loaded, example, number)
            after = loaded.answers[name][number].get(example.id)
            if before is not None and after is not None and example.origin is not None:
                yield stress_item(loaded.task, example.origin.step, example, before, after)


def _original(loaded: Loaded, example: Example, number: int) -> Prediction | None:
    if example.origin is None or not example.origin.parents or not example.origin.step:
        return None
    source, parent = parent_of(example)
    dataset, split = name_and_split(source)
    name = split if dataset == loaded.called else set_name(source, loaded.task)
    answers: Any = loaded.answers.get(name) if source else None
    return None if answers is None else answers[number].get(parent)
