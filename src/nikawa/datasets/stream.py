"""A dataset as a stream of examples: a records file and shards are read as they are used, anything else is loaded.

For stages that look at one example at a time (tagging, perturbation), so that a file of any size
fits into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from nikawa.datasets.hidden import ExampleSource, cover_stream
from nikawa.datasets.load import (
    EXAMPLES_FOR_LANGUAGE,
    guess_language,
    guess_split,
    load,
    load_as_it_is,
    loose_dataset,
    open_file,
    pick_split,
)
from nikawa.datasets.names import benchmarks, custom_path
from nikawa.errors import BadInput, unknown
from nikawa.io.cards import read_card
from nikawa.io.folders import is_dataset_folder, list_parts, read_parts
from nikawa.io.records import SUFFIXES, read_examples
from nikawa.io.remote import MANIFEST, has_pattern, list_inputs, to_path
from nikawa.io.shards import list_files, list_shards, name_shard
from nikawa.records import Dataset, Example
from nikawa.spec import name_and_split

SplitExamples = Iterable[tuple[str, Example]]
"""Each example with the name of its split."""


@dataclass
class ExampleStream:
    """Examples with their splits, and what is known of them as a whole."""

    dataset: Dataset
    """Without examples where they come from a file as they are read."""
    pairs: SplitExamples
    """Split and example; a file can be passed over once."""
    total: int | None
    """How many there are; None where that is not known before the end."""


def open_stream(spec: str, data: Path | None = None, *, hidden: bool = False) -> ExampleStream:
    """The examples of a dataset given as `load` takes it, hidden labels removed unless `hidden`.

    A records file is not read completely: its language is detected from the first examples, and its
    size is not known.
    """
    path = to_path(spec)
    if spec not in benchmarks() and spec.endswith(SUFFIXES) and path.is_file():
        examples = open_file(path, data=data, hidden=hidden)
        first = list(islice(examples, EXAMPLES_FOR_LANGUAGE))
        split = guess_split(path)
        dataset = replace(loose_dataset(path, ()), language=guess_language(first))
        return ExampleStream(dataset, ((split, one) for one in chain(first, examples)), None)
    if spec not in benchmarks():
        folders = (to_path(text) for text in (spec, name_and_split(spec)[0]))
        if any(folder.is_dir() and (folder / MANIFEST).is_file() for folder in folders):
            shards = open_shard_files(spec, data, hidden=hidden)
            return ExampleStream(shards.dataset, shards.read_all(), None)
    dataset = load(spec, data=data, hidden=hidden)
    pairs = ((split, one) for split, examples in dataset.splits.items() for one in examples)
    return ExampleStream(dataset, pairs, len(dataset))


class ShardFile(NamedTuple):
    """One of the files of a dataset in shards."""

    split: str
    path: Path

    @property
    def name(self) -> str:
        """The name of what is made from it."""
        return name_shard(self.path)


@dataclass
class ShardFiles:
    """A dataset in many files, of which each can be read by itself."""

    dataset: Dataset
    """Without examples."""
    files: list[ShardFile]
    place: Path
    data: Path | None
    hidden: bool

    def __post_init__(self) -> None:
        self._source = ExampleSource(
            self._read_as_it_is,
            frozenset((self.dataset.name, self.dataset.card.name)),
            frozenset(self.dataset.splits),
            self.place,
            partial(load_as_it_is, data=self.data),
        )

    def _read_as_it_is(self) -> Iterator[tuple[str, Example]]:
        for file in self.files:
            for example in read_examples(file.path):
                yield file.split, example

    def read(self, file: ShardFile) -> Iterator[Example]:
        """The examples of one file, without hidden labels unless they are asked for."""
        return cover_stream(read_examples(file.path), self._source, hidden=self.hidden)

    def read_all(self) -> Iterator[tuple[str, Example]]:
        """The examples of all files with their splits."""
        for split in self.dataset.splits:
            parts = [file.path for file in self.files if file.split == split]
            for example in cover_stream(read_parts(parts), self._source, hidden=self.hidden):
                yield split, example


def open_shard_files(spec: str, data: Path | None = None, *, hidden: bool = False) -> ShardFiles:
    """The files of a folder of shards, of a dataset folder, of a folder of records files, of an address with a pattern, or one records file.

    Nothing of them is read yet, but for the first examples where no card tells the language.
    """
    if spec in benchmarks():
        cure = "leave --shards out, or pass a folder of records files"
        raise BadInput(f"{spec} is not a folder of shards", cure=cure)
    path, split = to_path(spec), None
    if not has_pattern(path) and not path.exists():
        path, split = custom_path(spec)
    parts: dict[str, list[Path]] | None = None
    if has_pattern(path):
        parts = {"all": list_inputs([path])}
        while has_pattern(path):
            path = path.parent
    elif not path.is_dir():
        parts = {guess_split(path): [path]}
    dataset = loose_dataset(path, ())
    if parts is None and is_dataset_folder(path):
        card = read_card(path)
        parts = list_parts(path)
        dataset = Dataset(
            name=card.name, language=card.languages[0], version=card.version, card=card, splits={}
        )
    elif parts is None:
        parts = list_shards(path, guess_split(path))
    if parts is None:
        files = [file for file in list_files([path]) if file.name.endswith(SUFFIXES)]
        if not files:
            cure = f"pass files that end in {', '.join(SUFFIXES)}"
            raise BadInput("holds no records file", file=path, cure=cure)
        parts = {guess_split(path): files}
    dataset = replace(dataset, splits=dict.fromkeys(parts, ()))
    if split:
        dataset = pick_split(dataset, split, path)
    listed = [ShardFile(name, file) for name in dataset.splits for file in parts[name]]
    if dataset.card.languages[0] == dataset.language == "und":
        first = chain.from_iterable(read_examples(file.path) for file in listed)
        language = guess_language(islice(first, EXAMPLES_FOR_LANGUAGE))
        card = replace(dataset.card, languages=(language,))
        dataset = replace(dataset, language=language, card=card)
    return ShardFiles(dataset, listed, path, data, hidden)


def refuse_missing_inputs(
    pairs: SplitExamples, names: Sequence[str], text_inputs: Callable[[Example], set[str]]
) -> None:
    """Raise `BadInput` for an input that no example has.

    The first example settles it where all are alike.

    `text_inputs` gives the names of the inputs of an example that may be chosen.
    """
    missing, seen = dict.fromkeys(names), set[str]()
    for _, example in pairs:
        inputs = text_inputs(example)
        seen |= inputs
        missing = {name: None for name in missing if name not in inputs}
        if not missing:
            return
    if seen:
        raise unknown("text input", next(iter(missing)), seen)
