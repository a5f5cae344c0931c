"""Generate a dataset from a pack: plan the cells, make the problems (on several processes), write, gate, describe."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput, unknown
from nikawa.generation.artifact_gate import GateVerdict, judge_artifacts
from nikawa.generation.card import command, describe
from nikawa.generation.generator import Generator, PlannedCell, load_pack_lexicon
from nikawa.generation.journal import (
    JOURNAL,
    GrowingFiles,
    Text,
    UnusableRun,
    clear_folder,
    final_path,
    start_journal,
)
from nikawa.generation.pack import PACK_FILE, Pack, pack_names
from nikawa.generation.shortfall import refuse_empty, repeated, untested
from nikawa.generation.template import LABELS
from nikawa.generation.templates import check_templates, open_pack
from nikawa.generation.workers import made
from nikawa.io.folders import CARD, split_files, write_card
from nikawa.io.locks import lock_folder
from nikawa.io.staged import staged_files
from nikawa.records import Record
from nikawa.text import analyser
from nikawa.version import __version__

CHUNK = 5_000
"""Problems a process makes at a time."""
BESIDE = ".generate-new"
"""Where a dataset grows that is to replace another."""
ATTEMPTS = 10
"""How often the gate lets chance try again."""
Progress = Callable[[int, int], None]
"""Called with how many problems are written, of how many."""


@dataclass(frozen=True)
class GenerateOptions:
    """What to generate."""

    counts: Mapping[str, int] | None = None
    """Split to problems; the empty name is the first split. Those the pack names when left out."""
    per: str = "cell"
    """`cell`, or `total`: as many from each cell as stay within the number."""
    seed: int = 0
    splits: tuple[str, ...] = ()
    """Training splits of the pack to write beside the whole; `all` for all."""
    workers: int = 1
    overwrite: bool = False
    gate: int | None = None
    """Most pairs of token and label that may be over the line; None for no gate."""
    tokeniser: str | None = None
    """What the gate cuts texts with."""
    chunk: int = CHUNK


class SplitReport(Record, frozen=True, kw_only=True):
    """What a split came to."""

    problems: int
    cells: int
    labels: dict[str, int]
    per: int
    """Problems asked of each cell."""


class GenerateReport(Record, frozen=True, kw_only=True):
    """What was generated."""

    pack: str
    seed: int
    attempt: int
    """How often the gate asked for other words."""
    splits: dict[str, SplitReport]
    unreachable: tuple[str, ...]
    """Cells no assignment of times reaches."""
    short: dict[str, int]
    """Cells of the first split with fewer different problems than asked for, and how many they have."""
    untested: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other splits to the templates they have no problem of: no words keep one apart from the first split."""
    repeated: dict[str, int] = msgspec.field(default_factory=dict)
    """Splits to the problems that stand there once already."""
    asked: dict[str, int] = msgspec.field(default_factory=dict)
    """Splits to all problems asked for, where `per` is `total` and the cells do not come to that many."""
    folder: str
    gate: GateVerdict | None = None


def generate(
    spec: str,
    out: Path,
    *,
    data: Path | None = None,
    options: GenerateOptions | None = None,
    progress: Progress | None = None,
) -> GenerateReport:
    """Write a dataset folder; an unfinished one of the same settings is gone on with. A failed gate leaves nothing new."""
    how = options or GenerateOptions()
    if how.gate is not None and how.tokeniser is not None:
        analyser(how.tokeniser, cache=0)  # a wrong name is told before the work, not after it
    cure = "wait until it ends, or choose another folder"
    busy = BadInput("another run is writing into this folder", file=out, cure=cure)
    misplaced = BadInput("is a file, not a folder", file=out, cure="choose another place")
    with lock_folder(out, busy=busy, misplaced=misplaced):
        if how.overwrite and (out / CARD).exists():
            return _replacing(spec, out, data, how, progress)
        return _generate(spec, out, data, how, progress)


def is_resumable(out: Path) -> bool:
    """Whether a folder holds an unfinished run that its command would go on with."""
    return any((folder / JOURNAL).is_file() for folder in (out, out / BESIDE))


def _replacing(
    spec: str, out: Path, data: Path | None, how: GenerateOptions, progress: Progress | None
) -> GenerateReport:
    """Make the new dataset beside the old one, which stays until the new one is whole."""
    beside = out / BESIDE
    fresh = dataclasses.replace(how, overwrite=False)
    try:
        report = _generate(spec, beside, data, fresh, progress)
    except UnusableRun:
        shutil.rmtree(beside)
        report = _generate(spec, beside, data, fresh, progress)
    if (beside / CARD).exists():
        old = [CARD, *(file.name for file in split_files(out).values())]
        with staged_files(out, old, CARD) as staging:
            for file in (beside / CARD, *split_files(beside).values()):
                file.rename(staging / file.name)
    shutil.rmtree(beside, ignore_errors=True)
    return replace(report, folder=str(out))


