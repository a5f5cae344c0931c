"""Where a run comes to fewer different problems than asked for: empty splits, templates without words, problems twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from nikawa.errors import BadInput
from nikawa.generation.journal import final_path
from nikawa.io.lines import read_raw_lines

if TYPE_CHECKING:
    from nikawa.generation.job import Plan


_START = b'{"id":"'
"""How every line begins; the number of its cell and a hyphen follow."""


class _Problem(msgspec.Struct):
    """What is compared of a line."""

    inputs: dict[str, str]


def refuse_empty(job: Plan) -> None:
    """No split may be asked for of which no problem can be made: nothing could read its file."""
    first = job.maker.first_split
    for split, places in job.places.items():
        if any(place.n for place in places):
            continue
        leave = f"leave it out with -n {split}=0"
        if not places:
            raise BadInput(
                f"{split}: no times fill any of its cells", cure=f"change the formats, or {leave}"
            )
        apart = "" if split == first else f" that would keep it apart from {first}"
        what = f"{split}: no problem can be made, the templates have no words{apart}"
        raise BadInput(what, cure=f"add an {{agent}} or a {{noun}}, or {leave}")


def untested(job: Plan) -> dict[str, tuple[str, ...]]:
    """Splits but the first to the templates they have no problem of, though they have cells."""
    found: dict[str, tuple[str, ...]] = {}
    for split, places in job.places.items():
        if split == job.maker.first_split:
            continue
        made = {place.cell.template.id for place in places if place.n}
        without = dict.fromkeys(place.cell.template.id for place in places)
        names = tuple(name for name in without if name not in made)
        if names:
            found[split] = names
    return found


def repeated(job: Plan, out: Path) -> dict[str, int]:
    """Splits to the problems whose texts stand there once already; read only where words come up again."""
    found: dict[str, int] = {}
    decode = msgspec.json.Decoder(_Problem).decode
    for split, places in job.places.items():
        doubtful = {
            f"{place.number}".encode() for place in places if job.maker.returns(split, place)
        }
        if not doubtful:
            continue
        seen: set[int] = set()
        count = 0
        for _, raw in read_raw_lines(final_path(out, split)):
            if raw[len(_START) : raw.find(b"-", len(_START))] in doubtful:
                inputs = decode(raw).inputs
                count += 1
                seen.add(hash((inputs["premise"], inputs["hypothesis"])))
        if count > len(seen):
            found[split] = count - len(seen)
    return found
