"""One run after the other in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from nikawa.execute.base import ExecutorKind, Work, threads_told
from nikawa.runs.value import Outcome, RunSpec


@dataclass(frozen=True)
class Here:
    """The executor of this process."""

    work: Work
    threads: int = 1

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """Do them in order."""
        for run in runs:
            with limited(self.threads), threads_told(self.threads):
                outcome = self.work(run)
            yield outcome


def limited(threads: int) -> AbstractContextManager[object]:
    """Keep numerical libraries to so many threads: how many there are may change the last bits of a sum.

    This holds for libraries that are loaded; those that are loaded later are told by the environment.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[object] = threadpool_limits(threads)
    return limits


EXECUTOR = ExecutorKind(
    "here", "one after the other in this process", lambda work, _, threads: Here(work, threads)
)
