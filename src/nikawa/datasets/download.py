"""One file over HTTP into a `.part`, taken up again after every kind of interruption."""

from __future__ import annotations

import errno
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from nikawa.errors import BadInput

CHUNK_BYTES = 1 << 18
AGENT = "nikawa"
MAX_BYTES_OF_UNKNOWN = 512 * 10**6
"""Bytes after which a file whose size is not known is taken for something else."""
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Download:
    """What to bring, and how patiently."""

    url: str
    part: Path
    size: int | None
    timeout: float
    tries: int
    sleep: Callable[[float], None]
    setting: str = ""
    """The setting the address comes from, where the user chose it: `--base` or a variable."""

    @property
    def limit(self) -> int:
        """The most bytes that may come."""
        return MAX_BYTES_OF_UNKNOWN if self.size is None else self.size

    @property
    def cure(self) -> str:
        """What to look at when the address gives nothing."""
        return (
            f"check {self.setting}, or fetch again later" if self.setting else "fetch again later"
        )


class Unreachable(BadInput):
    """A server that brought nothing, however often it was asked."""


class Interrupted(Exception):
    """The transfer stopped for a reason that may pass."""


def download(job: Download, on_progress: Callable[[int, int | None], None]) -> None:
    """Fill the `.part`; an interruption is waited out 1, 2, 4, … seconds. Progress starts the count anew."""
    left, pause = job.tries, 1.0
    while True:
        before = _bytes_here(job)
        try:
            return _attempt(job, on_progress)
        except Interrupted as problem:
            if _bytes_here(job) > before:
                left, pause = job.tries, 1.0
            left -= 1
            if left <= 0:
                raise Unreachable(
                    f"{job.url} could not be fetched ({problem})",
                    cure=f"what has come is kept; {job.cure}",
                ) from None
            job.sleep(pause)
            pause *= 2


def _bytes_here(job: Download) -> int:
    return job.part.stat().st_size if job.part.exists() else 0


def _attempt(job: Download, on_progress: Callable[[int, int | None], None]) -> None:
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
                raise Interrupted("the server answered with another range")
            _copy(job, response, have if resumed else 0, on_progress)
    except urllib.error.HTTPError as problem:
        with problem:
            raise _refusal(job, problem.code, have) from None
    except (
        ValueError,
        http.client.InvalidURL,
    ) as problem:  # of a redirection, or of what no one can look up
        raise BadInput(f"{job.url} leads to no address ({problem})", cure=job.cure) from None
    except (
        http.client.HTTPException,
        urllib.error.URLError,
        TimeoutError,
        ConnectionError,
    ) as problem:
        reason = getattr(problem, "reason", problem)
        raise Interrupted(str(reason) or type(reason).__name__) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Closes the answer that sends elsewhere also where elsewhere is no address, which Python forgets."""

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


def _copy(
    job: Download,
    response: http.client.HTTPResponse,
    start: int,
    on_progress: Callable[[int, int | None], None],
) -> None:
    """Append to the part, or begin it anew where the server sends the whole file."""
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
        raise Interrupted(f"{done} of {total} bytes came")


def _too_long(job: Download) -> BadInput:
    """A server that sends another file, or no end of one: nothing of it is worth keeping."""
    job.part.unlink(missing_ok=True)
    what = (
        f"more than {MAX_BYTES_OF_UNKNOWN // 10**6} MB"
        if job.size is None
        else f"more than the {job.size:,} bytes it should have"
    )
    return BadInput(f"{job.url} brings {what}", cure=f"nothing was kept; {job.cure}")


def _read_chunk(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(CHUNK_BYTES)
    except (http.client.HTTPException, TimeoutError, ConnectionError) as problem:
        raise Interrupted(str(problem) or type(problem).__name__) from None


def _refusal(job: Download, code: int, have: int) -> Exception:
    """The error for an HTTP status; some may pass."""
    if code == 416 and have:
        job.part.unlink()  # the part is longer than the file: it is of another version
        return Interrupted("the part did not fit")
    if code in _TRANSIENT:
        return Interrupted(f"the server answered {code}")
    meaning = {404: "is not there (404)", 401: "asks for a login (401)", 403: "is forbidden (403)"}
    return BadInput(f"{job.url} {meaning.get(code, f'was refused ({code})')}", cure=job.cure)


class DiskFault(BadInput):
    """The file system refuses; no other file would fare better."""


def disk_fault(problem: OSError, target: Path) -> DiskFault:
    """What a fault of the file system means; the part stays, so that nothing is fetched twice."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        cure = "make room and fetch again: what has come is kept"
        return DiskFault("the disk is full", file=target, cure=cure)
    if isinstance(problem, PermissionError) or problem.errno == errno.EROFS:
        return DiskFault(
            "may not be written", file=target, cure="check permissions, or name another --data"
        )
    return DiskFault(
        f"cannot be written ({problem.strerror or problem})",
        file=target,
        cure="name another --data",
    )
