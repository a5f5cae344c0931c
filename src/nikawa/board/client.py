"""The submitter's side: finds the answer files in a run folder, and sends them to a board as one submission.

Uses the standard library only, so that it works where the server's packages are not installed.

A submission has two steps. Each file is sent by itself and checked by the board at once (`/api/v1/uploads`); a file
that is wrong stops everything, and nothing counts. Then one small request makes a submission of the files. It carries a key
that is computed from the account's system and the content of the files, so the same request sent twice makes one
submission: after a lost connection, `submit` sends it again.

The token travels in one header, only to the address that the user named: redirects are not followed, and no message, log or
file contains it.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from nikawa.board.interface import (
    BoardInfo,
    LinkBody,
    NewSubmission,
    NewSystem,
    Remaining,
    SentFile,
    SubmissionState,
    SubmissionTaken,
    TaskInfo,
)
from nikawa.errors import BadInput, clip, list_names
from nikawa.runs.load import list_runs_at
from nikawa.runs.store import RUN, StoredRun
from nikawa.version import __version__

TOKEN_VARIABLE = "NIKAWA_BOARD_TOKEN"  # noqa: S105  (the name of a variable)
ANSWER_SUFFIXES = (".jsonl", ".json", ".tsv", ".csv", ".txt", ".npy", ".parquet")
TRIES = 6
"""Of one request, if the connection is lost or the board is busy."""
MAX_PAUSE = 20.0
"""Seconds between two tries."""
TIMEOUT = 60.0
"""Seconds without a byte after which a connection counts as lost."""
WAIT_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between two looks at a submission that is not scored; the last one repeats."""
MAX_WAIT = 2 * 3600.0
"""Seconds ahead up to which the result of a submission is waited for."""
MAX_RESPONSE_BYTES = 16 * 2**20
MAX_SERVER_WORDS_CHARS = 180
BUSY = (429, 502, 503, 504)
"""A status that may pass."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

T = TypeVar("T")
OnProgress = Callable[[str, int, int], None]
"""Called with the name of a file, the bytes sent and the bytes of all files."""


class AnswersToSend(NamedTuple):
    """A file of answers, and which part of the board it is for."""

    path: Path
    task: str = ""
    """Empty: the board finds the task by the ids."""
    split: str = ""
    seed: int | None = None
    """None: the place of the file among those for the same task."""


@dataclass(frozen=True)
class SubmitReport:
    """What became of a submission."""

    submission: str
    system: str
    address: str
    """The page of the system, once it is published."""
    own_address: str
    """The page with all systems of the account."""
    files: int
    is_duplicate: bool
    """Whether the same files were a submission of this system before; nothing was counted then."""
    remaining: tuple[Remaining, ...]
    """How many more submissions to its tasks the account may make."""
    state: SubmissionState | None = None
    """The last state, if the caller waited for it."""
    missing_finals: tuple[str, ...] = ()
    """`TASK:SPLIT` of its tasks that the board scores after the closing date, and that this submission does not answer."""
    is_public: bool = True
    """Whether visitors can open the page of the system."""


@dataclass(frozen=True)
class Refusal:
    """An error as the board answers it."""

    code: str
    message: str
    cure: str = ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Returns a redirect as it is: a token goes nowhere but to the address that the user named."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        """Never make a second request."""


class _Lost(Exception):
    """The connection failed in a way that may pass."""


@dataclass
class BoardClient:
    """A board at an address, and an account's token."""

    url: str
    token: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep
    on_retry: Callable[[str], None] = lambda _reason: None
    """Called with the reason before a request is sent again."""

    def __post_init__(self) -> None:
        self.url = parse_address(self.url)
        if not re.fullmatch(r"[A-Za-z0-9._~+/=-]*", self.token):
            what = "the token contains characters that no token has"
            raise BadInput(what, cure="copy it again from the page My systems")
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._has_answered = False

    def info(self) -> BoardInfo:
        """What the board is: its tasks, limits and dates."""
        return self._ask("GET", "/api/v1/board", BoardInfo)

    def send_file(
        self, answers: AnswersToSend, on_sent: Callable[[int], None] = lambda _bytes: None
    ) -> SentFile:
        """Send one file, which the board checks at once.

        Raises `BadInput` with the board's message, which is that of `nikawa score`, if the file cannot be scored.
        """
        query = {"name": answers.path.name, "task": answers.task, "split": answers.split}
        if answers.seed is not None:
            query["seed"] = str(answers.seed)
        path = f"/api/v1/uploads?{urlencode(query)}"
        return self._ask("POST", path, SentFile, file=answers.path, on_sent=on_sent)

    def submit(self, body: NewSubmission) -> SubmissionTaken:
        """Make one submission of files that were sent."""
        return self._ask("POST", "/api/v1/submissions", SubmissionTaken, body=body)

    def state(self, submission: str) -> SubmissionState:
        """How far a submission is, and its scores as the board shows them."""
        return self._ask("GET", f"/api/v1/submissions/{quote(submission)}", SubmissionState)

    def wait(
        self, submission: str, on_state: Callable[[SubmissionState], None] = lambda _state: None
    ) -> SubmissionState:
        """Wait until a submission is scored and its result can be seen."""
        pauses = iter(WAIT_PAUSES)
        while True:
            state = self.state(submission)
            on_state(state)
            if state.is_final or not is_soon(state.expected):
                return state
            self.sleep(next(pauses, WAIT_PAUSES[-1]))

    def _ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: msgspec.Struct | None = None,
        file: Path | None = None,
        on_sent: Callable[[int], None] = lambda _bytes: None,
    ) -> T:
        """Send a request until it is answered; raise `BadInput` for a refusal, or if the board cannot be reached."""
        pause = 1.0
        for left in range(TRIES - 1, -1, -1):
            try:
                return self._try(method, path, kind, body, file, on_sent)
            except _Lost as problem:
                reason, after = problem.args
            if not left:
                break
            self.on_retry(reason)
            self.sleep(min(MAX_PAUSE, max(pause, after)))
            pause = min(MAX_PAUSE, pause * 2)
        what = f"{self.url} does not answer ({reason})"
        raise BadInput(
            what, cure="try again later; what was sent before does not count a second time"
        )

    def _try(
        self,
        method: str,
        path: str,
        kind: type[T],
        body: msgspec.Struct | None,
        file: Path | None,
        on_sent: Callable[[int], None],
    ) -> T:
        headers = {
            "User-Agent": f"nikawa/{__version__}",
            "Accept": "application/json",
            "Accept-Language": "en",
        }
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data: bytes | IO[bytes] | None = None
        if body is not None:
            data = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        elif file is not None:
            data = _open_answers(file, on_sent)
            headers["Content-Type"] = "application/octet-stream"
            headers["Content-Length"] = str(file.stat().st_size)
        request = urllib.request.Request(  # noqa: S310  (parse_address takes http and https only)
            self.url + path, data, headers, method=method
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                self._has_answered = True
                return self._decode(response.read(MAX_RESPONSE_BYTES + 1), kind)
        except urllib.error.HTTPError as problem:
            with problem:
                raise self._explain(problem, file) from None
        except (http.client.HTTPException, OSError) as problem:
            raise self._explain_connection(problem) from None
        finally:
            if data is not None and not isinstance(data, bytes):
                data.close()

    def _decode(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._not_a_board() from None

    def _not_a_board(self) -> BadInput:
        cure = "check the address: it is the one of the board's first page"
        return BadInput(f"{self.url} is not a leaderboard of nikawa board", cure=cure)

    def _explain(self, problem: urllib.error.HTTPError, file: Path | None) -> Exception:
        """The error for a status that is not 200."""
        self._has_answered = True
        status = problem.code
        if 300 <= status < 400:
            target = urlsplit(problem.headers.get("Location", ""))
            place = f"{target.scheme}://{target.netloc}" if target.netloc else "another page"
            what = f"{self.url} redirects to {clip(place, 100)}, and the token is not sent there"
            return BadInput(what, cure="pass the address of the board itself")
        try:
            refusal = msgspec.json.decode(problem.read(MAX_RESPONSE_BYTES), type=_Refused)
        except (OSError, http.client.HTTPException, msgspec.DecodeError, UnicodeDecodeError):
            refusal = None
        if status in BUSY and (refusal is None or refusal.error in ("too_many", "server_error")):
            after = problem.headers.get("Retry-After", "")
            seconds = float(after) if after.isascii() and after.isdigit() else 0.0
            return _Lost(f"status {status}", seconds)
        if status == 401:
            what = f"{self.url} refuses the token" if self.token else f"{self.url} needs a token"
            cure = f"make a token at {self.url}/me and set {TOKEN_VARIABLE}, or pass --token"
            return BadInput(what, cure=cure)
        if refusal is None:
            if status == 413:  # of a web server in front
                return BadInput("the file is too large for the board's web server", file=file)
            return self._not_a_board()
        if file is not None and refusal.message.startswith(file.name):
            # the board knows the file by its name alone
            return BadInput(f"{file.parent / file.name}{refusal.message[len(file.name) :]}")
        return BadInput(refusal.message, line=refusal.line, cure=refusal.cure)

    def _explain_connection(self, problem: Exception) -> Exception:
        """The error for a connection that failed: some failures may pass, others do not."""
        reason = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        if isinstance(reason, ssl.SSLCertVerificationError):
            what = f"the certificate of {self.url} is not valid: {reason.verify_message}"
            cure = "check the address; for a certificate of your institution, set SSL_CERT_FILE to its file"
            return BadInput(what, cure=cure)
        if isinstance(reason, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(reason):
            what = f"{self.url} does not use TLS"
            return BadInput(what, cure="pass the address with http://, if the board has no TLS")
        if isinstance(reason, ConnectionRefusedError) and not self._has_answered:
            cure = "check the address, and that the board is served"
            return BadInput(f"no server answers at {self.url}", cure=cure)
        if isinstance(reason, socket.gaierror):
            host = urlsplit(self.url).hostname
            return BadInput(f"there is no host {host!r}", cure="check the address of the board")
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return _Lost(clip(words, MAX_SERVER_WORDS_CHARS), 0.0)


class _Refused(msgspec.Struct, frozen=True):
    """A refusal as the board sends it."""

    error: str
    message: str
    cure: str = ""
    line: int | None = None


class _CountedFile:
    """A file that reports how much of it was read."""

    def __init__(self, path: Path, on_sent: Callable[[int], None]) -> None:
        self._stream = path.open("rb")
        self._sent, self._on_sent = 0, on_sent

    def read(self, size: int = -1) -> bytes:
        """Read the next part."""
        part = self._stream.read(size)
        self._sent += len(part)
        self._on_sent(self._sent)
        return part

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _open_answers(path: Path, on_sent: Callable[[int], None]) -> Any:
    try:
        return _CountedFile(path, on_sent)
    except OSError as problem:
        raise BadInput(f"cannot be read: {problem.strerror}", file=path) from None


def is_soon(expected: str | None) -> bool:
    """Whether a result may come within `MAX_WAIT` seconds, so that waiting for it makes sense."""
    if expected is None:
        return False
    return datetime.fromisoformat(expected).timestamp() - time.time() < MAX_WAIT


def parse_address(url: str) -> str:
    """The address of a board without a final slash.

    >>> parse_address("https://board.example/nli/")
    'https://board.example/nli'
    """
    text = url.strip()
    if "://" not in text:
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username or parts.query or parts.fragment:
        what = f"{url!r} is not the address of a board"
        raise BadInput(what, cure="pass an address such as https://board.example")
    return text.rstrip("/")


def sends_in_clear(url: str) -> bool:
    """Whether a token for this address can be read on its way.

    >>> sends_in_clear("http://board.example"), sends_in_clear("http://127.0.0.1:8000")
    (True, False)
    """
    parts = urlsplit(parse_address(url))
    return parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS


def read_token(given: str | None) -> str:
    """The token of the option, else that of the environment."""
    token = (given or os.environ.get(TOKEN_VARIABLE, "")).strip()
    if not token:
        cure = f"make one on the page My systems of the board and set {TOKEN_VARIABLE}, or pass --token"
        raise BadInput("there is no token", cure=cure)
    return token


def list_answers(
    paths: Sequence[Path], info: BoardInfo, *, task: str = "", split: str = ""
) -> tuple[list[AnswersToSend], str]:
    """The files to send, and the name of the model if they come from runs.

    A run folder of `nikawa run` gives its answers to the splits that the board scores, with the seed of the run. Other
    files and folders give every answer file; the board finds the task by the ids.

    Raises `BadInput` if there is nothing to send, or if the runs are of several models.
    """
    files: list[AnswersToSend] = []
    models: list[str] = []
    for path in paths:
        if path.is_file():
            files.append(AnswersToSend(path, task, split))
            continue
        if not path.is_dir():
            raise BadInput("no such file or folder", file=path)
        if any(path.rglob(RUN)):
            of_runs, names = _list_answers_of_runs(path, info.tasks, task, split)
            files += of_runs
            models += names
        else:
            files += _list_answers_of_folder(path, task, split)
    different = sorted(set(models))
    if len(different) > 1:
        what = f"the runs are of several models: {list_names(different)}"
        cure = "submit one model at a time: pass its run folders"
        raise BadInput(what, file=paths[0], cure=cure)
    return number_seeds(files), different[0] if different else ""


def _list_answers_of_runs(
    folder: Path, tasks: Sequence[TaskInfo], task: str, split: str
) -> tuple[list[AnswersToSend], list[str]]:
    """The answers of finished runs on tasks of the board."""
    splits = {split} if split else {part.split for part in tasks}
    files: list[AnswersToSend] = []
    models: list[str] = []
    unfinished: list[str] = []
    for run, _ in list_runs_at(str(folder)):
        spec = run.spec
        if spec.stage != "result":
            continue
        name = task or find_task_name(spec.task, tasks)
        if not name:
            continue
        if not run.done:
            unfinished.append(run.path.name)
            continue
        run.check()
        sets = [each for each in run.sets if each in splits]
        files += [AnswersToSend(run.answers_file(each), name, each, _seed_of(run)) for each in sets]
        if sets:
            models.append(spec.model)
    if not files:
        names = list_names(sorted({f"{part.task}:{part.split}" for part in tasks}))
        what = f"no finished run answers what the board scores: {names}"
        if unfinished:
            what = f"the run {unfinished[0]} is not finished"
        raise BadInput(what, file=folder, cure="run nikawa run on the board's dataset first")
    return files, models


def _seed_of(run: StoredRun) -> int:
    return int(run.spec.seed)


def find_task_name(name: str, tasks: Sequence[TaskInfo]) -> str:
    """The board's task that a run is about: the one with its name, else the only one that asks the same question.

    A copy of the board's dataset may have another folder name, which begins the names of its tasks.
    """
    names = sorted({part.task for part in tasks})
    if name in names:
        return name
    questions: dict[str, str] = {part.question: part.task for part in tasks}
    same = [of for question, of in questions.items() if name.endswith(f"-{question}")]
    if len(same) == 1:
        return same[0]
    return names[0] if len(names) == 1 and "-" not in name else ""


def _list_answers_of_folder(folder: Path, task: str, split: str) -> list[AnswersToSend]:
    """The answer files of a folder, in the order of their names."""
    files = []
    for path in sorted(folder.rglob("*")):
        plain = path.name.lower().removesuffix(".gz").removesuffix(".zst")
        is_hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden and plain.endswith(ANSWER_SUFFIXES):
            files.append(AnswersToSend(path, task, split))
    if not files:
        cure = f"add a file that ends with {', '.join(ANSWER_SUFFIXES)}"
        raise BadInput("has no answer file", file=folder, cure=cure)
    return files


def number_seeds(files: Sequence[AnswersToSend]) -> list[AnswersToSend]:
    """The files, each once, with a seed; two files for the same task, split and seed are an error."""
    kept: dict[tuple[str, str, int], AnswersToSend] = {}
    result: list[AnswersToSend] = []
    for file in dict.fromkeys(files):
        if file.seed is not None:
            place = (file.task, file.split, file.seed)
            if place in kept:
                what = f"has the same task, split and seed as {kept[place].path}"
                raise BadInput(what, file=file.path, cure="leave one of them out")
            kept[place] = file
        result.append(file)
    return result


def submission_key(system: str, files: Sequence[SentFile]) -> str:
    """A key by content: the same files for the same system make the same key, whenever they are sent."""
    rows = sorted((f.task, f.split, f.seed, f.digest) for f in files)
    return sha256(msgspec.json.encode([system, rows])).hexdigest()


@dataclass(frozen=True)
class SubmitOptions:
    """What a submission says about itself."""

    name: str = ""
    """The name of the system; empty: that of the model of the runs."""
    system: str = ""
    """A system that the account has, by its id or name; then its facts stay as they are."""
    task: str = ""
    split: str = ""
    description: str = ""
    links: tuple[str, ...] = ()
    """Addresses, or TITLE=ADDRESS."""
    licence: str = ""
    parameters: str = ""
    training_data: str = ""
    anonymous: bool = False
    publish: bool = True
    wait: bool = False
    """Wait for the result."""


def submit(
    url: str,
    answers: Sequence[Path],
    *,
    token: str,
    options: SubmitOptions | None = None,
    on_progress: OnProgress = lambda _name, _done, _total: None,
    on_retry: Callable[[str], None] = lambda _reason: None,
    sleep: Callable[[float], None] = time.sleep,
) -> SubmitReport:
    """Send answers to the board at an address as one submission.

    `answers` are run folders of `nikawa run`, files of answers, or folders of them. A file that the board refuses stops everything before
    anything counts. The same answers for the same system again count nothing.
    """
    options = options or SubmitOptions()
    client = BoardClient(url, token, sleep, on_retry)
    info = client.info()
    files, model = list_answers(answers, info, task=options.task, split=options.split)
    check_limits(files, info)
    new = None if options.system else make_new_system(options, model)
    sent = send_files(client, files, on_progress)
    name = options.system or (new.name if new else "")
    taken = client.submit(
        NewSubmission(
            system=options.system,
            new_system=new,
            uploads=tuple(one.upload for one in sent),
            key=submission_key(name, sent),
        )
    )
    state = client.wait(taken.submission) if options.wait else None
    return SubmitReport(
        submission=taken.submission,
        system=taken.system,
        address=f"{client.url}/s/{taken.system}",
        own_address=f"{client.url}/me",
        files=len(sent),
        is_duplicate=taken.duplicate,
        remaining=taken.remaining,
        state=state,
        missing_finals=find_missing_finals(sent, info.tasks),
        is_public=taken.is_public,
    )


def find_missing_finals(sent: Sequence[SentFile], tasks: Sequence[TaskInfo]) -> tuple[str, ...]:
    """The final sets of the tasks of a submission that it does not answer: they could not be scored for it."""
    answered = {(one.task, one.split) for one in sent}
    asked = {task for task, _ in answered}
    return tuple(
        f"{one.task}:{one.split}"
        for one in tasks
        if one.role == "final" and one.task in asked and (one.task, one.split) not in answered
    )


def send_files(
    client: BoardClient, files: Sequence[AnswersToSend], on_progress: OnProgress
) -> list[SentFile]:
    """Send files one after the other."""
    sizes = [file.path.stat().st_size for file in files]
    sent = []
    for place, file in enumerate(files):
        before = sum(sizes[:place])
        report = partial(_report_bytes, on_progress, file.path.name, before, sum(sizes))
        sent.append(client.send_file(file, report))
    return sent


def _report_bytes(on_progress: OnProgress, name: str, before: int, total: int, done: int) -> None:
    on_progress(name, before + done, total)


def parse_link(text: str) -> LinkBody:
    """A link as the command line takes it: an address, or TITLE=ADDRESS.

    >>> parse_link("Paper=https://example.org/p").title
    'Paper'
    """
    match = re.fullmatch(r"(?:([^=]*)=)?(https?://\S+)", text.strip())
    if match is None:
        raise BadInput(f"{text!r} is no link", cure="write TITLE=https://… or https://…")
    return LinkBody(title=(match[1] or "").strip(), address=match[2])


def check_limits(files: Sequence[AnswersToSend], info: BoardInfo) -> None:
    """Refuse what the board would refuse for its size, before anything is sent."""
    counts: dict[tuple[str, str], int] = {}
    size = 0
    for file in files:
        size += file.path.stat().st_size
        if size > info.limits.max_bytes:
            megabytes = info.limits.max_bytes / 2**20
            what = f"the files have more than {megabytes:,.0f} MB, which is what the board takes in one submission"
            cure = "send only ids and answers, without the texts, or fewer seeds"
            raise BadInput(what, file=file.path, cure=cure)
        place = (file.task, file.split)
        counts[place] = counts.get(place, 0) + 1
    for (task, _), count in counts.items():
        if task and count > info.limits.max_seeds:
            what = f"{count} seeds of {task}; the board takes {info.limits.max_seeds}"
            raise BadInput(what, cure="pass fewer run folders")


def make_new_system(options: SubmitOptions, model: str) -> NewSystem:
    """The facts of a new system; without a name it is called as the model of the runs."""
    name = options.name or model
    if not name:
        cure = "pass --name NAME, or --system ID for one that you have"
        raise BadInput("the system has no name", cure=cure)
    return NewSystem(
        name=name,
        description=options.description,
        links=tuple(map(parse_link, options.links)),
        licence=options.licence,
        parameters=options.parameters,
        training_data=options.training_data,
        anonymous=options.anonymous,
        publish=options.publish,
    )
