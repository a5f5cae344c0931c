"""The state of a dialogue: for every slot of the ontology a gate, and one of the values the slot
had in training.

Each slot attends to the turns with a query of its own, `c_s = sum_t softmax_t(q_s K h_t / sqrt(d))
h_t`. A linear layer over `c_s` gives the gate (no value, any value, or a value of the ontology),
and its product with a vector for each value of the slot gives the value.

KLUE's reference code writes values token by token, which can make ones that no slot has, and keeps
empty ones; it reads a state entry without hyphens as domain, slot and value at once. Here a value
comes from the ontology or is missing (a value that first occurs in the test set cannot be
found), and an entry that is not `domain-slot-value` is refused. Yes and no are ordinary values.
The last turns are read where a dialogue is too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from nikawa.errors import BadInput
from nikawa.models.base import get_gold
from nikawa.models.dialogue.turns import parse_state, read_exchanges
from nikawa.models.encoder.batches import IGNORED, Rows
from nikawa.models.encoder.checkpoint import Backbone
from nikawa.models.encoder.heads._base import (
    RULED_OUT,
    Batch,
    Head,
    HeadModel,
    RowOutputs,
    Work,
    mean_cross_entropy,
    model_inputs,
)
from nikawa.records import Example, Kind, Prediction, Task

DONTCARE, NONE = "dontcare", "none"
GATE_NONE, GATE_DONTCARE, GATE_VALUE = range(3)


class SlotModel(HeadModel):
    """An encoder with a gate and one value per slot; `known["slots"]`: the values of every slot."""

    kind: ClassVar[str] = "dialogue"
    known_parts: ClassVar[tuple[str, ...]] = ("slots",)

    def __init__(self, encoder: Any, known: dict[str, Any]) -> None:
        super().__init__(encoder, known)
        nn, size = torch.nn, self.hidden
        counts = [len(values) for values in known["slots"].values()]
        total = sum(counts)
        self.queries = nn.Parameter(torch.randn(len(counts), size) * 0.02)
        self.keys = nn.Linear(size, size)
        self.mix = nn.Sequential(nn.Linear(2 * size, size), nn.GELU(), nn.LayerNorm(size))
        self.gate = nn.Linear(size, 3)
        self.values = nn.Linear(size, max(1, total))
        owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        others = owner[None, :] != torch.arange(len(counts))[:, None]
        if not total:
            others = torch.ones(len(counts), 1, dtype=torch.bool)
        self.register_buffer("others", others, persistent=False)

    def forward(self, inputs: dict[str, Any]) -> tuple[Any, Any]:
        """Scores of the gates and of the values (all slots' values, others' ruled out) of every
        slot.
        """
        hidden = self.encoder(**inputs).last_hidden_state
        products = torch.einsum("sh,bth->bst", self.queries, self.keys(hidden))
        scores = products.float() / hidden.shape[-1] ** 0.5
        scores = scores.masked_fill(inputs["attention_mask"][:, None] == 0, RULED_OUT)
        seen = scores.softmax(-1).to(hidden.dtype) @ hidden
        queries = self.queries.to(seen.dtype).expand(seen.shape[0], -1, -1)
        mixed = self.mix(torch.cat([seen, queries], dim=-1))
        return self.gate(mixed), self.values(mixed).float().masked_fill(self.others, RULED_OUT)


class Dialogues(Head):
    """The head over a `SlotModel`."""

    kinds: tuple[Kind, ...] = ("dialogue",)

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """A gate and one value per slot; slots and values are those of the training examples."""
        return SlotModel.open(
            backbone, work.settings, lambda: {"slots": read_ontology(work.task, train)}
        )

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """One row per example: its turns, the last at the end, separated like two texts."""
        before, after = work.reader.frame.one
        between = after[-1:] or before[-1:]
        room = work.settings.max_length - len(before) - len(after)
        dialogues = []
        for example in examples:
            exchanges = read_exchanges(work.task, example)
            dialogues.append([turn for exchange in exchanges for turn in exchange if turn])
        turn_ids = iter(work.reader.ids([turn for turns in dialogues for turn in turns]))
        pairs = []
        for turns in dialogues:
            ids: list[int] = []
            for _ in turns:
                ids += [*(between if ids else ()), *next(turn_ids)]
            last = ids[max(0, len(ids) - room) :]
            pairs.append(work.reader.frame_texts(last, None, work.settings.max_length))
        rows = work.reader.add_tokens(Rows.one_each(len(examples)), pairs)
        if learn:
            rows.dense |= _read_gold_states(work, examples)
        return rows

    def loss(self, model: Any, batch: Batch) -> Any:
        """Cross-entropy over the gates, and over the values of the slots that have one."""
        gates, values = model(model_inputs(batch))
        gate_loss = mean_cross_entropy(gates, batch["gates"])
        return gate_loss + mean_cross_entropy(values, batch["values"])

    def outputs(self, model: Any, batch: Batch) -> tuple[Any, ...]:
        """The gate and the value of every slot."""
        gates, values = model(model_inputs(batch))
        return gates.argmax(-1), values.argmax(-1)

    def answers(
        self, work: Work, examples: Sequence[Example], rows: Rows, outputs: RowOutputs
    ) -> list[Prediction]:
        """The entries of the slots whose gate is open."""
        slots = list(work.known["slots"])
        slot_values = list(number_values(work.known["slots"]))
        predictions = []
        for example, (gates, numbers) in zip(examples, outputs, strict=True):
            values = []
            for slot, number in zip(slots, numbers, strict=True):
                owner, value = slot_values[int(number)] if slot_values else ("", "")
                values.append(value if owner == slot else NONE)
            answer = format_state(slots, gates.astype(int).tolist(), values)
            predictions.append(Prediction(example=example.id, answer=answer))
        return predictions


def read_ontology(task: Task, examples: Sequence[Example]) -> dict[str, list[str]]:
    """The values each slot has in the examples, in order of their names.

    Slots that any value suits have none.
    """
    slots: dict[str, set[str]] = {}
    for example, entries in zip(examples, get_gold(task, examples), strict=True):
        for slot, value in parse_state(entries, example.id).items():
            slots.setdefault(slot, set()).update({value} - {DONTCARE, NONE})
    if not slots:
        raise BadInput(
            f"no example of {task.name} has a state", cure="add training examples with states"
        )
    return {slot: sorted(slots[slot]) for slot in sorted(slots)}


def number_values(slots: dict[str, list[str]]) -> dict[tuple[str, str], int]:
    """Every slot's value with its number among all of them."""
    pairs = [(slot, value) for slot, values in slots.items() for value in values]
    return {pair: i for i, pair in enumerate(pairs)}


