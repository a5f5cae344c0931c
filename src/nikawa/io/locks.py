"""Locks that the system releases when their process ends, however it ends.

They are `flock` locks of an open file or folder. (filelock locks only its own files; here a
folder is locked without leaving a file in it, and temporaries are locked through the descriptor
they are written by.) Windows and some network file systems have no such locks: there, work continues
without a lock.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nikawa.errors import BadInput

POLL_SECONDS = 0.05
"""Between two looks at a lock that is waited for."""


def try_lock(descriptor: int) -> bool | None:
    """Acquire the lock of an open file or folder until it is closed.

    Returns True on success, False if another process holds it, None if the system has no locks.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def lock_descriptor(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file while the block runs; wait while another process holds it.

    It is for work of microseconds, such as one line that is appended.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    has_lock = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:  # no locks on this file system
        has_lock = False
    try:
        yield
    finally:
        if has_lock:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file now."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return try_lock(descriptor) is False
    finally:
        os.close(descriptor)


@contextmanager
def lock_file(path: Path, *, busy: BadInput, patience: float = 0.0) -> Iterator[int]:
    """Hold the lock of a file while the block runs.

    Yields its descriptor, open for reading and writing. Creates the file and its folder if they
    are missing. Raises `busy` if another process holds the lock for longer than `patience` seconds.
    If the other process removes the file, it is created again.
    """
    descriptor = -1
    end = time.monotonic() + patience
    try:
        while descriptor < 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            while try_lock(descriptor) is False:
                if time.monotonic() > end:
                    raise busy
                time.sleep(POLL_SECONDS)
            if not _is_same(descriptor, path):
                os.close(descriptor)
                descriptor = -1
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)


@contextmanager
def lock_folder(folder: Path, *, busy: BadInput, misplaced: BadInput) -> Iterator[None]:
    """Hold the lock of a folder while the block runs; create the folder if it is missing.

    Raises `busy` if another process holds the lock, and `misplaced` if a file is in the place of
    the folder. New folders that stay empty are removed again.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise misplaced from None
    descriptor = None if sys.platform == "win32" else os.open(folder, os.O_RDONLY)
    try:
        # a folder that was removed since it was opened belongs to a process that is just ending
        if descriptor is not None and (
            try_lock(descriptor) is False or not _is_same(descriptor, folder)
        ):
            made = []
            raise busy
        yield
    finally:
        for each in made:
            with suppress(OSError):  # it is not empty
                each.rmdir()
        if descriptor is not None:
            os.close(descriptor)


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
