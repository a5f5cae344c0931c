"""Generate a dataset from a pack: plan the cells, make the problems (on several processes), write,
gate, describe.
"""

from __future__ import annotations

import dataclasses
import gc
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise, repeat
from multiprocessing import get_all_start_methods
from pathlib import Path
from shlex import join
from typing import Any, BinaryIO, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.datasets.known import format_known, write_known
from nikawa.errors import BadInput, list_names, unknown
from nikawa.execute import ExecuteOptions
from nikawa.execute.ordered import choose_place, map_in_order
from nikawa.execute.pool import count_processors
from nikawa.generation.artifact_gate import GateVerdict, judge_artifacts
from nikawa.generation.check import refuse_faults
from nikawa.generation.conditions import LABELS
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.journal import (
    JOURNAL,
    UNFINISHED,
    GrowingFiles,
    Journal,
    Text,
    UnusableRun,
    clear_folder,
    final_path,
    start_journal,
)
from nikawa.generation.pack import BY_DESIGN, PACK_FILE, Pack, open_pack
from nikawa.generation.review_sample import read_pack_card
from nikawa.io.atomic import name_full_disk, staged_files
from nikawa.io.cards import MADE_HERE, format_card
from nikawa.io.file_names import refuse_outside
from nikawa.io.folders import CARD, KNOWN, find_replaced, split_files, write_card
from nikawa.io.lines import read_raw_lines
from nikawa.io.locks import lock_folder
from nikawa.io.remote import UNFINISHED as MARK
from nikawa.io.remote import RemotePath
from nikawa.io.shards import PlannedShard, open_shards
from nikawa.io.uploads import staging_folder, upload_when_done
from nikawa.records import Card, Record
from nikawa.tables import ShownAsTables
from nikawa.text import analyser
from nikawa.version import __version__

CHUNK_PROBLEMS = 5_000
"""Number of problems that a process makes in one step."""
CHUNKS_AHEAD = 12
"""Chunks each process may be ahead of the writer, who waits for the disk now and then."""
NEW_FOLDER = ".generate-new"
"""Where a dataset grows that is to replace another."""
MAX_ATTEMPTS = 10
"""Maximum number of attempts until the gate passes."""
LINE_START = b'{"id":"'
"""How every line begins; the number of its cell and a hyphen follow."""
Progress = Callable[[int, int], None]
"""Called with how many problems are written, of how many."""


@dataclass(frozen=True)
class GenerateOptions:
    """What to generate, and how.

    The bytes depend on everything but `workers`, `executor`, `address` and `overwrite`.
    """

    counts: Mapping[str, int] | None = None
    """Split to problems; the empty name is the first split. Those the pack names when left out."""
    per: str = "cell"
    """`cell`, or `total`: as many from each cell as stay within the number."""
    seed: int = 0
    splits: tuple[str, ...] = ()
    """Training splits of the pack to write in addition to the whole; `all` for all."""
    workers: int = 1
    executor: str = ""
    """By name, such as `ray`; empty: processes of this machine."""
    address: str = ""
    """Of a cluster; see `nikawa.execute.ExecuteOptions`."""
    overwrite: bool = False
    gate: int | None = None
    """Most pairs of token and label that may be over the line; None for no gate."""
    tokeniser: str | None = None
    """The analyser whose tokens the gate tests."""
    chunk: int = CHUNK_PROBLEMS
    shards: int = 0
    """Files to write each split to, in a folder of shards; 0 for one file per split. See `nikawa.io.shards`."""

    def wanted_counts(self, first_split: str) -> dict[str, int]:
        """Split to the number that was asked for; the empty name means the first split."""
        return {name or first_split: n for name, n in (self.counts or {}).items()}

    def count_per_cell(self, pack: Pack) -> dict[str, int]:
        """Problems of each cell, by split; splits without problems are left out."""
        splits = pack.head.cells
        wanted = self.wanted_counts(pack.head.first_split)
        for name, n in wanted.items():
            if name not in splits:
                raise unknown(f"split of {pack.name}", name, splits)
            if n < 0:
                raise BadInput(f"{name}: {n} problems cannot be made", cure="ask for 1 or more")
        counts = {name: wanted.get(name, table.per) for name, table in splits.items()}
        if self.per == "total":
            for name, n in wanted.items():
                cells = sum(cell.weight for cell in pack.cells(name))
                if 0 < n < cells:
                    what = f"{name}: {n:,} problems do not reach {cells:,} cells"
                    raise BadInput(what, cure="ask for more, or --per cell")
                counts[name] = n // max(1, cells)
        elif self.per != "cell":
            raise unknown("way to count", self.per, ("cell", "total"))
        if not any(counts.values()):
            raise BadInput("no problem is asked for", cure="ask for 1 or more")
        return {name: n for name, n in counts.items() if n}

    def choose_views(self, pack: Pack) -> tuple[str, ...]:
        """The training splits to write in addition to the whole, in the order of the pack."""
        for name in self.splits:
            if name != "all" and name not in pack.rules:
                raise unknown(f"training split of {pack.name}", name, pack.rules)
        return tuple(name for name in pack.rules if name in self.splits or "all" in self.splits)

    def command(self, spec: str) -> str:
        """The command that makes the same bytes again, but for the folder they go to."""
        words = ["nikawa", "generate", spec]
        for name, n in (self.counts or {}).items():
            words += ["-n", f"{name}={n}" if name else f"{n}"]
        if self.per != "cell":
            words += ["--per", self.per]
        words += ["--seed", f"{self.seed}"]
        for name in self.splits:
            words += ["--split", name]
        if self.gate is not None:
            words.append("--gate")
            if self.gate:
                words += ["--gate-over", f"{self.gate}"]
            if self.tokeniser:
                words += ["--tokeniser", self.tokeniser]
        return join(words)


