from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from nikawa.datasets.jamp.splits import regenerate
from nikawa.reproduce.figures import read_figures
from nikawa.reproduce.jamp import compute
from nikawa.reproduce.job import reproduce

Write = Callable[..., Path]


def test_nothing_here_computes_nothing(tmp_path: Path) -> None:
    assert compute(tmp_path) == {}


def test_small_files(write_rows: Write, rows: tuple[str, ...], tmp_path: Path) -> None:
    train = write_rows(*rows)
    regenerate(train, "timespan-easy", train.with_name("train_custom-timespan-easy.tsv"))
    write_rows(*rows, name="train_custom-timeformat-hard.tsv")
    found = compute(tmp_path)
    assert found.keys() <= read_figures("jamp").printed.keys()
    assert (found["table12.train.total"], found["table12.without-template-20.train.total"]) == (
        5,
        4,
    )
    assert found["table12.train.contradiction"] == 1
    assert found["splits.timespan-easy.identical"] == 1
    assert found["splits.timeformat-hard.identical"] == 0
    assert (found["section3.year.first"], found["section3.year.last"]) == (2012, 2021)
    assert found["table10.fragments"] == 4
    assert not any(name.startswith(("table12.test", "table13")) for name in found)


def test_explanations_belong_to_figures() -> None:
    figures = read_figures("jamp")
    for name, entry in {**figures.slips, **figures.versions}.items():
        assert entry.recomputed != figures.printed[name]


def test_no_unexplained_difference(shared_data: Path) -> None:
    results = {r.figure: r for r in reproduce("jamp", shared_data)}
    assert Counter(r.verdict for r in results.values()) == {
        "equal": 28,
        "absent": 8,
        "slip": 3,
        "version": 2,
    }
    assert all(".test." in name for name, r in results.items() if r.verdict == "absent")
    assert results["table12.train.total"].recomputed == 9950
    only_ita = results["appendixD.tokens-over"]
    assert (only_ita.paper, only_ita.recomputed, only_ita.verdict) == (1, 26, "slip")
    assert results["appendixD.ita.over"].verdict == "equal"


def test_artifacts_are_counted_on_the_segmented_rows_without_template_20(
    write_rows: Write, segmented: tuple[str, ...], tmp_path: Path
) -> None:
    write_rows(*segmented, name="train_all_wakati.tsv")
    assert {
        name: value for name, value in compute(tmp_path).items() if name.startswith("appendixD")
    } == {
        "appendixD.tokens-over": 0,
        "appendixD.ita.over": 0,
    }
    told = [
        f"{i}\t港 に いた 。\t船 も いた 。\tneutral\t{20 if i > 40 else 1}\t年\tshort\t以来（状態動詞）"
        for i in range(60)
    ]
    write_rows(*told, name="train_all_wakati.tsv")
    found = compute(tmp_path)
    assert (found["appendixD.tokens-over"], found["appendixD.ita.over"]) == (6, 1)
    write_rows(*told[41:], name="train_all_wakati.tsv")  # template 20 alone
    assert "appendixD.ita.over" not in compute(tmp_path)
