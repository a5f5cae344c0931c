"""Tag a dataset: records with the tags that a pack finds, counts by split, and a comparison with
the tags that the data has.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, ClassVar

import msgspec
from msgspec.structs import replace

from nikawa.datasets.hidden import refuse_label_loss
from nikawa.datasets.keys import carry_notice
from nikawa.datasets.stream import (
    SplitExamples,
    open_shard_files,
    open_stream,
    refuse_missing_inputs,
)
from nikawa.errors import BadInput
from nikawa.execute.ordered import choose_place
from nikawa.io.atomic import private_files, refuse_existing
from nikawa.io.cards import format_card
from nikawa.io.folders import CARD, write_folder
from nikawa.io.json import encode_json
from nikawa.io.records import SUFFIXES, write_records
from nikawa.io.shards import PlannedShard, open_shards
from nikawa.records import Dataset, Example, Record, reference
from nikawa.tables import ShownAsTables
from nikawa.tagging.engine import TaggedExample, tag_all, texts_of
from nikawa.tagging.pack import Pack, default_pack, find_pack

NO_PACK = "none"
"""The name for no pack: only the tags that the data has are counted."""
EXAMPLES_PER_REPORT = 500
"""Examples between two calls of `on_progress`."""

Progress = Callable[[int, int | None], None]
"""Called with the number of examples done and the total, None if the total is unknown."""


@dataclass(frozen=True)
class TagOptions:
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
    """Whether to compare what is found with the tags that the data carries."""
    hidden: bool = False
    """Copy hidden labels, still hidden, into files of mode 0600: for the person who has them.
    Otherwise items are written without their hidden labels."""
    workers: int = 1
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""
    shards: bool = False
    """Whether `out` is a folder with a file for each input file; see `nikawa.io.shards`."""


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


class TagReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The tags of a dataset, counted."""

    main_table: ClassVar[str] = "found"

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


def tag(
    text: str,
    *,
    data: Path | None = None,
    options: TagOptions | None = None,
    on_progress: Progress | None = None,
) -> TagReport:
    """Tag a dataset and count its tags by split.

    `text` names the dataset as `load` takes it; `data` is the folder of published data. A records
    file is streamed, and written as it is read. `on_progress` is called every 500 examples and at
    the end. Where `options.out` is None nothing is written.

    Raises BadInput where the output exists already, the pack is of another language, or no example
    has an input that `options.inputs` names.
    """
    options = options or TagOptions()
    choose_place(options)  # refuse it before the work starts, as the output
    if options.shards:
        return _tag_shards(text, data, options, on_progress)
    out = options.out
    if out is not None:
        refuse_existing(out if out.name.endswith(SUFFIXES) else out / CARD, options.overwrite)
    source = open_stream(text, data, hidden=options.hidden)
    pack = _choose_pack(options.pack, source.dataset)
    if options.inputs:
        refuse_missing_inputs(
            open_stream(text, data).pairs,
            options.inputs,
            lambda example: {name for name in example.inputs if texts_of(example, (name,))},
        )
    tally = Tally(source.dataset.name, pack, options.compare)

    def examples_with_tags() -> Iterator[tuple[str, Example]]:
        done = 0
        for split, tagged in _tag_splits(source.pairs, pack, options):
            done += 1
            tally.add(split, tagged)
            if on_progress is not None and done % EXAMPLES_PER_REPORT == 0:
                on_progress(done, source.total)
            example = _add_tags(tagged, options)
            if example.hidden and out is not None and not options.hidden:
                refuse_label_loss(text, out, (example,))
            yield split, example
        if on_progress is not None:
            on_progress(done, source.total)

    if out is None:
        for _ in examples_with_tags():
            pass
    else:
        with private_files(options.hidden):
            _write_tagged(out, examples_with_tags(), source.dataset, options.overwrite, text)
    return tally.report(source.dataset.version)


def _add_tags(tagged: TaggedExample, options: TagOptions) -> Example:
    """The example with the tags that were found."""
    example = tagged.example
    tags = tagged.tags if options.replace else tagged.tags | example.tags
    return example if tagged.why or tags == example.tags else replace(example, tags=tags)


