"""The published files at their pinned revisions: which there are, how large, with which checksum.

`upstream.json` holds facts only (repository, commit, git blob id and bytes of each file), no
content. The key of a repository is `Benchmark.repository`; which of its files belong to a dataset
its declaration says.
"""

from __future__ import annotations

import hashlib
import os
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from nikawa.datasets.names import benchmarks
from nikawa.io.lines import open_packed

CHUNK = 1 << 20
"""Bytes that are hashed at once."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `upstream.json` says of a file."""

    git_blob: str
    """SHA-1 as git computes it; see `blob_id`."""
    bytes: int | None


class Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A repository at one commit."""

    repository: str
    """`owner/name` on GitHub."""
    commit: str
    files: dict[str, Entry]
    """Path below the repository to what is known of the file."""


class Upstream(msgspec.Struct, frozen=True):
    """One published file."""

    folder: str
    """Key of the repository and name of its folder below the data root."""
    repository: str
    commit: str
    path: str
    git_blob: str
    size: int | None
    """Bytes; None where unknown."""

    @property
    def place(self) -> str:
        """Where it lies below the data root."""
        return f"{self.folder}/{self.path}"


@cache
def repositories() -> dict[str, Repository]:
    """Every pinned repository, by the name of its folder."""
    raw = (Path(__file__).parent / "upstream.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Repository])


@cache
def upstream_files() -> tuple[Upstream, ...]:
    """Every published file that is pinned."""
    return tuple(
        Upstream(folder, pinned.repository, pinned.commit, path, entry.git_blob, entry.bytes)
        for folder, pinned in repositories().items()
        for path, entry in pinned.files.items()
    )


def pinned_files(dataset: str) -> tuple[Upstream, ...]:
    """Return the published files of a dataset, with the other files that its readers use; none for an
    embedded dataset.

    >>> [file.path for file in pinned_files("jnli")][0]
    'datasets/jnli-v1.3/test-v1.3.json'
    """
    benchmark = benchmarks()[dataset]
    globs = [pattern for source in benchmark.sources for pattern in source.patterns]
    globs += benchmark.further_files
    return tuple(
        file
        for file in upstream_files()
        if file.folder == benchmark.repository and any(fnmatchcase(file.path, g) for g in globs)
    )


def clone_name(folder: str) -> str:
    """What a clone of an upstream repository is called: `JGLUE` for the key `jglue`.

    The key where none is pinned.
    """
    pinned = repositories().get(folder)
    return pinned.repository.rpartition("/")[2] if pinned else folder


def blob_id(path: Path) -> str:
    """The git blob id of a file: SHA-1 over `blob SIZE`, a NUL, and the content."""
    with open_packed(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_published(file: Upstream, path: Path) -> bool:
    """Whether `path` holds the pinned content of `file`, byte for byte."""
    return file.size in (None, path.stat().st_size) and blob_id(path) == file.git_blob
