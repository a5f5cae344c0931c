"""Where a number is from: `FILE#/pointer`, an address from the folder of the page and a place in the file (RFC 6901).

Several places are separated by blanks; a blank in a name is written as %20.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup

from nikawa.reporting.markup import fragment

NUMBERS = "numbers.json"
MAX_FILES_NAMED = 3
"""Files that a line of sources names one by one."""
_UNSAFE = re.compile(r'[\x00-\x20%#"<>?\\^`{|}\x7f]')


def address(path: str) -> str:
    """A path as part of an address: nothing in it ends the address early.

    >>> address("my runs/a#1.json")
    'my%20runs/a%231.json'
    """
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)


def inside(place: str, *steps: str | int) -> str:
    """A place further inside of another one; empty inside of nowhere.

    >>> inside("numbers.json", "sections", 0, "a/b")
    'numbers.json#/sections/0/a~1b'
    """
    if not place:
        return ""
    below = "".join(
        f"/{address(str(step).replace('~', '~0').replace('/', '~1'))}" for step in steps
    )
    return place + below if "#" in place or not below else f"{place}#{below}"


def source_line(*places: str) -> Markup:
    """The source line below a table or a plot, also in print: the files it comes from."""
    every = list(dict.fromkeys(one for place in places for one in place.split(" ") if one))
    return fragment("source_line", links=list(list_links(every))) if every else Markup("")


def list_links(places: Iterable[str]) -> Iterable[Markup]:
    """One link per file; many files of one name (those of runs) or of one folder (analyses) share a link."""
    pointers: dict[str, list[str]] = {}
    for place in places:
        file, _, pointer = place.partition("#")
        pointers.setdefault(file, []).append(pointer)
    for (name, folder), files in group_alike(pointers).items():
        if len(files) <= MAX_FILES_NAMED:
            for file in files:
                yield fragment("file_link", file=file, pointer=_common(pointers[file]))
        elif name:
            yield fragment("runs_link", name=name, count=len(files))
        else:
            inner = _common([pointer for file in files for pointer in pointers[file]])
            yield fragment("folder_link", folder=folder, count=len(files), pointer=inner)


def group_alike(files: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Files by name where many have the same, else by folder."""
    names = Counter(file.rpartition("/")[2] for file in files)
    found: dict[tuple[str, str], list[str]] = {}
    for file in files:
        folder, slash, name = file.rpartition("/")
        key = (name, "") if names[name] > MAX_FILES_NAMED else ("", folder + slash)
        found.setdefault(key, []).append(file)
    return found


def _common(pointers: list[str]) -> str:
    """The innermost place that contains all of them."""
    split = [pointer.split("/") for pointer in pointers]
    kept: list[str] = []
    for steps in zip(*split, strict=False):
        if len(set(steps)) > 1:
            break
        kept.append(steps[0])
    return "/".join(kept)
