"""The state of a dialogue by matching values of an ontology, which is learned with the cues that tell slots apart.

A state is carried from user turn to user turn. In each, a value that a speaker mentions (or another slot holds) goes to
a slot if a linear model finds its place and the turn's words likely; slots of few values, and `dontcare`, are filled
by the words of the turn alone. Values of open kinds (numbers, times) need not have been met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from nikawa.models._dialogue_cues import DONTCARE, Candidate, Ontology, candidate_cues, turn_cues
from nikawa.models._dialogue_turns import Said, State, Step, learnable, said, state_of
from nikawa.models._hashed import Linear, matrix
from nikawa.models._structured import check_kind, drawn
from nikawa.models.base import Model, Progress, Setup, _silent, gold_of, not_fitted, settings_of
from nikawa.records import Example, Kind, Prediction, Task

KINDS: tuple[Kind, ...] = ("dialogue",)
KEEP, YES = "", "yes"
"""A slot that a turn leaves alone (no value is empty); a candidate that is taken."""
LIKELY = 0.5


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the cues are learned."""

    penalty: Annotated[float, msgspec.Meta(gt=0)] = 1e-5
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 10
    few: Annotated[int, msgspec.Meta(ge=0)] = 16
    """Slots of at most so many values are filled by the words of a turn too, mentioned or not."""
    ontology: dict[str, tuple[str, ...]] = {}
    """Further values of slots (`domain-slot`), such as a published ontology holds."""


