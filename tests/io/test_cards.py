"""Cards that lack something, or say what no card says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.errors import BadInput
from nikawa.io.cards import CARD, blank_card, read_card, write_card

REQUIRED = "name, title, version, languages, licence, citation, homepage, description, labels, workers, workers_are, source"


def complaint(folder: Path, card: Any) -> str:
    (folder / CARD).write_text(json.dumps(card), "utf-8")
    with pytest.raises(BadInput) as caught:
        read_card(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder / CARD}: ")
    return said.removeprefix(f"{folder / CARD}: ")


def whole(**changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = msgspec.to_builtins(blank_card("bays", "ja"))
    return {**given, **changed}


def test_all_that_is_missing_is_told_in_one_line(tmp_path: Path) -> None:
    adds = f"nikawa data card {tmp_path} --overwrite adds the missing fields for you to fill in"
    assert (
        complaint(tmp_path, {}) == f"lacks {REQUIRED}; {adds}; docs/records.md shows a whole card"
    )
    some = {
        name: value
        for name, value in whole().items()
        if name not in ("title", "source", "problems")
    }
    assert complaint(tmp_path, some).startswith("lacks title, source; nikawa data card")


def test_what_is_wrong_is_told_beside_it(tmp_path: Path) -> None:
    given = whole(languages="ja", workers_are="cats", license="CC0", colour="red")
    del given["licence"]
    said = complaint(tmp_path, given)
    assert said.startswith(
        "lacks licence; has unknown fields: 'license' (is it 'licence'?), 'colour'; "
    )
    assert (
        "; languages: expected `array`, got `str`; workers_are: 'cats' is not one of persons, columns, "
        in said
    )
    assert "; correct the card, then nikawa data card" in said


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (
            whole(languages=[]),
            'has no language (write e.g. "languages": ["ja"]); docs/records.md shows a whole card',
        ),
        (
            whole(version=1.0),
            "version: expected `str`, got `float`; docs/records.md shows a whole card",
        ),
        (
            whole(problems=["a", 1]),
            "problems: expected `str`, got `int` at [1]; docs/records.md shows a whole card",
        ),
        ([], "expected `object`, got `array`; see docs/records.md for the fields"),
    ],
)
def test_a_whole_card_with_a_fault(tmp_path: Path, card: Any, said: str) -> None:
    assert complaint(tmp_path, card) == said


def test_a_name_twice(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text('{"name": "a", "name": "b"}', "utf-8")
    with pytest.raises(BadInput, match="the name 'name' occurs twice"):
        read_card(tmp_path)


def test_there_and_back(tmp_path: Path) -> None:
    card = blank_card("bays", "ko")
    write_card(card, tmp_path)
    assert read_card(tmp_path) == card
    fields = json.loads((tmp_path / CARD).read_text("utf-8"))
    assert ", ".join(fields) == f"{REQUIRED}, problems"
