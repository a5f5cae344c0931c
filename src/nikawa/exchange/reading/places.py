"""Files that a task names: found near the task, and never outside its folder, the folder above it, or the working directory."""

from __future__ import annotations

from pathlib import Path

from nikawa.exchange.reading.definition import ReadFault

MAX_DEFINITION_BYTES = 1 << 20
"""The size of a task's file, in bytes; the data is in other files."""


def find_near(name: str, task: Path, *, cure: str, is_part: bool = False) -> Path:
    """The file or folder that a task names; raises `ReadFault` if it is missing or outside.

    A relative path may count from the folder of the task or from the working directory, where the tool would run. A part of the
    definition (`is_part`) counts from the folder of the file that names it.
    """
    home = task.parent.resolve()
    bases = [home] if is_part else list(dict.fromkeys((home, Path.cwd())))
    roots = [
        root for root in (home, home.parent, Path.cwd()) if root != root.parent or root == home
    ]
    try:
        places = dict.fromkeys((base / name).resolve() for base in bases)
        inside = [place for place in places if any(place.is_relative_to(root) for root in roots)]
        present = [place for place in inside if place.exists()]
    except (OSError, ValueError):  # too long a name, or a NUL in it
        raise ReadFault(f"{name!r} is not the name of a file", cure) from None
    if len(present) == 1:
        return present[0]
    if present:
        what = f"{name!r} exists in the folder of the task and in the working directory"
        raise ReadFault(what, cure)
    if not inside:
        raise ReadFault(f"{name!r} is outside the folder of the task", cure)
    raise ReadFault(f"{name!r} does not exist", cure)


def read_definition_text(path: Path) -> str:
    """The text of a task's file."""
    if not path.is_file():
        raise ReadFault("is not a file", "name the file of a task", str(path))
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_DEFINITION_BYTES else None
        if data is None:
            what = f"has {path.stat().st_size:,} bytes; a task has at most {MAX_DEFINITION_BYTES:,}"
            raise ReadFault(what, "put the data into a file of its own", str(path))
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadFault("is not UTF-8", "save it as UTF-8", str(path)) from None
    except OSError as problem:
        raise ReadFault(f"cannot be read: {problem.strerror}", "", str(path)) from None