class OntologyMatch:
    """The model; it can be pickled once it has learned."""

    name = "ontology-match"

    def __init__(self, settings: Settings, seed: int, progress: Progress) -> None:
        self._settings, self._seed, self._progress = settings, seed, progress
        self._ontology: Ontology | None = None
        self._taken = Linear(settings.penalty, settings.epochs)
        self._told: dict[str, Linear] = {}

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Learn the ontology, then what makes a turn change a slot."""
        check_kind(self.name, KINDS, task)
        gold = gold_of(task, examples)
        order = sorted(range(len(examples)), key=lambda i: drawn(self._seed, examples[i].id))
        states = [state_of(gold[i], examples[i].id) for i in order]
        self._ontology = Ontology(states, self._settings.ontology)
        steps = learnable([said(task, examples[i]) for i in order], states)
        self._fit_candidates(self._ontology, steps)
        self._fit_turns(self._ontology, steps)

    def _fit_candidates(self, ontology: Ontology, steps: Sequence[tuple[Step, State]]) -> None:
        rows, gold = [], []
        for done, (step, changed) in enumerate(steps):
            for candidate, cues in _candidates(ontology, step):
                rows.append(cues)
                gold.append(YES if changed.get(candidate.slot) == candidate.value else KEEP)
            self._progress("turns", done + 1, len(steps))
        self._taken = Linear(self._settings.penalty, self._settings.epochs)
        self._taken.fit(matrix(rows) if rows else None, gold)

    def _fit_turns(self, ontology: Ontology, steps: Sequence[tuple[Step, State]]) -> None:
        """One classifier a slot that has values to be told by words: keep, or one of them."""
        self._told = {}
        if not steps:
            return
        found = matrix(turn_cues(step) for step, _ in steps)
        for slot in ontology.slots:
            told = {
                DONTCARE,
                *(
                    ontology.values[slot]
                    if len(ontology.values[slot]) <= self._settings.few
                    else ()
                ),
            }
            gold = [changed[slot] if changed.get(slot) in told else KEEP for _, changed in steps]
            often = {value for value, count in Counter(gold).items() if count > 1}
            gold = [value if value in often else KEEP for value in gold]
            if len(set(gold)) > 1:
                self._told[slot] = Linear(self._settings.penalty, self._settings.epochs)
                self._told[slot].fit(found, gold, KEEP)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """The state after the last user turn of each dialogue."""
        if self._ontology is None:
            raise not_fitted(self.name, task)
        dialogues = [said(task, example) for example in examples]
        states = self._states(self._ontology, dialogues)
        return [
            Prediction(
                example=e.id,
                answer=[f"{slot}-{value}" for slot, value in sorted(states[d].items())],
            )
            for e, d in zip(examples, dialogues, strict=True)
        ]

    def _states(
        self, ontology: Ontology, dialogues: Sequence[tuple[Said, ...]]
    ) -> dict[tuple[Said, ...], State]:
        """The state of every dialogue and of its beginnings, all of one length together."""
        states: dict[tuple[Said, ...], State] = {(): {}}
        begun: dict[int, dict[tuple[Said, ...], None]] = {}
        for dialogue in dialogues:
            for size in range(len(dialogue), 0, -1):
                if (
                    begun.setdefault(size, {}).setdefault(dialogue[:size], None) is None
                    and size == 1
                ):
                    break
        for size in sorted(begun):
            parts = list(begun[size])
            steps = [Step(part[-1], states[part[:-1]]) for part in parts]
            states |= dict(zip(parts, self._after(ontology, steps), strict=True))
        return states

    def _after(self, ontology: Ontology, steps: Sequence[Step]) -> list[State]:
        """The states after some steps."""
        words = self._by_words(steps)
        found = [_candidates(ontology, step) for step in steps]
        rows = [cues for row in found for _, cues in row]
        likely: list[float] = []
        if rows and YES in self._taken.names:
            likely = self._taken.shares(matrix(rows))[:, self._taken.names.index(YES)].tolist()
        after: list[State] = []
        at = 0
        for step, row, told in zip(steps, found, words, strict=True):
            chances = likely[at : at + len(row)] if likely else [0.0] * len(row)
            at += len(row)
            after.append({**step.before, **_filled([c for c, _ in row], chances, told)})
        return after

    def _by_words(self, steps: Sequence[Step]) -> list[dict[str, tuple[float, str]]]:
        """For each step the slots that its words fill, with probability and value."""
        told: list[dict[str, tuple[float, str]]] = [{} for _ in steps]
        if not self._told:
            return told
        found = matrix(turn_cues(step) for step in steps)
        for slot, linear in self._told.items():
            shares = linear.shares(found)
            for i, best in enumerate(shares.argmax(axis=1).tolist()):
                if linear.names[best] != KEEP:
                    told[i][slot] = (float(shares[i, best]), linear.names[best])
        return told

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_progress": _silent}


def _candidates(ontology: Ontology, step: Step) -> list[tuple[Candidate, list[str]]]:
    found = ontology.candidates(step)
    rivals = Counter(candidate.slot for candidate in found)
    return [
        (candidate, list(candidate_cues(step, candidate, rivals[candidate.slot])))
        for candidate in found
    ]


def _filled(
    candidates: Sequence[Candidate], chances: Sequence[float], told: Mapping[str, tuple[float, str]]
) -> dict[str, str]:
    """The likeliest value of each slot; what is mentioned once goes to one slot."""
    ranked = sorted(
        (
            (chance, c.slot, c.value, (c.source, c.place[:2]) if c.place else None)
            for c, chance in zip(candidates, chances, strict=True)
            if chance >= LIKELY
        ),
        key=lambda found: (-found[0], found[1], found[2]),
    )
    filled: dict[str, str] = {}
    used: set[Any] = set()
    for chance, slot, value, place in ranked:
        if slot in filled or place in used or told.get(slot, (0.0, ""))[0] > chance:
            continue
        filled[slot] = value
        if place is not None:
            used.add(place)
    return {**{slot: value for slot, (_, value) in told.items()}, **filled}


def _make(setup: Setup) -> OntologyMatch:
    return OntologyMatch(settings_of(Settings, setup), setup.seed, setup.progress)


MODELS = (
    Model(
        "ontology-match", "values of a learned ontology, found in the turns", KINDS, _make, Settings
    ),
)
