"""Check a dataset: shape, damaged texts, repetition, leakage, the files it was read from, its known problems.

Only `jsick`, `jsick:test` and `jsick@file` are JSICK, with its tasks, its special findings and its list of known
problems; a custom dataset has no published list, whatever its name is.

Known problems of published files are in `known.toml` next to the readers of each paper, one table per check:

    [jsick.repeated-pairs]
    "train+dev+test" = 123

A published file that is not a split, read as `jsick@train.tsv`, has tables under that name. A finding is known
when dataset, check, where and count agree, or when the dataset declares it as by design (`Benchmark.by_design`). A
custom dataset lists its own in the `known.toml` of its folder (`nikawa.datasets.known`), which `accept` writes; anything
else is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec

import nikawa.datasets
from nikawa.checks.giveaways import find_open_giveaways
from nikawa.checks.label_balance import LACKING, SINGLE, label_findings
from nikawa.checks.leaks import (
    dataset_leaks,
    families,
    group_by_premise,
    lone_split_leaks,
    split_leaks,
)
from nikawa.checks.quality import (
    TEXT_CHECKS,
    distribution,
    repetition_findings,
    text_findings,
    tops,
)
from nikawa.checks.sameness import SHAPES
from nikawa.checks.schema import NOTES, mixed_types, name_findings, schema_findings
from nikawa.datasets import Benchmark, benchmarks, load
from nikawa.datasets.compact import Compactor
from nikawa.datasets.known import (
    KnownFinding,
    accept_finding,
    describe_on_card,
    read_known,
    write_known,
)
from nikawa.datasets.locate import files_here, path_version, repository_folder
from nikawa.datasets.names import spec_of
from nikawa.datasets.upstream import Upstream, is_published, pinned_files
from nikawa.datasets.views import source_of, views_of, without_views
from nikawa.errors import BadInput, suggest
from nikawa.io.cards import read_card, write_card
from nikawa.io.folders import KNOWN
from nikawa.io.toml import read_toml
from nikawa.records import Dataset, Example, Finding, Record, reference
from nikawa.spec import Spec

FAMILY = {
    "inference": "pairs",
    "similarity": "pairs",
    "choice": "questions",
    "reading": "reading",
    "dialogue": "dialogues",
}
"""Kind of task to the family of shapes its examples have; the others are `texts`."""

GIVEAWAY = "giveaway"
"""The check of meta values, tags, groups and ids that give labels away."""
SHARED_RULES = ("repeated", "leaked", "shared")
CUSTOM_CHECKS = frozenset(
    {
        *NOTES,
        *TEXT_CHECKS,
        *(f"{how}-{rule.name}" for how in SHARED_RULES for _, rules in SHAPES for rule in rules),
        "file-name",
        "mixed-types",
        "conflicting-gold",
        "leaked-reversed-pairs",
        "leaked-sentences",
        "broken-groups",
        "not-compared",
        SINGLE,
        LACKING,
        GIVEAWAY,
    }
)
"""The checks that a custom dataset can fail."""
Progress = Callable[[str, int, int], None]
"""Called with the name of the step, the number of finished steps, and the total."""
KnownProblems = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Dataset to check to where to count."""


