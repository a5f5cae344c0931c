"""Fetch the published files from pinned revisions; each is verified before it is installed.

A file grows as `NAME.part` next to its target and is renamed only if its git blob id is correct, so
an interrupted fetch resumes where it stopped and a wrong file never looks like a correct one.
"""

from __future__ import annotations

import errno
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, cast

from nikawa.datasets.locate import data_root, repository_folder
from nikawa.datasets.names import benchmarks, suites
from nikawa.datasets.upstream import Upstream, clone_name, is_published, pinned_files, repositories
from nikawa.errors import BadInput, clip, unknown
from nikawa.records import Record

CHUNK_BYTES = 1 << 18
AGENT = "nikawa"
MAX_BYTES_OF_UNKNOWN = 512 * 10**6
"""Maximum bytes of a file whose size is not known."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed."""


@dataclass(frozen=True)
class Download:
    """The file to download, and the timeouts."""

    url: str
    part: Path
    """The file that grows; it is renamed by the caller when it is whole and right."""
    size: int | None
    """Its expected bytes; None if not pinned."""
    timeout: float
    """Seconds without data after which a request fails."""
    tries: int
    """Requests in a row that may bring nothing."""
    sleep: Callable[[float], None]
    setting: str = ""
    """The setting of the address, if the user chose it: `--base` or a variable."""

    @property
    def limit(self) -> int:
        """The most bytes that may come."""
        return MAX_BYTES_OF_UNKNOWN if self.size is None else self.size

    @property
    def cure(self) -> str:
        """The cure if the address does not work."""
        return (
            f"check {self.setting}, or fetch again later" if self.setting else "fetch again later"
        )


class Unreachable(BadInput):
    """A server that brought nothing, however often it was asked."""


class TransferBreak(Exception):
    """The transfer stopped for a reason that may pass."""


def download(job: Download, on_progress: Callable[[int, int | None], None]) -> None:
    """Fill the `.part`; an interruption is waited out 1, 2, 4, … seconds.

    Progress restarts the count.
    """
    left, pause = job.tries, 1.0
    while True:
        before = _bytes_here(job)
        try:
            return attempt_download(job, on_progress)
        except TransferBreak as problem:
            if _bytes_here(job) > before:
                left, pause = job.tries, 1.0
            left -= 1
            if left <= 0:
                raise Unreachable(
                    f"{job.url} could not be fetched ({problem})",
                    cure=f"the downloaded part is kept; {job.cure}",
                ) from None
            job.sleep(pause)
            pause *= 2


def _bytes_here(job: Download) -> int:
    return job.part.stat().st_size if job.part.exists() else 0


