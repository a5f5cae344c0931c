"""`nikawa data card`: a card for splits of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nikawa.cli.terminal.options import parse_card_fields
from nikawa.datasets import load
from nikawa.datasets.card import make_card
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example

Nikawa = Callable[..., CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two splits, the first without a word of Korean, and no card."""
    path = tmp_path / "my: bays"
    path.mkdir()
    write_records(
        path / "train.jsonl", [Example(id="1", inputs={"text": "123"}, gold={"label": "yes"})]
    )
    write_records(
        path / "test.jsonl", [Example(id="1", inputs={"text": "배가 온다"}, gold={"label": "yes"})]
    )
    return path


def test_a_folder_without_a_card_gets_one(folder: Path, nikawa: Nikawa) -> None:
    assert (
        "is a folder without card.json; nikawa data card '"
        in nikawa("data", "check", str(folder)).stderr
    )
    said = nikawa(
        "data", "card", str(folder), "--say", "licence=CC BY 4.0", "--say", "workers_are=persons"
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert (
        "Not stated yet: citation, homepage, description, labels, workers, source;" in said.stdout
    )
    card = load(str(folder)).card
    assert (card.name, card.title, card.languages) == ("my- bays", "my- bays", ("ko",))
    assert (card.licence, card.workers_are, card.version) == ("CC BY 4.0", "persons", "0")
    assert nikawa("data", "check", str(folder)).returncode == 0


def test_a_card_keeps_what_it_says(folder: Path, nikawa: Nikawa) -> None:
    given = '{"name": "bays", "languages": ["ja", "ko"], "problems": ["few"], "source": "logs"}'
    (folder / "card.json").write_text(given, "utf-8")
    refused = nikawa("data", "card", str(folder))
    assert refused.returncode == 2
    assert (
        "already exists; pass --overwrite to add the missing fields; existing fields stay"
        in refused.stderr
    )
    assert (folder / "card.json").read_text("utf-8") == given
    told = json.loads(nikawa("data", "card", str(folder), "--overwrite", "--json").stdout)
    assert told["unstated"] == [
        "licence",
        "citation",
        "homepage",
        "description",
        "labels",
        "workers",
    ]
    card = load(str(folder)).card
    assert (card.name, card.title, card.languages) == ("bays", "bays", ("ja", "ko"))
    assert (card.problems, card.source) == (("few",), "logs")


def test_the_title_follows_the_name_that_is_said(folder: Path) -> None:
    made = make_card(folder, {"name": "bays"})
    assert (made.card.name, made.card.title) == ("bays", "bays")
    assert make_card(folder, overwrite=True) == made
    assert (
        make_card(folder, {"title": "Bays", "source": "logs"}, overwrite=True).card.title == "Bays"
    )


@pytest.mark.parametrize(
    ("card", "say", "said"),
    [
        (
            '{"licens": "CC0", "version": 1}',
            {},
            "has unknown fields: 'licens' .is it 'licence'..; version: expected `str`, got `int`",
        ),
        ("{", {}, "the JSON is incomplete"),
        ("{}", {"colour": "red"}, "a card has no field 'colour'"),
        (
            "{}",
            {"workers_are": "cats"},
            "the card is not valid: workers_are: 'cats' is not one of persons, columns, simulated, unknown, none; docs",
        ),
        ("{}", {"name": "a/b"}, "cannot name a dataset"),
        ('{"name": "a/b"}', {"source": "logs"}, "card.json: 'a/b' cannot name a dataset"),
    ],
)
def test_a_card_that_cannot_be_is_left_as_it_is(
    folder: Path, card: str, say: dict[str, str], said: str
) -> None:
    (folder / "card.json").write_text(card, "utf-8")
    with pytest.raises(BadInput, match=said):
        make_card(folder, say, overwrite=True)
    assert (folder / "card.json").read_text("utf-8") == card


def test_no_folder_of_splits(tmp_path: Path, nikawa: Nikawa) -> None:
    for place, what in ((tmp_path, "holds no split"), (tmp_path / "none", "is not a folder")):
        with pytest.raises(BadInput, match=rf"{what}; pass a folder with train\.jsonl"):
            make_card(place)
    assert (
        "--say 'licence' has no value"
        in nikawa("data", "card", str(tmp_path), "--say", "licence").stderr
    )


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["licence= "], "--say 'licence= ' has no value"),
        (
            ["source=logs", "licence=CC0", " licence=CC BY"],
            "--say sets 'licence' twice; set each field once",
        ),
    ],
)
def test_a_field_is_said_once_and_says_something(texts: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_card_fields(texts, "--say")
