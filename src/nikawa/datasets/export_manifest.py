"""The list of its files that an export leaves in its folder: nothing else may be replaced by the next one.

It has the hash of each, so that a card somebody has worked on is not taken for the one that was written.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.json import encode_json, read_json
from nikawa.records import Record

MANIFEST = ".nikawa-export.json"


class Manifest(Record, frozen=True, kw_only=True):
    """What an export wrote."""

    files: dict[str, str]
    """Path below the folder, with `/` between its parts, to SHA-256."""


def write_manifest(folder: Path) -> None:
    """List what lies in `folder`."""
    files = files_in(folder)
    with atomic_write(folder / MANIFEST) as stream:
        stream.write(
            encode_json(Manifest(files={name: sha256(folder / name) for name in files})) + b"\n"
        )


def files_in(folder: Path) -> list[str]:
    """All that lies below `folder` but is no folder itself (a link to one is none), by its path below it."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        names = [*files, *(name for name in folders if (here / name).is_symlink())]
        found.extend((here / name).relative_to(folder).as_posix() for name in names)
    return sorted(found)


def refuse_strangers(folder: Path) -> None:
    """Refuse to replace what no export wrote."""
    if folder.exists() and not folder.is_dir():
        raise BadInput("is a file, not a folder", file=folder, cure="choose another name")
    manifest = folder / MANIFEST
    ours = read_json(manifest, Manifest).files if manifest.is_file() else {}
    for name in files_in(folder):
        if name not in (MANIFEST, *ours):
            raise _stranger(f"holds {name!r}, which no export wrote", folder)
        if name in ours and sha256(folder / name) != ours[name]:
            raise _stranger(f"holds {name!r}, which was changed since it was exported", folder)


def _stranger(what: str, folder: Path) -> BadInput:
    return BadInput(what, file=folder, cure="move it away, or choose another folder")


def sha256(path: Path) -> str:
    """The hash of a file's content; of what cannot be read, such as a link that leads nowhere, nothing."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
