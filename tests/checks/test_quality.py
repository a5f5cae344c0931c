from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nikawa.checks.quality import distribution, repetition_findings, text_findings, tops
from nikawa.datasets import load
from nikawa.records import Example, Finding, Origin, Span

CAT, DOG, OWL = "猫が雲を編む。", "犬が月を磨く。", "梟が砂を数える。"


def nli(name: str, premise: str, hypothesis: str, label: str = "neutral", **more: Any) -> Example:
    return Example(
        id=name,
        inputs={"premise": premise, "hypothesis": hypothesis},
        gold={"label": label},
        **more,
    )


def sts(name: str, one: str, two: str, score: float) -> Example:
    return Example(id=name, inputs={"sentence1": one, "sentence2": two}, gold={"score": score})


def table(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    return {(finding.check, finding.where): finding.count for finding in findings}


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("", "empty-text"),
        (" 　", "empty-text"),
        ("猫", "short-text"),
        (" 猫が鳴く", "edge-space"),
        ("猫が鳴く　", "edge-space"),
        ("猫\u200bが鳴く", "odd-characters"),
        ("猫\ufffdが鳴く", "odd-characters"),
        ("猫\x07が鳴く", "odd-characters"),
    ],
)
def test_damaged_texts(text: str, check: str) -> None:
    examples = [Example(id="1", inputs={"text": text}), Example(id="2", inputs={"text": CAT})]
    (finding,) = text_findings("zoo", {"dev": examples})
    assert (finding.check, finding.where, finding.count) == (check, "dev", 1)
    assert finding.ids == ("zoo:dev/1",)


def test_sound_texts_say_nothing() -> None:
    examples = [
        Example(id="1", inputs={"text": "一行目\n二行目\t終わり"}),
        Example(id="2", inputs={"question": "何色の猫？", "choices": ["赤", "青"]}),
        Example(id="3", inputs={"turns": [{"role": "user", "text": "部屋はありますか"}]}),
    ]
    assert list(text_findings("zoo", {"dev": examples})) == []


def test_choices_and_turns_are_texts_too() -> None:
    examples = [
        Example(id="1", inputs={"question": "何色の猫？", "choices": ["赤", ""]}),
        Example(id="2", inputs={"turns": [{"role": "user", "text": ""}]}),
    ]
    assert table(text_findings("zoo", {"dev": examples})) == {("empty-text", "dev"): 2}


def test_repeated_pairs_within_and_over_splits() -> None:
    splits = {
        "train": [nli("1", CAT, DOG), nli("2", CAT, DOG), nli("3", DOG, OWL)],
        "test": [nli("1", DOG, OWL), nli("2", OWL, CAT)],
    }
    assert table(repetition_findings("zoo", splits)) == {
        ("repeated-pairs", "train"): 1,
        ("repeated-pairs", "train+test"): 2,
    }


def test_a_copy_under_the_same_reference_is_a_repetition() -> None:
    """One reference twice: a file was read twice, or two files number their rows alike."""
    splits = {"dev": [nli("1", CAT, DOG, "neutral"), nli("1", CAT, DOG, "entailment")]}
    assert table(repetition_findings("zoo", splits)) == {
        ("repeated-pairs", "dev"): 1,
        ("conflicting-gold", "label in dev"): 1,
    }
    made = Origin(recipe="swap", parents=("zoo:dev/1",))
    kin = {
        "dev": [
            nli("1", CAT, DOG),
            nli("2", CAT, DOG, origin=made),
            nli("3", CAT, DOG, origin=made),
        ]
    }
    assert table(repetition_findings("zoo", kin)) == {}
    siblings = {"dev": kin["dev"][1:]}  # two items of one source say the same, whoever made them
    assert table(repetition_findings("zoo", siblings)) == {("repeated-pairs", "dev"): 1}


def test_unordered_pairs_are_told_where_they_are_more() -> None:
    splits = {"dev": [nli("1", CAT, DOG), nli("2", DOG.rstrip("。"), CAT)]}
    (finding,) = repetition_findings("zoo", splits)
    assert (finding.check, finding.count) == ("repeated-unordered-pairs", 1)
    assert finding.ids == ("zoo:dev/1", "zoo:dev/2")


