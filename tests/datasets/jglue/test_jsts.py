from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.jglue.jsts import read
from nikawa.errors import BadInput
from nikawa.records import Finding

Put = Callable[..., Path]
Findings = Callable[..., dict[tuple[str, str], Finding]]
DEV = "jglue/datasets/jsts-v1.3/valid-v1.3.json"


def pair(number: int, caption: str = "10-1-2", label: object = 2.4) -> dict[str, Any]:
    return {
        "sentence_pair_id": str(number),
        "yjcaptions_id": caption,
        "sentence1": "青い傘が三本あります。",
        "sentence2": "傘立てに傘があります",
        "label": label,
    }


def test_reads_a_pair_as_published(put: Put, data: Path) -> None:
    put(DEV, [pair(0)])
    example = load("jsts:valid", data=data).splits["dev"][0]
    assert example.inputs == {
        "sentence1": "青い傘が三本あります。",
        "sentence2": "傘立てに傘があります",
    }
    assert example.gold == {"score": 2.4}
    assert example.group == "10"
    assert example.origin is None


@pytest.mark.parametrize(
    ("caption", "flow"), [("10-1-2", "A"), ("10_11-1-2", "B"), ("10-1-g7", "C"), ("10-g7-1", "C")]
)
def test_tells_the_flow_by_the_caption_id(put: Put, caption: str, flow: str) -> None:
    (example,) = read(put(DEV, [pair(0, caption)]))
    assert example.meta["source"] == flow


def test_the_pair_is_named_without_its_order(put: Put) -> None:
    first, second = read(put(DEV, [pair(0, "10-g7-1"), pair(1, "10-1-g7")]))
    assert first.meta["pair"] == second.meta["pair"] == "1-g7"


def test_string_labels_are_version_1_0(put: Put, data: Path) -> None:
    put(DEV, [pair(0, label="2.40")])
    dataset = load("jsts", data=data)
    assert dataset.splits["dev"][0].gold == {"score": 2.4}
    assert dataset.version == "1.0"


def test_number_labels_do_not_tell_the_version(put: Put, data: Path) -> None:
    put(DEV, [pair(0)])
    assert load("jsts", data=data).version == "1.3"


@pytest.mark.parametrize("hide", [lambda row: row.pop("label"), lambda row: row.update(label=None)])
def test_a_hidden_label_is_no_gold(put: Put, hide: Callable[[dict[str, Any]], object]) -> None:
    row = pair(0)
    hide(row)
    (example,) = read(put(DEV, [row]))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_a_label_missing_on_some_lines_is_refused(put: Put) -> None:
    row = pair(1)
    del row["label"]
    with pytest.raises(
        BadInput, match=r"valid-v1.3.json, line 2: the label is here for some items"
    ):
        list(read(put(DEV, [pair(0), row])))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (pair(0, label=5.2), "line 1: label 5.2 is outside 0 to 5"),
        (pair(0, label=-0.2), "line 1: label -0.2 is outside 0 to 5"),
        (pair(0, label="nan"), "line 1: label 'nan' is outside 0 to 5"),
        (pair(0, label="high"), "line 1: label 'high' is not a number"),
        (pair(0, caption="10-1"), "line 1: yjcaptions_id '10-1' is not"),
        (pair(0, caption="10--2"), "line 1: yjcaptions_id '10--2' is not"),
        ({"sentence_pair_id": "0"}, "line 1: missing required field `yjcaptions_id`"),
        ({**pair(0), "extra": 1}, "line 1: unknown field `extra`"),
    ],
)
def test_a_broken_row_is_one_line_with_its_place(put: Put, row: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        list(read(put(DEV, [row])))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cut_line_is_refused(put: Put) -> None:
    path = put(DEV, [pair(0), pair(1)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match=r"line 2: the JSON is incomplete"):
        list(read(path))


def test_an_id_twice_is_refused(put: Put, data: Path) -> None:
    put(DEV, [pair(0), pair(0)])
    with pytest.raises(BadInput, match="id '0' occurs twice"):
        load("jsts", data=data)


def test_the_newest_version_is_read_unless_another_is_asked_for(put: Put, data: Path) -> None:
    put(DEV, [pair(0)])
    put("jglue/datasets/jsts-v1.1/valid-v1.1.json", [pair(0), pair(1)])
    assert len(load("jsts:dev", data=data)) == 1
    assert len(load("jsts:dev", data=data, version="1.1")) == 2


def test_finds_gaps_in_the_ids_and_written_sentences(
    put: Put, data: Path, findings: Findings
) -> None:
    put(DEV, [pair(0), pair(2, "10-1-g3"), pair(5)])
    found = findings("jsts", data)
    assert found["missing-pair-ids", "dev"].ids == ("jsts:dev/1", "jsts:dev/3", "jsts:dev/4")
    assert found["g-ids", "dev"].ids == ("jsts:dev/2",)


def test_an_absurd_id_is_counted_not_listed(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [pair(0), pair(10**12)])
    found = findings("jsts", data)["missing-pair-ids", "dev"]
    assert (found.count, found.ids) == (10**12 - 1, ())


def test_nothing_is_found_in_plain_pairs(put: Put, data: Path, findings: Findings) -> None:
    put(DEV, [pair(0), pair(1)])
    assert findings("jsts", data) == {}


def test_the_published_files(shared_data: Path, findings: Findings) -> None:
    dataset = load("jsts", data=shared_data)
    assert {split: len(examples) for split, examples in dataset.splits.items()} == {
        "train": 12451,
        "dev": 1457,
    }
    sources = Counter(e.meta["source"] for examples in dataset.splits.values() for e in examples)
    assert sources == {"A": 9088, "B": 2620, "C": 2200}
    found = findings("jsts", shared_data)
    missing = (617, 618, 1474, 1475, 2035, 8753, 8754, 8755, 9126, 9127, 9128, 10990)
    assert found["missing-pair-ids", "train"].ids == tuple(f"jsts:train/{n}" for n in missing)
    assert (found["g-ids", "train"].count, found["g-ids", "dev"].count) == (2093, 107)
    assert len(found) == 3


def test_published_worker_written_sentences_are_always_second(shared_data: Path) -> None:
    dataset = load("jsts", data=shared_data)
    written = [
        e for examples in dataset.splits.values() for e in examples if e.meta["source"] == "C"
    ]
    assert all(e.meta["yjcaptions_id"].split("-")[2].startswith("g") for e in written)
