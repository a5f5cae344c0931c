"""Scales: will the mean of an item stay where it is if `most` persons answer?

An item has a level m and a scatter d, from a grid. A person answers category c with the probability that a normal variable with mean m
and standard deviation d falls nearer to c than to any other category. How often each (m, d) occurs is estimated without assuming a shape
(Kiefer and Wolfowitz 1956, https://doi.org/10.1214/aoms/1177728066), by EM from all answers:

    p(m, d | answers) = share[m, d] prod_j p(answer_j | m, d) + const

Every full vote of `most` persons gets its probability under this model, and the shares of full votes are then learnt from the answers
(`full_votes`), so that the model decides only where answers say little. Where full votes are too many to list, as of a scale with a
hundred points, the model alone decides: the sum of the answers still to come has a known distribution for each (m, d).

Machines: how often a machine's answer falls into a part of the scale, given the part in which the mean of the full vote falls, is learnt
from items with two persons or more, with what persons say of the mean held fixed. Copies of a model are averaged, then models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.full_votes import (
    count_orders,
    find_posterior,
    learn_shares,
    list_full_votes,
    match_votes,
)
from nikawa.aggregation.label_forecast import find_patterns
from nikawa.aggregation.scale_model import average_machines
from nikawa.aggregation.table import Counts, Floats, Table
from nikawa.aggregation.weighing import Flags

LEVELS = 33
"""Levels of the grid."""
SCATTERS = (0.04, 0.08, 0.12, 0.18, 0.27, 0.4)
"""Scatters of the grid, as shares of the width of the scale."""
GRID_ITEMS = 5.0
"""Items that stand for an even distribution over the grid, before any answer is seen."""
SLIPS = 0.005
"""The share of answers that are any category."""
MAX_ITERATIONS = 40
LEAST_CHANGE = 1e-5
MAX_BINS = 9
"""Parts of the scale, for answers of machines."""
BIN_ITEMS = 5.0
"""Items of each part that stand for machines which tell nothing."""
MIN_PERSONS = 2
"""Persons from whom an item says how far machines are off."""
MAX_UNITS = 100
"""Steps of the finest scale; a scale with finer answers is rounded to these for the sum of the answers to come."""


@dataclass(frozen=True, eq=False)
class ScaleForecast:
    """How items lie and scatter on a scale: fitted once, then used for any answers on the same scale."""

    categories: Floats
    grid: Floats
    """The level and the scatter of each point of the grid, side by side."""
    share: Floats
    """How often each point occurs."""
    answers: Floats
    """Grid by categories: the probability of each answer."""
    machine_answers: Floats
    """Parts by parts: how often machines answer in a part of the scale, given the part of the mean."""
    most: int
    full: Counts | None = None
    """The full votes of `most` persons; None where they are too many to list."""
    full_shares: Floats | None = None
    """How often each occurs."""

    @classmethod
    def fit(
        cls, table: Table, is_machine: Flags, most: int, categories: Floats | None = None
    ) -> ScaleForecast:
        """Learn from the answers so far; `categories` are the points of the scale, if more are known than were answered."""
        values = table.values if table.categories else np.zeros(0)
        known = np.union1d(values, categories if categories is not None else [])
        if len(known) < 2:
            known = np.union1d(known, [0.0, 1.0])
        low, high = known[0], known[-1]
        step = float(np.median(np.diff(known)))
        levels = np.linspace(low - step / 2, high + step / 2, LEVELS)
        scatters = (high - low) * np.array(SCATTERS)
        grid = np.array([(level, scatter) for level in levels for scatter in scatters])
        edges = (known[1:] + known[:-1]) / 2
        chances = _spread_normal(edges, grid)
        chances = (1 - SLIPS) * chances + SLIPS / len(known)
        bins = min(len(known), MAX_BINS)
        model = cls(
            known,
            grid,
            np.full(len(grid), 1 / len(grid)),
            chances,
            np.full((bins, bins), 1 / bins),
            most,
        )
        states, place = model._find_states(table, is_machine)
        weights = np.bincount(place, minlength=len(states)).astype(np.float64)
        fits = states[:, :-1].sum(axis=1) <= most
        return model._learn(states[fits], weights[fits])

    def _learn(self, states: NDArray[np.int64], weights: Floats) -> ScaleForecast:
        """Learn how often each point of the grid and each full vote occurs, and how machines answer."""
        counts = states[:, :-1]
        model = replace(self, share=self._learn_grid(counts, weights))
        full = list_full_votes(len(self.categories), self.most)
        compared = (states[:, -1] > 0) & (counts.sum(axis=1) >= min(MIN_PERSONS, self.most))
        bins = states[compared, -1] - 1
        if full is None:
            levels = model._find_points(counts[compared])
            parts = self._find_bins(self.grid[:, 0])
            told = self._learn_machines(levels, parts, bins, weights[compared])
            return replace(model, machine_answers=told)
        expected = np.exp(model._level_logs(full) + count_orders(full)[:, None]).sum(axis=1)
        model = replace(model, full=full)
        matches = match_votes(counts, full)
        alone = learn_shares(matches, weights, expected)
        votes = find_posterior(matches[compared], alone)
        parts = self._find_bins(full @ self.categories / self.most)
        told = self._learn_machines(votes, parts, bins, weights[compared])
        model = replace(model, machine_answers=told)
        return replace(model, full_shares=learn_shares(model._match(states), weights, expected))

    def _learn_grid(self, counts: Counts, weights: Floats) -> Floats:
        share = self.share
        seen = counts.sum(axis=1) > 0
        plain, weights = counts[seen] @ np.log(self.answers).T, weights[seen]
        likely = np.exp(plain - plain.max(axis=1, keepdims=True, initial=-np.inf))
        for _ in range(MAX_ITERATIONS):
            before = share
            share = share * ((weights / (likely @ share)) @ likely) + GRID_ITEMS / len(share)
            share = np.asarray(share / share.sum())
            if float(np.abs(share - before).max()) < LEAST_CHANGE:
                break
        return share

    def _learn_machines(
        self,
        posterior: Floats,
        parts: NDArray[np.int64],
        bins: NDArray[np.int64],
        weights: Floats,
    ) -> Floats:
        """How machines answer, given what persons say of each item (`posterior`; its columns belong to `parts` of the scale)."""
        told = self.machine_answers
        size = len(told)
        if not len(bins):
            return told
        mean_part = np.zeros((len(bins), size))
        for part in range(size):
            mean_part[:, part] = posterior[:, parts == part].sum(axis=1)
        rates = np.bincount(bins, weights=weights, minlength=size) + 1 / size
        base = BIN_ITEMS * np.tile((rates / rates.sum())[:, None], (1, size))
        for _ in range(MAX_ITERATIONS):
            joint = mean_part * told[bins]
            joint *= (weights / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
            counts = base.copy()
            np.add.at(counts, bins, joint)
            before, told = told, counts / counts.sum(axis=0)
            if float(np.abs(told - before).max()) < LEAST_CHANGE:
                break
        return told

    def _find_bins(self, values: Floats) -> NDArray[np.int64]:
        """The part of the scale in which each value falls."""
        low, high = self.categories[0], self.categories[-1]
        size = len(self.machine_answers)
        parts = np.rint((values - low) / (high - low) * (size - 1)).astype(np.int64)
        return np.asarray(np.clip(parts, 0, size - 1))

    def _find_points(self, counts: Counts) -> Floats:
        """Votes by grid: how probable each point is."""
        logs = self._level_logs(counts)
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))

    def _level_logs(self, votes: Counts) -> Floats:
        """Votes by grid: the log probability of the votes in one order, and of the point."""
        return np.asarray(votes @ np.log(self.answers).T + np.log(self.share))

    def _match(self, states: NDArray[np.int64]) -> Floats:
        """States by full votes: the log probability of the answers, of persons and machines."""
        assert self.full is not None
        matches = match_votes(states[:, :-1], self.full)
        told = states[:, -1] > 0
        if told.any():
            parts = self._find_bins(self.full @ self.categories / self.most)
            matches[told] += np.log(self.machine_answers[:, parts])[states[told, -1] - 1]
        return matches

    def assess(
        self,
        table: Table,
        is_machine: Flags,
        tolerance: float,
        *,
        estimates: bool = False,
    ) -> tuple[Floats, Floats]:
        """The gold of each item, and the probability that the mean of `most` persons lies within `tolerance` of it.

        The gold is the mean of the persons who answered; with `estimates`, and where none did, the value for which this probability
        is greatest.
        """
        states, place = self._find_states(table, is_machine)
        n = states[:, :-1].sum(axis=1)
        sums = states[:, :-1] @ self.categories
        gold = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0)
        same = np.ones(len(states))
        for given in np.unique(n[n < self.most]).tolist():
            here = np.flatnonzero(n == given)
            totals, chances = self._forecast(states[here])
            tail = np.concatenate([np.zeros((len(here), 1)), chances.cumsum(axis=1)], axis=1)
            rows = np.arange(len(here))
            if estimates or given == 0:
                reach = np.searchsorted(totals, totals + 2 * tolerance * self.most + 1e-6, "right")
                mass = tail[:, reach] - tail[:, :-1]
                centre = (totals + totals[reach - 1]) / 2
                off = np.abs(centre - (chances @ totals)[:, None])
                best = (np.round(mass, 9) - 1e-12 * off).argmax(axis=1)
                gold[here] = centre[best] / self.most
            low, high = (
                self.most * (gold[here] + side * tolerance) + side * 1e-6 for side in (-1, 1)
            )
            first = np.searchsorted(totals, low)
            last = np.searchsorted(totals, high, side="right")
            same[here] = tail[rows, last] - tail[rows, first]
        return gold[place], np.clip(same, 0.0, 1.0)[place]

    def _forecast(self, states: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Of states with as many answers: the sums that `most` answers may have, and states by sums how probable each is."""
        if self.full is not None and self.full_shares is not None:
            posterior = find_posterior(self._match(states), self.full_shares)
            sums = np.round(self.full @ self.categories, 9)
            totals, place = np.unique(sums, return_inverse=True)
            order = np.argsort(place, kind="stable")
            starts = np.searchsorted(place[order], np.arange(len(totals)))
            return totals, np.add.reduceat(posterior[:, order], starts, axis=1)
        posterior = self._find_points(states[:, :-1])
        told = states[:, -1] > 0
        parts = self._find_bins(self.grid[:, 0])
        posterior[told] *= self.machine_answers[:, parts][states[told, -1] - 1]
        posterior /= posterior.sum(axis=1, keepdims=True)
        unit, lattice = self._find_lattice()
        given = states[0, :-1].sum()
        left = int(self.most - given)
        coming = posterior @ self._add_answers(lattice, left)
        # answers of persons are rounded to the lattice as those to come are
        start = np.rint((states[:, :-1] @ (self.categories - self.categories[0])) / unit)
        steps = start.astype(np.int64)[:, None] + np.arange(coming.shape[1])
        chances = np.zeros((len(states), int(steps.max()) + 1))
        np.put_along_axis(chances, steps, coming, axis=1)
        totals = self.most * self.categories[0] + unit * np.arange(chances.shape[1])
        return totals, chances

    def _find_states(
        self, table: Table, is_machine: Flags
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct answers of persons (counts by category) and bins of machines (from 1; 0 without), and each item's."""
        persons = table.select(~is_machine[table.worker])
        counts = np.zeros((len(table.items), len(self.categories)), dtype=np.int64)
        if table.categories:
            counts[:, np.searchsorted(self.categories, table.values)] = persons.counts()
        guess = average_machines(table, is_machine)
        bins = np.zeros(len(guess), dtype=np.int64)
        some = ~np.isnan(guess)
        bins[some] = 1 + self._find_bins(guess[some])
        return find_patterns(np.column_stack([counts, bins]))

    def _find_lattice(self) -> tuple[float, Floats]:
        """The unit that all answers are multiples of, and grid by units: the probability of each answer."""
        reach = float(self.categories[-1] - self.categories[0])
        unit = float(np.diff(self.categories).min())
        steps = (self.categories - self.categories[0]) / unit
        if reach / unit > MAX_UNITS or np.abs(steps - np.rint(steps)).max() > 1e-6:
            unit = reach / MAX_UNITS
            steps = (self.categories - self.categories[0]) / unit
        places = np.rint(steps).astype(np.int64)
        lattice = np.zeros((len(self.grid), int(places[-1]) + 1))
        for place, chance in zip(places.tolist(), self.answers.T, strict=True):
            lattice[:, place] += chance
        return unit, lattice

    def _add_answers(self, lattice: Floats, left: int) -> Floats:
        """Grid by sums: the distribution of the sum of `left` answers."""
        length = left * (lattice.shape[1] - 1) + 1
        total = np.zeros((len(lattice), length))
        total[:, 0] = 1.0
        width = 1
        for _ in range(left):
            added = np.zeros_like(total)
            for place in range(lattice.shape[1]):
                added[:, place : place + width] += lattice[:, place, None] * total[:, :width]
            total, width = added, width + lattice.shape[1] - 1
        return total


def _spread_normal(edges: Floats, grid: Floats) -> Floats:
    """Grid by categories: the probability of a normal variable between two edges."""
    scaled = (edges[None, :] - grid[:, :1]) / (grid[:, 1:] * math.sqrt(2))
    below = 0.5 * (1 + np.vectorize(math.erf, otypes=[np.float64])(scaled))
    ends = np.column_stack([np.zeros(len(grid)), below, np.ones(len(grid))])
    return np.diff(ends, axis=1)
