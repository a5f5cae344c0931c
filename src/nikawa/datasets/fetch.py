"""Fetch the published files from pinned revisions, each verified before it is put in place.

A file grows as `NAME.part` beside its target and is renamed only when its git blob id is right, so an
interrupted fetch takes up where it stopped and a wrong file never looks like a right one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nikawa.datasets.download import DiskFault, Download, Unreachable, disk_fault, download
from nikawa.datasets.locate import CLONES, data_root
from nikawa.datasets.names import benchmarks, suites
from nikawa.datasets.upstream import FILES, WITHDRAWN, Upstream, is_published, pinned_files
from nikawa.errors import BadInput, clip, unknown
from nikawa.records import Record

VARIABLE = "NIKAWA_UPSTREAM"
BASE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
PATIENT = 3
"""Files in a row a server may fail on before the rest are not asked for."""
NAMED = 5
"""Failures that are named one by one."""
REASON = 90
"""Most characters of the reason given for each."""

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
    the default; else `NIKAWA_UPSTREAM` is taken. A file that fails does not keep the others from coming.
    """
    root, names = data_root(data), datasets_of(name)
    if not names:
        return Summary(files=(), notes=(f"{name} comes with Nikawa, nothing to fetch",))
    wanted = {file.place: file for dataset in names for file in pinned_files(dataset)}
    job = Job(
        root, base, overwrite, patience or Patience(), progress or (lambda place, done, total: None)
    )
    files = _fetch_all(list(wanted.values()), job)
    notes = tuple(f"{dataset}: {WITHDRAWN[dataset]}" for dataset in names if dataset in WITHDRAWN)
    return Summary(files=files, notes=notes)


def _fetch_all(wanted: Sequence[Upstream], job: Job) -> tuple[Fetched, ...]:
    """Fetch what can be fetched; one error tells of all that could not, after the last."""
    for file in wanted:
        url_of(
            file, job.base
        )  # a wrong address is wrong for all, and told before anything is asked for
    came: list[Fetched] = []
    failed: dict[str, BadInput] = {}
    silent = 0
    for file in wanted:
        try:
            came.append(fetch_file(file, job))
            silent = 0
        except BadInput as problem:
            failed[file.place] = problem
            silent = silent + 1 if isinstance(problem, Unreachable) else 0
            if silent == PATIENT or isinstance(problem, DiskFault):
                break  # the others would fare no better
    if failed:
        raise _failure(failed, len(came), len(wanted))
    return tuple(came)


class Incomplete(BadInput):
    """Files that did not come. Their names are ours, so the message is not shortened as one from a file is."""

    def __str__(self) -> str:
        return f"{self.what}; {self.cure}"


def _failure(failed: Mapping[str, BadInput], came: int, wanted: int) -> BadInput:
    """One error for all failures; a single file's own where nothing else was wanted."""
    if wanted == 1:
        return next(iter(failed.values()))
    told = [_told(place, problem) for place, problem in failed.items()][:NAMED]
    more = f", and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    left = wanted - came - len(failed)
    untried = f", {left} not tried" if left else ""
    cures = dict.fromkeys(problem.cure for problem in failed.values())
    return Incomplete(
        f"{came} of {wanted} files are in place, {len(failed)} failed{untried}: {', '.join(told)}{more}",
        cure="; ".join(cures),
    )


def _told(place: str, problem: BadInput) -> str:
    """A failure as `place (why)`: an address is told by the place already."""
    first, _, rest = problem.what.partition(" ")
    return f"{place} ({clip(rest if '://' in first else problem.what, REASON)})"


@dataclass(frozen=True)
class Job:
    """What all files of one fetch have in common."""

    root: Path
    base: str | None
    overwrite: bool
    patience: Patience
    progress: Progress


def datasets_of(name: str) -> Sequence[str]:
    """The published datasets a name stands for; `all` is every one, an embedded dataset or suite none.

    `jsick` is a dataset and a suite; the suite is meant, since its datasets lie in one repository and the
    stress sets are of little use without the pairs they were made from.
    """
    if name == "all":
        return list(FILES)
    if name in suites():
        return [dataset for dataset in suites()[name] if dataset in FILES]
    if name in benchmarks():
        return [name] if name in FILES else []
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
    if target.is_file() and is_published(file, target):
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
    task = Download(
        url, part, file.size, wait.timeout, wait.tries, wait.sleep, setting_of(job.base)
    )
    resumed = part.exists()
    if not _came_right(task, file, job) and not (resumed and _came_right(task, file, job)):
        raise BadInput(
            f"{url} does not have the checksum of the published file",
            file=target,
            cure=f"nothing was put in place; {task.cure}",
        )
    size = part.stat().st_size
    part.replace(target)
    return Fetched(place=file.place, outcome="fetched", bytes=size)


def _came_right(task: Download, file: Upstream, job: Job) -> bool:
    """Download; a part with a wrong checksum is removed, so that the next try starts from nothing."""
    download(task, lambda done, total: job.progress(file.place, done, total))
    if task.part.exists() and is_published(file, task.part):
        return True
    task.part.unlink(missing_ok=True)
    return False


def url_of(file: Upstream, base: str | None = None) -> str:
    """The address of a file: `base`, else `NIKAWA_UPSTREAM`, else its repository's raw files."""
    from urllib.parse import quote

    setting, base = setting_of(base), base or os.environ.get(VARIABLE) or BASE
    if "{" not in base:
        base = base.rstrip("/") + "/{repository}/{commit}/{path}"
    fields = {"repository": file.repository, "commit": file.commit, "folder": file.folder}
    try:
        url = base.format(path=quote(file.path), **fields)
    except (KeyError, IndexError, ValueError):
        cure = f"a template may hold {{repository}}, {{commit}}, {{folder}} and {{path}}; check {setting}"
        raise BadInput(f"{base!r} is not an address to fetch from", cure=cure) from None
    if not url.startswith(("http://", "https://")):
        raise BadInput(
            f"{url} is not an http address", cure=f"check {setting}: http:// or https:// is needed"
        )
    fault = _fault(url)
    if fault:
        raise BadInput(f"{url} is not an address ({fault})", cure=f"check {setting}")
    return url


def _fault(url: str) -> str:
    """What keeps an address from being asked; empty where nothing does."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        return str(problem)
    if not host:
        return "it names no server"
    return (
        ""
        if url.isascii() and url.isprintable() and " " not in url
        else "it holds characters no address has"
    )


def setting_of(base: str | None) -> str:
    """Where the user chose the address: `--base`, the variable (which may come in by way of `base`), or nowhere."""
    variable = os.environ.get(VARIABLE)
    if base and base != variable:
        return "--base"
    return VARIABLE if variable else ""
