"""What several baselines see of a text: n-grams of its characters, and their scripts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from nikawa.models.base import get_text, load_sklearn
from nikawa.records import Example

MIN_EXAMPLES_TO_DROP_RARE = 20_000
"""From this number of examples on, n-grams that occur in one example only are left out."""
_SCRIPTS = (
    ("HANGUL SYLLABLE", "H"),
    ("HANGUL", "J"),
    ("CJK UNIFIED", "K"),
    ("HIRAGANA", "R"),
    ("KATAKANA", "T"),
    ("LATIN CAPITAL", "A"),
    ("LATIN SMALL", "a"),
    ("FULLWIDTH LATIN", "A"),
    ("FULLWIDTH DIGIT", "n"),
)
"""How the Unicode name of a character begins, and the letter for its script."""


def char_ngrams(text: str, shortest: int, longest: int) -> Iterator[str]:
    """All n-grams of `shortest` to `longest` characters, the short ones first.

    >>> list(char_ngrams("あいう", 2, 3))
    ['あい', 'いう', 'あいう']
    """
    for size in range(shortest, longest + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]


@cache
def script_of(character: str) -> str:
    """One letter for the kind of a character: its script for letters, else digit, mark or symbol."""
    name = unicodedata.name(character, "")
    for prefix, letter in _SCRIPTS:
        if name.startswith(prefix):
            return letter
    return unicodedata.category(character)[0].lower()


def script_shape(word: str) -> str:
    """The scripts of a word, each run once.

    >>> script_shape("제12회")
    'HnH'
    """
    shape = "".join(map(script_of, word))
    return "".join(a for a, b in zip(shape, " " + shape, strict=False) if a != b)


class CharNgrams:
    """The tf-idf of the n-grams of each input, side by side in one sparse matrix."""

    def __init__(self, names: Sequence[str], longest: int) -> None:
        """Count n-grams of 1 to `longest` characters in the inputs of these names."""
        self._names = names
        self._longest = longest
        self._vectorizers: dict[str, Any] = {}

    def fit_transform(self, examples: Sequence[Example]) -> Any:
        """Learn which n-grams each input has; one row per example."""
        vectorizer = load_sklearn("feature_extraction.text").TfidfVectorizer
        for name in self._names:
            self._vectorizers[name] = vectorizer(
                analyzer="char",
                ngram_range=(1, self._longest),
                sublinear_tf=True,
                min_df=2 if len(examples) >= MIN_EXAMPLES_TO_DROP_RARE else 1,
            ).fit([get_text(example, name) for example in examples])
        return self.transform(examples)

    def transform(self, examples: Sequence[Example]) -> Any:
        """One row per example."""
        from scipy.sparse import hstack  # scikit-learn itself needs scipy

        parts = [
            vectorizer.transform([get_text(example, name) for example in examples])
            for name, vectorizer in self._vectorizers.items()
        ]
        return parts[0] if len(parts) == 1 else hstack(parts).tocsr()
