from __future__ import annotations

import csv
import gzip
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.marc_ja import RAW, read
from nikawa.datasets.jglue.marc_ja_raw import mostly_ascii, plain_text, read_lists
from nikawa.errors import BadInput, MissingExtra
from nikawa.records import Finding

Put = Callable[..., Path]
Findings = Callable[..., dict[tuple[str, str], Finding]]
Lists = Callable[..., Path]
DEV = "jglue/datasets/marc_ja-v1.3/valid-v1.3.json"
HEADER = (
    "marketplace customer_id review_id product_id product_parent product_title product_category star_rating "
    "helpful_votes total_votes vine verified_purchase review_headline review_body review_date"
)


def review(number: int, stars: object = 5, body: str = "この架空の鍋は丈夫でした。") -> str:
    cells = [
        "JP",
        "1",
        f"R{number}",
        "B0",
        "2",
        "鍋",
        "Kitchen",
        str(stars),
        *"00NY",
        "題",
        body,
        "2013-01-01",
    ]
    return "\t".join(cells)


def converted(number: int, label: str | None = "positive") -> dict[str, Any]:
    row = {"sentence": "よく切れる包丁。", "review_id": f"R{number}"}
    return row if label is None else row | {"label": label}


@pytest.fixture
def lists(data: Path) -> Lists:
    """Write the id lists of the repository."""

    def write(dropped: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> Path:
        folder = data / "jglue/preprocess/marc-ja/data"
        for kind, given in (("filter", dropped or {}), ("label_conv", labels or {})):
            for name in ("valid", "test"):
                path = folder / f"{kind}_review_id_list" / f"{name}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(
                    "".join(line + "\n" for line in given.get(name, "").split()), "utf-8"
                )
        return folder

    return write


