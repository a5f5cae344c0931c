"""The relation of two entities of a text: markers around them as new tokens, read at the first
position or at the markers.

KLUE's reference code writes the text of nested entities twice and refuses entities at the same
place. Here markers are put where entities begin and end, whatever way they overlap. A text too long
is cut where it is farthest from them.

`relation_reads=markers` reads relations from the states of the entity markers (Baldini Soares et
al. 2019): `W tanh(V [h_subject; h_object])`, with `h` the encoder's state at the marker that opens
an entity; the first position is used for an entity that is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from nikawa.errors import BadInput
from nikawa.models.base import get_gold, get_text
from nikawa.models.encoder.batches import Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    HEAD_FILE,
    Batch,
    Head,
    HeadModel,
    RowOutputs,
    Work,
    class_config,
    cross_entropy,
    gather_vectors,
    label_indexes,
    make_label_prediction,
    model_inputs,
)
from nikawa.records import Example, Kind, Prediction, Span, Task

ROLES = {"subject": "subj", "object": "obj"}
"""Inputs that are entities, and how markers name them."""
Entity = tuple[int, int, tuple[str, str]]
"""Start and end (exclusive) of an entity, and its two markers."""


class MarkerModel(HeadModel):
    """An encoder with a layer over two of its states; `known`: the labels."""

    kind: ClassVar[str] = "relation"
    known_parts: ClassVar[tuple[str, ...]] = ("labels",)

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        self.dropout = self.make_dropout()
        self.dense = torch.nn.Linear(2 * self.hidden, self.hidden)
        self.out = torch.nn.Linear(self.hidden, len(known["labels"]))

    def forward(self, opens: Any, inputs: dict[str, Any]) -> Any:
        """One score per relation; `opens`: the places of the two opening markers."""
        hidden = self.encoder(**inputs).last_hidden_state
        states = gather_vectors(hidden, opens).flatten(1)
        return self.out(self.dropout(torch.tanh(self.dense(self.dropout(states)))))


class Relations(Head):
    """Transformers' own model for sequences, over texts with markers; or a `MarkerModel` over the
    markers' states.
    """

    kinds: tuple[Kind, ...] = ("relation",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """The relations."""
        return task.labels

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """The markers join the vocabulary: untyped ones always, typed ones as the training examples
        have them.
        """
        config = class_config(work.labels)
        labels = list(work.labels)
        holds_head = (Path(backbone.source) / HEAD_FILE).is_file()
        # a folder with a head over the markers answers with that head
        reads_first = work.settings.relation_reads == "cls"
        if reads_first and not (work.settings.epochs <= 0 and holds_head):
            model = backbone.model("AutoModelForSequenceClassification", work.settings, **config)
        else:
            known = MarkerModel.load_known(backbone, work.settings)
            encoder = backbone.model("AutoModel", work.settings, **config)
            model = MarkerModel(encoder, {"labels": labels})
            if known is not None and known["labels"] == labels:
                model.load_head(backbone.source)
        encoder, tokenizer = model.base_model, work.reader.tokenizer
        markers = {f"<{end}{role}>" for role in ROLES.values() for end in ("", "/")}
        if work.settings.markers == "typed":
            for example in train:
                for role in _visible_roles(work):
                    markers.update(_make_markers(role, _get_entity(example, role).label))
        tokenizer.add_tokens(
            sorted(markers - set(tokenizer.get_added_vocab())), special_tokens=True
        )
        if len(tokenizer) > encoder.get_input_embeddings().num_embeddings:
            owner = model if hasattr(model, "config") else encoder
            owner.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            # adapters alone would never train the new vectors
            encoder.get_input_embeddings().weight.grown = True
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per example."""
        reader = work.reader
        added = set(reader.tokenizer.get_added_vocab())
        marker_ids = set(reader.tokenizer.convert_tokens_to_ids(sorted(added)))
        entities = [_read_entities(work, example, added) for example in examples]
        texts = [get_text(example, "text") for example in examples]
        marked = [
            insert_markers(text, own, lambda part: reader.segment(part)[0])
            for text, own in zip(texts, entities, strict=True)
        ]
        before, after = reader.frame.one
        room = work.settings.max_length - len(before) - len(after)
        columns = [list(ROLES).index(role) for role in _visible_roles(work)]
        opens = np.zeros((len(examples), len(ROLES)), dtype=np.int64)
        pairs = []
        for i, ids in enumerate(reader.tokenize(marked)):
            joined = _join_particles(reader.tokenizer, ids, marker_ids, texts[i], entities[i])
            short = cut_around_markers(joined, marker_ids, room)
            framed, segments = reader.frame_texts(short, None, work.settings.max_length)
            pairs.append((framed, segments))
            for column, (_, _, (opening, _)) in zip(columns, entities[i], strict=True):
                marker = reader.tokenizer.convert_tokens_to_ids(opening)
                places = np.flatnonzero(framed == marker)
                # an entity that is not shown, or cut off, is read at the first position
                opens[i, column] = places[0] if len(places) else 0
        rows = reader.add_tokens(Rows.one_each(len(examples)), pairs)
        rows.dense["opens"] = opens
        if learn:
            rows.dense["labels"] = label_indexes(work, examples, get_gold(work.task, examples))
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy over the relations."""
        return cross_entropy(_compute_scores(model, batch), batch["labels"])

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """One score per relation."""
        return (_compute_scores(model, batch),)

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The likeliest relation, with the probability of each."""
        return [
            make_label_prediction(e.id, work.labels, row[0])
            for e, row in zip(examples, outputs, strict=True)
        ]