def _read_gold_states(work: Work, examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """The gate of every slot, and the number of its value where it has one."""
    slots = list(work.known["slots"])
    numbers = number_values(work.known["slots"])
    gates = np.full((len(examples), len(slots)), GATE_NONE, dtype=np.int64)
    values = np.full((len(examples), len(slots)), IGNORED)
    for i, entries in enumerate(get_gold(work.task, examples)):
        state = parse_state(entries, examples[i].id)
        for j, slot in enumerate(slots):
            value = state.get(slot, NONE)
            if value == DONTCARE:
                gates[i, j] = GATE_DONTCARE
            elif value != NONE:
                gates[i, j] = GATE_VALUE
            values[i, j] = numbers.get((slot, value), IGNORED)
    return {"gates": gates, "values": values}


def format_state(slots: Sequence[str], gates: Sequence[int], values: Sequence[str]) -> list[str]:
    """The state as `domain-slot-value`; empty values are left out."""
    entries = []
    for slot, gate, value in zip(slots, gates, values, strict=True):
        if gate == GATE_DONTCARE:
            entries.append(f"{slot}-{DONTCARE}")
        elif gate == GATE_VALUE and value not in {NONE, ""}:
            entries.append(f"{slot}-{value}")
    return entries


HEAD = Dialogues()
