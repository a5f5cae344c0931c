"""Looking up where an example came from: by index, without one, and what a wrong id is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from nikawa.cli.terminal.examples import format_answer
from nikawa.datasets import benchmarks
from nikawa.datasets.lineage import (
    INDEX,
    LINEAGE,
    Change,
    Lineage,
    find_lineage,
    read_lineage,
    write_lineage,
)
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example, Judgement, Span


def entry(split: str, name: str) -> Lineage:
    return Lineage(
        example=f"own:{split}/{name}",
        item=f"i{name}",
        split=split,
        recipe="r",
        version="1",
        nikawa="0",
        inputs={"text": "海"},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of 400 and 3 examples with lineage; 0, 1 and 2 are in both splits."""
    sizes = {"train": 400, "dev": 3}
    card = benchmarks()["mini-ja"].card
    splits = {
        split: tuple(Example(id=str(n), inputs={"text": "海"}) for n in range(size))
        for split, size in sizes.items()
    }
    dataset = Dataset(name="own", language="ja", version="1", card=card, splits=splits)
    path = tmp_path / "own"
    write_folder(dataset, path)
    text = (path / "card.json").read_text("utf-8").replace('"mini-ja"', '"own"', 1)
    (path / "card.json").write_text(text, "utf-8")
    write_lineage(
        path, (entry(split, str(n)) for split, size in sizes.items() for n in range(size))
    )
    return path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("own:train/7", "own:train/7"),
        ("train/399", "own:train/399"),
        ("dev/2", "own:dev/2"),
        ("77", "own:train/77"),
    ],
)
@pytest.mark.parametrize("index", ["there", "absent", "of another file", "cut"])
def test_an_example_is_found(folder: Path, given: str, found: str, index: str) -> None:
    if index == "absent":
        (folder / INDEX).unlink()
    elif index == "of another file":
        with (folder / LINEAGE).open("ab") as stream:
            stream.write(
                (folder / LINEAGE).read_bytes().splitlines()[0].replace(b"train/0", b"train/x")
                + b"\n"
            )
    elif index == "cut":
        (folder / INDEX).write_bytes(b"nik")
    assert find_lineage(given, folder).example == found


def test_every_example_is_found(folder: Path) -> None:
    entries = list(read_lineage(folder))
    assert len(entries) == 403
    assert all(find_lineage(each.example, folder) == each for each in entries)


def test_a_short_id_in_two_splits_is_refused(folder: Path) -> None:
    with pytest.raises(
        BadInput, match="several splits have '1'; write one of: own:train/1, own:dev/1"
    ):
        find_lineage("1", folder)


def test_an_unknown_id_gets_a_near_one(folder: Path) -> None:
    with pytest.raises(BadInput, match="has no example 'dev/21'; did you mean 'dev/2'"):
        find_lineage("dev/21", folder)


def test_a_folder_without_lineage_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match="has no lineage; pass the folder of a dataset that nikawa build"
    ):
        find_lineage("1", tmp_path)


def test_a_broken_line_is_named(folder: Path) -> None:
    (folder / INDEX).unlink()
    (folder / LINEAGE).write_text('{"example":"own:dev/2"\n', "utf-8")
    with pytest.raises(BadInput, match=r"lineage\.jsonl, line 1"):
        find_lineage("dev/2", folder)


def test_lineage_is_no_split(folder: Path) -> None:
    from nikawa.datasets import load

    assert list(load(str(folder)).splits) == ["train", "dev"]


def test_a_correction_is_kept(tmp_path: Path) -> None:
    import msgspec

    change = Change(
        version="1.1", question="label", before="neutral", after="entailment", why="relabelled"
    )
    write_lineage(tmp_path, [msgspec.structs.replace(entry("dev", "0"), changes=(change,))])
    (found,) = read_lineage(tmp_path)
    assert found.changes == (change,)


@pytest.mark.parametrize("given", ["https://a/1", "dev/https://a/1", "own:dev/https://a/1"])
def test_ids_may_hold_colons_and_slashes(folder: Path, given: str) -> None:
    write_lineage(folder, [entry("dev", "https://a/1"), entry("train", "1")])
    assert find_lineage(given, folder).example == "own:dev/https://a/1"


def test_spans_are_shown_with_what_they_mark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.cli.lineage import show

    monkeypatch.setenv("COLUMNS", "120")
    span, other = {"start": 0, "end": 3, "label": "PS"}, {"start": 5, "end": 7, "label": "LC"}
    told = replace(
        entry("dev", "1"),
        inputs={"text": "김하늘은 서울에 산다.", "spans": [span]},
        gold={"spans": [span, other]},
        judgements=(
            Judgement(example="i1", worker="an", question="spans", answer=[other]),
            Judgement(example="i1", worker="bo", question="spans", answer=[]),
        ),
        changes=(
            Change(version="1.1", question="spans", before=[], after=[Span(0, 3)], why="", by=""),
        ),
    )
    show(told)
    page = capsys.readouterr().out
    assert "0-3:PS 김하늘, 5-7:LC 서울" in page
    assert "5-7:LC 서울" in page.partition("Judgements")[2]
    assert "none" in page.partition("Judgements")[2]
    assert "0-3 김하늘" in page.partition("Corrected")[2]
    assert "start" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "a"),
        (3, 3),
        (None, None),
        (["a", "b"], "a, b"),
        ([], "none"),
        ({"heads": [0]}, '{"heads":[0]}'),
        ([Span(0, 3, "PS")], "0-3:PS"),
        ({"start": 1, "end": 2}, "1-2"),
    ],
)
def test_answers_in_a_cell(value: object, shown: object) -> None:
    assert format_answer(value) == shown
