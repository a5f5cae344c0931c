from __future__ import annotations

from collections import Counter
from math import log2
from pathlib import Path
from statistics import mean, median, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.checks.artifacts import (
    Item,
    Table,
    Tally,
    count_tokens,
    find_pairs,
    find_uneven_labels,
    rank_associations,
    tabulate,
)
from nikawa.checks.lengths import measure_explained, measure_lengths
from nikawa.datasets.jamp import jamp
from nikawa.errors import BadInput
from nikawa.text import analyser

SIDES = ("premise", "hypothesis")
LABELS = ("entailment", "contradiction", "neutral")
WITHOUT_20 = """
遅れて C 1600 .500; で C 1045 .517; まで C 1240 .492; 終えた C 1220 .492; が C 3530 .425; 始めた C 1345 .478;
ない C 830 .518; 多く N 400 .600; いた N 801 .509; かけて N 926 .497; こと C 800 .500; 決して C 800 .500;
遅れ C 800 .500; ず C 800 .500; いつも C 799 .499; の N 649 .498; し C 276 .536; それ E 400 .500; それ C 400 .500;
以上 N 1283 .421; のに C 1353 .412; 費やした C 1360 .412; 費やした N 1360 .412; のに N 1353 .411; その C 2569 .388;
を C 8170 .364; に C 8345 .362; 以上 C 1283 .405; で E 1045 .407; 以内 N 1530 .393; 月 C 3891 .370; 以内 C 1530 .392
"""
"""Token, label, examples and share of every pair over the line in the 9,750 rows the paper counts."""


def table_of(items: list[Item], labels: tuple[str, ...] = LABELS, alpha: float = 0.01) -> Table:
    return tabulate(count_tokens(items, SIDES, analyser("whitespace", cache=0)), labels, alpha)


def even(times: int) -> list[Item]:
    """Problems whose words say nothing."""
    return [(label, (f"駅 {i}", "駅 に 着く")) for i in range(times) for label in LABELS]


def jamp_items(shared_data: Path, name: str, without: int | None = None) -> list[Item]:
    path = shared_data / "jamp" / "dataset" / name
    return [
        (e.gold["label"], (e.inputs["premise"], e.inputs["hypothesis"]))
        for e in jamp.read(path)
        if e.meta["template"] != without
    ]


def test_an_example_counts_once_for_each_token() -> None:
    table = table_of([("neutral", ("星 星 空", "空 月")), ("entailment", ("星", "星"))])
    counts = dict(zip(table.tokens, table.counts.tolist(), strict=True))
    assert counts == {"星": [1, 0, 1], "空": [0, 0, 1], "月": [0, 0, 1]}
    assert dict(zip(table.tokens, table.totals.tolist(), strict=True)) == {
        "星": 2,
        "空": 1,
        "月": 1,
    }


def test_a_planted_word_is_found_and_nothing_else() -> None:
    items = even(60) + [("contradiction", ("駅", "決して 着か ない"))] * 20
    found = find_pairs(table_of(items))
    assert [(p.token, p.label) for p in found] == [
        (w, "contradiction") for w in ("ない", "決して", "着か")
    ]
    first = found[0]
    assert (first.n, first.count, first.share) == (20, 20, 1.0)
    assert first.p == pytest.approx(3.0**-20)
    assert find_pairs(table_of(even(60))) == ()


def test_the_least_likely_comes_first() -> None:
    items = even(60) + [("neutral", ("多く", "駅"))] * 15 + [("entailment", ("もう", "駅"))] * 30
    assert [p.token for p in find_pairs(table_of(items))] == ["もう", "多く"]


def test_the_line_depends_on_vocabulary_and_labels() -> None:
    items = even(10) + [("neutral", ("多く", "駅"))] * 8
    assert (
        table_of(items, alpha=0.01).exact_threshold * 10
        == table_of(items, alpha=0.1).exact_threshold
    )
    with_four = table_of(items, (*LABELS, "other"), alpha=0.1)
    assert {p.token for p in find_pairs(with_four)} > {
        p.token for p in find_pairs(table_of(items, alpha=0.001))
    }


def test_uneven_labels_are_named() -> None:
    assert find_uneven_labels(table_of(even(50))) == ()
    assert find_uneven_labels(table_of(even(50) + [("neutral", ("駅", "空"))] * 90)) == ("neutral",)


@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.tuples(*[st.text("あい う", max_size=8)] * 2)),
        min_size=1,
    ),
    st.data(),
)
def test_parts_merge_into_the_whole(items: list[Item], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(items)))
    tokeniser = analyser("characters", cache=0)
    first, second = (count_tokens(part, SIDES, tokeniser) for part in (items[:at], items[at:]))
    second.merge(first)
    assert second == count_tokens(items, SIDES, tokeniser)


def test_pmi_is_that_of_the_formula() -> None:
    items: list[Item] = [("neutral", ("星", "空"))] * 3
    table = table_of([*items, ("entailment", ("星", "月"))], ("entailment", "neutral"))
    best = rank_associations(table, top=1, smoothing=1)["neutral"][0]
    total = (3 + 1) + (1 + 1) + (3 + 1) + (0 + 1) + (0 + 1) + (1 + 1)
    assert (best.token, best.count, best.share) == ("空", 3, 1.0)
    assert best.pmi == pytest.approx(log2((4 / total) / ((5 / total) * (9 / total))))


