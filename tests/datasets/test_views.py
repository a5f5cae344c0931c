"""Splits that repeat another by design, told from those that leak."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from msgspec.structs import replace

from nikawa.datasets.views import views_of, without_views
from nikawa.records import Example


def rows(first: int, last: int, **meta: str) -> tuple[Example, ...]:
    return tuple(
        Example(
            id=str(n),
            inputs={"text": f"{n}番の船 が着く。", "turns": [{"text": f"港 {n}"}]},
            gold={"label": "yes"},
            meta=meta,
        )
        for n in range(first, last)
    )


TRAIN, TEST = rows(0, 9), rows(20, 24)


@pytest.mark.parametrize(
    "name", ["few-shot", "train-small", "no-past", "小", "trains", "Contest", "latest", "oodles"]
)
def test_a_part_of_train_is_a_view(name: str) -> None:
    splits = {"train": TRAIN, "test": TEST, name: TRAIN[2:5]}
    assert views_of(splits, None) == {name: "train"}
    assert list(without_views(splits, None)) == ["train", "test"]


@pytest.mark.parametrize(
    "name",
    [
        "dev",
        "test",
        "valid",
        "trial",
        "ood",
        "test-hard",
        "hard_test",
        "Eval",
        "train-dev",
        "held-out",
        "holdout",
        "TestHard",
        "hardTest",
        "TEST",
        "testset",
        "devset",
        "validation2",
        "unseen",
        "blind",
        "評価用",
        "テスト",
        "難テスト",
        "검증",
        normalize("NFD", "평가"),
    ],
)
def test_what_is_evaluated_is_no_view_of_train(name: str) -> None:
    assert views_of({"train": TRAIN, "test": TEST, name: TRAIN[2:5]}, None) == {}


def test_a_split_may_be_a_part_of_the_one_it_is_named_after() -> None:
    parts = {
        "test-hard": TEST[:2],
        "TestShort": TEST[:2],
        "hard": TEST[:2],
        "dev-hard": TEST[:2],
        "test-dev": TEST[:2],
        "test2": TEST,
    }
    assert views_of({"train": TRAIN, "dev": rows(30, 33), "test": TEST} | parts, None) == {
        "test-hard": "test",
        "TestShort": "test",
    }


@pytest.mark.parametrize(
    "other",
    [
        rows(0, 10),
        rows(0, 3, source="log"),
        (replace(TRAIN[0], id="x"),),
        (replace(TRAIN[0], gold={"label": "no"}),),
        (replace(TRAIN[0], inputs={"text": "0番の船が出る。", "turns": []}),),
        (*TRAIN[:2], TEST[0]),
        (),
    ],
)
def test_one_record_of_its_own_makes_it_no_view(other: tuple[Example, ...]) -> None:
    assert views_of({"train": TRAIN, "test": TEST, "more": other}, None) == {}


def test_the_same_records_segmented_are_a_view() -> None:
    cut = tuple(
        replace(e, inputs={"text": " ".join(e.inputs["text"]), "turns": [{"text": f"港{e.id}"}]})
        for e in TRAIN
    )
    assert views_of({"train": TRAIN, "train-cut": cut[:4]}, None) == {"train-cut": "train"}


def test_a_training_split_that_test_items_speak_of_may_be_called_anything() -> None:
    marked = rows(20, 24, **{"no-test-words": "unseen"})
    splits = {"train": TRAIN, "test": marked, "no-test-words": TRAIN[:3]}
    assert views_of(splits, None) == {"no-test-words": "train"}
    assert views_of(splits | {"no-test-words": (*TRAIN[:3], marked[0])}, None) == {}


def test_without_train_nothing_is_a_part_of_it() -> None:
    assert views_of({"few-shot": TRAIN[:2], "more": TRAIN[:3]}, None) == {}
