"""Tag a dataset: records with the tags a pack finds, a table by split, and how they differ from those the data carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.stream import SplitExamples, open_stream, refuse_missing_inputs
from nikawa.errors import BadInput
from nikawa.io.atomic import refuse_existing
from nikawa.io.folders import CARD, write_folder
from nikawa.io.records import SUFFIXES, write_records
from nikawa.records import Dataset, Example
from nikawa.tagging import Pack, Tagged, default_pack, find_pack, tag_all
from nikawa.tagging.engine import texts_of
from nikawa.tagging.report import (
    NO_PACK,
    Agreement,
    Comparison,
    Difference,
    Skipped,
    TagReport,
    Tally,
)

__all__ = [
    "Agreement",
    "Comparison",
    "Difference",
    "Options",
    "Skipped",
    "TagReport",
    "tag",
]

EVERY = 500
"""Examples between two words about progress."""

Progress = Callable[[int, int | None], None]
"""Called with how many examples are done and how many there are, None where that is not known."""


@dataclass(frozen=True)
class Options:
    """How to tag."""

    pack: str | None = None
    """A pack's name or file; None for that of the language, `none` for no pack."""
    inputs: tuple[str, ...] = ()
    """The inputs to look at; all texts when empty."""
    replace: bool = False
    """Drop the tags the data carries instead of adding to them."""
    out: Path | None = None
    """A records file or a dataset folder."""
    overwrite: bool = False
    compare: bool = False


def tag(
    spec: str,
    *,
    data: Path | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> TagReport:
    """Tag a dataset given as `load` takes it; a records file is streamed, and written as it is read."""
    how = options or Options()
    if how.out is not None:
        _refuse(how.out, how.overwrite)
    source = open_stream(spec, data)
    pack = choose_pack(how.pack, source.dataset)
    if how.inputs:
        refuse_missing_inputs(open_stream(spec, data).pairs, how.inputs, _texts)
    tally = Tally(source.dataset.name, pack, how.compare)
    tagged = _told(tally.watch(_found(source.pairs, pack, how.inputs)), source.total, progress)
    merged = ((split, _merged(found, how.replace)) for split, found in tagged)
    if how.out is None:
        for _ in merged:
            pass
    else:
        _write(how.out, merged, source.dataset, how.overwrite)
    return tally.report(source.dataset.version)


def _texts(example: Example) -> set[str]:
    return {name for name in example.inputs if texts_of(example, (name,))}


def choose_pack(name: str | None, dataset: Dataset) -> Pack | None:
    """The pack asked for, else that of the language; a pack of another language is refused."""
    if name == NO_PACK:
        return None
    pack = default_pack(dataset.language) if name is None else find_pack(name)
    if dataset.language not in (pack.language, "und"):
        what = f"the tag pack {pack.name} is for {pack.language!r}, {dataset.name} is {dataset.language!r}"
        raise BadInput(what, cure="leave --pack out to take that of the language")
    return pack


def _found(
    pairs: SplitExamples, pack: Pack | None, inputs: tuple[str, ...]
) -> Iterator[tuple[str, Tagged]]:
    for split, part in groupby(pairs, itemgetter(0)):
        examples = (example for _, example in part)
        if pack is None:
            yield from ((split, Tagged(example, frozenset())) for example in examples)
        else:
            yield from ((split, found) for found in tag_all(examples, pack, inputs=inputs))


def _told(
    tagged: Iterator[tuple[str, Tagged]], total: int | None, progress: Progress | None
) -> Iterator[tuple[str, Tagged]]:
    tell, done = progress or (lambda done, total: None), 0
    for done, pair in enumerate(tagged, start=1):
        if done % EVERY == 0:
            tell(done, total)
        yield pair
    tell(done, total)


def _merged(found: Tagged, instead: bool) -> Example:
    if found.why:
        return found.example
    tags = found.tags if instead else found.tags | found.example.tags
    return found.example if tags == found.example.tags else replace(found.example, tags=tags)


def _refuse(out: Path, overwrite: bool) -> None:
    """Say that something is there before the work, not after it."""
    refuse_existing(out if out.name.endswith(SUFFIXES) else out / CARD, overwrite)


def _write(
    out: Path, merged: Iterator[tuple[str, Example]], dataset: Dataset, overwrite: bool
) -> None:
    if out.name.endswith(SUFFIXES):
        several = len(dataset.splits) > 1
        examples = _one_file(merged, out) if several else (example for _, example in merged)
        write_records(out, examples, overwrite=overwrite)
        return
    splits: dict[str, list[Example]] = defaultdict(list)
    for split, example in merged:
        splits[split].append(example)
    kept = replace(dataset, splits={split: tuple(examples) for split, examples in splits.items()})
    write_folder(kept, out, overwrite=overwrite)


def _one_file(merged: Iterator[tuple[str, Example]], out: Path) -> Iterator[Example]:
    """Ids are unique within a split only: two splits that share one do not fit into one file."""
    ids: dict[str, str] = {}
    for split, example in merged:
        if ids.setdefault(example.id, split) != split:
            what = f"id {example.id!r} is in {ids[example.id]} and in {split}"
            raise BadInput(
                what, file=out, cure="tag one split (NAME:SPLIT), or name a folder to write to"
            )
        yield example
