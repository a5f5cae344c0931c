"""Linear models for pairs of texts, by the characters they share.

- `pair-linear`: what only the left text has, what only the right one has, and how much they share. An n-gram that one side
  lacks (a negation, another particle, another noun) is a feature of its own side. It counts once as it is and again in
  proportion to the overlap of the pair: a lone ない means contradiction between nearly equal sentences and little between
  others. No list of cue words is used: cues come from the examples. With one input it has that input's n-grams.
- `char-overlap`: similarity from a dozen figures of overlap and their products; it sees no word of either text, and needs
  few examples, since it has few weights.

The longest common subsequence is counted bit-parallel (Crochemore et al. 2001,
doi:10.1016/S0020-0190(01)00182-X): a big integer holds a row of the table, so a pair of sentences
takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models.base import Model, get_text, load_sklearn, read_settings
from nikawa.models.linear import Features, LinearModel, LinearTextModel
from nikawa.models.text_features import CharNgrams
from nikawa.records import Example, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIGURE_SIZE, LONE_SIZE = 0.3, 0.5
"""What figures of overlap and lone n-grams are multiplied by: a larger feature is penalised less.
"""


class PairSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `pair-linear` learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    least: Annotated[int, msgspec.Meta(ge=1)] = 2
    """Texts an n-gram is in at least."""
    strength: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Inverse of the penalty on weights of labels."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """Penalty on weights of scores."""


class OverlapSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `char-overlap` learns."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    """Characters of the longest n-gram."""
    penalty: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    """Penalty on the weights."""


class PairLinear(LinearTextModel):
    """The model `pair-linear`."""

    name = "pair-linear"
    kinds = ("inference", "similarity")

    def __init__(self, settings: PairSettings = PairSettings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        super().__init__()
        self._settings, self._seed = settings, seed

    def make_features(self, task: Task) -> Features:
        """What each side has alone and how much both share; with one input its n-grams."""
        if len(task.inputs) == 2:
            return PairFeatures(task, self._settings)
        return CharNgrams(task.inputs, self._settings.longest)

    def make_linear(self) -> LinearModel:
        """With the strength of the settings."""
        return LinearModel(
            self._seed, strength=self._settings.strength, penalty=self._settings.penalty
        )


class CharOverlap(LinearTextModel):
    """The model `char-overlap`."""

    name = "char-overlap"
    kinds = ("similarity",)

    def __init__(self, settings: OverlapSettings = OverlapSettings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        super().__init__()
        self._settings, self._seed = settings, seed

    def make_features(self, task: Task) -> Features:
        """Figures of overlap; raises BadInput for a task that does not have two inputs."""
        if len(task.inputs) != 2:
            what = f"{self.name} compares two texts, not {len(task.inputs)}"
            raise BadInput(what, cure="use char-linear")
        return OverlapFeatures(task, Overlap(self._settings.longest))

    def make_linear(self) -> LinearModel:
        """Ridge regression, as there are only scores."""
        return LinearModel(self._seed, strength=1.0, penalty=self._settings.penalty)


class OverlapFeatures:
    """Figures of overlap and the products of each two, scaled to mean 0 and deviation 1.

    With products a linear model can follow bends.
    """

    def __init__(self, task: Task, overlap: Overlap) -> None:
        self._task = task
        self._overlap = overlap
        preprocessing = load_sklearn("preprocessing")
        self._products = load_sklearn("pipeline").make_pipeline(
            preprocessing.StandardScaler(),
            preprocessing.PolynomialFeatures(2, include_bias=False),
            preprocessing.StandardScaler(),
        )

    def fit_transform(self, examples: Sequence[Example]) -> Any:
        """Learn how rare n-grams are, and the scale of the figures; one row per example."""
        left, right = self._split(examples)
        counts = self._overlap.fit(left, right).counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self.make_rows(self._products.fit_transform(figures), figures, counts)

    def transform(self, examples: Sequence[Example]) -> Any:
        """One row per example."""
        left, right = self._split(examples)
        counts = self._overlap.counts(left, right)
        figures = self._overlap.figures(left, right, counts)
        return self.make_rows(self._products.transform(figures), figures, counts)

    def _split(self, examples: Sequence[Example]) -> tuple[list[str], list[str]]:
        """The first texts and the second texts."""
        one, other = self._task.inputs
        return [get_text(e, one) for e in examples], [get_text(e, other) for e in examples]

    def make_rows(self, products: Any, figures: Any, counts: tuple[Any, Any, Any]) -> Any:
        """The rows of the matrix from scaled products, plain figures and n-grams.

        This class uses the products alone.
        """
        return products


class PairFeatures(OverlapFeatures):
    """Figures of overlap with their products, and the n-grams that only one side has."""

    def __init__(self, task: Task, settings: PairSettings) -> None:
        super().__init__(task, Overlap(settings.longest, settings.least))

    def make_rows(self, products: Any, figures: Any, counts: tuple[Any, Any, Any]) -> Any:
        """The products, the lone n-grams of each side, and the same in proportion to the overlap."""
        from scipy.sparse import csr_matrix, diags, hstack

        one, other, shared = counts
        overlap = diags(figures[:, 0])
        lone = [((side - shared) > 0).astype(float) * LONE_SIZE for side in (one, other)]
        near = [overlap @ part for part in lone]
        return hstack([csr_matrix(products * FIGURE_SIZE), *lone, *near]).tocsr()


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
        """Learn how many texts have each n-gram: its weight is `log((1 + texts) / (1 + texts with
        it)) + 1`.
        """
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
        """One row per pair: shares of each side, of both, of the longest subsequence; lengths.

        The first is Dice's.
        """
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


MODELS = (
    Model(
        "char-overlap",
        "similarity by shared characters of two texts",
        CharOverlap.kinds,
        lambda setup: CharOverlap(read_settings(OverlapSettings, setup), setup.seed),
        settings=OverlapSettings,
    ),
    Model(
        "pair-linear",
        "linear model on shared and unshared parts of two texts",
        PairLinear.kinds,
        lambda setup: PairLinear(read_settings(PairSettings, setup), setup.seed),
        settings=PairSettings,
    ),
)
