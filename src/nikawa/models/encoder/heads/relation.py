"""The relation of two entities of a text: markers around them as new pieces, read at the first position or at the markers.

KLUE's reference code writes the text of nested entities twice and refuses entities at the same place. Here markers are
put where entities begin and end, whatever way they overlap. A text too long is cut where it is farthest from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import (
    Work,
    add_tokens,
    cross_entropy,
    indexes,
    inputs_only,
    label_answer,
    named_classes,
)
from nikawa.models.encoder.store import Rows
from nikawa.records import Example, Kind, Prediction, Span, Task

ROLES = {"subject": "subj", "object": "obj"}
Entity = tuple[int, int, tuple[str, str]]
"""Start and end (exclusive) of an entity, and its two markers."""


class Relations:
    """The head that transformers has for sequences, over texts with markers; or one of our own over the markers' states."""

    kinds: tuple[Kind, ...] = ("relation",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """The relations."""
        return task.labels

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The markers join the vocabulary: untyped ones always, typed ones as the training examples have them."""
        model = _fresh(work, backbone)
        encoder, tokenizer = model.base_model, work.reader.tokenizer
        wanted = {f"<{end}{role}>" for role in ROLES.values() for end in ("", "/")}
        if work.settings.markers == "typed":
            for example in train:
                for name in _roles(work, example):
                    wanted |= set(_typed(name, _entity(example, name).label))
        tokenizer.add_tokens(sorted(wanted - set(tokenizer.get_added_vocab())), special_tokens=True)
        if len(tokenizer) > encoder.get_input_embeddings().num_embeddings:
            (model if hasattr(model, "config") else encoder).resize_token_embeddings(
                len(tokenizer), mean_resizing=False
            )
            encoder.get_input_embeddings().weight.grown = (
                True  # with adapters alone they would never be learned
            )
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example."""
        added = set(work.reader.tokenizer.get_added_vocab())
        found = [self._entities(work, example, added) for example in examples]
        texts = [
            marked(get_text(e, "text"), entities, lambda part: work.reader.segmented(part)[0])
            for e, entities in zip(examples, found, strict=True)
        ]
        marks = set(work.reader.tokenizer.convert_tokens_to_ids(sorted(added)))
        ids = [
            _joined(work, row, marks, cuts(get_text(e, "text"), entities))
            for row, e, entities in zip(work.reader.raw(texts), examples, found, strict=True)
        ]
        before, after = work.reader.frame.one
        room = work.settings.max_length - len(before) - len(after)
        pairs = [
            work.reader.pair(cut(row, marks, room), None, work.settings.max_length) for row in ids
        ]
        made = add_tokens(work, Rows(owner=list(range(len(examples)))), pairs)
        made.dense["opens"] = _opens(work, [row for row, _ in pairs], found)
        if learn:
            made.dense["labels"] = indexes(work, examples, get_gold(work.task, examples))
        return made

    def _entities(self, work: Work, example: Example, added: set[str]) -> list[Entity]:
        made = []
        for name in _roles(work, example):
            entity = _entity(example, name)
            markers = _typed(name, entity.label)
            known = work.settings.markers == "typed" and set(markers) <= added
            made.append((entity.start, entity.end, markers if known else _typed(name, "")))
        return made

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the relations."""
        return cross_entropy(_scores(model, batch), batch["labels"])

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """A score a relation."""
        return (_scores(model, batch),)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The likeliest relation, with the probability of each."""
        return [
            label_answer(e.id, work.labels, row[0]) for e, row in zip(examples, found, strict=True)
        ]


def _fresh(work: Work, backbone: Backbone) -> Any:
    """The model over the first position or over the markers; a folder that holds the latter is read as such."""
    from nikawa.models.encoder.marked import MarkerModel
    from nikawa.models.encoder.own import KNOWN, saved

    named, answers = named_classes(work.labels), work.settings.epochs <= 0
    if work.settings.relation_reads == "cls" and not (
        answers and (Path(backbone.source) / KNOWN).is_file()
    ):
        return backbone.model("AutoModelForSequenceClassification", work.settings, **named)
    known = saved(MarkerModel.kind, backbone, work.settings)
    same = known is not None and known["labels"] == list(work.labels)
    model = MarkerModel(
        backbone.model("AutoModel", work.settings, **named), {"labels": list(work.labels)}
    )
    if same:
        model.take(backbone.source)
    return model


def _scores(model: Any, batch: dict[str, Any]) -> Any:
    inputs = inputs_only(batch)
    return model(**inputs).logits if hasattr(model, "config") else model(batch["opens"], inputs)


def _opens(work: Work, rows: Sequence[np.ndarray], found: Sequence[Sequence[Entity]]) -> np.ndarray:
    """Where the opening markers of subject and object stand; the first position for one that is not shown."""
    roles = [name for name in ROLES if name in work.task.inputs]
    made = np.zeros((len(rows), len(ROLES)), dtype=np.int64)
    for i, (row, entities) in enumerate(zip(rows, found, strict=True)):
        for name, (_, _, (opens, _)) in zip(roles, entities, strict=True):
            places = np.flatnonzero(row == work.reader.tokenizer.convert_tokens_to_ids(opens))
            made[i, list(ROLES).index(name)] = places[0] if len(places) else 0
    return made


def _roles(work: Work, example: Example) -> list[str]:
    """The entities the task shows: one of them hidden is a partial-input variant."""
    return [name for name in ROLES if name in work.task.inputs]


def _entity(example: Example, name: str) -> Span:
    entity, text = example.inputs.get(name), get_text(example, "text")
    if not isinstance(entity, Span) or not 0 <= entity.start < entity.end <= len(text):
        what = f"example {example.id!r} has no {name} inside its text"
        raise BadInput(what, cure="give start and end of the entity in characters")
    return entity


def _typed(name: str, label: str) -> tuple[str, str]:
    role = f"{ROLES[name]}:{label}" if label else ROLES[name]
    return f"<{role}>", f"</{role}>"


def _events(entities: Sequence[Entity]) -> list[tuple[int, str]]:
    """Where each marker goes. At one place markers close before others open, the inner first; the longer opens first."""
    events = []
    for order, (start, end, (opens, closes)) in enumerate(entities):
        events.append(((start, 1, -end, order), opens))
        events.append(((end, 0, -start, -order), closes))
    return [(key[0], marker) for key, marker in sorted(events)]


def marked(text: str, entities: Sequence[Entity], read: Callable[[str], str] = str) -> str:
    """The text with a marker at each end of each entity; `read` is given the text between them."""
    parts: list[str] = []
    at = 0
    for place, marker in _events(entities):
        parts += [read(text[at:place]), marker]
        at = place
    return "".join([*parts, read(text[at:])])


def cuts(text: str, entities: Sequence[Entity]) -> list[bool]:
    """For every marker in order, whether it stands inside a Hangul word."""
    return [
        all("가" <= c <= "힣" for c in text[place - 1 : place + 1]) and 0 < place < len(text)
        for place, _ in _events(entities)
    ]


def _joined(work: Work, ids: Sequence[int], marks: set[int], inside: Sequence[bool]) -> list[int]:
    """The pieces with `##` put back where a marker stands inside a word: a particle goes on, it begins nothing."""
    made, tokenizer = list(ids), work.reader.tokenizer
    places = [i for i, piece in enumerate(ids) if piece in marks]
    if len(places) != len(inside):  # the text itself has markers
        return made
    for place in [
        p + 1 for p, cut_ in zip(places, inside, strict=True) if cut_ and p + 1 < len(ids)
    ]:
        piece = tokenizer.convert_tokens_to_ids(f"##{tokenizer.convert_ids_to_tokens(ids[place])}")
        if piece is not None and piece != tokenizer.unk_token_id:
            made[place] = piece
    return made


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
