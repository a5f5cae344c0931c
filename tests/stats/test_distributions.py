from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.stats import distributions
from nikawa.stats.distributions import (
    are_tails_under,
    binomial_log_tail,
    critical_counts,
    exact_tail,
    wilson_interval,
)

FACTS = {
    12: 12,
    20: 18,
    50: 34,
    100: 57,
    200: 99,
    500: 217,
    801: 331,
    1000: 404,
    5000: 1823,
    9950: 3536,
}
"""Critical counts at 0.01/5,089 and three labels."""
SCIPY = {
    (10, 9): -7.941600448957674,
    (999, 500): -62.17380266750447,
    (54_321, 18_500): -8.617849468521896,
    (1_000_000, 333_334): -0.693523377697093,
    (1_000_000, 340_000): -103.2296776542471,
    (3_000_000, 1_006_000): -29.899734557500253,
}
"""`scipy.stats.binom.logsf(k - 1, n, 1 / 3)`."""


def by_definition(n: int, k: int, labels: int) -> Fraction:
    return sum(
        (
            comb(n, i) * Fraction(1, labels) ** i * Fraction(labels - 1, labels) ** (n - i)
            for i in range(k, n + 1)
        ),
        Fraction(0),
    )


@given(st.integers(1, 60), st.integers(2, 8), st.data())
def test_the_integers_follow_the_definition(n: int, labels: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    assert exact_tail(n, k, labels) == by_definition(n, k, labels)


@given(st.integers(1, 400), st.integers(2, 30), st.data())
def test_the_continued_fraction_is_the_tail(n: int, labels: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(n // labels + 1, n))
    found = binomial_log_tail(np.array([n]), np.array([k]), 1 / labels)[0]
    exact = exact_tail(n, k, labels)
    assert found == pytest.approx(log(exact.numerator) - log(exact.denominator), abs=1e-9)


@pytest.mark.parametrize(("n", "k"), SCIPY)
def test_it_agrees_with_scipy(n: int, k: int) -> None:
    assert binomial_log_tail(np.array([n]), np.array([k]), 1 / 3)[0] == pytest.approx(
        SCIPY[n, k], abs=1e-8
    )


def test_the_known_critical_counts() -> None:
    found = critical_counts(np.array([11, *FACTS]), 3, Fraction(1, 100) / 5089)
    assert found.tolist() == [12, *FACTS.values()]  # 11 needs 12: it cannot be over the line


@given(st.integers(1, 120), st.integers(2, 6), st.fractions(Fraction(1, 10**9), Fraction(49, 100)))
def test_the_critical_count_is_the_least_below(n: int, labels: int, threshold: Fraction) -> None:
    found = int(critical_counts(np.array([n]), labels, threshold)[0])
    assert found == min(
        (k for k in range(n + 1) if exact_tail(n, k, labels) < threshold), default=n + 1
    )


@given(st.integers(2, 80), st.integers(2, 5), st.data())
def test_a_tie_is_not_below(n: int, labels: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(n // labels + 1, n))
    tail = exact_tail(n, k, labels)
    at = [
        are_tails_under(np.array([n]), np.array([k]), labels, t)[0]
        for t in (tail, tail * Fraction(10**9 + 1, 10**9))
    ]
    assert at == [False, True]


def test_far_from_the_threshold_no_integer_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Fraction:
        raise AssertionError

    monkeypatch.setattr(distributions, "exact_tail", refuse)
    assert critical_counts(np.array([9950]), 3, Fraction(1, 508_900)).tolist() == [3536]


def test_wilsons_interval() -> None:
    assert wilson_interval(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson_interval(1.0, 5)[1] == pytest.approx(1.0)
    assert wilson_interval(0.0, 0) == (0.0, 1.0)


def test_tails_too_small_for_a_float() -> None:
    found = binomial_log_tail(np.array([100_000]), np.array([100_000]), 1 / 3)[0]
    assert found == pytest.approx(-100_000 * log(3))
    assert exp(found) == 0.0
