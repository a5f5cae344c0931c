"""What two texts share, by their characters: figures of overlap, and similarity learned from them alone.

`Overlap` computes a dozen figures a pair from n-grams weighted by how rare they are. The model `char-overlap` is ridge
regression on these figures and their products; it sees no word of either text.

The longest common subsequence is counted bit-parallel (Crochemore et al. 2001, doi:10.1016/S0020-0190(01)00182-X):
a big integer holds a row of the table, so a pair of sentences takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import (
    Model,
    check_kind,
    get_gold,
    get_text,
    load_sklearn,
    not_fitted_error,
    read_settings,
)
from nikawa.models.linear import LinearModel
from nikawa.records import Example, Kind, Prediction, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KINDS: tuple[Kind, ...] = ("similarity",)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    """Penalty on the weights."""


class CharOverlap:
    """The model; it needs few examples, since it has few weights."""

    name = "char-overlap"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._learned: tuple[Overlap, Any, LinearModel] | None = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn how rare n-grams are, then what each figure weighs."""
        check_kind(self.name, KINDS, task)
        if len(task.inputs) != 2:
            raise BadInput(
                f"{self.name} compares two texts, not {len(task.inputs)}", cure="use char-linear"
            )
        gold = get_gold(task, examples)
        left, right = split_pairs(task, examples)
        overlap = Overlap(self._settings.longest).fit(left, right)
        products = make_products()
        linear = LinearModel(1.0, self._settings.penalty, self._seed)
        figures = overlap.figures(left, right, overlap.counts(left, right))
        rows = products.fit_transform(figures)
        linear.fit(task, rows, gold, [e.group or e.id for e in examples])
        self._learned = (overlap, products, linear)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The score of each pair."""
        if self._learned is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        overlap, products, linear = self._learned
        left, right = split_pairs(task, examples)
        rows = products.transform(overlap.figures(left, right, overlap.counts(left, right)))
        return linear.predict(self.name, task, rows, examples)


def split_pairs(task: Task, examples: Sequence[Example]) -> tuple[list[str], list[str]]:
    """The first texts and the second texts of a task with two inputs."""
    one, other = task.inputs
    return [get_text(e, one) for e in examples], [get_text(e, other) for e in examples]


class Overlap:
    """Figures of what the two texts of a pair share, from n-grams weighted by how rare they are."""

    def __init__(self, longest: int, least: int = 1) -> None:
        """Count n-grams of 1 to `longest` characters that at least `least` texts have."""
        import numpy as np

        self._counter = load_sklearn("feature_extraction.text").CountVectorizer(
            analyzer="char",
            ngram_range=(1, longest),
            min_df=least,
            dtype=np.float64,
            lowercase=False,
        )
        self._weights: list[Floats] = []
        """For each length of n-grams the weight of those of it, 0 for others."""

    def fit(self, left: Sequence[str], right: Sequence[str]) -> Overlap:
        """Learn how many texts have each n-gram: its weight is `log((1 + texts) / (1 + texts with it)) + 1`."""
        import numpy as np

        texts = sorted({*left, *right})
        holders = np.asarray((self._counter.fit_transform(texts) > 0).sum(axis=0)).ravel()
        rarity = np.log((1 + len(texts)) / (1 + holders)) + 1
        lengths = np.array([len(gram) for gram in self._counter.get_feature_names_out()])
        longest = self._counter.ngram_range[1]
        self._weights = [np.where(lengths == n, rarity, 0.0) for n in range(1, longest + 1)]
        return self

    def counts(self, left: Sequence[str], right: Sequence[str]) -> tuple[Any, Any, Any]:
        """N-grams of the left texts, of the right ones, and of what they share."""
        one = self._counter.transform(left)
        other = self._counter.transform(right)
        return one, other, one.minimum(other)

    def figures(
        self, left: Sequence[str], right: Sequence[str], counts: tuple[Any, Any, Any]
    ) -> Floats:
        """One row a pair: shares of each side, of both, of the longest subsequence; lengths. The first is Dice's."""
        import numpy as np

        one, other, shared = counts
        columns: list[Floats] = []
        for weights in self._weights:
            a = one @ weights
            b = other @ weights
            both = shared @ weights
            columns += [
                _divide(2 * both, a + b),
                _divide(both, a),
                _divide(both, b),
                _divide(both, a + b - both),
            ]
        characters = (self._weights[0] > 0).astype(float)
        columns += [np.log1p((one - shared) @ characters), np.log1p((other - shared) @ characters)]
        common = [common_subsequence_length(*pair) for pair in zip(left, right, strict=True)]
        subsequence = np.array(common, dtype=np.float64)
        a = np.array([len(text) for text in left], dtype=np.float64)
        b = np.array([len(text) for text in right], dtype=np.float64)
        columns += [np.log1p(a) - np.log1p(b), _divide(subsequence, a), _divide(subsequence, b)]
        return np.column_stack(columns)


def common_subsequence_length(one: str, other: str) -> int:
    """Characters of the longest common subsequence of two texts."""
    places: dict[str, int] = {}
    for i, character in enumerate(other):
        places[character] = places.get(character, 0) | 1 << i
    row = full = (1 << len(other)) - 1
    for character in one:
        matches = row & places.get(character, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(other) - row.bit_count()


def _divide(part: Floats, whole: Floats) -> Floats:
    """`part / whole`, and 0 where the whole is 0."""
    import numpy as np

    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def make_products() -> Any:
    """A transformer to the figures and the products of each two, scaled to mean 0 and deviation 1.

    With products a linear model can follow bends.
    """
    preprocessing = load_sklearn("preprocessing")
    return load_sklearn("pipeline").make_pipeline(
        preprocessing.StandardScaler(),
        preprocessing.PolynomialFeatures(2, include_bias=False),
        preprocessing.StandardScaler(),
    )


MODELS = (
    Model(
        "char-overlap",
        "similarity by the characters two texts share",
        KINDS,
        lambda setup: CharOverlap(read_settings(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
