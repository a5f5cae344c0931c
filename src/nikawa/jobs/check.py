"""Check a dataset: shape, damaged texts, repetition, leakage, the traps of its files, its version.

What is known about a published dataset stands in `known.toml` beside its readers, one table a check:

    [jsick.repeated-pairs]
    "train+dev+test" = 123

A finding is known when dataset, check, where and count agree; anything else is new.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

import nikawa.benchmarks
from nikawa.analyse.quality import distribution, repetition_findings, text_findings
from nikawa.analyse.quality_leaks import dataset_leaks, families, split_leaks
from nikawa.analyse.quality_schema import schema_findings
from nikawa.benchmarks import Benchmark, benchmarks, load
from nikawa.benchmarks.locate import path_version, present, repository_folder
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Record, Task

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done, and how many there are."""
Known = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Dataset to check to where to count."""

FAMILY = {
    "inference": "pairs",
    "similarity": "pairs",
    "choice": "questions",
    "reading": "reading",
    "dialogue": "dialogues",
}
"""Kind of task to the family of shapes its examples have; the others are `texts`."""


class Report(Record, frozen=True, kw_only=True):
    """What a check found."""

    dataset: str
    version: str
    sizes: dict[str, int]
    findings: tuple[Finding, ...]
    labels: dict[str, dict[str, dict[str, int]]]
    """Split to question to label to count."""
    compared: tuple[str, ...]
    """The other datasets it was compared with."""

    new: bool
    """Whether any finding is not on the dataset's list of known problems."""


def check(spec: str, data: Path | None = None, progress: Progress | None = None) -> Report:
    """Check a dataset given as `load` takes it; findings come marked known or new."""
    dataset = load(spec, data=data)
    benchmark = next((b for b in benchmarks().values() if b.name == dataset.name), None)
    others = comparable(dataset, data)
    tell = progress or (lambda what, done, total: None)
    tell(f"reading {dataset.name}", 0, len(others) + 1)
    findings = list(_own(dataset, benchmark))
    if benchmark is not None:
        findings += _files(spec, benchmark, dataset, data)
    for done, other in enumerate(others, start=1):
        tell(f"comparing with {other.name}", done, len(others) + 1)
        findings += _between(dataset, benchmark, other, data)
    tell("done", len(others) + 1, len(others) + 1)
    return _report(dataset, benchmark, findings, [other.name for other in others])


def _report(
    dataset: Dataset, benchmark: Benchmark | None, findings: Iterable[Finding], compared: Sequence[str]
) -> Report:
    tasks = benchmark.tasks if benchmark else ()
    told = tuple(marked(dataset.name, findings, known_problems()))
    return Report(
        dataset=dataset.name,
        version=dataset.version,
        sizes={split: len(examples) for split, examples in dataset.splits.items()},
        findings=told,
        new=not all(finding.known for finding in told),
        labels={split: distribution(examples, _top(tasks)) for split, examples in dataset.splits.items()},
        compared=tuple(compared),
    )


def _top(tasks: Iterable[Task]) -> float | None:
    return next((task.scale[1] for task in tasks if task.scale), None)


def _own(dataset: Dataset, benchmark: Benchmark | None) -> Iterator[Finding]:
    """What the examples show by themselves."""
    tasks = benchmark.tasks if benchmark else ()
    for split, examples in dataset.splits.items():
        yield from schema_findings(tasks, split, examples)
    roots = without_views(dataset.splits, benchmark)
    yield from text_findings(dataset.name, roots)
    yield from repetition_findings(dataset.name, roots)
    yield from split_leaks(dataset.name, roots)


def without_views(
    splits: Mapping[str, tuple[Example, ...]], benchmark: Benchmark | None
) -> dict[str, tuple[Example, ...]]:
    """One split of each that are views of one another, the source where it is here.

    A view repeats its source by design, so telling that would bury what is wrong.
    """
    views = benchmark.views if benchmark else {}
    chosen: dict[str, str] = {}
    for name in splits:
        source = _source(name, views)
        chosen[source] = source if source in splits else chosen.get(source, name)
    return {name: splits[name] for name in splits if name in chosen.values()}


