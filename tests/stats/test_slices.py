"""What examples are sliced by."""

from __future__ import annotations

from typing import Any

from nikawa.records import Example, Task
from nikawa.stats.slices import bin_similarities, count_characters, find_slices, slice_examples

TASK = Task(
    name="t",
    dataset="d",
    kind="inference",
    question="label",
    inputs=("premise", "hypothesis"),
    labels=("yes", "no"),
    metrics=("accuracy",),
)


def example(i: int, **more: Any) -> Example:
    inputs = {"premise": "あ" * (i + 1), "hypothesis": "い"}
    return Example(
        id=str(i), inputs=inputs, **{"gold": {"label": "yes" if i % 2 else "no"}, **more}
    )


def test_tags_gold_length_and_meta_are_found() -> None:
    examples = [
        example(
            i,
            tags=frozenset({"negation"} if i < 3 else ()),
            meta={"source": "abb"[i % 3], "page": f"p{i}", "year": i * 7 % 40, "one": 1},
        )
        for i in range(40)
    ]
    parts, passed = find_slices(TASK, examples)
    sizes = {(p.by, p.where): int(p.mask.sum()) for p in parts}
    assert sizes["tag", "negation"] == 3
    assert (sizes["gold", "yes"], sizes["gold", "no"]) == (20, 20)
    assert sizes["source", "a"] == 14
    assert [name for by, name in sizes if by == "length"] == [
        "2-11 characters",
        "12-21 characters",
        "22-31 characters",
        "32-41 characters",
    ]
    assert len([name for by, name in sizes if by == "year"]) == 4
    assert passed == {"page": "40 values; the maximum is 30", "one": "the same value on all items"}


def test_a_key_that_repeats_another_is_passed_over() -> None:
    examples = [example(i, meta={"author": "ab"[i % 2]}) for i in range(6)]
    assert find_slices(TASK, examples)[1] == {"author": "the same slices as gold"}
    assert {p.by for p in find_slices(TASK, examples, ("author",))[0]} == {"author"}


def test_keys_that_are_asked_for_may_have_more_values() -> None:
    parts, passed = find_slices(
        TASK, [example(i, meta={"page": f"p{i}"}) for i in range(40)], ("page", "author")
    )
    assert {p.by for p in parts} == {"page"}
    assert passed == {"author": "no item has this field"}


def test_an_item_may_have_several_values() -> None:
    examples = [
        example(0, meta={"topic": ["a", "b"]}),
        example(1, meta={"topic": ["b"]}),
        example(2),
    ]
    parts, _ = find_slices(TASK, examples, ("topic",))
    assert {p.where: p.mask.tolist() for p in parts} == {
        "a": [True, False, False],
        "b": [True, True, False],
    }


def test_similarity_comes_in_steps_with_and_without_its_end() -> None:
    scores = (1.0, 1.9, 4.0, 5.0)
    examples = [example(i, gold={"label": "yes", "relatedness": s}) for i, s in enumerate(scores)]
    found = {p.where: p.mask.tolist() for p in bin_similarities(examples)}
    assert found["1-2"] == [True, True, False, False]
    assert found["4-5"] == [False, False, True, True]
    assert found["4-5 without 5"] == [False, False, True, False]
    assert ("bin", "4-5") in {(p.by, p.where) for p in find_slices(TASK, examples)[0]}
    assert bin_similarities([example(0)]) == []


def test_numbers_are_in_order_and_words_behind() -> None:
    examples = [example(i, meta={"k": v}) for i, v in enumerate((10, 9, "nan", "x"))]
    assert [p.where for p in find_slices(TASK, examples, ("k",))[0]] == ["9", "10", "nan", "x"]


def test_lengths_count_lists_and_mappings() -> None:
    task = Task(
        name="t",
        dataset="d",
        kind="choice",
        question="choice",
        inputs=("question", "choices"),
        metrics=(),
    )
    asked = Example(
        id="1",
        inputs={"question": "ab", "choices": ["c", "de"], "other": "xyz"},
        gold={"choice": 0},
    )
    assert count_characters(task, asked) == 5
    assert slice_examples("gold", [asked], task) == {"0": [0]}


def test_one_rule_for_lists_numbers_and_missing_examples() -> None:
    examples = [
        example(0, meta={"topic": ["b", "a", "b"], "year": 10}),
        None,
        example(1, meta={"topic": "b", "year": 9, "more": {"x": 1}}),
    ]
    assert slice_examples("topic", examples) == {"a": [0], "b": [0, 2]}
    assert list(slice_examples("year", examples)) == ["9", "10"]
    assert slice_examples("more", examples) == {}


def test_without_a_task_gold_is_no_key() -> None:
    examples = [example(0, gold={"label": "yes", "score": 2.0})]
    for key in ("gold", "label", "bin", "length"):
        assert slice_examples(key, examples) == {}
        assert list(slice_examples(key, examples, TASK)) != []


def test_gold_numbers_come_in_bins_and_structures_in_no_slice() -> None:
    golds = (0.5, 5.0, ["a"], None)
    examples = [example(i, gold={"label": gold}) for i, gold in enumerate(golds)]
    assert slice_examples("gold", examples, TASK) == {"0-1": [0], "4-5": [1]}


def test_many_numbers_are_cut_only_where_a_limit_is_set() -> None:
    examples = [example(i, meta={"year": i}) for i in range(40)]
    assert len(slice_examples("year", examples, TASK)) == 40
    assert list(slice_examples("year", examples, TASK, max_numbers=30)) == [
        "0-9",
        "10-19",
        "20-29",
        "30-39",
    ]
