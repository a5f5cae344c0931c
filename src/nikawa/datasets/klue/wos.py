"""WoS (Wizard of Seoul, KLUE-DST): what the user of a task-oriented dialogue wants, after each of
their turns.

One example a user turn: its turns are the dialogue up to that turn, its id is the dialogue's guid
and the number of the user turn from 0, as the official reader counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, Source, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    CURE,
    is_test,
    make_card,
    read_array,
    read_document,
    record_error,
    sources,
)
from nikawa.datasets.locate import find_files
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Task

NAME = "wos"
SOURCES = sources(NAME, "json")
ONTOLOGY = Source("", ("klue_benchmark/wos-v*/ontology.json",))
"""The file of slots and values, in the folder of the splits."""
UNSAID = ("none", "dontcare")
"""The two values that every slot of the ontology begins with."""


class Turn(msgspec.Struct):
    """One turn; only the user's carry a state, and none in a test file."""

    role: Literal["user", "sys"]
    text: str
    state: list[str] | None = None
    """After a turn of the user: `domain-slot-value` of all that was agreed so far."""


class Row(msgspec.Struct):
    """A dialogue of the published file."""

    guid: str
    dialogue: list[Turn]
    domains: list[str] = []


def read(path: Path) -> Iterator[Example]:
    """The user turns of one published file, dialogue by dialogue."""
    for number, row in read_array(path, Row):
        turns = [{"role": turn.role, "text": turn.text} for turn in row.dialogue]
        users = [place for place, turn in enumerate(row.dialogue) if turn.role == "user"]
        if not users:
            raise record_error(path, number, f"{row.guid} has no user turn")
        for count, place in enumerate(users):
            name, state = f"{row.guid}-{count}", row.dialogue[place].state
            if state is None and not is_test(path):
                cure = "only a test file may hide its states"
                raise record_error(path, number, f"{name} has no state", cure)
            for entry in state or ():
                if entry.count("-") < 2 or not all(entry.split("-", 2)):
                    raise record_error(path, number, f"{name}: {entry!r} is not domain-slot-value")
            gold = {} if state is None else {"state": state}
            yield Example(
                id=name,
                inputs={"turns": turns[: place + 1]},
                gold=gold,
                meta={"domains": row.domains, "turn": count},
                group=row.guid,
                origin=hidden_origin(NAME, gold),
            )


def ontology(path: Path) -> dict[str, tuple[str, ...]]:
    """The values of each `domain-slot` by `ontology.json`.

    The official reader cannot read this file.
    """
    slots = read_document(path, dict[str, list[str]])
    for slot, values in slots.items():
        if slot.count("-") != 1 or not all(slot.split("-")):
            raise BadInput(f"{slot!r} is not domain-slot", file=path, cure=CURE)
        if tuple(values[:2]) != UNSAID:
            what = f"the values of {slot!r} do not begin with none, dontcare"
            raise BadInput(what, file=path, cure=CURE)
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            raise BadInput(f"{slot!r} has the value {twice[0]!r} twice", file=path, cure=CURE)
        if any("-" in value for value in values):
            what = f"a value of {slot!r} holds a hyphen"
            raise BadInput(what, file=path, cure="states are split at hyphens")
    return {slot: tuple(values) for slot, values in slots.items()}


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """States that name a slot twice, or a slot or value the ontology does not have."""
    known = next((ontology(path) for path in find_files(ONTOLOGY, folder)), None)
    for split, examples in dataset.splits.items():
        twice, odd = [], []
        for example in examples:
            entries = [entry.rpartition("-") for entry in example.gold.get("state", ())]
            if len({slot for slot, _, _ in entries}) != len(entries):
                twice.append(example)
            if known is not None and any(v not in known.get(slot, ()) for slot, _, v in entries):
                odd.append(example)
        note = "one slot has two values in one state"
        yield from report_examples("slot-twice", dataset, split, twice, note)
        note = "ontology.json has no such slot or value"
        yield from report_examples("not-in-ontology", dataset, split, odd, note)


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=8,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    further_files=ONTOLOGY.patterns,
    card=make_card(
        name=NAME,
        title="WoS: Wizard of Seoul, Korean dialogue state tracking (KLUE-DST)",
        description="Dialogues between a traveller in Seoul and an agent, with the state after each user turn: 45 slots in five domains.",
        labels="The state after each user turn: every slot that has a value by then.",
        workers="Not published",
        workers_are="none",
        source="Task-oriented dialogues: hotels, restaurants, sights, taxis, the metro",
        problems=(
            "The official ontology reader expects plain lines and cannot read the published ontology.json.",
            "The official slot 'micro' F1 is a mean over turns.",
        ),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="dialogue",
            question="state",
            inputs=("turns",),
            metrics=("jga", "slot-f1"),
        ),
    ),
    sources=SOURCES,
    read=read,
    find_problems=find_problems,
)
