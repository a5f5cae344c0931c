r"""Rules for names that become file names, and for places that files may be written to.

Names of splits, workers, sets, questions and tasks may come from files of other people, and each may
become a file name. There are two ways from such a name to a file:

- `check_file_names` refuses invalid file names, for files whose names users must recognise: the
  splits of a dataset, one file per worker. The same names are refused on every system, so that a folder
  can be copied to any other system.
- `to_file_name` turns any name into a file name that only has to differ from others: the folder of
  a run. A valid file name stays as it is.

`refuse_outside` is a second safeguard: whatever the name, nothing is written outside the output
folder, and no link leads out of it. `nikawa.io.atomic` applies it to every file that it
writes below an open folder.

Japanese, Korean and other scripts are allowed. Characters that only Windows forbids (`? * : | " < >`)
are also allowed: some datasets have them, and they are harmless on other systems.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from unicodedata import category, normalize

from nikawa.errors import BadInput
from nikawa.io.remote import RemotePath

MAX_NAME_BYTES = 200
"""Most bytes of a name: file systems end at 255, and suffixes and names of temporaries come on top."""
DEVICE_NAMES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
"""Names of devices on Windows, in any case and with any suffix."""
_JOINERS = "\u200c\u200d"
"""Invisible characters that scripts and emoji need; all others could disguise a name."""


def find_name_fault(name: str) -> str:
    """Return why a name cannot be a file name, as a clause after the name; empty for a valid name.

    >>> find_name_fault("訓練-1"), find_name_fault("a/b"), find_name_fault("..")
    ('', "holds '/'", 'begins with a dot')
    """
    if not name:
        return "is empty"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    for character in name:
        if character in "/\\":
            return f"holds {character!r}"
        kind = category(character)
        if kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and character not in _JOINERS):
            return f"contains the invisible character U+{ord(character):04X}"
    for side, character in (("begins", name[0]), ("ends", name[-1])):
        if character == "." or character.isspace():
            return f"{side} with a {'dot' if character == '.' else 'blank'}"
    if name.split(".", maxsplit=1)[0].rstrip().casefold() in DEVICE_NAMES:
        return "is the name of a device on Windows"
    return ""


def check_file_names(
    names: Iterable[str], kind: str, *, file: str | Path | None = None, cure: str = ""
) -> None:
    """Refuse names that cannot be file names in one folder; `kind` is the kind of thing: `split`, `worker`.

    Two names that differ only in case or in Unicode normal form are also refused: on many systems they are
    one file. `file` is the source of the names, and `cure` the advice in the message.
    """
    names_by_key: dict[str, str] = {}
    for name in names:
        if fault := find_name_fault(name):
            what = f"{kind} {name!r} cannot be a file name: it {fault}"
            raise BadInput(what, file=file, cure=cure or f"rename the {kind}")
        other = names_by_key.setdefault(fold_name(name), name)
        if other != name:
            what = f"{kind}s {other!r} and {name!r} are the same file name on many systems"
            raise BadInput(what, file=file, cure=cure or "rename one of them")


def fold_name(name: str) -> str:
    """Return a key that is equal for names that a file system may treat as the same: canonical caseless matching.

    >>> fold_name("Dev") == fold_name("dev"), fold_name("か\u3099") == fold_name("が")
    (True, True)
    """
    return normalize("NFC", normalize("NFD", name).casefold())


def to_file_name(name: str, max_bytes: int = MAX_NAME_BYTES) -> str:
    """A name that can be a file's: `name` itself if it can, else a readable part of it and a digest.

    Different names stay different.

    >>> to_file_name("jnli"), to_file_name("../../x")
    ('jnli', 'x-55c35b3f')
    """
    if not find_name_fault(name) and len(name.encode()) <= max_bytes:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    readable = re.sub(r"[^\w-]+", "-", name[: 4 * max_bytes])
    readable = readable.encode()[: max_bytes - len(digest) - 1].decode(errors="ignore")
    readable = readable.strip("-_")
    return f"{readable}-{digest}" if readable else digest


def refuse_outside(path: Path, folder: Path) -> None:
    """Raise unless `path` really lies below `folder`: neither `..` nor a link leads out of it."""
    if isinstance(path, RemotePath) and path.is_relative_to(folder):
        return
    place, root = os.path.realpath(path), os.path.realpath(folder)
    if root not in map(str, Path(place).parents):
        what = f"leads out of the output folder, to {place!r}"
        cure = "remove the link, or correct the name"
        raise BadInput(what, file=path, cure=cure)


def join_inside(folder: Path, name: str) -> Path:
    """Return the path of a file that a stored file names; raise if it leads out of the folder.

    The name may have parts, `suspects/jnli/tasks.jsonl`. Names that only other systems forbid are let
    through: the file already exists, or only its name distinguishes it from others.
    """
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise BadInput(
            f"{name!r} cannot be the name of a file", file=folder, cure="correct the name"
        )
    path = folder / name
    refuse_outside(path, folder)
    return path
