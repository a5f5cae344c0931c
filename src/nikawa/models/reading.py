"""A span of the text for each question: pieces cut at changes of script, ranked by a linear model.

A piece is described by how much of the question stands around it, by its length and place, by its edges, and by its
shape and last character beside each cue of the question (n-grams frequent in questions: 何年, 誰が, どこ are found, not
written down). Logistic regression tells right pieces from wrong ones drawn by lot. Where some training questions have
no answer, a best score below a limit, learned on held-out questions, answers "".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Annotated, Any

import msgspec

from nikawa.errors import BadInput
from nikawa.models._linear import lot, refuse_other_kinds, weights_of
from nikawa.models.base import Model, gold_of, not_fitted, settings_of, text_of
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("reading",)
NO_CUE = 1
"""The cue every question has."""
HELD = 5
"""One question in so many is held out to learn when not to answer."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it learns."""

    questions: Annotated[int, msgspec.Meta(ge=1)] = 8_000
    """Questions learned from at most, drawn by the seed."""
    wrong: Annotated[int, msgspec.Meta(ge=1)] = 25
    """Wrong pieces a question, drawn by the seed."""
    cues: Annotated[int, msgspec.Meta(ge=0)] = 400
    """N-grams of questions that count as cues: the most frequent ones."""
    strength: Annotated[float, msgspec.Meta(gt=0)] = 0.3
    """Inverse of the penalty on weights."""


