"""The helper processes of a server: how they are started, as which system user, and how an external scorer is reached."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

from nikawa.board.folder import Board
from nikawa.board.wire import Helper, HelperGone, HelperPool
from nikawa.errors import BadInput

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A helper forks, which a process of several threads must not."""
CONNECT_SECONDS = 5.0
CHECKERS = 3
"""Files that are checked at once."""
MAX_REASON_BYTES = 400


class StartedHelper(Helper):
    """A helper that is a child of this process: started when it is first asked, and again after it ended."""

    def __init__(self, module: str, board: Board) -> None:
        super().__init__(self._start)
        self._module, self._board = module, board
        self.process: subprocess.Popen[bytes] | None = None

    def _start(self) -> socket.socket:
        self._reap()
        try:
            connection, self.process = start_process(self._module, self._board.folder)
        except OSError as problem:
            raise HelperGone(f"cannot be started: {problem}") from problem
        return connection

    def _reap(self) -> None:
        if self.process is not None:
            end_process(self.process)
            self.process = None

    def close(self) -> None:
        """Hang up, and end the process."""
        super().close()
        self._reap()


class SpawnedHelper(Helper):
    """A helper that runs as another system user, and is started again after it ended.

    Only root may start it, and the server gives up root. So a small process stays root: it starts the helper when it is asked to, and
    hands out a connection to it. It reads nothing but that request, one byte long.
    """

    def __init__(self, module: str, board: Board, user: str) -> None:
        super().__init__(self._start)
        find_user(user)
        mine, its = socket.socketpair()
        words = [module, str(board.folder.absolute()), user, str(its.fileno())]
        with its:
            self.process = subprocess.Popen(  # noqa: S603  (ourselves)
                [sys.executable, "-m", "nikawa.board.helpers", *words],
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._requests = mine

    def _start(self) -> socket.socket:
        try:
            self._requests.sendall(b"+")
            reply, descriptors, _, _ = socket.recv_fds(self._requests, MAX_REASON_BYTES, 1)
        except OSError as problem:
            raise HelperGone(f"cannot be started: {problem}") from problem
        if not descriptors:
            reason = reply.decode("utf-8", "replace") or "the process that starts it has ended"
            raise HelperGone(f"cannot be started: {reason}")
        return socket.socket(fileno=descriptors[0])

    def close(self) -> None:
        """Hang up; the process that starts it ends it, and itself."""
        super().close()
        self._requests.close()
        self.process.wait()


def start_process(
    module: str, folder: Path, user: str = ""
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """A connection to a fresh helper process, as this user or another, and the process."""
    account = find_user(user) if user else None
    mine, its = socket.socketpair()
    hidden = ("NIKAWA_BOARD_DATABASE", "PGPASSWORD")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    with its:
        try:
            process = subprocess.Popen(  # noqa: S603  (ourselves)
                [sys.executable, "-m", module, str(folder.absolute()), str(its.fileno())],
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment | ONE_THREAD,
                start_new_session=True,  # Ctrl+C ends the server, which hangs up
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        except OSError:
            mine.close()
            raise
    return mine, process


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process that has nothing left to do."""
    process.kill()
    process.wait()


def main() -> None:
    """Start a helper as another user each time a byte comes: `python -m nikawa.board.helpers MODULE FOLDER USER DESCRIPTOR`."""
    module, folder, user, descriptor = sys.argv[1:5]
    requests = socket.socket(fileno=int(descriptor))
    process: subprocess.Popen[bytes] | None = None
    while requests.recv(1):
        if process is not None:
            end_process(process)
        try:
            connection, process = start_process(module, Path(folder), user)
        except OSError as problem:
            requests.sendall(str(problem).encode()[:MAX_REASON_BYTES])
            continue
        with connection:
            socket.send_fds(requests, [b"+"], [connection.fileno()])
    if process is not None:
        end_process(process)


def find_user(name: str) -> pwd.struct_passwd:
    """A system user; an unknown one is bad input."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        what = f"there is no system user {name!r}"
        raise BadInput(what, cure="make it with: useradd --system NAME") from None


def start_checker(board: Board) -> Helper:
    """The processes that check received files; each starts when it is first needed."""
    return HelperPool([StartedHelper("nikawa.board.checker", board) for _ in range(CHECKERS)])


def start_scorer(board: Board) -> Helper:
    """The process that scores, as a child of the server."""
    user = board.settings.scoring.user if os.geteuid() == 0 else ""
    module = "nikawa.board.scorer"
    return SpawnedHelper(module, board, user) if user else StartedHelper(module, board)


def connect_scorer(path: Path) -> Helper:
    """A scorer that runs apart (`nikawa board scorer`), behind a Unix socket."""

    def connect() -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(str(path))
        except OSError as problem:
            connection.close()
            raise HelperGone(f"no scorer answers at {path}: {problem.strerror}") from problem
        return connection

    return Helper(connect)


if __name__ == "__main__":
    main()
