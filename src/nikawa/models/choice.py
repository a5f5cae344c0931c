"""The choice nearest to a question: learned from the characters that co-occur in right choices and
their questions.

A choice is described by what it shares with the question, by its length, and by pairs of a bigram
of the question and an n-gram of the choice (hashed). Logistic regression learns from differences of
the right choice and each wrong one (pairwise ranking, Herbrich et al. 2000), so what all
choices of a question have in common teaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log1p
from typing import Annotated, Any

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
from nikawa.models.hashed import fit_binary_weights
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("choice",)


class ChoiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    strength: Annotated[float, msgspec.Meta(gt=0)] = 0.1
    """Inverse of the penalty on weights."""
    bits: Annotated[int, msgspec.Meta(ge=8, le=24)] = 20
    """Features are hashed into 2 to the power of this."""


class NearestChoice:
    """The model; a task may hide the question, then it learns what right choices look like."""

    name = "nearest-choice"

    def __init__(self, settings: ChoiceSettings = ChoiceSettings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._weights: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn to distinguish the right choice from the other choices of its question."""
        import numpy as np
        from scipy.sparse import diags

        check_kind(self.name, KINDS, task)
        gold = get_gold(task, examples)
        rows, starts = self._make_rows(task, examples)
        right, wrong = [], []  # rows of right choices and the matching rows of wrong ones
        for example, answer, start in zip(examples, gold, starts, strict=True):
            count = len(_get_choices(example))
            if not isinstance(answer, int) or not 0 <= answer < count:
                what = f"example {example.id!r} has no choice {answer!r}"
                raise BadInput(what, cure=f"use a number from 0 to {count - 1}")
            others = [start + i for i in range(count) if i != answer]
            right += [start + answer] * len(others)
            wrong += others
        if len(right) < 2:
            raise BadInput(
                "every training example has a single choice",
                cure="add questions with several choices",
            )
        # Reversing a difference changes nothing that is learned, but scikit-learn needs two classes.
        signs = np.where(np.arange(len(right)) % 2, -1.0, 1.0)
        rows = diags(signs) @ (rows[right] - rows[wrong])
        self._weights = fit_binary_weights(
            rows, signs, strength=self._settings.strength, intercept=False
        )

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best choice of each question; of equally good ones the first."""
        if self._weights is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        rows, starts = self._make_rows(task, examples)
        scores = (rows @ self._weights).tolist()
        predictions = []
        bounds = pairwise([*starts, len(scores)])
        for example, (start, end) in zip(examples, bounds, strict=True):
            own = scores[start:end]
            predictions.append(
                Prediction(
                    example=example.id,
                    answer=own.index(max(own)),
                    scores={str(i): score for i, score in enumerate(own)},
                )
            )
        return predictions

    def _make_rows(self, task: Task, examples: Sequence[Example]) -> tuple[Any, list[int]]:
        """One row per choice, and where the rows of each example start."""
        starts = []
        pairs: list[tuple[str, str]] = []
        for example in examples:
            starts.append(len(pairs))
            question = get_text(example, "question") if "question" in task.inputs else ""
            pairs += [(question, choice) for choice in _get_choices(example)]
        hasher = load_sklearn("feature_extraction").FeatureHasher(
            1 << self._settings.bits, input_type="pair"
        )
        # one choice after the other: the features of all would fill the memory
        return hasher.transform(list(choice_features(*pair)) for pair in pairs), starts


def choice_features(question: str, choice: str) -> Iterator[tuple[str, float]]:
    """Names and values of the features of a choice and its question."""
    question_bigrams = {question[i : i + 2] for i in range(len(question) - 1)}
    characters = set(choice)
    bigrams = {choice[i : i + 2] for i in range(len(choice) - 1)}
    yield "length", log1p(len(choice))
    yield "within", float(choice in question)
    yield "shared 1", len(characters & set(question)) / max(1, len(characters))
    yield "shared 2", len(bigrams & question_bigrams) / max(1, len(bigrams))
    for gram in sorted({*characters, *bigrams, f"={choice}"}):
        if not question:
            yield f"choice {gram}", 1.0
        for other in sorted(question_bigrams):
            yield f"{other} {gram}", 1.0


def _get_choices(example: Example) -> list[str]:
    choices: Any = example.inputs.get("choices")
    is_list = isinstance(choices, list) and bool(choices)
    if not is_list or not all(isinstance(choice, str) for choice in choices):
        raise BadInput(
            f"example {example.id!r} has no list of choices", cure="choose inputs with `choices`"
        )
    texts: list[str] = choices
    return texts


MODELS = (
    Model(
        "nearest-choice",
        "ranks choices by characters that co-occur with those of the question",
        KINDS,
        lambda setup: NearestChoice(read_settings(ChoiceSettings, setup), setup.seed),
        settings=ChoiceSettings,
    ),
)
