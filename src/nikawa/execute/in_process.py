"""One item after the other in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from nikawa.execute.base import (
    ExecuteOptions,
    ExecutorKind,
    Item,
    Result,
    Work,
    limit_future_threads,
    limit_threads,
)


@dataclass(frozen=True)
class InProcess(Generic[Item, Result]):
    """The executor of this process."""

    work: Work[Item, Result]
    threads: int = 1

    def submit(self, items: Sequence[Item]) -> Iterator[Result]:
        """Work on them in order."""
        for item in items:
            with limit_threads(self.threads), limit_future_threads(self.threads):
                result = self.work(item)
            yield result


def make_in_process(work: Work[Any, Any], options: ExecuteOptions) -> InProcess[Any, Any]:
    """The executor that the options describe."""
    return InProcess(work, options.threads)


EXECUTOR = ExecutorKind(
    "here",
    "one run after another in this process",
    make_in_process,
    lambda function, chunks, _options, _ahead: map(function, chunks),
)