def _compute_scores(model: Any, batch: Batch) -> Any:
    inputs = model_inputs(batch)
    if isinstance(model, MarkerModel):
        return model(batch["opens"], inputs)
    return model(**inputs).logits


def _visible_roles(work: Work) -> list[str]:
    """The entities the task shows: one of them hidden is a partial-input variant."""
    return [role for role in ROLES if role in work.task.inputs]


def _read_entities(work: Work, example: Example, added: set[str]) -> list[Entity]:
    """The entities that the task shows; markers are typed if the vocabulary has them."""
    entities = []
    for role in _visible_roles(work):
        entity = _get_entity(example, role)
        markers = _make_markers(role, entity.label)
        if work.settings.markers != "typed" or not set(markers) <= added:
            markers = _make_markers(role, "")
        entities.append((entity.start, entity.end, markers))
    return entities


def _get_entity(example: Example, role: str) -> Span:
    entity = example.inputs.get(role)
    text = get_text(example, "text")
    if not isinstance(entity, Span) or not 0 <= entity.start < entity.end <= len(text):
        what = f"example {example.id!r} has no {role} inside its text"
        raise BadInput(what, cure="set start and end of the entity in characters")
    return entity


def _make_markers(role: str, label: str) -> tuple[str, str]:
    """The opening and the closing marker; untyped without a label."""
    name = f"{ROLES[role]}:{label}" if label else ROLES[role]
    return f"<{name}>", f"</{name}>"


def _place_markers(entities: Sequence[Entity]) -> list[tuple[int, str]]:
    """Where each marker goes.

    At one place markers close before others open, the inner first; the longer opens first.
    """
    markers = []
    for order, (start, end, (opens, closes)) in enumerate(entities):
        markers.append(((start, 1, -end, order), opens))
        markers.append(((end, 0, -start, -order), closes))
    return [(key[0], marker) for key, marker in sorted(markers)]


def insert_markers(
    text: str, entities: Sequence[Entity], change: Callable[[str], str] = str
) -> str:
    """The text with a marker at each end of each entity.

    `change` is applied to the text between them.
    """
    parts: list[str] = []
    at = 0
    for place, marker in _place_markers(entities):
        parts += [change(text[at:place]), marker]
        at = place
    return "".join([*parts, change(text[at:])])


def _join_particles(
    tokenizer: Any, ids: Sequence[int], marker_ids: set[int], text: str, entities: Sequence[Entity]
) -> list[int]:
    """The sub-words with `##` put back if a marker is inside a Hangul word: a particle
    continues it.
    """
    joined = list(ids)
    at_markers = [i for i, subword in enumerate(ids) if subword in marker_ids]
    places = [place for place, _ in _place_markers(entities)]
    if len(at_markers) != len(places):  # the text itself has markers
        return joined
    for at, place in zip(at_markers, places, strict=True):
        is_inside = 0 < place < len(text) and all(
            "가" <= character <= "힣" for character in text[place - 1 : place + 1]
        )
        if not is_inside or at + 1 >= len(ids):
            continue
        name = tokenizer.convert_ids_to_tokens(ids[at + 1])
        continued = tokenizer.convert_tokens_to_ids(f"##{name}")
        if continued is not None and continued != tokenizer.unk_token_id:
            joined[at + 1] = continued
    return joined


def cut_around_markers(ids: Sequence[int], marker_ids: set[int], room: int) -> Sequence[int]:
    """At most `room` sub-words, with the markers among them and as much around them as fits."""
    places = [i for i, subword in enumerate(ids) if subword in marker_ids]
    if len(ids) <= room or not places:
        return ids[:room]
    first = places[0]
    last = places[-1] + 1
    if last - first <= room:
        start = min(max(0, first - (room - (last - first)) // 2), len(ids) - room)
        return ids[start : start + room]
    left = room // 2
    head = max(0, min(first - left // 4, len(ids) - room))
    tail = min(len(ids), last + (room - left) // 4)
    return [*ids[head : head + left], *ids[tail - (room - left) : tail]]


HEAD = Relations()
