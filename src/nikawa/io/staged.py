"""Replace some files of a folder that holds others too: all are written first, then moved in, `last` at the end.

What they replace is set aside until then. If anything fails it is put back; if the writer is killed while moving,
the next one puts it back. The files of others are never touched.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nikawa.io.atomic import refuse_existing
from nikawa.io.locks import try_lock
from nikawa.io.swap import PART, named, open_folder, sync_folder

_START = ".new."
_ASIDE, _ADDED = "old", ".added.json"


@contextmanager
def staged_files(folder: Path, old: Iterable[str], last: str) -> Iterator[Path]:
    """A folder to fill, whose files move into `folder` when the block ends well and replace those called `old`."""
    replaced = sorted(
        old, key=lambda name: name != last
    )  # without `last` the rest counts for nothing
    with named(folder, folder / _START.strip(".")):
        staging = Path(tempfile.mkdtemp(prefix=_START, suffix=PART, dir=folder))
        descriptor = open_folder(staging)
        try:
            yield staging
            names = sorted(
                (path.name for path in staging.iterdir()), key=lambda name: (name == last, name)
            )
            added = sorted(set(names) - set(replaced))
            for name in added:
                refuse_existing(folder / name, overwrite=False)
            (staging / _ADDED).write_text(json.dumps(added))
            (staging / _ASIDE).mkdir()
            sync_folder(staging)
            for name in replaced:
                (folder / name).rename(staging / _ASIDE / name)
            for name in names:
                (staging / name).rename(folder / name)
        except BaseException:
            _undo(staging, folder)
            raise
        finally:
            if descriptor is not None:
                os.close(descriptor)
    sync_folder(folder)
    shutil.rmtree(staging, ignore_errors=True)


def _undo(staging: Path, folder: Path) -> None:
    """Take back what was moved in, put back what was set aside, and remove the rest."""
    if (staging / _ASIDE).is_dir() and (
        staging / _ADDED
    ).is_file():  # else killed while clearing up
        for name in json.loads((staging / _ADDED).read_text()):
            if not (staging / name).exists():
                (folder / name).unlink(missing_ok=True)
        for path in (staging / _ASIDE).iterdir():
            path.rename(folder / path.name)
    shutil.rmtree(staging, ignore_errors=True)


def recover(folder: Path, last: str) -> None:
    """Put back what a writer set aside that was killed while it moved files; with `last` in place it was done."""
    for staging in sorted(folder.glob(f"{_START}*{PART}")):
        with suppress(OSError):  # in use, or gone meanwhile
            descriptor = os.open(staging, os.O_RDONLY)
            try:
                if try_lock(descriptor):
                    done = (folder / last).exists()
                    shutil.rmtree(staging, ignore_errors=True) if done else _undo(staging, folder)
            finally:
                os.close(descriptor)