class SplitReport(Record, frozen=True, kw_only=True):
    """What a split came to."""

    problems: int
    cells: int
    """Cells that gave a problem."""
    labels: dict[str, int]
    """Label to its problems."""
    per: int
    """Problems wanted of each cell."""


class GenerateReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """What was generated."""

    main_table: ClassVar[str] = "splits"

    pack: str
    seed: int
    attempt: int
    """How often the gate led to other words."""
    splits: dict[str, SplitReport]
    unreachable: tuple[str, ...]
    """Cells no assignment of times reaches."""
    short: dict[str, int]
    """Cells of the first split with fewer different problems than wanted, and how many they have.
    """
    untested: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other splits to the templates they have no problem of: no words keep one apart from the first
    split."""
    repeated: dict[str, int] = msgspec.field(default_factory=dict)
    """Splits to the problems that repeat one of the same split."""
    asked: dict[str, int] = msgspec.field(default_factory=dict)
    """Splits to the whole number wanted, where `per` is `total` and the cells do not come to that
    many."""
    folder: str
    gate: GateVerdict | None = None
    failed: tuple[tuple[str, ...], ...] | msgspec.UnsetType = msgspec.UNSET
    """For each attempt before the last one, the tokens and labels over the line of the gate; absent
    if there was one attempt."""


def generate(
    spec: str,
    out: Path,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    on_progress: Progress | None = None,
) -> GenerateReport:
    """Write a dataset folder from a pack; an unfinished run of the same settings goes on.

    A failed gate leaves nothing new.

    `spec` and `data` name the pack as for `open_pack`. Raises `BadInput` where `out` holds
    something and `overwrite` is not set, where another run writes there, and where no problem can
    be made.
    """
    options = options or GenerateOptions()
    choose_place(options)  # refuse it before the work starts
    if options.shards < 0 or (options.shards and options.gate is not None):
        what = f"{options.shards} shards cannot be written"
        if options.gate is not None:
            what = "the gate needs each split in one file"
        cure = "leave out --shards, or test the shards afterwards: nikawa probe artifacts FOLDER"
        raise BadInput(what, cure=cure)
    if options.shards:
        return _generate_shards(spec, out, data, options, on_progress)
    if options.gate is not None and options.tokeniser is not None:
        analyser(options.tokeniser, cache=0)  # a wrong name fails before the work, not after it
    if isinstance(out, RemotePath):
        return _generate_at_address(spec, out, data, options, on_progress)
    cure = "wait until it ends, or choose another folder"
    busy = BadInput("another run is writing into this folder", file=out, cure=cure)
    misplaced = BadInput("is a file, not a folder", file=out, cure="choose another place")
    with lock_folder(out, busy=busy, misplaced=misplaced):
        if not options.overwrite or not (out / CARD).exists():
            return _generate(spec, out, data, options, on_progress)
        # Write the new dataset next to the old one, which stays until the new one is complete.
        beside = out / NEW_FOLDER
        refuse_outside(beside, out)
        fresh = dataclasses.replace(options, overwrite=False)
        try:
            report = _generate(spec, beside, data, fresh, on_progress)
        except UnusableRun:
            shutil.rmtree(beside)
            report = _generate(spec, beside, data, fresh, on_progress)
        if (beside / CARD).exists():
            old = [CARD, *(file.name for file in split_files(out).values())]
            old += [KNOWN] if (out / KNOWN).exists() else []
            with staged_files(out, old, CARD) as staging:
                for file in (beside / CARD, beside / KNOWN, *split_files(beside).values()):
                    file.rename(staging / file.name)
        shutil.rmtree(beside, ignore_errors=True)
        return replace(report, folder=str(out))


def _plan_run(spec: str, data: Path | None, options: GenerateOptions) -> Plan:
    """The plan of a run; refuses a pack with faults, and a split of which no problem can be made."""
    pack = open_pack(spec, data)
    refuse_faults(spec, data)
    per_cell, views = options.count_per_cell(pack), options.choose_views(pack)
    if pack.head.first_split not in per_cell and (views or options.gate is not None):
        what = "training splits and the gate need problems of the first split"
        raise BadInput(what, cure="ask for 1 or more of them")
    plan = Plan(pack, f"{options.seed}", per_cell, views, source=(spec, data))
    plan.refuse_empty()
    return plan


def _generate_shards(
    spec: str,
    out: Path,
    data: Path | None,
    options: GenerateOptions,
    on_progress: Progress | None,
) -> GenerateReport:
    """Generate into a folder of shards: those of a split, one after the other, have the lines of its one file."""
    plan = _plan_run(spec, data, options)
    shards = list(plan.divide(options.shards))
    planned = [PlannedShard(name=shard.name, split=shard.split) for shard in shards]
    settings = {"pack, seed and counts": plan.hash_settings(options), "shards": options.shards}
    total = sum(one.stop - one.start for shard in shards for one in shard.slices)
    with open_shards([out], planned, settings, overwrite=options.overwrite) as target:
        left = [
            (number, chunk)
            for number, shard in enumerate(shards)
            if number >= len(target.shards)
            for chunk in cut_slices(shard.slices, options.chunk)
        ]
        done = total - sum(one.stop - one.start for _, chunk in left for one in chunk)

        def write(
            number: int, parts: Iterator[tuple[Chunk, list[bytes]]], streams: Sequence[BinaryIO]
        ) -> _ShardCounts:
            nonlocal done
            problems = 0
            for chunk, texts in parts:
                streams[0].write(b"".join(texts))
                problems += sum(one.stop - one.start for one in chunk)
                done += sum(one.stop - one.start for one in chunk)
                if on_progress is not None:
                    on_progress(done, total)
            return _ShardCounts(problems=problems)

        place = choose_place(options)
        # another machine may not have the files of the pack
        make = ChunkMaker(plan) if place.executor in ("", "here", "pool") else plan.make
        texts = map_in_order(make, [chunk for _, chunk in left], place)
        made = ((n, (chunk, text)) for (n, chunk), text in zip(left, texts, strict=True))
        target.write_all(made, write)

        def read_split(split: str) -> Iterator[bytes]:
            for number, shard in enumerate(shards):
                if shard.split == split:
                    yield from target.read_lines(number)

        report = plan.report(out, options, Journal(settings=""), None, read_split)
        card = describe(plan.generator, report, options.command(spec))
        known = format_known((*BY_DESIGN, *plan.generator.pack.head.known))
        target.close({KNOWN: known.encode(), CARD: format_card(card)})
    return report


class _ShardCounts(Record, frozen=True, kw_only=True):
    """What a shard holds."""

    problems: int


def _generate_at_address(
    spec: str,
    out: RemotePath,
    data: Path | None,
    options: GenerateOptions,
    on_progress: Progress | None,
) -> GenerateReport:
    """Generate on this machine, where an unfinished run goes on, and send the dataset when it is complete."""
    old, _ = find_replaced(out, (), options.overwrite)
    with upload_when_done(out, replaced=old, last=CARD) as folder:
        # a complete dataset there was not sent, and may have other settings
        fresh = dataclasses.replace(options, overwrite=(folder / CARD).exists())
        try:
            report = generate(spec, folder, data=data, options=fresh, on_progress=on_progress)
        except UnusableRun:
            if not options.overwrite:
                raise
            shutil.rmtree(folder)
            report = generate(spec, folder, data=data, options=fresh, on_progress=on_progress)
    return replace(report, folder=str(out))


def is_resumable(out: Path) -> bool:
    """Whether a folder holds an unfinished run that its command would go on with."""
    if (out / MARK).exists():
        return True
    out = staging_folder(out) if isinstance(out, RemotePath) else out
    return any((folder / JOURNAL).is_file() for folder in (out, out / NEW_FOLDER))


def _generate(
    spec: str,
    out: Path,
    data: Path | None,
    options: GenerateOptions,
    on_progress: Progress | None,
) -> GenerateReport:
    """Generate into a folder that this process has locked.

    If the gate does not pass, other words are tried.
    """
    plan = _plan_run(spec, data, options)
    pack = plan.generator.pack
    per_cell, views = plan.per_cell, tuple(plan.views)
    first = pack.head.first_split
    journal = start_journal(out, plan.hash_settings(options), options.overwrite)
    while True:
        if journal.attempt:
            seed = f"{options.seed}+{journal.attempt}"
            plan = Plan(pack, seed, per_cell, views, source=(spec, data))
        plan.write(GrowingFiles(out, (*per_cell, *views), journal), options, on_progress)
        verdict = None
        if options.gate is not None:
            path = final_path(out, first)
            verdict = judge_artifacts(
                plan.generator, plan.cells[first], path, options.gate, options.tokeniser
            )
        report = plan.report(
            out,
            options,
            journal,
            verdict,
            lambda split: (line for _, line in read_raw_lines(final_path(out, split))),
        )
        if verdict is None or verdict.passed:
            card = describe(plan.generator, report, options.command(spec))
            write_known(out, (*BY_DESIGN, *pack.head.known))
            write_card(card, out, overwrite=True)
            (out / JOURNAL).unlink(missing_ok=True)
            return report
        clear_folder(out)
        if verdict.impossible or journal.attempt + 1 >= MAX_ATTEMPTS:
            return report
        over = tuple(f"{pair.token} {pair.label}" for pair in verdict.over)
        failed = (*journal.failed, over)
        journal = replace(journal, attempt=journal.attempt + 1, failed=failed, chunks=0, sizes={})


class _ProblemTexts(msgspec.Struct):
    """What is compared of a line to find repeats."""

    inputs: dict[str, str]


class CellSlice(NamedTuple):
    """Some problems of one cell."""

    split: str
    place: int
    """The place of the cell among those of its split."""
    start: int
    stop: int


Chunk = list[CellSlice]
"""What a process makes at a time."""


def cut_slices(slices: Iterable[CellSlice], sizes: int | Iterable[int]) -> Iterator[Chunk]:
    """The same problems in chunks of these sizes, in order; the last one may be smaller."""
    wanted = repeat(sizes) if isinstance(sizes, int) else iter(sizes)
    chunk: Chunk = []
    room = next(wanted)
    for one in slices:
        start = one.start
        while start < one.stop:
            n = min(room, one.stop - start)
            chunk.append(one._replace(start=start, stop=start + n))
            start, room = start + n, room - n
            if not room:
                yield chunk
                chunk, room = [], next(wanted, 0)
    if chunk:
        yield chunk


class SplitShard(NamedTuple):
    """A file of some problems of a split."""

    name: str
    split: str
    slices: Chunk


class Plan:
    """The plan of one run: which cell gives which problems to which file.

    `per_cell` is the number of problems of each cell by split, `views` are training splits that
    take some of the first split's problems, `source` is what another process loads the pack from.
    """

    def __init__(
        self,
        pack: Pack,
        seed: str,
        per_cell: Mapping[str, int],
        views: tuple[str, ...],
        *,
        source: tuple[str, Path | None] | None = None,
    ) -> None:
        self.generator = Generator(pack, load_pack_lexicon(pack), seed)
        self.per_cell = per_cell
        self.source = source or (str(pack.folder), None)
        self.cells = {split: self.generator.plan_cells(split, n) for split, n in per_cell.items()}
        self.views: dict[str, frozenset[int]] = {}
        """Training split to the places of its cells."""
        first = self.generator.first_split
        cells = self.cells.get(first, ())
        metas = [self.generator.meta(planned.cell, first) for planned in cells]
        for view in views:
            places = [place for place, meta in enumerate(metas) if pack.is_seen(view, meta)]
            self.views[view] = frozenset(places)

    @property
    def total(self) -> int:
        """Problems to make; those of training splits are not made twice."""
        return sum(planned.n for cells in self.cells.values() for planned in cells)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Slices in order, about `size` problems at a time."""
        slices = (
            CellSlice(split, place, 0, planned.n)
            for split, cells in self.cells.items()
            for place, planned in enumerate(cells)
        )
        return cut_slices(slices, size)

    def divide(self, count: int) -> Iterator[SplitShard]:
        """Each split, a training split too, in so many shards of nearly equal length; fewer where it has fewer problems."""
        first = self.generator.first_split
        for split in (*self.cells, *self.views):
            origin = first if split in self.views else split
            slices = [
                CellSlice(origin, place, 0, planned.n)
                for place, planned in enumerate(self.cells[origin])
                if split not in self.views or place in self.views[split]
            ]
            total = sum(one.stop for one in slices)
            n = max(1, min(count, total))
            bounds = [total * number // n for number in range(n + 1)]
            parts = cut_slices(slices, [end - start for start, end in pairwise(bounds)])
            for number in range(n):
                name = f"{split}-{number:05d}-of-{n:05d}.jsonl"
                yield SplitShard(name, split, next(parts, []))

    def make(self, chunk: Chunk) -> list[bytes]:
        """The lines of each slice."""
        texts = []
        for split, place, start, stop in chunk:
            texts.append(self.generator.lines(split, self.cells[split][place], start, stop))
        return texts

    def sort_texts(self, chunk: Chunk, texts: Sequence[Text]) -> Iterator[tuple[str, Text]]:
        """Each text with the splits it belongs to."""
        for one, text in zip(chunk, texts, strict=True):
            yield one.split, text
            if one.split == self.generator.first_split:
                for view, places in self.views.items():
                    if one.place in places:
                        yield view, text

    def hash_settings(self, options: GenerateOptions) -> str:
        """A hash of everything the bytes depend on."""
        pack = self.generator.pack
        digest = blake2b(digest_size=16)
        head = pack.folder / PACK_FILE
        files = [head] if head.is_file() else []
        files += [*pack.sources, *sorted(self.generator.lexicon.folder.iterdir())]
        for path in files:
            digest.update(path.read_bytes())
        settings = (
            pack.name,
            options.seed,
            dict(self.per_cell),
            tuple(self.views),
            options.gate,
            options.tokeniser,
            options.chunk,
            __version__,
        )
        digest.update(repr(settings).encode())
        return digest.hexdigest()

    def refuse_empty(self) -> None:
        """Refuse a split of which no problem can be made: nothing could read its file."""
        first = self.generator.first_split
        for split, cells in self.cells.items():
            if any(planned.n for planned in cells):
                continue
            leave = f"leave it out with -n {split}=0"
            if not cells:
                what = f"{split}: no times fill any of its cells"
                cure = f"change the formats, or {leave}"
                raise BadInput(what, file=self.generator.pack.file, cure=cure)
            apart = "" if split == first else f" that would keep it apart from {first}"
            what = f"{split}: no problem can be made, the templates have no words{apart}"
            cure = f"add an {{agent}} or a {{noun}}, or {leave}"
            raise BadInput(what, file=self.generator.pack.file, cure=cure)

    def write(
        self, files: GrowingFiles, options: GenerateOptions, on_progress: Progress | None
    ) -> None:
        """Make every chunk that is not in the files yet, in order."""
        chunks = list(self.chunks(options.chunk))
        skipped = files.journal.chunks
        done = sum(one.stop - one.start for chunk in chunks[:skipped] for one in chunk)
        try:
            for chunk, texts in self.make_all(
                chunks[skipped:], choose_place(options), files.folder
            ):
                files.add(self.sort_texts(chunk, texts))
                done += sum(one.stop - one.start for one in chunk)
                if on_progress is not None:
                    on_progress(done, self.total)
            files.finish()
        except BaseException:
            files.abandon()
            raise

    def make_all(
        self, chunks: list[Chunk], where: ExecuteOptions, folder: Path
    ) -> Iterator[tuple[Chunk, Sequence[Text]]]:
        """Each chunk with its texts, in order.

        Processes of this machine leave them in files of the folder; other machines get the plan,
        and send the texts.
        """
        if where.executor not in ("", "pool"):
            yield from zip(chunks, map_in_order(self.make, chunks, where), strict=True)
            return
        workers = where.workers or count_processors()
        if workers <= 1 or len(chunks) < 2:
            for chunk in chunks:
                yield chunk, self.make(chunk)
            return
        can_fork = "fork" in get_all_start_methods()
        if can_fork:
            gc.collect()
            gc.freeze()  # otherwise a garbage collection in a child touches the plan, which copies it
        places = [
            (chunk, folder / f".chunk-{number}{UNFINISHED}") for number, chunk in enumerate(chunks)
        ]
        all_sizes = map_in_order(
            ChunkWriter(self),
            places,
            min(workers, len(chunks)),
            ahead=CHUNKS_AHEAD,
            start="fork" if can_fork else "spawn",
        )
        for (chunk, path), sizes in zip(places, all_sizes, strict=True):
            whole = memoryview(path.read_bytes())
            path.unlink()
            ends = accumulate(sizes, initial=0)
            yield chunk, [whole[start:end] for start, end in pairwise(ends)]

    def report(
        self,
        out: Path,
        options: GenerateOptions,
        journal: Journal,
        verdict: GateVerdict | None,
        read_split: Callable[[str], Iterator[bytes]],
    ) -> GenerateReport:
        """What came of the run, whose files are in `out`; `read_split` gives the lines of a split."""
        first = self.generator.first_split
        cells = dict(self.cells)
        for view, places in self.views.items():
            cells[view] = [one for place, one in enumerate(self.cells[first]) if place in places]
        splits = {}
        for name, own in cells.items():
            labels: Counter[str] = Counter()
            for planned in own:
                labels[planned.cell.label] += planned.n
            splits[name] = SplitReport(
                problems=labels.total(),
                cells=sum(planned.n > 0 for planned in own),
                labels={label: labels[label] for label in LABELS if label in labels},
                per=self.per_cell.get(name, self.per_cell.get(first, 0)),
            )
        missed = {}
        if options.per == "total":
            for name, n in options.wanted_counts(next(iter(splits))).items():
                if name in splits and splits[name].problems < n:
                    missed[name] = n
        short = {}
        for planned in self.cells.get(first, ()):
            if planned.n < self.per_cell[first] * planned.cell.weight:
                short[planned.cell.name] = planned.n
        return GenerateReport(
            pack=self.generator.pack.name,
            seed=options.seed,
            attempt=journal.attempt,
            splits=splits,
            unreachable=tuple(cell.name for cell in self.generator.pack.unreachable(first)),
            short=short,
            untested=self.find_untested(),
            repeated=self.count_repeats(read_split),
            asked=missed,
            folder=str(out),
            gate=verdict,
            failed=journal.failed or msgspec.UNSET,
        )

    def find_untested(self) -> dict[str, tuple[str, ...]]:
        """Splits but the first to the templates they have no problem of, though they have cells."""
        untested: dict[str, tuple[str, ...]] = {}
        for split, cells in self.cells.items():
            if split != self.generator.first_split:
                tested = {planned.cell.template.id for planned in cells if planned.n}
                ids = dict.fromkeys(planned.cell.template.id for planned in cells)
                missing = tuple(id for id in ids if id not in tested)
                if missing:
                    untested[split] = missing
        return untested

    def count_repeats(self, read_split: Callable[[str], Iterator[bytes]]) -> dict[str, int]:
        """Splits to the problems that repeat the texts of another.

        Files are read only where words come up again.
        """
        import numpy as np

        repeats: dict[str, int] = {}
        decode = msgspec.json.Decoder(_ProblemTexts).decode
        for split, cells in self.cells.items():
            doubtful = {
                f"{planned.number}".encode()
                for planned in cells
                if self.generator.may_repeat(split, planned)
            }
            if not doubtful:
                continue
            hashes = array("q")  # a set would take nine times as much memory
            for line in read_split(split):
                if line[len(LINE_START) : line.find(b"-", len(LINE_START))] in doubtful:
                    inputs = decode(line).inputs
                    hashes.append(hash((inputs["premise"], inputs["hypothesis"])))
            values = np.frombuffer(hashes, np.int64) if hashes else np.zeros(0, np.int64)
            values.sort()  # in place
            if count := int(np.count_nonzero(values[1:] == values[:-1])):
                repeats[split] = count
        return repeats


@dataclass(frozen=True)
class ChunkMaker:
    """Makes the texts of a chunk."""

    plan: Plan

    def __call__(self, chunk: Any) -> Any:
        """The lines of each slice."""
        return self.plan.make(chunk)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A process that is not forked loads the pack and makes the plan again, which is cheaper
        than to send them.
        """
        plan = self.plan
        settings = (plan.generator.seed, dict(plan.per_cell), tuple(plan.views))
        return type(self).plan_again, (plan.source, *settings)

    @classmethod
    def plan_again(
        cls,
        source: tuple[str, Path | None],
        seed: str,
        per_cell: dict[str, int],
        views: tuple[str, ...],
    ) -> ChunkMaker:
        """One with the same plan; `source` is the pack as `open_pack` takes it."""
        return cls(Plan(open_pack(*source), seed, per_cell, views, source=source))


class ChunkWriter(ChunkMaker):
    """Writes the texts of a chunk to a file, which is far cheaper than a pipe."""

    def __call__(self, place: tuple[Chunk, Path]) -> list[int]:
        """Write one chunk; the bytes of each text."""
        chunk, path = place
        texts = self.plan.make(chunk)
        with name_full_disk(path.parent), path.open("xb") as stream:  # never through a link
            stream.write(b"".join(texts))
        return [len(text) for text in texts]


def describe_review(pack: Pack) -> str:
    """What a review found out about the pack, for the card of a dataset; empty without a review."""
    card = read_pack_card(pack.folder)
    if card is None or card.review is None or card.version != pack.head.version:
        return ""
    review = card.review
    return (
        f" {review.n} problems of the pack were reviewed ({review.read_by}): natural in "
        f"{review.natural:.1%} of the readings, label agreed in {review.label_agreed:.1%}."
    )


def describe(generator: Generator, report: GenerateReport, command: str) -> Card:
    """The card of a generated dataset.

    The version names what the bytes depend on, and `command` makes them again.
    """
    pack, about = generator.pack, generator.lexicon.about
    version = pack.head.version
    shown = pack.name if version == "1" else f"{pack.name}@{version}"
    first = next(iter(report.splits.values()))
    counts = ", ".join(f"{name} {split.problems:,}" for name, split in report.splits.items())
    problems = []
    if report.unreachable:
        problems.append(
            f"{len(report.unreachable)} cells cannot be reached and are absent: {list_names(report.unreachable)}."
        )
    if report.short:
        named = list_names(f"{name} ({n})" for name, n in report.short.items())
        problems.append(
            f"{len(report.short)} cells have fewer different problems than asked for: {named}."
        )
    if report.gate is None:
        problems.append("Not tested for artifacts: some tokens may give the label away.")
    elif report.gate.over:
        named = list_names(f"{pair.token} {pair.label}" for pair in report.gate.over)
        problems.append(
            f"{len(report.gate.over)} pairs of token and label are over the line of the artifact test: {named}."
        )
    return Card(
        name=pack.name,
        title=pack.head.title,
        version=f"{first.per}-per-cell-seed-{generator.seed}",
        languages=(pack.language,),
        licence=pack.head.licence,
        citation=f"Generated by Nikawa {__version__} from the pack {pack.name}.",
        homepage=MADE_HERE + command,
        description=f"{pack.head.description or pack.head.title} {len(pack.templates)} templates in "
        f"{len(pack.categories)} categories, {first.cells:,} cells; {counts} problems.".strip(),
        labels="Computed from the template's condition and the times or numbers filled in."
        + describe_review(pack),
        workers="none: no person judged the problems",
        workers_are="none",
        source=f"Templates of the pack {shown}; words of the lexicon {about.name!r}: "
        + " ".join(about.provenance.split()),
        problems=tuple(problems),
    )
