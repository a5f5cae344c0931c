from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

import pytest

from nikawa.checks.leaks import (
    dataset_leaks,
    families,
    group_by_premise,
    lone_split_leaks,
    split_leaks,
)
from nikawa.checks.quality import repetition_findings
from nikawa.datasets import load
from nikawa.records import Example, Finding, Origin

CAT, DOG, OWL = "猫が雲を編む。", "犬が月を磨く。", "梟が砂を数える。"


def nli(name: str, premise: str, hypothesis: str, origin: Origin | None = None) -> Example:
    return Example(id=name, inputs={"premise": premise, "hypothesis": hypothesis}, origin=origin)


def sts(name: str, one: str, two: str) -> Example:
    return Example(id=name, inputs={"sentence1": one, "sentence2": two})


def table(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    return {(finding.check, finding.where): finding.count for finding in findings}


def test_test_is_compared_with_all_before_it() -> None:
    splits = {
        "test": [nli("1", CAT, DOG), nli("2", CAT, CAT)],
        "train": [nli("1", CAT, DOG)],
        "dev": [nli("1", DOG, OWL)],
    }
    assert table(split_leaks("zoo", splits)) == {
        ("leaked-pairs", "test in train+dev"): 1,
        ("leaked-sentences", "test in train+dev"): 2,
    }


def test_one_split_is_compared_with_those_before_and_each_after() -> None:
    splits = {
        "train": [nli("1", CAT, DOG), nli("2", OWL, OWL)],
        "dev": [nli("1", CAT, DOG)],
        "test": [nli("1", CAT, DOG), nli("2", OWL, OWL)],
    }
    assert table(lone_split_leaks("zoo", splits, "train")) == {
        ("leaked-pairs", "train in dev"): 1,
        ("leaked-pairs", "train in test"): 2,
    }
    assert table(lone_split_leaks("zoo", splits, "dev")) == {
        ("leaked-pairs", "dev in train"): 1,
        ("leaked-sentences", "dev in train"): 1,
        ("leaked-pairs", "dev in test"): 1,
    }
    whole = table(split_leaks("zoo", splits))
    last = table(lone_split_leaks("zoo", splits, "test"))
    assert last == {key: n for key, n in whole.items() if key[1] == "test in train+dev"}
    assert last


def test_reversed_and_loose_pairs() -> None:
    splits = {
        "train": [nli("1", CAT, DOG)],
        "test": [nli("7", DOG, CAT), nli("8", CAT.rstrip("。"), DOG)],
    }
    findings = list(split_leaks("zoo", splits))
    assert table(findings) == {
        ("leaked-unordered-pairs", "test in train"): 2,
        ("leaked-reversed-pairs", "test in train"): 1,
        ("leaked-sentences", "test in train"): 1,
    }
    assert findings[1].ids == ("zoo:test/7",)


def test_rows_and_different_items_are_both_told() -> None:
    splits = {"train": [nli("1", CAT, DOG)], "test": [nli("1", CAT, DOG), nli("2", CAT, DOG)]}
    found = table(split_leaks("zoo", splits))
    assert found[("leaked-pairs", "test in train")] == 2
    assert found[("shared-pairs", "test in train")] == 1


def test_groups_in_two_splits_are_told() -> None:
    def one(name: str, group: str | None, origin: Origin | None = None) -> Example:
        inputs = {"premise": OWL, "hypothesis": f"{name}番。"}
        return Example(id=name, inputs=inputs, group=group, origin=origin)

    made = Origin(recipe="swap", parents=("zoo:train/2",), step="swap", gold="inherited")
    splits = {
        "train": [one("1", "owl"), one("2", "cat"), one("3", None)],
        "test": [
            one("4", "owl"),
            one("5", "owl"),
            one("6", "dog"),
            one("7", None),
            one("8", "cat", made),
        ],
    }
    (found,) = split_leaks("zoo", splits)
    assert (found.check, found.where, found.count) == ("broken-groups", "test in train", 1)
    assert found.ids == ("zoo:test/4", "zoo:test/5")
    filled = table(split_leaks("zoo", group_by_premise(splits)))
    assert filled == {("broken-groups", "test in train"): 2}


def test_a_copy_in_another_unicode_form_leaks() -> None:
    word, parts = "감나무가 있다.", normalize("NFD", "감나무가 있다.")
    splits = {"train": [nli("1", word, CAT)], "test": [nli("2", parts, CAT), nli("3", word, CAT)]}
    found = {finding.check: finding for finding in split_leaks("zoo", splits)}
    assert found["leaked-pairs"].count == 2
    assert found["leaked-pairs"].note == "1 written in other Unicode forms (NFC, NFD)"
    assert found["leaked-sentences"].count == 2
    (twice,) = repetition_findings("zoo", {"all": [nli("1", word, CAT), nli("2", parts, CAT)]})
    assert (twice.check, twice.note) == (
        "repeated-pairs",
        "2 rows, 1 items written in other Unicode forms (NFC, NFD)",
    )


def test_contexts_leak_though_questions_differ() -> None:
    def ask(name: str, question: str) -> Example:
        return Example(id=name, inputs={"title": "", "context": OWL, "question": question})

    splits = {"train": [ask("1", "誰？"), ask("2", "何を？")], "dev": [ask("1", "いつ？")]}
    assert table(split_leaks("zoo", splits)) == {("leaked-contexts", "dev in train"): 1}


def test_a_perturbed_example_does_not_leak_from_its_parent() -> None:
    made = nli("1", CAT, DOG, Origin(recipe="swap", parents=("zoo:test/1",)))
    assert list(split_leaks("zoo", {"test": [nli("1", CAT, DOG)], "swap": [made]})) == []
    assert (
        list(dataset_leaks("stress", {"swap": [made]}, "zoo", {"test": [nli("1", CAT, DOG)]})) == []
    )
    stranger = {"train": [nli("9", CAT, DOG)]}
    assert table(dataset_leaks("stress", {"swap": [made]}, "zoo", stranger)) == {
        ("leaked-pairs", "swap in zoo:train"): 1
    }


def test_pairs_of_inference_and_similarity_are_one_family() -> None:
    ours, theirs = {"dev": [nli("1", CAT, DOG)]}, {"train": [sts("1", DOG, CAT.rstrip("。"))]}
    assert families(ours) == families(theirs)
    assert table(dataset_leaks("a", ours, "b", theirs)) == {
        ("leaked-unordered-pairs", "dev in b:train"): 1
    }


def test_other_shapes_do_not_meet() -> None:
    text = {"dev": [Example(id="1", inputs={"text": CAT})]}
    choice = {"dev": [Example(id="1", inputs={"question": CAT, "choices": [DOG, OWL]})]}
    reading = {"dev": [Example(id="1", inputs={"context": OWL, "question": CAT})]}
    assert families(text).isdisjoint(families(choice))
    assert families(choice).isdisjoint(families(reading))
    assert list(dataset_leaks("a", text, "b", choice)) == []


def test_jsick_as_published(shared_data: Path) -> None:
    found = table(split_leaks("jsick", load("jsick", data=shared_data).splits))
    assert found[("leaked-pairs", "test in train+dev")] == 87
    assert found[("leaked-reversed-pairs", "test in train+dev")] == 70
    assert found[("leaked-sentences", "test in train+dev")] == 2821


def test_jnli_in_jsts_as_published(shared_data: Path) -> None:
    ours, theirs = load("jnli:dev", data=shared_data).splits, load("jsts", data=shared_data).splits
    found = table(dataset_leaks("jnli", ours, "jsts", theirs))
    assert found[("leaked-pairs", "dev in jsts:train")] == 740
    assert found[("leaked-unordered-pairs", "dev in jsts:train")] == 1634
    assert found[("leaked-unordered-pairs", "dev in jsts:dev")] == 233


def test_jcommonsenseqa_as_published(shared_data: Path) -> None:
    found = table(split_leaks("jcommonsenseqa", load("jcommonsenseqa", data=shared_data).splits))
    assert found[("shared-questions", "dev in train")] == 17
    assert found[("leaked-questions", "dev in train")] == 19


def test_a_large_group_of_perturbations_is_looked_at_once() -> None:
    """Fellow perturbations break no group, one of the same step does; two thousand by two thousand pairs are too many."""

    def make(split: str, step: str, count: int) -> tuple[Example, ...]:
        return tuple(
            Example(
                id=f"{split}{n}",
                inputs={"text": f"{split}の{n}"},
                group="g",
                origin=Origin(
                    recipe="perturb", step=step, parents=(f"x:train/{n}",), gold="inherited"
                ),
            )
            for n in range(count)
        )

    splits = {"train": make("train", "swap", 20_000), "dev": make("dev", "drop", 20_000)}
    assert "broken-groups" not in {one.check for one in split_leaks("y", splits)}
    splits["dev"] = (*splits["dev"][:3], *make("other", "swap", 2))
    (broken,) = (one for one in split_leaks("y", splits) if one.check == "broken-groups")
    assert broken.ids == ("y:dev/other0", "y:dev/other1")


def test_equal_hashes_alone_are_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {
        "train": [nli("1", CAT, DOG), nli("2", DOG, CAT)],
        "test": [nli("3", CAT, DOG), nli("4", CAT, CAT), nli("5", "雨が降る。", "雪が降る。")],
    }
    before = list(split_leaks("zoo", splits))
    for module in ("leaks", "sameness"):
        monkeypatch.setattr(f"nikawa.checks.{module}.hash", lambda value: 7, raising=False)
    assert list(split_leaks("zoo", splits)) == before
    assert [finding.check for finding in before] != []