def _generate(
    spec: str, out: Path, data: Path | None, how: GenerateOptions, progress: Progress | None
) -> GenerateReport:
    pack = open_pack(spec, data)
    _refuse_faulty(spec, data)
    per, views = _numbers(pack, how), _views(pack, how.splits)
    if next(iter(pack.head.cells)) not in per and (views or how.gate is not None):
        raise BadInput(
            "training splits and the gate need problems of the first split",
            cure="ask for 1 or more of them",
        )
    plan = Plan(pack, f"{how.seed}", per, views)
    refuse_empty(plan)
    journal = start_journal(out, _settings(pack, per, views, how), how.overwrite)
    while True:
        job = Plan(pack, f"{how.seed}+{journal.attempt}", per, views) if journal.attempt else plan
        job.remake = (spec, data)
        _write(job, GrowingFiles(out, (*per, *views), journal), how, progress)
        verdict = None
        if how.gate is not None:
            first = job.maker.first_split
            verdict = judge_artifacts(
                job.maker, job.places[first], final_path(out, first), how.gate, how.tokeniser
            )
        report = job.report(how.seed, journal.attempt, out, verdict)
        report = replace(report, repeated=repeated(job, out), asked=_missed(report, how))
        if verdict is None or verdict.passed:
            write_card(describe(job.maker, report, command(spec, how)), out, overwrite=True)
            (out / JOURNAL).unlink(missing_ok=True)
            return report
        clear_folder(out)
        if verdict.impossible or journal.attempt + 1 >= ATTEMPTS:
            return report
        journal = replace(journal, attempt=journal.attempt + 1, chunks=0, sizes={})


def _missed(report: GenerateReport, how: GenerateOptions) -> dict[str, int]:
    """Splits to the whole number asked for, where it was not met."""
    if how.per != "total":
        return {}
    named = {name or next(iter(report.splits)): n for name, n in (how.counts or {}).items()}
    return {
        name: n
        for name, n in named.items()
        if name in report.splits and report.splits[name].problems < n
    }


def _refuse_faulty(spec: str, data: Path | None) -> None:
    """A pack of the user's own must pass the static checks: labels of a faulty template mean nothing."""
    if spec in pack_names() and not (Path(spec) / PACK_FILE).is_file():
        return
    report = check_templates(spec, data)
    first = next((place for place in report.troubles if place.trouble.level == "error"), None)
    if first is not None:
        what, cure = first.trouble.what, f"nikawa templates check {spec} lists all {report.errors}"
        raise BadInput(what, file=first.file, line=first.trouble.line, cure=cure)


def _numbers(pack: Pack, how: GenerateOptions) -> dict[str, int]:
    """Problems of each cell, by split."""
    splits = pack.head.cells
    given = {name or next(iter(splits)): n for name, n in (how.counts or {}).items()}
    for name, n in given.items():
        if name not in splits:
            raise unknown(f"split of {pack.name}", name, splits)
        if n < 0:
            raise BadInput(f"{name}: {n} problems cannot be made", cure="ask for 1 or more")
    found = {name: given.get(name, table.per) for name, table in splits.items()}
    if how.per == "total":
        cells = {name: len(pack.cells(name)) for name in given}
        for name, n in given.items():
            if 0 < n < cells[name]:
                raise BadInput(
                    f"{name}: {n:,} problems do not reach {cells[name]:,} cells",
                    cure="ask for more, or --per cell",
                )
        found = {
            name: n // max(1, cells[name]) if name in given else n for name, n in found.items()
        }
    elif how.per != "cell":
        raise unknown("way to count", how.per, ("cell", "total"))
    if not any(found.values()):
        raise BadInput("no problem is asked for", cure="ask for 1 or more")
    return {name: n for name, n in found.items() if n}


