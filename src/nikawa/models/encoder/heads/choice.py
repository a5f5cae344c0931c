"""One of several answers to a question: every choice is read with the question, the best-scored wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import Work, add_tokens, cross_entropy, inputs_only, softmax
from nikawa.models.encoder.store import Rows
from nikawa.records import Example, Kind, Prediction, Task


class Choices:
    """The head that transformers has for multiple choice."""

    kinds: tuple[Kind, ...] = ("choice",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """None that are named."""
        return ()

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """One score a choice."""
        return backbone.model("AutoModelForMultipleChoice", work.settings)

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example, a sequence a choice; the question stands first."""
        widths = {len(_choices(example)) for example in examples} or {2}
        if len(widths) > 1:
            raise BadInput(
                f"examples have {min(widths)} to {max(widths)} choices", cure="give all as many"
            )
        width = widths.pop()
        flat = work.reader.ids(
            [choice for example in examples for choice in example.inputs["choices"]]
        )
        questions = self._questions(work, examples)
        pairs = [
            work.reader.pair(*self._pair(questions[i // width], choice), work.settings.max_length)
            for i, choice in enumerate(flat)
        ]
        made = add_tokens(work, Rows(width=width, owner=list(range(len(examples)))), pairs)
        if learn:
            made.dense["labels"] = np.array(get_gold(work.task, examples), dtype=np.int64)
        return made

    def _questions(self, work: Work, examples: Sequence[Example]) -> list[list[int]] | list[None]:
        if "question" not in work.task.inputs:  # the choices alone: what the question is worth
            return [None] * len(examples)
        return work.reader.ids([get_text(example, "question") for example in examples])

    def _pair(
        self, question: list[int] | None, choice: list[int]
    ) -> tuple[list[int], list[int] | None]:
        return (choice, None) if question is None else (question, choice)

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the choices."""
        return cross_entropy(model(**inputs_only(batch)).logits, batch["labels"])

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """A score a choice."""
        return (model(**inputs_only(batch)).logits,)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The place of the best choice, with a probability for each place."""
        made = []
        for example, row in zip(examples, found, strict=True):
            shares = softmax(row[0]).tolist()
            best = int(np.argmax(row[0]))
            made.append(
                Prediction(
                    example=example.id,
                    answer=best,
                    scores={str(i): s for i, s in enumerate(shares)},
                )
            )
        return made


def _choices(example: Example) -> Sequence[str]:
    found = example.inputs.get("choices")
    if (
        not isinstance(found, list | tuple)
        or len(found) < 2
        or not all(isinstance(c, str) for c in found)
    ):
        what = f"example {example.id!r} has no list of two choices or more"
        raise BadInput(what, cure="give its choices as a list of texts")
    return found


HEAD = Choices()
