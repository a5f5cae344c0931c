"""What `data check` is told about these files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nikawa.datasets import benchmarks, load
from nikawa.records import Finding

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]
ANSWERS = "jsick-all-annotations.tsv"


def findings(name: str, data: Path, spec: str = "") -> dict[tuple[str, str], Finding]:
    find_problems = benchmarks()[name].find_problems
    assert find_problems is not None
    found = list(find_problems(data / "jsick", load(spec or name, data=data)))
    assert all(finding.note for finding in found)
    return {(finding.check, finding.where): finding for finding in found}


def test_nothing_to_tell(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"data": "train"}])
    write("jsick/train.tsv", [{}])
    write("jsick/test.tsv", [])
    write(f"jsick/{ANSWERS}", [{}])
    assert findings("jsick", data) == {}


def test_train_file(write: Write, data: Path) -> None:
    rows = [
        {"pair_ID": "1", "data": "train"},
        {"pair_ID": "2", "data": "trial", "sentence_A_Ja": "凧が落ちた"},
        {"pair_ID": "3", "data": "train", "sentence_B_Ja": "凧が赤い"},
    ]
    write("jsick/jsick.tsv", rows)
    turned = [
        {"pair_ID": "1", "sentence_A_Ja": "凧が落ちた"},
        {"pair_ID": "2"},
        {"pair_ID": "4", "sentence_B_Ja": "赤"},
    ]
    write("jsick/train.tsv", turned)
    found = findings("jsick", data)
    ids = found["train-file-ids", "train.tsv"]
    assert ids.ids == (
        "jsick:train/train.tsv-1",
        "jsick:train/train.tsv-2",
        "jsick:train/train.tsv-4",
    )
    assert "2 of 3 rows are found" in ids.note
    assert not ids.known
    assert found["texts-differ", "train.tsv"].ids == ("jsick:train/3",)


def test_the_train_file_named_by_itself(write: Write, data: Path) -> None:
    path = write(
        "jsick/train.tsv", [{"pair_ID": "8"}, {"pair_ID": "9", "sentence_A_Ja": "凧が落ちた"}]
    )
    spec = f"jsick@{path}"
    (alone,) = findings("jsick", data, spec).values()
    assert (alone.check, alone.where, alone.count, alone.known) == (
        "train-file-ids",
        "train",
        2,
        True,
    )
    assert "row number" in alone.note
    write("jsick/jsick.tsv", [{"pair_ID": "8", "data": "train"}, {"pair_ID": "9", "data": "train"}])
    write("jsick/test.tsv", [{"pair_ID": "8", "sentence_B_Ja": "凧が飛ぶ"}])
    (beside,) = findings("jsick", data, spec).values()
    assert (beside.where, beside.ids) == ("train", ("jsick:train/train.tsv-9",))
    assert "1 of 2 rows are found" in beside.note


def test_older_texts(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"pair_ID": "1"}, {"pair_ID": "2"}])
    write("jsick/test.tsv", [{"pair_ID": "1"}, {"pair_ID": "2", "sentence_B_Ja": "凧が飛ぶ"}])
    write(f"jsick/{ANSWERS}", [{"pair_ID": "1", "sentence_A_Ja": "凧が塔を巡る"}, {"pair_ID": "2"}])
    found = findings("jsick", data)
    assert found["texts-differ", "test.tsv"].ids == ("jsick:test/2",)
    assert found["texts-differ", ANSWERS].ids == ("jsick:test/1",)


def test_gold_beside_answers(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"pair_ID": str(n)} for n in range(1, 6)])
    rows = [
        {"pair_ID": "1", "relatedness_score_Ja": "4.0", "relatedness_score_Ja3": "１"},
        {"pair_ID": "2", "relatedness_score_Ja": "4.0", "relatedness_score_Ja3": "４"},
        {"pair_ID": "3", "entailment_label_Ja": "neutral"},
        {
            "pair_ID": "4",
            "entailment_label_Ja1": "neutral",
            "entailment_label_Ja2": "contradiction",
        },
        {
            "pair_ID": "5",
            "entailment_label_Ja1": "",
            "relatedness_score_Ja1": "",
            "relatedness_score_Ja2": "",
        },
    ]
    rows[4]["relatedness_score_Ja"] = "5.0"
    write(f"jsick/{ANSWERS}", rows)
    found = {check: finding for (check, _), finding in findings("jsick", data).items()}
    assert {check: [name.partition("/")[2] for name in f.ids] for check, f in found.items()} == {
        "full-width-scores": ["1", "2"],
        "gold-not-mean": ["1"],
        "gold-not-majority": ["3"],
        "no-majority": ["4"],
        "blank-labels": ["5"],
        "blank-scores": ["5"],
    }
    assert found["blank-scores"].count == 2


def test_conflicting_labels(write: Write, data: Path) -> None:
    rows = [
        {"pair_ID": "1", "data": "train"},
        {"pair_ID": "2", "entailment_label_Ja": "neutral"},
        {"pair_ID": "3", "sentence_A_Ja": "凧が落ちた"},
        {"pair_ID": "4", "sentence_A_Ja": "凧が落ちた"},
    ]
    write("jsick/jsick.tsv", rows)
    finding = findings("jsick", data)["conflicting-labels", "train+test"]
    assert (finding.count, finding.ids) == (1, ("jsick:train/1", "jsick:test/2"))


def test_scrambled_original(write: Write, data: Path) -> None:
    write("jsick-stress/ex_ga_o/test.tsv", [{"pair_ID": "1"}, {"pair_ID": "2"}])
    right = {"pair_ID": "2", "sentence_A_Ja_origin": "凧が古い塔を巡っている"}
    write("jsick-stress/scrum_ga_o/test.tsv", [{"pair_ID": "1"}, right])
    (finding,) = findings("jsick-stress", data).values()
    assert (finding.check, finding.ids) == ("scramble-origin", ("jsick-stress:scramble-o/1",))
    assert findings("jsick-stress", data, "jsick-stress:swap-o") == {}


def test_published_pairs(shared_data: Path) -> None:
    found = findings("jsick", shared_data)
    assert {key: finding.count for key, finding in found.items()} == {
        ("conflicting-labels", "train+dev+test"): 2,
        ("train-file-ids", "train.tsv"): 4997,
        ("texts-differ", "train.tsv"): 3,
        ("texts-differ", "test.tsv"): 1,
        ("texts-differ", ANSWERS): 4,
        ("full-width-scores", ANSWERS): 4000,
        ("gold-not-mean", ANSWERS): 3623,
        ("gold-not-majority", ANSWERS): 2,
        ("no-majority", ANSWERS): 46,
        ("blank-labels", ANSWERS): 2,
        ("blank-scores", ANSWERS): 3,
    }
    assert all(finding.known for finding in found.values())
    assert "4,997 of 5,000 rows are found" in found["train-file-ids", "train.tsv"].note
    texts = ("jsick:test/567", "jsick:train/1251", "jsick:train/3451", "jsick:train/7101")
    assert found["texts-differ", ANSWERS].ids == texts
    assert found["texts-differ", "train.tsv"].ids == texts[1:]
    assert found["texts-differ", "test.tsv"].ids == texts[:1]
    assert found["gold-not-majority", ANSWERS].ids == ("jsick:test/912", "jsick:test/7284")
    assert found["blank-labels", ANSWERS].ids == ("jsick:dev/7311", "jsick:train/7454")
    assert found["blank-scores", ANSWERS].ids == (
        "jsick:test/5688",
        "jsick:test/7310",
        "jsick:dev/7311",
    )
    wide = [int(name.partition("/")[2]) for name in found["full-width-scores", ANSWERS].ids]
    assert (min(wide), max(wide)) == (601, 4653)


def test_published_test_pairs_alone(shared_data: Path) -> None:
    found = findings("jsick", shared_data, "jsick:test")
    assert found["conflicting-labels", "test"].ids == ("jsick:test/3578", "jsick:test/5688")
    assert all(finding.known for finding in found.values())


def test_published_stress(shared_data: Path) -> None:
    found = {
        key: f
        for key, f in findings("jsick-stress", shared_data).items()
        if not key[1].endswith("-ni")
    }
    assert {where: (f.count, f.known) for (_, where), f in found.items()} == {
        "scramble-o": (1666, True),
        "scramble-de": (1006, True),
    }
