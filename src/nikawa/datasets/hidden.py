"""Hidden labels: remove them from the input of a command, unless their owner asks for them.

`load`, `peek` and `open_stream` remove them by default; `hidden=True` keeps them, still marked.

A label that is hidden on an example is also hidden on every example made from it, wherever both are.
Originals are searched in the dataset itself; those of another dataset among the registered datasets and,
as dataset folder or records file, next to the current one, one folder up, and in the working directory.

With a label goes what repeats it. A field of the meta is removed from every hidden example where its
name holds the name of the question, or where on any hidden example of the dataset it says what a
hidden label says; so is a tag that is called like one. That is decided for all hidden examples at
once: a field that were missing only where it is right would confirm the label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.names import benchmarks
from nikawa.errors import BadInput, MissingData
from nikawa.io.folders import CARD, is_dataset_folder
from nikawa.io.json import read_json
from nikawa.io.records import SUFFIXES
from nikawa.io.remote import to_path
from nikawa.records import Card, Dataset, Example, Span, reference
from nikawa.spec import name_and_split

INHERITED_META = "inherited_"
"""The prefix of `meta` keys with the label of a parent."""

SplitExamples = Iterable[tuple[str, Example]]
"""Each example with the name of its split."""
ReadDataset = Callable[[str], Dataset]
"""Reads a dataset by its name or path, as it is on disk."""


@dataclass
class ExampleSource:
    """Examples that can be iterated several times, and their source."""

    pairs: Callable[[], SplitExamples]
    """Begins a new pass."""
    names: frozenset[str]
    """The name of the dataset in references."""
    splits: frozenset[str]
    place: Path | None = None
    """The file or folder; without it, originals are searched only in the dataset."""
    read: ReadDataset | None = None
    """Reads originals of other datasets."""

    @classmethod
    def of_dataset(
        cls, dataset: Dataset, place: Path | None = None, read: ReadDataset | None = None
    ) -> ExampleSource:
        """The examples of a dataset in memory."""

        def pairs() -> SplitExamples:
            return (
                (split, example)
                for split, examples in dataset.splits.items()
                for example in examples
            )

        names = frozenset((dataset.name, dataset.card.name))
        return cls(pairs, names, frozenset(dataset.splits), place, read)

    @cached_property
    def cover(self) -> Cover:
        """What is hidden in them, found by passes over them."""
        return Cover.over(self)


@dataclass
class Cover:
    """The hidden examples of a dataset, and the fields that would reveal their labels."""

    hidden: set[str] = field(default_factory=set)
    """References of the hidden examples, and their ids."""
    questions: set[str] = field(default_factory=set)
    """The questions of hidden labels."""
    values: set[str | float] = field(default_factory=set)
    """The values of hidden labels: texts, and numbers that are not whole."""
    fields: set[str] = field(default_factory=set)
    """Metadata keys that have one of these values on a hidden example."""

    @classmethod
    def over(cls, source: ExampleSource) -> Cover:
        """The cover of a dataset, by passes over it."""
        cover = cls(find_hidden(source, frozenset()))
        metas = []
        for example in (cover.mark(one) for _, one in source.pairs()):
            if example.hidden and example.gold:
                cover.questions.update(example.gold)
                cover.values.update(_values_inside(example.gold))
                if example.meta:
                    metas.append(example.meta)
        for meta in metas:
            for key, value in meta.items():
                if key not in cover.fields and not cover.values.isdisjoint(_values_inside(value)):
                    cover.fields.add(key)
        return cover

    def mark(self, example: Example) -> Example:
        """The example, hidden if it inherited its label from a hidden one; the label stays."""
        origin = example.origin
        if origin is None or origin.gold != "inherited" or self.hidden.isdisjoint(origin.parents):
            return example
        return replace(example, origin=replace(origin, gold="hidden"))

    def remove(self, example: Example) -> Example:
        """Return the example with its mark; if it is hidden, without its label and the fields that repeat it."""
        example = self.mark(example)
        origin = example.origin
        if origin is None:
            return example
        if not example.hidden:
            # Its own label is public, but the metadata may contain that of a hidden parent.
            if self.hidden.isdisjoint(origin.parents):
                return example
            return _drop_meta(example, lambda key: key.startswith(INHERITED_META))
        example = _drop_meta(example, self._tells)
        tags = frozenset(tag for tag in example.tags if self.values.isdisjoint(_tag_words(tag)))
        if example.gold or tags != example.tags:
            example = replace(example, gold={}, tags=tags)
        return example

    def _tells(self, key: str) -> bool:
        """Whether a metadata field would reveal a hidden label."""
        if key.startswith(INHERITED_META) or key in self.fields:
            return True
        return bool(self.questions) and (
            key == "gold" or any(question in key for question in self.questions)
        )


def _drop_meta(example: Example, tells: Callable[[str], bool]) -> Example:
    meta = {key: value for key, value in example.meta.items() if not tells(key)}
    return example if len(meta) == len(example.meta) else replace(example, meta=meta)


def _tag_words(tag: str) -> list[str]:
    """Return a tag and its parts: `label:neutral` contains neutral."""
    return [tag, *re.split(r"[:=/]", tag)]


def _values_inside(value: Any) -> Iterator[str | float]:
    """Yield texts, and numbers that are not whole, inside a value; keys of mappings count too, because
    votes are stored by label.
    """
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, float):
        if not value.is_integer():
            yield value
    elif isinstance(value, Span):
        if value.label:
            yield value.label
    elif isinstance(value, Mapping):
        for key, part in value.items():
            # Names such as `text` and `start` of an answer are not answers.
            if isinstance(part, int | float):
                yield from _values_inside(key)
            yield from _values_inside(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _values_inside(part)


def may_be_covered(example: Example) -> bool:
    """Whether something about an example may be hidden: it is itself, or it was made from others."""
    origin = example.origin
    return origin is not None and (origin.gold == "hidden" or bool(origin.parents))


def hide_inherited(
    dataset: Dataset, place: Path | None = None, read: ReadDataset | None = None
) -> Dataset:
    """Return the dataset with all examples hidden that inherited their label from a hidden one.

    Without `place`, its source, originals are searched only in the dataset.
    """
    if not _may_hide(dataset):
        return dataset
    cover = Cover(find_hidden(ExampleSource.of_dataset(dataset, place, read), frozenset()))
    return _change_examples(dataset, cover.mark) if cover.hidden else dataset


def remove_hidden_labels(
    dataset: Dataset, place: Path | None = None, read: ReadDataset | None = None
) -> Dataset:
    """Return the dataset without hidden labels, whether or not this copy has them.

    Examples made from a hidden example are hidden as by `hide_inherited`. Metadata and tags that repeat
    hidden labels are removed too.
    """
    if not _may_hide(dataset):
        return dataset
    cover = Cover.over(ExampleSource.of_dataset(dataset, place, read))
    return _change_examples(dataset, cover.remove) if cover.hidden else dataset


def _may_hide(dataset: Dataset) -> bool:
    """Whether anything may be hidden. Most datasets have no hidden labels and need no further
    check.
    """
    return any(
        example.origin is not None and may_be_covered(example)
        for examples in dataset.splits.values()
        for example in examples
    )


def _change_examples(dataset: Dataset, change: Callable[[Example], Example]) -> Dataset:
    splits = {split: tuple(map(change, examples)) for split, examples in dataset.splits.items()}
    return replace(dataset, splits=splits)


def cover_stream(
    examples: Iterable[Example], source: ExampleSource, *, hidden: bool
) -> Iterator[Example]:
    """Yield the examples of a source with hidden labels removed or, with `hidden`, marked.

    The source is read once until an example is hidden or was made from others; then
    further passes read the whole source. Memory grows only with the hidden examples.
    """
    for example in examples:
        if example.origin is None or not may_be_covered(example):
            yield example
        else:
            yield source.cover.mark(example) if hidden else source.cover.remove(example)


def refuse_label_loss(source: str, out: Path, examples: Iterable[Example]) -> None:
    """Refuse to replace a dataset by its copy without hidden labels: they would be lost.

    A file also counts as replaced by its folder.
    """
    path = to_path(name_and_split(source)[0])
    path = path if path.exists() else to_path(source)
    places = (path, path.parent) if path.is_file() else (path,)
    if not out.exists() or not any(place.exists() and out.samefile(place) for place in places):
        return
    if any(example.hidden for example in examples):
        cure = "choose another name; if you own the labels and the command has --hidden, pass it"
        raise BadInput("contains hidden labels, which would be lost", file=out, cure=cure)


def find_hidden(source: ExampleSource, seen: frozenset[Path]) -> set[str]:
    """References of the examples that are hidden, or inherited their label from one that is.

    `seen` are the places whose datasets are being looked at already.
    """
    hidden: set[str] = set()
    others: set[str] = set()
    own = {f"{name}:{split}" for name in source.names for split in source.splits}
    has_parents = False
    for split, example in source.pairs():
        origin = example.origin
        if origin is None:
            continue
        if origin.gold == "hidden":
            hidden |= _references(source.names, split, example)
        elif origin.parents:
            has_parents = True
            sources = (parent.partition("/")[0] for parent in origin.parents)
            others.update(name for name in sources if ":" in name and name not in own)
    if not has_parents:
        return hidden
    if source.place is not None and source.read is not None:
        seen |= {source.place.resolve()}
        for name in sorted({name_and_split(other)[0] for other in others}):
            for original, path in find_originals(name, source.place, source.read, seen):
                theirs = ExampleSource.of_dataset(original, path, source.read)
                theirs.names |= {name}
                refs = find_hidden(theirs, seen)
                hidden.update(ref for ref in refs if ref.startswith(f"{name}:"))
    while hidden:
        before = len(hidden)
        for split, example in source.pairs():
            origin = example.origin
            is_inherited = origin is not None and origin.gold == "inherited"
            if is_inherited and origin and not hidden.isdisjoint(origin.parents):
                hidden |= _references(source.names, split, example)
        if len(hidden) == before:
            break
        # Examples made from these are hidden in the next round.
    return hidden


def _references(names: Iterable[str], split: str, example: Example) -> set[str]:
    """Return the references to an example that parents may use: its id, or with the dataset and split."""
    return {example.id, *(reference(name, split, example.id) for name in names)}


def find_originals(
    name: str, place: Path, read: ReadDataset, seen: frozenset[Path]
) -> Iterator[tuple[Dataset, Path | None]]:
    """Yield every dataset of that name that can be found, and its place."""
    if name in benchmarks():
        try:
            yield read(name), None
        except MissingData:
            return
    here = place.resolve().parent
    folders = dict.fromkeys((here, here.parent, Path.cwd()))
    for path in dict.fromkeys(path for folder in folders for path in find_by_name(name, folder)):
        if path.resolve() in seen:
            continue
        try:
            original = read(str(path))
        except BadInput:
            if path.is_dir():
                raise
            continue  # a file with that name that has no records
        yield original, path


def find_by_name(name: str, folder: Path) -> Iterator[Path]:
    """Dataset folders and records files of a folder that have a name, by their own or by their
    card.
    """
    if name != Path(name).name:
        return
    yield from (file for suffix in SUFFIXES if (file := folder / f"{name}{suffix}").is_file())
    for path in sorted(folder.iterdir()):
        if is_dataset_folder(path) and (path.name == name or _card_name(path) == name):
            yield path


def _card_name(path: Path) -> str:
    try:
        return read_json(path / CARD, Card).name
    except BadInput:  # another dataset's fault, which this command does not report
        return ""
