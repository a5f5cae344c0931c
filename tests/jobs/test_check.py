"""The whole check, on invented files in the published formats, and on the published ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nikawa.benchmarks
from nikawa.benchmarks import benchmarks, load
from nikawa.benchmarks.locate import present
from nikawa.errors import BadInput
from nikawa.jobs.check import (
    Report,
    check,
    comparable,
    known_entries,
    known_problems,
    marked,
    read_known,
    without_views,
)
from nikawa.records import Example, Finding

CAT, DOG, OWL, FOX = "猫が雲を編む。", "犬が月を磨く。", "梟が砂を数える。", "狐が鍋を叩く。"
Write = Callable[..., None]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def write(data: Path) -> Write:
    """Write pairs as a published file of JSTS or JNLI."""

    def run(dataset: str, split: str, *pairs: tuple[str, str, Any], version: str = "1.3") -> None:
        path = data / "jglue" / "datasets" / f"{dataset}-v{version}" / f"{split}-v{version}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"sentence_pair_id": str(n), "yjcaptions_id": f"{n}-1-2", "sentence1": one, "sentence2": two, "label": label}
            for n, (one, two, label) in enumerate(pairs)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")

    return run


def table(report: Report) -> dict[tuple[str, str], int]:
    return {(finding.check, finding.where): finding.count for finding in report.findings}


def test_a_sound_dataset(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (DOG, OWL, 5.0))
    write("jsts", "valid", (OWL, FOX, 0.2))
    report = check("jsts", data)
    assert report.findings == ()
    assert not report.new
    assert report.sizes == {"train": 2, "dev": 1}
    assert report.labels == {"train": {"score": {"1-2": 1, "4-5": 1}}, "dev": {"score": {"0-1": 1}}}


def test_repetition_and_leakage_are_new(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (CAT, DOG, 2.0))
    write("jsts", "valid", (DOG, CAT, 1.0))
    found = table(check("jsts", data))
    assert found[("repeated-pairs", "train")] == 1
    assert found[("conflicting-gold", "score in train")] == 1
    assert found[("leaked-unordered-pairs", "dev in train")] == 1
    assert check("jsts", data).new


def test_other_datasets_that_are_here_are_compared(data: Path, write: Write) -> None:
    write("jnli", "valid", (DOG, CAT, "neutral"))
    write("jsts", "train", (CAT.rstrip("。"), DOG, 1.0))
    steps: list[tuple[str, int, int]] = []
    report = check("jnli", data, lambda *step: steps.append(step))
    assert "jsts" in report.compared
    assert table(report)[("leaked-unordered-pairs", "dev in jsts:train")] == 1
    assert [done for _, done, _ in steps] == list(range(len(report.compared) + 2))
    assert steps[-1] == ("done", len(report.compared) + 1, len(report.compared) + 1)


def test_another_dataset_that_cannot_be_read_is_told(data: Path, write: Write) -> None:
    write("jnli", "valid", (DOG, CAT, "neutral"))
    write("jsts", "train", (CAT, DOG, "much"))
    report = check("jnli", data)
    assert table(report)[("not-compared", "jsts")] == 1
    assert report.new


def test_datasets_of_other_languages_and_shapes_are_not_compared(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    names = {other.name for other in comparable(load("jsts", data=data), data)}
    assert names <= {b.name for b in benchmarks().values() if b.language == "ja"} - {"jsts"}
    assert "jcola" not in names


def test_a_version_the_content_denies(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, "1.0"), version="1.3")
    assert table(check("jsts", data))[("version", "1.0 in 1.3")] == 1
    write("jsts", "train", (CAT, DOG, "1.0"), version="1.0")
    path = data / "jglue/datasets/jsts-v1.0/train-v1.0.json"
    assert ("version", "1.0 in 1.0") not in table(check(f"jsts@{path}", data))


def test_files_of_mixed_versions(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), version="1.2")
    write("jsts", "valid", (OWL, DOG, 1.0), version="1.3")
    assert table(check("jsts", data))[("mixed-versions", "1.2, 1.3")] == 2


def test_a_records_file_is_compared_with_the_published_ones(data: Path, write: Write, tmp_path: Path) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    mine = tmp_path / "mine.test.jsonl"
    row = {"id": "1", "inputs": {"premise": CAT, "hypothesis": DOG}, "gold": {"label": "neutral"}}
    mine.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")
    assert table(check(str(mine), data)) == {("leaked-pairs", "test in jsts:train"): 1}


def test_a_gold_outside_the_closed_set(tmp_path: Path) -> None:
    file = tmp_path / "jnli.jsonl"
    row = {"id": "1", "inputs": {"premise": CAT, "hypothesis": DOG}, "gold": {"label": "perhaps"}}
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")
    assert table(check(str(file), tmp_path)) == {("label-outside", "all"): 1}


def test_a_finding_is_known_when_everything_agrees() -> None:
    known = {"zoo": {"repeated-pairs": {"train": 3}}}
    found = [
        Finding(check="repeated-pairs", where="train", count=3),
        Finding(check="repeated-pairs", where="train", count=4),
        Finding(check="repeated-pairs", where="dev", count=3),
        Finding(check="repeated-texts", where="train", count=3),
        Finding(check="left-over", where="train", count=1, known=True),
    ]
    assert [f.known for f in marked("zoo", found, known)] == [True, False, False, False, True]
    assert not any(f.known for f in marked("farm", found[:4], known))


def test_known_entries_make_every_finding_known(data: Path, write: Write, tmp_path: Path) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (CAT, DOG, 2.0), ("猫", "", 0.0))
    report = check("jsts", data)
    file = tmp_path / "known.toml"
    file.write_text(known_entries(report), "utf-8")
    assert len(report.findings) > 2
    assert all(f.known for f in marked("jsts", report.findings, read_known(file)))


@pytest.mark.parametrize("text", ["[jsick", '[jsick.repeated-pairs]\n"train" = "many"\n', "jsick = 3\n"])
def test_a_broken_list_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "known.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput) as caught:
        read_known(file)
    assert str(caught.value).startswith(str(file))


def test_known_problems_are_of_registered_datasets() -> None:
    assert set(known_problems()) <= set(benchmarks())
    assert "jsick" in known_problems()


def test_the_lists_hold_every_table_once() -> None:
    for file in Path(nikawa.benchmarks.__path__[0]).glob("*/known.toml"):
        assert tomllib.loads(file.read_text("utf-8"))


def one(name: str) -> tuple[Example, ...]:
    return (Example(id=name, inputs={"text": CAT}),)


def test_views_give_way_to_their_source() -> None:
    base = benchmarks()["jsts"]
    views = {"easy": "train", "easy-cut": "easy", "hard": "train", "test-cut": "test"}
    benchmark = replace(base, views=views)
    names = ("easy-cut", "easy", "train", "hard", "test-cut")
    splits = {name: one(name) for name in names}
    assert list(without_views(splits, benchmark)) == ["train", "test-cut"]
    del splits["train"]
    assert list(without_views(splits, benchmark)) == ["easy-cut", "test-cut"]
    assert list(without_views(splits, None)) == ["easy-cut", "easy", "hard", "test-cut"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jsts", "jnli", "jsick", "jcommonsenseqa", "jsquad", "jcola", "klue-ner"])
def test_the_published_files_hold_nothing_new(shared_data: Path, name: str) -> None:
    assert present(benchmarks()[name], shared_data)
    report = check(name, shared_data)
    assert [f for f in report.findings if not f.known] == []
