"""Processes that make chunks: each holds the plan and writes its chunks to files of their own."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from multiprocessing import get_all_start_methods
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nikawa.execute.ordered import map_ordered
from nikawa.generation.journal import UNFINISHED, Text

if TYPE_CHECKING:
    from nikawa.generation.job import CellSlice, Plan

CHUNKS_AHEAD = 12
"""Chunks each process may be ahead of the writer, who waits for the disk now and then."""


def made(
    job: Plan, chunks: list[list[CellSlice]], workers: int, folder: Path
) -> Iterator[tuple[list[CellSlice], Sequence[Text]]]:
    """Each chunk with its texts, in order."""
    if workers <= 1 or len(chunks) < 2:
        yield from ((chunk, job.make(chunk)) for chunk in chunks)
        return
    forks = "fork" in get_all_start_methods()
    if forks:
        gc.collect()
        gc.freeze()  # so that no collection of a child touches, and thereby copies, the plan
    places = [
        (chunk, folder / f".chunk-{number}{UNFINISHED}") for number, chunk in enumerate(chunks)
    ]
    all_sizes = map_ordered(
        ChunkWriter(job),
        places,
        min(workers, len(chunks)),
        ahead=CHUNKS_AHEAD,
        start="fork" if forks else "spawn",
    )
    for (chunk, path), sizes in zip(places, all_sizes, strict=True):
        whole = memoryview(path.read_bytes())
        path.unlink()
        yield chunk, [whole[a:b] for a, b in pairwise(accumulate(sizes, initial=0))]


@dataclass(frozen=True)
class ChunkWriter:
    """Makes the texts of a chunk and writes them to a file, which is far cheaper than a pipe."""

    job: Plan

    def __call__(self, place: tuple[list[CellSlice], Path]) -> list[int]:
        """Write one chunk; the bytes of each text."""
        chunk, path = place
        texts = self.job.make(chunk)
        path.write_bytes(b"".join(texts))
        return [len(text) for text in texts]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A process that is not forked loads the pack and makes the plan again, which is cheaper than to send them."""
        job = self.job
        return _plan_again, (*job.remake, job.maker.seed, dict(job.per), tuple(job.views))


def _plan_again(
    spec: str, data: Path | None, seed: str, per: dict[str, int], views: tuple[str, ...]
) -> ChunkWriter:
    from nikawa.generation.job import Plan
    from nikawa.generation.templates import open_pack

    return ChunkWriter(Plan(open_pack(spec, data), seed, per, views))
