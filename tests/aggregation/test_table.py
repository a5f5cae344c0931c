"""The table of codes: what it holds, what it refuses, that both ways of making it agree."""

from __future__ import annotations

import numpy as np
import pytest

from nikawa.aggregation import table as module
from nikawa.aggregation.table import RepeatedAnswer, Table
from nikawa.errors import BadInput
from nikawa.io.coding import factorise
from nikawa.records import Judgement


def judged(*rows: tuple[str, str, object], question: str = "label") -> list[Judgement]:
    return [Judgement(example=e, worker=w, question=question, answer=a) for e, w, a in rows]


ROWS = judged(("b", "w1", "yes"), ("b", "w2", "no"), ("a", "w2", "yes"))


def test_codes_follow_first_appearance_and_sorted_categories() -> None:
    table = Table.from_judgements(ROWS)
    assert (table.question, table.items, table.workers) == ("label", ["b", "a"], ["w1", "w2"])
    assert table.categories == ("no", "yes")
    assert table.item.tolist() == [0, 0, 1]
    assert table.worker.tolist() == [0, 1, 1]
    assert table.answer.tolist() == [1, 0, 1]
    assert table.counts().tolist() == [[1, 1], [0, 1]]
    assert table.per_item().tolist() == [2, 1]


def test_columns_give_the_same_table() -> None:
    one = Table.from_judgements(ROWS)
    other = Table.from_columns(["b", "b", "a"], ["w1", "w2", "w2"], np.array(["yes", "no", "yes"]))
    for name in ("item", "worker", "answer"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert one.categories == other.categories


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = judged(*((f"i{n // 3}", f"w{n % 3}", n % 2) for n in range(30)))
    whole = Table.from_judgements(rows)
    monkeypatch.setattr(module, "CHUNK_SIZE", 4)
    parts = Table.from_judgements(rows)
    assert whole.counts().tolist() == parts.counts().tolist()


def test_numbers_are_sorted_by_size() -> None:
    table = Table.from_judgements(judged(("a", "w1", 10), ("a", "w2", 9.5), ("b", "w1", 2)))
    assert table.categories == (2, 9.5, 10)
    assert table.numbers.tolist() == [10, 9.5, 2]


def test_labels_are_no_numbers() -> None:
    with pytest.raises(
        BadInput, match=r"are not numbers \(such as 'no'\); for labels, use the nominal level"
    ):
        _ = Table.from_judgements(ROWS).values


def test_truth_values_are_no_numbers() -> None:
    assert not Table.from_judgements(judged(("a", "w", True), ("a", "v", False))).numeric


def test_a_null_answer_is_counted_and_left_out() -> None:
    table = Table.from_judgements([*ROWS, *judged(("a", "w1", None))])
    assert (len(table), table.missing) == (3, 1)


def test_seconds_are_kept_where_said() -> None:
    timed = Judgement(example="a", worker="w9", question="label", answer="no", seconds=3.5)
    seconds = Table.from_judgements([*ROWS, timed]).seconds
    assert seconds is not None
    assert np.isnan(seconds[:3]).all()
    assert seconds[3] == 3.5
    assert Table.from_judgements(ROWS).seconds is None


@pytest.mark.parametrize("scattered", [False, True])
def test_a_worker_answers_once(scattered: bool) -> None:
    rows = judged(("a", "w1", 1), ("b", "w1", 1), ("a", "w1", 2))
    with pytest.raises(
        RepeatedAnswer, match="worker w1 answers 'label' twice about a; keep one"
    ) as caught:
        Table.from_judgements(rows if scattered else [rows[0], rows[2], rows[1]])
    assert (caught.value.item, caught.value.worker) == ("a", "w1")


def test_the_question_must_be_clear() -> None:
    both = [*ROWS, *judged(("a", "w1", 3), question="score")]
    with pytest.raises(BadInput, match="several questions: label, score; choose one"):
        Table.from_judgements(both)
    assert len(Table.from_judgements(both, "score")) == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no judgements"),
        (judged(("a", "w", ["x"])), "a list or a mapping"),
        (judged(("a", "w", float("nan"))), "is nan"),
    ],
)
def test_refusals(rows: list[Judgement], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Table.from_judgements(rows)


def test_no_answer_to_the_question() -> None:
    with pytest.raises(BadInput, match="no answer to 'colour'; check the name"):
        Table.from_judgements(ROWS, "colour")


def test_select_keeps_codes_and_of_items_numbers_anew() -> None:
    table = Table.from_judgements(ROWS)
    without = table.select(table.worker == 1)
    assert (without.items, without.item.tolist()) == (["b", "a"], [0, 1])
    only = table.of_items(np.array([False, True]))
    assert (only.items, only.item.tolist(), only.counts().tolist()) == (["a"], [0], [[0, 1]])


def test_integers_far_apart_and_near() -> None:
    for column in ([5, 3, 5], [0, 10**9, 0]):
        codes, names = factorise(np.array(column))
        assert [names[code] for code in codes] == column


def test_more_than_256_answers() -> None:
    codes, names = factorise([f"n{n % 300}" for n in range(900)])
    assert [names[code] for code in codes] == [f"n{n % 300}" for n in range(900)]


def test_seconds_said_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_SIZE", 2)
    rows = [
        Judgement(
            example=str(n), worker="w", question="q", answer=1, seconds=9.0 if n == 5 else None
        )
        for n in range(8)
    ]
    seconds = Table.from_judgements(rows).seconds
    assert seconds is not None
    assert np.flatnonzero(~np.isnan(seconds)).tolist() == [5]
    assert len(seconds) == 8


def test_labels_that_are_the_same_objects() -> None:
    one, twin, other = "label", "".join(["la", "bel"]), "no"
    assert one is not twin
    column = np.array([other, one, twin, other, None, one], dtype=object)
    codes, names = factorise(column)
    assert names == ["no", "label", None]
    assert codes.tolist() == [0, 1, 1, 0, 2, 1]
    assert factorise(column[::2])[0].tolist() == [0, 1, 2]


def test_objects_that_come_late_are_not_lost() -> None:
    column = np.array(["a"] * 5000 + ["b"], dtype=object)
    codes, names = factorise(column)
    assert (names, codes[-1], codes[0]) == (["a", "b"], 1, 0)


def test_lists_among_few_objects_are_refused() -> None:
    column = np.empty(2, dtype=object)
    column[0], column[1] = ["x"], "y"
    with pytest.raises(BadInput, match="a list or a mapping"):
        factorise(column)
