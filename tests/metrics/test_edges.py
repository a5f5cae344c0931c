"""Edge cases of the official functions, and where the documented mode departs from them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nikawa
from nikawa.datasets import tasks
from nikawa.errors import BadInput
from nikawa.metrics import Items, Mode, classes, golden_adapters, jsquad, klue_mrc, metrics
from nikawa.metrics.klue_mrc import rouge_w
from nikawa.metrics.klue_ner import encode_tags, official_char_f1
from nikawa.records import Span

TYPES = ("PS", "LC", "OG", "DT", "TI", "QT")


def value(name: str, items: Items, mode: Mode = "official") -> float:
    return metrics()[name].evaluate(items, mode).value


def tagging(text: str, gold: list[Span], answer: list[Span] | None) -> Items:
    return Items([gold], [answer], [{"text": text}], TYPES)


def test_constant_answers() -> None:
    assert value("mcc", Items(["a", "a"], ["a", "a"])) == 0
    assert value("accuracy", Items(["a", "a"], ["a", "a"])) == 1
    for name in ("pearson", "spearman"):
        assert np.isnan(value(name, Items([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])))


def test_no_items() -> None:
    assert np.isnan(value("accuracy", Items([], [])))
    assert np.isnan(value("macro-f1", Items([], [])))
    assert np.isnan(value("jsquad-f1", Items([], [])))
    assert value("jga", Items([], [])) == value("slot-f1", Items([], [])) == 0


def test_a_class_only_answered_counts_and_an_absent_one_does_not() -> None:
    items = Items(["a", "a"], ["a", "b"], labels=("a", "b", "c"))
    assert value("macro-f1", items) == pytest.approx(1 / 3)


def test_worked_example_of_klue() -> None:
    items = tagging(
        "abcdef", [Span(0, 2, "PS"), Span(4, 6, "OG")], [Span(0, 3, "PS"), Span(4, 6, "OG")]
    )
    assert value("entity-macro-f1", items) == 0.5
    assert value("char-macro-f1", items, "documented") == pytest.approx(11 / 12)
    # I-PS 2/3; O with the two positions more: 3 right, 3 answered, 4 gold, so 6/7
    assert value("char-macro-f1", items) == pytest.approx((11 + 2 / 3 + 6 / 7) / 13)


def test_encoded_sentences_score_as_spans_do() -> None:
    items = Items(
        [[Span(0, 2, "PS")], [Span(1, 3, "QT")]],
        [[Span(0, 1, "PS")], [Span(1, 3, "QT"), Span(0, 1, "LC")]],
        [{"text": "abc"}, {"text": "abcd"}],
        TYPES,
    )
    tags = encode_tags([[0, 1, 12], [12, 10, 11, 12]], [[0, 12, 12], [2, 10, 11, 12]])
    assert official_char_f1(tags) == pytest.approx(value("char-macro-f1", items))
    with pytest.raises(BadInput, match="differ in length"):
        encode_tags([[0]], [[0, 12]])


def test_no_entity_anywhere() -> None:
    items = tagging("abc", [], [])
    assert np.isnan(value("entity-macro-f1", items))
    assert value("char-macro-f1", items) == 1
    assert np.isnan(value("char-macro-f1", items, "documented"))


def test_an_entity_that_begins_on_a_space_is_lost_officially() -> None:
    items = tagging("a bc", [Span(1, 3, "QT")], [])
    assert np.isnan(value("entity-macro-f1", items))
    assert value("entity-macro-f1", items, "documented") == 0


@pytest.mark.parametrize(
    "span", [Span(0, 4, "PS"), Span(2, 2, "PS"), Span(-1, 1, "PS"), Span(0, 1, "XX")]
)
def test_a_span_that_does_not_fit_is_refused(span: Span) -> None:
    with pytest.raises(BadInput, match="does not fit a text of 3 characters"):
        value("entity-macro-f1", tagging("abc", [], [span]))


def test_a_relation_without_gold() -> None:
    scores = [{"no_relation": 1.0, "a": 0.0, "b": 0.0}, {"no_relation": 0.0, "a": 1.0, "b": 0.0}]
    items = Items(
        ["no_relation", "a"], ["no_relation", "a"], labels=("no_relation", "a", "b"), scores=scores
    )
    assert np.isnan(value("auprc", items))
    assert value("auprc", items, "documented") == 1
    with pytest.raises(BadInput, match="needs a score"):
        value("auprc", Items(["a"], ["a"], labels=("a",)))


def test_only_no_relation() -> None:
    nothing = Items(["no_relation"], ["no_relation"], labels=("no_relation", "a"))
    assert value("relation-micro-f1", nothing) == 0


@pytest.mark.parametrize("group", ["klue_re_micro_f1", "ynat_macro_f1"])
@pytest.mark.parametrize("case", [{"gold": [], "pred": []}, {"gold": [1, 2], "pred": [1, None]}])
def test_golden_classes_need_items_and_answers(
    group: str, case: dict[str, list[int | None]]
) -> None:
    with pytest.raises(BadInput, match="official scorer needs"):
        golden_adapters()[group](case)


def trees(n: int, types: int) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """A long chain over the first `types` labels of 20."""
    labels = tuple(f"L{i}" for i in range(20))
    heads = [*range(2, n + 1), 0]
    return [{"heads": heads, "labels": [labels[i % types] for i in range(n)]}], labels


def test_one_wrong_head_costs_a_whole_class() -> None:
    gold, labels = trees(16 * 50, 16)
    wrong = [{**gold[0], "heads": [3, *gold[0]["heads"][1:]]}]
    items = Items(gold, wrong, labels=labels)
    official, documented = value("las", items), value("las", items, "documented")
    assert official == pytest.approx(16 / 17, abs=1e-3)
    assert documented == pytest.approx(official * 17 / 16)
    assert value("las-micro", items) == pytest.approx(799 / 800)
    assert (
        value("uas", items, "documented") == value("uas-micro", items) == pytest.approx(799 / 800)
    )


def test_types_from_the_sixteenth_on_are_one() -> None:
    gold = [{"heads": [0], "labels": ["L15"]}]
    answer = [{"heads": [0], "labels": ["L19"]}]
    labels = trees(1, 1)[1]
    assert value("las", Items(gold, answer, labels=labels)) == 1
    assert value("las", Items(gold, [{"heads": [0], "labels": ["?"]}], labels=labels)) == 0


def test_a_tree_of_another_length_is_refused() -> None:
    gold, labels = trees(3, 3)
    with pytest.raises(BadInput, match="more or fewer words"):
        value("las", Items(gold, trees(4, 3)[0], labels=labels))


def test_brackets_and_long_answers_of_klue_mrc() -> None:
    items = Items([["《바다》"]], ["바다"])
    assert value("klue-em", items) == 0
    assert value("klue-em", items, "documented") == 1
    long = "가나다라마바사아자차" * 20
    assert rouge_w(long[5:], long) == 0
    assert rouge_w(long[5:], long, "documented") == pytest.approx(2 * 195 / 395)


def test_slots_officially_average_over_turns() -> None:
    items = Items([["a-b-1"], ["a-b-1", "a-c-2", "a-d-3"]], [["a-b-1"], []])
    assert value("slot-f1", items) == 0.5
    assert value("slot-f1", items, "documented") == pytest.approx(0.4)


def test_a_stop_behind_a_blank_is_kept() -> None:
    assert value("jsquad-em", Items([["港"]], ["港。"])) == 1
    assert value("jsquad-em", Items([["港"]], ["港。 "])) == 0


@pytest.mark.slow
def test_klue_ner_dev(shared_data: Path) -> None:
    examples = nikawa.load("klue-ner", data=shared_data).splits["dev"]
    gold = [e.gold["spans"] for e in examples]
    inputs, labels = [e.inputs for e in examples], tasks()["klue-ner"].labels
    silent = Items(gold, [[] for _ in gold], inputs, labels)
    assert value("char-macro-f1", silent) * 100 == pytest.approx(6.77, abs=0.005)
    assert value("entity-macro-f1", silent) == 0
    right = metrics()["entity-macro-f1"].evaluate(Items(gold, gold, inputs, labels), "official")
    found = right.under(np.ones((1, len(gold))))
    assert found[0] == right.value == 1


@pytest.mark.parametrize(
    ("module", "shared", "names"),
    [
        (jsquad, "normalise_golds", ("jsquad-em", "jsquad-f1")),
        (klue_mrc, "normalise_golds", ("klue-em", "rouge-w")),
        (classes, "class_counts", ("macro-f1", "macro-precision", "macro-recall")),
    ],
)
def test_metrics_share_their_work_on_the_same_items(
    module: ModuleType, shared: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    original = getattr(module, shared)

    def count(*given: Any) -> Any:
        calls.append(given)
        return original(*given)

    monkeypatch.setattr(module, shared, count)
    items = (
        Items(gold=[["東京"]], answers=["東京"]) if module is not classes else Items(["a"], ["a"])
    )
    for name in names:
        metrics()[name].evaluate(items, "official")
    assert len(calls) == 1
