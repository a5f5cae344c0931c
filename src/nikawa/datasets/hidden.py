"""Hidden labels: they are removed from what a command reads, unless whoever holds them asks.

`load`, `peek` and `open_stream` remove them by default; `hidden=True` keeps them, still marked.

A label that is hidden on an example is hidden on what was made from it, whoever hid it, when, and
wherever both lie. Originals are looked for in the dataset itself; those of another name among the
registered datasets and, as dataset folder or records file, beside the one at hand, a folder higher,
and in the working folder.

With a label goes what repeats it. A field of the meta is removed from every hidden example where its
name holds the name of the question, or where on any hidden example of the dataset it says what a
hidden label says; so is a tag that is called like one. That is decided for all hidden examples at
once: a field that were missing only where it is right would confirm the label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nikawa.datasets.names import benchmarks
from nikawa.errors import BadInput, MissingData
from nikawa.io.folders import CARD, is_dataset_folder
from nikawa.io.json import read_json
from nikawa.io.records import SUFFIXES
from nikawa.records import Card, Dataset, Example, Span, reference
from nikawa.spec import name_and_split

INHERITED_META = "inherited_"
"""What keys of `meta` begin with that hold the label of a parent."""

SplitExamples = Iterable[tuple[str, Example]]
"""Each example with the name of its split."""
ReadDataset = Callable[[str], Dataset]
"""Reads a dataset by its name or path, as it is on disk."""


@dataclass
class ExampleSource:
    """Examples that can be passed over several times, and where they come from."""

    pairs: Callable[[], SplitExamples]
    """Begins a new pass."""
    names: frozenset[str]
    """What references call the dataset."""
    splits: frozenset[str]
    place: Path | None = None
    """The file or folder; without it originals are looked for in the dataset alone."""
    read: ReadDataset | None = None
    """How originals that lie elsewhere are read."""

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


@dataclass
class Cover:
    """Which examples of a dataset are hidden, and what would give their labels away."""

    hidden: set[str] = field(default_factory=set)
    """References of the hidden examples, full ones and ids alone."""
    questions: set[str] = field(default_factory=set)
    """What hidden labels answer."""
    values: set[str | float] = field(default_factory=set)
    """What hidden labels say: texts, and numbers that are not whole."""
    fields: set[str] = field(default_factory=set)
    """Keys of the meta that hold one of these values on a hidden example."""

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
        """The example, marked, and without its label and what repeats it if it is hidden."""
        example = self.mark(example)
        origin = example.origin
        if origin is None:
            return example
        if not example.hidden:
            # Its own label may be seen, but the meta may hold that of a hidden parent.
            if self.hidden.isdisjoint(origin.parents):
                return example
            return _drop_meta(example, lambda key: key.startswith(INHERITED_META))
        example = _drop_meta(example, self._tells)
        tags = frozenset(tag for tag in example.tags if self.values.isdisjoint(_tag_words(tag)))
        if example.gold or tags != example.tags:
            example = replace(example, gold={}, tags=tags)
        return example

    def _tells(self, key: str) -> bool:
        """Whether a field of the meta would tell a hidden label."""
        if key.startswith(INHERITED_META) or key in self.fields:
            return True
        return bool(self.questions) and (
            key == "gold" or any(question in key for question in self.questions)
        )


def _drop_meta(example: Example, tells: Callable[[str], bool]) -> Example:
    meta = {key: value for key, value in example.meta.items() if not tells(key)}
    return example if len(meta) == len(example.meta) else replace(example, meta=meta)


def _tag_words(tag: str) -> list[str]:
    """A tag and its parts: `label:neutral` says neutral."""
    return [tag, *re.split(r"[:=/]", tag)]


def _values_inside(value: Any) -> Iterator[str | float]:
    """Texts, and numbers that are not whole, inside a value; keys of mappings are values too, for
    votes are kept by label.
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
            # Names such as `text` and `start` of an answer are no answers.
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
    """The dataset, where examples that inherited their label from a hidden one are hidden too.

    Without the `place` it was read from, originals are looked for in the dataset alone.
    """
    if not _may_hide(dataset):
        return dataset
    cover = Cover(find_hidden(ExampleSource.of_dataset(dataset, place, read), frozenset()))
    return _change_examples(dataset, cover.mark) if cover.hidden else dataset


def remove_hidden_labels(
    dataset: Dataset, place: Path | None = None, read: ReadDataset | None = None
) -> Dataset:
    """The dataset without the labels that are hidden, whether or not the copy at hand holds them.

    What was made from a hidden example is hidden as by `hide_inherited`, and what the meta and the
    tags say of hidden labels goes with them.
    """
    if not _may_hide(dataset):
        return dataset
    cover = Cover.over(ExampleSource.of_dataset(dataset, place, read))
    return _change_examples(dataset, cover.remove) if cover.hidden else dataset


def _may_hide(dataset: Dataset) -> bool:
    """Whether anything may be hidden. Most datasets hold nothing of the kind, and are not looked at
    any further.
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
    """The examples of a source as they are read, hidden labels removed or, with `hidden`, marked.

    Nothing is read twice before an example comes that is hidden or was made from others; then
    further passes look at the whole source. What is kept grows with the hidden examples only.
    """
    cover: Cover | None = None
    for example in examples:
        if example.origin is None or not may_be_covered(example):
            yield example
            continue
        if cover is None:
            cover = Cover.over(source)
        yield cover.mark(example) if hidden else cover.remove(example)


def refuse_label_loss(source: str, out: Path, examples: Iterable[Example]) -> None:
    """Refuse to replace a dataset by its copy without hidden labels: they would be lost.

    A file also counts as replaced by the folder that it lies in.
    """
    path = Path(name_and_split(source)[0])
    path = path if path.exists() else Path(source)
    places = (path, path.parent) if path.is_file() else (path,)
    if not out.exists() or not any(place.exists() and out.samefile(place) for place in places):
        return
    if any(example.hidden for example in examples):
        cure = "choose another name; whoever holds the labels may say --hidden where there is one"
        raise BadInput("holds hidden labels, which would be lost", file=out, cure=cure)


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
                found = find_hidden(theirs, seen)
                hidden.update(ref for ref in found if ref.startswith(f"{name}:"))
    while hidden:
        before = len(hidden)
        for split, example in source.pairs():
            origin = example.origin
            is_inherited = origin is not None and origin.gold == "inherited"
            if is_inherited and origin and not hidden.isdisjoint(origin.parents):
                hidden |= _references(source.names, split, example)
        if len(hidden) == before:
            break
        # What was made from these in turn is hidden in the next round.
    return hidden


def _references(names: Iterable[str], split: str, example: Example) -> set[str]:
    """What parents may call an example: its id alone, or with the dataset and split."""
    return {example.id, *(reference(name, split, example.id) for name in names)}


def find_originals(
    name: str, place: Path, read: ReadDataset, seen: frozenset[Path]
) -> Iterator[tuple[Dataset, Path | None]]:
    """Every dataset of that name that can be found, and where it lies."""
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
            continue  # a file that has the name but holds no records
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
    except BadInput:  # somebody else's: not for this command to mend
        return ""