class CheckReport(Record, frozen=True, kw_only=True):
    """What a check found."""

    dataset: str
    """Its name; `jsick@train.tsv` where one file was named."""
    version: str
    sizes: dict[str, int]
    findings: tuple[Finding, ...]
    labels: dict[str, dict[str, dict[str, int]]]
    """Split to question to label to count."""
    compared: tuple[str, ...]
    """The datasets it was compared with; its own, where only a part of it was named."""
    views: dict[str, str] = msgspec.field(default_factory=dict)
    """Splits that are part of another split, and that split: they repeat it by design, which is not reported."""

    new: bool
    """Whether any finding is not on the dataset's list of known problems."""
    stale: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Entries of the folder's `known.toml` that no finding answers to, or that allow for more; one
    sentence each. Absent if empty."""


def check(text: str, data: Path | None = None, on_progress: Progress | None = None) -> CheckReport:
    """Check a dataset given as `load` takes it; findings come marked known or new."""
    spec = spec_of(text)
    benchmark = benchmarks()[spec.name] if spec.name else None
    tasks = benchmark.tasks if benchmark else ()
    dataset = load(text, data=data, compactor=Compactor())
    findings: list[Finding] = []
    if benchmark is None:
        if spec.path is not None and spec.path.is_dir():
            findings += name_findings(dataset.splits, dataset.card.name)
        dataset = rename_custom(dataset, spec)

    for split, examples in dataset.splits.items():
        findings += schema_findings(dataset.name, tasks, split, examples)
        findings += mixed_types(dataset.name, split, examples)
    sound = drop_mistyped(dataset, findings)
    views = views_of(sound.splits, benchmark)
    splits = {split: rows for split, rows in sound.splits.items() if split not in views}
    roots = msgspec.structs.replace(sound, splits=splits)
    findings += text_findings(roots.name, splits)
    findings += repetition_findings(roots.name, splits)
    findings += split_leaks(roots.name, splits if benchmark else group_by_premise(splits))
    findings += label_findings(splits, tasks)
    if benchmark is not None:
        findings += file_findings(spec, sound, data)
    else:
        findings += giveaway_findings(splits)
    leaks, compared = compare_with_others(
        roots, spec, data, on_progress or (lambda what, done, total: None)
    )
    findings += leaks

    name = dataset.name
    lists: tuple[str, ...] = ()
    if benchmark is not None:  # a list of known problems has a name for a single file too
        name = spec.name if spec.path is None else f"{spec.name}@{spec.path.name}"
        lists = (benchmark.name, name)
    folder = spec.path if benchmark is None else None
    entries = benchmark.by_design if benchmark else read_known(folder) if folder else ()
    marked = tuple(
        msgspec.structs.replace(
            finding, known=finding.known or any(entry.covers(finding) for entry in entries)
        )
        for finding in mark_known(lists, findings, known_problems())
    )
    stale: tuple[str, ...] = ()
    if benchmark is None and spec.split is None:  # one split does not describe the others
        stale = tuple(find_stale(entries, marked, compared))
    bins = tops(sound.splits)
    bins |= {task.question: task.scale[1] for task in tasks if task.scale}
    return CheckReport(
        dataset=name,
        version=dataset.version,
        sizes={split: len(examples) for split, examples in dataset.splits.items()},
        findings=marked,
        new=not all(finding.known for finding in marked),
        labels={split: distribution(examples, bins) for split, examples in sound.splits.items()},
        compared=tuple(compared),
        views=views,
        stale=stale or msgspec.UNSET,
    )


def giveaway_findings(splits: Mapping[str, Sequence[Example]]) -> Iterator[Finding]:
    """One finding for each field other than the inputs that gives the labels of a split away.

    Published datasets are left out: what they give away is released, and `nikawa probe giveaways`
    lists it.
    """
    for giveaway in find_open_giveaways(splits):
        where = f"{giveaway.field} in {giveaway.split}"
        yield Finding(check=GIVEAWAY, where=where, count=giveaway.count, note=giveaway.what)


def find_stale(
    entries: Iterable[KnownFinding], findings: Sequence[Finding], compared: Sequence[str]
) -> Iterator[str]:
    """A sentence for each entry that is of no use: its check does not exist, finds nothing, or finds
    less than the entry allows for.

    An entry that is by design may have no finding, and a dataset that was not compared does not count.
    """
    for entry in entries:
        what = f"{entry.check} ({entry.where or 'anywhere'})"
        other = entry.where.rpartition(" in ")[2].partition(":")[0] if ":" in entry.where else ""
        if entry.check not in CUSTOM_CHECKS:
            yield f"{what}: there is no such check; {suggest(entry.check, CUSTOM_CHECKS)}"
            continue
        if entry.is_by_design or (other and other not in compared):
            continue
        about = [finding for finding in findings if entry.is_about(finding)]
        size = len(entry.ids) or entry.count or 0
        most = max((len(f.ids) if entry.ids else f.count for f in about), default=0)
        if not about:
            yield f"{what}: the check finds nothing any more"
        elif most < size:
            yield f"{what}: the check finds {most:,}, but the entry allows {size:,}"


class Acceptance(Record, frozen=True, kw_only=True):
    """What an owner accepted as known."""

    path: str
    """The file that lists it."""
    accepted: tuple[KnownFinding, ...]
    """New entries."""
    removed: tuple[KnownFinding, ...]
    """Entries that were of no use any more."""


def accept(
    text: str, reason: str, checks: Sequence[str] = (), data: Path | None = None
) -> Acceptance:
    """Mark the new findings of a dataset folder as known, in its `known.toml` and on its card.

    `checks` are the checks whose findings are meant; all of them when empty. An entry that a new
    one takes the place of is removed, and so is one of the same checks that nothing answers to.

    Raises:
        BadInput: it is not a dataset folder, the reason is missing, or there is nothing new to accept.
    """
    spec = spec_of(text)
    folder = spec.path
    if spec.name or folder is None or not folder.is_dir() or spec.split:
        what = f"{text} is not a custom dataset folder"
        cure = "only a custom dataset folder has its own list of known problems"
        raise BadInput(what, cure=cure)
    if not reason.strip():
        raise BadInput("there is no reason", cure="pass --reason TEXT to say why it is accepted")
    for name in checks:
        if name not in CUSTOM_CHECKS:
            raise BadInput(f"there is no check {name!r}", cure=suggest(name, CUSTOM_CHECKS))
    report = check(text, data)
    fresh = [f for f in report.findings if not f.known and (not checks or f.check in checks)]
    if not fresh:
        what = "there are no new findings" + (f" of {', '.join(checks)}" if checks else "")
        raise BadInput(
            what, file=folder, cure=f"run `nikawa data check {text}` to list the findings"
        )
    before = read_known(folder)
    added = tuple(accept_finding(finding, reason.strip()) for finding in fresh)
    removed = []
    for entry in before:
        if entry.is_by_design or (checks and entry.check not in checks):
            continue
        is_stale = next(find_stale([entry], report.findings, report.compared), "")
        if is_stale or any(entry.is_about(finding) for finding in fresh):
            removed.append(entry)
    entries = (*(entry for entry in before if entry not in removed), *added)
    write_known(folder, entries)
    write_card(describe_on_card(read_card(folder), entries), folder, overwrite=True)
    return Acceptance(path=str(folder / KNOWN), accepted=added, removed=tuple(removed))


def rename_custom(dataset: Dataset, spec: Spec) -> Dataset:
    """A custom dataset under a name that no registered one has, so that the two are not confused."""
    if dataset.name not in benchmarks():
        return dataset
    path = spec.existing_path(benchmarks())
    name = f"{path.name}/" if path.is_dir() else path.name
    return msgspec.structs.replace(dataset, name=str(path) if name in benchmarks() else name)


def drop_mistyped(dataset: Dataset, findings: Iterable[Finding]) -> Dataset:
    """The dataset without the examples of a wrong type: no other check can use them."""
    wrong = {ref for finding in findings if finding.check == "wrong-type" for ref in finding.ids}
    if not wrong:
        return dataset
    splits = {
        split: tuple(e for e in examples if reference(dataset.name, split, e.id) not in wrong)
        for split, examples in dataset.splits.items()
    }
    return msgspec.structs.replace(dataset, splits=splits)


def compare_with_others(
    dataset: Dataset, spec: Spec, data: Path | None, on_progress: Progress
) -> tuple[list[Finding], list[str]]:
    """The examples that other splits and datasets also contain, and the names of those; an unreadable one is a finding."""
    others = comparable(dataset, data)
    on_progress(f"comparing {dataset.name}", 0, len(others) + 1)
    findings: list[Finding] = []
    compared: list[str] = []
    if spec.is_part and files_here(benchmarks()[spec.name], data):
        with _faults_as_findings(f"other splits of {spec.name}", findings):
            findings += leaks_among_splits(dataset, spec, load(spec.name, data=data))
            compared.append(spec.name)
    for done, other in enumerate(others, start=1):
        on_progress(f"comparing with {other.name}", done, len(others) + 1)
        with _faults_as_findings(other.name, findings):
            theirs = without_views(load(other.name, data=data).splits, other)
            findings += dataset_leaks(dataset.name, dataset.splits, other.name, theirs)
            compared.append(other.name)
    on_progress("done", len(others) + 1, len(others) + 1)
    return findings, compared


def comparable(dataset: Dataset, data: Path | None = None) -> list[Benchmark]:
    """The other published datasets of this language that are available and contain items of the same family, without those
    that only relabel another one."""
    own = families(dataset.splits)
    relabelled = benchmarks()[dataset.name].relabels if dataset.name in benchmarks() else ""
    others = []
    for other in benchmarks().values():
        if other.name == dataset.name or other.language != dataset.language:
            continue
        if other.relabels or (relabelled and other.name == relabelled):
            continue  # the same items again
        if own.isdisjoint(FAMILY.get(task.kind, "texts") for task in other.tasks):
            continue
        try:
            is_here = bool(files_here(other, data))
        except OSError:  # reading it will raise the error
            is_here = True
        if is_here:
            others.append(other)
    return others


@contextmanager
def _faults_as_findings(where: str, findings: list[Finding]) -> Iterator[None]:
    """Turn a fault of another dataset's files into a finding: it does not stop the check of this one."""
    try:
        yield
    except BadInput as problem:
        findings.append(Finding(check="not-compared", where=where, count=1, note=str(problem)))
    except OSError as problem:  # a loop of links, a folder that may not be read
        note = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        findings.append(Finding(check="not-compared", where=where, count=1, note=note))


