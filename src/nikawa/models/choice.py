"""The choice nearest to a question: learned from which characters of right choices go with which of their questions.

A choice is described by what it shares with the question, by its length, and by pairs of a bigram of the question and
an n-gram of the choice (hashed). Logistic regression learns from differences of the right choice and each wrong one
(pairwise ranking, Herbrich et al. 2000), so that what all choices of a question have in common teaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log1p
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models._linear import refuse_other_kinds, sklearn, weights_of
from nikawa.models.base import Model, gold_of, not_fitted, settings_of, text_of
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("choice",)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    strength: Annotated[float, msgspec.Meta(gt=0)] = 0.1
    """Inverse of the penalty on weights."""
    bits: Annotated[int, msgspec.Meta(ge=8, le=24)] = 20
    """Features are hashed into 2 to the power of this."""


class NearestChoice:
    """The model; the question may be left out, then it learns what right choices look like."""

    name = "nearest-choice"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._weights: Any = None

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn what tells the right choice from the others of its question."""
        import numpy as np
        from scipy.sparse import diags

        refuse_other_kinds(self.name, task, KINDS)
        gold = gold_of(task, examples)
        rows, starts = self._rows(task, examples)
        right, wrong = _opposed(examples, gold, starts)
        # Turning a difference round changes nothing that is learned, but scikit-learn wants two classes.
        signs = np.where(np.arange(len(right)) % 2, -1.0, 1.0)
        rows = diags(signs) @ (rows[right] - rows[wrong])
        self._weights = weights_of(rows, signs, self._settings.strength, intercept=False)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best choice of each question; of equal ones the first."""
        if self._weights is None:
            raise not_fitted(self.name, task)
        if not examples:
            return []
        rows, starts = self._rows(task, examples)
        scores = (rows @ self._weights).tolist()
        return [
            _answer(example.id, scores[start:end])
            for example, start, end in zip(
                examples, starts, [*starts[1:], len(scores)], strict=True
            )
        ]

    def _rows(self, task: Task, examples: Sequence[Example]) -> tuple[Any, list[int]]:
        """A row a choice, and where the rows of each example start."""
        hasher = sklearn("feature_extraction").FeatureHasher(
            1 << self._settings.bits, input_type="pair"
        )
        starts, total = [], 0
        for example in examples:
            starts.append(total)
            total += len(_choices(example))
        return hasher.transform(_described(task, examples)), starts


def _described(task: Task, examples: Sequence[Example]) -> Iterator[list[tuple[str, float]]]:
    for example in examples:
        question = text_of(example, "question") if "question" in task.inputs else ""
        for choice in _choices(example):
            yield list(_features(question, choice))


def _features(question: str, choice: str) -> Iterator[tuple[str, float]]:
    """What describes a choice beside its question."""
    asked = {question[i : i + 2] for i in range(len(question) - 1)}
    singles, doubles = set(choice), {choice[i : i + 2] for i in range(len(choice) - 1)}
    yield "length", log1p(len(choice))
    yield "within", float(choice in question)
    yield "shared 1", len(singles & set(question)) / max(1, len(singles))
    yield "shared 2", len(doubles & asked) / max(1, len(doubles))
    for gram in sorted({*singles, *doubles, f"={choice}"}):
        if not question:
            yield f"choice {gram}", 1.0
        for other in sorted(asked):
            yield f"{other} {gram}", 1.0


def _opposed(
    examples: Sequence[Example], gold: Sequence[Any], starts: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Rows of right choices and, beside each, of the wrong ones of the same question."""
    right, wrong = [], []
    for example, answer, start in zip(examples, gold, starts, strict=True):
        count = len(_choices(example))
        if not isinstance(answer, int) or not 0 <= answer < count:
            what = f"example {example.id!r} has no choice {answer!r}"
            raise BadInput(what, cure=f"choices are counted from 0 to {count - 1}")
        others = [start + i for i in range(count) if i != answer]
        right += [start + answer] * len(others)
        wrong += others
    if len(right) < 2:
        raise BadInput(
            "there is no second choice to learn from", cure="add questions with several choices"
        )
    return right, wrong


def _choices(example: Example) -> list[str]:
    found = example.inputs.get("choices")
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(choice, str) for choice in found)
    ):
        raise BadInput(f"example {example.id!r} has no list of choices", cure="name other inputs")
    return found


def _answer(example: str, scores: Sequence[float]) -> Prediction:
    best = max(range(len(scores)), key=lambda i: scores[i])
    return Prediction(
        example=example, answer=best, scores={str(i): s for i, s in enumerate(scores)}
    )


MODELS = (
    Model(
        "nearest-choice",
        "ranks choices by the characters that go with those of the question",
        KINDS,
        lambda setup: NearestChoice(settings_of(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
