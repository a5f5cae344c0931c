"""Tagging from file to file: merge, replace, compare, skip; and JSICK's published tags from the text alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import nikawa.reproduce
from nikawa.datasets import load, tasks
from nikawa.errors import BadInput
from nikawa.io.folders import read_folder
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example
from nikawa.scoring.score import cut_slices
from nikawa.tagging import find_pack
from nikawa.tagging.job import Agreement, Difference, TagOptions, tag


def example(name: str, premise: str, hypothesis: str, *tags: str) -> Example:
    inputs = {"premise": premise, "hypothesis": hypothesis}
    return Example(id=name, inputs=inputs, gold={"label": "neutral"}, tags=frozenset(tags))


PAIRS = (
    example("1", "三人が橋を渡る。", "誰も橋を渡らない。", "NUM", "Negation", "own"),
    example("2", "舟が流される。", "舟が進む。", "Anaphora"),
    example("3", "空が広い。", "海も広い。"),
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs-test.jsonl"
    write_records(path, PAIRS)
    return path


def tags_in(path: Path) -> dict[str, set[str]]:
    return {e.id: set(e.tags) for e in read_examples(path)}


def test_tags_are_added_to_those_the_data_carries(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    report = tag(str(pairs), options=TagOptions(out=out))
    assert tags_in(out) == {
        "1": {"NUM", "Negation", "own", "Numerical", "Quantification"},
        "2": {"Passive", "Anaphora"},
        "3": set(),
    }
    assert [(e.inputs, e.gold) for e in read_examples(out)] == [(e.inputs, e.gold) for e in PAIRS]
    assert (report.pack, report.analyser, report.sizes, report.tagged) == (
        "jsick",
        "ipadic",
        {"test": 3},
        {"test": 2},
    )
    assert {t: c["test"] for t, c in report.found.items() if c["test"]} == {
        "Numerical": 1,
        "Negation": 1,
        "Quantification": 1,
        "Passive": 1,
    }
    assert report.carried == {"own": {"test": 1}}


def test_replace_and_a_chosen_input(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    tag(str(pairs), options=TagOptions(out=out, replace=True, inputs=("hypothesis",)))
    assert tags_in(out) == {"1": {"Negation", "Quantification"}, "2": set(), "3": set()}


@pytest.mark.parametrize(
    ("typo", "cure"),
    [("hypotesis", "did you mean 'hypothesis'"), ("foo", "known: hypothesis, premise")],
)
def test_an_input_that_no_example_has_is_refused(
    pairs: Path, tmp_path: Path, typo: str, cure: str
) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(BadInput, match=f"there is no text input {typo!r}") as told:
        tag(str(pairs), options=TagOptions(out=out, inputs=("premise", typo)))
    assert cure in str(told.value)
    assert not out.exists()


def test_compare_reads_aliases_and_names_ids(pairs: Path) -> None:
    found = tag(str(pairs), options=TagOptions(compare=True)).comparison
    assert found is not None
    assert (found.n, found.equal) == (3, 1)
    assert found.tags["Numerical"] == Agreement(carried=1, found=1, both=1)
    assert found.tags["Anaphora"] == Agreement(carried=1, found=0, both=0)
    assert found.differences == (
        Difference(example="pairs-test:test/1", carried_only=(), found_only=("Quantification",)),
        Difference(
            example="pairs-test:test/2", carried_only=("Anaphora",), found_only=("Passive",)
        ),
    )


def test_no_pack_counts_what_the_data_carries(pairs: Path) -> None:
    report = tag(str(pairs), options=TagOptions(pack="none"))
    assert (report.pack, report.found) == ("none", {})
    assert sorted(report.carried) == ["Anaphora", "NUM", "Negation", "own"]


def test_text_that_cannot_be_read_is_skipped_and_kept(tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_records(
        path,
        [example("a", "三人\0が渡る。", "渡る。", "own"), example("b", "三人が渡る。", "渡る。")],
    )
    report = tag(str(path), options=TagOptions(out=out, replace=True, pack="jsick"))
    assert [(s.example, "NUL" in s.why) for s in report.skipped] == [("in:all/a", True)]
    assert tags_in(out) == {"a": {"own"}, "b": {"Numerical"}}


def test_nothing_is_overwritten_and_that_is_said_first(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine", "utf-8")
    told: list[int] = []
    with pytest.raises(BadInput, match="already exists"):
        tag(
            str(pairs),
            options=TagOptions(out=out),
            on_progress=lambda done, total: told.append(done),
        )
    assert (out.read_text("utf-8"), told) == ("mine", [])
    tag(
        str(pairs),
        options=TagOptions(out=out, overwrite=True),
        on_progress=lambda done, total: told.append(done),
    )
    assert (len(tags_in(out)), told) == (3, [3])


def test_a_dataset_with_several_splits_goes_to_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tagged"
    report = tag("mini-ko", options=TagOptions(out=folder))
    kept = read_folder(folder)
    assert {s: len(e) for s, e in kept.splits.items()} == report.sizes
    found = sum(report.found["Negation"].values())
    assert (
        sum(
            "Negation" in e.tags
            for e in (*kept.splits["train"], *kept.splits["dev"], *kept.splits["test"])
        )
        == found
    )
    assert found > 10
    again = tmp_path / "again"
    tag(str(folder), options=TagOptions(out=again, replace=True))
    tag("mini-ko", options=TagOptions(out=again, replace=True, overwrite=True))
    first = {p.name: p.read_bytes() for p in again.iterdir()}
    tag("mini-ko", options=TagOptions(out=again, replace=True, overwrite=True))
    assert {p.name: p.read_bytes() for p in again.iterdir()} == first


def test_splits_that_share_ids_do_not_fit_into_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    tag("mini-ja", options=TagOptions(out=folder, pack="none"))
    (folder / "dev.jsonl").write_bytes((folder / "test.jsonl").read_bytes())
    with pytest.raises(BadInput, match=r"is in dev and in test; tag one split"):
        tag(str(folder), options=TagOptions(out=tmp_path / "one.jsonl"))
    assert not (tmp_path / "one.jsonl").exists()


def test_a_pack_of_another_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="for 'ja', mini-ko is 'ko'"):
        tag("mini-ko", options=TagOptions(pack="jsick"))
    path = tmp_path / "en.jsonl"
    write_records(path, [Example(id="1", inputs={"text": "No bridge."})])
    with pytest.raises(BadInput, match="no tag pack is for the language 'und'"):
        tag(str(path))
    assert tag(str(path), options=TagOptions(pack="jsick")).sizes == {"all": 1}


@pytest.fixture(scope="module")
def table2() -> dict[str, dict[str, int]]:
    """The paper's Table 2, by the short names."""
    folder = Path(nikawa.reproduce.__path__[0])
    printed: dict[str, dict[str, int]] = tomllib.loads((folder / "jsick.toml").read_text("utf-8"))[
        "table2"
    ]
    return printed


