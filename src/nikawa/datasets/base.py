"""The declaration of a dataset: its card, its files, its readers and its tasks.

To add a dataset, write `PAPER/NAME.py` next to this file with `DATASET = Benchmark(...)`; the folder
is scanned. Three things are elsewhere: `upstream.json` pins the published files that `nikawa data
fetch` downloads (commit, checksum and size of each), `known.toml` in the paper's folder lists the
known problems, and metrics are in `nikawa.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nikawa.datasets.known import KnownFinding
from nikawa.datasets.subsets import Cell, group_of
from nikawa.records import Card, Dataset, Example, Finding, Judgement, Origin, Task, reference

Examples = tuple[Example, ...]
Splits = Mapping[str, Examples]
"""Split name to its examples, in file order."""


@dataclass(frozen=True)
class Source:
    """The published files of one split."""

    split: str
    """The name of the split; empty if one file has several (see `Benchmark.split_of`)."""
    patterns: tuple[str, ...]
    """Globs below the repository folder; the first that matches is used, in its newest version."""
    fallback: bool = False
    """Whether the source is used only if no other source of the dataset is available (raw data that must be
    converted)."""
    holds: tuple[str, ...] = ()
    """The splits of a file that has several."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits its files bring."""
        return self.holds or (self.split,)


@dataclass(frozen=True)
class RunProtocol:
    """How a model is trained and evaluated on a dataset; the default fits most datasets.

    Sets are named in full here: `jamp:template-easy` is the split `template-easy` of `jamp`.
    """

    learns_from: str = ""
    """The dataset whose train and dev are used; its test is evaluated in addition to the dataset's own
    splits."""
    training_sets: tuple[str, ...] = ()
    """Sets for separate training runs, in addition to the run on the whole of train."""
    read_split: Callable[[str, Callable[[str], Examples], Sequence[str]], Examples] | None = None
    """`read_split(split, read_file, splits_here)`: the examples of a split that is not simply
    read from its file.

    `read_file` reads a split from its published file; `splits_here` are the splits whose files are
    here.
    """
    reported_on: str = "test"
    """The split on which papers report results if the test labels are not published."""
    stand_in: str = ""
    """The split to evaluate if there is no test file; `read_split` makes it."""
    divide: Callable[[Sequence[str], Sequence[Example]], dict[str, list[Example]]] | None = None
    """`divide(training_sets, examples)`: named parts of an evaluated set, such as seen and unseen;
    scored one by one."""
    cell_of: Cell | None = None
    """The cell of an example: those of a cell are alike, so one of each cell is held out for
    selection, not whole groups."""
    kept_whole: str = ""
    """The `meta` key of the unit that folds keep whole, if it is larger than a group."""

    def fold_unit(self, example: Example) -> str:
        """The value that all examples of one fold unit share: they are in the same fold."""
        return str(example.meta[self.kept_whole]) if self.kept_whole else group_of(example)


@dataclass(frozen=True)
class Benchmark:
    """A dataset with its tasks, as one file of this package declares it under the name `DATASET`."""

    name: str
    """The name that users write; it must be the name on the card, and unique."""
    language: str
    """`ja`, `ko`, `en`: which analyser and which form of metrics fit its texts."""
    repository: str
    """Key of the upstream repository and name of its folder below the data root; empty: embedded.
    """
    card: Card
    """The card, for `nikawa data show` and every report."""
    tasks: tuple[Task, ...]
    """The questions that its gold answers, with the metrics of the paper."""
    sources: tuple[Source, ...]
    """The files of its splits, in the order of the list."""
    read: Callable[[Path], Iterator[Example]]
    """The examples of one published file, in file order."""
    suite: str = ""
    """The suite it belongs to, such as `klue`: a name for all its datasets, in `run`, `tasks` and
    `data fetch`."""
    suite_place: int = 0
    """Its place in the suite, counted from 1 as in the paper's tables."""
    further_files: tuple[str, ...] = ()
    """Globs below the repository folder for files that a fetch downloads in addition to those of `sources`."""
    withdrawn: str = ""
    """Data that a fetch cannot download, for the note at its end."""
    instead_of_fetch: str = ""
    """The cure if a fetch cannot help; `{folder}` is the folder of the repository."""
    split_of: Callable[[Example], str] | None = None
    """Returns the split of an example, if one file has several."""
    version_of: Callable[[Splits], str | None] | None = None
    """Detect the version from the content; None if that is not possible."""
    judgements: Callable[[Path], Iterator[Judgement]] | None = None
    """Every published worker's answer, from the repository folder."""
    gold_judgements: Callable[[Path], Iterator[Judgement]] | None = None
    """The judgements that the published gold was made from, if not all."""
    find_problems: Callable[[Path, Dataset], Iterable[Finding]] | None = None
    """Checks that are specific to this dataset's files, for `nikawa data check`."""
    by_design: tuple[KnownFinding, ...] = ()
    """Findings of `nikawa data check` that are by design, whatever their count: the count
    depends on the splits that a user has."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Further names of splits, in addition to valid, validation and trial for dev."""
    relabels: str = ""
    """The dataset that has the same items under other labels: they are not compared with each
    other."""
    sections: bool = False
    """Whether a split has several files with their own ids; `find_problems` reports ids that repeat within a file
    or across files."""
    views: Mapping[str, str] = field(default_factory=dict)
    """Splits that are drawn from another one, or are it in another guise: view to that split."""
    protocol: RunProtocol = RunProtocol()
    """How models are trained and evaluated on it."""
    from_templates: bool = False
    """Whether it was made from templates, which `meta` names: a loose .tsv to audit is read as it
    is."""
    prompt_inputs: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """The inputs for a prompt, if the published inputs contain markup for
    other models; None: unchanged."""
    folder: Path | None = None
    """The folder of the files of a dataset that comes inside another package; `repository` is empty
    then. None: the folder of the repository, or this package's own."""
    numbered_labels: bool = False
    """Whether official tools write an answer as the place of its label in the task's labels,
    counted from 0."""

    def split_names(self) -> list[str]:
        """The splits it is published with, each once."""
        return list(
            dict.fromkeys(split for source in self.sources for split in source.splits if split)
        )


def hidden_origin(recipe: str, gold: Mapping[str, Any]) -> Origin | None:
    """Return the origin of a published example: `hidden` if it has no gold, else None."""
    return None if gold else Origin(recipe=recipe, gold="hidden")


def report_examples(
    check: str,
    dataset: Dataset,
    split: str,
    examples: Sequence[Example],
    note: str = "",
    *,
    known: bool = False,
) -> Iterator[Finding]:
    """Yield one finding about examples of a split, counted with repetition; nothing if there are no examples."""
    if examples:
        ids = dict.fromkeys(reference(dataset.name, split, example.id) for example in examples)
        yield Finding(
            check=check, where=split, count=len(examples), ids=tuple(ids), note=note, known=known
        )
