"""Panels of k workers drawn from a pilot: without replacement while it has enough answers, else from a model of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from nikawa.aggregation.plan_mixture import posterior
from nikawa.aggregation.table import Codes, Floats, Table

ROUNDS, PANELS, CELLS = 1_000, 20_000, 2_000_000
"""Panels drawn an item, panels in all, panels times categories: fewer an item where the pilot is large."""
SHARE = 0.5
"""Share of items that must have k answers for panels of k to be drawn from them."""


class Panels:
    """Draws panels; a given k and seed always give the same."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.given = table.per_item()
        items = max(1, int((self.given > 1).sum()))
        self.rounds = max(
            1, min(ROUNDS, PANELS // items, CELLS // (items * min(100, len(table.categories))))
        )
        self._fitted: tuple[Floats, Floats] | None = None
        order = np.argsort(table.item, kind="stable")
        self.answer, self.start = table.answer[order], np.cumsum(self.given) - self.given

    @cached_property
    def counts(self) -> Floats:
        """Items with several answers, by categories."""
        return self.table.counts()[self.given > 1].astype(np.float64)

    def holds(self, k: int) -> bool:
        """Whether enough items have k answers or more."""
        judged = self.given[self.given > 1]
        return float((judged >= k).mean()) >= SHARE

    def agreement(self) -> float:
        """Chance-corrected agreement of two answers: (observed - expected) / (1 - expected)."""
        observed, shares = self._agreement()
        expected = float((shares**2).sum())
        return (observed - expected) / (1 - expected) if expected < 1 else float("nan")

    def _agreement(self) -> tuple[float, Floats]:
        n = self.counts.sum(axis=1)
        pairs = (self.counts * (self.counts - 1)).sum(axis=1) / (n * (n - 1))
        return float(pairs.mean()), self.counts.sum(axis=0) / self.counts.sum()

    def draw(self, k: int) -> Table:
        """A table of several panels of k an item, round by round."""
        generator = np.random.default_rng((self.seed, k, 0))
        return self._table(
            self._answers(k, generator) if self.holds(k) else self._modelled(k, generator)
        )

    def twice(self, k: int) -> tuple[Table, Table]:
        """Two panels of k of different workers about the same items, as often."""
        generator = np.random.default_rng((self.seed, k, 1))
        both = (self._answers if self.holds(2 * k) else self._modelled)(2 * k, generator)
        return self._table(both[:, :k]), self._table(both[:, k:])

    def _table(self, answers: Codes) -> Table:
        panels, width = answers.shape
        return Table(
            self.table.question,
            np.repeat(np.arange(panels, dtype=np.int32), width),
            np.tile(np.arange(width, dtype=np.int32), panels),
            answers.ravel().astype(np.int32),
            range(panels),  # type: ignore[arg-type]  # names are never shown
            range(width),  # type: ignore[arg-type]
            self.table.categories,
        )

    def _answers(self, k: int, generator: np.random.Generator) -> Codes:
        """Of each item with k answers, k of them at random."""
        items = np.flatnonzero(self.given >= max(2, k))
        wide = int(self.given[items].max())
        keys = generator.random((self.rounds, len(items), wide))
        keys[:, np.arange(wide) >= self.given[items][:, None]] = 2.0
        picks = np.argsort(keys, axis=-1)[..., :k]
        return np.asarray(self.answer[self.start[items][:, None] + picks]).reshape(-1, k)

    def _modelled(self, k: int, generator: np.random.Generator) -> Codes:
        """Answers of new workers given the pilot's: of labels by a mixture, of numbers by a Dirichlet-multinomial."""
        shares = self._dirichlet(generator) if self.table.numeric else self._mixture(generator)
        ends = np.cumsum(shares, axis=-1)
        drawn = generator.random((*shares.shape[:2], k))
        answers = np.zeros(drawn.shape, dtype=np.int32)
        for category in range(ends.shape[-1] - 1):
            answers += drawn > ends[..., category, None]
        return answers.reshape(-1, k)

    def _mixture(self, generator: np.random.Generator) -> Floats:
        """Shares of each item in each round: a point of the grid, drawn by its probability."""
        if self._fitted is None:
            self._fitted = posterior(self.counts)
        points, probable = self._fitted
        ends = np.cumsum(probable, axis=1)
        drawn = generator.random((self.rounds, len(ends)))
        place = [np.searchsorted(end, drawn[:, item] * end[-1]) for item, end in enumerate(ends)]
        return np.asarray(points[np.minimum(np.stack(place, axis=1), len(points) - 1)])

    def _dirichlet(self, generator: np.random.Generator) -> Floats:
        """Shares from the pilot's counts and pseudo-counts whose expected agreement is the pilot's.

        Their sum is s = (1 - A) / (A - Σ share²), A being the share of pairs of answers that agree.
        """
        observed, pooled = self._agreement()
        above = observed - float((pooled**2).sum())
        concentration = (1 - observed) / above if above > 1e-6 else 1e6
        weights = self.counts + np.maximum(1e-6, concentration * pooled)
        shares = generator.standard_gamma(np.broadcast_to(weights, (self.rounds, *weights.shape)))
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
