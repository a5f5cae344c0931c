"""Find repeated ids of a long file in little memory: 8 bytes an id.

Ids of the present block are held in full; of earlier blocks only their 64-bit hashes, in sorted runs that
merge like those of a log-structured tree. A hash met again is a suspicion, settled by the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1 << 16
LONGEST = 1 << 20
"""Runs this long are merged no further: merging takes twice their memory."""

Hashes: TypeAlias = "NDArray[np.int64]"


class Ids:
    """The ids met so far, by where (line or row) they were met."""

    def __init__(self, block: int = BLOCK) -> None:
        self.size = block
        self.block: dict[str, int] = {}
        """Id to place, within the present block; to be settled when it reaches `size`."""
        self.runs: list[Hashes] = []
        """Sorted hashes of the blocks before."""

    def settle(self) -> list[tuple[str, int]]:
        """Close the block: its (id, place) pairs whose hash an earlier block had too."""
        import numpy as np

        hashes = np.fromiter(map(hash, self.block), dtype=np.int64, count=len(self.block))
        again = np.zeros(len(hashes), dtype=bool)
        for run in self.runs:
            at = np.searchsorted(run, hashes)
            again |= run[np.minimum(at, len(run) - 1)] == hashes
        pairs = zip(self.block.items(), again, strict=True) if again.any() else ()
        suspects = [pair for pair, met in pairs if met]
        self.block.clear()
        self._add(np.sort(hashes))
        return suspects

    def _add(self, run: Hashes) -> None:
        import numpy as np

        while self.runs and len(self.runs[-1]) <= len(run) < LONGEST:
            run = np.concatenate((self.runs.pop(), run))
            run.sort(kind="stable")  # two sorted runs: merged in linear time
        if len(run):
            self.runs.append(run)