def test_pmi_without_smoothing_leaves_out_what_never_met() -> None:
    table = table_of(
        [("neutral", ("星", "空")), ("entailment", ("月", "月"))], ("entailment", "neutral")
    )
    found = rank_associations(table, top=5, smoothing=0)
    assert [a.token for a in found["entailment"]] == ["月"]
    assert {a.token for a in found["neutral"]} == {"星", "空"}


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.integers(0, 9)), min_size=2, max_size=40))
def test_lengths_are_those_of_the_statistics_module(drawn: list[tuple[str, int]]) -> None:
    items: list[Item] = [(label, ("星" * size, "空 空")) for label, size in drawn]
    tally = count_tokens(items, SIDES, analyser("characters", cache=0))
    for found in measure_lengths(tally, LABELS):
        sizes = [
            size if found.side == "premise" else 2 + (found.unit == "characters")
            for label, size in drawn
            if label == found.label
        ]
        assert found.n == len(sizes)
        assert found.mean == pytest.approx(mean(sizes))
        assert (found.median, found.least, found.most) == (median(sizes), min(sizes), max(sizes))
        assert found.sd == pytest.approx(stdev(sizes) if len(sizes) > 1 else 0.0)


def test_length_explained() -> None:
    def share(*drawn: tuple[str, int]) -> float:
        tally = Tally(("text",))
        for label, size in drawn:
            tally.add(label, ["星" * size], [["星"] * size])
        return {e.unit: e.share for e in measure_explained(tally)}["tokens"]

    assert share(("a", 2), ("a", 2), ("b", 5)) == 1.0
    assert share(("a", 2), ("a", 4), ("b", 2), ("b", 4)) == 0.0
    assert share(("a", 3), ("b", 3)) == 0.0
    assert share(("a", 1), ("a", 3), ("b", 3), ("b", 5)) == pytest.approx(4 / 8)


@pytest.mark.slow
def test_korean_morphemes_that_share_a_syllable_stay_apart() -> None:
    tally = count_tokens([("neutral", ("공부했다.",))], ("premise",), analyser("kiwi", cache=0))
    assert {"하", "었"} <= set(tally.tokens["neutral"])


@pytest.mark.parametrize(
    ("items", "labels", "alpha", "said"),
    [
        ([("yes", ("星", "空"))], LABELS, 0.01, "'yes' is not one of the labels"),
        ([("yes", ("星", "空"))], (), 0.01, "the only label is 'yes'"),
        ([("neutral", (" ", ""))], LABELS, 0.01, "no token"),
        ([("neutral", ("星", "空"))], LABELS, 0.5, "between 0 and 0.5"),
    ],
)
def test_what_cannot_be_tested(
    items: list[Item], labels: tuple[str, ...], alpha: float, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        table_of(items, labels, alpha)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tokeniser", "without", "found"),
    [
        ("train_all_wakati.tsv", "whitespace", None, (5089, 41, 35)),
        ("train_all_wakati.tsv", "whitespace", 20, (5035, 32, 26)),
        ("train_all.tsv", "unidic", None, (4847, 39, 35)),
        ("train_all.tsv", "unidic", 20, (4795, 29, 25)),
    ],
)
def test_jamp(
    shared_data: Path, name: str, tokeniser: str, without: int | None, found: tuple[int, int, int]
) -> None:
    items = jamp_items(shared_data, name, without)
    table = tabulate(count_tokens(items, SIDES, analyser(tokeniser, cache=0)), LABELS)
    over = find_pairs(table)
    assert (len(table.tokens), len(over), len({p.token for p in over})) == found


def test_the_pairs_of_jamp_without_template_20(shared_data: Path) -> None:
    over = find_pairs(table_of(jamp_items(shared_data, "train_all_wakati.tsv", 20)))
    found = {
        f"{p.token} {p.label[0].upper()} {p.n} {p.share:.3f}".replace(" 0.", " .") for p in over
    }
    assert found == {entry.strip() for entry in WITHOUT_20.split(";")}
    everything = find_pairs(table_of(jamp_items(shared_data, "train_all_wakati.tsv")))
    more = {(p.token, p.label) for p in everything} - {(p.token, p.label) for p in over}
    assert more == {
        (t, "contradiction") for t in ("最初の", "最後の", "日", "時", "年", "10", "2", "。", "は")
    }
    assert Counter(p.share for p in everything)[1.0] == 2


@pytest.mark.parametrize(("side", "pairs"), [(0, 21), (1, 20)])
def test_one_side_of_jamp(shared_data: Path, side: int, pairs: int) -> None:
    items = [
        (label, (texts[side],))
        for label, texts in jamp_items(shared_data, "train_all_wakati.tsv", 20)
    ]
    tally = count_tokens(items, (SIDES[side],), analyser("whitespace", cache=0))
    assert len(find_pairs(tabulate(tally, LABELS))) == pairs