@pytest.mark.slow
def test_jsick_tags_from_the_text_alone(shared_data: Path) -> None:
    report = tag("jsick", data=shared_data, options=TagOptions(compare=True))
    assert report.comparison is not None
    assert (report.comparison.n, report.comparison.equal) == (9927, 9926)
    (odd,) = report.comparison.differences
    assert (odd.example, odd.carried_only, odd.found_only) == (
        "jsick:train/7101",
        ("Anaphora",),
        ("Quantification",),
    )
    assert "older sentence" in odd.known
    assert odd.known == find_pack("jsick").known[odd.example]


@pytest.mark.slow
def test_jsick_table_2_in_full_from_the_sentences_that_were_tagged(
    shared_data: Path, table2: dict[str, dict[str, int]]
) -> None:
    """The answers' table has the sentences before their correction: all 36 numbers, no published tag read."""
    file = shared_data / "jsick" / "jsick" / "jsick-all-annotations.tsv"
    report = tag(f"jsick@{file}", options=TagOptions(compare=True))
    assert not report.carried
    computed: dict[str, Any] = {
        report.aliases[name]: {**counts, "total": sum(counts.values())}
        for name, counts in report.found.items()
    }
    assert computed == table2
    assert sum(map(len, computed.values())) == 36


@pytest.mark.slow
def test_every_published_tag_set_from_the_sentences_that_were_tagged(
    shared_data: Path, tmp_path: Path
) -> None:
    folder, out = shared_data / "jsick" / "jsick", tmp_path / "old.jsonl"
    tag(f"jsick@{folder / 'jsick-all-annotations.tsv'}", options=TagOptions(out=out))
    tag(
        f"jsick@{folder / 'jsick.tsv'}", options=TagOptions(out=tmp_path / "new.jsonl", pack="none")
    )
    assert tags_in(out) == tags_in(tmp_path / "new.jsonl")
    assert len(tags_in(out)) == 9927


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "tags", "n"), [("jcola:ood", 12, 685), ("jamp:train", 45, 9950)])
def test_tags_the_readers_found_are_counted_kept_and_sliced_by(
    shared_data: Path, tmp_path: Path, spec: str, tags: int, n: int
) -> None:
    out = tmp_path / "out.jsonl"
    report = tag(spec, data=shared_data, options=TagOptions(out=out))
    assert (len(report.carried), sum(report.sizes.values())) == (tags, n)
    (examples,) = load(spec, data=shared_data).splits.values()
    (_, *parts) = cut_slices(examples, ("tag",), tasks()[spec.partition(":")[0]])
    sliced = {where.removeprefix("tag="): len(part) for where, part in parts}
    assert sliced == {name: sum(counts.values()) for name, counts in report.carried.items()}
    kept = [json.loads(line)["tags"] for line in out.read_text("utf-8").splitlines()[:50]]
    assert all(set(some) & set(report.carried) for some in kept)


def test_a_pack_of_another_language_is_named_as_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "ko.jsonl"
    write_records(path, [example("1", "배가 온다.", "배가 간다.")])
    with pytest.raises(BadInput, match=r"jsick: the tag pack jsick is for 'ja', .* is 'ko'; leave"):
        tag(str(path), options=TagOptions(pack="jsick"))