def _tag_shards(
    text: str, data: Path | None, options: TagOptions, on_progress: Progress | None
) -> TagReport:
    """Tag each file of a dataset in shards into a file of the folder `options.out`."""
    if options.out is None:
        raise BadInput("the output folder is missing", cure="name a folder for the shards")
    source = open_shard_files(text, data, hidden=options.hidden)
    dataset = source.dataset
    pack = _choose_pack(options.pack, dataset)
    if options.inputs:
        refuse_missing_inputs(
            source.read_all(),
            options.inputs,
            lambda example: {name for name in example.inputs if texts_of(example, (name,))},
        )
    settings = {
        "tag pack": pack,
        "options": (options.inputs, options.replace, options.compare, options.hidden),
        "card": dataset.card,
    }
    planned = [PlannedShard(name=f.name, split=f.split, source=f.path) for f in source.files]
    with (
        private_files(options.hidden),
        open_shards([options.out], planned, settings, overwrite=options.overwrite) as target,
    ):
        first = len(target.shards)
        numbers: deque[int] = deque()
        """The shard of each example that was read and not yet tagged."""

        def read_all() -> Iterator[Example]:
            for number, file in enumerate(source.files[first:], start=first):
                for example in source.read(file):
                    numbers.append(number)
                    yield example

        def write(
            number: int, tagged_examples: Iterator[TaggedExample], streams: Sequence[BinaryIO]
        ) -> TagReport:
            tally = Tally(dataset.name, pack, options.compare)
            for done, tagged in enumerate(tagged_examples, start=1):
                tally.add(source.files[number].split, tagged)
                streams[0].write(encode_json(_add_tags(tagged, options)) + b"\n")
                if on_progress is not None and done % EXAMPLES_PER_REPORT == 0:
                    on_progress(total.count_examples() + done, None)
            report = tally.report(dataset.version)
            total.add_report(report)
            return report

        total = Tally(dataset.name, pack, options.compare)
        for shard in target.shards:
            total.add_report(msgspec.json.decode(shard.counts, type=TagReport))
        tagged_examples = _tag_examples(read_all(), pack, options)
        target.write_all(((numbers.popleft(), tagged) for tagged in tagged_examples), write)
        card = replace(dataset.card, version=dataset.version)
        notice = carry_notice(text, dataset.splits) if options.hidden else {}
        target.close({**notice, CARD: format_card(card)})
    if on_progress is not None:
        on_progress(total.count_examples(), None)
    return total.report(dataset.version)


def _choose_pack(name: str | None, dataset: Dataset) -> Pack | None:
    """The requested pack, or the default of the language; a pack of another language is refused."""
    if name == NO_PACK:
        return None
    pack = default_pack(dataset.language) if name is None else find_pack(name)
    if dataset.language not in (pack.language, "und"):
        what = f"the tag pack {pack.name} is for {pack.language!r}, {dataset.name} is {dataset.language!r}"
        cure = "leave out --pack to use the default pack of the language"
        raise BadInput(what, file=name, cure=cure)
    return pack


def _tag_splits(
    pairs: SplitExamples, pack: Pack | None, options: TagOptions
) -> Iterator[tuple[str, TaggedExample]]:
    """The examples of each split with what the pack finds in them.

    Without a pack nothing is found.
    """
    for split, part in groupby(pairs, itemgetter(0)):
        for tagged in _tag_examples((example for _, example in part), pack, options):
            yield split, tagged


def _tag_examples(
    examples: Iterable[Example], pack: Pack | None, options: TagOptions
) -> Iterator[TaggedExample]:
    """The examples with what the pack finds in them; without a pack, nothing."""
    if pack is None:
        return (TaggedExample(example, frozenset()) for example in examples)
    return tag_all(examples, pack, inputs=options.inputs, where=choose_place(options))


def _write_tagged(
    out: Path, pairs: Iterator[tuple[str, Example]], dataset: Dataset, overwrite: bool, text: str
) -> None:
    """Write the examples to a records file, or to a dataset folder with the card of `dataset`, and
    with its notice of hidden labels where the folder that `text` names has one.
    """
    if out.name.endswith(SUFFIXES):
        several = len(dataset.splits) > 1
        examples = _refuse_shared_ids(pairs, out) if several else (example for _, example in pairs)
        write_records(out, examples, overwrite=overwrite)
        return
    splits: dict[str, list[Example]] = defaultdict(list)
    for split, example in pairs:
        splits[split].append(example)
    kept = replace(dataset, splits={split: tuple(examples) for split, examples in splits.items()})
    write_folder(kept, out, overwrite=overwrite, extra_files=carry_notice(text, splits))


