"""Perturb a dataset: changed examples linked to their parents, as a file, a dataset folder, or
training additions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.datasets.names import spec_of
from nikawa.datasets.stream import (
    ShardFiles,
    open_shard_files,
    open_stream,
    refuse_missing_inputs,
)
from nikawa.errors import BadInput
from nikawa.execute.ordered import choose_place, map_in_order
from nikawa.io.atomic import refuse_existing
from nikawa.io.cards import format_card
from nikawa.io.folders import CARD, write_folder
from nikawa.io.json import encode_json
from nikawa.io.records import SUFFIXES, write_records
from nikawa.io.shards import PlannedShard, open_shards
from nikawa.perturbation import Perturbation, apply, perturbations
from nikawa.perturbation.base import CONFIDENCE
from nikawa.perturbation.selection import (
    choose_perturbations,
    family_of,
    restrict_inputs,
    tune_perturbation,
)
from nikawa.records import Dataset, Example, Record
from nikawa.tables import ResultTable, ShownAsTables
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

QUESTION = "label"
"""The question that gets a new label where the meaning changed."""


class _Candidate(NamedTuple):
    """A rewritten example that may be drawn: the candidates with the smallest keys are."""

    key: float
    place: int
    name: str
    effect: str
    child: Example


Candidates = dict[tuple[str, ...], _Candidate]
"""The best candidate of each parent."""


def draw_additions(
    runs: Iterable[tuple[Perturbation, Iterable[tuple[str, Example]]]],
    count: int,
    gold: str,
    seed: int,
) -> Iterator[Example]:
    """Draw `count` examples of each kind of operation, its cases taken together and each parent
    once.

    `runs` are the operations, each with the split and child of all it rewrites. Where an operation
    changes the meaning, `gold` says which label its examples get: `random`, or `neutral`. Such
    examples are drawn only if they have a label: a similarity score cannot be drawn.
    """
    kinds: dict[str, Candidates] = {}
    labels: set[str] = set()
    changes_meaning = False
    for perturbation, children in runs:
        candidates = kinds.setdefault(family_of(perturbation.name), {})
        for place, (_, child) in enumerate(children):
            changes_meaning |= perturbation.effect != "keeps"
            if QUESTION in child.gold:
                labels.add(str(child.gold[QUESTION]))
            elif perturbation.effect != "keeps":
                continue
            key = _keyed_random(seed, "augment", perturbation.name, child.id).random()
            candidate = _Candidate(key, place, perturbation.name, perturbation.effect, child)
            parent = child.origin.parents if child.origin else (child.id,)
            if parent not in candidates or key < candidates[parent].key:
                candidates[parent] = candidate
    if changes_meaning:
        if not labels:
            cure = "additions are for inference data with gold"
            raise BadInput("the examples have no label that could be redrawn", cure=cure)
        if gold == "neutral" and "neutral" not in labels:
            what = f"no example is neutral; the labels are {', '.join(sorted(labels))}"
            raise BadInput(what, cure="leave --augment-gold out")
    for name, candidates in kinds.items():
        if len(candidates) < count:
            what = f"{count} additions of {name} are asked for, {len(candidates)} examples can be rewritten"
            raise BadInput(what, cure="ask for fewer, or pass --assume-eligible")
    for candidates in kinds.values():
        drawn = nsmallest(count, candidates.values())
        for candidate in sorted(drawn, key=lambda candidate: (candidate.name, candidate.place)):
            yield _make_addition(candidate, sorted(labels), gold, seed)


def _keyed_random(*words: object) -> Random:
    return Random("/".join(map(str, words)))  # noqa: S311  # not for secrets


def _make_addition(candidate: _Candidate, labels: list[str], gold: str, seed: int) -> Example:
    """The training addition of a candidate: an id of its own and, where the meaning changed, a
    new label.
    """
    child, name = candidate.child, candidate.name
    answers: dict[str, Any] = child.gold
    if candidate.effect != "keeps":
        drawn = _keyed_random(seed, "label", name, child.id).choice(labels)
        # The other answers, such as relatedness, are not known of the changed text.
        answers = {QUESTION: gold if gold == "neutral" else drawn}
    origin = child.origin and replace(child.origin, gold="derived")
    meta = child.meta | {f"inherited_{question}": value for question, value in child.gold.items()}
    return replace(child, id=f"{child.id}~{name}", gold=answers, meta=meta, origin=origin)


CHUNK_EXAMPLES = 256
"""Examples that a process rewrites at a time."""
PROGRESS_EXAMPLES = 500
"""Examples between two reports of progress."""
MAX_SAMPLES = 3
"""Rewritten texts kept of each operation for a person to look at."""
UNABLE = "the parts that would change are not there"
"""Why an example is skipped that was taken for eligible."""

Progress = Callable[[str, int, int | None], None]
"""Called with the operation, how many examples are done, and how many there are or None."""


class Sample(Record, frozen=True, kw_only=True):
    """One rewritten text."""

    example: str
    before: str
    after: str
    confidence: float | None = None
    """How sure the rewrite is, from 0 to 1; None where the operation has no doubts."""


class OperationReport(Record, frozen=True, kw_only=True):
    """What one operation did."""

    operation: str
    effect: str
    examples: int
    """Examples that were looked at."""
    eligible: int
    """All of them where eligibility was assumed."""
    rewritten: int
    skipped: int
    """Examples that were not rewritten."""
    reasons: dict[str, int]
    """Why examples were skipped, the most frequent first."""
    samples: tuple[Sample, ...]
    min_confidence: float | None = None
    """The confidence below which texts were refused; None where the operation has no doubts."""


class PerturbReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """What was done to a dataset."""

    main_table: ClassVar[str] = "operations"
    text_tables: ClassVar[int] = 2
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "operations": ("operation", "effect", "examples", "eligible", "rewritten", "skipped")
    }

    dataset: str
    operations: tuple[OperationReport, ...]
    """In the order they were named."""
    written: int
    """Records written; 0 where there is no `out`."""
    out: str | None

    def list_tables(self) -> list[ResultTable]:
        """Return the operations, and why each skipped examples."""
        rows = [
            (each.operation, reason, count)
            for each in self.operations
            for reason, count in each.reasons.items()
        ]
        reasons = ResultTable("reasons", ("operation", "reason", "examples"), rows)
        return [*super().list_tables(), *([reasons] if rows else [])]


@dataclass(frozen=True)
class PerturbOptions:
    """How to perturb."""

    cases: tuple[str, ...] = ()
    """`o`, `ni`, `de` (Korean: `eul`, `e`, `eseo`); every case when empty."""
    split: str | None = None
    """The split to read; all of them when left out."""
    inputs: tuple[str, ...] = ()
    """The inputs to change; the operation's own choice when empty."""
    assume_eligible: bool = False
    """Rewrite every example that can be rewritten, eligible or not."""
    seed: int = 0
    """Decides what is drawn, together with the operation and the example's id."""
    min_confidence: float | None = None
    """The confidence, from 0 to 1, below which a particle operation refuses a text; None: its default
    of 0.5."""
    parser: str | None = None
    """An analyser with dependency heads that must agree with the rules: `ginza` for Japanese. None: the
    rules alone."""
    augment: int | None = None
    """So many training additions of each kind instead of everything."""
    augment_gold: Literal["random", "neutral"] = "random"
    """The label of additions whose meaning changed: a random one, or `neutral`."""
    out: Path | None = None
    """A records file, or a dataset folder with a split an operation."""
    overwrite: bool = False
    workers: int = 1
    """Number of processes; the result does not depend on it."""
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""
    shards: bool = False
    """Whether `out` is a folder with a file for each input file and operation; see `nikawa.io.shards`."""


