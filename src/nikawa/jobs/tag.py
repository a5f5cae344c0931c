"""Tag a dataset: records with the tags a pack finds, a table by split, and how they differ from those the data carries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path

from msgspec.structs import replace

from nikawa.benchmarks import benchmarks, load
from nikawa.benchmarks.load import guess_language, guess_split, loose_dataset
from nikawa.errors import BadInput
from nikawa.io.atomic import refuse_existing
from nikawa.io.folders import CARD, write_folder
from nikawa.io.records import SUFFIXES, read_examples, write_records
from nikawa.records import Dataset, Example, Record, reference
from nikawa.tag import Pack, Tagged, default_pack, find_pack, tag_all

NO_PACK = "none"
"""The pack that finds nothing: only the tags the data carries are counted."""
FIRST = 100
"""Examples looked at to tell the language of a loose file."""
EVERY = 500
"""Examples between two words about progress."""

Progress = Callable[[int, int | None], None]
"""Called with how many examples are done and how many there are, None where that is not known."""
Pairs = Iterable[tuple[str, Example]]


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


class Skipped(Record, frozen=True, kw_only=True):
    """An example that could not be analysed; it keeps the tags it carries."""

    example: str
    why: str


class Difference(Record, frozen=True, kw_only=True):
    """An example whose carried tags are not the ones found."""

    example: str
    carried_only: tuple[str, ...]
    found_only: tuple[str, ...]
    known: str = ""
    """Why, where the pack says so."""


class Agreement(Record, frozen=True, kw_only=True):
    """How often a tag is carried, found, and both."""

    carried: int
    found: int
    both: int


class Comparison(Record, frozen=True, kw_only=True):
    """What the pack finds against what the data carries, over the tags of the pack."""

    n: int
    equal: int
    """Examples whose two sets of tags are the same."""
    tags: dict[str, Agreement]
    differences: tuple[Difference, ...]


class TagReport(Record, frozen=True, kw_only=True):
    """The tags of a dataset, counted."""

    dataset: str
    version: str
    pack: str
    analyser: str
    sizes: dict[str, int]
    tagged: dict[str, int]
    """Split to the number of examples with at least one tag."""
    found: dict[str, dict[str, int]]
    """Tag of the pack to split to the number of examples it was found in."""
    carried: dict[str, dict[str, int]]
    """The same for tags of the data that the pack does not know."""
    aliases: dict[str, str]
    skipped: tuple[Skipped, ...] = ()
    comparison: Comparison | None = None


@dataclass
class Source:
    """Examples with their splits, as a stream, and what is known of them as a whole."""

    dataset: Dataset
    """Without examples where they come from a file as they are read."""
    pairs: Pairs
    total: int | None


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
    source = open_source(spec, data)
    pack = choose_pack(how.pack, source.dataset)
    tally = Tally(source.dataset.name, pack, how.compare)
    tagged = _told(tally.watch(_found(source.pairs, pack, how.inputs)), source.total, progress)
    merged = ((split, _merged(found, how.replace)) for split, found in tagged)
    if how.out is None:
        for _ in merged:
            pass
    else:
        _write(how.out, merged, source.dataset, how.overwrite)
    return tally.report(source.dataset.version)


def open_source(spec: str, data: Path | None = None) -> Source:
    """A records file is read as it is used; anything else is loaded."""
    path = Path(spec)
    if spec not in benchmarks() and spec.endswith(SUFFIXES) and path.is_file():
        stream = read_examples(path)
        first = list(islice(stream, FIRST))
        split = guess_split(path)
        dataset = replace(loose_dataset(path, ()), language=guess_language(first))
        return Source(dataset, ((split, example) for example in chain(first, stream)), None)
    dataset = load(spec, data=data)
    pairs = ((split, example) for split, examples in dataset.splits.items() for example in examples)
    return Source(dataset, pairs, len(dataset))


def choose_pack(name: str | None, dataset: Dataset) -> Pack | None:
    """The pack asked for, else that of the language; a pack of another language is refused."""
    if name == NO_PACK:
        return None
    pack = default_pack(dataset.language) if name is None else find_pack(name)
    if dataset.language not in (pack.language, "und"):
        what = f"the tag pack {pack.name} is for {pack.language!r}, {dataset.name} is {dataset.language!r}"
        raise BadInput(what, cure="leave --pack out to take that of the language")
    return pack


def _found(pairs: Pairs, pack: Pack | None, inputs: tuple[str, ...]) -> Iterator[tuple[str, Tagged]]:
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


def _write(out: Path, merged: Iterator[tuple[str, Example]], dataset: Dataset, overwrite: bool) -> None:
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
            raise BadInput(what, file=out, cure="tag one split (NAME:SPLIT), or name a folder to write to")
        yield example


@dataclass
class Tally:
    """What is counted while the examples pass by."""

    dataset: str
    pack: Pack | None
    compare: bool = False
    sizes: Counter[str] = field(default_factory=Counter)
    tagged: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    both: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def watch(self, tagged: Iterable[tuple[str, Tagged]]) -> Iterator[tuple[str, Tagged]]:
        """Pass everything on, counting."""
        names = self.pack.names if self.pack else {}
        for split, found in tagged:
            self._count(split, found, names)
            yield split, found

    def _count(self, split: str, found: Tagged, names: dict[str, str]) -> None:
        carried = found.example.tags
        self.sizes[split] += 1
        self.tagged[split] += bool(found.tags or carried)
        self.found.update((tag, split) for tag in found.tags)
        self.carried.update((tag, split) for tag in carried if tag not in names)
        where = reference(self.dataset, split, found.example.id)
        if found.why:
            self.skipped.append(Skipped(example=where, why=found.why))
        elif self.compare:
            self._compare(where, frozenset(names[tag] for tag in carried if tag in names), found.tags)

    def _compare(self, where: str, carried: frozenset[str], found: frozenset[str]) -> None:
        self.known.update(carried)
        self.both.update(carried & found)
        if carried != found:
            why = self.pack.known.get(where, "") if self.pack else ""
            difference = Difference(
                example=where,
                carried_only=tuple(sorted(carried - found)),
                found_only=tuple(sorted(found - carried)),
                known=why,
            )
            self.differences.append(difference)

    def report(self, version: str) -> TagReport:
        """Everything counted."""
        tags = list(self.pack.tags) if self.pack else []
        others = sorted({tag for tag, _ in self.carried})
        return TagReport(
            dataset=self.dataset,
            version=version,
            pack=self.pack.name if self.pack else NO_PACK,
            analyser=self.pack.analyser if self.pack else "",
            sizes=dict(self.sizes),
            tagged={split: self.tagged[split] for split in self.sizes},
            found={tag: {split: self.found[tag, split] for split in self.sizes} for tag in tags},
            carried={tag: {split: self.carried[tag, split] for split in self.sizes} for tag in others},
            aliases={tag: self.pack.tags[tag].alias for tag in tags} if self.pack else {},
            skipped=tuple(self.skipped),
            comparison=self._comparison(tags) if self.compare else None,
        )

    def _comparison(self, tags: Iterable[str]) -> Comparison:
        n = sum(self.sizes.values()) - len(self.skipped)
        totals = {tag: sum(self.found[tag, split] for split in self.sizes) for tag in tags}
        return Comparison(
            n=n,
            equal=n - len(self.differences),
            tags={
                tag: Agreement(carried=self.known[tag], found=found, both=self.both[tag])
                for tag, found in totals.items()
            },
            differences=tuple(self.differences),
        )
