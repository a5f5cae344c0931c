"""Find repeated ids of a long file in little memory: 8 bytes an id.

Ids of the present block are held in full; of earlier blocks only their 64-bit hashes, in sorted runs that
merge like those of a log-structured tree. A hash met again is a suspicion, settled by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 16
LONGEST = 1 << 20
"""Runs this long are merged no further: merging takes twice their memory."""

Hashes = NDArray[np.int64]


class Ids:
    """The ids met so far, by where (line or row) they were met."""

    def __init__(self, block: int = BLOCK) -> None:
        self._size = block
        self._block: dict[str, int] = {}
        self._runs: list[Hashes] = []

    def first(self, name: str, place: int) -> int | None:
        """Where `name` was met before within the present block; it is noted if it was not."""
        before = self._block.setdefault(name, place)
        return None if before == place else before

    def full(self) -> bool:
        """Whether the block should be settled before more are noted."""
        return len(self._block) >= self._size

    def settle(self) -> Iterator[tuple[str, int]]:
        """Close the block: its (id, place) pairs whose hash an earlier block had too."""
        hashes = np.fromiter(map(hash, self._block), dtype=np.int64, count=len(self._block))
        again = np.zeros(len(hashes), dtype=bool)
        for run in self._runs:
            at = np.searchsorted(run, hashes)
            again |= run[np.minimum(at, len(run) - 1)] == hashes
        suspects = (
            [pair for pair, met in zip(self._block.items(), again, strict=True) if met] if again.any() else []
        )
        self._block = {}
        self._add(np.sort(hashes))
        yield from suspects

    def _add(self, run: Hashes) -> None:
        while self._runs and len(self._runs[-1]) <= len(run) < LONGEST:
            run = np.concatenate((self._runs.pop(), run))
            run.sort(kind="stable")  # two sorted runs: merged in linear time
        if len(run):
            self._runs.append(run)
