"""The whole check, on invented files in the published formats, and on the published ones."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

import nikawa.datasets
from nikawa.checks.job import (
    CheckReport,
    check,
    comparable,
    known_entries,
    known_problems,
    mark_known,
    read_known_problems,
)
from nikawa.checks.quality import repetition_findings
from nikawa.datasets import benchmarks, load
from nikawa.datasets.locate import files_here
from nikawa.datasets.upstream import pinned_files
from nikawa.datasets.views import without_views
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example, Finding

CAT, DOG, OWL, FOX = "猫が雲を編む。", "犬が月を磨く。", "梟が砂を数える。", "狐が鍋を叩く。"
Write = Callable[..., None]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def write(data: Path) -> Write:
    """Write pairs as a published file of JSTS or JNLI, of a release that is not pinned."""

    def run(dataset: str, split: str, *pairs: tuple[str, str, Any], version: str = "1.2") -> None:
        path = data / "jglue" / "datasets" / f"{dataset}-v{version}" / f"{split}-v{version}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                "sentence_pair_id": str(n),
                "yjcaptions_id": f"{ord(split[0])}{n}-1-2",
                "sentence1": one,
                "sentence2": two,
                "label": label,
            }
            for n, (one, two, label) in enumerate(pairs)
        ]
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
        )

    return run


def table(report: CheckReport) -> dict[tuple[str, str], int]:
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
    assert "jnli" not in report.compared
    assert [done for _, done, _ in steps] == list(range(len(report.compared) + 2))
    assert steps[-1] == ("done", len(report.compared) + 1, len(report.compared) + 1)


def test_another_dataset_that_cannot_be_read_is_told(data: Path, write: Write) -> None:
    write("jnli", "valid", (DOG, CAT, "neutral"))
    write("jsts", "train", (CAT, DOG, "much"))
    report = check("jnli", data)
    assert table(report)[("not-compared", "jsts")] == 1
    assert report.new


@pytest.mark.parametrize("spec", ["jnli", "jnli:dev"])
def test_a_loop_of_links_elsewhere_is_told(data: Path, write: Write, spec: str) -> None:
    write("jnli", "valid", (DOG, CAT, "neutral"))
    write("jsts", "train", (OWL, FOX, 1.0))
    (loop := data / "jglue/datasets/jsts-v1.2/valid-v1.2.json").symlink_to(loop.name)
    report = check(spec, data)
    (found,) = [finding for finding in report.findings if finding.check != "lacking-labels"]
    assert (found.check, found.where) == ("not-compared", "jsts")
    assert str(loop) in found.note
    assert "jsts" not in report.compared
    assert "mini-ja" in report.compared


def test_a_folder_that_cannot_be_looked_into_is_told(
    data: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("jnli", "valid", (DOG, CAT, "neutral"))
    is_dir = Path.is_dir

    def closed(path: Path, **more: Any) -> bool:
        if path == data / "jsick":
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path, **more)

    monkeypatch.setattr(Path, "is_dir", closed)
    found = {f.where: f.note for f in check("jnli", data).findings}
    assert found["jsick"] == f"{data / 'jsick'}: Permission denied"


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


def test_a_records_file_is_compared_with_the_published_ones(
    data: Path, write: Write, tmp_path: Path
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    mine = records(
        tmp_path / "mine.test.jsonl", ({"premise": CAT, "hypothesis": DOG}, {"label": "neutral"})
    )
    assert table(check(str(mine), data)) == {("leaked-pairs", "test in jsts:train"): 1}


def records(path: Path, *rows: tuple[dict[str, Any], dict[str, Any]]) -> Path:
    """A records file of (inputs, gold)."""
    lines = [
        {"id": str(n), "inputs": inputs, "gold": gold} for n, (inputs, gold) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


PAIR = {"sentence1": CAT, "sentence2": DOG}


@pytest.mark.parametrize("name", ["jsts.jsonl", "jsts.train.jsonl", "jsts"])
def test_a_file_called_like_a_dataset_is_not_that_dataset(
    data: Path, write: Write, tmp_path: Path, name: str
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    mine = records(
        tmp_path / name, (PAIR, {"score": 9.0}), ({"sentence1": OWL, "sentence2": FOX}, {})
    )
    report = check(str(mine), data)
    (found,) = report.findings
    assert (found.check, found.where.partition(" ")[2], found.count) == (
        "leaked-pairs",
        "in jsts:train",
        1,
    )
    assert report.dataset == (name if "." in name else str(mine))
    assert "jsts" in report.compared


def test_a_known_count_is_not_known_of_a_file_of_ones_own(tmp_path: Path) -> None:
    (count,) = (
        n for where, n in known_problems()["jsts"]["repeated-pairs"].items() if where == "dev"
    )
    assert count == 1
    mine = records(tmp_path / "jsts.dev.jsonl", (PAIR, {"score": 1.0}), (PAIR, {"score": 1.0}))
    report = check(str(mine), tmp_path)
    assert table(report) == {("repeated-pairs", "dev"): 1}
    assert report.new


def test_a_copy_in_a_folder_is_compared_with_the_published_one(
    data: Path, write: Write, tmp_path: Path
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    copy = tmp_path / "jsts"
    write_folder(load("jsts", data=data), copy)
    report = check(str(copy), data)
    assert report.dataset == "jsts/"
    assert table(report) == {("leaked-pairs", "train in jsts:train"): 1}


def test_one_split_of_a_folder_whose_card_has_a_published_name(tmp_path: Path) -> None:
    mini = load("mini-ja")
    named = replace_fields(mini, name="jsick", card=replace_fields(mini.card, name="jsick"))
    write_folder(named, tmp_path / "jsick")
    report = check(f"{tmp_path / 'jsick'}:trial", tmp_path / "none")
    assert (report.dataset, list(report.sizes)) == ("jsick/", ["dev"])
    assert {f.check.partition("-")[0] for f in report.findings} == {"leaked"}


def test_one_split_is_compared_with_the_others(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (OWL, FOX, 2.0))
    write("jsts", "valid", (CAT, DOG, 1.0))
    report = check("jsts:dev", data)
    assert table(report) == {
        ("leaked-pairs", "dev in train"): 1,
        ("leaked-sentences", "dev in train"): 1,
    }
    assert report.compared[0] == "jsts"
    assert report.sizes == {"dev": 1}
    assert table(check("jsts:train", data)) == {("leaked-pairs", "train in dev"): 1}


def test_a_file_is_compared_with_the_other_published_splits(
    data: Path, write: Write, tmp_path: Path
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (OWL, FOX, 2.0))
    write("jsts", "valid", (DOG, OWL, 1.0))
    train = data / "jglue/datasets/jsts-v1.2/train-v1.2.json"
    mine = tmp_path / "valid-mine.json"
    mine.write_bytes(train.read_bytes())
    report = check(f"jsts@{mine}", data)
    assert table(report) == {("leaked-pairs", "dev in jsts:train"): 2}
    assert report.dataset == "jsts@valid-mine.json"
    assert table(check(f"jsts:train@{mine}", data)) == {}
    assert table(check(f"jsts@{mine.rename(tmp_path / 'mine.json')}", data)) == {
        ("leaked-pairs", "all in jsts:train"): 2
    }


def test_a_damaged_sibling_is_told(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, "much"))
    write("jsts", "valid", (DOG, OWL, 1.0))
    assert table(check("jsts:dev", data)) == {("not-compared", "other splits of jsts"): 1}


def test_a_file_where_nothing_published_is_here(write: Write, data: Path, tmp_path: Path) -> None:
    write("jsts", "train", (CAT, DOG, 1.0))
    file = data / "jglue/datasets/jsts-v1.2/train-v1.2.json"
    report = check(f"jsts@{file}", tmp_path / "empty")
    assert report.findings == ()
    assert "jsts" not in report.compared


def test_a_changed_published_file_is_told(data: Path, write: Write) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), version="1.3")
    write("jsts", "valid", (OWL, DOG, 1.0), version="1.3")
    wrong = "not-the-published-file"
    train, dev = (f"datasets/jsts-v1.3/{split}-v1.3.json" for split in ("train", "valid"))
    report = check("jsts", data)
    assert table(report) == {(wrong, train): 1, (wrong, dev): 1}
    assert report.new
    assert table(check("jsts:dev", data)) == {(wrong, dev): 1}
    file = data / "jglue" / dev
    assert table(check(f"jsts@{file}", data)) == {(wrong, "valid-v1.3.json"): 1}
    assert table(check(f"jsts@{file.rename(file.with_name('mine.json'))}", data)) == {}


def test_the_pinned_content_is_the_published_file(
    data: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), version="1.3")
    monkeypatch.setattr("nikawa.checks.job.is_published", lambda file, path: True)
    assert check("jsts", data).findings == ()


def test_a_gold_outside_the_closed_set(tmp_path: Path) -> None:
    mine = records(
        tmp_path / "x.jsonl", ({"premise": CAT, "hypothesis": DOG}, {"label": "perhaps"})
    )
    assert table(check(f"mini-ja@{mine}", tmp_path)) == {("label-outside", "all"): 1}
    assert table(check(str(mine), tmp_path)) == {}


def test_mixed_types(tmp_path: Path) -> None:
    mine = records(
        tmp_path / "x.jsonl",
        (PAIR, {"score": 1.0}),
        ({"sentence1": OWL, "sentence2": 7}, {"score": "x"}),
        ({"sentence1": OWL, "sentence2": FOX}, {"score": 2}),
    )
    mixed = {("mixed-types", "inputs.sentence2 in all"): 1, ("mixed-types", "gold.score in all"): 1}
    assert table(check(str(mine), tmp_path)) == mixed | {("wrong-type", "all"): 1}
    assert table(check(f"mini-ja@{mine}", tmp_path)) == mixed | {("wrong-type", "all"): 1}


NLI = {"premise": CAT, "hypothesis": DOG}
CHOICE = {"question": "飛ぶのは？", "choices": ["梟", "犬"]}
READING = {"title": "梟", "context": OWL, "question": "何を数える？"}
TURNS = {"turns": [{"role": "user", "text": "北の宿は？"}]}
TREE = {"text": "梟が 数える", "words": [{"form": "梟が"}, {"form": "数える"}]}


@pytest.mark.parametrize(
    ("inputs", "gold"),
    [
        (NLI | {"premise": 7}, {"label": "neutral"}),
        (NLI | {"premise": None}, {"label": "neutral"}),
        (NLI | {"premise": {"text": CAT}}, {"label": "neutral"}),
        (NLI | {"hypothesis": [CAT, DOG]}, {"label": "neutral"}),
        (NLI, {"label": None}),
        (NLI, {"label": ["neutral"]}),
        (NLI, {"mine": None}),
        (CHOICE | {"choices": ["梟", 1]}, {"choice": 0}),
        (CHOICE | {"choices": None}, {"choice": 0}),
        (CHOICE, {"choice": "0"}),
        (READING, {"answers": [{"start": 2}]}),
        (READING, {"answers": [{"text": None, "start": 2}]}),
        (READING, {"answers": None}),
        (TURNS | {"turns": None}, {"state": []}),
        (TURNS | {"turns": [{"text": "北の宿は？"}]}, {"state": []}),
        (TURNS, {"state": [None]}),
        (TREE, {"tree": {"heads": [2, 0], "labels": None}}),
        (TREE, {"tree": {"heads": None, "labels": ["NP", "VP"]}}),
        (TREE, {"tree": [2, 0]}),
    ],
)
@pytest.mark.parametrize("reader", ["", "mini-ja@"])
def test_odd_records_are_told_and_left_alone(
    tmp_path: Path, inputs: dict[str, Any], gold: dict[str, Any], reader: str
) -> None:
    """Two of them and a sound one: nothing but their type is told, and nothing is counted of them."""
    mine = records(
        tmp_path / "x.jsonl", (inputs, gold), (inputs, gold), ({"text": FOX}, {"spans": []})
    )
    report = check(f"{reader}{mine}", tmp_path)
    found = {f.check: f.count for f in report.findings}
    assert found.pop("wrong-type") == 2
    assert found.keys() <= {"mixed-types", "missing-input"}
    assert report.sizes == {"all": 3}
    assert report.labels == {"all": {"spans": {"(none)": 1}}}


@pytest.mark.parametrize("reader", ["", "mini-ja@"])
def test_a_choice_that_is_not_there(tmp_path: Path, reader: str) -> None:
    mine = records(
        tmp_path / "x.jsonl",
        (CHOICE, {"choice": 0}),
        (CHOICE | {"question": "泳ぐのは？"}, {"choice": 7}),
    )
    assert table(check(f"{reader}{mine}", tmp_path)) == {("choice-outside", "all"): 1}


def test_a_question_of_its_own_for_each_example() -> None:
    rows = [
        Example(id=str(n), inputs={"text": CAT}, gold={f"{n}": "a", f"{n // 2}b": n})
        for n in range(12_000)
    ]
    began = time.process_time()
    found = [f for f in repetition_findings("zoo", {"dev": rows}) if f.check == "conflicting-gold"]
    assert time.process_time() - began < 3  # square time would be a minute
    assert (len(found), {len(f.ids) for f in found}) == (6_000, {2})


def test_the_highest_score_is_in_the_last_bin(tmp_path: Path) -> None:
    pair = {"premise": CAT, "hypothesis": DOG}
    mine = records(
        tmp_path / "x.jsonl",
        (pair, {"relatedness": 5.0}),
        ({**pair, "premise": OWL}, {"relatedness": 4.2}),
    )
    assert check(str(mine), tmp_path).labels == {"all": {"relatedness": {"4-5": 2}}}


def test_a_finding_is_known_when_everything_agrees() -> None:
    known = {"zoo": {"repeated-pairs": {"train": 3}}}
    found = [
        Finding(check="repeated-pairs", where="train", count=3),
        Finding(check="repeated-pairs", where="train", count=4),
        Finding(check="repeated-pairs", where="dev", count=3),
        Finding(check="repeated-texts", where="train", count=3),
        Finding(check="left-over", where="train", count=1, known=True),
    ]
    assert [f.known for f in mark_known(["zoo"], found, known)] == [True, False, False, False, True]
    assert [f.known for f in mark_known(["farm", "zoo"], found[:2], known)] == [True, False]
    assert not any(f.known for f in mark_known(["farm"], found[:4], known))
    assert not any(f.known for f in mark_known([], found[:4], known))


def test_known_entries_make_every_finding_known(data: Path, write: Write, tmp_path: Path) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (CAT, DOG, 2.0), ("猫", "", 0.0))
    report = check("jsts", data)
    file = tmp_path / "known.toml"
    file.write_text(known_entries(report), "utf-8")
    assert len(report.findings) > 2
    assert all(f.known for f in mark_known(["jsts"], report.findings, read_known_problems(file)))


def test_known_entries_of_a_file_stand_under_its_name(
    data: Path, write: Write, tmp_path: Path
) -> None:
    write("jsts", "train", (CAT, DOG, 1.0), (CAT, DOG, 1.0))
    path = data / "jglue/datasets/jsts-v1.2/train-v1.2.json"
    file = tmp_path / "known.toml"
    file.write_text(known_entries(check(f"jsts@{path}", data)), "utf-8")
    assert read_known_problems(file) == {"jsts@train-v1.2.json": {"repeated-pairs": {"train": 1}}}


@pytest.mark.parametrize(
    "text", ["[jsick", '[jsick.repeated-pairs]\n"train" = "many"\n', "jsick = 3\n"]
)
def test_a_broken_list_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "known.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(BadInput) as caught:
        read_known_problems(file)
    assert str(caught.value).startswith(str(file))


def test_known_problems_are_of_registered_datasets() -> None:
    for name in known_problems():
        dataset, at, file = name.partition("@")
        assert dataset in benchmarks()
        assert not at or file in {Path(pinned.path).name for pinned in pinned_files(dataset)}
    assert "jsick" in known_problems()


def test_the_lists_hold_every_table_once() -> None:
    for file in Path(nikawa.datasets.__path__[0]).glob("*/known.toml"):
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


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A dataset folder with these splits."""

    def write_splits(**splits: list[Example]) -> Path:
        mini = load("mini-ja")
        made = {name.replace("_", "-"): tuple(examples) for name, examples in splits.items()}
        write_folder(
            replace_fields(mini, name="own", splits=made), tmp_path / "own", overwrite=True
        )
        return tmp_path / "own"

    return write_splits


