"""The paper's figures against the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nikawa.reproduce.figures import Partial, read_figures
from nikawa.reproduce.job import reproduce
from nikawa.reproduce.jsick import compute, nominal_alpha

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]
A, B, C = "entailment", "contradiction", "neutral"


def from_files(data: Path) -> dict[str, object]:
    """What does not follow from the paper's own matrices alone."""
    return {
        name: value
        for name, value in compute(data).items()
        if not name.startswith(("table12.", "table13."))
    }


def test_nothing_here_computes_nothing(data: Path) -> None:
    assert from_files(data) == {}


def test_table_12_follows_from_the_matrices_of_table_13(data: Path) -> None:
    found = compute(data)
    for language, expected in {
        "en": (87.2, 84.9, 86.0, 86.6),
        "nl": (85.7, 83.4, 84.4, 85.2),
        "br": (85.4, 83.1, 84.2, 85.0),
        "ja-l-en": (84.1, 82.9, 83.0, 85.2),
        "ja-l-ja": (88.2, 86.3, 87.2, 89.2),
    }.items():
        names = ("precision", "recall", "macro-f1", "accuracy")
        assert [found[f"table12.{language}.{name}"] for name in names] == pytest.approx(
            expected, abs=0.05
        )
    assert found["table13.gold.ja-l-en.entailment"] == 1088


def test_small_files(write: Write, data: Path) -> None:
    rows = [
        {
            "pair_ID": "1",
            "data": "train",
            "relatedness_score_Ja": "2.0",
            "semtag_short": "Toritate#Numerical",
        },
        {
            "pair_ID": "2",
            "relatedness_score_Ja": "5.0",
            "entailment_label_Ja": "neutral",
            "semtag_short": "Modal",
        },
        {"pair_ID": "3", "relatedness_score_Ja": "4.0"},
    ]
    write("jsick/jsick.tsv", rows)
    found = compute(data)
    assert (
        found["table2.ADDP.train"] == found["table2.MODAL.test"] == found["table2.NUM.total"] == 1
    )
    assert found["table3.sts.2-3.train"] == 1
    assert found["table3.sts.1-2.train"] == 0
    assert found["table3.sts.4-5.test"] == 2
    assert found["table3.percent.nli.entailment.test"] == 50
    assert found["table4.4-5.neutral"] == 1
    assert found["table9.denominator.4-5.all"] == 1
    assert found["table9.denominator.all.neutral"] == 1
    assert found["section3.1.sentences"] == 2
    assert found["section3.4.changed-to-neutral"] == Partial(
        1, "the authors' choice by hand of those due to grammar"
    )
    assert set(found) <= set(read_figures("jsick").printed)


def test_small_answers(write: Write, data: Path) -> None:
    first, second = "entailment_label_Ja1", "entailment_label_Ja2"
    rows = [
        {"pair_ID": "1"},
        {"pair_ID": "2", first: C},
        {"pair_ID": "3", first: C, second: B},
        {"pair_ID": "4", first: ""},
    ]
    write("jsick/jsick-all-annotations.tsv", rows)
    found = compute(data)
    assert [found[f"section3.2.{name}-agree"] for name in ("three", "two", "none")] == [1, 1, 1]
    assert found["section3.2.percent.two-agree"] == 25


def test_full_width_answers_count_as_intended(write: Write, data: Path) -> None:
    scores = [("1", "2", "５"), ("5", "5", "５"), ("3", "", "4"), ("1", "1", "２")]
    rows = [
        {"pair_ID": str(n)}
        | {f"relatedness_score_Ja{k}": text for k, text in enumerate(row, start=1)}
        for n, row in enumerate(scores, start=1)
    ]
    write("jsick/jsick-all-annotations.tsv", rows)
    found = compute(data)
    bins = {
        name: found[f"table3.sts-intended.{name}.total"] for name in ("1-2", "2-3", "3-4", "4-5")
    }
    assert bins == {"1-2": 1, "2-3": 1, "3-4": 1, "4-5": 1}


def test_one_content_worker_makes_it_natural(write: Write, data: Path) -> None:
    bad, wide = "文Aはとても不自然だ", "文Ａは少し不自然です"
    remarks = [
        (bad, wide, bad),
        (bad, "文Bだけが不自然だと思う", bad),
        (bad, bad, "\u3000"),
        (bad, bad, ""),
    ]
    rows = [
        {"pair_ID": f"{n}_de_c", "case_particles": "de", "rephrase_type": "c"}
        | {f"naturalness_Ja{k}": text for k, text in enumerate(said, start=1)}
        for n, said in enumerate(remarks)
    ]
    rows[0]["entailment_label_Ja"] = "entailment"
    write("jsick-stress/jsick-stress-all-annotations.tsv", rows)
    assert from_files(data) == {
        "table16.natural.swap": 75,
        "table16.human.swap": 25,
        "section5.1.judged": 4,
    }


@pytest.mark.parametrize("folder", ["scrum_ga_ni", "ex_ga_ni", "del_ga_ni"])
def test_any_set_tells_its_size(write: Write, data: Path, folder: str) -> None:
    write(f"jsick-stress/{folder}/test.tsv", [{"pair_ID": "1"}, {"pair_ID": "2"}])
    assert from_files(data) == {"section5.1.ni": 2}


def test_alpha() -> None:
    assert nominal_alpha([(A, A, A), (B, B, B)]) == 1
    # By hand: n = 4, D_o = (4 - 2)/1 + 0, sum of expected = 16 - (9 + 1) = 6.
    assert nominal_alpha([(A, B), (A, A)]) == pytest.approx(1 - 2 * 3 / 6)
    # A unit with one answer pairs with nothing and changes nothing.
    assert nominal_alpha([(A, B), (A, A), (C,), ()]) == pytest.approx(0)
    # Three answers and two: D_o = (9 - 5)/2 + (4 - 4)/1, expected 25 - (4 + 9) = 12.
    assert nominal_alpha([(A, A, B), (B, B)]) == pytest.approx(1 - 2 * 4 / 12)
    assert nominal_alpha([(A, A), (A, A)]) is None
    assert nominal_alpha([]) is None


def test_every_figure_is_equal_or_explained(shared_data: Path) -> None:
    results = {result.figure: result for result in reproduce("jsick", shared_data)}
    slips = read_figures("jsick").slips
    assert {name for name, r in results.items() if r.verdict == "slip"} == set(slips)
    absent = {name for name, r in results.items() if r.verdict == "absent"}
    assert absent - {"section5.1.ni"} == {
        name for name in results if ".jsnli." in name or ".jrtec." in name
    } | {"section3.4.changed-to-neutral"}
    assert all(r.verdict == "equal" for name, r in results.items() if name not in {*absent, *slips})
    assert sum(r.verdict == "equal" for r in results.values()) >= 228


def test_published_values(shared_data: Path) -> None:
    found = compute(shared_data)
    assert found["section3.2.alpha"] == pytest.approx(0.64568, abs=5e-6)
    assert [found[f"section3.2.{name}-agree"] for name in ("three", "two", "none")] == [
        6957,
        2922,
        46,
    ]
    assert [found[f"table16.natural.{o}"] for o in ("scramble", "swap", "delete")] == pytest.approx(
        [100 * n / 300 for n in (292, 69, 18)]
    )
    assert [found[f"table16.human.{o}"] for o in ("scramble", "swap", "delete")] == pytest.approx(
        [100 * n / 300 for n in (282, 200, 259)]
    )
    changed = found["section3.4.changed-to-neutral"]
    assert isinstance(changed, Partial)
    assert changed.value == 915
