"""Measures of agreement against their definitions, written out, on random tables with blanks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nikawa.aggregation import alpha as agreement_alpha
from nikawa.aggregation.agreement import classify_items, measures, variances
from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.kappa import cohen, fleiss, percent
from nikawa.aggregation.measure import (
    LEVELS,
    AnyMeasure,
    Level,
    SummedMeasure,
    find_answer_patterns,
)
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput

Matrix = NDArray[np.float64]


def random_matrix(seed: int, workers: int = 4, items: int = 30, kinds: int = 4) -> Matrix:
    """Workers by items, NaN for a blank; answers lean to a truth of the item."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, kinds, items)
    noise = generator.integers(0, kinds, (workers, items))
    answers = np.where(generator.random((workers, items)) < 0.6, truth, noise).astype(float) + 1
    answers[generator.random((workers, items)) < 0.25] = np.nan
    return answers


def table_of(matrix: Matrix) -> Table:
    worker, item = np.nonzero(~np.isnan(matrix))
    return Table.from_columns(item, worker, matrix[worker, item])


def table_from(cells: Sequence[tuple[Any, Any, Any]]) -> Table:
    items, workers, answers = zip(*cells, strict=True)
    return Table.from_columns(items, workers, answers)


def units(matrix: Matrix) -> list[list[float]]:
    found = [column[~np.isnan(column)].tolist() for column in matrix.T]
    return [unit for unit in found if len(unit) > 1]


def distance(level: Level, c: float, k: float, pool: list[float]) -> float:
    if level == "nominal":
        return float(c != k)
    if level == "interval":
        return (c - k) ** 2
    if level == "ratio":
        return ((c - k) / (c + k)) ** 2
    low, high = min(c, k), max(c, k)
    between = sum(low <= v <= high for v in pool) - (pool.count(c) + pool.count(k)) / 2
    return 0.0 if c == k else float(between) ** 2


