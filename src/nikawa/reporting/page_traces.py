"""How systems learned, as plain values."""

from __future__ import annotations

from nikawa.records import Record


class Trace(Record, frozen=True, kw_only=True):
    """The loss of one run by step."""

    seed: int
    points: tuple[tuple[int, float], ...]
    """Step and mean loss since the one before; of very many some are left out."""
    source: str
    end: str
    """Where the last of them is."""


class Training(Record, frozen=True, kw_only=True):
    """How a system learned."""

    system: str
    traces: tuple[Trace, ...]
    runs: int
    """Of which so many are traced."""
    folds: int = 0
    """Above 0: the model of the last fold is told of."""
