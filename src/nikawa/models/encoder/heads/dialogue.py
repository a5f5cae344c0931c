"""The state of a dialogue: for every slot of the ontology a gate, and one of the values the slot had in training.

KLUE's reference code writes values piece by piece, which can make ones that no slot has, and keeps empty ones; it reads a
state entry without hyphens as domain, slot and value at once. Here a value is one of the ontology's or there is none (a
value first met in the test set cannot be found), and an entry that is not `domain-slot-value` is refused. Yes and no
are values like others. The last turns are read where a dialogue is too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nikawa.errors import BadInput
from nikawa.models.base import get_gold
from nikawa.models.dialogue.turns import parse_state, read_exchanges
from nikawa.models.encoder.backbone import Backbone
from nikawa.models.encoder.heads._base import Work, add_tokens, inputs_only, mean_cross_entropy
from nikawa.models.encoder.store import IGNORED, Rows
from nikawa.records import Example, Kind, Prediction, Task

DONTCARE, NONE = "dontcare", "none"
GATE_NONE, GATE_DONTCARE, GATE_VALUE = range(3)


class Dialogues:
    """A model of our own over the encoder."""

    kinds: tuple[Kind, ...] = ("dialogue",)

    def classes(self, task: Task) -> tuple[str, ...]:
        """None in the encoder's configuration: the ontology is kept beside it."""
        return ()

    def model(self, work: Work, backbone: Backbone, train: Sequence[Example]) -> Any:
        """A gate and a value a slot; slots and values are those of the training examples."""
        from nikawa.models.encoder.own import saved
        from nikawa.models.encoder.slots import SlotModel

        known = saved(SlotModel.kind, backbone, work.settings)
        if known is None or (
            work.settings.epochs > 0 and not _holds(known["slots"], ontology(work.task, train))
        ):
            return SlotModel(
                backbone.model("AutoModel", work.settings), {"slots": ontology(work.task, train)}
            )
        model = SlotModel(backbone.model("AutoModel", work.settings), known)
        model.take(backbone.source)
        return model

    def rows(self, work: Work, examples: Sequence[Example], learn: bool) -> Rows:
        """A row an example: its turns, the last at the end, parted as two texts are."""
        before, after = work.reader.frame.one
        between = after[-1:] or before[-1:]
        room = work.settings.max_length - len(before) - len(after)
        turns = [
            [part for step in read_exchanges(work.task, e) for part in step if part]
            for e in examples
        ]
        ids = iter(work.reader.ids([turn for dialogue in turns for turn in dialogue]))
        pairs = []
        for dialogue in turns:
            whole: list[int] = []
            for _ in dialogue:
                whole += [*(between if whole else ()), *next(ids)]
            pairs.append(
                work.reader.pair(whole[max(0, len(whole) - room) :], None, work.settings.max_length)
            )
        made = add_tokens(work, Rows(owner=list(range(len(examples)))), pairs)
        if learn:
            made.dense |= self._gold(work, examples)
        return made

    def _gold(self, work: Work, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        slots = list(work.known["slots"])
        number = numbered(work.known["slots"])
        gates, values = (
            np.zeros((len(examples), len(slots))),
            np.full((len(examples), len(slots)), IGNORED),
        )
        for i, entries in enumerate(get_gold(work.task, examples)):
            state = parse_state(entries, examples[i].id)
            for j, slot in enumerate(slots):
                value = state.get(slot, NONE)
                gates[i, j] = (
                    GATE_NONE
                    if value == NONE
                    else GATE_DONTCARE
                    if value == DONTCARE
                    else GATE_VALUE
                )
                values[i, j] = number.get((slot, value), IGNORED)
        return {"gates": gates.astype(np.int64), "values": values}

    def loss(self, model: Any, batch: dict[str, Any]) -> Any:
        """Cross-entropy over the gates, and over the values of the slots that have one."""
        gates, values = model(inputs_only(batch))
        return mean_cross_entropy(gates, batch["gates"]) + mean_cross_entropy(
            values, batch["values"]
        )

    def outputs(self, model: Any, batch: dict[str, Any]) -> tuple[Any, ...]:
        """The gate and the value of every slot."""
        gates, values = model(inputs_only(batch))
        return gates.argmax(-1), values.argmax(-1)

    def answers(
        self,
        work: Work,
        examples: Sequence[Example],
        rows: Rows,
        found: Sequence[Sequence[np.ndarray]],
    ) -> list[Prediction]:
        """The entries of the slots whose gate is open."""
        slots = list(work.known["slots"])
        names = list(numbered(work.known["slots"]))
        made = []
        for example, (gates, values) in zip(examples, found, strict=True):
            pairs = [names[int(v)] if names else ("", "") for v in values]
            chosen = [
                value if owner == slot else NONE
                for slot, (owner, value) in zip(slots, pairs, strict=True)
            ]
            made.append(
                Prediction(
                    example=example.id, answer=recovered(slots, gates.astype(int).tolist(), chosen)
                )
            )
        return made


def ontology(task: Task, examples: Sequence[Example]) -> dict[str, list[str]]:
    """The values each slot has in the examples, in order of their names; slots that any value suits have none."""
    found: dict[str, set[str]] = {}
    for example, entries in zip(examples, get_gold(task, examples), strict=True):
        for slot, value in parse_state(entries, example.id).items():
            found.setdefault(slot, set()).update({value} - {DONTCARE, NONE})
    if not found:
        raise BadInput(
            f"no example of {task.name} has a state", cure="give training examples with states"
        )
    return {slot: sorted(found[slot]) for slot in sorted(found)}


def _holds(known: Mapping[str, Sequence[str]], slots: Mapping[str, Sequence[str]]) -> bool:
    """Whether a head that was trained before has every slot and value of these."""
    return all(slot in known and set(values) <= set(known[slot]) for slot, values in slots.items())


def numbered(slots: dict[str, list[str]]) -> dict[tuple[str, str], int]:
    """Every slot's value with its number among all of them."""
    pairs = [(slot, value) for slot, values in slots.items() for value in values]
    return {pair: i for i, pair in enumerate(pairs)}


def recovered(slots: Sequence[str], gates: Sequence[int], values: Sequence[str]) -> list[str]:
    """The state as `domain-slot-value`; what is none or empty is left out."""
    made = []
    for slot, gate, value in zip(slots, gates, values, strict=True):
        if gate == GATE_DONTCARE:
            made.append(f"{slot}-{DONTCARE}")
        elif gate == GATE_VALUE and value not in {NONE, ""}:
            made.append(f"{slot}-{value}")
    return made


HEAD = Dialogues()
