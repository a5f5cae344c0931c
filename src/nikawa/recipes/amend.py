"""Release a corrected version of a dataset: relabelled items in, a new version out, the old labels
kept in the lineage.

The folder that is written holds the splits, the card with the new version, the lineage with every
change, a changelog for people (`CHANGELOG.md`) and for programs (`changelog.json`), and the dataset
card brought up to date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.datasets.hidden import refuse_label_loss
from nikawa.datasets.known import read_known, write_known
from nikawa.datasets.lineage import (
    LINEAGE,
    Change,
    Lineage,
    hide_lineage,
    read_lineage,
    write_lineage,
)
from nikawa.datasets.names import custom_path, find_benchmark
from nikawa.datasets.shift import name_answer
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, recover, staged_files
from nikawa.io.folders import CARD, split_files, write_card
from nikawa.io.json import pack_json, read_json
from nikawa.io.records import write_records
from nikawa.recipes.changelog import Release, changelog, versions
from nikawa.recipes.corrections import Checker, CorrectionSet, read_relabels
from nikawa.recipes.figures import plain_figures, recount_labels
from nikawa.recipes.recipe import FURTHER_FILES
from nikawa.recipes.release import CHANGELOG, CHANGES, PAGE, release_files
from nikawa.recipes.score_changes import Versions, known_tasks, moved_scores, shaped_tasks
from nikawa.recipes.store import digest
from nikawa.records import Dataset, Record, Task, reference
from nikawa.reporting.card import BUILT, Built, format_card
from nikawa.version import __version__


def amended_lineage(
    before: Dataset, folder: Path | None, release: Release, corrected: CorrectionSet
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
    known: dict[str, Lineage] = {}
    if folder is not None and (folder / LINEAGE).is_file():
        known = {entry.example: entry for entry in read_lineage(folder)}
    for split, examples in before.splits.items():
        for example in examples:
            name = reference(before.name, split, example.id)
            published = f"{before.name} as published"
            entry = known.get(name) or Lineage(
                example=name,
                item=example.id,
                split=split,
                recipe=published if example.origin is None else example.origin.recipe,
                version=before.version,
                nikawa=__version__,
                inputs=example.inputs,
                gold=example.gold,
                tags=tuple(sorted(example.tags)),
            )
            if example.hidden:
                entry = hide_lineage(entry)
            new = changes.get(name, [])
            gold = {**entry.gold, **{change.question: change.after for change in new}}
            yield replace(entry, version=release.version, gold=gold, changes=(*entry.changes, *new))


_VERSION = re.compile(r"(v?)(\d+)(?:\.(\d+))?(?:\.(\d+))?")


@dataclass(frozen=True)
class AmendOptions:
    """How to amend."""

    version: str | None = None
    """The new version; by default the next minor one, since labels change but texts do not."""
    reason: str = ""
    """Why there is a new version, for the changelog."""
    runs: tuple[Path, ...] = ()
    """Folders of stored runs whose scores are computed again."""
    answers: tuple[str, ...] = ()
    """Files of answers, `FILE` or `TASK=FILE`."""
    date: str = ""
    """Of the release; today when empty."""
    overwrite: bool = False
    """Replace the dataset that the folder holds."""


class AmendReport(Record, frozen=True, kw_only=True):
    """The result of a corrected release."""

    dataset: str
    """Its name, which stays."""
    out: str
    """The folder it was written to."""
    splits: dict[str, int]
    """Examples of each split."""
    release: Release
    """The corrections, and the scores that change."""


@dataclass(frozen=True)
class Origin:
    """A dataset before the change, with the other files of its folder."""

    dataset: Dataset
    folder: Path | None
    """Its folder, where it is one."""
    built: Built | None
    """What the build that made it left; None where no build did."""
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
        built: Built | None = None
        releases: tuple[Release, ...] = ()
        if folder is not None and (folder / BUILT).is_file():
            built = read_json(folder / BUILT, Built)
        if folder is not None and (folder / CHANGES).is_file():
            releases = read_json(folder / CHANGES, tuple[Release, ...])
        return cls(dataset, folder, built, releases)

    def tasks(self) -> tuple[Task, ...]:
        """Its tasks, found by its name or the name of its recipe."""
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
    """Write the corrected version of a dataset into the folder `out`.

    Args:
        spec: a dataset as `load` takes it; one split of it will do where `out` is another folder.
        relabel: the corrections: JSON lines, a sheet, or a folder that `nikawa aggregate` wrote.
        data: the folder of published datasets.

    Raises:
        BadInput: a correction names no example, changes nothing or does not fit; or `out` holds what would be lost.
    """
    how = options or AmendOptions()
    origin = Origin.open(spec, data)
    if out.exists() and not out.is_dir():
        raise BadInput("is a file, not a folder", file=out, cure="choose another name")
    if (out / CARD).exists() and not how.overwrite:
        raise BadInput(
            "already contains a dataset",
            file=out,
            cure="choose another folder, or pass --overwrite",
        )
    if origin.folder is not None and out.is_dir() and out.samefile(origin.folder):
        lost = [split for split in split_files(out) if split not in origin.dataset.splits]
        if lost:
            what = f"would lose the splits that are not amended: {', '.join(lost)}"
            raise BadInput(what, file=out, cure="pass the whole dataset, or another folder")
    every = chain.from_iterable(origin.dataset.splits.values())
    refuse_label_loss(spec, out, every)
    version = next_version(origin.dataset.version, how.version)
    try:
        day = date.fromisoformat(how.date) if how.date else datetime.now(UTC).date()
    except ValueError:
        raise BadInput(f"{how.date!r} is not a date", cure="write it as 2026-01-31") from None
    tasks = origin.tasks()
    corrected = Checker(origin.dataset, tasks, relabel).check(read_relabels(relabel))
    after = correct_dataset(origin.dataset, corrected, version)
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
        date=day.isoformat(),
        reason=how.reason,
        corrections=tuple(corrected.corrections),
        counts={question: dict(moves.most_common()) for question, moves in counts.items()},
        splits={s: len(corrected.gold[s]) for s in origin.dataset.splits if s in corrected.gold},
        scores=tuple(scores),
        notes=(*corrected.notes, *notes),
    )
    write_amended(origin, after, release, corrected, out)
    sizes = {split: len(examples) for split, examples in after.splits.items()}
    return AmendReport(dataset=after.name, out=str(out), splits=sizes, release=release)


def next_version(old: str, requested: str | None) -> str:
    """The version asked for, which must be later, or the next minor one.

    >>> next_version("1.1", None), next_version("v2.0.3", None), next_version("1.1", "2.0")
    ('1.2', 'v2.1.0', '2.0')
    """
    parts = _VERSION.fullmatch(old)
    if requested is None:
        if parts is None:
            raise BadInput(
                f"the version {old!r} cannot be increased automatically",
                cure="pass the next version with --version X.Y",
            )
        mark, major, minor, patch = parts.groups()
        return f"{mark}{major}.{int(minor or 0) + 1}" + (".0" if patch is not None else "")
    new = _VERSION.fullmatch(requested)
    if new is None:
        raise BadInput(
            f"{requested!r} is not a version", cure="write numbers separated by points, such as 1.1"
        )
    if parts is not None and _order(new) <= _order(parts):
        raise BadInput(
            f"{requested} does not come after {old}", cure="pass a later version, or omit --version"
        )
    return requested


def _order(version: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in version.groups()[1:])


def correct_dataset(dataset: Dataset, corrected: CorrectionSet, version: str) -> Dataset:
    """The dataset with its corrections, under a new version, with a notice among its known
    problems.
    """
    splits = {
        split: tuple(corrected.example(split, example) for example in examples)
        for split, examples in dataset.splits.items()
    }
    count = len(corrected.corrections)
    notice = f"{count:,} gold {'answer was' if count == 1 else 'answers were'} corrected at {version}; scores on earlier versions are not comparable."
    card = replace(dataset.card, version=version, problems=(*dataset.card.problems, notice))
    return replace(dataset, version=version, card=card, splits=splits)


def write_amended(
    origin: Origin, after: Dataset, release: Release, corrected: CorrectionSet, out: Path
) -> None:
    """Write all files of the release, the card last, into a new folder or in place of the release
    that is there.
    """
    releases, built = (release, *origin.releases), origin.built
    if built is None:
        figures = plain_figures(after)
    else:
        figures = recount_labels(built.figures, after, built.recipe)
        # another key says that this is no longer what the build made
        key = digest(built.key, release.version, list(release.corrections))
        built = replace(built, version=release.version, key=key, figures=figures)
    if out.is_dir():
        recover(out, CARD)
        target = staged_files(out, release_files(out), CARD)
    else:
        target = atomic_folder(out)
    known = () if origin.folder is None else read_known(origin.folder)
    with target as folder:
        if known:  # what is accepted stays so as long as it does not grow
            write_known(folder, known)
        for name in FURTHER_FILES:
            if origin.folder is not None and (origin.folder / name).is_file():
                (folder / name).write_bytes((origin.folder / name).read_bytes())
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
