"""Worker quality: held against figures computed one worker at a time; exclusions; the pilot test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.rules import parse_rule
from nikawa.aggregation.table import Table
from nikawa.aggregation.verdicts import Ties
from nikawa.aggregation.workers import (
    Limit,
    drop_workers,
    find_excluded,
    longest_runs,
    measure_exclusions,
    need_persons,
    pairwise_alpha,
    pilot_test,
    quality,
    rest_agreement,
    rest_correlation,
    wilson,
)
from nikawa.datasets.load import read_judgements
from nikawa.errors import BadInput
from nikawa.records import Judgement


def ratings(items: int = 40, workers: int = 6, kept: float = 0.7) -> Table:
    """Numbers 0 to 5 with gaps; the last worker answers at random."""
    random = np.random.default_rng(5)
    true = random.uniform(0, 5, items)
    item, worker = np.divmod(np.arange(items * workers), workers)
    noise = np.where(worker == workers - 1, 9.0, 0.7)
    answer = np.clip(np.rint(true[item] + random.normal(0, 1, len(item)) * noise), 0, 5).astype(int)
    there = random.random(len(item)) < kept
    return Table.from_columns(item[there], worker[there], answer[there])


def rest_of(table: Table, entry: int) -> list[int]:
    same = (table.item == table.item[entry]) & (table.worker != table.worker[entry])
    return [int(code) for code in table.answer[same]]


def test_correlation_with_the_rest() -> None:
    table = ratings()
    found = rest_correlation(table)
    for worker in range(len(table.workers)):
        own = [i for i in np.flatnonzero(table.worker == worker) if rest_of(table, int(i))]
        x = [table.numbers[i] for i in own]
        y = [np.mean([table.values[c] for c in rest_of(table, int(i))]) for i in own]
        assert found[worker] == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_agreement_with_the_rest() -> None:
    table = Table.from_columns(
        [0, 0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 2, 0, 1, 2, 0, 1, 0], list("aababcaba")
    )
    assert rest_agreement(table) == pytest.approx([0.5 / 3, 0.5 / 3, 0])


def test_pairwise_alpha_is_the_mean_over_pairs() -> None:
    table = ratings()
    found, partners = pairwise_alpha(table)
    n = len(table.workers)
    for worker in range(n):
        values = []
        for other in set(range(n)) - {worker}:
            pair = table.select(np.isin(table.worker, [worker, other]))
            values.append(alpha(pair, "nominal").value)
        assert found[worker] == pytest.approx(np.mean(values))
        assert partners[worker] == len(values)


def test_pairs_that_cannot_disagree_are_left_out() -> None:
    table = Table.from_columns([0, 0, 1, 1], [0, 1, 0, 1], list("aaaa"))
    found, partners = pairwise_alpha(table)
    assert np.isnan(found).all()
    assert partners.tolist() == [0, 0]


def test_nobody_shares_an_item() -> None:
    told = quality(Table.from_columns([0, 1], [0, 1], [1, 2]))
    assert [(w.r, w.agreement, w.alpha) for w in told] == [(None, None, None)] * 2


def test_columns_are_refused() -> None:
    with pytest.raises(BadInput, match="only a column"):
        quality(ratings(), workers_are="columns")
    need_persons("persons", "anything")


def test_haste_and_straight_lines() -> None:
    random = np.random.default_rng(0)
    rows = []
    for worker, seconds in (("a", 10.0), ("b", 12.0), ("c", 11.0), ("d", 2.0), ("e", 60.0)):
        for item in range(60):
            answer = "x" if worker == "d" else "xyz"[random.integers(3)]
            rows.append(
                Judgement(
                    example=str(item), worker=worker, question="q", answer=answer, seconds=seconds
                )
            )
    told = {w.worker: w for w in quality(Table.from_judgements(rows))}
    assert told["d"].flags == ("fast", "straight")
    assert told["e"].flags == ("slow",)
    assert told["a"].flags == ()
    assert (told["d"].seconds, told["d"].longest_run) == (2.0, 60)


def test_longest_runs() -> None:
    table = Table.from_columns(range(7), [0, 1, 0, 0, 1, 0, 0], list("abaabba"))
    length, code = longest_runs(table)
    assert length.tolist() == [3, 2]
    assert [table.categories[c] for c in code] == ["a", "b"]


def test_pilot_test() -> None:
    table = Table.from_columns([0, 1, 2, 0, 1, 2, 3], [0, 0, 0, 1, 1, 1, 2], list("aababba"))
    passed, failed, unasked = pilot_test(table, {0: "a", 1: "a", 2: "b"}, 0.8)  # type: ignore[dict-item]
    assert (passed.right, passed.asked, passed.passed) == (3, 3, True)
    assert (failed.right, failed.passed) == (2, False)
    assert (unasked.asked, unasked.passed) == (0, False)
    with pytest.raises(BadInput, match="no worker answered"):
        pilot_test(table, {"z": "a"}, 0.8)


def test_wilson() -> None:
    assert wilson(8, 10) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)


def test_exclusion_tells_what_it_changes() -> None:
    table = Table.from_columns(
        [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, ["a", "a", "b", "b", "a", "b", "a", "b", "b"]
    )
    one, every = measure_exclusions(table, {"2": ("alpha<0.20",)}, parse_rule("majority"), Ties())
    assert (one.worker, one.answers, one.answers_kept, one.fewest) == ("2", 3, 6, 2)
    assert (one.changed, one.lost, one.gained) == (0, 2, 0)
    assert (every.worker, every.lost) == ("", 2)
    assert len(drop_workers(table, ["2"])) == 6
    assert measure_exclusions(table, {}, parse_rule("majority"), Ties()) == []


@pytest.mark.parametrize("text", ["r", "rr<0.8", "r<x", "r=0.8"])
def test_wrong_limits(text: str) -> None:
    with pytest.raises(BadInput, match=r"is not a limit|could not"):
        Limit.parse(text)


def test_klue_sts_exclusions(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("klue-sts", data=shared_data), "score")
    told = {w.worker: w for w in quality(table)}
    assert told["04"].r == pytest.approx(0.7998, abs=5e-5)
    assert told["08"].r == pytest.approx(0.771, abs=5e-4)
    assert [told[w].alpha for w in ("12", "08", "05")] == pytest.approx(
        [0.148, 0.191, 0.191], abs=5e-4
    )
    gone = find_excluded(list(told.values()), [Limit.parse("r<0.80"), Limit.parse("alpha<0.20")])
    assert gone == {
        "12": ("alpha<0.20",),
        "04": ("r<0.80",),
        "08": ("r<0.80", "alpha<0.20"),
        "05": ("alpha<0.20",),
    }
    *alone, every = measure_exclusions(table, gone, parse_rule("mean+sd<=2+round:1"), Ties())
    assert sum(change.answers for change in alone) == every.answers == 798
    assert every.answers_kept == 3262 - 798
    assert (every.changed, every.lost) == (381, 0)
