"""How a board is served: one server a board, its helpers, and the system users they run as."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from pwd import struct_passwd
from stat import S_ISDIR, S_ISREG

from nikawa.board.flags import FlagFinder
from nikawa.board.folder import DATASETS, Board, open_board
from nikawa.board.helpers import connect_scorer, find_user, start_checker, start_scorer
from nikawa.board.job import ADDRESS
from nikawa.board.queue import ScoringQueue
from nikawa.board.settings import SETTINGS
from nikawa.board.store import open_existing_store
from nikawa.board.wire import HelperFailed, HelperGone, Message
from nikawa.errors import BadInput
from nikawa.io.locks import lock_file
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.server import local_address
from nikawa.serve.store import set_value


@dataclass(frozen=True)
class ServeOptions:
    """Where a server listens, where its data is, and where its scorer runs."""

    host: str = "127.0.0.1"
    """0.0.0.0 listens on all interfaces."""
    port: int = 8000
    """0: any that is free."""
    database: str = ""
    """A PostgreSQL address; empty: the file in the folder of the board."""
    trusted_proxies: tuple[str, ...] = ()
    """Web servers in front whose X-Forwarded-For is trusted, in addition to those of board.toml."""
    scorer: Path | None = None
    """The socket of `nikawa board scorer`; None: the scorer is a child of the server."""

    def base(self, port: int) -> str:
        """What addresses of its pages begin with; one that listens everywhere can be reached on this machine."""
        return local_address(self.host, port)


def serve(
    folder: Path, options: ServeOptions, on_start: Callable[[int], None] | None = None
) -> None:
    """Serve a board until interrupted; `on_start` gets the port.

    Started as root with `[server] user` set, the server gives up root before it accepts a connection.
    """
    from nikawa.board.app import create_app
    from nikawa.serve.clients import Networks
    from nikawa.serve.server import ConnectionLimits, run_server

    board = open_board(folder)
    settings = board.settings.server
    with lock_folder_of(board), ExitStack() as stack:
        scorer = start_scorer(board) if options.scorer is None else connect_scorer(options.scorer)
        stack.callback(scorer.close)
        give_folders(board)
        try:
            scorer.ask(Message({"do": "labels"}))
        except (HelperGone, HelperFailed) as problem:  # a fault of the keys ends the command now
            raise BadInput("nothing can be scored", file=folder, cure=str(problem)) from None
        drop_root(board)
        checker = start_checker(board)
        stack.callback(checker.close)
        store = stack.enter_context(open_existing_store(options.database, board))
        queue = ScoringQueue(board, store, scorer, find_flags=FlagFinder())

        def remember_address(port: int) -> None:
            store.write(set_value, ADDRESS, options.base(port))
            queue.start()
            if on_start is not None:
                on_start(port)

        for language in LANGUAGES:
            board.about(language)  # one that cannot be read is reported now
        trusted = Networks((*settings.trusted_proxies, *options.trusted_proxies))
        limits = ConnectionLimits(settings.connections, settings.connections_per_address, trusted)
        listening = options.base(0).removeprefix("http://")
        app = create_app(
            board,
            store,
            queue=queue,
            checker=checker,
            trusted=trusted,
            hosts=[listening],
            local_address=options.base(options.port),
        )
        try:
            run_server(app, options.host, options.port, limits, on_start=remember_address)
        finally:
            queue.stop()


@contextmanager
def lock_folder_of(board: Board) -> Iterator[None]:
    """One server a board: two would score the same submissions."""
    path = board.folder / ".lock"
    busy = BadInput("is served already", file=board.folder, cure="stop the other server first")
    path.touch(mode=0o600)
    with lock_file(path, busy=busy):
        yield


def give_folders(board: Board) -> None:
    """Give the scorer's folder to its own system user and the rest to the server's, where we are root and both are named.

    The scorer must reach its folder and the published datasets, and nothing else; the server cannot open the keys.
    """
    server, scoring = board.settings.server.user, board.settings.scoring.user
    if os.geteuid() != 0 or not server:
        return
    if not scoring:
        what = (
            "[scoring] user is empty, and [server] user is not: the scoring process would stay root"
        )
        raise BadInput(what, file=board.folder / SETTINGS, cure="name a second system user")
    own = find_user(server)
    if scoring == server:
        what = "[server] user and [scoring] user are the same: the server could read the labels"
        raise BadInput(what, file=board.folder / SETTINGS, cure="name two system users")
    other = find_user(scoring)
    for path in (board.folder, *board.folder.rglob("*")):
        is_scorers = path.is_relative_to(board.scorer)
        is_shared = path.name == SETTINGS or path.is_relative_to(board.folder / DATASETS)
        _give(path, other if is_scorers else own, is_shared=is_shared)
    board.folder.chmod(0o711)


def _give(path: Path, user: struct_passwd, *, is_shared: bool) -> None:
    """Give a file or folder of root to a user; the processes of both users may read one that is shared.

    What belongs to somebody else by now stays as it is, and so does a link: a server that was broken into could have put links to
    files of the system here, for root to give away.
    """
    state = path.lstat()
    is_folder = S_ISDIR(state.st_mode)
    is_plain = is_folder or (S_ISREG(state.st_mode) and state.st_nlink == 1)
    if state.st_uid != 0 or not is_plain:
        return
    mode = (0o755 if is_folder else 0o644) if is_shared else (0o700 if is_folder else 0o600)
    path.chmod(mode)
    os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


def drop_root(board: Board) -> None:
    """Become `[server] user`, where we are root and it is named."""
    name = board.settings.server.user
    if os.geteuid() != 0 or not name:
        return
    account = find_user(name)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
