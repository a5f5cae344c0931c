"""The paired tests of every pair of several systems on the same items: what is drawn is drawn once, not once a pair.

A bootstrap value depends on one system alone, so each system is resampled once, and a pair is a subtraction. In an exchange
of answers, the sums of A are those of A's units that stay plus those of B's that come: with a coin of 0 or 1 a unit,
Σ coin · a and Σ coin · b are sums of one system too. Where the statistics are whole numbers these sums are exact in any
order, and one matrix product serves all systems and metrics; other statistics are summed per pair, in the order of
`compare_pairs`. So every figure is that of `compare_pairs`, to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nikawa.stats.paired import (
    MAX_UNITS_DRAWN,
    ROUNDS_AT_ONCE,
    OnProgress,
    PairedDifference,
    assess_difference,
    compare_pairs,
)
from nikawa.stats.resample import (
    TEST_RESAMPLES,
    Floats,
    Ints,
    Resampleable,
    count_units,
    draw_coins,
    draw_weights,
    has_exact_sums,
)

PAIRS_AT_ONCE = 200
"""Pairs whose exchanged values are in memory at once."""

Pair = tuple[str, str]


def compare_every_pair(
    systems: Mapping[str, Sequence[Resampleable]],
    pairs: Sequence[Pair],
    groups: Ints,
    *,
    rounds: int = TEST_RESAMPLES,
    seed: int = 0,
    on_progress: OnProgress = lambda _: None,
) -> dict[Pair, list[PairedDifference]]:
    """Test pairs of systems; each system has its evaluation under every metric, and all must have statistics.

    The figures are those of `compare_pairs` for each pair. `on_progress` is called for twice `rounds` a pair in total.
    """
    units = count_units(groups)
    tables = SystemTables(systems, groups)
    if not 0 < units <= MAX_UNITS_DRAWN or not tables.are_alike:
        return {
            (a, b): compare_pairs(
                list(zip(systems[a], systems[b], strict=True)),
                groups,
                rounds=rounds,
                seed=seed,
                on_progress=on_progress,
            )
            for a, b in pairs
        }
    resampled = tables.resample(rounds, seed, lambda done: on_progress(done * len(pairs)))
    tested = {}
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        nulls = tables.exchange(part, rounds, seed, on_progress)
        for a, b in part:
            tested[a, b] = [
                assess_difference(
                    systems[b][m].value - systems[a][m].value,
                    tables.summed(b, m) - tables.summed(a, m),
                    resampled[b][m] - resampled[a][m],
                    nulls[a, b][m],
                    units,
                )
                for m in range(len(systems[a]))
            ]
    return tested


class SystemTables:
    """The statistics of several systems by unit, those in whole numbers side by side in one table."""

    def __init__(self, systems: Mapping[str, Sequence[Any]], groups: Ints) -> None:
        self.units = count_units(groups)
        self.grouped: dict[str, list[Any]] = {}
        """A system's evaluations over units instead of items."""
        self.columns: dict[tuple[str, int], slice] = {}
        """The columns of the table with a system's statistics under a metric; only those that are whole numbers."""
        self.totals: dict[tuple[str, int], Floats] = {}
        blocks: list[Any] = []
        places: dict[int, slice] = {}
        """Metrics of the same counts share their columns."""
        width = 0
        for name, evaluations in systems.items():
            self.grouped[name] = [evaluation.grouped(groups) for evaluation in evaluations]
            for m, own in enumerate(self.grouped[name]):
                self.totals[name, m] = own.statistics.sum(axis=0)
                source = id(evaluations[m].statistics)
                if source not in places and has_exact_sums(own.statistics):
                    places[source] = slice(width, width + own.statistics.shape[1])
                    blocks.append(own.statistics.astype(np.float32))
                    width += own.statistics.shape[1]
                if source in places:
                    self.columns[name, m] = places[source]
        self.table: Any = np.hstack(blocks) if blocks else None
        del blocks
        for m in range(len(next(iter(self.grouped.values())))):
            if all((name, m) in self.columns for name in self.grouped):  # the table is enough
                for own in self.grouped.values():
                    own[m] = replace(own[m], statistics=own[m].statistics[:0].copy())

    @property
    def are_alike(self) -> bool:
        """Whether all systems have statistics of the same shape under each metric."""
        shapes = [[each.statistics.shape[1:] for each in own] for own in self.grouped.values()]
        return all(shape == shapes[0] for shape in shapes)

    def summed(self, system: str, metric: int) -> float:
        """The metric from the sums over all units."""
        own = self.grouped[system][metric]
        return float(own.finish(self.totals[system, metric][None])[0])

    def resample(
        self, rounds: int, seed: int, on_progress: Callable[[int], None]
    ) -> dict[str, list[Floats]]:
        """Each system's values under the bootstrap's resamples of units."""
        values: dict[tuple[str, int], list[Floats]] = {
            (name, m): [] for name, own in self.grouped.items() for m in range(len(own))
        }
        sums = _Blocks(ROUNDS_AT_ONCE)
        for weights in draw_weights(self.units, rounds, seed):
            for (name, m), parts in values.items():
                if (name, m) not in self.columns:
                    parts.append(self.grouped[name][m].under(weights))
            if self.table is not None:
                for block in sums.add(weights.astype(np.float32) @ self.table):
                    self._finish(block, values)
            on_progress(len(weights))
        for block in sums.rest():
            self._finish(block, values)
        return {
            name: [np.concatenate(values[name, m]) for m in range(len(own))]
            for name, own in self.grouped.items()
        }

    def _finish(self, sums: Any, values: dict[tuple[str, int], list[Floats]]) -> None:
        """Add the metrics of a block of summed statistics."""
        for (name, m), place in self.columns.items():
            own = self.grouped[name][m]
            values[name, m].append(own.finish(sums[:, place].astype(np.float64)))

    def exchange(
        self, pairs: Sequence[Pair], rounds: int, seed: int, on_progress: OnProgress
    ) -> dict[Pair, list[Floats]]:
        """B minus A of each pair when each unit's two answers are exchanged or not by a coin."""
        metrics = range(len(next(iter(self.grouped.values()))))
        nulls: dict[Pair, list[list[Floats]]] = {pair: [[] for _ in metrics] for pair in pairs}
        sums = _Blocks(ROUNDS_AT_ONCE)
        for coin in draw_coins(self.units, rounds, seed):
            self._exchange_others(coin, nulls)
            if self.table is not None:
                for block in sums.add(coin.astype(np.float32) @ self.table):
                    self._exchange_exact(block, nulls)
            on_progress(len(coin) * len(pairs))
        for block in sums.rest():
            self._exchange_exact(block, nulls)
        return {pair: [np.concatenate(each) for each in parts] for pair, parts in nulls.items()}

    def _exchange_exact(self, sums: Any, nulls: Mapping[Pair, Sequence[list[Floats]]]) -> None:
        """Add the differences of metrics in whole numbers, from the sums of the units that a coin chose."""
        for (a, b), parts in nulls.items():
            for m, part in enumerate(parts):
                if (a, m) in self.columns and (b, m) in self.columns:
                    moved = sums[:, self.columns[a, m]] - sums[:, self.columns[b, m]]
                    part.append(self._difference(a, b, m, moved))

    def _exchange_others(self, coin: Any, nulls: Mapping[Pair, Sequence[list[Floats]]]) -> None:
        """Add the differences of the other metrics."""
        weights = None
        for (a, b), parts in nulls.items():
            for m, part in enumerate(parts):
                if (a, m) in self.columns and (b, m) in self.columns:
                    continue
                weights = coin.astype(np.float64) if weights is None else weights
                left, right = self.grouped[a][m].statistics, self.grouped[b][m].statistics
                part.append(self._difference(a, b, m, weights @ (left - right)))

    def _difference(self, a: str, b: str, m: int, moved: Floats) -> Floats:
        """B minus A where `moved` are the statistics that A gives less those that it gets."""
        first, second = self.grouped[a][m], self.grouped[b][m]
        all_left, all_right = self.totals[a, m], self.totals[b, m]
        exchanged = moved + all_right
        values: Floats = second.finish(all_left + all_right - exchanged) - first.finish(exchanged)
        return values


class _Blocks:
    """Rows that come in blocks of any size, and leave in blocks of about `size`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[Any] = []

    def add(self, rows: Any) -> Iterator[Any]:
        """Keep rows, and return them with those before as soon as they are enough."""
        self._parts.append(rows)
        if sum(map(len, self._parts)) >= self._size:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """What is left."""
        if self._parts:
            yield np.concatenate(self._parts)
        self._parts = []
