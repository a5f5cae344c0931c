from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nikawa.reproduce.figures import Partial, read_figures
from nikawa.reproduce.jglue import compute
from nikawa.reproduce.job import judge

Put = Callable[..., Path]
JSTS_TEST = {"0-1": 405, "1-2": 160, "2-3": 355, "3-4": 488, "4-5": 181}
ARITHMETIC = {
    "section3-4-2.jcommonsenseqa": 11263,
    "section3-4-2.jcommonsenseqa-by-ja-table1": 11264,
}
"""What the papers' own numbers tell without any file."""
JNLI_TEST = {"entailment": 367, "neutral": 1365, "contradiction": 776}


def pair(number: int, caption: str, label: object) -> dict[str, Any]:
    texts = {"sentence1": "湖に舟がある。", "sentence2": "舟が浮かぶ。"}
    return {"sentence_pair_id": str(number), "yjcaptions_id": caption, **texts, "label": label}


def jsts_rows(bins: dict[str, int], flows: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Pairs with given counts by bin, on both edges of each, and by flow."""
    captions = (
        c
        for flow, n in flows.items()
        for c in [{"A": "1-2-3", "B": "1_4-2-3", "C": "1-2-g3"}[flow]] * n
    )
    number = 0
    for name, count in bins.items():
        low = float(name[0])
        top = 5.0 if low == 4 else low + 0.8
        for place in range(count):
            yield pair(number, next(captions), top if place % 2 else low)
            number += 1


def jnli_rows(labels: dict[str, int]) -> Iterator[dict[str, Any]]:
    words = [word for word, count in labels.items() for _ in range(count)]
    for number, word in enumerate(words):
        yield pair(number, "1-2-g3" if word == "contradiction" else "1-2-3", word)


def test_test_files_give_the_printed_test_columns(put: Put, data: Path) -> None:
    flows = {"A": 1148, "B": 350, "C": 91}
    put("jglue/datasets/jsts-v1.3/test-v1.3.json", jsts_rows(JSTS_TEST, flows))
    put("jglue/datasets/jnli-v1.3/test-v1.3.json", jnli_rows(JNLI_TEST))
    found, printed = compute(data), read_figures("jglue").printed
    whole = {name: value for name, value in found.items() if not isinstance(value, Partial)}
    assert len([name for name in whole if name.endswith(".test")]) == 24
    assert {name: printed[name] for name in whole if name.endswith(".test")} == {
        name: value for name, value in whole.items() if name.endswith(".test")
    }
    assert found["origin.jsts.C"] == Partial(91, "the train and dev files")


def test_all_splits_give_whole_totals(put: Put, data: Path) -> None:
    small = dict.fromkeys(JSTS_TEST, 2)
    for split in ("train", "valid", "test"):
        put(
            f"jglue/datasets/jsts-v1.3/{split}-v1.3.json",
            jsts_rows(small, {"A": 7, "B": 2, "C": 1}),
        )
    found = compute(data)
    assert found["table4.4-5.total"] == 6
    assert found["table4.overall.total"] == found["ja.table6.overall.total"] == 30
    assert (found["origin.jsts.A"], found["origin.jsts.C"]) == (21, 3)
    assert found["table6.workers"] == 5


def test_hidden_labels_count_as_items_only(put: Put, data: Path) -> None:
    put("jglue/datasets/jnli-v1.3/test-v1.3.json", [pair(0, "1-2-3", None)])
    assert set(compute(data)) == {
        "table1.jnli.test",
        "ja.table1.jnli.test",
        "origin.jnli.A",
        "origin.jnli.C",
        *ARITHMETIC,
    }


def test_marc_ja_fills_table_2(put: Put, data: Path) -> None:
    rows = [{"sentence": "良い。", "review_id": f"R{n}", "label": "positive"} for n in range(3)]
    put("jglue/datasets/marc_ja-v1.3/valid-v1.3.json", rows)
    found = compute(data)
    assert (found["table2.positive.dev"], found["table2.negative.dev"]) == (3, 0)
    assert found["ja.table5.overall.total"] == Partial(3, "the train and test files")


def test_nothing_comes_of_no_files(data: Path) -> None:
    assert compute(data) == ARITHMETIC


def test_the_printed_tables_add_up() -> None:
    printed = read_figures("jglue").printed
    for table in ("table2", "table4", "table5", "ja.table5", "ja.table6", "ja.table7"):
        rows = {name.split(".")[-2] for name in printed if name.startswith(f"{table}.")} - {
            "overall"
        }
        for column in ("train", "dev", "test", "total"):
            parts = sum(printed[f"{table}.{row}.{column}"] for row in rows)
            assert parts == printed[f"{table}.overall.{column}"], (table, column)
        for row in (*rows, "overall"):
            parts = sum(printed[f"{table}.{row}.{split}"] for split in ("train", "dev", "test"))
            assert parts == printed[f"{table}.{row}.total"], (table, row)


@pytest.mark.parametrize("kind", ["slips", "versions"])
def test_explanations_are_of_printed_figures_that_differ(kind: str) -> None:
    figures = read_figures("jglue")
    entries = getattr(figures, kind)
    assert entries
    assert all(figures.printed[name] != entry.values[-1] for name, entry in entries.items())


def test_explained_label_tables_add_up() -> None:
    figures = read_figures("jglue")
    now = {**figures.printed, **{name: e.values[-1] for name, e in figures.versions.items()}}
    for table, rows in (("table5", JNLI_TEST), ("ja.table7", JNLI_TEST), ("ja.table6", JSTS_TEST)):
        for column in ("train", "dev", "test", "total"):
            parts = sum(now[f"{table}.{row}.{column}"] for row in rows)
            assert parts == now[f"{table}.overall.{column}"], (table, column)


def test_every_figure_of_the_published_files_is_explained(shared_data: Path) -> None:
    figures, found = read_figures("jglue"), compute(shared_data)
    assert found.keys() <= figures.printed.keys()
    assert {
        judge(name, figures.printed[name], value, figures).verdict for name, value in found.items()
    } == {
        "equal",
        "slip",
        "version",
        "absent",
    }


def test_a_person_scores_as_the_paper_says(shared_data: Path) -> None:
    found = compute(shared_data)
    assert found["table9.human.jsquad.dev.em"] == pytest.approx(0.871454, abs=1e-6)
    assert found["table9.human.jsquad.dev.f1"] == pytest.approx(0.944215, abs=1e-6)


def test_partial_totals_of_the_published_files(shared_data: Path) -> None:
    found = compute(shared_data)
    assert found["origin.jsts.A"] == Partial(9088, "the test file")
    assert found["origin.jsts.B"] == Partial(2620, "the test file")
    assert found["origin.jsts.C"] == Partial(2200, "the test file")
    assert found["table5.contradiction.dev"] == 735
    assert found["table4.4-5.train"] == 1359
    assert "table2.positive.dev" not in found
