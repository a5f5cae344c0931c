"""The card of a folder of splits: written, or completed, so that every field is there to be filled in."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import msgspec

from nikawa.datasets.custom import EXAMPLES_PEEKED
from nikawa.datasets.load import guess_language
from nikawa.errors import BadInput
from nikawa.io.cards import CARD, SHOWN, UNSAID, blank_card, read_fields, write_card, wrong
from nikawa.io.folders import split_files
from nikawa.io.records import read_examples
from nikawa.records import Card, Dataset, Record
from nikawa.splitting.built_gold import check_name, described


class CardReport(Record, frozen=True, kw_only=True):
    """A card that was written."""

    path: str
    card: Card
    unstated: tuple[str, ...]
    """Fields of which nothing is stated yet."""


def make_card(
    folder: Path, said: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> CardReport:
    """Write the card of a folder of splits; with `overwrite` one that is there is completed and keeps what it says."""
    if not folder.is_dir() or not split_files(folder):
        cure = "name a folder with train.jsonl, dev.jsonl, test.jsonl or other splits in it"
        raise BadInput(
            "holds no split" if folder.is_dir() else "is no folder", file=folder, cure=cure
        )
    if (folder / CARD).exists() and not overwrite:
        cure = "--overwrite adds the fields it lacks, and keeps what it says"
        raise BadInput("exists already", file=folder / CARD, cure=cure)
    blank = blank_card(folder.resolve().name.replace(":", "-"), _language(folder))
    given = _given(folder)
    if "name" not in (said or {}):
        check_name(str(given.get("name", blank.name)), folder / CARD)
    card = _said(blank, given, said or {})
    write_card(card, folder, overwrite=overwrite)
    unstated = [name for name in card.__struct_fields__ if getattr(card, name) == UNSAID]
    return CardReport(path=str(folder / CARD), card=card, unstated=tuple(unstated))


def _given(folder: Path) -> dict[str, object]:
    """What the card says that is there."""
    given = read_fields(folder) if (folder / CARD).exists() else {}
    if faults := "; ".join(wrong(given)):
        raise BadInput(faults, file=folder / CARD, cure=SHOWN)
    return given


def _said(blank: Card, given: Mapping[str, object], said: Mapping[str, str]) -> Card:
    """The card with what was there, then what is said now; the title follows the name."""
    values = {
        **msgspec.to_builtins(blank),
        **({"title": given["name"]} if "name" in given else {}),
        **given,
    }
    card = msgspec.convert(values, Card)
    whole = Dataset(name=card.name, language="", version=card.version, card=card, splits={})
    return described(whole, None, said).card


def _language(folder: Path) -> str:
    """The language of the first examples."""
    found = (
        guess_language(islice(read_examples(file), EXAMPLES_PEEKED))
        for file in split_files(folder).values()
    )
    return next((language for language in found if language != "und"), "und")