def test_the_same_pair_with_another_label() -> None:
    splits = {
        "dev": [
            nli("1", CAT, DOG),
            nli("2", CAT, DOG, "entailment"),
            nli("3", DOG, CAT, "entailment"),
        ]
    }
    found = table(repetition_findings("zoo", splits))
    assert found[("conflicting-gold", "label in dev")] == 1


def test_a_similarity_holds_in_both_orders() -> None:
    splits = {"dev": [sts("1", CAT, DOG, 1.0), sts("2", DOG, CAT, 2.0)]}
    assert table(repetition_findings("zoo", splits)) == {
        ("repeated-unordered-pairs", "dev"): 1,
        ("conflicting-gold", "score in dev"): 1,
    }


def test_a_question_with_other_choices_is_no_conflict() -> None:
    def ask(name: str, choices: list[str], choice: int) -> Example:
        return Example(
            id=name,
            inputs={"question": "空を飛ぶのは？", "choices": choices},
            gold={"choice": choice},
        )

    splits = {
        "dev": [ask("1", ["梟", "犬"], 0), ask("2", ["犬", "鷹"], 1), ask("3", ["犬", "梟"], 1)]
    }
    assert table(repetition_findings("zoo", splits)) == {("repeated-questions", "dev"): 1}
    splits["dev"].append(ask("4", ["犬", "梟"], 0))
    assert table(repetition_findings("zoo", splits))[("conflicting-gold", "choice in dev")] == 1


def test_answers_conflict_only_without_a_common_one() -> None:
    def ask(name: str, *answers: str) -> Example:
        inputs = {"title": "梟", "context": OWL, "question": "何を数える？"}
        return Example(
            id=name,
            inputs=inputs,
            gold={"answers": [{"text": a, "start": OWL.find(a)} for a in answers]},
        )

    agree = {"dev": [ask("1", "砂", "砂を"), ask("2", "砂")]}
    assert table(repetition_findings("zoo", agree)) == {("repeated-questions", "dev"): 1}
    differ = {"dev": [ask("1", "砂"), ask("2")]}
    assert ("conflicting-gold", "answers in dev") in table(repetition_findings("zoo", differ))


def test_a_sentence_with_other_entities_is_another_item() -> None:
    def relation(name: str, start: int, label: str) -> Example:
        inputs = {"text": CAT, "subject": Span(0, 1), "object": Span(start, start + 1)}
        return Example(id=name, inputs=inputs, gold={"relation": label})

    splits = {"dev": [relation("1", 2, "no_relation"), relation("2", 4, "per:alias")]}
    assert table(repetition_findings("zoo", splits)) == {("repeated-texts", "dev"): 1}
    splits["dev"].append(relation("3", 2, "per:alias"))
    assert table(repetition_findings("zoo", splits))[("conflicting-gold", "relation in dev")] == 1


def test_examples_made_from_one_another_are_not_repeated() -> None:
    made = nli("1", CAT, DOG, origin=Origin(recipe="swap", parents=("zoo:test/1",)))
    assert list(repetition_findings("zoo", {"test": [nli("1", CAT, DOG)], "swap": [made]})) == []


def test_inputs_of_no_known_shape_are_left_alone() -> None:
    odd = [Example(id=str(n), inputs={"picture": "a.png"}) for n in range(3)]
    assert list(repetition_findings("zoo", {"dev": odd})) == []


def test_the_distribution_of_every_kind_of_gold() -> None:
    def gold(**value: Any) -> Example:
        return Example(id="1", inputs={}, gold=value)

    examples = [
        gold(score=0.0),
        gold(score=4.0),
        gold(score=5.0),
        gold(label="neutral"),
        gold(choice=3),
        gold(spans=[Span(0, 1, "PS"), Span(2, 3, "PS")]),
        gold(spans=[]),
        gold(answers=[{"text": "a", "start": 0}]),
        gold(tree={"heads": [0], "labels": ["VP"]}),
        gold(state=["宿-地域-北-上"]),
    ]
    assert distribution(examples, {"score": 5.0}) == {
        "score": {"0-1": 1, "4-5": 2},
        "label": {"neutral": 1},
        "choice": {"3": 1},
        "spans": {"(none)": 1, "PS": 2},
        "answers": {"1 answer": 1},
        "tree": {"VP": 1},
        "state": {"宿-地域": 1},
    }


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([1.0, 5.0], {"1-2": 1, "4-5": 1}),
        ([4.6, 5, 3.0], {"3-4": 1, "4-5": 2}),
        ([0.0, 0.0], {"0-1": 2}),
        ([0.4, 2.0, -1.0], {"-1-0": 1, "0-1": 1, "1-2": 1}),
        ([1, 2], {"1": 1, "2": 1}),
    ],
)
def test_the_last_bin_holds_its_end(values: list[float], bins: dict[str, int]) -> None:
    examples = [Example(id=str(n), inputs={}, gold={"score": v}) for n, v in enumerate(values)]
    assert distribution(examples, tops({"dev": examples})) == {"score": bins}


