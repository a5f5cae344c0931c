"""What the published files of a dataset show: changed content, versions, and the traps the dataset knows of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nikawa.datasets.base import Benchmark
from nikawa.datasets.load import Named
from nikawa.datasets.locate import path_version, present, repository_folder
from nikawa.datasets.upstream import FILES, Upstream, files_of, is_published
from nikawa.records import Dataset, Finding


def file_findings(spec: Named, dataset: Dataset, data: Path | None) -> Iterator[Finding]:
    """Everything about the files of a registered dataset, or about the one file that was named."""
    folder = repository_folder(spec.benchmark, data)
    files = _files(spec, data)
    if spec.file is None:
        here = [path.relative_to(folder) for path in files]
        yield from changed_files(spec, folder, here)
        yield from version_findings(spec.benchmark, dataset, here)
    else:
        yield from changed_file(spec.benchmark, spec.file)
        yield from version_findings(spec.benchmark, dataset, files)
    if spec.benchmark.traps is not None:
        for finding in spec.benchmark.traps(folder, dataset):
            if spec.file is None or not _of_another_file(finding, spec.benchmark, spec.file):
                yield finding


def _files(spec: Named, data: Path | None) -> list[Path]:
    """The files that were read."""
    if spec.file is not None:
        return [spec.file]
    here = present(spec.benchmark, data)
    splits = here if spec.split is None else [name for name in (spec.split, "") if name in here]
    return [path for split in splits for path in here[split]]


def _of_another_file(finding: Finding, benchmark: Benchmark, file: Path) -> bool:
    """Traps look into the repository; what they tell of its other files is not asked for."""
    return finding.where != file.name and any(
        Path(p.path).name == finding.where for p in pinned(benchmark)
    )


def pinned(benchmark: Benchmark) -> tuple[Upstream, ...]:
    """The pinned files of a dataset; none where it is embedded."""
    return files_of(benchmark.name) if benchmark.name in FILES else ()


def changed_files(spec: Named, folder: Path, read: Iterable[Path]) -> Iterator[Finding]:
    """Files at a pinned path with other content; a release that is not pinned lies at another path.

    Files used beside the splits are looked at too, unless a single split was asked for.
    """
    of_split = None if spec.split is None else {path.as_posix() for path in read}
    for file in pinned(spec.benchmark):
        path = folder / file.path
        if (
            (of_split is None or file.path in of_split)
            and path.is_file()
            and not is_published(file, path)
        ):
            yield _changed(file, file.path)


def changed_file(benchmark: Benchmark, path: Path) -> Iterator[Finding]:
    """A file that is called like a published one and is not it."""
    namesakes = [file for file in pinned(benchmark) if Path(file.path).name == path.name]
    if namesakes and not any(is_published(file, path) for file in namesakes):
        yield _changed(namesakes[0], path.name)


def _changed(file: Upstream, where: str) -> Finding:
    note = f"differs from {file.repository} at {file.commit[:7]}; fetch it with --overwrite, or give it another name"
    return Finding(check="not-the-published-file", where=where, count=1, ids=(where,), note=note)


def version_findings(
    benchmark: Benchmark, dataset: Dataset, files: Iterable[Path]
) -> Iterator[Finding]:
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
        yield Finding(
            check="version", where=where, count=1, note="the content is not of the version named"
        )
