"""Near-duplicates: a sentence goes when an earlier kept one is as good as the same (MinHash with bands).

Memory is flat: signatures of the last `window` kept sentences in a ring, and for each band one table whose slots name
the last kept sentence that fell there. A newer one takes the slot over, so that far apart a pair may be missed in
some of its 16 bands; it is missed altogether only when all bands it shares were taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nikawa.clean.base import Step
from nikawa.clean.minhash import BANDS, HASHES, Signatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nikawa.clean.minhash import Bytes

BATCH = 4096
"""Sentences looked up at a time."""


class Duplicates:
    """Kept sentences so far; see `twins`."""

    def __init__(self, similar: float, window: int) -> None:
        import numpy as np

        self.least = max(1, int(np.ceil(similar * HASHES - 1e-9)))
        self.size = max(window, 2 * BATCH)
        self.slots = 1 << (self.size - 1).bit_length()
        self.kept = 0
        self.ring = np.zeros((self.size, HASHES), np.uint8)
        self.numbers = np.zeros(self.size, np.int64)
        self.table = np.zeros((BANDS, self.slots), np.int32)
        """Band and slot to 1 + place in the ring; 0: free."""

    def twins(self, found: Signatures) -> Iterator[int]:
        """For each sentence in order the number (from 1) of the kept sentence it repeats, or 0: it is kept."""
        for start in range(0, len(found.values), BATCH):
            part = Signatures(found.values[start : start + BATCH], found.bands[start : start + BATCH])
            yield from self._batch(part).tolist()

    def _batch(self, found: Signatures) -> NDArray[np.int64]:
        """As if one by one: rows that share a slot with another are gone through in order, the rest at once."""
        import numpy as np

        slots = (found.bands & np.uint32(self.slots - 1)).astype(np.int64)
        places = self.table[np.arange(BANDS), slots]
        same = (self.ring[places - 1] == found.values[:, None, :]).sum(axis=2, dtype=np.int32)
        alike = (places > 0) & (same >= self.least)
        old = np.where(alike.any(axis=1), self.numbers[places[_rows(alike), alike.argmax(axis=1)] - 1], 0)
        inner = self._within(found.values, slots + np.arange(BANDS) * self.slots, alike, old)
        kept = (old == 0) & (inner < 0)
        numbers = self.kept + np.cumsum(kept)
        twins = np.where(inner >= 0, numbers[inner], old)
        self._keep(found.values[kept], slots[kept], numbers[kept])
        return twins

    def _within(
        self, values: Bytes, keys: NDArray[np.int64], alike: NDArray[np.bool_], old: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Row to the earlier row of the batch it repeats, or -1; a slot taken within the batch hides what it named before."""
        import numpy as np

        inner = np.full(len(values), -1, np.int64)
        distinct, counts = np.unique(keys, return_counts=True)
        again = distinct[counts > 1]
        latest: dict[int, int] = {}
        for row in np.flatnonzero(np.isin(keys, again).any(axis=1)).tolist():
            own = keys[row].tolist()
            hidden = [latest.get(key, -1) for key in own]
            twin = next((r for r in hidden if r >= 0 and (values[r] == values[row]).sum() >= self.least), -1)
            if twin >= 0:
                inner[row], old[row] = twin, 0
            elif not (alike[row] & (np.array(hidden) < 0)).any():
                old[row] = 0
                latest.update(dict.fromkeys(own, row))
        return inner

    def _keep(self, values: Bytes, slots: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        import numpy as np

        at = (self.kept + np.arange(len(values))) % self.size
        self.ring[at], self.numbers[at] = values, numbers
        for band in range(BANDS):  # of equal slots the last wins
            self.table[band, slots[:, band]] = at + 1
        self.kept += len(values)


def _rows(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    import numpy as np

    return np.arange(len(table))


STEPS = (Step("duplicates", "near-duplicates of a kept sentence", 140, late=True),)
