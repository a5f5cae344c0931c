"""Near-duplicates: a sentence is removed if an earlier kept one is almost the same (MinHash with
bands).

Memory is flat: for each band one table whose slots name the last kept sentence that fell there,
with some bits of its band. A newer one takes the slot over, so that far apart a pair may be missed
in some of its 16 bands; it is missed altogether only when all bands it shares were taken. The
signatures of the last `window` kept sentences are in a ring on disk, in a file without a name; the
few that share a band are read back. On a cluster the bands are spread over the nodes: each
table looks up a batch of sentences, and then takes those that were kept.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from nikawa.cleaning.base import Step
from nikawa.cleaning.minhash import BANDS, HASHES, Signatures
from nikawa.execute.base import Keeper, LocalKeeper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nikawa.cleaning.minhash import Bytes, Words

TABLE_BANDS = 4
"""Bands in one table: so many nodes as there are tables share them."""
LOOKUP_BATCH = 4096
"""Sentences looked up at a time."""


class SlotTable:
    """Some bands: band and slot to 1 + place in the ring, below the first bits of the band; 0: free."""

    def __init__(self, bands: int, slots: int) -> None:
        import numpy as np

        self.entries = np.zeros((bands, slots), np.uint32)

    def look_up(self, slots: NDArray[np.int64]) -> Words:
        """What is in these slots; a row per sentence, a column per band."""
        import numpy as np

        return self.entries[np.arange(len(self.entries)), slots]

    def take_over(self, slots: NDArray[np.int64], entries: Words) -> None:
        """Write into these slots; of equal ones the last row wins."""
        for band, row in enumerate(self.entries):
            row[slots[:, band]] = entries[:, band]

    def dump(self) -> bytes:
        """All entries."""
        return self.entries.tobytes()

    def load(self, content: bytes) -> None:
        """Hold these entries."""
        import numpy as np

        self.entries[:] = np.frombuffer(content, np.uint32).reshape(self.entries.shape)


def count_places(window: int) -> int:
    """The places of the ring: a batch must never overwrite what it is compared with."""
    return max(window, 2 * LOOKUP_BATCH)


def count_slots(window: int) -> int:
    """The slots of a band: as many as places, or up to twice as many."""
    return 1 << (count_places(window) - 1).bit_length()


def make_tables(window: int) -> list[Callable[[], SlotTable]]:
    """What makes each of the tables, for `nikawa.execute.ordered.keep_states`."""
    return [partial(SlotTable, TABLE_BANDS, count_slots(window))] * (BANDS // TABLE_BANDS)


class Duplicates:
    """The kept sentences so far.

    `similar` is the least share of hashes that near-duplicates agree in; see `find_twins`.
    `tables` keep the bands, as `make_tables` makes them; without them they are here.
    """

    def __init__(self, similar: float, window: int, tables: Sequence[Keeper] = ()) -> None:
        import numpy as np

        self.min_equal = max(1, int(np.ceil(similar * HASHES - 1e-9)))
        self.size = count_places(window)
        self.slots = count_slots(window)
        self.tables = tables or [LocalKeeper(make()) for make in make_tables(window)]
        self.kept = 0
        self.bits = self.size.bit_length()
        self.ring = TemporaryFile(buffering=0)  # noqa: SIM115  # it lives as long as this object
        weakref.finalize(self, self.ring.close)

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
        lookups = [keeper.ask("look_up", slots[:, bands]) for bands, keeper in self._columns()]
        entries = np.concatenate([wait() for wait in lookups], axis=1)
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
        entries = tags | at[:, None]
        for bands, keeper in self._columns():
            keeper.tell("take_over", slots[:, bands], entries[:, bands])
        self.kept += len(values)

    def _columns(self) -> Iterator[tuple[slice, Keeper]]:
        """The bands of each table."""
        for number, keeper in enumerate(self.tables):
            yield slice(number * TABLE_BANDS, (number + 1) * TABLE_BANDS), keeper


STEPS = (Step("duplicates", "near-duplicates of a kept sentence", 140, late=True),)
