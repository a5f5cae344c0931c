"""What a dataset file declares: its card, where its files lie, how they are read, which tasks it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nikawa.records import Card, Dataset, Example, Finding, Judgement, Task

Splits = Mapping[str, tuple[Example, ...]]


@dataclass(frozen=True)
class Source:
    """The published files of one split."""

    split: str
    """The split's name here; empty where one file holds several (see `Benchmark.split_of`)."""
    patterns: tuple[str, ...]
    """Globs below the repository folder; the first that matches is taken, the newest version of it."""
    fallback: bool = False
    """Read, one file of it, only where no other source of the dataset is here (raw data to be converted)."""
    holds: tuple[str, ...] = ()
    """The splits of a file that holds several."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits its files bring."""
        return self.holds or (self.split,)


@dataclass(frozen=True)
class Benchmark:
    """A dataset with its tasks, as one file of this package declares it under the name `DATASET`."""

    name: str
    language: str
    repository: str
    """Key of the upstream repository and name of its folder below the data root; empty: embedded."""
    card: Card
    tasks: tuple[Task, ...]
    sources: tuple[Source, ...]
    read: Callable[[Path], Iterator[Example]]
    """The examples of one published file, in file order."""
    split_of: Callable[[Example], str] | None = None
    """The split of an example, where one file holds several."""
    version_of: Callable[[Splits], str | None] | None = None
    """The version, told from the content; None where the content does not tell."""
    judgements: Callable[[Path], Iterator[Judgement]] | None = None
    """Every published worker's answer, from the repository folder."""
    counted: Callable[[Path], Iterator[Judgement]] | None = None
    """Those of them that the published gold was made from, where it is not all."""
    traps: Callable[[Path, Dataset], Iterable[Finding]] | None = None
    """What is special to this dataset's files, for `nikawa data check`."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Further names of splits, beside valid, validation and trial for dev."""
    sections: bool = False
    """Whether a split comes in several files with ids of their own; ids that repeat are for its traps to tell."""
    views: Mapping[str, str] = field(default_factory=dict)
    """Splits that are drawn from another one, or are it in another guise: view to that split."""

    def split_names(self) -> list[str]:
        """The splits it is published with, each once."""
        return list(
            dict.fromkeys(split for source in self.sources for split in source.splits if split)
        )
