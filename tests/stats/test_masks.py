"""A metric on many parts at once is the metric on each part alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nikawa.metrics import Items, metrics
from nikawa.stats.masks import (
    Sample,
    make_figure,
    measure_parts,
    resample_sums,
)
from nikawa.stats.resample import (
    bootstrap,
    draw_kept_weights,
    draw_weights,
    has_exact_sums,
    number_groups,
    percentile_interval,
    sum_groups,
)

LABELS = ("yes", "no", "maybe")


def items(n: int, seed: int) -> Items:
    draw = np.random.default_rng(seed)
    gold = [LABELS[i] for i in draw.integers(0, 3, n)]
    answers = [g if draw.random() < 0.6 else LABELS[draw.integers(0, 3)] for g in gold]
    return Items(gold, answers, labels=LABELS)


def only(whole: Items, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Items:
    kept = np.flatnonzero(mask).tolist()
    return Items(
        [whole.gold[i] for i in kept], [whole.answers[i] for i in kept], labels=whole.labels
    )


@pytest.mark.parametrize("name", ["accuracy", "macro-f1", "mcc"])
def test_parts_and_rests_are_the_metric_on_them(name: str) -> None:
    whole, metric = items(60, 1), metrics()[name]
    masks = [np.arange(60) < 20, np.arange(60) % 2 == 0]
    sample = Sample(
        [metric.evaluate(whole, "official")], number_groups([i // 3 for i in range(60)])
    )
    found = measure_parts(sample, masks, resamples=200)
    for i, mask in enumerate(masks):
        assert found.values[0, i] == pytest.approx(
            metric.evaluate(only(whole, mask), "official").value
        )
        assert found.rests[0, i] == pytest.approx(
            metric.evaluate(only(whole, ~mask), "official").value
        )
    assert found.drawn.shape == (200, 2)


def test_metrics_that_are_no_sums_are_measured_too() -> None:
    draw = np.random.default_rng(2)
    gold = draw.random(40)
    whole = Items(gold.tolist(), (gold + draw.normal(0, 0.3, 40)).tolist())
    metric, mask = metrics()["spearman"], np.arange(40) < 25
    sample = Sample([metric.evaluate(whole, "documented")], np.arange(40))
    found = measure_parts(sample, [mask], resamples=50)
    assert found.values[0, 0] == pytest.approx(
        metric.evaluate(only(whole, mask), "documented").value
    )
    assert found.rests[0, 0] == pytest.approx(
        metric.evaluate(only(whole, ~mask), "documented").value
    )
    assert np.nanstd(found.drawn[:, 0]) > 0


def test_the_whole_has_the_interval_of_the_bootstrap() -> None:
    whole = items(300, 3)
    evaluation = metrics()["accuracy"].evaluate(whole, "official")
    units = number_groups([i // 2 for i in range(300)])
    found = measure_parts(Sample([evaluation], units), [np.ones(300, dtype=bool)], resamples=4_000)
    expected = percentile_interval(bootstrap(evaluation, units, resamples=4_000), None)
    assert percentile_interval(found.drawn[:, 0], None) == pytest.approx(expected, abs=0.01)


def test_runs_are_drawn_too() -> None:
    """Two runs that differ much make the interval wider than either alone."""
    n = 200
    good = Items(["yes"] * n, ["yes"] * 180 + ["no"] * 20, labels=LABELS)
    bad = Items(["yes"] * n, ["yes"] * 100 + ["no"] * 100, labels=LABELS)
    runs = [metrics()["accuracy"].evaluate(x, "official") for x in (good, bad)]
    everything = [np.ones(n, dtype=bool)]
    widths = [
        np.ptp(
            percentile_interval(
                measure_parts(Sample(part, np.arange(n)), everything, resamples=500).drawn[:, 0], n
            )
        )
        for part in (runs, runs[:1], runs[1:])
    ]
    assert widths[0] > 2 * max(widths[1:])


def test_sums_of_groups_and_of_resamples() -> None:
    matrix = np.arange(12.0).reshape(6, 2)
    units = np.array([0, 1, 0, 2, 1, 0])
    assert sum_groups(matrix, units).tolist() == [[0 + 4 + 10, 1 + 5 + 11], [2 + 8, 3 + 9], [6, 7]]
    by_hand = np.concatenate([w @ sum_groups(matrix, units) for w in draw_weights(3, 70, 5)])
    assert np.array_equal(resample_sums(matrix, units, resamples=70, seed=5), by_hand)


def test_many_groups_have_the_figures_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of many groups are in float32, and several blocks of resamples are multiplied at once."""
    whole, n = items(90, 4), 90
    masks = [np.arange(n) < 30, np.arange(n) % 2 == 0]
    runs = [metrics()[name].evaluate(whole, "official") for name in ("accuracy", "macro-f1")]
    units = number_groups([i // 2 for i in range(n)])
    shares = np.random.default_rng(0).random((n, 2))

    def measure() -> list[Any]:
        parts = [measure_parts(Sample([run], units), masks, resamples=50) for run in runs]
        figures = [each for part in parts for each in (part.values, part.drawn, part.drawn_rests)]
        return [*figures, resample_sums(shares, units, resamples=50)]

    def draw_small_blocks(units: int, resamples: int, seed: int) -> Iterator[Any]:
        for block in draw_weights(units, resamples, seed):
            yield from np.array_split(block, 17)

    monkeypatch.setattr("nikawa.stats.masks.draw_kept_weights", draw_small_blocks)
    few = measure()
    kinds = []
    monkeypatch.setattr("nikawa.stats.masks.MAX_WEIGHTS_AT_ONCE", 100)

    def note_kind(sums: Any) -> bool:
        kinds.append(has_exact_sums(sums))
        return kinds[-1]

    monkeypatch.setattr("nikawa.stats.masks.has_exact_sums", note_kind)
    for one, other in zip(few, measure(), strict=True):
        assert np.array_equal(one, other)
    assert kinds == [True, True, False]  # two metrics of counts, and shares


def test_weights_are_those_of_the_draws() -> None:
    for _ in range(2):
        for kept, drawn in zip(
            draw_kept_weights(40, 100, 1), draw_weights(40, 100, 1), strict=True
        ):
            assert np.array_equal(kept, drawn)


def test_a_figure_that_is_not_defined_is_none() -> None:
    found = make_figure(np.array([np.nan]), np.array([np.nan, np.nan]), units=40)
    assert (found.value, found.low, found.high, found.sd) == (None, None, None, None)
    several = make_figure(np.array([0.1, 0.3]), np.array([0.1, 0.2, 0.3]), units=40, scale=100, n=4)
    assert several.value == pytest.approx(20)
    assert several.sd == pytest.approx(14.142135)
    assert several.n == 4
