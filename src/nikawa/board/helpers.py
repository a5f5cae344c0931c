"""The helper processes of a server: how they are started, as which system user, and how an external scorer is reached."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

from nikawa.board.folder import Board
from nikawa.board.wire import Helper, HelperGone
from nikawa.errors import BadInput

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A helper forks, which a process of several threads must not."""
CONNECT_SECONDS = 5.0


class StartedHelper(Helper):
    """A helper that is a child of this process: started when it is first asked, and again after it ended."""

    def __init__(self, module: str, board: Board, user: str = "") -> None:
        super().__init__(self._start)
        self._module, self._board, self._user = module, board, user
        self.process: subprocess.Popen[bytes] | None = None

    def _start(self) -> socket.socket:
        self._reap()
        account = find_user(self._user) if self._user else None
        mine, its = socket.socketpair()
        with its:
            try:
                self.process = subprocess.Popen(  # noqa: S603  (ourselves)
                    [
                        sys.executable,
                        "-m",
                        self._module,
                        str(self._board.folder.absolute()),
                        str(its.fileno()),
                    ],
                    pass_fds=[its.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=os.environ | ONE_THREAD,
                    start_new_session=True,  # Ctrl+C ends the server, which hangs up
                    user=account.pw_uid if account else None,
                    group=account.pw_gid if account else None,
                    extra_groups=[] if account else None,
                )
            except OSError as problem:
                mine.close()
                raise HelperGone(f"cannot be started: {problem}") from problem
        return mine

    def _reap(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        """Hang up, and end the process."""
        super().close()
        self._reap()


def find_user(name: str) -> pwd.struct_passwd:
    """A system user; an unknown one is bad input."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        what = f"there is no system user {name!r}"
        raise BadInput(what, cure="make it with: useradd --system NAME") from None


def start_checker(board: Board) -> Helper:
    """The process that checks received files."""
    return StartedHelper("nikawa.board.checker", board)


def start_scorer(board: Board) -> Helper:
    """The process that scores, as a child of the server."""
    user = board.settings.scoring.user if os.geteuid() == 0 else ""
    return StartedHelper("nikawa.board.scorer", board, user)


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