class SpanOverlap:
    """The model; it can be pickled once it has learned."""

    name = "span-overlap"

    def __init__(self, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008 - it is frozen
        self._settings, self._seed = settings, seed
        self._forget()

    def _forget(self) -> None:
        self._weights: Any = None
        self._cues: dict[str, int] = {}
        self._rare: dict[str, float] = {}
        self._limit: float | None = None
        """Best scores below it mean that there is no answer; None: there always is one."""

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the cues, then the weights, then when not to answer."""
        refuse_other_kinds(self.name, task, KINDS)
        gold_of(task, examples)
        for name in ("context", "question"):
            if name not in task.inputs:
                raise BadInput(
                    f"{self.name} needs the {name}", cure=f"keep {name} among the inputs"
                )
        self._forget()
        drawn = sorted(examples, key=lambda e: (lot(self._seed, e.id), e.id))[
            : self._settings.questions
        ]
        self._count(drawn)
        if any(not e.gold[task.question] for e in drawn):
            held = [e for e in drawn if lot(self._seed, e.group or e.id) % HELD == 0]
            kept = [e for e in drawn if lot(self._seed, e.group or e.id) % HELD]
            if held and kept:
                self._weights = self._learn(task, kept)
                self._limit = self._least(task, held)
        self._weights = self._learn(task, drawn)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The best piece of each text, or "" where none is good enough."""
        if self._weights is None:
            raise not_fitted(self.name, task)
        return [self._answer(example) for example in examples]

    def _answer(self, example: Example) -> Prediction:
        found, best = self._best(example)
        silent = self._limit is not None and best < self._limit
        return Prediction(example=example.id, answer="" if silent else found)

    def _best(self, example: Example) -> tuple[str, float]:
        from nikawa.models._spans import DENSE, pieces

        text = pieces(text_of(example, "context"))
        if not len(text.starts):
            return text.body[text.first :].strip(), float("-inf")
        figures, numbers = self._described(example)
        scores = figures @ self._weights[:DENSE] + self._weights[DENSE:][numbers].sum(axis=1)
        best = int(scores.argmax())
        return text.pieces[best], float(scores[best])

    def _described(
        self, example: Example, some: Sequence[int] | slice = slice(None)
    ) -> tuple[Any, Any]:
        """Figures and numbers of features of every piece, or of some."""
        import numpy as np

        from nikawa.models._spans import dense, hashed, pieces

        text, question = pieces(text_of(example, "context")), text_of(example, "question").strip()
        cues = sorted({self._cues[gram] for gram in _grams(question) if gram in self._cues})
        told = np.array([NO_CUE, *cues], dtype=np.int64)
        return dense(text, question, self._rare)[some], hashed(text, told, some)

    def _count(self, examples: Sequence[Example]) -> None:
        """Learn which n-grams are cues, and how rare bigrams are in texts."""
        asked = Counter(gram for e in examples for gram in _grams(text_of(e, "question").strip()))
        common = sorted(asked.items(), key=lambda item: (-item[1], item[0]))[: self._settings.cues]
        self._cues = {gram: NO_CUE + 1 + i for i, (gram, _) in enumerate(common)}
        texts = {text_of(e, "context") for e in examples}
        held = Counter(
            gram for text in texts for gram in {text[i : i + 2] for i in range(len(text) - 1)}
        )
        self._rare = {
            gram: log((1 + len(texts)) / (1 + n)) + 0.1 for gram, n in held.items() if n > 1
        }
        self._rare[""] = log(1 + len(texts)) + 0.1

    def _learn(self, task: Task, examples: Sequence[Example]) -> Any:
        """The weights that tell right pieces from wrong ones."""
        rows, labels = self._drawn(task, examples)
        if not labels or len(set(labels)) < 2:
            what = "no answer is a piece of its text that begins and ends where the script changes"
            raise BadInput(what, cure="give more examples, with answers as the context spells them")
        return weights_of(rows, labels, self._settings.strength, intercept=True)

    def _drawn(self, task: Task, examples: Sequence[Example]) -> tuple[Any, list[int]]:
        """Rows of right pieces and of wrong ones drawn by lot, question by question."""
        import numpy as np
        from scipy.sparse import csr_matrix, hstack

        from nikawa.models._spans import BITS

        figures, numbers, counts, labels = [], [], [], []
        for example in examples:
            chosen, right = self._chosen(task, example)
            if not chosen:
                continue
            some, many = self._described(example, chosen)
            figures.append(some)
            numbers.append(many.ravel().astype(np.int32))
            counts += [many.shape[1]] * len(chosen)
            labels += right
        if not labels:
            return None, []
        ends = np.concatenate([[0], np.cumsum(counts)])
        columns = np.concatenate(numbers)
        sparse = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(labels), 1 << BITS))
        return hstack([csr_matrix(np.concatenate(figures)), sparse]).tocsr(), labels

    def _chosen(self, task: Task, example: Example) -> tuple[list[int], list[int]]:
        """Pieces to learn from: every right one, some wrong ones; and which are right."""
        import numpy as np

        from nikawa.models._spans import pieces

        text = pieces(text_of(example, "context"))
        wanted = {answer["text"] for answer in example.gold[task.question]}
        right = [i for i, piece in enumerate(text.pieces) if piece in wanted]
        wrong = np.setdiff1d(np.arange(len(text.starts)), right)
        random = np.random.default_rng(lot(self._seed, example.id))
        some = random.permutation(wrong)[: self._settings.wrong].tolist()
        return [*right, *some], [1] * len(right) + [0] * len(some)

    def _least(self, task: Task, held: Sequence[Example]) -> float:
        """The limit under which most held-out questions are answered rightly, silence among the answers."""
        found = [(*self._best(e), {a["text"] for a in e.gold[task.question]}) for e in held]
        ranked = sorted((best, text in wanted, not wanted) for text, best, wanted in found)
        gained, most, limit = 0, 0, float("-inf")
        for best, right, none in ranked:
            gained += none - right
            if gained > most:
                most, limit = gained, best
        return float(limit) + 1e-9 if limit > float("-inf") else limit


def _grams(question: str) -> list[str]:
    """Its n-grams of 2 and 3 characters, each once."""
    return sorted({question[i : i + n] for n in (2, 3) for i in range(len(question) - n + 1)})


MODELS = (
    Model(
        "span-overlap",
        "ranks pieces of the text by the question around them and by their shape",
        KINDS,
        lambda setup: SpanOverlap(settings_of(Settings, setup), setup.seed),
        settings=Settings,
    ),
)
