"""Agreement of judgements that are in memory: published examples, and every form in which they may be given."""

from __future__ import annotations

import doctest
import json
import math
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nikawa.aggregation.estimators
import nikawa.aggregation.frames
import nikawa.agreement
from nikawa.aggregation.frames import make_table
from nikawa.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from nikawa.errors import BadInput, UnknownName
from nikawa.records import Judgement

N = math.nan
RELIABILITY = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ]
)
"""Krippendorff (2011), example C: four observers, twelve units."""
TRIPLES = [
    (f"unit{item}", f"observer{worker}", answer)
    for worker, row in enumerate(RELIABILITY.tolist())
    for item, answer in enumerate(row)
]
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""The textbook example of Fleiss' kappa: ten items, fourteen workers, 0.210."""


@pytest.mark.parametrize(
    "module",
    [nikawa.agreement, nikawa.aggregation.frames, nikawa.aggregation.estimators],
    ids=lambda module: module.__name__,
)
def test_examples_are_true(module: Any) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_of_the_published_example(level: Any, value: float) -> None:
    assert krippendorff_alpha(RELIABILITY, level) == pytest.approx(value, abs=0.0005)
    assert krippendorff_alpha(TRIPLES, level=level) == krippendorff_alpha(RELIABILITY, level)


def test_fleiss_of_the_textbook_example() -> None:
    rows = []
    for item, counts in enumerate(FLEISS):
        answers = [label for label, count in enumerate(counts) for _ in range(count)]
        rows += [(item, worker, label) for worker, label in enumerate(answers)]
    assert fleiss_kappa(counts=FLEISS) == pytest.approx(0.2099, abs=0.00005)
    assert fleiss_kappa(rows) == pytest.approx(fleiss_kappa(counts=FLEISS), abs=1e-12)


def test_cohen_of_the_textbook_example() -> None:
    pairs = 20 * ["yy"] + 5 * ["yn"] + 10 * ["ny"] + 15 * ["nn"]
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    rows = [(item, worker, pair[worker]) for item, pair in enumerate(pairs) for worker in (0, 1)]
    assert cohen_kappa(rows) == pytest.approx(0.4)
    assert percent_agreement(rows) == pytest.approx(0.7)


def as_columns(names: str) -> dict[str, list[Any]]:
    return dict(zip(names.split(), map(list, zip(*TRIPLES, strict=True)), strict=True))


def as_rows(names: str) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), row, strict=True)) for row in TRIPLES]


def as_frame(names: str) -> Any:
    return pytest.importorskip("pandas").DataFrame(as_columns(names))


