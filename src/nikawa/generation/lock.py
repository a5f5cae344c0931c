"""One run at a time writes a folder. The lock is the system's own: it goes with its process, however that ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nikawa.errors import BadInput


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made for it; a folder that nothing came into is removed again."""
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(
            "is a file, not a folder", file=folder, cure="choose another place"
        ) from None
    descriptor = _locked(folder)
    try:
        yield
    finally:
        if made:
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        if descriptor is not None:
            os.close(descriptor)


def _locked(folder: Path) -> int | None:
    """The folder, open and locked; None where the system has no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = folder.exists() and os.path.samestat(
            os.fstat(descriptor), folder.stat()
        )  # not removed just now
    except BlockingIOError:
        free = False
    except OSError:  # a file system without locks
        free = True
    if not free:
        os.close(descriptor)
        what = "another run is writing into this folder"
        raise BadInput(what, file=folder, cure="wait until it ends, or choose another folder")
    return descriptor