def raw_file(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{RAW}.gz"
    lines = ["\t".join(HEADER.split()), *rows]
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    return path


def shuffled(count: int) -> list[str]:
    """The ids in the order of the published shuffle."""
    ids = [f"R{n}" for n in range(count)]
    random.seed(1)
    random.shuffle(ids)
    return ids


def test_reads_the_converted_file(put: Put, data: Path) -> None:
    put(DEV, [converted(1), converted(2, "negative")])
    first, second = load("marc-ja:valid", data=data).splits["dev"]
    assert first.id == "R1"
    assert first.inputs == {"text": "よく切れる包丁。"}
    assert (first.gold, second.gold) == ({"label": "positive"}, {"label": "negative"})


def test_the_converted_test_file_has_no_labels(put: Put, data: Path) -> None:
    put("jglue/datasets/marc_ja-v1.3/test-v1.3.json", [converted(1, None)])
    (example,) = load("marc-ja:test", data=data).splits["test"]
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_a_named_converted_file_is_put_into_its_split(put: Put) -> None:
    path = put("elsewhere/valid-v1.3.json", [converted(1)])
    assert list(load(f"marc-ja@{path}").splits) == ["dev"]


def test_an_unknown_label_is_refused(put: Put) -> None:
    with pytest.raises(
        BadInput, match=r"line 1: label 'neutral' is unknown; expected: positive, negative"
    ):
        list(read(put(DEV, [converted(1, "neutral")])))


def test_splits_are_cut_after_the_published_shuffle(data: Path, lists: Lists) -> None:
    lists()
    raw_file(data / "jglue", *(review(n) for n in range(150)))
    splits = load("marc-ja", data=data).splits
    ids = shuffled(150)
    assert [e.id for e in splits["train"]] == ids[:141]
    assert [e.id for e in splits["dev"]] == ids[141:145]
    assert [e.id for e in splits["test"]] == ids[145:]


def test_lists_filter_and_relabel_their_own_split(data: Path, lists: Lists) -> None:
    ids = shuffled(150)
    dropped = {"valid": ids[141], "test": ids[149]}
    lists(dropped, {"valid": f"{ids[142]},negative", "test": f"{ids[145]},negative"})
    raw_file(data / "jglue", *(review(n) for n in range(150)))
    splits = load("marc-ja", data=data).splits
    assert [(e.id, e.gold["label"]) for e in splits["dev"]] == [
        (ids[142], "negative"),
        (ids[143], "positive"),
        (ids[144], "positive"),
    ]
    assert [e.id for e in splits["test"]] == ids[145:149]
    assert splits["test"][0].gold == {"label": "negative"}
    assert splits["test"][0].meta == {"split": "test", "stars": 5, "relabelled": True}


def test_one_split_of_the_raw_file(data: Path, lists: Lists) -> None:
    lists()
    path = raw_file(data / "jglue/preprocess/marc-ja/scripts", *(review(n) for n in range(100)))
    assert list(load("marc-ja:dev", data=data).splits) == ["dev"]
    assert list(load(f"marc-ja:valid@{path}").splits) == ["dev"]
    assert {s: len(e) for s, e in load(f"marc-ja@{path}").splits.items()} == {
        "train": 94,
        "dev": 3,
        "test": 3,
    }


def test_converted_files_come_before_the_raw_file(put: Put, data: Path, lists: Lists) -> None:
    lists()
    raw_file(data / "jglue", *(review(n) for n in range(100)))
    put(DEV, [converted(7)])
    assert [e.id for e in load("marc-ja", data=data).splits["dev"]] == ["R7"]


def test_two_copies_of_the_raw_file_are_read_once(data: Path, lists: Lists) -> None:
    lists()
    for folder in (data / "jglue", data / "jglue/preprocess/marc-ja/scripts"):
        raw_file(folder, *(review(n) for n in range(100)))
    assert len(load("marc-ja", data=data)) == 100


def test_the_filters(data: Path, lists: Lists) -> None:
    lists()
    rows = [
        review(0, 1, "すぐ壊れた。"),
        review(1, 2, "薄い。"),
        review(2, 3, "普通の鍋。"),
        review(3, 4, "<b>良い</b>鍋。<br />買い。"),
        review(4, 5, "Nine of ten letter鍋"),
        review(5, 5, "eight wor鍋鍋"),
        review(6, 5, "あ" * 501),
        review(7, 5, "<i>" + "あ" * 500 + "</i>"),
        review(8, 5, "<br />"),
    ]
    path = raw_file(data / "jglue", *rows)
    found = {e.id: e for e in read(path)}
    assert sorted(found) == ["R0", "R1", "R3", "R5", "R7"]
    assert [found[i].gold["label"] for i in sorted(found)] == ["negative", "negative"] + [
        "positive"
    ] * 3
    assert found["R3"].inputs == {"text": "良い鍋。買い。"}


@pytest.mark.parametrize(
    ("text", "mostly"),
    [("a" * 9 + "鍋", True), ("a" * 89 + "鍋" * 11, False), ("\t" * 9 + "鍋", True), ("", True)],
)
def test_ninety_percent_ascii_is_too_much(text: str, mostly: bool) -> None:
    assert mostly_ascii(text) is mostly


def test_a_quoted_field_holds_tabs_and_line_ends(data: Path, lists: Lists) -> None:
    lists()
    path = raw_file(data / "jglue", review(0, 5, '"軽い\t鍋。\n""最高""だ。"'), review(1))
    assert {e.id: e.inputs["text"] for e in read(path)}["R0"] == '軽い\t鍋。\n"最高"だ。'


def test_the_field_limit_of_others_is_left_as_it_was(data: Path, lists: Lists) -> None:
    lists()
    before = csv.field_size_limit()
    path = raw_file(data / "jglue", review(0, 5, "鍋" * 200_000), review(1))
    assert [e.id for e in read(path)] == ["R1"]
    assert csv.field_size_limit() == before


def test_another_file_than_the_lists_were_made_for_is_refused(data: Path, lists: Lists) -> None:
    ids = shuffled(100)
    lists({"valid": ids[0]})
    path = raw_file(data / "jglue", *(review(n) for n in range(100)))
    with pytest.raises(
        BadInput, match=f"review {ids[0]} falls into train, the id lists have it in dev"
    ):
        list(read(path))


def test_a_label_that_is_not_turned_over_is_refused(data: Path, lists: Lists) -> None:
    ids = shuffled(100)
    lists(labels={"valid": f"{ids[94]},positive"})
    path = raw_file(data / "jglue", *(review(n) for n in range(100)))
    with pytest.raises(BadInput, match=f"review {ids[94]} has the label positive already"):
        list(read(path))


def test_the_raw_file_without_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match="the id lists of JGLUE are not near this file; put it into a clone"
    ):
        list(read(raw_file(tmp_path / "alone", review(0))))


def test_lists_are_found_in_the_data_folder(
    data: Path, lists: Lists, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists()
    monkeypatch.setenv("NIKAWA_DATA", str(data))
    assert [e.id for e in read(raw_file(tmp_path / "alone", review(0)))] == ["R0"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("JP\t1\tR0", "line 2: is not a review"),
        (review(0, "five"), "line 2: is not a review"),
        (review(0, 5, "鍋" * 1_000_001), "cannot be read (field larger than field limit"),
    ],
)
def test_a_broken_row_is_refused(data: Path, lists: Lists, row: str, said: str) -> None:
    lists()
    with pytest.raises(BadInput) as caught:
        list(read(raw_file(data / "jglue", row)))
    assert said in str(caught.value)


