"""Where a number is from: `FILE#/pointer`, an address from the folder of the page and a place in the file (RFC 6901).

Several places stand one after another with blanks between them; a blank in a name is written %20.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from nikawa.reporting.markup import text

NUMBERS = "numbers.json"
NAMED = 3
"""Files that a line of sources names one by one."""
_UNSAFE = re.compile(r'[\x00-\x20%#"<>?\\^`{|}\x7f]')


def address(path: str) -> str:
    """A path as part of an address: nothing in it ends the address early."""
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)


def inside(place: str, *steps: str | int) -> str:
    """A place further inside of another one; empty inside of nowhere."""
    if not place:
        return ""
    below = "".join(
        f"/{address(str(step).replace('~', '~0').replace('/', '~1'))}" for step in steps
    )
    return place + below if "#" in place or not below else f"{place}#{below}"


def source(place: str, said: str = "") -> str:
    """Attributes that tell where a number is from; the script of the page adds the place to what the pointer shows."""
    shown = f' title="{text(said)}"' if said else ""
    return f' data-src="{text(place)}"{shown}' if place else shown


def source_line(*places: str) -> str:
    """What stands below a table or a plot, on paper too: the files it is from."""
    found = list(dict.fromkeys(one for place in places for one in place.split(" ") if one))
    return f'<p class="source">Source: {", ".join(_links(found))}</p>' if found else ""


def _links(places: Iterable[str]) -> Iterable[str]:
    """A link a file; many files of one name (those of runs) or of one folder (analyses) in one."""
    files: dict[str, list[str]] = {}
    for place in places:
        file, _, pointer = place.partition("#")
        files.setdefault(file, []).append(pointer)
    for (name, folder), found in _alike(files).items():
        if len(found) <= NAMED:
            yield from (_link(file, files[file]) for file in found)
        elif name:
            yield f'<code>{text(name)}</code> of <a href="#runs">{len(found)} runs</a>'
        else:
            inner = _common([pointer for file in found for pointer in files[file]])
            yield f'{len(found)} files in <a href="{text(folder)}">{text(folder)}</a>{_at(inner)}'


def _alike(files: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Files by name where many have the same, else by folder."""
    names = Counter(file.rpartition("/")[2] for file in files)
    found: dict[tuple[str, str], list[str]] = {}
    for file in files:
        folder, slash, name = file.rpartition("/")
        key = (name, "") if names[name] > NAMED else ("", folder + slash)
        found.setdefault(key, []).append(file)
    return found


def _link(file: str, pointers: list[str]) -> str:
    return f'<a href="{text(file)}">{text(file)}</a>{_at(_common(pointers))}'


def _at(pointer: str) -> str:
    return text(f" #{pointer}") if pointer else ""


def _common(pointers: list[str]) -> str:
    """The innermost place that holds all of them."""
    split = [pointer.split("/") for pointer in pointers]
    kept: list[str] = []
    for steps in zip(*split, strict=False):
        if len(set(steps)) > 1:
            break
        kept.append(steps[0])
    return "/".join(kept)
