"""Near-duplicates: a sentence is removed if an earlier kept one is almost the same (MinHash with
bands).

Memory is flat: for each band one table whose slots name the last kept sentence that fell there,
with some bits of its band. A newer one takes the slot over, so that far apart a pair may be missed
in some of its 16 bands; it is missed altogether only when all bands it shares were taken. The
signatures of the last `window` kept sentences are in a ring on disk, in a file without a name; the
few that share a band are read back.
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

LOOKUP_BATCH = 4096
"""Sentences looked up at a time."""


class Duplicates:
    """The kept sentences so far.

    `similar` is the least share of hashes that near-duplicates agree in; see `find_twins`.
    """

    def __init__(self, similar: float, window: int) -> None:
        import numpy as np

        self.min_equal = max(1, int(np.ceil(similar * HASHES - 1e-9)))
        self.size = max(window, 2 * LOOKUP_BATCH)
        self.slots = 1 << (self.size - 1).bit_length()
        self.kept = 0
        self.bits = self.size.bit_length()
        self.ring = TemporaryFile(buffering=0)  # noqa: SIM115  # it lives as long as this object
        weakref.finalize(self, self.ring.close)
        self.table = np.zeros((BANDS, self.slots), np.uint32)
        """Band and slot to 1 + place in the ring, below the first bits of the band; 0: free."""

    def find_twins(self, signatures: Signatures) -> Iterator[int]:
        """For each sentence in order the number (from 1) of the kept sentence it repeats, or 0: it
        is kept.
        """
        for start in range(0, len(signatures.values), LOOKUP_BATCH):
            rows = slice(start, start + LOOKUP_BATCH)
            batch = Signatures(signatures.values[rows], signatures.bands[rows])
            yield from self._find_in_batch(batch).tolist()

    def _find_in_batch(self, batch: Signatures) -> NDArray[np.int64]:
        """As if one by one: rows that share a slot with another are gone through in order, the rest
        at once.
        """
        import numpy as np

        slots = (batch.bands & np.uint32(self.slots - 1)).astype(np.int64)
        tags = batch.bands >> np.uint32(self.bits) << np.uint32(self.bits)
        entries = self.table[np.arange(BANDS), slots]
        places = (entries ^ tags).astype(np.int64) - 1
        is_place = (entries > 0) & (places >= 0) & (places < self.size)
        alike = self._find_alike(places, is_place, batch.values)
        first = places[np.arange(len(alike)), alike.argmax(axis=1)]
        old = np.where(alike.any(axis=1), self.kept - (self.kept - 1 - first) % self.size, 0)
        keys = slots + np.arange(BANDS) * self.slots
        inner = self._find_within(Signatures(batch.values, tags), keys, alike, old)
        kept = (old == 0) & (inner < 0)
        numbers = self.kept + np.cumsum(kept)
        twins = np.where(inner >= 0, numbers[inner], old)
        self._keep(batch.values[kept], slots[kept], tags[kept])
        return twins

    def _find_alike(
        self, places: NDArray[np.int64], is_place: NDArray[np.bool_], values: Bytes
    ) -> NDArray[np.bool_]:
        """Which places of the ring hold a signature that agrees enough with that of their row."""
        import numpy as np

        alike = np.zeros_like(is_place)
        rows, bands = np.nonzero(is_place)
        distinct, which = np.unique(places[rows, bands], return_inverse=True)
        earlier = []
        for place in distinct.tolist():
            self.ring.seek(place * HASHES)
            earlier.append(self.ring.read(HASHES))
        signatures = np.frombuffer(b"".join(earlier), np.uint8).reshape(-1, HASHES)
        equal = (signatures[which] == values[rows]).sum(axis=1)
        alike[rows, bands] = equal >= self.min_equal
        return alike

    def _find_within(
        self,
        batch: Signatures,
        keys: NDArray[np.int64],
        alike: NDArray[np.bool_],
        old: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Row to the earlier row of the batch it repeats, or -1.

        A slot taken within the batch hides what it held before.
        """
        import numpy as np

        values, tags = batch
        inner = np.full(len(values), -1, np.int64)
        distinct, counts = np.unique(keys, return_counts=True)
        again = distinct[counts > 1]
        latest: dict[int, int] = {}
        for row in np.flatnonzero(np.isin(keys, again).any(axis=1)).tolist():
            row_keys = keys[row].tolist()
            hiding = [latest.get(key, -1) for key in row_keys]
            twin = -1
            for band, earlier in enumerate(hiding):
                if earlier < 0 or tags[earlier, band] != tags[row, band]:
                    continue
                if (values[earlier] == values[row]).sum() >= self.min_equal:
                    twin = earlier
                    break
            if twin >= 0:
                inner[row], old[row] = twin, 0
            elif not (alike[row] & (np.array(hiding) < 0)).any():
                old[row] = 0
                latest.update(dict.fromkeys(row_keys, row))
        return inner

    def _keep(self, values: Bytes, slots: NDArray[np.int64], tags: NDArray[np.uint32]) -> None:
        import numpy as np

        start = self.kept % self.size
        until_end = self.size - start
        for place, part in ((start, values[:until_end]), (0, values[until_end:])):
            self.ring.seek(place * HASHES)
            self.ring.write(part.tobytes())
        at = ((self.kept + np.arange(len(values))) % self.size + 1).astype(np.uint32)
        for band in range(BANDS):  # of equal slots the last wins
            self.table[band, slots[:, band]] = tags[:, band] | at
        self.kept += len(values)


STEPS = (Step("duplicates", "near-duplicates of a kept sentence", 140, late=True),)
