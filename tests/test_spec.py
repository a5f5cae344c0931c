"""One set of rules for what a user may name a dataset by."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from nikawa import spec
from nikawa.datasets.names import custom_path, spec_of
from nikawa.errors import BadInput, UnknownName
from nikawa.spec import Spec, name_and_split, parse_spec

KNOWN = {"jnli", "jsick"}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_examples_of_the_docstrings() -> None:
    assert doctest.testmod(spec).failed == 0


@pytest.mark.parametrize(
    ("text", "name", "split", "path"),
    [
        ("jnli", "jnli", None, None),
        ("jnli:dev", "jnli", "dev", None),
        ("jnli@a.json", "jnli", None, "a.json"),
        ("jnli:dev@a.json", "jnli", "dev", "a.json"),
        ("jnli@a@b:c.json", "jnli", None, "a@b:c.json"),
        ("./jnli", "", None, "jnli"),
        ("jnli.jsonl", "", None, "jnli.jsonl"),
        ("data/jnli", "", None, "data/jnli"),
        ("other@a.json", "", None, "other@a.json"),
        ("mine:dev", "", None, "mine:dev"),
    ],
)
def test_names_and_paths(text: str, name: str, split: str | None, path: str | None) -> None:
    assert parse_spec(text, KNOWN) == Spec(text, name, split, None if path is None else Path(path))


def test_registered_names_win_over_files_of_the_working_directory() -> None:
    Path("jnli").mkdir()
    assert parse_spec("jnli", KNOWN).name == "jnli"
    assert parse_spec("jnli:dev", KNOWN).path is None
    assert parse_spec("./jnli", KNOWN) == Spec("./jnli", path=Path("jnli"))
    assert parse_spec("./jnli:dev", KNOWN) == Spec("./jnli:dev", split="dev", path=Path("jnli"))


def test_a_split_follows_the_last_colon_of_a_path() -> None:
    Path("a:b").mkdir()
    assert parse_spec("a:b", KNOWN) == Spec("a:b", path=Path("a:b"))
    assert parse_spec("a:b:dev", KNOWN) == Spec("a:b:dev", split="dev", path=Path("a:b"))
    assert parse_spec("a:b:", KNOWN).split is None


@pytest.mark.parametrize(
    ("text", "what"), [("jnli:", "split after :"), ("jnli@", "file after @"), ("jnli:@", "file")]
)
def test_a_name_that_breaks_off(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=f"has no {what}"):
        parse_spec(text, KNOWN)


@pytest.mark.parametrize(
    ("text", "split", "made"),
    [
        ("jnli", "dev", "jnli:dev"),
        ("jnli:dev", "dev", "jnli:dev"),
        ("jnli:dev", None, "jnli:dev"),
        ("jnli@a.json", "dev", "jnli:dev@a.json"),
        ("./jnli", "dev", "./jnli:dev"),
        ("mine.jsonl", "dev", "mine.jsonl:dev"),
    ],
)
def test_a_split_that_is_named_apart(text: str, split: str | None, made: str) -> None:
    Path("jnli").mkdir()
    Path("mine.jsonl").touch()
    parsed = parse_spec(text, KNOWN).with_split(split)
    assert (str(parsed), parsed.split) == (made, "dev")
    assert parse_spec(str(parsed), KNOWN) == parsed


@pytest.mark.parametrize("text", ["jnli:test", "jnli:test@a.json", "mine.jsonl:test"])
def test_two_splits_are_refused(text: str) -> None:
    Path("mine.jsonl").touch()
    with pytest.raises(BadInput, match="name different splits"):
        parse_spec(text, KNOWN).with_split("dev")


def test_a_reader_is_named_with_its_file() -> None:
    assert parse_spec("jnli@a.json", KNOWN).reader == "jnli"
    assert not parse_spec("jnli", KNOWN).reader
    assert not parse_spec("a.json", KNOWN).reader


def test_a_part_is_less_than_a_registered_dataset() -> None:
    Path("mine").mkdir()
    parts = [
        text
        for text in ("jnli", "jnli:dev", "jnli@a", "mine:dev")
        if parse_spec(text, KNOWN).is_part
    ]
    assert parts == ["jnli:dev", "jnli@a"]


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("jnly", UnknownName, "did you mean 'jnli'"),
        ("jnly:dev", UnknownName, "did you mean 'jnli'"),
        ("jnly@a.json", UnknownName, "did you mean 'jnli'"),
        ("a/jnli", BadInput, "no such file or folder"),
        ("mine.jsonl", BadInput, "no such file or folder"),
        ("", BadInput, "is not a dataset"),
        (" ", BadInput, "is not a dataset"),
        (":dev", BadInput, "is not a dataset"),
    ],
)
def test_a_path_that_is_not_there(text: str, kind: type[BadInput], what: str) -> None:
    with pytest.raises(kind, match=what):
        parse_spec(text, KNOWN).existing_path(KNOWN)


def test_splits_of_registered_datasets_have_their_canonical_names() -> None:
    assert spec_of("jnli:valid").split == "dev"
    assert spec_of("jnli:valid", "valid").split == "dev"
    assert spec_of("jnli", "validation").split == "dev"


def test_splits_of_custom_datasets_keep_theirs() -> None:
    Path("mine").mkdir()
    assert custom_path("mine:valid") == (Path("mine"), "valid")


def test_names_of_sets() -> None:
    assert name_and_split("data/mine:train") == ("data/mine", "train")
    assert name_and_split("a:b:c") == ("a", "b:c")