def sightings(first: int, last: int, **meta: str) -> list[Example]:
    return [
        Example(
            id=f"{n}",
            inputs={"text": f"{n}艘目の船が白い港に着く。"},
            gold={"label": "yes" if n % 2 else "no"},
            meta=meta,
        )
        for n in range(first, last)
    ]


def test_a_part_of_train_is_no_leak(
    folder: Callable[..., Path], nikawa: Callable[..., Any]
) -> None:
    train, test = sightings(0, 9), sightings(20, 25, **{"no-past": "unseen"})
    own = folder(train=train, test=test, no_past=train[:4], few_shot=train[5:7])
    report = check(str(own))
    assert report.findings == ()
    assert report.views == {"few-shot": "train", "no-past": "train"}
    assert report.sizes == {"train": 9, "test": 5, "few-shot": 2, "no-past": 4}
    assert (
        "\nfew-shot, no-past repeat train by design: not compared\n0 findings"
        in nikawa("data", "check", str(own)).stdout
    )


def test_real_leaks_are_found_beside_parts_of_train(folder: Callable[..., Path]) -> None:
    train, test = sightings(0, 9), sightings(20, 25)
    own = folder(train=train, test=[*test, train[0]], few_shot=train[5:7])
    leak = ("leaked-texts", "test in train", 1)
    assert leak in new(check(str(own)))
    own = folder(train=train, test=test, few_shot=[*train[5:7], test[0]])
    report = check(str(own))
    assert report.views == {}
    assert {
        ("leaked-texts", "few-shot in train", 2),
        ("leaked-texts", "test in train+few-shot", 1),
    } <= set(new(report))
    own = folder(train=train, dev=train[:3], ood=train[3:6])
    report = check(str(own))
    assert report.views == {}
    assert {("leaked-texts", "dev in train", 3), ("leaked-texts", "ood in train+dev", 3)} <= set(
        new(report)
    )