def leaks_among_splits(dataset: Dataset, spec: Spec, whole: Dataset) -> Iterator[Finding]:
    """Rows that the dataset's other published splits contain."""
    benchmark = benchmarks()[spec.name]
    sources = {source_of(split, benchmark.views) for split in dataset.splits}
    others = {
        split: rows
        for split, rows in whole.splits.items()
        if source_of(split, benchmark.views) not in sources
    }
    others = without_views(others, benchmark)
    if spec.path is not None:
        yield from dataset_leaks(benchmark.name, dataset.splits, benchmark.name, others)
        return
    for own in dataset.splits:
        in_order = {
            split: rows for split, rows in whole.splits.items() if split in others or split == own
        }
        yield from lone_split_leaks(benchmark.name, in_order, own)


def file_findings(spec: Spec, dataset: Dataset, data: Path | None) -> Iterator[Finding]:
    """What the files of a registered dataset show, or the one file that was named.

    Changed content, versions, and the special findings of the dataset.
    """
    benchmark = benchmarks()[spec.name]
    folder = repository_folder(benchmark, data)
    if spec.path is None:
        here = files_here(benchmark, data)
        splits = here if spec.split is None else [name for name in (spec.split, "") if name in here]
        files = [path.relative_to(folder) for split in splits for path in here[split]]
        yield from find_changed_files(spec, folder, files)
    else:
        files = [spec.path]
        yield from find_changed_namesake(benchmark, spec.path)
    yield from find_version_conflicts(benchmark, dataset, files)
    if benchmark.find_problems is None:
        return
    names = {Path(pinned.path).name for pinned in pinned_files(benchmark.name)}
    if spec.path is not None:
        names.discard(spec.path.name)
    for finding in benchmark.find_problems(folder, dataset):
        # They read the whole repository; findings on its other files are not wanted here.
        if spec.path is None or finding.where not in names:
            yield finding