def perturb(
    operations: str | Iterable[str],
    spec: str,
    *,
    data: Path | None = None,
    options: PerturbOptions | None = None,
    on_progress: Progress | None = None,
) -> PerturbReport:
    """Apply operations (`swap-o`, `scramble`, `particles`, `width-full`, …) to a dataset given as
    `load` takes it.

    `operations` are names in a sequence or separated by commas. Without `out` in the options
    nothing is written, but everything is computed, counted and checked. `on_progress` is called
    every `PROGRESS_EXAMPLES` examples. Raises `BadInput` for an unknown operation, for an output
    that exists, and where nothing (or too little, for `augment`) can be rewritten.
    """
    options = options or PerturbOptions()
    names = operations.split(",") if isinstance(operations, str) else operations
    job = _Job(spec, names, data, options, on_progress)
    out = options.out
    if options.shards:
        if out is None or options.augment is not None:
            what = "shards need a folder, and no additions can be drawn for them"
            raise BadInput(what, cure="pass --out FOLDER, and leave --augment out")
    elif out is not None:
        is_file = out.name.endswith(SUFFIXES)
        refuse_existing(out if is_file else out / CARD, options.overwrite)
        if options.augment is not None and not is_file:
            cure = f"training additions go into one: {SUFFIXES[0]}"
            raise BadInput("is no records file", file=out, cure=cure)
    written = job.write()
    return PerturbReport(
        dataset=job.dataset.name,
        operations=tuple(tally.report(options.assume_eligible) for tally in job.tallies),
        written=written,
        out=None if out is None else str(out),
    )


