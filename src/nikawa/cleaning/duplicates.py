"""Near-duplicates: a sentence goes when an earlier kept one is as good as the same (MinHash with bands).

Memory is flat: for each band one table whose slots name the last kept sentence that fell there, with some bits of its
band. A newer one takes the slot over, so that far apart a pair may be missed in some of its 16 bands; it is missed
altogether only when all bands it shares were taken. The signatures of the last `window` kept sentences are in a ring
on disk, in a file without a name; the few that share a band are read back.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from nikawa.cleaning.base import Step
from nikawa.cleaning.minhash import BANDS, HASHES, Signatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nikawa.cleaning.minhash import Bytes

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
        self.bits = self.size.bit_length()
        self.ring = TemporaryFile(buffering=0)  # noqa: SIM115  # it lives as long as this object
        weakref.finalize(self, self.ring.close)
        self.table = np.zeros((BANDS, self.slots), np.uint32)
        """Band and slot to 1 + place in the ring, below the first bits of the band; 0: free."""

    def twins(self, found: Signatures) -> Iterator[int]:
        """For each sentence in order the number (from 1) of the kept sentence it repeats, or 0: it is kept."""
        for start in range(0, len(found.values), BATCH):
            part = Signatures(
                found.values[start : start + BATCH], found.bands[start : start + BATCH]
            )
            yield from self._batch(part).tolist()

    def _batch(self, found: Signatures) -> NDArray[np.int64]:
        """As if one by one: rows that share a slot with another are gone through in order, the rest at once."""
        import numpy as np

        slots = (found.bands & np.uint32(self.slots - 1)).astype(np.int64)
        tags = found.bands >> np.uint32(self.bits) << np.uint32(self.bits)
        named = self.table[np.arange(BANDS), slots]
        places = (named ^ tags).astype(np.int64) - 1
        alike = self._alike(
            places, (named > 0) & (places >= 0) & (places < self.size), found.values
        )
        first = places[_rows(alike), alike.argmax(axis=1)]
        old = np.where(alike.any(axis=1), self.kept - (self.kept - 1 - first) % self.size, 0)
        keys = slots + np.arange(BANDS) * self.slots
        inner = self._within(Signatures(found.values, tags), keys, alike, old)
        kept = (old == 0) & (inner < 0)
        numbers = self.kept + np.cumsum(kept)
        twins = np.where(inner >= 0, numbers[inner], old)
        self._keep(found.values[kept], slots[kept], tags[kept])
        return twins

    def _alike(
        self, places: NDArray[np.int64], named: NDArray[np.bool_], values: Bytes
    ) -> NDArray[np.bool_]:
        """Which of the places named hold a signature that agrees enough."""
        import numpy as np

        alike = np.zeros_like(named)
        rows, bands = np.nonzero(named)
        wanted, which = np.unique(places[rows, bands], return_inverse=True)
        same = (self._read(wanted.tolist())[which] == values[rows]).sum(axis=1)
        alike[rows, bands] = same >= self.least
        return alike

    def _read(self, places: list[int]) -> Bytes:
        """The signatures at these places of the ring."""
        import numpy as np

        found = []
        for place in places:
            self.ring.seek(place * HASHES)
            found.append(self.ring.read(HASHES))
        return np.frombuffer(b"".join(found), np.uint8).reshape(-1, HASHES)

    def _within(
        self,
        found: Signatures,
        keys: NDArray[np.int64],
        alike: NDArray[np.bool_],
        old: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Row to the earlier row of the batch it repeats, or -1; a slot taken within the batch hides what it named before."""
        import numpy as np

        values, tags = found
        inner = np.full(len(values), -1, np.int64)
        distinct, counts = np.unique(keys, return_counts=True)
        again = distinct[counts > 1]
        latest: dict[int, int] = {}
        for row in np.flatnonzero(np.isin(keys, again).any(axis=1)).tolist():
            own = keys[row].tolist()
            hidden = [latest.get(key, -1) for key in own]
            met = (
                r for band, r in enumerate(hidden) if r >= 0 and tags[r, band] == tags[row, band]
            )
            twin = next((r for r in met if (values[r] == values[row]).sum() >= self.least), -1)
            if twin >= 0:
                inner[row], old[row] = twin, 0
            elif not (alike[row] & (np.array(hidden) < 0)).any():
                old[row] = 0
                latest.update(dict.fromkeys(own, row))
        return inner

    def _keep(self, values: Bytes, slots: NDArray[np.int64], tags: NDArray[np.uint32]) -> None:
        import numpy as np

        start = self.kept % self.size
        for place, part in ((start, values[: self.size - start]), (0, values[self.size - start :])):
            self.ring.seek(place * HASHES)
            self.ring.write(part.tobytes())
        at = ((self.kept + np.arange(len(values))) % self.size + 1).astype(np.uint32)
        for band in range(BANDS):  # of equal slots the last wins
            self.table[band, slots[:, band]] = tags[:, band] | at
        self.kept += len(values)


def _rows(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    import numpy as np

    return np.arange(len(table))


STEPS = (Step("duplicates", "near-duplicates of a kept sentence", 140, late=True),)
