"""Goals of task-oriented dialogues: drawn from an ontology and a table of entities, and written as sentences.

A goal has one to three domains, in the order of the ontology. Of each domain with entities one entity is drawn, and some of
its properties become constraints, so that the table always has an answer. A slot of a later domain may take over the value
of an earlier one: the same area as the hotel, a taxi to the restaurant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from nikawa.errors import BadInput
from nikawa.io.ontology import DONTCARE, Entities, Entity, Ontology, Slot
from nikawa.text.conjugation_ko import attach

_PLACE = re.compile(r"\{(\w+)(?:\+([^{}]+))?\}")
OFFER, BOOK, FIND, ASK = "offer", "book", "find", "ask"


class GoalSettings(NamedTuple):
    """How goals are drawn."""

    domain_shares: tuple[float, ...]
    """How many of the goals have one domain, two, three, …"""
    constraints_least: int
    constraints_most: int
    bookings: float
    carried: float
    dontcare: float
    asks_most: int


class Goal(NamedTuple):
    """A goal as an item has it."""

    sentences: list[str]
    constraints: list[dict[str, Any]]
    asks: list[dict[str, Any]]
    domains: list[str]
    plan: dict[str, str]
    """The name of the entity by domain, for a simulated dialogue."""

    @property
    def combination(self) -> str:
        """The domains as one name."""
        return "+".join(self.domains)


def fill_phrase(phrase: str, values: Mapping[str, str]) -> str:
    """A sentence with its values, in Korean with the particle that fits.

    >>> fill_phrase("음식은 {value+을/를} 원합니다.", {"value": "한식"})
    '음식은 한식을 원합니다.'
    """

    def fill(match: re.Match[str]) -> str:
        value = values[match[1]]
        return attach(value, match[2]) if match[2] else value

    return _PLACE.sub(fill, phrase)


def find_phrase(slot: Slot, value: str) -> str:
    """The sentence of a slot for a value; empty where goals do not name it."""
    if isinstance(slot.phrase, str):
        return "" if value == DONTCARE else slot.phrase
    general = "" if value == DONTCARE else slot.phrase.get("", "")
    return slot.phrase.get(value, general)


def check_phrases(ontology: Ontology) -> None:
    """Raise `BadInput` for an ontology from whose sentences no goal can be made."""
    for name, domain in ontology.domains.items():
        slots = domain.slots.items()
        if not any(slot.phrase and slot.kind in (FIND, BOOK) for _, slot in slots):
            cure = 'add "phrase" to its slots; docs/dialogue.md shows one'
            raise BadInput(f"the domain {name!r} has no sentence for a goal", cure=cure)
        for slot_name, slot in slots:
            texts = [slot.phrase] if isinstance(slot.phrase, str) else slot.phrase.values()
            for text, known in (*((text, ("value",)) for text in texts), (slot.same, VALUES)):
                unknown = [match[0] for match in _PLACE.finditer(text) if match[1] not in known]
                unknown += re.findall(r"\{[^{}]*\}?|\}", _PLACE.sub("", text))
                if unknown:
                    what = f"the slot '{name}-{slot_name}' has {unknown[0]} in a sentence"
                    raise BadInput(what, cure="write {value}, or {source} in same")


VALUES = ("value", "source")
"""What the sentence `same` may name; `phrase` names the value alone."""


class _Draft:
    """A goal while it is written."""

    def __init__(self, ontology: Ontology, entities: Entities, how: GoalSettings, random: Random):
        self.ontology, self.entities, self.how, self.random = ontology, entities, how, random
        self.goal = Goal([], [], [], [], {})
        self.values: dict[str, str] = {}
        """The value of each slot named so far; empty where the dialogue decides it."""

    def add_domain(self, name: str) -> None:
        """Add the sentences of a domain."""
        domain, goal = self.ontology.domains[name], self.goal
        is_later = bool(goal.domains)
        goal.sentences.append((is_later and domain.later) or domain.opening)
        goal.domains.append(name)
        carried = self._choose_carried(name)
        rows = [
            row
            for row in self.entities.rows.get(name, ())
            if all(row.get(slot) == value for slot, (_, value) in carried.items() if value)
        ]
        if not rows:
            rows = list(self.entities.rows.get(name, ()))
            carried = {slot: one for slot, one in carried.items() if not one[1]}
        entity = self.random.choice(rows) if rows else None
        begun = len(goal.sentences)
        if entity is not None:
            self._add_finds(name, entity, carried)
        if entity is None or self.random.random() < self.how.bookings:
            self._add_bookings(name, carried)
        if entity is not None:
            self._add_asks(name)
            if len(goal.sentences) == begun:  # a goal that names a domain asks for something in it
                self._add_any(name, entity)
            offer = next((slot for slot, one in domain.slots.items() if one.kind == OFFER), "")
            goal.plan[name] = entity.get(offer, "")
            self.values[f"{name}-{offer}"] = ""

    def _choose_carried(self, name: str) -> dict[str, tuple[str, str]]:
        """By slot the earlier slot whose value it takes over, and the value where the goal knows it."""
        chosen: dict[str, tuple[str, str]] = {}
        for slot_name, slot in self.ontology.domains[name].slots.items():
            used = {source for source, _ in chosen.values()}
            sources = [
                source
                for source in slot.sources
                if source not in used and self.values.get(source, DONTCARE) != DONTCARE
            ]
            if slot.same and sources and self.random.random() < self.how.carried:
                source = self.random.choice(sources)
                if self.values[source] or "{value" not in slot.same:
                    chosen[slot_name] = (source, self.values[source])
        return chosen

    def _add_any(self, name: str, entity: Entity) -> None:
        """Add a property of the entity, else what is booked, else a question."""
        self._add_finds(name, entity, {}, least=1)
        if not any(one["slot"].startswith(f"{name}-") for one in self.goal.constraints):
            self._add_bookings(name, {})
        if not any(one["slot"].startswith(f"{name}-") for one in self.goal.constraints):
            self._add_asks(name, least=1)

    def _add_finds(
        self, name: str, entity: Entity, carried: dict[str, tuple[str, str]], least: int = 0
    ) -> None:
        slots = {
            key: one for key, one in self.ontology.domains[name].slots.items() if one.kind == FIND
        }
        usable = [
            key
            for key, slot in slots.items()
            if find_phrase(slot, entity.get(key, "")) or key in carried
        ]
        drawn = self.random.randint(self.how.constraints_least, self.how.constraints_most)
        count = min(len(usable), max(least, drawn))
        chosen = {*self.random.sample(usable, count), *(key for key in carried if key in slots)}
        for key, slot in slots.items():
            if key in carried:
                self._add(name, key, slot, *carried[key])
            elif key in chosen:
                is_open = (
                    bool(find_phrase(slot, DONTCARE)) and self.random.random() < self.how.dontcare
                )
                self._add(name, key, slot, "", DONTCARE if is_open else entity[key])

    def _add_bookings(self, name: str, carried: dict[str, tuple[str, str]]) -> None:
        for key, slot in self.ontology.domains[name].slots.items():
            if slot.kind != BOOK:
                continue
            if key in carried:
                self._add(name, key, slot, *carried[key])
                continue
            is_open = bool(find_phrase(slot, DONTCARE)) and self.random.random() < self.how.dontcare
            values = [value for value in slot.values if find_phrase(slot, value)]
            if is_open:
                self._add(name, key, slot, "", DONTCARE)
            elif values:
                self._add(name, key, slot, "", self.random.choice(values))

    def _add(self, domain: str, key: str, slot: Slot, source: str, value: str) -> None:
        """Add a constraint with its sentence."""
        phrase = slot.same if source else find_phrase(slot, value)
        names = {"value": value, "source": source.partition("-")[0]}
        self.goal.sentences.append(fill_phrase(phrase, names))
        row: dict[str, Any] = {"slot": f"{domain}-{key}"}
        row |= {name: text for name, text in (("value", value), ("same", source)) if text}
        self.goal.constraints.append({**row, "sentence": len(self.goal.sentences) - 1})
        self.values[f"{domain}-{key}"] = value

    def _add_asks(self, name: str, least: int = 0) -> None:
        slots = self.ontology.domains[name].slots
        usable = [key for key, slot in slots.items() if slot.kind == ASK and find_phrase(slot, "")]
        count = min(len(usable), max(least, self.random.randint(0, self.how.asks_most)))
        for key in sorted(self.random.sample(usable, count), key=usable.index):
            self.goal.sentences.append(find_phrase(slots[key], ""))
            place = len(self.goal.sentences) - 1
            self.goal.asks.append({"slot": f"{name}-{key}", "sentence": place})


def draw_goal(ontology: Ontology, entities: Entities, how: GoalSettings, random: Random) -> Goal:
    """A goal by chance; the table has an entity that fits it in each of its domains that have any."""
    names = list(ontology.domains)
    shares = how.domain_shares[: len(names)]
    (count,) = random.choices(range(1, len(shares) + 1), shares)
    draft = _Draft(ontology, entities, how, random)
    for name in sorted(random.sample(names, count), key=names.index):
        draft.add_domain(name)
    return draft.goal