def _refuse_shared_ids(pairs: Iterator[tuple[str, Example]], out: Path) -> Iterator[Example]:
    """Ids are unique within a split only: two splits that share one do not fit into one file."""
    ids: dict[str, str] = {}
    for split, example in pairs:
        if ids.setdefault(example.id, split) != split:
            what = f"id {example.id!r} is in {ids[example.id]} and in {split}"
            raise BadInput(
                what, file=out, cure="tag one split (NAME:SPLIT), or pass a folder to --out"
            )
        yield example


@dataclass
class Tally:
    """Counts that grow while the examples are read."""

    dataset: str
    pack: Pack | None
    compare: bool = False
    sizes: Counter[str] = field(default_factory=Counter)
    """Split to examples."""
    tagged: Counter[str] = field(default_factory=Counter)
    """Split to examples with at least one tag, found or carried."""
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tag of the pack and split to examples it was found in."""
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The same for tags of the data that the pack does not know."""
    both: Counter[str] = field(default_factory=Counter)
    """Tag of the pack to examples that carry it and that it was found in; only where they are
    compared."""
    known: Counter[str] = field(default_factory=Counter)
    """Tag of the pack to examples that carry it, under its name or alias; only where they are
    compared."""
    skipped: list[Skipped] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._names = self.pack.names if self.pack else {}

    def add(self, split: str, tagged: TaggedExample) -> None:
        """Count one example."""
        names, carried = self._names, tagged.example.tags
        self.sizes[split] += 1
        self.tagged[split] += bool(tagged.tags or carried)
        self.found.update((tag, split) for tag in tagged.tags)
        self.carried.update((tag, split) for tag in carried if tag not in names)
        where = reference(self.dataset, split, tagged.example.id)
        if tagged.why:
            self.skipped.append(Skipped(example=where, why=tagged.why))
        elif self.compare:
            known = frozenset(names[tag] for tag in carried if tag in names)
            self._compare(where, known, tagged.tags)

    def _compare(self, where: str, carried: frozenset[str], matched: frozenset[str]) -> None:
        self.known.update(carried)
        self.both.update(carried & matched)
        if carried != matched:
            difference = Difference(
                example=where,
                carried_only=tuple(sorted(carried - matched)),
                found_only=tuple(sorted(matched - carried)),
                known=self.pack.known.get(where, "") if self.pack else "",
            )
            self.differences.append(difference)

    def count_examples(self) -> int:
        """How many examples were counted."""
        return sum(self.sizes.values())

    def add_report(self, report: TagReport) -> None:
        """Add what was counted in a part of the dataset."""
        self.sizes.update(report.sizes)
        self.tagged.update(report.tagged)
        for total, part in ((self.found, report.found), (self.carried, report.carried)):
            total.update(
                {(tag, split): n for tag, counts in part.items() for split, n in counts.items()}
            )
        self.skipped += report.skipped
        if report.comparison is not None:
            for tag, agreement in report.comparison.tags.items():
                self.known[tag] += agreement.carried
                self.both[tag] += agreement.both
            self.differences += report.comparison.differences

    def report(self, version: str) -> TagReport:
        """Everything counted."""
        tags = list(self.pack.tags) if self.pack else []
        others = sorted({tag for tag, _ in self.carried})

        def by_split(counts: Counter[tuple[str, str]], tag: str) -> dict[str, int]:
            return {split: counts[tag, split] for split in self.sizes}

        return TagReport(
            dataset=self.dataset,
            version=version,
            pack=self.pack.name if self.pack else NO_PACK,
            analyser=self.pack.analyser if self.pack else "",
            sizes=dict(self.sizes),
            tagged={split: self.tagged[split] for split in self.sizes},
            found={tag: by_split(self.found, tag) for tag in tags},
            carried={tag: by_split(self.carried, tag) for tag in others},
            aliases={tag: self.pack.tags[tag].alias for tag in tags} if self.pack else {},
            skipped=tuple(self.skipped),
            comparison=self._comparison(tags) if self.compare else None,
        )

    def _comparison(self, tags: Iterable[str]) -> Comparison:
        n = sum(self.sizes.values()) - len(self.skipped)
        agreements = {}
        for tag in tags:
            tagged = sum(self.found[tag, split] for split in self.sizes)
            agreements[tag] = Agreement(carried=self.known[tag], found=tagged, both=self.both[tag])
        return Comparison(
            n=n,
            equal=n - len(self.differences),
            tags=agreements,
            differences=tuple(self.differences),
        )