def new(report: CheckReport) -> list[tuple[str, str, int]]:
    return [(f.check, f.where, f.count) for f in report.findings if not f.known]


@pytest.fixture(scope="module")
def once() -> Callable[..., Dataset]:
    """`load`, which reads each dataset one time."""
    return cache(load)


@pytest.fixture
def published(
    shared_data: Path, once: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The published data, read once for all checks of it."""
    monkeypatch.setattr("nikawa.checks.job.load", once)
    return shared_data


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["jsts", "jnli", "jsick", "jcommonsenseqa", "jsquad", "jcola", "klue-ner"]
)
def test_the_published_files_hold_nothing_new(published: Path, name: str) -> None:
    assert files_here(benchmarks()[name], published)
    assert new(check(name, published)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jsts", "jsick", "jsick-en", "jcommonsenseqa", "jcola"])
def test_the_published_splits_hold_nothing_new(published: Path, name: str) -> None:
    for split in load(name, data=published).splits:
        assert new(check(f"{name}:{split}", published)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "jsick/jsick.tsv",
        "jsick/train.tsv",
        "jsick/test.tsv",
        "jsick/jsick-all-annotations.tsv",
        "jsick-stress/ex_ga_o/test.tsv",
    ],
)
def test_the_published_files_of_jsick_hold_nothing_new(published: Path, file: str) -> None:
    name = "jsick-stress" if "stress" in file else "jsick"
    report = check(f"{name}@{published / 'jsick' / file}", published)
    assert new(report) == []
    assert (("train-file-ids", "train") in table(report)) == (file == "jsick/train.tsv")


@pytest.mark.slow
def test_leaks_into_published_splits_are_told(published: Path, tmp_path: Path) -> None:
    assert table(check("jsick:test", published))[("leaked-pairs", "test in train+dev")] == 87
    mine = tmp_path / "valid-mine.json"
    train = (
        (published / "jglue/datasets/jsts-v1.3/train-v1.3.json")
        .read_bytes()
        .splitlines(keepends=True)
    )
    mine.write_bytes(b"".join(train[:100]))
    assert table(check(f"jsts@{mine}", published))[("leaked-pairs", "dev in jsts:train")] == 100


@pytest.mark.slow
def test_a_flipped_label_is_told(shared_data: Path, tmp_path: Path) -> None:
    place = "jglue/datasets/jnli-v1.3/valid-v1.3.json"
    copy = tmp_path / place
    copy.parent.mkdir(parents=True)
    text = (shared_data / place).read_text("utf-8")
    copy.write_text(text, "utf-8")
    assert new(check("jnli", tmp_path)) == []
    copy.write_text(text.replace('"label": "neutral"', '"label": "entailment"', 1), "utf-8")
    assert new(check("jnli", tmp_path)) == [
        ("not-the-published-file", place.removeprefix("jglue/"), 1)
    ]
