"""Release a corrected version of a dataset: relabelled items in, a new version out, the old labels kept in the lineage.

The folder that is written holds the splits, the card with the new version, the lineage with every change, a changelog
for people (`CHANGELOG.md`) and for programs (`changelog.json`), and the dataset card brought up to date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.datasets.lineage import INDEX, LINEAGE, Change, Lineage, read_lineage, write_lineage
from nikawa.datasets.names import custom_path, find_benchmark
from nikawa.datasets.shift import name_answer
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, recover, staged_files
from nikawa.io.folders import CARD, split_files, write_card
from nikawa.io.json import pack_json, read_json
from nikawa.io.records import write_records
from nikawa.recipes.changelog import Release, changelog, versions
from nikawa.recipes.corrections import Checker, Corrected, read_relabels
from nikawa.recipes.figures import plain_figures, relabelled
from nikawa.recipes.release import CHANGELOG, CHANGES, PAGE
from nikawa.recipes.score_changes import Versions, known_tasks, moved_scores, shaped_tasks
from nikawa.recipes.store import digest
from nikawa.records import Dataset, Example, Record, Task, reference
from nikawa.reporting.card import BUILT, Built, format_card
from nikawa.version import __version__


def amended_lineage(
    before: Dataset, folder: Path | None, release: Release, corrected: Corrected
) -> Iterator[Lineage]:
    """An entry for every example; one without a lineage so far gets one that says so."""
    changes: dict[str, list[Change]] = {}
    for one in corrected.corrections:
        change = Change(
            version=release.version,
            question=one.question,
            before=one.before,
            after=one.after,
            why=one.why,
            by=one.by,
        )
        changes.setdefault(one.example, []).append(change)
    for entry in _entries(before, folder):
        new = changes.get(entry.example, [])
        gold = {**entry.gold, **{change.question: change.after for change in new}}
        yield replace(entry, version=release.version, gold=gold, changes=(*entry.changes, *new))


def _entries(before: Dataset, folder: Path | None) -> Iterator[Lineage]:
    """The entries there are, in the order of the examples; the others from the examples alone."""
    changes = (
        {e.example: e for e in read_lineage(folder)}
        if folder is not None and (folder / LINEAGE).is_file()
        else {}
    )
    for split, examples in before.splits.items():
        for example in examples:
            name = reference(before.name, split, example.id)
            yield changes.get(name) or _bare(name, split, example, before)


def _bare(name: str, split: str, example: Example, before: Dataset) -> Lineage:
    recipe = example.origin.recipe if example.origin is not None else f"{before.name} as published"
    return Lineage(
        example=name,
        item=example.id,
        split=split,
        recipe=recipe,
        version=before.version,
        nikawa=__version__,
        inputs=example.inputs,
        gold=example.gold,
        tags=tuple(sorted(example.tags)),
    )


_VERSION = re.compile(r"(v?)(\d+)(?:\.(\d+))?(?:\.(\d+))?")


@dataclass(frozen=True)
class AmendOptions:
    """How to amend."""

    version: str | None = None
    """The new version; the next minor one when left out, for labels change but no text does."""
    reason: str = ""
    runs: tuple[Path, ...] = ()
    """Folders of stored runs whose scores are computed again."""
    answers: tuple[str, ...] = ()
    """Files of answers, `FILE` or `TASK=FILE`."""
    date: str = ""
    """Of the release; today when empty."""
    overwrite: bool = False


class AmendReport(Record, frozen=True, kw_only=True):
    """What a corrected release came to."""

    dataset: str
    out: str
    splits: dict[str, int]
    release: Release


@dataclass(frozen=True)
class Origin:
    """A dataset as it was, and what lies beside it."""

    dataset: Dataset
    folder: Path | None
    """Its folder, where it is one."""
    built: Built | None
    releases: tuple[Release, ...]
    """The releases before, the newest first."""

    @classmethod
    def open(cls, spec: str, data: Path | None) -> Origin:
        """Read a dataset given as `load` takes it."""
        path = None if find_benchmark(spec) is not None else custom_path(spec)[0]
        folder = path if path is not None and path.is_dir() else None
        if folder is not None:
            recover(folder, CARD)
        dataset = load(spec, data=data)
        built = folder / BUILT if folder is not None else None
        log = folder / CHANGES if folder is not None else None
        return cls(
            dataset,
            folder,
            read_json(built, Built) if built is not None and built.is_file() else None,
            read_json(log, tuple[Release, ...]) if log is not None and log.is_file() else (),
        )

    def tasks(self) -> tuple[Task, ...]:
        """Its tasks, as its name or that of its recipe tells them."""
        names = [self.dataset.name, *([self.built.recipe] if self.built is not None else [])]
        return known_tasks(names)


def amend(
    spec: str,
    relabel: Path,
    out: Path,
    *,
    data: Path | None = None,
    options: AmendOptions | None = None,
) -> AmendReport:
    """Write the corrected version of a dataset into the folder `out`."""
    how = options or AmendOptions()
    origin = Origin.open(spec, data)
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, not a folder", file=out, cure="choose another name")
    if (out / CARD).exists() and not how.overwrite:
        raise BadInput(
            "holds a dataset already", file=out, cure="choose another folder, or say --overwrite"
        )
    _refuse_loss(out, origin)
    version = next_version(origin.dataset.version, how.version)
    tasks = origin.tasks()
    corrected = Checker(origin.dataset, tasks, relabel).check(read_relabels(relabel))
    after = _amended(origin.dataset, corrected, version)
    questions_asked = tasks or shaped_tasks(origin.folder, origin.dataset)
    scores, notes = moved_scores(
        Versions(origin.dataset, after, corrected, questions_asked), how.runs, how.answers
    )
    counts: dict[str, Counter[str]] = {}
    for one in corrected.corrections:
        plain = not isinstance(one.before, list | dict)
        move = (
            f"{name_answer(one.before)} -> {name_answer(one.after)}" if plain else "another answer"
        )
        counts.setdefault(one.question, Counter())[move] += 1
    release = Release(
        version=version,
        previous=origin.dataset.version,
        date=_day(how.date),
        reason=how.reason,
        corrections=tuple(corrected.corrections),
        counts={question: dict(moves.most_common()) for question, moves in counts.items()},
        splits={s: len(corrected.gold[s]) for s in origin.dataset.splits if s in corrected.gold},
        scores=tuple(scores),
        notes=(*corrected.notes, *notes),
    )
    _write(origin, after, release, corrected, out)
    sizes = {split: len(examples) for split, examples in after.splits.items()}
    return AmendReport(dataset=after.name, out=str(out), splits=sizes, release=release)


def next_version(old: str, requested: str | None) -> str:
    """The version asked for, which must be later, or the next minor one."""
    parts = _VERSION.fullmatch(old)
    if requested is None:
        if parts is None:
            raise BadInput(
                f"the version {old!r} cannot be counted up",
                cure="say which comes next: --version X.Y",
            )
        mark, major, minor, patch = parts.groups()
        return f"{mark}{major}.{int(minor or 0) + 1}" + (".0" if patch is not None else "")
    new = _VERSION.fullmatch(requested)
    if new is None:
        raise BadInput(
            f"{requested!r} is no version", cure="write numbers parted by points, such as 1.1"
        )
    if parts is not None and _order(new) <= _order(parts):
        raise BadInput(
            f"{requested} does not come after {old}", cure="say a later version, or none"
        )
    return requested


def _order(version: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in version.groups()[1:])


def _day(given: str) -> str:
    if not given:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise BadInput(f"{given!r} is no date", cure="write it as 2026-01-31") from None


def _refuse_loss(out: Path, origin: Origin) -> None:
    """One split amended in the folder of all would lose the others."""
    if origin.folder is None or not out.is_dir() or not out.samefile(origin.folder):
        return
    lost = [split for split in split_files(out) if split not in origin.dataset.splits]
    if lost:
        what = f"would lose the splits that are not amended: {', '.join(lost)}"
        raise BadInput(what, file=out, cure="name the whole dataset, or another folder")


def _amended(dataset: Dataset, corrected: Corrected, version: str) -> Dataset:
    splits = {
        split: tuple(corrected.example(split, example) for example in examples)
        if split in corrected.gold
        else examples
        for split, examples in dataset.splits.items()
    }
    count = len(corrected.corrections)
    notice = f"{count:,} gold {'answer was' if count == 1 else 'answers were'} corrected at {version}; scores on earlier versions are not comparable."
    card = replace(dataset.card, version=version, problems=(*dataset.card.problems, notice))
    return replace(dataset, version=version, card=card, splits=splits)


def _write(
    origin: Origin, after: Dataset, release: Release, corrected: Corrected, out: Path
) -> None:
    """All files of the release, the card last."""
    releases = (release, *origin.releases)
    built = _built(origin, after, release)
    figures = built.figures if built is not None else plain_figures(after)
    with _folder(out) as folder:
        for split, examples in after.splits.items():
            write_records(folder / f"{split}.jsonl", examples)
        write_lineage(folder, amended_lineage(origin.dataset, origin.folder, release, corrected))
        (folder / CHANGES).write_bytes(msgspec.json.format(pack_json(releases), indent=2) + b"\n")
        (folder / CHANGELOG).write_text(changelog(after.name, releases), "utf-8")
        (folder / PAGE).write_text(
            f"{format_card(after.card, figures)}\n{versions(releases)}\n", "utf-8"
        )
        if built is not None:
            (folder / BUILT).write_bytes(msgspec.json.format(pack_json(built), indent=2) + b"\n")
        write_card(after.card, folder)


def _built(origin: Origin, after: Dataset, release: Release) -> Built | None:
    """What the build told, with the labels counted anew; its key says that it is no longer what the build made."""
    if origin.built is None:
        return None
    figures = relabelled(origin.built.figures, after, origin.built.recipe)
    key = digest(origin.built.key, release.version, list(release.corrections))
    return replace(origin.built, version=release.version, key=key, figures=figures)


def _folder(out: Path) -> AbstractContextManager[Path]:
    """A folder to fill that becomes `out`, or whose files replace those of the release that is there."""
    if not out.is_dir():
        return atomic_folder(out)
    recover(out, CARD)
    return staged_files(out, _old(out), CARD)


def _old(out: Path) -> Iterator[str]:
    """The files of a release that is there; others are left alone."""
    if not (out / CARD).exists():
        return
    names = (CARD, BUILT, PAGE, LINEAGE, INDEX, CHANGES, CHANGELOG)
    yield from (name for name in names if (out / name).exists())
    yield from (path.name for path in split_files(out).values())
