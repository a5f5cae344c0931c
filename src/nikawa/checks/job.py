"""Check a dataset: shape, damaged texts, repetition, leakage, the traps of its files, its version.

Only `jsick`, `jsick:test` and `jsick@file` are JSICK, with its tasks, its traps and its list of known
problems (`known.toml`); a file of one's own is nobody's, whatever it is called. A finding is known when
dataset, check, where and count agree; anything else is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from nikawa.checks.field_types import mixed_types
from nikawa.checks.known_problems import known_problems, marked
from nikawa.checks.leaks import dataset_leaks, grouped_by_premise, lone_split_leaks, split_leaks
from nikawa.checks.other_datasets import comparable, telling
from nikawa.checks.published_files import file_findings
from nikawa.checks.quality import distribution, repetition_findings, text_findings, tops
from nikawa.checks.schema import schema_findings
from nikawa.datasets import benchmarks, load
from nikawa.datasets.load import Named, named, own_path
from nikawa.datasets.locate import present
from nikawa.datasets.views import source_of, views_of, without_views
from nikawa.records import Dataset, Finding, Record, reference

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and how many there are."""


class Report(Record, frozen=True, kw_only=True):
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
    """Splits that are parts of another one, and that one: they repeat it by design, which is not told."""

    new: bool
    """Whether any finding is not on the dataset's list of known problems."""


def check(spec: str, data: Path | None = None, progress: Progress | None = None) -> Report:
    """Check a dataset given as `load` takes it; findings come marked known or new."""
    published = named(spec)
    dataset = load(spec, data=data)
    if published is None:
        dataset = as_own(dataset, spec)
    findings = list(_shape(dataset, published))
    sound = without_mistyped(dataset, findings)
    views = views_of(sound.splits, published.benchmark if published else None)
    roots = msgspec.structs.replace(
        sound, splits={s: e for s, e in sound.splits.items() if s not in views}
    )
    findings += _own(roots, published)
    if published is not None:
        findings += file_findings(published, sound, data)
    found, compared = _compare(roots, published, data, progress or (lambda what, done, total: None))
    return _report(dataset, sound, published, (*findings, *found), compared, views)


def _compare(
    dataset: Dataset, published: Named | None, data: Path | None, tell: Progress
) -> tuple[list[Finding], list[str]]:
    """What other splits and datasets hold too, and the names of those; one that cannot be read is told."""
    others = comparable(dataset, data)
    tell(f"comparing {dataset.name}", 0, len(others) + 1)
    findings: list[Finding] = []
    compared: list[str] = []
    if published is not None and is_part(published) and present(published.benchmark, data):
        name = published.benchmark.name
        with telling(f"other splits of {name}", findings):
            findings += _among_siblings(dataset, published, load(name, data=data))
            compared.append(name)
    for done, other in enumerate(others, start=1):
        tell(f"comparing with {other.name}", done, len(others) + 1)
        with telling(other.name, findings):
            findings += _between(dataset, load(other.name, data=data))
            compared.append(other.name)
    tell("done", len(others) + 1, len(others) + 1)
    return findings, compared


def without_mistyped(dataset: Dataset, findings: Iterable[Finding]) -> Dataset:
    """The dataset without the examples that were found to be of a wrong type: no other check can use them."""
    wrong = {ref for finding in findings if finding.check == "wrong-type" for ref in finding.ids}
    if not wrong:
        return dataset
    splits = {
        split: tuple(e for e in examples if reference(dataset.name, split, e.id) not in wrong)
        for split, examples in dataset.splits.items()
    }
    return msgspec.structs.replace(dataset, splits=splits)


def is_part(published: Named) -> bool:
    """Whether less than all of a dataset was named, so that the rest of it can be compared."""
    return published.split is not None or published.file is not None


def list_name(published: Named) -> str:
    """The name a list of known problems has for it: `jsick`, or `jsick@train.tsv` for a file."""
    name = published.benchmark.name
    return name if published.file is None else f"{name}@{published.file.name}"


def as_own(dataset: Dataset, spec: str) -> Dataset:
    """A dataset of one's own under a name that no registered one has, so that the two are not confused."""
    if dataset.name not in benchmarks():
        return dataset
    path, _ = own_path(spec)
    name = f"{path.name}/" if path.is_dir() else path.name
    return msgspec.structs.replace(dataset, name=str(path) if name in benchmarks() else name)


def _report(
    dataset: Dataset,
    sound: Dataset,
    published: Named | None,
    findings: Iterable[Finding],
    compared: Sequence[str],
    views: dict[str, str],
) -> Report:
    lists = (published.benchmark.name, list_name(published)) if published else ()
    told = tuple(marked(lists, findings, known_problems()))
    bins = tops(sound.splits) | _scales(published)
    return Report(
        dataset=list_name(published) if published else dataset.name,
        version=dataset.version,
        sizes={split: len(examples) for split, examples in dataset.splits.items()},
        findings=told,
        new=not all(finding.known for finding in told),
        labels={split: distribution(examples, bins) for split, examples in sound.splits.items()},
        compared=tuple(compared),
        views=views,
    )


def _scales(published: Named | None) -> dict[str, float]:
    tasks = published.benchmark.tasks if published else ()
    return {task.question: task.scale[1] for task in tasks if task.scale}


def _shape(dataset: Dataset, published: Named | None) -> Iterator[Finding]:
    """Faults of type and shape, each example by itself."""
    tasks = published.benchmark.tasks if published else ()
    for split, examples in dataset.splits.items():
        yield from schema_findings(dataset.name, tasks, split, examples)
        yield from mixed_types(dataset.name, split, examples)


def _own(dataset: Dataset, published: Named | None) -> Iterator[Finding]:
    """What the examples show by themselves."""
    splits = dataset.splits
    yield from text_findings(dataset.name, splits)
    yield from repetition_findings(dataset.name, splits)
    yield from split_leaks(dataset.name, splits if published else grouped_by_premise(splits))


def _among_siblings(dataset: Dataset, published: Named, whole: Dataset) -> Iterator[Finding]:
    """Rows that the dataset's other published splits hold."""
    name, views, splits = published.benchmark.name, published.benchmark.views, whole.splits
    sources = {source_of(split, views) for split in dataset.splits}
    others = {
        split: rows for split, rows in splits.items() if source_of(split, views) not in sources
    }
    others = without_views(others, published.benchmark)
    if published.file is not None:
        yield from dataset_leaks(name, dataset.splits, name, others)
        return
    for own in dataset.splits:
        in_place = {
            split: rows for split, rows in splits.items() if split in others or split == own
        }
        yield from lone_split_leaks(name, in_place, own)


def _between(dataset: Dataset, theirs: Dataset) -> Iterator[Finding]:
    held = without_views(theirs.splits, benchmarks()[theirs.name])
    yield from dataset_leaks(dataset.name, dataset.splits, theirs.name, held)


def known_entries(report: Report) -> str:
    """The TOML that would make every finding of a report known, to be read over before it is kept."""
    bare = report.dataset.isascii() and report.dataset.replace("-", "").isalnum()
    name = report.dataset if bare else json.dumps(report.dataset, ensure_ascii=False)
    tables: dict[str, dict[str, int]] = {}
    for finding in report.findings:
        tables.setdefault(f"[{name}.{finding.check}]", {})[finding.where] = finding.count
    return "\n".join(
        "\n".join(
            (head, *(f"{json.dumps(w, ensure_ascii=False)} = {n}" for w, n in table.items()), "")
        )
        for head, table in tables.items()
    )