def attempt_download(job: Download, on_progress: Callable[[int, int | None], None]) -> None:
    """Send one request, which resumes at the end of the `.part` file.

    Raises `TransferBreak` if another attempt may help.
    """
    have = _bytes_here(job)
    if job.size is not None and have >= job.size:
        if have == job.size:
            return  # all of it came before; the checksum decides
        job.part.unlink()
        have = 0
    try:
        with _open_response(job, have) as response:
            span = response.headers.get("Content-Range") or ""
            resumed = have > 0 and response.status == 206 and span.startswith(f"bytes {have}-")
            if have and response.status == 206 and not resumed:
                job.part.unlink()
                raise TransferBreak("the server answered with another range")
            copy_response(job, response, have if resumed else 0, on_progress)
    except urllib.error.HTTPError as problem:
        with problem:
            raise explain_status(job, problem.code, have) from None
    except (
        ValueError,
        http.client.InvalidURL,
    ) as problem:  # of a redirection, or of what no one can look up
        raise BadInput(
            f"{job.url} redirects to an invalid address ({problem})", cure=job.cure
        ) from None
    except (
        http.client.HTTPException,
        urllib.error.URLError,
        TimeoutError,
        ConnectionError,
    ) as problem:
        reason = getattr(problem, "reason", problem)
        raise TransferBreak(str(reason) or type(reason).__name__) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Close a redirect response also if its target is not an address, which Python
    does not do.
    """

    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
    ) -> Any:
        """Follow a redirection."""
        with fp:
            return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _open_response(job: Download, have: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(job.url, headers=headers)  # noqa: S310 - `url_of` checks the scheme
    return cast(http.client.HTTPResponse, _OPENER.open(request, timeout=job.timeout))


_OPENER = urllib.request.build_opener(_Redirects)


def copy_response(
    job: Download,
    response: http.client.HTTPResponse,
    start: int,
    on_progress: Callable[[int, int | None], None],
) -> None:
    """Append to the part, or restart it if the server sends the whole file."""
    length = response.headers.get("Content-Length") or ""
    makes_sense = length.isascii() and length.isdigit() and len(length) < 20
    total = start + int(length) if makes_sense else job.size
    if total is not None and total > job.limit:
        raise _too_long(job)
    done = start
    with job.part.open("ab" if start else "wb") as out:
        on_progress(done, total)
        while chunk := _read_chunk(response):
            done += len(chunk)
            if done > job.limit:
                raise _too_long(job)
            out.write(chunk)
            on_progress(done, total)
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        raise TransferBreak(f"{done} of {total} bytes arrived")


def _too_long(job: Download) -> BadInput:
    """A server that sends another file, or no end of one: nothing of it is worth keeping."""
    job.part.unlink(missing_ok=True)
    what = (
        f"more than {MAX_BYTES_OF_UNKNOWN // 10**6} MB"
        if job.size is None
        else f"more than the {job.size:,} bytes it should have"
    )
    return BadInput(f"{job.url} sends {what}", cure=f"nothing was kept; {job.cure}")


def _read_chunk(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK_BYTES)
    except (http.client.HTTPException, TimeoutError, ConnectionError) as problem:
        raise TransferBreak(str(problem) or type(problem).__name__) from None


def explain_status(job: Download, code: int, have: int) -> Exception:
    """The error for an HTTP status; some may pass."""
    if code == 416 and have:
        job.part.unlink()  # the part is longer than the file: it is of another version
        return TransferBreak("the part did not fit")
    if code in _TRANSIENT:
        return TransferBreak(f"the server answered {code}")
    meaning = {404: "is not there (404)", 401: "asks for a login (401)", 403: "is forbidden (403)"}
    return BadInput(f"{job.url} {meaning.get(code, f'was refused ({code})')}", cure=job.cure)


class DiskFault(BadInput):
    """The file system refuses; no other file would fare better."""


def disk_fault(problem: OSError, target: Path) -> DiskFault:
    """Explain an error of the file system; the part stays, so that nothing is fetched twice."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        cure = "free some space and fetch again; the downloaded part is kept"
        return DiskFault("the disk is full", file=target, cure=cure)
    if isinstance(problem, PermissionError) or problem.errno == errno.EROFS:
        return DiskFault(
            "cannot be written: permission denied",
            file=target,
            cure="check the permissions, or pass another --data",
        )
    return DiskFault(
        f"cannot be written ({problem.strerror or problem})",
        file=target,
        cure="pass another --data",
    )


VARIABLE = "NIKAWA_UPSTREAM"
"""The environment variable that names another address, such as a mirror."""
BASE = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
MAX_SILENT_FILES = 3
"""Files in a row a server may fail on before the rest are not asked for."""
MAX_FAILURES_NAMED = 5
"""Maximum failures to list."""
MAX_REASON_CHARS = 90
"""Maximum characters of the reason for each."""

Outcome = Literal["fetched", "present"]
Progress = Callable[[str, int, int | None], None]
"""Called with a file's place, the bytes so far, and its total bytes if known."""


class FetchedFile(Record, frozen=True, kw_only=True):
    """The outcome of one published file."""

    place: str
    """Repository folder and path below the data root."""
    outcome: Outcome
    """`present`: it was there already, with the pinned content."""
    bytes: int


class FetchReport(Record, frozen=True, kw_only=True):
    """The files that a fetch downloaded, and those that it cannot download."""

    files: tuple[FetchedFile, ...]
    notes: tuple[str, ...] = ()
    """Data that cannot be fetched, such as withdrawn data."""


@dataclass(frozen=True)
class RetryPolicy:
    """The timeout, and the number of attempts for a server that sends nothing."""

    timeout: float = 60.0
    tries: int = 5
    sleep: Callable[[float], None] = time.sleep
    """Waits so many seconds; tests replace it."""