class _Chunk(NamedTuple):
    """Some examples for one operation, by its number."""

    operation: int
    split: str
    examples: list[Example]
    shard: int = 0
    """The number of the shard that is written, where there are shards."""


class _Part(NamedTuple):
    """What came of a chunk."""

    operation: int
    split: str
    children: list[Example]
    eligible: int
    reasons: Counter[str]
    """Why the others are not, in the order in which the reasons came up."""
    examples: int
    shard: int


def tune_operation(
    perturbation: Perturbation,
    min_confidence: float | None,
    parser: str | None,
    inputs: tuple[str, ...],
) -> Perturbation:
    """The operation as the options want it."""
    return restrict_inputs(tune_perturbation(perturbation, min_confidence, parser), inputs)


@dataclass(frozen=True)
class _Rewriter:
    """Operations over chunks of examples. It holds names, of which each process makes its own operations and analysers."""

    language: str
    dataset: str
    operations: tuple[str, ...]
    inputs: tuple[str, ...]
    min_confidence: float | None
    parser: str | None
    seed: int
    assume_eligible: bool

    def __call__(self, chunk: _Chunk) -> _Part:
        """Rewrite the examples of a chunk."""
        operation, tool = self._tools[chunk.operation]
        part = _Part(
            chunk.operation, chunk.split, [], 0, Counter(), len(chunk.examples), chunk.shard
        )
        eligible = 0

        def is_eligible(example: Example, analyser: Analyser) -> bool:
            nonlocal eligible
            if operation.why is not None:
                reason = operation.why(example, analyser)
            else:
                reason = "" if operation.eligible(example, analyser) else "not eligible"
            if reason:
                part.reasons[reason] += 1
            else:
                eligible += 1
            return not reason

        part.children.extend(
            apply(
                replace(operation, eligible=is_eligible),
                chunk.examples,
                tool,
                seed=self.seed,
                source=f"{self.dataset}:{chunk.split}",
                assume_eligible=self.assume_eligible,
            )
        )
        return part._replace(eligible=eligible)

    @cached_property
    def _tools(self) -> list[tuple[Perturbation, Analyser]]:
        """Each operation with the analyser whose tags it reads."""
        known = {one.name: one for one in perturbations(self.language).values()}
        default = DEFAULTS.get(self.language, "")
        tools = []
        for name in self.operations:
            operation = tune_operation(known[name], self.min_confidence, self.parser, self.inputs)
            reads = operation.analysers
            # of those that read no tags, the one that costs nothing
            tool = (default if default in reads else reads[0]) if reads else "characters"
            tools.append((operation, analyser(tool)))
        return tools

    def __getstate__(self) -> dict[str, Any]:
        """Without the operations and analysers of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_tools"}


class _Counts(Record, frozen=True, kw_only=True):
    """What one operation did to one shard."""

    examples: int
    eligible: int
    rewritten: int
    reasons: dict[str, int]
    samples: tuple[Sample, ...]


MAX_SAMPLES_OF_SHARD = 2 * MAX_SAMPLES - 1
"""So many hold enough new ones, whatever samples there are of other shards."""


@dataclass
class _Tally:
    """Counts of one operation, filled while its examples pass."""

    perturbation: Perturbation
    examples: int = 0
    eligible: int = 0
    rewritten: int = 0
    samples: tuple[Sample, ...] = ()
    reasons: Counter[str] = field(default_factory=Counter)
    max_samples: int = MAX_SAMPLES

    def count(self, part: _Part) -> None:
        """Count what came of some examples."""
        self.eligible += part.eligible
        self.reasons.update(part.reasons)
        for child in part.children:
            self.add(child)

    def add(self, child: Example) -> None:
        """Count a rewritten example."""
        self.rewritten += 1
        if len(self.samples) < self.max_samples:
            name = str(child.meta["changed_inputs"]).partition("+")[0]
            before = str(child.meta[f"original_{name}"])
            after = str(child.inputs[name])
            confidence = child.meta.get(CONFIDENCE)
            self._show(Sample(example=child.id, before=before, after=after, confidence=confidence))

    def _show(self, sample: Sample) -> None:
        """Keep a sample if there is room and no other of the same text."""
        if len(self.samples) < self.max_samples and all(
            sample.before != other.before for other in self.samples
        ):
            self.samples += (sample,)

    def counts(self) -> _Counts:
        """What was counted, to be stored with a shard."""
        return _Counts(
            examples=self.examples,
            eligible=self.eligible,
            rewritten=self.rewritten,
            reasons=dict(self.reasons),
            samples=self.samples,
        )

    def add_counts(self, counts: _Counts) -> None:
        """Add what was counted in a shard."""
        self.examples += counts.examples
        self.eligible += counts.eligible
        self.rewritten += counts.rewritten
        self.reasons.update(counts.reasons)
        for sample in counts.samples:
            self._show(sample)

    def report(self, is_assumed: bool) -> OperationReport:
        """The counts; `is_assumed` where every example was taken for eligible."""
        skipped = self.examples - self.rewritten
        unable = skipped - self.reasons.total()
        reasons = self.reasons + Counter({UNABLE: unable})
        return OperationReport(
            operation=self.perturbation.name,
            effect=self.perturbation.effect,
            examples=self.examples,
            eligible=self.examples if is_assumed else self.eligible,
            rewritten=self.rewritten,
            skipped=skipped,
            reasons=dict(reasons.most_common()),
            samples=self.samples,
            min_confidence=self.perturbation.min_confidence,
        )


class _Job:
    """One call: the dataset, the operations, and their tallies.

    All names are checked before any work.
    """

    def __init__(
        self,
        spec: str,
        names: Iterable[str],
        data: Path | None,
        options: PerturbOptions,
        on_progress: Progress | None,
    ) -> None:
        self.spec = str(spec_of(spec, options.split))
        self.data, self.options = data, options
        self.place = choose_place(options)
        self.on_progress = on_progress
        self.files = open_shard_files(self.spec, data) if options.shards else None
        self.dataset = (self.files or open_stream(self.spec, data)).dataset
        known = perturbations(self.dataset.language).values()
        chosen = choose_perturbations(names, options.cases, known)
        if not chosen:
            raise BadInput("no operation is named", cure="run `nikawa perturb` to list them")
        threshold, parser = options.min_confidence, options.parser
        self.tallies = [
            _Tally(tune_operation(one, threshold, parser, options.inputs)) for one in chosen
        ]
        if options.inputs:
            files = self.files
            pairs = open_stream(self.spec, data).pairs if files is None else files.read_all()
            refuse_missing_inputs(
                pairs,
                options.inputs,
                lambda example: {
                    name for name, value in example.inputs.items() if isinstance(value, str)
                },
            )

    def run(self) -> Iterator[tuple[_Tally, Iterator[tuple[str, Example]]]]:
        """Of one operation after the other, split and child of everything it rewrites, as a stream."""
        parts = map_in_order(self._make_rewriter(), self._read_chunks(), self.place)
        for number, own in groupby(parts, attrgetter("operation")):
            yield self.tallies[number], self._take_children(self.tallies[number], own)

    def _make_rewriter(self) -> _Rewriter:
        options = self.options
        return _Rewriter(
            self.dataset.language,
            self.dataset.name,
            tuple(tally.perturbation.name for tally in self.tallies),
            options.inputs,
            options.min_confidence,
            options.parser,
            options.seed,
            options.assume_eligible,
        )

    def _take_children(
        self, tally: _Tally, parts: Iterable[_Part]
    ) -> Iterator[tuple[str, Example]]:
        for part in parts:
            tally.count(part)
            for child in part.children:
                yield part.split, child

    def _read_chunks(self) -> Iterator[_Chunk]:
        """All examples for each operation, some at a time; every operation has a chunk."""
        for number, tally in enumerate(self.tallies):
            yield _Chunk(number, "", [])
            for split, pairs in groupby(self._count_examples(tally), itemgetter(0)):
                examples = (example for _, example in pairs)
                while batch := list(islice(examples, CHUNK_EXAMPLES)):
                    yield _Chunk(number, split, batch)

    def _count_examples(self, tally: _Tally) -> Iterator[tuple[str, Example]]:
        """Split and example of all that the dataset holds, counted as they pass."""
        stream = open_stream(self.spec, self.data)
        for pair in stream.pairs:
            tally.examples += 1
            if self.on_progress is not None and tally.examples % PROGRESS_EXAMPLES == 0:
                self.on_progress(tally.perturbation.name, tally.examples, stream.total)
            yield pair

    def write(self) -> int:
        """Run every operation and write what comes of it; how many records were written."""
        options, out = self.options, self.options.out
        if self.files is not None and out is not None:
            return self._write_shards(self.files, out)
        if options.augment is not None:
            runs = ((tally.perturbation, children) for tally, children in self.run())
            additions = draw_additions(runs, options.augment, options.augment_gold, options.seed)
            if out is not None:
                return write_records(out, additions, overwrite=options.overwrite)
            # Drawing fills the tallies, and refuses what cannot be drawn, though nothing is written.
            for _ in additions:
                pass
            return 0
        if out is None:
            for _, children in self.run():
                for _ in children:
                    pass
            return 0
        if out.name.endswith(SUFFIXES):
            return write_records(out, self._file_examples(out), overwrite=options.overwrite)
        return self._write_folder(out)

    def _file_examples(self, out: Path) -> Iterator[Example]:
        """What goes into one file. Ids are those of the parents, so none may come twice."""
        if len(self.tallies) > 1:
            what = f"{len(self.tallies)} operations do not fit into one file"
            cure = "name one operation and case, or a folder to write to"
            raise BadInput(what, file=out, cure=cure)
        splits: dict[str, str] = {}
        for split, child in (pair for _, children in self.run() for pair in children):
            if splits.setdefault(child.id, split) != split:
                what = f"id {child.id!r} is in {splits[child.id]} and in {split}"
                raise BadInput(what, file=out, cure="name one split: --split test")
            yield child
        if not splits:
            raise self._nothing_rewritten(out)

    def _write_folder(self, out: Path) -> int:
        """Write a dataset whose splits are the operations, as those of JSICK's stress sets are."""
        splits: dict[str, list[Example]] = {}
        for tally, children in self.run():
            for split, child in children:
                splits.setdefault(self._name_split(split, tally), []).append(child)
        if not splits:
            raise self._nothing_rewritten(out)
        examples = {name: tuple(own) for name, own in splits.items()}
        dataset = _make_dataset(self.dataset, examples)
        write_folder(dataset, out, overwrite=self.options.overwrite)
        return sum(map(len, splits.values()))

    def _name_split(self, split: str, tally: _Tally) -> str:
        """The split for what an operation makes of one of the dataset."""
        name = tally.perturbation.name
        return f"{split}-{name}" if len(self.dataset.splits) > 1 else name

    def _write_shards(self, source: ShardFiles, out: Path) -> int:
        """Write the same dataset with a shard for each operation and file."""
        options = self.options
        pairs = [(tally, file) for tally in self.tallies for file in source.files]
        planned = []
        for tally, file in pairs:
            stem = file.name.removesuffix(".jsonl")
            name = f"{stem}-{tally.perturbation.name}.jsonl"
            split = self._name_split(file.split, tally)
            planned.append(PlannedShard(name=name, split=split, source=file.path))
        dataset = _make_dataset(self.dataset, {})
        settings = {
            "operations": [tally.perturbation.name for tally in self.tallies],
            "options": (
                *(options.cases, options.split, options.inputs, options.assume_eligible),
                *(options.seed, options.min_confidence, options.parser),
            ),
            "card": self.dataset.card,
        }
        with open_shards([out], planned, settings, overwrite=options.overwrite) as target:

            def read_chunks() -> Iterator[_Chunk]:
                for shard in range(len(target.shards), len(pairs)):
                    tally, file = pairs[shard]
                    examples = source.read(file)
                    while batch := list(islice(examples, CHUNK_EXAMPLES)):
                        yield _Chunk(self.tallies.index(tally), file.split, batch, shard)

            def write(shard: int, parts: Iterator[_Part], streams: Sequence[BinaryIO]) -> _Counts:
                whole, name = pairs[shard][0], pairs[shard][0].perturbation.name
                tally = _Tally(whole.perturbation, max_samples=MAX_SAMPLES_OF_SHARD)
                for part in parts:
                    before = whole.examples + tally.examples
                    tally.examples += part.examples
                    tally.count(part)
                    streams[0].writelines(encode_json(child) + b"\n" for child in part.children)
                    done = whole.examples + tally.examples
                    if self.on_progress is not None and (
                        before // PROGRESS_EXAMPLES < done // PROGRESS_EXAMPLES
                    ):
                        self.on_progress(name, done, None)
                whole.add_counts(tally.counts())
                return tally.counts()

            for shard, (tally, _) in zip(target.shards, pairs, strict=False):
                tally.add_counts(msgspec.json.decode(shard.counts, type=_Counts))
            parts = map_in_order(self._make_rewriter(), read_chunks(), self.place)
            target.write_all(((part.shard, part) for part in parts), write)
            if not any(tally.rewritten for tally in self.tallies):
                target.discard()
                raise self._nothing_rewritten(out)
            card = replace(dataset.card, version=dataset.version)
            target.close({CARD: format_card(card)})
        return sum(tally.rewritten for tally in self.tallies)

    def _nothing_rewritten(self, out: Path) -> BadInput:
        """The error where no example was rewritten: the most frequent reason, and how to see all of
        them.
        """
        counts: Counter[str] = Counter()
        for tally in self.tallies:
            counts.update(tally.report(self.options.assume_eligible).reasons)
        main = "".join(f": {why} ({n:,} of {counts.total():,})" for why, n in counts.most_common(1))
        cure = "leave --out away to see all reasons"
        return BadInput(f"nothing was rewritten{main}", file=out, cure=cure)


def _make_dataset(parent: Dataset, splits: dict[str, tuple[Example, ...]]) -> Dataset:
    """The dataset of what was rewritten, with a card that says so."""
    name = f"{parent.name}-perturbed"
    card = replace(
        parent.card,
        name=name,
        title=f"{parent.card.title}, perturbed",
        languages=(parent.language,),
        description=f"Examples of {parent.name} rewritten by nikawa perturb, a split an operation, each linked to its parent.",
        labels="Inherited from the parents; where the effect is neutral, the changed text has not been judged yet.",
        workers="no answers of their own",
        workers_are="none",
        problems=(
            *parent.card.problems,
            "Labels are inherited: compare predictions, do not score them.",
        ),
    )
    return replace(parent, name=name, card=card, splits=splits)