def by_definition(matrix: Matrix, level: Level) -> float:
    """Krippendorff's alpha from all pairs of answers."""
    found = units(matrix)
    pool = [answer for unit in found for answer in unit]
    observed = sum(
        distance(level, a, b, pool) / (len(unit) - 1)
        for unit in found
        for a, b in permutations(unit, 2)
    )
    expected = sum(distance(level, a, b, pool) for a, b in permutations(pool, 2))
    return 1 - observed * (len(pool) - 1) / expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_what_its_definition_says(level: Level, seed: int) -> None:
    matrix = random_matrix(seed)
    assert alpha(table_of(matrix), level).value == pytest.approx(
        by_definition(matrix, level), abs=1e-12
    )


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_very_many_categories(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_matrix(7)
    monkeypatch.setattr(agreement_alpha, "MAX_CATEGORIES", 2)
    monkeypatch.setattr(agreement_alpha, "MAX_BLOCK_CELLS", 12)  # three items a block
    assert alpha(table_of(matrix), level).value == pytest.approx(
        by_definition(matrix, level), abs=1e-12
    )


def test_alpha_keeps_its_digits_far_from_zero() -> None:
    matrix = random_matrix(1)
    far = alpha(table_of(matrix + 1e6), "interval").value
    assert far == pytest.approx(by_definition(matrix, "interval"), abs=1e-9)


def test_fleiss_and_percent() -> None:
    matrix = random_matrix(2)
    found = units(matrix)
    same = [np.mean([a == b for a, b in combinations(unit, 2)]) for unit in found]
    pool = [answer for unit in found for answer in unit]
    chance = sum((pool.count(c) / len(pool)) ** 2 for c in set(pool))
    table = table_of(matrix)
    assert percent(table).value == pytest.approx(np.mean(same))
    assert fleiss(table).value == pytest.approx((np.mean(same) - chance) / (1 - chance))


def cohen_of(a: Matrix, b: Matrix) -> float:
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    chance = sum(np.mean(a == c) * np.mean(b == c) for c in set(a.tolist()) | set(b.tolist()))
    return float((np.mean(a == b) - chance) / (1 - chance))


def test_cohen_is_the_mean_over_pairs() -> None:
    matrix = random_matrix(3)
    expected = np.mean([cohen_of(a, b) for a, b in combinations(matrix, 2)])
    assert cohen(table_of(matrix)).value == pytest.approx(expected)
    assert cohen(table_of(matrix[:2])).value == pytest.approx(cohen_of(*matrix[:2]))


def test_variances() -> None:
    matrix = random_matrix(4)
    each = [np.var(unit) for unit in units(matrix)]
    found = {m.name: m.value for m in variances(table_of(matrix))}
    expected = {
        "variance-mean": np.mean(each),
        "variance-sd": np.std(each),
        "sd-mean": np.mean(np.sqrt(each)),
    }
    assert found == pytest.approx(expected)


def drawn_again(matrix: Matrix, counts: NDArray[np.int64]) -> Matrix:
    return np.repeat(matrix, counts, axis=1)


def by_name(matrix: Matrix) -> dict[tuple[str, str], AnyMeasure]:
    return {(m.name, m.level): m for m in measures(table_of(matrix))}


@pytest.mark.parametrize("wide", [False, True])
def test_under_weights_is_the_measure_of_the_items_drawn(
    wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = random_matrix(5)
    matrix[0, np.isnan(matrix).all(axis=0)] = 1
    counts: NDArray[np.int64] = np.random.default_rng(0).integers(0, 4, matrix.shape[1:])
    if wide:
        monkeypatch.setattr(agreement_alpha, "MAX_CATEGORIES", 2)
    whole, again = by_name(matrix), by_name(drawn_again(matrix, counts))
    for name, measure in whole.items():
        if wide and name == ("alpha", "ordinal"):  # keeps the ranks of the whole
            continue
        assert measure.under(counts[None].astype(float))[0] == pytest.approx(again[name].value), (
            name
        )


def test_groups_are_drawn_whole() -> None:
    matrix = random_matrix(6)
    matrix[0, np.isnan(matrix).all(axis=0)] = 1
    groups = np.arange(matrix.shape[1]) // 3
    weights = np.random.default_rng(1).integers(0, 3, int(groups.max()) + 1).astype(float)
    for measure in measures(table_of(matrix)):
        spread = measure.under(weights[groups][None])[0]
        assert measure.grouped(groups).under(weights[None])[0] == pytest.approx(spread)


def test_shares_of_items() -> None:
    rows = ["aaa", "aab", "abc", "bbb", "a-a", *["ccc"] * 6]
    cells = [(i, w, c) for i, row in enumerate(rows) for w, c in enumerate(row) if c != "-"]
    found = classify_items(table_from(cells))
    assert {name: int(which.sum()) for name, which in found.items()} == {
        "unanimous": 8,
        "majority": 1,
        "none": 1,
        "incomplete": 1,
    }


@pytest.mark.parametrize(
    ("each", "counts"), [(None, [6, 4, 2, 0]), (3, [6, 4, 2, 0]), (4, [4, 3, 1, 4])]
)
def test_a_worker_who_was_replaced_leaves_no_item_incomplete(
    each: int | None, counts: list[int]
) -> None:
    rows = ["aaaa"] * 4 + ["aaab"] * 3 + ["aabb", "aaa-", "aaa-", "aab-", "abc-"]
    cells = [(i, w, c) for i, row in enumerate(rows) for w, c in enumerate(row) if c != "-"]
    table = replace(table_from(cells), each=each)
    assert [int(which.sum()) for which in classify_items(table).values()] == counts
    shares = {
        m.name: m.value
        for m in measures(table, by_kind=True)
        if m.name in ("unanimous", "majority", "none", "incomplete")
    }
    assert sum(shares.values()) == pytest.approx(1)


def test_half_is_no_majority() -> None:
    table = Table.from_columns([0, 0, 0, 0], [0, 1, 2, 3], ["a", "a", "b", "b"])
    assert classify_items(table)["none"].all()


def test_author_against_validators() -> None:
    answers = {"author": "aabb", "v1": "aaba", "v2": "abba", "v3": "aaba"}
    cells = [(i, worker, c) for worker, row in answers.items() for i, c in enumerate(row)]
    found = {m.name: m.value for m in measures(table_from(cells))}
    assert found["author-is-gold"] == 3 / 4  # the last item's gold is a
    assert found["validator-is-gold"] == 11 / 12
    assert found["validator-is-author"] == 8 / 12
    assert found["individual-is-majority"] == 14 / 16


def test_one_answer_throughout_is_undefined() -> None:
    table = Table.from_columns([0, 0, 1, 1], [0, 1, 0, 1], [3, 3, 3, 3])
    values = {(m.name, m.level): m.value for m in measures(table)}
    assert values["percent", "nominal"] == 1
    for name in (
        ("alpha", "interval"),
        ("alpha", "nominal"),
        ("cohen", "nominal"),
        ("fleiss", "nominal"),
    ):
        assert np.isnan(values[name])


def test_refusals() -> None:
    single = Table.from_columns([0, 1], [0, 0], ["a", "b"])
    with pytest.raises(BadInput, match="no item has two answers"):
        list(measures(single))
    pair = Table.from_columns([0, 0], [0, 1], [-1, 2])
    with pytest.raises(BadInput, match="there is no level 'cardinal'"):
        list(measures(pair, "cardinal"))
    with pytest.raises(BadInput, match="needs numbers of 0 or more"):
        alpha(pair, "ratio")
    with pytest.raises(BadInput, match="there is no worker 'nobody'"):
        list(measures(pair, author="nobody"))


def many_alike(seed: int, numeric: bool) -> Table:
    draw = np.random.default_rng(seed)
    items, workers = np.repeat(np.arange(900), 4), np.tile(np.arange(4), 900)
    codes = np.where(draw.random(3600) < 0.7, (items % 3), draw.integers(0, 3, 3600))
    keep = draw.random(3600) < 0.98
    answers = codes[keep] if numeric else np.array(["a", "b", "c"])[codes[keep]]
    return Table.from_columns(items[keep], workers[keep], answers)


@pytest.mark.parametrize("numeric", [False, True])
def test_kinds_of_items_give_the_same_measures(numeric: bool) -> None:
    table = many_alike(0, numeric)
    plain, kinds = list(measures(table)), list(measures(table, by_kind=True))
    assert [m.name for m in plain] == [m.name for m in kinds]
    for one, other in zip(plain, kinds, strict=True):
        assert other.value == pytest.approx(one.value), one.name
    assert (
        sum(getattr(m, "times", None) is not None for m in kinds) == len(kinds) - 1
    )  # all but Cohen's


def test_drawing_kinds_is_drawing_items() -> None:
    table = many_alike(1, numeric=True)
    items = (
        np.random.default_rng(0).multinomial(900, np.full(900, 1 / 900), size=2000).astype(float)
    )
    for plain, kinds in zip(measures(table), measures(table, by_kind=True), strict=True):
        drawn = kinds.draw(2000, seed=0) if isinstance(kinds, SummedMeasure) else None
        if drawn is not None and isinstance(plain, SummedMeasure):
            expected = plain.under(items)
            assert drawn.mean() == pytest.approx(
                expected.mean(), abs=0.1 * expected.std() + 1e-9
            ), plain.name
            assert drawn.std() == pytest.approx(expected.std(), rel=0.1, abs=1e-9), plain.name


def test_items_that_are_all_different_are_no_kinds() -> None:
    matrix = random_matrix(8, kinds=30)
    assert find_answer_patterns(table_of(matrix)) is None
    assert all(getattr(m, "times", None) is None for m in measures(table_of(matrix), by_kind=True))