def find_changed_files(spec: Spec, folder: Path, files: Iterable[Path]) -> Iterator[Finding]:
    """Files at a pinned path with other content; a release that is not pinned is at another path.

    Files used in addition to the splits are checked too, unless a single split is requested.
    """
    of_split = None if spec.split is None else {path.as_posix() for path in files}
    for pinned in pinned_files(spec.name):
        path = folder / pinned.path
        is_of_split = of_split is None or pinned.path in of_split
        if is_of_split and path.is_file() and not is_published(pinned, path):
            yield _changed(pinned, pinned.path)


def find_changed_namesake(benchmark: Benchmark, path: Path) -> Iterator[Finding]:
    """A file with the name of a published file and other content."""
    namesakes = [file for file in pinned_files(benchmark.name) if Path(file.path).name == path.name]
    if namesakes and not any(is_published(file, path) for file in namesakes):
        yield _changed(namesakes[0], path.name)


def _changed(file: Upstream, where: str) -> Finding:
    note = f"differs from {file.repository} at {file.commit[:7]}; fetch it with --overwrite, or give it another name"
    return Finding(check="not-the-published-file", where=where, count=1, ids=(where,), note=note)


def find_version_conflicts(
    benchmark: Benchmark, dataset: Dataset, files: Iterable[Path]
) -> Iterator[Finding]:
    """Files of different versions, or a version in the path that the content denies."""
    by_path = {".".join(map(str, path_version(path))) for path in files} - {""}
    if len(by_path) > 1:
        yield Finding(
            check="mixed-versions",
            where=", ".join(sorted(by_path)),
            count=len(by_path),
            note="the files are from different versions",
        )
    by_content = benchmark.version_of(dataset.splits) if benchmark.version_of else None
    if by_content is not None and by_path and by_content not in by_path:
        where = f"{by_content} in {'+'.join(sorted(by_path))}"
        yield Finding(
            check="version",
            where=where,
            count=1,
            note="the content does not match the named version",
        )


