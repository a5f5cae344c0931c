"""Imported by every Python process of a test node: it refuses to open the files of the machine that sends the work.

All test nodes are on one machine. Without this, a path that did not travel would be readable anyway.
"""

import os
import sys

FORBIDDEN = tuple(filter(None, os.environ.get("NIKAWA_TEST_FORBIDDEN", "").split(os.pathsep)))


def refuse_forbidden(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir", "os.chdir") and arguments:
        path = arguments[0]
        if isinstance(path, str | bytes | os.PathLike):
            text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100  (pathlib is not imported this early)
            if text.startswith(FORBIDDEN):
                raise PermissionError(13, "a node of the test must not see this", text)


if FORBIDDEN:
    sys.addaudithook(refuse_forbidden)