def test_bins_are_the_same_in_all_splits() -> None:
    splits = {"train": [sts("1", CAT, DOG, 5.0)], "dev": [sts("1", CAT, DOG, 4.0)]}
    assert distribution(splits["dev"], tops(splits)) == {"score": {"4-5": 1}}


def test_damaged_inputs_and_gold_are_the_same_as_nothing() -> None:
    pairs = [{"premise": CAT, "hypothesis": 3}] * 2 + [{"premise": 3, "hypothesis": CAT}] * 2
    odd: list[dict[str, Any]] = [
        *pairs,
        {"sentence1": None, "sentence2": CAT},
        {"text": ["x"]},
        {"question": CAT, "choices": [1, "x"]},
        {"turns": "x"},
        {"turns": [{"role": "user"}]},
        {"context": CAT, "question": {}},
        {"text": CAT, "subject": [], "object": []},
    ]
    examples = [Example(id=str(n), inputs=inputs) for n, inputs in enumerate(odd + odd)]
    assert list(repetition_findings("zoo", {"dev": examples})) == []


@pytest.mark.parametrize(
    ("inputs", "gold"),
    [
        ({"question": CAT, "choices": ["梟", "犬"]}, {"choice": 9}),
        ({"question": CAT, "choices": ["梟", "犬"]}, {"choice": "梟"}),
        ({"context": CAT, "question": DOG}, {"answers": "雲"}),
        ({"context": CAT, "question": DOG}, {"answers": ["雲", {"start": 1}, {"text": ["x"]}]}),
        ({"text": CAT}, {"tree": {"labels": None}}),
        ({"text": CAT}, {"tree": {"labels": [{}]}}),
    ],
)
def test_gold_of_a_wrong_type_can_be_compared_and_counted(
    inputs: dict[str, Any], gold: dict[str, Any]
) -> None:
    examples = [Example(id=str(n), inputs=inputs, gold=gold) for n in range(2)]
    assert [f.check.partition("-")[0] for f in repetition_findings("zoo", {"dev": examples})] == [
        "repeated"
    ]
    (counts,) = distribution(examples).values()
    assert sum(counts.values()) >= 2


def test_jsts_as_published(shared_data: Path) -> None:
    splits = load("jsts", data=shared_data).splits
    found = table(repetition_findings("jsts", {split: splits[split] for split in ("train", "dev")}))
    assert found[("repeated-pairs", "train+dev")] == 9
    assert found[("repeated-unordered-pairs", "train+dev")] == 13
    assert found[("conflicting-gold", "score in train+dev")] == 12
    bins = distribution(splits["train"], {"score": 5.0})["score"]
    assert list(bins.values()) == [2837, 1752, 2784, 3719, 1359]


def test_jsick_as_published(shared_data: Path) -> None:
    findings = list(repetition_findings("jsick", load("jsick", data=shared_data).splits))
    found = table(findings)
    assert found[("repeated-pairs", "train+dev+test")] == 123
    assert found[("conflicting-gold", "label in train+dev+test")] == 2
    rows = next(
        f.ids for f in findings if (f.check, f.where) == ("repeated-pairs", "train+dev+test")
    )
    assert len(rows) == 274


def test_jcommonsenseqa_as_published(shared_data: Path) -> None:
    splits = load("jcommonsenseqa", data=shared_data).splits
    found = table(repetition_findings("jcommonsenseqa", {s: splits[s] for s in ("train", "dev")}))
    assert found[("repeated-questions", "train+dev")] == 96


def test_jsquad_as_published(shared_data: Path) -> None:
    splits = load("jsquad:dev", data=shared_data).splits
    assert table(repetition_findings("jsquad", splits))[("repeated-questions", "dev")] == 6