def mark_known(
    names: Iterable[str], findings: Iterable[Finding], known: KnownProblems
) -> Iterator[Finding]:
    """The findings, each marked known if the list of one of `names` contains it with the same count."""
    lists = [known.get(name, {}) for name in names]
    for finding in findings:
        is_known = any(
            checks.get(finding.check, {}).get(finding.where) == finding.count for checks in lists
        )
        yield msgspec.structs.replace(finding, known=finding.known or is_known)


@cache
def known_problems() -> KnownProblems:
    """Every `known.toml` next to the readers, as one table."""
    merged: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for file in sorted(Path(nikawa.datasets.__path__[0]).glob("*/known.toml")):
        merged.update(read_known_problems(file))
    return merged


def read_known_problems(file: Path) -> KnownProblems:
    """One list of known problems."""
    try:
        raw = read_toml(file, "see docs/data.md")
        return msgspec.convert(raw, dict[str, dict[str, dict[str, int]]])
    except msgspec.ValidationError as problem:
        cure = 'write [dataset.check] tables of "where" = count'
        raise BadInput(
            f"is not a list of known problems ({problem})", file=file, cure=cure
        ) from None


def known_entries(report: CheckReport) -> str:
    """The TOML that would make every finding of a report known, to be read over before it is kept."""
    is_bare_key = report.dataset.isascii() and report.dataset.replace("-", "").isalnum()
    name = report.dataset if is_bare_key else json.dumps(report.dataset, ensure_ascii=False)
    tables: dict[str, dict[str, int]] = {}
    for finding in report.findings:
        tables.setdefault(f"[{name}.{finding.check}]", {})[finding.where] = finding.count
    blocks = []
    for head, table in tables.items():
        rows = [
            f"{json.dumps(where, ensure_ascii=False)} = {count}" for where, count in table.items()
        ]
        blocks.append("\n".join((head, *rows, "")))
    return "\n".join(blocks)
