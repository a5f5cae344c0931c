"""Fetch the published files from pinned revisions, each verified before it is put in place.

A file grows as `NAME.part` beside its target and is renamed only when its git blob id is right, so an
interrupted fetch takes up where it stopped and a wrong file never looks like a right one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nikawa.benchmarks.locate import CLONES, data_root
from nikawa.benchmarks.names import suites
from nikawa.benchmarks.upstream import FILES, WITHDRAWN, Upstream, files_of
from nikawa.errors import BadInput, unknown
from nikawa.jobs._download import Download, download
from nikawa.records import Record

VARIABLE = "NIKAWA_UPSTREAM"
BASE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
CHUNK = 1 << 20

Outcome = Literal["fetched", "present"]
Progress = Callable[[str, int, int | None], None]
"""Called with a file's place, the bytes that are here, and all its bytes where they are known."""


class Fetched(Record, frozen=True, kw_only=True):
    """What became of one published file."""

    place: str
    outcome: Outcome
    bytes: int


class Summary(Record, frozen=True, kw_only=True):
    """What a fetch brought, and what it cannot bring."""

    files: tuple[Fetched, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patience:
    """How long to wait, and how often to try a server that fails without bringing anything."""

    timeout: float = 60.0
    tries: int = 5
    sleep: Callable[[float], None] = time.sleep


def fetch(
    name: str,
    data: Path | None = None,
    *,
    base: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> Summary:
    """Fetch a dataset, a suite or `all` below the data root; what is there and right is left alone.

    `base` is a template with {repository}, {commit}, {folder} and {path}, or a prefix of the same layout as
    the default; else `NIKAWA_UPSTREAM` is taken.
    """
    root, names = data_root(data), datasets_of(name)
    wanted = {file.place: file for dataset in names for file in files_of(dataset)}
    job = Job(root, base, overwrite, patience or Patience(), progress or (lambda place, done, total: None))
    files = tuple(fetch_file(file, job) for file in wanted.values())
    notes = tuple(f"{dataset}: {WITHDRAWN[dataset]}" for dataset in names if dataset in WITHDRAWN)
    return Summary(files=files, notes=notes)


@dataclass(frozen=True)
class Job:
    """What all files of one fetch have in common."""

    root: Path
    base: str | None
    overwrite: bool
    patience: Patience
    progress: Progress


def datasets_of(name: str) -> Sequence[str]:
    """The published datasets a name stands for; `all` is every one."""
    if name == "all":
        return list(FILES)
    if name in FILES:
        return [name]
    members = [dataset for dataset in suites().get(name, ()) if dataset in FILES]
    if members:
        return members
    raise unknown("published dataset", name, {*FILES, *suites(), "all"})


def fetch_file(file: Upstream, job: Job) -> Fetched:
    """Bring one file to its place below the data root."""
    target = folder_of(file, job.root) / file.path
    try:
        size = _existing(file, target, job.overwrite)
        if size is not None:
            job.progress(file.place, size, size)
            return Fetched(place=file.place, outcome="present", bytes=size)
        target.parent.mkdir(parents=True, exist_ok=True)
        return _bring(file, target, job)
    except OSError as problem:
        raise disk_fault(problem, target) from None


def folder_of(file: Upstream, root: Path) -> Path:
    """The repository's folder; a clone under its own name is filled up rather than put in the shade."""
    own, clone = root / file.folder, root / CLONES.get(file.folder, file.folder)
    return clone if clone.is_dir() and not own.is_dir() else own


def _existing(file: Upstream, target: Path, overwrite: bool) -> int | None:
    """The size of a right file in place; None where there is none or it may be replaced."""
    if not target.exists():
        return None
    if target.is_file() and blob_id(target) == file.git_blob:
        return target.stat().st_size
    if overwrite and target.is_file():
        return None
    raise BadInput(
        f"is here but is not the published file of {file.repository} at {file.commit[:7]}",
        file=target,
        cure="move it away, or say --overwrite",
    )


def _bring(file: Upstream, target: Path, job: Job) -> Fetched:
    part, url = target.with_name(target.name + ".part"), url_of(file, job.base)
    wait = job.patience
    task = Download(url, part, file.size, wait.timeout, wait.tries, wait.sleep)
    resumed = part.exists()
    if not _came_right(task, file, job) and not (resumed and _came_right(task, file, job)):
        raise BadInput(
            f"{url} does not have the checksum of the published file",
            file=target,
            cure=f"nothing was put in place; fetch again, or check {VARIABLE}",
        )
    size = part.stat().st_size
    part.replace(target)
    return Fetched(place=file.place, outcome="fetched", bytes=size)


def _came_right(task: Download, file: Upstream, job: Job) -> bool:
    """Download; a part with a wrong checksum is removed, so that the next try starts from nothing."""
    download(task, lambda done, total: job.progress(file.place, done, total))
    if task.part.exists() and blob_id(task.part) == file.git_blob:
        return True
    task.part.unlink(missing_ok=True)
    return False


def url_of(file: Upstream, base: str | None = None) -> str:
    """The address of a file: `base`, else `NIKAWA_UPSTREAM`, else its repository's raw files."""
    from urllib.parse import quote

    base = base or os.environ.get(VARIABLE) or BASE
    if "{" not in base:
        base = base.rstrip("/") + "/{repository}/{commit}/{path}"
    fields = {"repository": file.repository, "commit": file.commit, "folder": file.folder}
    try:
        return base.format(path=quote(file.path), **fields)
    except (KeyError, IndexError, ValueError):
        cure = "a template may hold {repository}, {commit}, {folder} and {path}"
        raise BadInput(f"{base!r} is not an address to fetch from", cure=cure) from None


def blob_id(path: Path) -> str:
    """The git blob id of a file: SHA-1 over `blob SIZE`, a NUL, and the content."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def disk_fault(problem: OSError, target: Path) -> BadInput:
    """What a fault of the file system means; the part stays, so that nothing is fetched twice."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        cure = "make room and fetch again: what has come is kept"
        return BadInput("the disk is full", file=target, cure=cure)
    if isinstance(problem, PermissionError) or problem.errno == errno.EROFS:
        return BadInput("may not be written", file=target, cure="check permissions, or name another --data")
    return BadInput(
        f"cannot be written ({problem.strerror or problem})", file=target, cure="name another --data"
    )
