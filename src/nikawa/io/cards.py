"""Read and write the card of a dataset folder; an error lists all faults of a card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any, Literal, cast, get_args, get_origin

import msgspec

from nikawa.errors import BadInput, list_names
from nikawa.io.atomic import atomic_write
from nikawa.io.json import plain_fault, read_json
from nikawa.records import Card

CARD = "card.json"
MADE_HERE = "made here: "
"""The prefix of the command that made a dataset, in the homepage field of its card."""
UNSAID = "not stated"
"""The value of an unknown field."""
WHOLE_CARD = "docs/records.md shows a whole card"
FIELDS = {field.name: field for field in msgspec.structs.fields(Card)}


def read_card(folder: Path) -> Card:
    """The card of a dataset folder.

    Raises BadInput with all that is missing or wrong, and the command that adds it.
    """
    fields = read_fields(folder)
    missing = find_missing(fields)
    faults = [*([f"lacks {', '.join(missing)}"] if missing else ()), *find_faults(fields)]
    if faults:
        cure = WHOLE_CARD
        if missing:
            first = "" if len(faults) == 1 else "correct the card, then "
            command = f"nikawa data card {quote(str(folder))} --overwrite"
            cure = f"{first}{command} adds the missing fields for you to fill in; {cure}"
        raise BadInput("; ".join(faults), file=folder / CARD, cure=cure)
    return msgspec.convert(fields, Card)


def read_fields(folder: Path) -> dict[str, Any]:
    """Read the fields of a card, complete or not."""
    return read_json(folder / CARD, cast("type[dict[str, Any]]", dict), unique=True)


def find_missing(fields: Mapping[str, Any]) -> list[str]:
    """The fields that must be there and are not."""
    return [name for name, field in FIELDS.items() if field.required and name not in fields]


def find_faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """Return the faults of the fields of a card, one line per fault."""
    strange = []
    for name in fields:
        if name not in FIELDS:
            near = get_close_matches(name.casefold(), FIELDS, n=1)
            strange.append(f"{name!r} (is it {near[0]!r}?)" if near else repr(name))
    if strange:
        yield f"has unknown fields: {list_names(strange)}"
    for name, field in FIELDS.items():
        if name not in fields:
            continue
        value = fields[name]
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError as problem:
            if get_origin(field.type) is Literal and isinstance(value, str):
                yield f"{name}: {value!r} is not one of {', '.join(get_args(field.type))}"
            else:
                yield f"{name}: {plain_fault(str(problem))}"
    if fields.get("languages") in ([], ()):
        yield 'has no language (write e.g. "languages": ["ja"])'


def blank_card(name: str, language: str) -> Card:
    """A card on which nothing is stated but a name and a language."""
    return Card(
        name=name,
        title=name,
        version="0",
        languages=(language,),
        licence=UNSAID,
        citation=UNSAID,
        homepage=UNSAID,
        description=UNSAID,
        labels=UNSAID,
        workers=UNSAID,
        workers_are="none",
        source=UNSAID,
    )


def write_card(card: Card, folder: Path, *, overwrite: bool = False) -> None:
    """Write `card.json`."""
    with atomic_write(folder / CARD, overwrite=overwrite, inside=folder) as stream:
        stream.write(format_card(card))


def format_card(card: Card) -> bytes:
    """The content of `card.json`."""
    return msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n"


def making_command(card: Card) -> str:
    """Return the command that made a dataset according to its card, or an empty text."""
    return card.homepage.removeprefix(MADE_HERE) if card.homepage.startswith(MADE_HERE) else ""
