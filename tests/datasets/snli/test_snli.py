"""SNLI, MultiNLI and JSNLI: invented pairs in the published layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nikawa.cli.terminal.examples import print_examples
from nikawa.datasets import load
from nikawa.datasets.reader import ExampleReader
from nikawa.datasets.task_lookup import find_tasks
from nikawa.errors import BadInput


def pair(number: int, label: str, **more: Any) -> dict[str, Any]:
    """A line of SNLI with the fields that the reader does not use."""
    return {
        "annotator_labels": [label],
        "captionID": f"{number}.jpg#0",
        "gold_label": label,
        "pairID": f"{number}.jpg#0r1n",
        "sentence1": f"A kite number {number} dances.",
        "sentence1_binary_parse": "( A kite )",
        "sentence1_parse": "(ROOT (NP A kite))",
        "sentence2": "Something moves.",
        "sentence2_binary_parse": "( Something )",
        "sentence2_parse": "(ROOT (NP Something))",
        **more,
    }


def write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


PAIRS = [pair(1, "entailment"), pair(2, "contradiction"), pair(3, "-"), pair(1, "neutral")]


def test_json_lines_are_read(tmp_path: Path) -> None:
    write_json(tmp_path / "snli" / "snli_1.0" / "snli_1.0_train.jsonl", PAIRS)
    examples = load("snli", data=tmp_path).splits["train"]
    assert [e.id for e in examples] == ["1.jpg#0r1n", "2.jpg#0r1n", "3.jpg#0r1n", "1.jpg#0r1n.2"]
    assert examples[0].inputs == {
        "premise": "A kite number 1 dances.",
        "hypothesis": "Something moves.",
    }
    assert [e.gold for e in examples[:3]] == [
        {"label": "entailment"},
        {"label": "contradiction"},
        {},
    ]
    assert examples[0].group == "1.jpg#0"


def test_a_pair_without_agreement_is_shown_without_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(tmp_path / "snli" / "snli_1.0_train.jsonl", PAIRS)
    dataset = load("snli", data=tmp_path)
    print_examples(dataset, {"train": dataset.splits["train"][2:3]})
    shown = capsys.readouterr().out
    assert "no label" in shown
    assert "not published" not in shown


def test_a_pair_without_agreement_is_not_learned_from(tmp_path: Path) -> None:
    write_json(tmp_path / "snli" / "snli_1.0_train.jsonl", PAIRS)
    (task,) = find_tasks("snli")
    assert len(ExampleReader(tmp_path).training_examples("snli:train", task, {})) == 3


def test_the_table_says_the_same_as_the_json_lines(tmp_path: Path) -> None:
    write_json(tmp_path / "json" / "snli" / "snli_1.0_dev.jsonl", PAIRS)
    columns = [name for name in PAIRS[0] if name != "annotator_labels"]
    lines = ["\t".join([*columns, "label1", "label2"])]
    # the cells of missing workers are missing
    lines += ["\t".join([*(str(row[name]) for name in columns), "neutral"]) for row in PAIRS]
    path = tmp_path / "table" / "snli" / "snli_1.0_dev.txt"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    first, second = (load("snli", data=tmp_path / name).splits for name in ("json", "table"))
    assert first == second


def test_multinli_has_genres_and_two_sets_for_development(tmp_path: Path) -> None:
    folder = tmp_path / "multinli" / "multinli_1.0"
    for name, genre in (
        ("train", "fiction"),
        ("dev_matched", "travel"),
        ("dev_mismatched", "letters"),
    ):
        rows = [pair(1, "neutral", genre=genre, promptID="7")]
        del rows[0]["captionID"]
        write_json(folder / f"multinli_1.0_{name}.jsonl", rows)
    splits = load("multinli", data=tmp_path).splits
    genres = {split: examples[0].meta["genre"] for split, examples in splits.items()}
    assert genres == {"train": "fiction", "dev": "travel", "dev-mismatched": "letters"}
    assert splits["dev"][0].group == "A kite number 1 dances."


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (pair(1, "maybe"), "line 1: label 'maybe' is unknown; expected: entailment"),
        (pair(1, "neutral", sentence2=" "), "line 1: sentence2 is empty"),
        ({"sentence1": "A", "sentence2": "B"}, "line 1: .*gold_label"),
    ],
)
def test_a_wrong_pair_is_refused_with_its_line(
    row: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write_json(tmp_path / "snli" / "snli_1.0_test.jsonl", [row])
    with pytest.raises(BadInput, match=message):
        load("snli", data=tmp_path)


def write_jsnli(folder: Path, name: str, *lines: str) -> None:
    path = folder / "jsnli" / "jsnli_1.1" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_jsnli_is_read_without_the_blanks_between_words(tmp_path: Path) -> None:
    line = "entailment\t凧 が 2 つ New York の 空 で 踊る 。\tT シャツ の 人 が いる 。"
    write_jsnli(tmp_path, "train_w_filtering.tsv", line, "neutral\t凧 。\t鳥 。")
    write_jsnli(tmp_path, "train_wo_filtering.tsv", line)
    write_jsnli(tmp_path, "dev.tsv", "contradiction\t凧 が ある 。\t凧 は ない 。")
    dataset = load("jsnli", data=tmp_path)
    assert {split: len(examples) for split, examples in dataset.splits.items()} == {
        "train": 2,
        "train-unfiltered": 1,
        "dev": 1,
    }
    first = dataset.splits["train"][0]
    assert first.inputs == {
        "premise": "凧が2つNew Yorkの空で踊る。",
        "hypothesis": "Tシャツの人がいる。",
    }
    assert (first.id, first.gold) == ("1", {"label": "entailment"})
    # the unfiltered pairs are another form of train: a run does not evaluate them
    assert ExampleReader(tmp_path).splits("jsnli") == ["train", "dev"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("entailment\t凧 。", "line 1: has 2 columns, not 3"),
        ("yes\t凧 。\t鳥 。", "line 1: label 'yes' is unknown"),
        ("neutral\t \t鳥 。", "line 1: the premise is empty"),
    ],
)
def test_a_wrong_line_of_jsnli_is_refused(line: str, message: str, tmp_path: Path) -> None:
    write_jsnli(tmp_path, "dev.tsv", line)
    with pytest.raises(BadInput, match=message):
        load("jsnli", data=tmp_path)
