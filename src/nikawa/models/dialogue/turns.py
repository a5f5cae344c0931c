"""Dialogues as exchanges (what the system said, what the user answered), and states as the value of
each slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nikawa.errors import BadInput
from nikawa.models.base import get_inputs
from nikawa.models.dialogue.values import fold_text
from nikawa.records import Example, Task

State = Mapping[str, str]
"""Value of every `domain-slot` that has one."""


class Exchange(NamedTuple):
    """A user turn, with what the system said since the user turn before it."""

    system: str
    user: str


class Step(NamedTuple):
    """An exchange with the state before it."""

    exchange: Exchange
    before: State


def read_exchanges(task: Task, example: Example) -> tuple[Exchange, ...]:
    """The exchanges of a dialogue, one per user turn, with folded text.

    Raises BadInput if the example has no list of turns, or a turn has no text.
    """
    turns = get_inputs(task, example).get("turns")
    if not isinstance(turns, list | tuple):
        raise BadInput(
            f"example {example.id!r} has no turns",
            cure="add `turns`, a list of objects with role and text",
        )
    exchanges: list[Exchange] = []
    system: list[str] = []
    for turn in turns:
        if not isinstance(turn, Mapping) or not isinstance(turn.get("text"), str):
            raise BadInput(
                f"example {example.id!r} has a turn without text", cure="add role and text"
            )
        text = fold_text(turn["text"])
        if turn.get("role") == "user":
            exchanges.append(Exchange(" ".join(system), text))
            system = []
        else:
            system.append(text)
    return tuple(exchanges)


def parse_state(entries: Sequence[Any], name: str) -> dict[str, str]:
    """The value of every slot of a state written as `domain-slot-value`.

    Raises BadInput with the name of the example for an entry of another form.
    """
    state = {}
    for entry in entries:
        parts = entry.split("-", 2) if isinstance(entry, str) else ()
        if len(parts) != 3 or not all(parts):
            raise BadInput(
                f"example {name!r}: {entry!r} is not of the form domain-slot-value",
                cure="write three parts joined by -",
            )
        state["-".join(parts[:2])] = parts[2]
    return state


def find_training_steps(
    dialogues: Sequence[tuple[Exchange, ...]], states: Sequence[State]
) -> list[tuple[Step, dict[str, str]]]:
    """The last step of each dialogue, with the slots that it changed.

    The state before it must be known: because the dialogue starts there, or from another example.
    Dialogues where it is not are left out.
    """
    state_of = dict(zip(dialogues, states, strict=True))
    steps = []
    for dialogue, state in zip(dialogues, states, strict=True):
        before = state_of.get(dialogue[:-1]) if len(dialogue) > 1 else {}
        if dialogue and before is not None:
            changed = {slot: value for slot, value in state.items() if before.get(slot) != value}
            steps.append((Step(dialogue[-1], before), changed))
    return steps
