"""The relation of two entities of a text: markers around them as new pieces, a linear layer over the first position.

KLUE's reference code writes the text of nested entities twice and refuses entities at the same place. Here markers are
put where entities begin and end, whatever way they overlap. A text too long is cut where it is farthest from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models._encoder.backbone import Backbone
from nikawa.models._encoder.heads._base import (
    Work,
    add_tokens,
    cross_entropy,
    indexes,
    inputs_only,
    label_answer,
    named_classes,
)
from nikawa.models._encoder.store import Rows
from nikawa.models.base import gold_of, text_of
from nikawa.records import Example, Kind, Prediction, Span, Task

ROLES = {"subject": "subj", "object": "obj"}


class Relations:
    """The head that transformers has for sequences, over texts with markers."""

    kinds: tuple[Kind, ...] = ("relation",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """The relations."""
        return task.labels

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The markers join the vocabulary: untyped ones always, typed ones as the training examples have them."""
        model = backbone.model("AutoModelForSequenceClassification", work.settings, **named_classes(work.labels))  # fmt: skip
        tokenizer = work.reader.tokenizer
        wanted = {f"<{end}{role}>" for role in ROLES.values() for end in ("", "/")}
        if work.settings.markers == "typed":
            for example in train:
                for name in _roles(work, example):
                    wanted |= set(_typed(name, _entity(example, name).label))
        tokenizer.add_tokens(sorted(wanted - set(tokenizer.get_added_vocab())), special_tokens=True)
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            model.get_input_embeddings().weight.grown = (
                True  # with adapters alone they would never be learned
            )
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example."""
        added = set(work.reader.tokenizer.get_added_vocab())
        texts = [self._marked(work, example, added) for example in examples]
        marks = set(work.reader.tokenizer.convert_tokens_to_ids(sorted(added)))
        before, after = work.reader.frame.one
        room = work.settings.max_length - len(before) - len(after)
        pairs = [work.reader.pair(cut(ids, marks, room), None, work.settings.max_length) for ids in work.reader.raw(texts)]  # fmt: skip
        made = add_tokens(work, Rows(owner=list(range(len(examples)))), pairs)
        if learn:
            made.dense["labels"] = indexes(work, examples, gold_of(work.task, examples))
        return made

    def _marked(self, work: Work, example: Example, added: set[str]) -> str:
        entities = []
        for name in _roles(work, example):
            entity = _entity(example, name)
            markers = _typed(name, entity.label)
            known = work.settings.markers == "typed" and set(markers) <= added
            entities.append((entity.start, entity.end, markers if known else _typed(name, "")))
        return marked(text_of(example, "text"), entities, lambda part: work.reader.segmented(part)[0])

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the relations."""
        return cross_entropy(model(**inputs_only(batch)).logits, batch["labels"])

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """A score a relation."""
        return (model(**inputs_only(batch)).logits,)

    def answers(self, work: Work, examples: Sequence[Example], rows: Rows, found: Sequence[Sequence[np.ndarray]]) -> list[Prediction]:  # fmt: skip
        """The likeliest relation, with the probability of each."""
        return [label_answer(e.id, work.labels, row[0]) for e, row in zip(examples, found, strict=True)]


def _roles(work: Work, example: Example) -> list[str]:
    """The entities the task shows: one of them hidden is a partial-input variant."""
    return [name for name in ROLES if name in work.task.inputs]


def _entity(example: Example, name: str) -> Span:
    entity, text = example.inputs.get(name), text_of(example, "text")
    if not isinstance(entity, Span) or not 0 <= entity.start < entity.end <= len(text):
        what = f"example {example.id!r} has no {name} inside its text"
        raise BadInput(what, cure="give start and end of the entity in characters")
    return entity


def _typed(name: str, label: str) -> tuple[str, str]:
    role = f"{ROLES[name]}:{label}" if label else ROLES[name]
    return f"<{role}>", f"</{role}>"


def marked(text: str, entities: Sequence[tuple[int, int, tuple[str, str]]], read: Callable[[str], str] = str) -> str:  # fmt: skip
    """The text with a marker at each end of each entity; `read` is given the text between them.

    At one place markers close before others open, the inner first; of two that open the longer is outside.
    """
    events = []
    for order, (start, end, (opens, closes)) in enumerate(entities):
        events.append(((start, 1, -end, order), start, opens))
        events.append(((end, 0, -start, -order), end, closes))
    parts: list[str] = []
    at = 0
    for _, place, marker in sorted(events):
        parts += [read(text[at:place]), marker]
        at = place
    return "".join([*parts, read(text[at:])])


def cut(ids: Sequence[int], marks: set[int], room: int) -> Sequence[int]:
    """At most `room` pieces, with the markers among them and as much around them as fits."""
    places = [i for i, piece in enumerate(ids) if piece in marks]
    if len(ids) <= room or not places:
        return ids[:room]
    first, last = places[0], places[-1] + 1
    if last - first <= room:
        start = min(max(0, first - (room - (last - first)) // 2), len(ids) - room)
        return ids[start : start + room]
    left = room // 2
    head = max(0, min(first - left // 4, len(ids) - room))
    tail = min(len(ids), last + (room - left) // 4)
    return [*ids[head : head + left], *ids[tail - (room - left) : tail]]


HEAD = Relations()
