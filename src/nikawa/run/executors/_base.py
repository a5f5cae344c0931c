"""What an executor is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from nikawa.run.value import Outcome, RunSpec

Work = Callable[[RunSpec], Outcome]
"""Does one run and tells what became of it; it can be pickled and never raises for a run that fails."""


class Executor(Protocol):
    """Does runs somewhere."""

    def submit(self, runs: Sequence[RunSpec]) -> Iterator[Outcome]:
        """One outcome a run, as they are done; closing the iterator early ends what is under way."""
        ...


@dataclass(frozen=True)
class ExecutorKind:
    """An executor, as its file declares it."""

    name: str
    title: str
    make: Callable[[Work, int, int], Executor]
    """From the work, the number of runs at a time, and the threads of each."""