def test_a_broken_raw_file_is_refused(data: Path, lists: Lists) -> None:
    lists()
    path = raw_file(data / "jglue", *(review(n) for n in range(100)))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match="cannot be decompressed"):
        list(read(path))
    plain = path.with_suffix("")
    plain.write_bytes("\t".join(HEADER.split()).encode() + b"\n\x93\xfa\x96{\n")
    with pytest.raises(BadInput, match=r"cannot be read .*utf-8"):
        list(read(plain))
    plain.write_text("a\tb\n", "utf-8")
    with pytest.raises(BadInput, match="line 1: has no column 'review_body'"):
        list(read(plain))


def test_a_broken_list_is_refused(lists: Lists) -> None:
    folder = lists(labels={"valid": "R1,neutral"})
    with pytest.raises(BadInput, match=r"valid.txt, line 1: label 'neutral' is unknown"):
        read_lists(folder)


def test_finds_files_converted_without_the_lists(
    put: Put, data: Path, lists: Lists, findings: Findings
) -> None:
    lists({"valid": "R1 R9"}, {"valid": "R2,negative R3,negative R8,positive"})
    put(DEV, [converted(1), converted(2), converted(3, "negative"), converted(4)])
    found = findings("marc-ja", data)
    assert found["filtered-reviews", "dev"].count == 2
    assert found["relabelled-reviews", "dev"].count == 3
    assert "1 to positive, 2 to negative" in found["relabelled-reviews", "dev"].note
    assert found["unfiltered-reviews", "dev"].ids == ("marc-ja:dev/R1",)
    assert found["labels-by-stars", "dev"].ids == ("marc-ja:dev/R2",)


def test_nothing_is_found_without_lists(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [converted(1)])
    assert findings("marc-ja", data) == {}


def test_the_published_lists(shared_data: Path) -> None:
    lists = read_lists(shared_data / "jglue/preprocess/marc-ja/data")
    assert {split: len(ids) for split, ids in lists.dropped.items()} == {"dev": 331, "test": 346}
    to = {split: list(labels.values()) for split, labels in lists.labels.items()}
    assert (to["dev"].count("negative"), to["dev"].count("positive")) == (210, 35)
    assert (to["test"].count("negative"), to["test"].count("positive")) == (198, 33)
    assert 5654 + len(lists.dropped["dev"]) == 5639 + len(
        lists.dropped["test"]
    )  # equal shares before


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("ただの文。", "ただの文。"),
        ("一行目<br />二行目<br>三行目", "一行目二行目三行目"),
        ("<b>太い</b>文字と<a href='x'>先</a>", "太い文字と先"),
        ("A&amp;B &lt;良&gt;&hearts;", "A&B <良>♥"),
        ("不明な&kodama;です", "不明な&kodamaです"),
        ("&#12354;&#x3042;&#X3042;", "あああ"),
        ("&#146;と&#129;", "\u2019と\x81"),
        ("&#99999999;", "\N{REPLACEMENT CHARACTER}"),
        ("前<br />   <br />後", "前 後"),
        ("前<br /> \n <br />後", "前\n後"),
        ("前<pre>  </pre>後", "前  後"),
        ("前\u3000\u3000<br />後", "前\u3000\u3000後"),
        ("前<!-- 秘密 -->後", "前後"),
        ("前<script>var x = '悪';</script>後", "前後"),
        ("<ruby>峠<rt>とうげ</rt></ruby>道", "峠道"),
        ("前<rt>読み<b>太い</b>", "前"),
        ("閉じない<b>文", "閉じない文"),
        ("余分な</b>終わり", "余分な終わり"),
        ("前<br> </br> 後", "前  後"),
        ("3 < 5 は正しい", "3 < 5 は正しい"),
        ("AT&T と R&D部", "AT&T と R&D部"),
        ("前<?処理?>後<!DOCTYPE html>末", "前後末"),
    ],
)
def test_text_is_what_is_left_of_mark_up(markup: str, text: str) -> None:
    assert plain_text(markup) == text


def test_a_declaration_the_parser_refuses_is_left_alone() -> None:
    assert plain_text("前<![変 後") in {"前<![変 後", "前"}


def test_a_review_with_mark_up_needs_beautifulsoup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bs4", None)
    assert plain_text("ただの文。") == "ただの文。"
    with pytest.raises(MissingExtra, match=r"beautifulsoup4, .* is not installed; .*\[html\]"):
        plain_text("一行目<br />二行目")


def test_a_review_that_looks_like_an_address_brings_no_warning() -> None:
    assert plain_text("http://example.com/?a=1&b=2") == "http://example.com/?a=1&b=2"
