from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.datasets.jamp.jamp import read
from nikawa.datasets.jamp.splits import (
    categories,
    filter_lines,
    fragment_of,
    is_identical,
    is_seen,
    regenerate,
    split_names,
    split_rule,
)
from nikawa.errors import BadInput

Write = Callable[..., Path]

KEPT = {
    "template-easy": ["1", "3"],
    "template-hard": ["1", "3"],
    "timeformat-easy": ["1", "2", "3", "4", "3763"],
    "timeformat-hard": ["1", "2", "4", "3763"],
    "timespan-easy": ["1", "3", "4", "3763"],
}
"""Ids of the invented rows each split keeps."""


def test_rules() -> None:
    assert split_names() == tuple(KEPT)
    assert len(categories()) == 45
    easy, hard = split_rule("template-easy")["category"], split_rule("template-hard")["category"]
    assert (len(easy), len(hard)) == (15, 21)
    assert easy < hard < categories()
    assert split_rule("timeformat-hard")["time_format"] == {
        "年月",
        "月日",
        "日時",
        "年月日",
        "月日時",
        "年月日時",
    }
    assert (
        split_rule("timespan-easy-wakati")
        == split_rule("timespan-easy")
        == {"time_span": {"short"}}
    )


@pytest.mark.parametrize("split", KEPT)
def test_regenerated_rows(
    write_rows: Write, rows: tuple[str, ...], tmp_path: Path, split: str
) -> None:
    train, out = write_rows(*rows), tmp_path / "out.tsv"
    assert regenerate(train, split, out) == len(KEPT[split])
    assert [e.id for e in read(out)] == KEPT[split]
    assert [e.id for e in read(train) if is_seen(e, split)] == KEPT[split]
    assert set(out.read_text("utf-8").splitlines()) <= set(train.read_text("utf-8").splitlines())
    assert is_identical(train, split, out)


def test_one_byte_more_is_not_identical(
    write_rows: Write, rows: tuple[str, ...], tmp_path: Path
) -> None:
    train, out = write_rows(*rows), tmp_path / "out.tsv"
    regenerate(train, "timespan-easy", out)
    whole = out.read_bytes()
    for other in (whole + b"\n", whole[:-1], b"".join(whole.splitlines(keepends=True)[:-1])):
        out.write_bytes(other)
        assert not is_identical(train, "timespan-easy", out)


def test_nothing_is_overwritten_unasked(
    write_rows: Write, rows: tuple[str, ...], tmp_path: Path
) -> None:
    train, out = write_rows(*rows), tmp_path / "out.tsv"
    out.write_text("mine")
    with pytest.raises(BadInput, match="already exists"):
        regenerate(train, "timespan-easy", out)
    assert out.read_text() == "mine"
    assert regenerate(train, "timespan-easy", out, overwrite=True) == 4


def test_broken_train_leaves_no_file(
    write_rows: Write, rows: tuple[str, ...], tmp_path: Path
) -> None:
    train, out = write_rows(rows[0], "2\tあ。"), tmp_path / "out.tsv"
    with pytest.raises(BadInput, match="line 3: has 2 columns, the header has 8"):
        regenerate(train, "timespan-easy", out)
    assert not out.exists()


def test_train_without_the_column(write_rows: Write) -> None:
    with pytest.raises(BadInput, match="column 'time_span' is missing"):
        list(filter_lines(write_rows(header="num\tpremise"), "timespan-easy"))


def test_empty_train(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").touch()
    with pytest.raises(BadInput, match=r"is empty; name train_all\.tsv"):
        list(filter_lines(tmp_path / "train.tsv", "timespan-easy"))


def test_unknown_split() -> None:
    with pytest.raises(
        BadInput, match="there is no training split of jamp 'timespan-hard'; did you mean"
    ):
        split_rule("timespan-hard")


def test_fragments_of_the_paper() -> None:
    assert fragment_of("現在（過去形）") == ("Temporal commonsense", "Usage of now")
    assert fragment_of("習慣+否定（未言及+いつも）") == ("Habituality", "Negation")
    assert fragment_of("習慣（未言及+いつも）") == ("Habituality", "Unmentioned time point")
    assert len({fragment_of(name) for name in categories()}) == 12
    with pytest.raises(BadInput, match="there is no category of jamp 'いつか'"):
        fragment_of("いつか")
