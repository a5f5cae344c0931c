"""What two texts share, by their characters: counts of n-grams, and figures of overlap.

The longest common subsequence is counted bit-parallel (Crochemore et al. 2001, doi:10.1016/S0020-0190(01)00182-X):
a big integer holds a row of the table, so a pair of sentences takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nikawa.models._linear import sklearn

Floats = NDArray[np.float64]


def common_subsequence(one: str, other: str) -> int:
    """Characters of the longest common subsequence."""
    places: dict[str, int] = {}
    for i, character in enumerate(other):
        places[character] = places.get(character, 0) | 1 << i
    row = full = (1 << len(other)) - 1
    for character in one:
        met = row & places.get(character, 0)
        row = ((row + met) | (row - met)) & full
    return len(other) - row.bit_count()


class Overlap:
    """Figures of what the two texts of a pair share, from n-grams weighted by how rare they are."""

    def __init__(self, longest: int, least: int = 1) -> None:
        kind = sklearn("feature_extraction.text").CountVectorizer
        self._counter = kind(
            analyzer="char",
            ngram_range=(1, longest),
            min_df=least,
            dtype=np.float64,
            lowercase=False,
        )
        self._weights: list[Floats] = []
        """For each length of n-grams the weight of those of it, 0 for others."""

    def fit(self, left: Sequence[str], right: Sequence[str]) -> Overlap:
        """Learn how many texts hold each n-gram."""
        texts = sorted({*left, *right})
        held = np.asarray((self._counter.fit_transform(texts) > 0).sum(axis=0)).ravel()
        rare = np.log((1 + len(texts)) / (1 + held)) + 1
        lengths = np.array([len(gram) for gram in self._counter.get_feature_names_out()])
        self._weights = [
            np.where(lengths == n, rare, 0.0) for n in range(1, self._counter.ngram_range[1] + 1)
        ]
        return self

    def counts(self, left: Sequence[str], right: Sequence[str]) -> tuple[Any, Any, Any]:
        """N-grams of the left texts, of the right ones, and of what they share."""
        one, other = self._counter.transform(left), self._counter.transform(right)
        return one, other, one.minimum(other)

    def figures(
        self, left: Sequence[str], right: Sequence[str], counts: tuple[Any, Any, Any]
    ) -> Floats:
        """One row a pair: shares of each side, of both, of the longest subsequence; lengths. The first is Dice's."""
        one, other, shared = counts
        columns: list[Floats] = []
        for weights in self._weights:
            a, b, both = one @ weights, other @ weights, shared @ weights
            columns += [
                _share(2 * both, a + b),
                _share(both, a),
                _share(both, b),
                _share(both, a + b - both),
            ]
        characters = (self._weights[0] > 0).astype(float)
        columns += [np.log1p((one - shared) @ characters), np.log1p((other - shared) @ characters)]
        return np.column_stack([*columns, *_lengths(left, right)])


def _lengths(left: Sequence[str], right: Sequence[str]) -> list[Floats]:
    a = np.array([len(text) for text in left], dtype=np.float64)
    b = np.array([len(text) for text in right], dtype=np.float64)
    common = np.array(
        [common_subsequence(*pair) for pair in zip(left, right, strict=True)], dtype=np.float64
    )
    return [np.log1p(a) - np.log1p(b), _share(common, a), _share(common, b)]


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def curves() -> Any:
    """Figures and their products of two, each with mean 0 and deviation 1: bends that a linear model may follow."""
    scaled = sklearn("preprocessing")
    products = scaled.PolynomialFeatures(2, include_bias=False)
    return sklearn("pipeline").make_pipeline(
        scaled.StandardScaler(), products, scaled.StandardScaler()
    )
