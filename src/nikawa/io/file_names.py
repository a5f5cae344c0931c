r"""Names that become file names, and places that files may be written to: the rules of every command.

Splits, workers, sets, questions and tasks are named in files that somebody else may have written,
and each of them may name a file here. Two ways lead from such a name to a file:

- `check_file_names` refuses what cannot be one, where users must find their own name again: the
  splits of a dataset, a file a worker. The same names are refused on every system, so that a folder
  that one person writes can be copied by another.
- `to_file_name` makes one of any name, where a file only has to be told from others: the folder of
  a run. A name that may be a file's stays as it is.

`refuse_outside` is the second wall: whatever the name, nothing is written outside the folder that
was asked for, and no link leads out of it. `nikawa.io.atomic` holds every file to that which it
writes below a folder it has opened.

Japanese, Korean and other scripts are fine. Characters that only Windows forbids (`? * : | " < >`)
are not refused: datasets that have them exist, and they lead nowhere on other systems.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from unicodedata import category, normalize

from nikawa.errors import BadInput

MAX_NAME_BYTES = 200
"""Most bytes of a name: file systems end at 255, and suffixes and names of temporaries come on top."""
DEVICE_NAMES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
"""What Windows opens a device by, in any case and with any suffix."""
_JOINERS = "\u200c\u200d"
"""Characters without a shape that scripts and emoji need; all others hide what a name is."""


def find_name_fault(name: str) -> str:
    """Why a name cannot be a file's, as a clause after the name; empty where it can.

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
            return f"holds the character U+{ord(character):04X}, which cannot be seen"
    for side, character in (("begins", name[0]), ("ends", name[-1])):
        if character == "." or character.isspace():
            return f"{side} with a {'dot' if character == '.' else 'blank'}"
    if name.split(".", maxsplit=1)[0].rstrip().casefold() in DEVICE_NAMES:
        return "is a device's on Windows"
    return ""


def check_file_names(
    names: Iterable[str], kind: str, *, file: str | Path | None = None, cure: str = ""
) -> None:
    """Refuse names of one folder that cannot be files'; `kind` is what they name: `split`, `worker`.

    Two that differ only in case or in Unicode normal form are refused too: on many systems they are
    one file. `file` is where the names were read, and `cure` what to do, for the message.
    """
    names_by_key: dict[str, str] = {}
    for name in names:
        if fault := find_name_fault(name):
            what = f"{kind} {name!r} cannot be a file name: it {fault}"
            raise BadInput(what, file=file, cure=cure or f"rename the {kind}")
        other = names_by_key.setdefault(fold_name(name), name)
        if other != name:
            what = f"{kind}s {other!r} and {name!r} are one file name on many systems"
            raise BadInput(what, file=file, cure=cure or "rename one of them")


def fold_name(name: str) -> str:
    """What is the same for names that a file system may take for one: canonical caseless matching.

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
    place, root = os.path.realpath(path), os.path.realpath(folder)
    if root not in map(str, Path(place).parents):
        what = f"leads out of the folder that is written, to {place!r}"
        cure = "remove the link, or correct the name"
        raise BadInput(what, file=path, cure=cure)


def join_inside(folder: Path, name: str) -> Path:
    """The path of a file that a stored file names; raises where it leads out of the folder.

    The name may have parts, `suspects/jnli/tasks.jsonl`. What only other systems forbid is let
    through: the file is there already, or is told from others by its name alone.
    """
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise BadInput(
            f"{name!r} cannot be the name of a file", file=folder, cure="correct the name"
        )
    path = folder / name
    refuse_outside(path, folder)
    return path
