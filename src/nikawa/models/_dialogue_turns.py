"""Dialogues as steps: what the system said, what the user answered, and which slots changed by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nikawa.errors import BadInput
from nikawa.models._dialogue_values import plain
from nikawa.models._structured import visible
from nikawa.records import Example, Task

State = Mapping[str, str]
"""Value of every `domain-slot` that has one."""


class Said(NamedTuple):
    """One step of a dialogue."""

    system: str
    user: str


class Step(NamedTuple):
    """A step with the state before it."""

    said: Said
    before: State


def said(task: Task, example: Example) -> tuple[Said, ...]:
    """The steps of a dialogue: one a user turn, with what the system said since the one before."""
    turns = visible(task, example).get("turns")
    if not isinstance(turns, list | tuple):
        raise BadInput(f"example {example.id!r} has no turns", cure="give a list of role and text")
    steps, system = [], []
    for turn in turns:
        if not isinstance(turn, Mapping) or not isinstance(turn.get("text"), str):
            raise BadInput(
                f"example {example.id!r} has a turn without text", cure="give role and text"
            )
        if turn.get("role") != "user":
            system.append(plain(turn["text"]))
            continue
        steps.append(Said(" ".join(system), plain(turn["text"])))
        system = []
    return tuple(steps)


def state_of(entries: Sequence[Any], name: str) -> dict[str, str]:
    """The value of every slot of a state written as `domain-slot-value`."""
    state = {}
    for entry in entries:
        parts = entry.split("-", 2) if isinstance(entry, str) else ()
        if len(parts) != 3 or not all(parts):
            raise BadInput(
                f"example {name!r}: {entry!r} is not domain-slot-value", cure="write three parts"
            )
        state["-".join(parts[:2])] = parts[2]
    return state


def learnable(
    dialogues: Sequence[tuple[Said, ...]], states: Sequence[State]
) -> list[tuple[Step, dict[str, str]]]:
    """Steps with the slots they changed, where the state before is known: at the start, or from another example."""
    known = dict(zip(dialogues, states, strict=True))
    found = []
    for dialogue, state in zip(dialogues, states, strict=True):
        before = known.get(dialogue[:-1]) if len(dialogue) > 1 else {}
        if dialogue and before is not None:
            changed = {slot: value for slot, value in state.items() if before.get(slot) != value}
            found.append((Step(dialogue[-1], before), changed))
    return found
