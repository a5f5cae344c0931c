"""Which published file a path looks like: its split by its name, its readers by its first row."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from nikawa.datasets.base import Benchmark
from nikawa.datasets.names import benchmarks
from nikawa.errors import BadInput


def declared_split(benchmark: Benchmark, path: Path) -> str | None:
    """The split whose published files are called like `path`: `out_of_domain_valid-v1.0.tsv` is `ood`."""
    known = [(s.split, pattern) for s in benchmark.sources if s.split for pattern in s.patterns]
    by_path = {split for split, pattern in known if path.absolute().match(pattern)}
    by_name = {split for split, pattern in known if fnmatch(path.name, Path(pattern).name)}
    return next((found.pop() for found in (by_path, by_name) if len(found) == 1), None)


def hinted(problem: BadInput, path: Path) -> BadInput:
    """The same error, with the reader to name where the file is no records file but a published one."""
    names = readers_of(path) if path.is_file() else []
    if not names:
        return problem
    more = f" (or {', '.join(names[1:])} before the @)" if names[1:] else ""
    cure = f"it looks like a published file: write {names[0]}@{path}{more}"
    return BadInput(problem.what, file=problem.file, line=problem.line, cure=cure)


def readers_of(path: Path) -> list[str]:
    """The published datasets whose reader takes the beginning of a file, those alone that call a file so."""
    found = [b for b in benchmarks().values() if b.repository and _takes(b, path)]
    return [b.name for b in found if declared_split(b, path) is not None] or [b.name for b in found]


def _takes(benchmark: Benchmark, path: Path) -> bool:
    patterns = [pattern for source in benchmark.sources for pattern in source.patterns]
    if not any(path.name.endswith("".join(Path(pattern).suffixes[-1:])) for pattern in patterns):
        return False
    try:
        return next(iter(benchmark.read(path)), None) is not None
    except BadInput:
        return False
