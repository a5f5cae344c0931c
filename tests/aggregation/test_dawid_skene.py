"""Dawid-Skene and MACE: the likelihood never falls, simulated workers are found out, edges hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nikawa.aggregation.dawid_skene import Fit, dawid_skene
from nikawa.aggregation.mace import mace
from nikawa.aggregation.table import Table

MODELS: list[Callable[..., Fit]] = [dawid_skene, mace]


def simulated(
    items: int = 600, workers: int = 8, seed: int = 3
) -> tuple[Table, np.ndarray, np.ndarray]:
    """Three classes; half of the workers guess more than they know."""
    random = np.random.default_rng(seed)
    true = random.choice(3, items, p=[0.5, 0.3, 0.2])
    skill = np.where(np.arange(workers) < workers // 2, 0.9, 0.3)
    item, worker = np.divmod(np.arange(items * workers), workers)
    knows = random.random(len(item)) < skill[worker]
    answer = np.where(knows, true[item], random.integers(0, 3, len(item)))
    return Table.from_columns(item, worker, answer), true, skill


@pytest.mark.parametrize("model", MODELS)
def test_better_than_counting(model: Callable[..., Fit]) -> None:
    table, true, skill = simulated()
    fit = model(table)
    votes = (table.counts().argmax(axis=1) == true).mean()
    found = (fit.posterior.argmax(axis=1) == true).mean()
    assert found > votes
    assert fit.converged
    assert np.corrcoef(fit.skill, skill)[0, 1] > 0.95


@pytest.mark.parametrize("model", MODELS)
def test_the_likelihood_climbs_and_posteriors_are_probabilities(model: Callable[..., Fit]) -> None:
    table, _, _ = simulated(200, 5)
    fit = model(table, tolerance=0, iterations=40)
    assert np.diff(fit.likelihood).min() > -1e-6
    assert fit.posterior.sum(axis=1) == pytest.approx(np.ones(200))
    assert fit.errors.sum(axis=1) == pytest.approx(np.ones_like(fit.errors.sum(axis=1)))


def test_likelihood_is_the_marginal_one() -> None:
    table, _, _ = simulated(30, 4)
    fit = dawid_skene(table, iterations=1)
    start = table.counts() / 4
    prior, errors = start.mean(axis=0), np.full((4, 3, 3), 1e-10)
    for i, w, a in zip(table.item, table.worker, table.answer, strict=True):
        errors[w, a] += start[i]
    errors /= errors.sum(axis=1, keepdims=True)
    by_hand = 0.0
    for i in range(30):
        joint = prior.copy()
        for w, a in zip(table.worker[table.item == i], table.answer[table.item == i], strict=True):
            joint = joint * errors[w, a]
        by_hand += float(np.log(joint.sum()))
    assert fit.likelihood[0] == pytest.approx(by_hand)


@pytest.mark.parametrize("model", MODELS)
def test_unanimous_and_empty_items(model: Callable[..., Fit]) -> None:
    table = Table.from_columns(["a", "a", "b", "b", "c"], ["x", "y"] * 2 + ["x"], list("eeeen"))
    fit = model(table)
    assert [table.categories[c] for c in fit.posterior.argmax(axis=1)] == ["e", "e", "n"]
    less = model(table.select(table.item != 2))
    assert np.isfinite(less.posterior).all()
    assert np.isfinite(less.likelihood).all()


@pytest.mark.parametrize("model", MODELS)
def test_one_class(model: Callable[..., Fit]) -> None:
    fit = model(Table.from_columns(["a", "a"], ["x", "y"], ["e", "e"]))
    assert fit.posterior.tolist() == [[1.0]]


def test_order_of_the_judgements_is_nothing() -> None:
    table, _, _ = simulated(100, 4)
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = Table.from_columns(table.item[order], table.worker[order], table.answer[order])
    assert dawid_skene(shuffled).posterior == pytest.approx(dawid_skene(table).posterior, abs=1e-9)