def _source(name: str, views: Mapping[str, str]) -> str:
    seen = {name}
    while name in views and views[name] not in seen:
        name = views[name]
        seen.add(name)
    return name


def _files(spec: str, benchmark: Benchmark, dataset: Dataset, data: Path | None) -> Iterator[Finding]:
    """What the published files show: their versions, and the traps the dataset knows of."""
    if "@" in spec:
        yield from version_findings(benchmark, dataset, [Path(spec.partition("@")[2])])
        return
    if Path(spec).exists() and spec.partition(":")[0] not in benchmarks():
        return
    folder = repository_folder(benchmark, data)
    files = [path for paths in present(benchmark, data).values() for path in paths]
    yield from version_findings(benchmark, dataset, [path.relative_to(folder) for path in files])
    if benchmark.traps is not None:
        yield from benchmark.traps(folder, dataset)


def version_findings(benchmark: Benchmark, dataset: Dataset, files: Iterable[Path]) -> Iterator[Finding]:
    """Files of different versions, or a version in the path that the content denies."""
    named = {".".join(map(str, path_version(path))) for path in files} - {""}
    if len(named) > 1:
        where = ", ".join(sorted(named))
        yield Finding(
            check="mixed-versions", where=where, count=len(named), note="the files' versions differ"
        )
    told = benchmark.version_of(dataset.splits) if benchmark.version_of else None
    if told is not None and named and told not in named:
        where = f"{told} in {'+'.join(sorted(named))}"
        yield Finding(check="version", where=where, count=1, note="the content is not of the version named")


def comparable(dataset: Dataset, data: Path | None = None) -> list[Benchmark]:
    """The other published datasets of this language that are here and hold items of the same family."""
    own = families(dataset.splits)
    return [
        other
        for other in benchmarks().values()
        if other.name != dataset.name
        and other.language == dataset.language
        and own & {FAMILY.get(task.kind, "texts") for task in other.tasks}
        and present(other, data)
    ]


def _between(
    dataset: Dataset, benchmark: Benchmark | None, other: Benchmark, data: Path | None
) -> Iterator[Finding]:
    try:
        theirs = load(other.name, data=data)
    except BadInput as problem:  # another dataset's damage is no reason to refuse this one
        yield Finding(check="not-compared", where=other.name, count=1, note=str(problem))
        return
    own = without_views(dataset.splits, benchmark)
    yield from dataset_leaks(dataset.name, own, other.name, without_views(theirs.splits, other))


def marked(dataset: str, findings: Iterable[Finding], known: Known) -> Iterator[Finding]:
    """The findings, each marked known where the list holds it with the same count."""
    listed = known.get(dataset, {})
    for finding in findings:
        is_known = listed.get(finding.check, {}).get(finding.where) == finding.count
        yield msgspec.structs.replace(finding, known=finding.known or is_known)


@cache
def known_problems() -> Known:
    """Every `known.toml` beside the readers, as one table."""
    merged: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for file in sorted(Path(nikawa.benchmarks.__path__[0]).glob("*/known.toml")):
        merged.update(read_known(file))
    return merged


def read_known(file: Path) -> Known:
    """One list of known problems."""
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
        return msgspec.convert(raw, dict[str, dict[str, dict[str, int]]])
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"is not TOML ({problem})", file=file, cure="see docs/data.md") from None
    except msgspec.ValidationError as problem:
        cure = 'write [dataset.check] tables of "where" = count'
        raise BadInput(f"is not a list of known problems ({problem})", file=file, cure=cure) from None


def known_entries(report: Report) -> str:
    """The TOML that would make every finding of a report known, to be read over before it is kept."""
    tables: dict[str, dict[str, int]] = {}
    for finding in report.findings:
        tables.setdefault(f"[{report.dataset}.{finding.check}]", {})[finding.where] = finding.count
    return "\n".join(
        "\n".join((head, *(f"{json.dumps(w, ensure_ascii=False)} = {n}" for w, n in table.items()), ""))
        for head, table in tables.items()
    )
