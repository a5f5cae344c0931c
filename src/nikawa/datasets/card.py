"""The card of a dataset that is not registered: written for a folder of splits, completed, filled
in field by field.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.load import guess_language, refuse_flat_tables
from nikawa.datasets.task_lookup import EXAMPLES_PEEKED
from nikawa.errors import BadInput, suggest
from nikawa.io.cards import (
    CARD,
    UNSAID,
    WHOLE_CARD,
    blank_card,
    find_faults,
    read_fields,
    write_card,
)
from nikawa.io.file_names import find_name_fault, to_file_name
from nikawa.io.folders import check_split_names, split_files
from nikawa.io.records import read_examples
from nikawa.records import Card, Record

SETTABLE_FIELDS = (
    "name",
    "title",
    "version",
    "licence",
    "citation",
    "homepage",
    "description",
    "labels",
    "workers",
    "workers_are",
    "source",
)
"""Fields that a user may set for a dataset without a card."""


class CardReport(Record, frozen=True, kw_only=True):
    """A card that was written."""

    path: str
    card: Card
    """The card now, including its previous content."""
    unstated: tuple[str, ...]
    """Fields of which nothing is stated yet."""


def make_card(
    folder: Path, stated: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> CardReport:
    """Write the card of a folder of splits.

    With `overwrite`, an existing card is completed and keeps its fields.
    `stated` are fields that the user sets, from `SETTABLE_FIELDS`. Other fields are
    marked as not stated.
    """
    if folder.exists():
        refuse_flat_tables(folder)
    if not folder.is_dir() or not split_files(folder):
        cure = "pass a folder with train.jsonl, dev.jsonl, test.jsonl or other splits"
        raise BadInput(
            "holds no split" if folder.is_dir() else "is not a folder", file=folder, cure=cure
        )
    check_split_names(split_files(folder), folder)
    path = folder / CARD
    if path.exists() and not overwrite:
        cure = "pass --overwrite to add the missing fields; existing fields stay"
        raise BadInput("already exists", file=path, cure=cure)
    name = to_file_name(folder.resolve().name.replace(":", "-"))
    blank = blank_card(name, _guess_language(folder))
    before = read_fields(folder) if path.exists() else {}
    if faults := "; ".join(find_faults(before)):
        raise BadInput(faults, file=path, cure=WHOLE_CARD)
    if "name" not in (stated or {}):
        check_dataset_name(str(before.get("name", blank.name)), path)
    title = {"title": before["name"]} if "name" in before else {}  # the title follows the name
    card = msgspec.convert({**msgspec.to_builtins(blank), **title, **before}, Card)
    card = fill_card(card, stated or {})
    write_card(card, folder, overwrite=overwrite)
    unstated = [name for name in card.__struct_fields__ if getattr(card, name) == UNSAID]
    return CardReport(path=str(path), card=card, unstated=tuple(unstated))


def _guess_language(folder: Path) -> str:
    """The language of the first examples."""
    for file in split_files(folder).values():
        language = guess_language(islice(read_examples(file), EXAMPLES_PEEKED))
        if language != "und":
            return language
    return "und"


def fill_card(
    card: Card, stated: Mapping[str, str], facts: Mapping[str, Any] | None = None
) -> Card:
    """Return the card with known `facts` and the user's fields, which take precedence.

    A new name is also the title. Raises `BadInput` for a field that cannot be set, and for invalid values.
    """
    for name in stated:
        if name not in SETTABLE_FIELDS:
            raise BadInput(f"a card has no field {name!r}", cure=suggest(name, SETTABLE_FIELDS))
    values = {**msgspec.to_builtins(card), **(facts or {}), **stated}
    check_dataset_name(values["name"])
    if "name" in stated and card.title == card.name:
        values["title"] = stated.get("title", stated["name"])
    if faults := "; ".join(find_faults(values)):
        raise BadInput(f"the card is not valid: {faults}", cure=WHOLE_CARD)
    return msgspec.convert(values, Card)


def check_dataset_name(name: str, file: Path | None = None) -> None:
    """Refuse a name that no dataset can have: it may name files, and a colon parts it from a split."""
    fault = "holds ':'" if ":" in name else find_name_fault(name)
    if fault:
        what = f"{name!r} cannot name a dataset: it {fault}"
        raise BadInput(what, file=file, cure="choose a name without it, such as my-nli")
