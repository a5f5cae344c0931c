"""What tells that a turn fills a slot: the words of both speakers, and where in them a value stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nikawa.models._dialogue_turns import Step
from nikawa.models._dialogue_values import Mention, Names, kind_of, numbers, times

DONTCARE = "dontcare"
UNSAID = {DONTCARE, "none"}
"""Values that no text mentions."""
SHARED = 2
"""Slots that share so many values may take each other's."""
ASKED = 40
"""Characters at the end of the system's turn: where the question is."""


class Candidate(NamedTuple):
    """A value that a slot may take in a turn."""

    slot: str
    value: str
    source: str
    """`user`, `system`, or the slot of the state it is taken from."""
    place: Mention | None


class Ontology:
    """The slots with the values they were seen with, and which mentions each may take."""

    def __init__(
        self, states: Sequence[Mapping[str, str]], given: Mapping[str, Sequence[str]]
    ) -> None:
        values: dict[str, set[str]] = defaultdict(
            set, {slot: set(names) for slot, names in given.items()}
        )
        for state in states:
            for slot, value in state.items():
                values[slot].add(value)
        self.slots = sorted(values)
        self.values = {slot: sorted(values[slot] - UNSAID) for slot in self.slots}
        self.kind = {slot: kind_of(self.values[slot]) for slot in self.slots}
        self._takers = self._shared()
        self._names = Names(self._takers)
        self._open = {
            kind: [s for s in self.slots if self.kind[s] == kind] for kind in ("number", "time")
        }

    def _shared(self) -> dict[str, list[str]]:
        """Each name to the slots that have it, or share enough of their names with one that has."""
        named = {slot: set(self.values[slot]) for slot in self.slots if self.kind[slot] == "name"}
        near = {
            a: [b for b in named if a == b or len(named[a] & named[b]) >= SHARED] for a in named
        }
        takers: dict[str, set[str]] = defaultdict(set)
        for slot, names in named.items():
            for name in names:
                takers[name].update(near[slot])
        return {name: sorted(slots) for name, slots in takers.items()}

    def mentions(self, text: str) -> list[Mention]:
        """All values that a text may mention."""
        found = list(self._names.find(text))
        clock = list(times(text)) if self._open["time"] else []
        taken = {i for mention in clock for i in range(mention.start, mention.end)}
        if self._open["number"]:
            found += [mention for mention in numbers(text) if mention.start not in taken]
        return sorted([*found, *clock])

    def takers(self, mention: Mention) -> list[str]:
        """The slots that may take what a text mentions."""
        if mention.how == "name":
            return self._takers[mention.value]
        return self._open["number" if mention.how == "number" else "time"]

    def candidates(self, step: Step) -> list[Candidate]:
        """What each slot may take: from the user, the system, or another slot; nothing that it has already."""
        found: dict[tuple[str, str], Candidate] = {}
        for source, text in (("user", step.said.user), ("system", step.said.system)):
            for mention in self.mentions(text):
                for slot in self.takers(mention):
                    found.setdefault(
                        (slot, mention.value), Candidate(slot, mention.value, source, mention)
                    )
        for source, value in step.before.items():
            for slot in self._takers.get(value, ()):
                found.setdefault((slot, value), Candidate(slot, value, source, None))
        return [
            candidate
            for candidate in found.values()
            if step.before.get(candidate.slot) != candidate.value
        ]


def turn_cues(step: Step) -> list[str]:
    """Features of a turn, for slots whose value is said in other words."""
    asked, user = step.said.system[-ASKED:], step.said.user
    found = ["bias", "first" if not step.before else "later"]
    found += [f"u{gram}" for gram in _grams(user, 2, 4)]
    found += [f"s{gram}" for gram in _grams(asked, 2, 3)]
    found += [f"b{slot}" for slot in step.before]
    opening = user.split()[:1]
    found += [f"o{opening}{word[:2]}" for word in asked.split()]
    return list(dict.fromkeys(found))


def candidate_cues(step: Step, candidate: Candidate, rivals: int) -> Iterator[str]:
    """Features of a candidate, each with its slot: where it stands, what is around it and in the turn."""
    slot, source = candidate.slot, candidate.source
    text = step.said.system if source == "system" else step.said.user
    domain = slot.partition("-")[0]
    yield f"{slot}"
    yield f"{slot}|{source}"
    yield f"{slot}|{source}|rivals{min(rivals, 4)}"
    yield f"{slot}|filled{slot in step.before}"
    yield f"{slot}|domain{any(other.startswith(domain + '-') for other in step.before)}|{source}"
    if candidate.place is not None:
        start, end, _, how = candidate.place
        yield f"{slot}|{source}|{how}|{_half(candidate.value, how)}"
        for size in (1, 2, 3, 4):
            yield f"{slot}|{source}|l{text[max(0, start - size) : start]}"
            yield f"{slot}|{source}|r{text[end : end + size]}"
        yield f"{slot}|{source}|at{'start' if start < 3 else 'later'}"
    for gram in _grams(step.said.user, 2, 3):
        yield f"{slot}|u{gram}"
    for gram in _grams(step.said.system[-ASKED:], 2, 3):
        yield f"{slot}|s{gram}"


def _half(value: str, how: str) -> str:
    """The hour of a time: some hours are seldom meant in one half of the day."""
    return value[:2] if how in ("time", "other-half") else ""


def _grams(text: str, low: int, high: int) -> Iterator[str]:
    for size in range(low, high + 1):
        for start in range(len(text) - size + 1):
            yield text[start : start + size]
