"""Messages between the server and its helpers: a header of JSON and blocks of bytes, each with its length in front.

A helper is a process that answers one request after the other. It has a single thread, so that it may fork; each request is done in
a forked child with limits (`run_limited`). A child that crashes, hangs or needs too much becomes one line of error.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import LifoQueue
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import NikawaError, clip

MAX_HEADER_BYTES = 16 << 20
MAX_BLOCK_BYTES = 1 << 30
MAX_BLOCKS = 10_000
MAX_FAULT_CHARS = 400
OPEN_FILES = 64
"""Descriptors of a child."""
CANNOT_BEGIN = "cannot begin"
"""The field of the header with the reason why a helper answers nothing at all: no fault of the request."""
WAS_KILLED = "was killed"
"""The field of the header that says that the request may be tried again."""
_LENGTH = struct.Struct(">Q")


class Message(NamedTuple):
    """What is sent."""

    header: dict[str, Any]
    blocks: Sequence[bytes] = ()


class HelperFailed(NikawaError):
    """The helper could not do what it was asked for; the message is one line."""


class HelperGone(NikawaError):
    """The helper ended while it did what it was asked for; another one may do it."""


class HelperUnreachable(HelperGone):
    """No helper answers, so nothing was asked."""


class HelperCannotBegin(HelperUnreachable):
    """The helper found a fault of the board, such as a missing key file: its words are for the owner alone."""


def send_message(to: socket.socket, message: Message) -> None:
    """Send a message whole."""
    head = msgspec.json.encode({**message.header, "blocks": len(message.blocks)})
    for part in (head, *message.blocks):
        to.sendall(_LENGTH.pack(len(part)))
        to.sendall(part)


def receive_message(source: socket.socket) -> Message | None:
    """The next message; None where the other side has hung up."""
    head = _receive_part(source, MAX_HEADER_BYTES)
    if head is None:
        return None
    header = msgspec.json.decode(head, type=dict[str, Any])
    count = header.pop("blocks")
    if not isinstance(count, int) or not 0 <= count <= MAX_BLOCKS:
        raise HelperFailed("a message has too many blocks")
    blocks = []
    for _ in range(count):
        block = _receive_part(source, MAX_BLOCK_BYTES)
        if block is None:
            raise HelperGone("a message ended too early")
        blocks.append(block)
    return Message(header, blocks)


def _receive_part(source: socket.socket, max_bytes: int) -> bytes | None:
    length = _receive_exactly(source, _LENGTH.size)
    if length is None:
        return None
    size = _LENGTH.unpack(length)[0]
    if size > max_bytes:
        raise HelperFailed("a message is too long")
    part = _receive_exactly(source, size)
    if part is None:
        raise HelperGone("a message ended too early")
    return part


def _receive_exactly(source: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = source.recv(min(1 << 20, size - len(parts)))
        if not part:
            if parts:
                raise HelperGone("a message ended too early")
            return None
        parts += part
    return bytes(parts)


class Limits(NamedTuple):
    """What a child may use."""

    seconds: float
    """Of CPU time, and of wall time."""
    megabytes: int
    """Of address space, in addition to what the helper has when it forks."""


Work = Callable[[dict[str, Any], Sequence[bytes]], Message]
"""Does one request in a child; a `NikawaError` is its one line of refusal."""


def run_limited(
    work: Work, request: Message, limits: Limits, *, gives_reasons: bool = True
) -> Message:
    """Do a request in a forked child.

    The answer has `"fault"` in its header where the child refused it, crashed, or came to a limit, and `WAS_KILLED` where somebody else
    ended the child, as the system does when memory is short: that is no fault of the request. Without `gives_reasons` a refusal is
    not quoted: its words could be made of what the child alone may read.
    """
    mine, its = socket.socketpair()
    child = os.fork()
    if not child:
        mine.close()
        _work_in_child(work, request, limits, its, gives_reasons)
    its.close()
    mine.settimeout(limits.seconds)
    fault = ""
    answer: Message | None = None
    try:
        deadline = time.monotonic() + limits.seconds
        answer = _receive_before(mine, deadline)
    except TimeoutError:
        fault = f"takes longer than {limits.seconds:g} seconds"
    except (OSError, NikawaError, msgspec.DecodeError):
        fault = ""
    finally:
        mine.close()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if answer is not None:
        return answer
    # a limit of CPU time sends another signal first
    if not fault and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return Message({WAS_KILLED: True})
    return Message({"fault": fault or _describe_end(status, limits)})


def _receive_before(source: socket.socket, deadline: float) -> Message | None:
    """The message of a child; `TimeoutError` where it is not whole in time."""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            raise TimeoutError
    return receive_message(source)


def _describe_end(status: int, limits: Limits) -> str:
    """Why a child ended without an answer."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return f"needs more than {limits.seconds:g} seconds of computing time"
        return f"ended the process that read it (signal {number})"
    return f"needs more than {limits.megabytes} MB of memory, or ended the process that read it"


def _work_in_child(
    work: Work, request: Message, limits: Limits, out: socket.socket, gives_reasons: bool
) -> None:
    """Do the request and leave; nothing of the helper's own continues here."""
    try:
        _limit_child(limits)
        answer = work(request.header, request.blocks)
    except NikawaError as problem:
        words = clip(str(problem), MAX_FAULT_CHARS) if gives_reasons else "cannot be scored"
        answer = Message({"fault": words})
    except MemoryError:
        answer = Message({"fault": f"needs more than {limits.megabytes} MB of memory"})
    except BaseException as problem:  # the fault of a reader: no traceback leaves this process
        kind = type(problem).__name__
        answer = Message(
            {"fault": f"cannot be read ({kind})" if gives_reasons else "cannot be scored"}
        )
    with suppress(BaseException):
        send_message(out, answer)
        out.close()
    os._exit(0)


