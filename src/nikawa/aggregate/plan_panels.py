"""Panels of k workers drawn from a pilot: without replacement while it has enough answers, else from a model of them."""

from __future__ import annotations

import numpy as np

from nikawa.aggregate.table import Codes, Floats, Table

ROUNDS, PANELS = 20, 20_000
"""Panels drawn an item, and in all: fewer an item where the pilot is large."""
SHARE = 0.5
"""Share of items that must have k answers for panels of k to be drawn from them."""


class Panels:
    """Draws panels; a given k and seed always give the same."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.given = table.per_item()
        self.rounds = max(1, min(ROUNDS, PANELS // max(1, int((self.given > 1).sum()))))
        self.counts = table.counts()[self.given > 1].astype(np.float64)
        order = np.argsort(table.item, kind="stable")
        self.answer, self.start = table.answer[order], np.cumsum(self.given) - self.given

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
        return self._table(self._answers(k, generator) if self.holds(k) else self._modelled(k, generator))

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
        """Answers of new workers given the pilot's, by a Dirichlet-multinomial."""
        weights = self.counts + self._prior()
        shares = generator.standard_gamma(np.broadcast_to(weights, (self.rounds, *weights.shape)))
        shares /= shares.sum(axis=-1, keepdims=True)
        ends = np.cumsum(shares, axis=-1)
        drawn = generator.random((*shares.shape[:2], k))
        answers = np.zeros(drawn.shape, dtype=np.int32)
        for category in range(ends.shape[-1] - 1):
            answers += drawn > ends[..., category, None]
        return answers.reshape(-1, k)

    def _prior(self) -> Floats:
        """Pseudo-counts whose expected pairwise agreement is the pilot's: s = (1 - A) / (A - Σ share²)."""
        observed, shares = self._agreement()
        above = observed - float((shares**2).sum())
        concentration = (1 - observed) / above if above > 1e-6 else 1e6
        return np.asarray(np.maximum(1e-6, concentration * shares))
