"""Greedy matching gives the pairs of the naive algorithm, bit for bit, in linear memory."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.io.lines import read_lines
from nikawa.pairing import inverted_index as bags
from nikawa.pairing import lcs
from nikawa.pairing.greedy import Variant, algorithm1, best_first, draw_order
from nikawa.pairing.lcs import Lcs
from nikawa.pairing.units import encode, encode_bigrams, find_units, split_characters, split_words

VARIANTS: tuple[Variant, ...] = ("1", "2", "L")


def drawn(count: int, kinds: int, longest: int, seed: int) -> list[list[str]]:
    """Sentences of words with natural frequencies, some of them empty or equal."""
    chance = random.Random(seed)
    return [
        [str(int(chance.paretovariate(0.7)) % kinds) for _ in range(chance.randrange(longest))]
        for _ in range(count)
    ]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("limits", [(0, 0, 0), (3, 2, 3), (512, 64, 48)])
@pytest.mark.parametrize(
    "shape", [(0, 3, 4), (1, 3, 4), (2, 3, 1), (61, 9, 6), (60, 200, 14), (20, 40, 150)]
)
def test_the_same_pairs_as_the_naive_algorithms(
    variant: Variant,
    limits: tuple[int, int, int],
    shape: tuple[int, int, int],
    one_by_one: Callable[..., Any],
    all_at_once: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place, value in zip(
        (
            f"{bags.__name__}.FIRST_BUDGET",
            f"{bags.__name__}.MAX_SHORT_LIST",
            f"{lcs.__name__}.MAX_ONE_BY_ONE",
        ),
        limits,
        strict=True,
    ):
        monkeypatch.setattr(place, value)
    count = shape[0]
    sentences = drawn(*shape, seed=sum(shape))
    coded = encode(sentences)
    found = [tuple(pair) for pair in algorithm1(coded, variant, seed=7)]
    assert found == one_by_one(sentences, variant, draw_order(count, 7))
    assert [tuple(pair) for pair in best_first(coded, variant)] == all_at_once(sentences, variant)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("abcdあ", max_size=9), max_size=14),
    st.sampled_from(VARIANTS),
    st.integers(0, 9),
)
def test_any_sentences_of_characters(texts: list[str], variant: Variant, seed: int) -> None:
    sentences = list(split_characters(texts))
    pairs = list(algorithm1(encode(sentences), variant, seed=seed))
    used = [place for pair in pairs for place in pair[:2]]
    assert len(used) == len(set(used)) == len(texts) // 2 * 2
    globally = list(best_first(encode(sentences), variant))
    assert len(globally) == len(pairs)
    scores = [pair.score for pair in globally]
    assert scores == sorted(scores, reverse=True)


def test_ties_go_to_the_lowest_index() -> None:
    coded = encode([["k"], ["a"], ["b"], ["a"], ["a"], ["z"]])
    assert [tuple(p) for p in best_first(coded, "1")] == [(1, 3, 1.0), (0, 2, 0.0), (4, 5, 0.0)]


def test_the_order_is_a_permutation_by_seed() -> None:
    coded = encode(drawn(40, 12, 8, seed=3))
    first, again, other = (list(algorithm1(coded, "1", seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(draw_order(9, 4)) == list(range(9))


def test_rounding_is_that_of_rouge_score(plain_rouge: Callable[..., float]) -> None:
    for common, own, other in ((1, 3, 7), (2, 7, 11), (5, 9, 13), (3, 3, 10)):
        ours = bags.compute_rouge(np.array([common]), float(own), np.array([float(other)]))[0]
        first, second = (
            ["x"] * common + ["a"] * (own - common),
            ["x"] * common + ["b"] * (other - common),
        )
        assert ours == plain_rouge(first, second, "1")


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_subsequences_of_any_length(
    length: int, subsequence: Callable[[Sequence[str], Sequence[str]], int]
) -> None:
    chance = random.Random(length)
    sentences = [
        [chance.choice("abcde") for _ in range(n)] for n in (length, 0, 1, 64, 130, length)
    ]
    found = Lcs(encode(sentences)).lengths(0, np.arange(1, 6))
    assert found.tolist() == [subsequence(sentences[0], other) for other in sentences[1:]]


def test_bigrams_do_not_cross_sentences() -> None:
    coded = encode_bigrams(encode([["a", "b"], [], ["b"], ["a", "b", "a"], ["a"]]))
    assert coded.lengths.tolist() == [1, 0, 0, 2, 0]
    assert coded.ids[0] == coded.ids[1] != coded.ids[2]


def test_units() -> None:
    assert list(split_words(["雨 が  降る"])) == [["雨", "が", "降る"]]
    assert ["".join(found) for found in split_characters(["雨 が降る"])] == ["雨が降る"]
    assert [list(found) for found in find_units("ja")(["雨が降る。"])] == [
        ["雨", "が", "降る", "。"]
    ]


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    list(
        algorithm1(
            encode([["a"]] * 4), "1", on_progress=lambda done, total: told.append((done, total))
        )
    )
    list(
        best_first(
            encode([["a"]] * 4), "1", on_progress=lambda done, total: told.append((done, total))
        )
    )
    assert told == [(2, 4), (4, 4)] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "units"), [("ja", "characters"), ("ja", "ja"), ("ko", "words")]
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_real_sentences(
    language: str,
    units: str,
    variant: Variant,
    shared_corpus: Path,
    one_by_one: Callable[..., Any],
    all_at_once: Callable[..., Any],
) -> None:
    lines = islice(read_lines(shared_corpus / f"{language}.txt.xz"), 30)
    sentences = list(find_units(units)([line[:40] for _, line in lines]))
    found = [tuple(pair) for pair in algorithm1(encode(sentences), variant, seed=3)]
    assert found == one_by_one(sentences, variant, draw_order(30, 3))
    assert [tuple(pair) for pair in best_first(encode(sentences), variant)] == all_at_once(
        sentences, variant
    )


@pytest.mark.slow
def test_memory_grows_no_faster_than_the_text() -> None:
    peaks = []
    for count in (1_000, 4_000):
        coded = encode(drawn(count, 50_000, 14, seed=1))
        tracemalloc.start()
        assert sum(1 for _ in algorithm1(coded, "1")) == count // 2
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 4.5 * peaks[0]