def _limit_child(limits: Limits) -> None:
    """Limit this process, where the system can."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        import resource
    except ImportError:
        return
    seconds = max(1, round(limits.seconds))
    wanted = {
        resource.RLIMIT_CPU: (seconds, seconds + 1),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (OPEN_FILES, OPEN_FILES),
        resource.RLIMIT_FSIZE: (0, 0),  # it writes no file: what it reads cannot fill the disk
    }
    if sys.platform == "linux":
        pages = int(open("/proc/self/statm").read().split()[0])  # noqa: PTH123, SIM115
        size = pages * resource.getpagesize() + (limits.megabytes << 20)
        wanted[resource.RLIMIT_AS] = (size, size)
    for kind, values in wanted.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, values)


def answer_requests(source: socket.socket, answer: Callable[[Message], Message]) -> None:
    """Answer one request after the other, until the other side hangs up."""
    while True:
        try:
            request = receive_message(source)
            if request is None:
                return
            send_message(source, answer(request))
        except (OSError, HelperGone):
            return


def serve_inherited(make_answer: Callable[[Path], Callable[[Message], Message]]) -> None:
    """The main function of a helper: `python -m MODULE FOLDER DESCRIPTOR` answers on a socket that was inherited.

    Where it cannot begin, the first request is answered with the reason, and the process ends: the next one may begin, once the
    owner has seen to it.
    """
    folder, descriptor = sys.argv[1:3]
    requests = socket.socket(fileno=int(descriptor))
    try:
        answer = make_answer(Path(folder))
    except NikawaError as problem:
        _refuse_to_begin(requests, clip(str(problem), MAX_FAULT_CHARS))
    except Exception as problem:  # its words could hold a label
        _refuse_to_begin(requests, f"the process cannot begin ({type(problem).__name__})")
    else:
        answer_requests(requests, answer)


def _refuse_to_begin(requests: socket.socket, reason: str) -> None:
    with suppress(OSError, HelperGone):
        if receive_message(requests) is not None:
            send_message(requests, Message({CANNOT_BEGIN: reason}))


class Helper:
    """The server's side of a helper: asks, waits for the answer, one request at a time."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def ask(self, request: Message, timeout: float | None = None) -> Message:
        """What the helper answers.

        Raises `HelperFailed` for a fault of the request, `HelperCannotBegin` for one of the board, and `HelperGone` where the helper
        cannot be reached.
        """
        with self._lock:
            answer = self._ask(request, timeout)
            if reason := answer.header.get(CANNOT_BEGIN):
                self._hang_up()
                raise HelperCannotBegin(str(reason))
        if answer.header.get(WAS_KILLED):
            raise HelperGone("the process that did it was killed")
        if fault := answer.header.get("fault"):
            raise HelperFailed(str(fault))
        return answer

    def _ask(self, request: Message, timeout: float | None) -> Message:
        self._send(request, timeout)
        assert self._socket is not None
        try:
            answer = receive_message(self._socket)
        except (OSError, HelperGone) as problem:
            self._hang_up()
            raise HelperGone(f"the helper does not answer: {problem}") from problem
        if answer is None:
            self._hang_up()
            raise HelperGone("the helper has ended")
        return answer

    def _send(self, request: Message, timeout: float | None) -> None:
        """Send a request, over a new connection where the old one is lost."""
        for is_last in (self._socket is None, True):
            try:
                if self._socket is None:
                    self._socket = self._connect()
                self._socket.settimeout(timeout)
                send_message(self._socket, request)
            except OSError as problem:
                self._hang_up()
                if is_last:
                    raise HelperUnreachable(f"the helper does not answer: {problem}") from problem
            except HelperGone as problem:
                self._hang_up()
                raise HelperUnreachable(str(problem)) from problem
            else:
                return

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """Hang up, also on a request that is being done; a helper that was started for this ends then."""
        connection = self._socket
        if connection is not None:
            with suppress(
                OSError
            ):  # who waits for an answer sees the end of it, and lets go of the lock
                connection.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._hang_up()


class InProcessHelper(Helper):
    """The same work in this process, without limits: for the owner's own files, and for tests."""

    def __init__(self, work: Work) -> None:
        super().__init__(socket.socket)
        self._work = work

    def ask(self, request: Message, timeout: float | None = None) -> Message:
        """What the work answers."""
        try:
            return self._work(dict(request.header), request.blocks)
        except NikawaError as problem:
            raise HelperFailed(str(problem)) from None


class HelperPool(Helper):
    """Several helpers that do the same: a request goes to one that is free, so one that takes long does not keep the others waiting."""

    def __init__(self, helpers: Sequence[Helper]) -> None:
        super().__init__(socket.socket)
        self._helpers = tuple(helpers)
        self._free: LifoQueue[Helper] = LifoQueue()
        for helper in self._helpers:
            self._free.put(helper)

    def ask(self, request: Message, timeout: float | None = None) -> Message:
        """What a free helper answers."""
        helper = self._free.get()
        try:
            return helper.ask(request, timeout)
        finally:
            self._free.put(helper)

    def close(self) -> None:
        """Hang up on all of them."""
        for helper in self._helpers:
            helper.close()