def fetch(
    name: str,
    data: Path | None = None,
    *,
    base: str | None = None,
    overwrite: bool = False,
    on_progress: Progress | None = None,
    retry: RetryPolicy | None = None,
) -> FetchReport:
    """Fetch a dataset, a suite or `all` below the data root; correct files stay as they are.

    `base` is a template with {repository}, {commit}, {folder} and {path}, or a prefix of the same
    layout as the default; without it, `NIKAWA_UPSTREAM` is used. A file that fails does not stop the
    others.
    """
    root, names = data_root(data), datasets_of(name)
    if not names:
        if name in benchmarks() and benchmarks()[name].repository:
            folder = repository_folder(benchmarks()[name], data)
            raise BadInput(
                f"{name} cannot be fetched: its authors publish it as an archive",
                cure=benchmarks()[name].instead_of_fetch.format(folder=folder),
            )
        return FetchReport(
            files=(), notes=(f"{name} is included in Nikawa; there is nothing to fetch",)
        )
    files_to_bring = {file.place: file for dataset in names for file in pinned_files(dataset)}
    settings = FetchSettings(
        root,
        base,
        overwrite,
        retry or RetryPolicy(),
        on_progress or (lambda place, done, total: None),
    )
    for file in files_to_bring.values():
        url_of(file, base)  # a wrong address is wrong for all, and refused before anything comes
    files: list[FetchedFile] = []
    failed: dict[str, BadInput] = {}
    silent = 0
    for file in files_to_bring.values():
        try:
            files.append(fetch_file(file, settings))
            silent = 0
        except BadInput as problem:
            failed[file.place] = problem
            silent = silent + 1 if isinstance(problem, Unreachable) else 0
            if silent == MAX_SILENT_FILES or isinstance(problem, DiskFault):
                break  # the others would fare no better
    if failed:
        raise summarise_failures(failed, len(files), len(files_to_bring))
    notes = tuple(
        f"{dataset}: {benchmarks()[dataset].withdrawn}"
        for dataset in names
        if benchmarks()[dataset].withdrawn
    )
    return FetchReport(files=tuple(files), notes=notes)


class Incomplete(BadInput):
    """Files that did not come.

    Their names are ours, so the message is not shortened as one from a file is.
    """

    def __str__(self) -> str:
        return f"{self.what}; {self.cure}"


def summarise_failures(failed: Mapping[str, BadInput], arrived: int, total: int) -> BadInput:
    """One error for all failures; a single file's own where nothing else was wanted."""
    if total == 1:
        return next(iter(failed.values()))
    reasons = []
    for place, problem in islice(failed.items(), MAX_FAILURES_NAMED):
        first, _, rest = problem.what.partition(" ")
        reason = (
            rest if "://" in first else problem.what
        )  # the place already identifies the address
        reasons.append(f"{place} ({clip(reason, MAX_REASON_CHARS)})")
    more = (
        f", and {len(failed) - MAX_FAILURES_NAMED} more" if len(failed) > MAX_FAILURES_NAMED else ""
    )
    left = total - arrived - len(failed)
    untried = f", {left} not tried" if left else ""
    cures = dict.fromkeys(problem.cure for problem in failed.values())
    return Incomplete(
        f"{arrived} of {total} files are in place, {len(failed)} failed{untried}: {', '.join(reasons)}{more}",
        cure="; ".join(cures),
    )


@dataclass(frozen=True)
class FetchSettings:
    """The settings that all files of one fetch share."""

    root: Path
    """The data root."""
    base: str | None
    """The address to fetch from, as `fetch` takes it."""
    overwrite: bool
    """Whether a file that is not the published one is replaced."""
    retry: RetryPolicy
    on_progress: Progress