class Frame:
    """What a library of frames that we have never seen may look like."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]


@pytest.mark.parametrize(
    "names", ["task worker label", "example worker answer", "item user response"]
)
@pytest.mark.parametrize(
    "make", [as_columns, as_rows, as_frame, lambda names: Frame(as_columns(names))]
)
def test_every_form_gives_the_same(make: Callable[[str], Any], names: str) -> None:
    assert krippendorff_alpha(make(names)) == krippendorff_alpha(TRIPLES)


def test_arrow_and_nullable_columns() -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    columns = as_columns("task worker label")
    expected = krippendorff_alpha(TRIPLES, "interval")
    labels = pandas.array([None if math.isnan(x) else int(x) for x in columns["label"]], "Int64")
    frame = pandas.DataFrame(columns | {"label": labels})
    assert krippendorff_alpha(frame, "interval") == expected
    assert krippendorff_alpha(arrow.table(columns), "interval") == expected


def test_judgements_and_files(tmp_path: Path) -> None:
    judgements = [
        Judgement(example=item, worker=worker, question="label", answer=answer)
        for item, worker, answer in TRIPLES
        if not math.isnan(answer)
    ]
    decision = Judgement(
        example="unit5", worker="decision:owner", question="label", answer=4, kind="decision"
    )
    expected = krippendorff_alpha(TRIPLES)
    assert krippendorff_alpha([*judgements, decision]) == expected
    path = tmp_path / "judgements.jsonl"
    rows = [
        {"example": j.example, "worker": j.worker, "question": "label", "answer": j.answer}
        for j in judgements
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert krippendorff_alpha(path) == expected
    assert krippendorff_alpha(str(path)) == expected
    assert krippendorff_alpha([*rows, {**rows[0], "worker": "o", "kind": "decision"}]) == expected


def test_our_names_come_before_others() -> None:
    table = make_table({"id": [7, 8], "task": ["a", "a"], "worker": [1, 2], "label": ["x", "y"]})
    assert list(table.items) == ["a"]


def test_one_question_of_several() -> None:
    rows = [
        {"example": item, "worker": worker, "question": question, "answer": answer}
        for question, answers in {"label": "xxxy", "tone": "abba"}.items()
        for (item, worker), answer in zip([(1, 1), (1, 2), (2, 1), (2, 2)], answers, strict=True)
    ]
    assert percent_agreement(rows, question="label") == 0.5
    assert percent_agreement(rows, question="tone") == 0.0
    with pytest.raises(
        BadInput, match=r"several questions: label, tone; pass one of them: question='label'"
    ):
        percent_agreement(rows)
    with pytest.raises(UnknownName, match="there is no question 'size'"):
        percent_agreement(rows, question="size")


def test_a_label_is_one_however_it_was_typed() -> None:
    composed, decomposed = "긍정", "\u1100\u1173\u11bc\u110c\u1165\u11bc"
    assert percent_agreement([(1, "a", composed), (1, "b", decomposed)]) == 1.0


def test_one_answer_throughout_is_undefined() -> None:
    assert math.isnan(krippendorff_alpha([(1, "a", "x"), (1, "b", "x")]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there are no judgements"),
        ([(1, "a")], r"row 0 is no \(item, worker, answer\)"),
        ([{"task": 1, "label": "x"}], "the columns are task, label; name the columns example"),
        ({"task": [1, 1], "worker": [1, 2], "label": [1]}, "2 items, 2 workers and 1 answers"),
        ([(1, None, "x"), (1, "b", "x")], "the column 'worker' has empty values"),
        ([(1, "a", None), (1, "b", None)], "there are no judgements"),
        ([(1, "a", "x"), (1, "a", "y")], "worker a answers 'answer' twice about 1"),
        ([(1, "a", "x"), (2, "a", "y")], "no item has two answers"),
        ([(1, "a", ["x"]), (1, "b", ["x"])], "an answer is a list or a mapping"),
        ([(1, "a", ((0, 3, "PS"),)), (1, "b", ((0, 3, "PS"),))], "are spans; measure spans with"),
        (np.zeros(3), "has two dimensions, this one has 1"),
        (5, "a int contains no judgements"),
    ],
)
def test_what_is_refused(data: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        krippendorff_alpha(data)


def test_a_level_and_a_measure_that_do_not_fit() -> None:
    with pytest.raises(UnknownName, match="there is no level 'nomial'"):
        krippendorff_alpha(TRIPLES, "nomial")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="are not numbers"):
        krippendorff_alpha([(1, "a", "x"), (1, "b", "y")], "interval")
    with pytest.raises(BadInput, match="30 workers make too many pairs"):
        cohen_kappa([(1, worker, "x") for worker in range(30)])
    for data, counts in ((None, None), (TRIPLES, FLEISS)):
        with pytest.raises(BadInput, match="needs judgements or counts"):
            fleiss_kappa(data, counts=counts)
    with pytest.raises(BadInput, match="no item with two answers"):
        fleiss_kappa(counts=[[1, 0]])


LETTERS = "abcde"


def long_rows(count: int, *, shuffled: bool) -> list[dict[str, Any]]:
    """Rows enough for columns to be coded by pyarrow: two questions, blanks, a model, and labels typed in two ways."""
    draw = np.random.default_rng(count)
    rows = [
        {
            "example": f"項目{number // 3}",
            "worker": "model:gemma#1" if number % 17 == 5 else f"w{number % 3}",
            "question": "label" if number % 11 else "comment",
            "answer": None if number % 13 == 4 else draw.choice(["긍정", "\u1100\u1173", "no"]),
        }
        for number in range(count)
    ]
    return [rows[place] for place in draw.permutation(count)] if shuffled else rows


@pytest.mark.parametrize("shuffled", [False, True], ids=["item by item", "shuffled"])
def test_a_frame_gives_the_table_of_its_rows_in_the_same_order(shuffled: bool) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    rows = [row for row in long_rows(60_000, shuffled=shuffled) if row["answer"] is not None]
    kept = [
        row for row in rows if row["question"] == "label" and not row["worker"].startswith("model")
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    frames = {
        "texts": pandas.DataFrame(columns),
        "objects": pandas.DataFrame(columns).astype(object),
        "arrow": pyarrow.table(columns),
        "mapping": columns,
        "rows": rows,
        "judgements": [Judgement(**row) for row in rows],
    }
    names = dict.fromkeys(row["example"] for row in kept)
    for kind, data in frames.items():
        table = make_table(data, question="label")
        assert list(table.items) == list(names), kind
        assert list(table.workers) == list(dict.fromkeys(row["worker"] for row in kept)), kind
        assert table.categories == ("no", "그", "긍정"), kind
        answers = [
            (table.items[item], table.workers[worker], table.categories[answer])
            for item, worker, answer in zip(table.item, table.worker, table.answer, strict=True)
        ]
        assert answers == [
            (row["example"], row["worker"], unicodedata.normalize("NFC", row["answer"]))
            for row in kept
        ], kind


def test_blanks_of_long_frames_are_counted_as_missing() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(long_rows(3000, shuffled=False))
    table = make_table(frame, question="label")
    asked = frame[(frame["question"] == "label") & ~frame["worker"].str.startswith("model")]
    assert table.missing == int(asked["answer"].isna().sum()) > 0
    assert len(table) == len(asked) - table.missing
    frame.loc[7, "example"] = None
    with pytest.raises(BadInput, match="the column 'example' has empty values"):
        make_table(frame, question="label")


def test_a_frame_without_rows_has_no_judgements() -> None:
    for names in (("example", "worker", "question", "answer"), ("task", "worker", "label")):
        with pytest.raises(BadInput, match="there are no judgements"):
            make_table({name: [] for name in names})


def test_texts_that_arrow_cannot_hold_are_counted_as_python_does() -> None:
    pytest.importorskip("pyarrow")
    rows = [(f"i{number // 2}", f"w{number % 2}", "\ud800") for number in range(4000)]
    rows[17] = ("i8", "w1", "no")
    table = make_table(rows)
    assert table.categories == ("no", "\ud800")
    mixed = [(item, worker, number) for number, (item, worker, _) in enumerate(rows)]
    assert len(make_table([*mixed, ("last", "w0", "text")]).categories) == 4001