def _views(pack: Pack, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The training splits that were asked for, in the order of the pack."""
    for name in asked:
        if name != "all" and name not in pack.rules:
            raise unknown(f"training split of {pack.name}", name, pack.rules)
    return tuple(name for name in pack.rules if name in asked or "all" in asked)


def _settings(
    pack: Pack, per: Mapping[str, int], views: tuple[str, ...], how: GenerateOptions
) -> str:
    """A hash of everything the bytes depend on."""
    found = blake2b(digest_size=16)
    lexicon = load_pack_lexicon(pack).folder
    for path in (
        *(p for p in [pack.folder / PACK_FILE] if p.is_file()),
        *pack.sources,
        *sorted(lexicon.iterdir()),
    ):
        found.update(path.read_bytes())
    asked = (pack.name, how.seed, dict(per), views, how.gate, how.tokeniser, how.chunk, __version__)
    found.update(repr(asked).encode())
    return found.hexdigest()


class CellSlice(NamedTuple):
    """Some problems of one cell."""

    split: str
    place: int
    start: int
    stop: int


class Plan:
    """The plan of one run: which cell gives which problems to which file."""

    def __init__(
        self, pack: Pack, seed: str, per: Mapping[str, int], views: tuple[str, ...]
    ) -> None:
        self.maker = Generator(pack, load_pack_lexicon(pack), seed)
        self.per = per
        self.remake: tuple[str, Path | None] = (str(pack.folder), None)
        """What another process loads the pack from."""
        self.places = {split: self.maker.places(split, n) for split, n in per.items()}
        self.views = {
            view: frozenset(
                i
                for i, place in enumerate(self.places.get(self.maker.first_split, ()))
                if pack.seen(view, self.maker.meta(place.cell, self.maker.first_split))
            )
            for view in views
        }

    @property
    def total(self) -> int:
        """Problems to make; those of training splits are not made twice."""
        return sum(place.n for places in self.places.values() for place in places)

    def chunks(self, size: int) -> Iterator[list[CellSlice]]:
        """Pieces in order, about `size` problems at a time."""
        chunk: list[CellSlice] = []
        room = size
        for split, places in self.places.items():
            for i, place in enumerate(places):
                done = 0
                while done < place.n:
                    taken = min(room, place.n - done)
                    chunk.append(CellSlice(split, i, done, done + taken))
                    done, room = done + taken, room - taken
                    if not room:
                        yield chunk
                        chunk, room = [], size
        if chunk:
            yield chunk

    def make(self, chunk: list[CellSlice]) -> list[bytes]:
        """The lines of each piece."""
        lines, places = self.maker.lines, self.places
        return [lines(p.split, places[p.split][p.place], p.start, p.stop) for p in chunk]

    def sorted(self, chunk: list[CellSlice], texts: Sequence[Text]) -> Iterator[tuple[str, Text]]:
        """Each text with the files it belongs to."""
        for piece, text in zip(chunk, texts, strict=True):
            yield piece.split, text
            if piece.split == self.maker.first_split:
                yield from (
                    (view, text) for view, kept in self.views.items() if piece.place in kept
                )

    def report(
        self, seed: int, attempt: int, out: Path, verdict: GateVerdict | None
    ) -> GenerateReport:
        """What came of it."""
        first = self.maker.first_split
        views = {
            view: [place for i, place in enumerate(self.places[first]) if i in kept]
            for view, kept in self.views.items()
        }
        return GenerateReport(
            pack=self.maker.pack.name,
            seed=seed,
            attempt=attempt,
            splits={
                name: _counted(places, self.per.get(name, self.per.get(first, 0)))
                for name, places in {**self.places, **views}.items()
            },
            unreachable=tuple(cell.name for cell in self.maker.pack.unreachable(first)),
            short={
                place.cell.name: place.n
                for place in self.places.get(first, ())
                if place.n < self.per[first]
            },
            untested=untested(self),
            folder=str(out),
            gate=verdict,
        )


def _counted(places: list[PlannedCell], per: int) -> SplitReport:
    labels: Counter[str] = Counter()
    for place in places:
        labels[place.cell.label] += place.n
    known = {label: labels[label] for label in LABELS if label in labels}
    return SplitReport(
        problems=labels.total(), cells=sum(place.n > 0 for place in places), labels=known, per=per
    )


def _write(job: Plan, files: GrowingFiles, how: GenerateOptions, progress: Progress | None) -> None:
    """Make every chunk that is not in the files yet, in order."""
    tell, done = progress or (lambda done, total: None), 0
    chunks = list(job.chunks(how.chunk))
    for chunk in chunks[: files.journal.chunks]:
        done += sum(piece.stop - piece.start for piece in chunk)
    try:
        left = chunks[files.journal.chunks :]
        for chunk, texts in made(job, left, how.workers, files.folder):
            files.add(job.sorted(chunk, texts))
            done += sum(piece.stop - piece.start for piece in chunk)
            tell(done, job.total)
    except BaseException:
        files.close()
        raise
    files.finish()