def datasets_of(name: str) -> Sequence[str]:
    """The published datasets a name stands for.

    `all` is every one, an embedded dataset or suite none.

    `jsick` is a dataset and a suite; here it means the suite, because its datasets are in one repository
    and the stress sets are of little use without the pairs they were made from.

    >>> datasets_of("jsick"), datasets_of("jsts"), datasets_of("mini-ja")
    (['jsick', 'jsick-en', 'jsick-stress'], ['jsts'], [])
    """
    order = list(repositories())
    published = [each for each in benchmarks().values() if each.repository in order]
    published.sort(key=lambda each: (order.index(each.repository), each.suite_place))
    names = [each.name for each in published]
    if name == "all":
        return names
    if name in suites():
        return [dataset for dataset in suites()[name] if dataset in names]
    if name in benchmarks():
        return [name] if name in names else []
    raise unknown("published dataset", name, {*names, *suites(), "all"})


def fetch_file(file: Upstream, settings: FetchSettings) -> FetchedFile:
    """Bring one file to its place below the data root."""
    target = folder_of(file, settings.root) / file.path
    try:
        if target.exists():
            if target.is_file() and is_published(file, target):
                size = target.stat().st_size
                settings.on_progress(file.place, size, size)
                return FetchedFile(place=file.place, outcome="present", bytes=size)
            if not settings.overwrite or not target.is_file():
                what = f"exists but differs from the published file of {file.repository} at {file.commit[:7]}"
                raise BadInput(what, file=target, cure="move it away, or pass --overwrite")
        target.parent.mkdir(parents=True, exist_ok=True)
        return download_verified(file, target, settings)
    except OSError as problem:
        raise disk_fault(problem, target) from None


def folder_of(file: Upstream, root: Path) -> Path:
    """The repository's folder.

    A clone under its own name is filled up rather than put in the shade.
    """
    own, clone = root / file.folder, root / clone_name(file.folder)
    return clone if clone.is_dir() and not own.is_dir() else own


def download_verified(file: Upstream, target: Path, settings: FetchSettings) -> FetchedFile:
    """Download a file and install it.

    If there was an earlier part, a wrong checksum leads to one more attempt.
    """
    part = target.with_name(target.name + ".part")
    retry = settings.retry
    job = Download(
        url_of(file, settings.base),
        part,
        file.size,
        retry.timeout,
        retry.tries,
        retry.sleep,
        setting_of(settings.base),
    )
    for _ in range(2 if part.exists() else 1):
        download(job, lambda done, total: settings.on_progress(file.place, done, total))
        if part.exists() and is_published(file, part):
            size = part.stat().st_size
            part.replace(target)
            return FetchedFile(place=file.place, outcome="fetched", bytes=size)
        part.unlink(missing_ok=True)  # so that the next try starts from nothing
    raise BadInput(
        f"{job.url} does not have the checksum of the published file",
        file=target,
        cure=f"nothing was installed; {job.cure}",
    )


def url_of(file: Upstream, base: str | None = None) -> str:
    """The address of a file: `base`, else `NIKAWA_UPSTREAM`, else its repository's raw files."""
    from urllib.parse import quote, urlsplit

    setting, base = setting_of(base), base or os.environ.get(VARIABLE) or BASE
    if "{" not in base:
        base = base.rstrip("/") + "/{repository}/{commit}/{path}"
    fields = {"repository": file.repository, "commit": file.commit, "folder": file.folder}
    try:
        url = base.format(path=quote(file.path), **fields)
    except (KeyError, IndexError, ValueError):
        cure = f"a template may contain {{repository}}, {{commit}}, {{folder}} and {{path}}; check {setting}"
        raise BadInput(f"{base!r} is not an address to fetch from", cure=cure) from None
    if not url.startswith(("http://", "https://")):
        raise BadInput(
            f"{url} is not an http address", cure=f"check {setting}: write http:// or https://"
        )
    fault = ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # the port is checked when it is asked for
    except ValueError as problem:
        fault = str(problem)
    else:
        if not host:
            fault = "it names no server"
        elif not url.isascii() or not url.isprintable() or " " in url:
            fault = "it has invalid characters"
    if fault:
        raise BadInput(f"{url} is not an address ({fault})", cure=f"check {setting}")
    return url


def setting_of(base: str | None) -> str:
    """Where the user chose the address: `--base`, the variable (which may come in by way of
    `base`), or nowhere.
    """
    variable = os.environ.get(VARIABLE)
    if base and base != variable:
        return "--base"
    return VARIABLE if variable else ""
