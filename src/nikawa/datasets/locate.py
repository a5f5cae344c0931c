"""Where the published files are on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.upstream import clone_name, pinned_files
from nikawa.errors import BadInput, MissingData

VARIABLE = "NIKAWA_DATA"
"""The environment variable that names the data folder."""
EMBEDDED = Path(__file__).parent
"""The folder of datasets that come with Nikawa."""
_ANY_VERSION, _VERSION = "v*", r"v[0-9]+(?:\.[0-9]+)*"


def data_root(folder: Path | None = None) -> Path:
    """Return the data folder: the argument, else `NIKAWA_DATA`, else the user's data folder."""
    if folder is not None:
        return folder
    if os.environ.get(VARIABLE):
        return Path(os.path.expanduser(os.environ[VARIABLE]))  # noqa: PTH111  (an unknown user such as ~x stays as it is)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "nikawa"


def require_folder(folder: Path | None) -> None:
    """Reject a data folder that does not exist or is not a folder.

    The default one and the variable's may be yet to come.
    """
    if folder is None or folder.is_dir():
        return
    cure = "pass the folder with the repositories (jglue/, jsick/, …)"
    if folder.exists():
        raise BadInput("is not a folder", file=folder, cure=cure)
    if str(folder) != os.environ.get(VARIABLE):
        raise BadInput("no such folder", file=folder, cure=cure)


def repository_folder(benchmark: Benchmark, data: Path | None = None) -> Path:
    """Return the folder that mirrors the upstream repository, whether it exists or not.

    A clone under its own name (`JGLUE`) is used if there is no folder with the key (`jglue`).
    """
    if benchmark.folder is not None:
        return benchmark.folder
    if not benchmark.repository:
        return EMBEDDED
    root = data_root(data)
    for name in (benchmark.repository, clone_name(benchmark.repository)):
        if (root / name).is_dir():
            return root / name
    return root / benchmark.repository


def find_files(source: Source, folder: Path, version: str | None = None) -> list[Path]:
    """The files of one split: first pattern that matches, newest version (or the one asked for).

    Of `v*` the highest version counts, number by number: 1.10 is newer than 1.9.
    """
    for pattern in source.patterns:
        by_version: dict[tuple[int, ...], list[Path]] = {}
        for path in matching_files(pattern, folder):
            by_version.setdefault(path_version(path.relative_to(folder)), []).append(path)
        if version is not None:
            by_version = {v: p for v, p in by_version.items() if v == _numbers(version)}
        if by_version:
            return by_version[max(by_version)]
    return []


def matching_files(pattern: str, folder: Path) -> list[Path]:
    """The files a pattern means, in order: `v*` is a version, so `valid-v1.3-old.json` is not
    `valid-v*.json`.
    """
    paths = sorted(folder.glob(pattern))
    if _ANY_VERSION not in pattern:
        return paths
    names = re.compile(_VERSION.join(re.escape(part) for part in pattern.split(_ANY_VERSION)))
    return [path for path in paths if names.fullmatch(path.relative_to(folder).as_posix())]


def path_version(path: Path) -> tuple[int, ...]:
    """Return the last version in a path: (1, 3) for `jnli-v1.3/valid-v1.3.json`, () without a version."""
    versions = re.findall(r"v(\d+(?:\.\d+)*)", path.as_posix())
    return _numbers(versions[-1]) if versions else ()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def files_here(
    benchmark: Benchmark, data: Path | None = None, version: str | None = None
) -> dict[str, list[Path]]:
    """Return split name (empty if a file has several splits) to its existing files."""
    folder = repository_folder(benchmark, data)
    for fallback in (False, True):
        sources = [source for source in benchmark.sources if source.fallback is fallback]
        by_split = {source.split: find_files(source, folder, version) for source in sources}
        here = {split: files for split, files in by_split.items() if files}
        if here:
            return {split: files[:1] for split, files in here.items()} if fallback else here
    return {}


def missing_data(benchmark: Benchmark, data: Path | None, what: str = "") -> MissingData:
    """Return the error for a dataset without any file on this machine."""
    folder = repository_folder(benchmark, data)
    cure = f"run: nikawa data fetch {benchmark.name}, or set {VARIABLE} to the folder that contains {benchmark.repository}/"
    if benchmark.instead_of_fetch:
        cure = benchmark.instead_of_fetch.format(folder=folder)
    return MissingData(f"{benchmark.name}{what} is not in {folder}", cure=cure)


def missing_version(benchmark: Benchmark, data: Path | None, version: str) -> MissingData:
    """Return the error for a version without any file on this machine: the available versions, and those that can be
    fetched.
    """
    folder = repository_folder(benchmark, data)
    paths = [
        path
        for source in benchmark.sources
        for p in source.patterns
        for path in matching_files(p, folder)
    ]
    here = _versions(path.relative_to(folder) for path in paths)
    fetched = _versions(Path(file.path) for file in pinned_files(benchmark.name))
    cure = f"available: {', '.join(here) or 'none'}"
    if fetched:
        cure += f"; nikawa data fetch {benchmark.name} fetches only {', '.join(fetched)}"
    elif paths:
        cure = "its files have no version; leave out the version"
    return MissingData(f"{benchmark.name} {version} is not in {folder}", cure=cure)


def _versions(paths: Iterable[Path]) -> list[str]:
    """The versions that paths name, oldest first."""
    return [
        ".".join(map(str, version))
        for version in sorted({path_version(path) for path in paths} - {()})
    ]
