"""Names that become file names: what is refused, what is made of any name, and that no path leads out of its folder."""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, atomic_write, recover, staged_files
from nikawa.io.cards import blank_card
from nikawa.io.file_names import (
    MAX_NAME_BYTES,
    check_file_names,
    find_name_fault,
    join_inside,
    refuse_outside,
    to_file_name,
)
from nikawa.io.folders import check_split_names, write_folder
from nikawa.io.judgements.doccano import write_doccano
from nikawa.records import Dataset, Example, Judgement

GOOD = (
    "train",
    "訓練",
    "학습-1",
    "한국어",  # decomposed, as macOS writes it
    "a b",
    "x.y",
    "-rf",
    "コム1",
    "👩‍👧",
    "null",
    "console",
    "é" * 100,
)
BAD = (
    "",
    ".",
    "..",
    "/",
    "a/b",
    "/../../x",
    "a\\b",
    "x\0",
    "a\nb",
    "a\x1b[31m",
    "a\x7f",
    "a\u2028b",
    "a\u202eb",
    "a\u200bb",
    "\ufeffa",
    "\udcff",
    " a",
    "a ",
    "\u3000a",
    ".a",
    "a.",
    "nul",
    "CON",
    "Com1.txt",
    "lpt¹",
    "aux .x",
    "é" * 101,
    "x" * 500_000,
)


@pytest.mark.parametrize("name", GOOD)
def test_a_name_that_can_be_a_files(name: str) -> None:
    assert find_name_fault(name) == ""
    assert to_file_name(name) == name
    check_file_names([name], "split")


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_cannot(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"pack\.toml: split .* cannot be a file name: it "
    ) as problem:
        check_file_names(["train", name], "split", file="pack.toml")
    assert "\n" not in str(problem.value)
    assert len(str(problem.value)) < 400
    made = to_file_name(name)
    assert not find_name_fault(made)
    (tmp_path / made).touch()


@pytest.mark.parametrize(
    "pair", [("Dev", "dev"), ("が", "か\u3099"), ("Straße", "STRASSE"), ("É", "e\u0301")]
)
def test_two_names_that_many_systems_take_for_one(pair: tuple[str, str]) -> None:
    with pytest.raises(
        BadInput, match="are the same file name on many systems; rename one of them"
    ):
        check_file_names(pair, "split")
    check_file_names(("カ", "ｶ", "か"), "split")  # no file system takes these for one


@pytest.mark.parametrize("name", ["lineage", "judgements"])
def test_a_split_that_nothing_would_read_again(name: str) -> None:
    with pytest.raises(BadInput, match="which is reserved; rename the split"):
        check_split_names(["train", name])


@given(st.text(st.characters(exclude_categories=()), max_size=120), st.integers(20, MAX_NAME_BYTES))
def test_what_is_made_of_any_name_can_be_a_files(name: str, most: int) -> None:
    made = to_file_name(name, most)
    assert not find_name_fault(made)
    assert len(made.encode()) <= max(most, 20)
    assert made == name or made != to_file_name(name + "x", most)


def test_names_stay_different() -> None:
    names = ["a/b", "a\\b", "a-b", "a b/", "../a-b", "x" * 300, "x" * 301]
    assert len({to_file_name(name) for name in names}) == len(names)


# The second wall


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "..", "", "a//b", "x\0"])
def test_a_stored_name_does_not_lead_out(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        join_inside(tmp_path / "in", name)


def test_a_stored_name_may_have_parts(tmp_path: Path) -> None:
    assert join_inside(tmp_path, "suspects/a/b.json") == tmp_path / "suspects/a/b.json"


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "fine").symlink_to(folder / "x")
    refuse_outside(folder / "fine", folder)
    for name in ("link", "link/x", "../out/x", "."):
        with pytest.raises(BadInput, match="leads out of the output folder"):
            refuse_outside(folder / name, folder)


def test_the_writer_stays_in_the_folder_it_was_opened_for(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    place = tmp_path / "place"
    place.mkdir()

    def write(path: Path, inside: Path | None = None) -> None:
        with atomic_write(path, overwrite=True, inside=inside) as stream:
            stream.write(b"2")

    def write_below(target: AbstractContextManager[Path], name: str) -> None:
        with target as folder:
            write(folder / "fine.txt")
            (folder / "link").symlink_to(tmp_path)
            write(folder / name)

    for name in ("../victim", "../../victim", "link/victim"):
        with pytest.raises(BadInput, match="leads out"):
            write_below(atomic_folder(tmp_path / "made"), name)
        with pytest.raises(BadInput, match="leads out"):
            write_below(staged_files(place, [], "last"), name)
    (place / "card.json").symlink_to(victim)
    with pytest.raises(BadInput, match="leads out"):
        write(place / "card.json", inside=place)
    assert victim.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place", "victim"]


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real.txt")
    with atomic_write(tmp_path / "link") as stream:
        stream.write(b"1")
    assert (tmp_path / "real.txt").read_bytes() == b"1"


@pytest.mark.parametrize(
    "names", ['["../victim.jsonl"]', '["../victim.jsonl", 3, null]', "{}", "[" * 5000, "null", "x"]
)
def test_what_a_folder_says_was_added_reaches_no_other(names: str, tmp_path: Path) -> None:
    """A folder from elsewhere may hold the leftover of a writer, with a list of files to remove."""
    victim = tmp_path / "victim.jsonl"
    victim.write_text("mine")
    staging = tmp_path / "data" / ".new.x.part"
    (staging / "old").mkdir(parents=True)
    (staging / ".added.json").write_text(names)
    recover(tmp_path / "data", "card.json")
    assert victim.read_text() == "mine"
    assert not staging.exists()


# Writers that take their names from records


def dataset_with(*splits: str) -> Dataset:
    card = blank_card("x", "ja")
    rows = (Example(id="1", inputs={"text": "海"}),)
    return Dataset(
        name="x", language="ja", version="1", card=card, splits=dict.fromkeys(splits, rows)
    )


@pytest.mark.parametrize("name", [name for name in BAD if name != "\udcff"])
def test_no_dataset_is_written_with_such_a_split(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be a file name"):
        write_folder(dataset_with("train", name), tmp_path / "in" / "out")
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="are the same file name"):
        write_folder(dataset_with("train", "Train"), tmp_path / "in" / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a/b", "..", "x\0", "\u202ex", "nul", "x" * 300])
def test_no_file_is_called_by_such_a_worker(name: str, tmp_path: Path) -> None:
    judgements = [
        Judgement(example="1", worker=worker, question="label", answer="a")
        for worker in ("rin", name)
    ]
    with pytest.raises(BadInput, match="use pseudonyms, or choose a format with a single file"):
        write_doccano(tmp_path / "out", judgements)
    assert not list(tmp_path.iterdir())


def test_names_in_other_scripts_come_back(tmp_path: Path) -> None:
    names = ["訓練", unicodedata.normalize("NFD", "학습"), "a b"]
    write_folder(dataset_with(*names), tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"card.json", *(f"{name}.jsonl" for name in names)}
