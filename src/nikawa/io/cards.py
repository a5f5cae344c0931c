"""The card of a dataset folder; all that is wrong with one is told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any, Literal, cast, get_args, get_origin

import msgspec

from nikawa.errors import BadInput, listed
from nikawa.io.atomic import atomic_write
from nikawa.io.json import plain_fault, read_json
from nikawa.records import Card

CARD = "card.json"
MADE_HERE = "made here: "
"""What comes before the command that made a dataset, where its card names a homepage."""
UNSAID = "not stated"
"""What a field holds of which nothing is known."""
SHOWN = "docs/records.md shows a whole card"
FIELDS = {field.name: field for field in msgspec.structs.fields(Card)}


def read_card(folder: Path) -> Card:
    """The card of a dataset folder."""
    given = read_fields(folder)
    missing = lacking(given)
    faults = [*([f"lacks {', '.join(missing)}"] if missing else ()), *wrong(given)]
    if faults:
        first = "" if len(faults) == 1 else "mend what is wrong, then "
        adds = f"{first}nikawa data card {quote(str(folder))} --overwrite adds what is missing, for you to fill in; "
        raise BadInput(
            "; ".join(faults), file=folder / CARD, cure=(adds if missing else "") + SHOWN
        )
    return msgspec.convert(given, Card)


def read_fields(folder: Path) -> dict[str, Any]:
    """What a card says, be it whole or not."""
    return read_json(folder / CARD, cast("type[dict[str, Any]]", dict), unique=True)


def lacking(given: Mapping[str, Any]) -> list[str]:
    """The fields that must be there and are not."""
    return [name for name, field in FIELDS.items() if field.required and name not in given]


def wrong(given: Mapping[str, Any]) -> Iterator[str]:
    """What is said as a card cannot say it."""
    strange = [name for name in given if name not in FIELDS]
    if strange:
        yield f"no card has {listed(map(_named, strange))}"
    for name in (name for name in FIELDS if name in given):
        try:
            msgspec.convert(given[name], FIELDS[name].type)
        except msgspec.ValidationError as problem:
            yield f"{name}: {_told(given[name], FIELDS[name].type) or plain_fault(str(problem))}"
    if given.get("languages") in ([], ()):
        yield 'names no language (write e.g. "languages": ["ja"])'


def _told(value: object, kind: Any) -> str:
    """What is wrong with a word that is none of a few; empty for any other fault."""
    closed = get_origin(kind) is Literal and isinstance(value, str)
    return f"{value!r} is none of {', '.join(get_args(kind))}" if closed else ""


def _named(strange: str) -> str:
    """A name no field has, with the one that may be meant."""
    near = get_close_matches(strange.casefold(), FIELDS, n=1)
    return f"{strange!r} (is it {near[0]!r}?)" if near else repr(strange)


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
    with atomic_write(folder / CARD, overwrite=overwrite) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")


def making_command(card: Card) -> str:
    """The command that made a dataset, as its card says; empty where it says none."""
    return card.homepage.removeprefix(MADE_HERE) if card.homepage.startswith(MADE_HERE) else ""
