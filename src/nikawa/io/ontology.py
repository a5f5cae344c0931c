"""The ontology of a task-oriented dialogue and its table of entities: what may be wanted, and what there is.

An ontology is a JSON file of domains with their slots; a table of entities has the rows of each domain by slot. A state is
a list of texts `domain-slot-value`, as Wizard of Seoul (KLUE-DST) has it, so no name and no value holds a hyphen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nikawa.errors import BadInput, suggest
from nikawa.io.json import plain_fault, read_json

DONTCARE = "dontcare"
"""The value of a slot whose value is all the same to the user."""
UNSAID = ("none", DONTCARE)
"""The values that come before those of every slot where an ontology is written as KLUE has it."""
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SPACERS = re.compile(r"[^\S\n]|-")
Entity = dict[str, str]
"""A row of the table: the values of its slots."""
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^-\x00-\x1f]+$")]
Value = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^-\x00-\x1f]+$")]


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A slot of a domain."""

    kind: Literal["find", "book", "offer", "ask"] = "find"
    """`find`: a search for entities uses it; `book`: the user says it, and no entity has it; `offer`: the name of an
    entity; `ask`: something about an entity that the user asks, and no part of a state."""
    values: tuple[Value, ...] = ()
    """Its values; where the list is empty, `find` and `offer` have those of the table."""
    phrase: str | dict[str, str] = ""
    """The sentence of a goal, or one by value, `""` being any other; `{value}` is the value, `{value+을/를}` adds a Korean
    particle. A goal has `dontcare` only where there is a sentence for it."""
    same: str = ""
    """The sentence for the value of a slot of an earlier domain: `{source}` is that domain, `{value}` the value."""
    sources: tuple[str, ...] = ()
    """The slots `domain-slot` whose value this one may take over."""


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A domain: what a user may look for."""

    opening: str
    """The sentence that begins a goal with this domain."""
    slots: dict[Name, Slot]
    later: str = ""
    """The sentence that begins this part of a goal after another domain; empty: `opening`."""


class Ontology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The domains by name."""

    language: Literal["ja", "ko", "en"]
    domains: Annotated[dict[Name, Domain], Meta(min_length=1)]

    def find_slot(self, name: str) -> Slot | None:
        """The slot called `domain-slot`; None where it does not exist."""
        domain, _, slot = name.partition("-")
        about = self.domains.get(domain)
        return None if about is None else about.slots.get(slot)

    def slots(self) -> Iterator[tuple[str, Slot]]:
        """Every slot of a state by its name `domain-slot`."""
        for domain, about in self.domains.items():
            for name, slot in about.slots.items():
                if slot.kind != "ask":
                    yield f"{domain}-{name}", slot

    def allows(self, entry: str) -> bool:
        """Whether a text is `domain-slot-value` of this ontology."""
        name, value = split_entry(entry)
        slot = self.find_slot(name)
        if slot is None or slot.kind == "ask":
            return False
        return value in slot.values or (value == DONTCARE and slot.kind != "offer")


def split_entry(entry: str) -> tuple[str, str]:
    """The slot and the value of an entry of a state; two empty texts if it is another text.

    >>> split_entry("hotel-area-east")
    ('hotel-area', 'east')
    """
    if entry.count("-") != 2:
        return "", ""
    name, _, value = entry.rpartition("-")
    return name, value


def state_values(state: Iterable[str]) -> dict[str, str]:
    """The value of each slot of a state."""
    return {name: value for name, value in map(split_entry, state) if name}


def fold_text(text: str) -> str:
    """A text as it is searched for values: width, case, blanks and hyphens do not count; lines stay apart.

    >>> fold_text("１９時 30分"), fold_text("070-1000\\n070 1001")
    ('19時30分', '0701000\\n0701001')
    """
    return _SPACERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def read_ontology(path: Path) -> Ontology:
    """Read an ontology; raises `BadInput` for a file of another form."""
    return parse_ontology(read_json(path, Any), path)


def read_entities(path: Path, ontology: Ontology) -> Entities:
    """Read a table of entities; raises `BadInput` for one that does not fit the ontology."""
    return parse_entities(read_json(path, Any), ontology, path)


def parse_ontology(value: Any, file: Path | str = "ontology") -> Ontology:
    """An ontology from plain values."""
    try:
        ontology = msgspec.convert(value, Ontology)
    except msgspec.ValidationError as problem:
        what = f"is not an ontology: {plain_fault(str(problem))}"
        raise BadInput(what, file=file, cure="docs/dialogue.md shows one") from None
    for name, slot in ontology.slots():
        _check_slot(ontology, name, slot, file)
    return ontology


def _check_slot(ontology: Ontology, name: str, slot: Slot, file: Path | str) -> None:
    domains = list(ontology.domains)
    if len(set(slot.values)) < len(slot.values):
        raise BadInput(f"the slot {name!r} has a value twice", file=file, cure="remove one")
    if odd := set(slot.values) & set(UNSAID):
        what = f"the slot {name!r} lists {odd.pop()!r}, which every slot may have"
        raise BadInput(what, file=file, cure="remove it")
    if slot.kind == "book" and not slot.values:
        raise BadInput(f"the slot {name!r} has no values", file=file, cure="list its values")
    own = name.partition("-")[0]
    for source in slot.sources:
        other = source.partition("-")[0]
        known = [known for known, _ in ontology.slots()]
        if source not in known:
            what = f"the slot {name!r} names {source!r}, which is no slot"
            raise BadInput(what, file=file, cure=suggest(source, known))
        if other == own:
            what = f"the slot {name!r} takes over {source!r} of its own domain"
            cure = (
                f"name a slot of another domain: {', '.join(one for one in domains if one != own)}"
            )
            raise BadInput(what, file=file, cure=cure)


class Entities(msgspec.Struct, frozen=True):
    """The entities of each domain that has any."""

    rows: dict[str, tuple[Entity, ...]]

    def search(
        self, ontology: Ontology, domain: str, wanted: Mapping[str, str], words: Sequence[str] = ()
    ) -> list[Entity]:
        """The entities of a domain with the wanted values (by `domain-slot`) and with all words in one of their values.

        A value `dontcare` fits every entity, and so does a slot that no entity has.
        """
        slots = ontology.domains[domain].slots if domain in ontology.domains else {}
        required = {
            name: wanted[f"{domain}-{name}"]
            for name, slot in slots.items()
            if slot.kind in ("find", "offer")
            and wanted.get(f"{domain}-{name}", DONTCARE) != DONTCARE
        }
        entities = []
        for row in self.rows.get(domain, ()):
            text = fold_text("\n".join(row.values()))
            fits = all(row.get(name) == value for name, value in required.items())
            if fits and all(fold_text(word) in text for word in words):
                entities.append(row)
        return entities

    def find(self, ontology: Ontology, domain: str, name: str) -> Entity | None:
        """The entity of a domain that the slot of the kind `offer` calls so."""
        slots = ontology.domains[domain].slots if domain in ontology.domains else {}
        offers = [slot for slot, one in slots.items() if one.kind == "offer"]
        return next(
            (row for row in self.rows.get(domain, ()) if any(row.get(o) == name for o in offers)),
            None,
        )


def parse_entities(value: Any, ontology: Ontology, file: Path | str = "entities") -> Entities:
    """A table of entities from plain values, which fits the ontology."""
    try:
        rows = msgspec.convert(value, dict[str, tuple[dict[Name, str], ...]])
    except msgspec.ValidationError as problem:
        what = f"is not a table of entities: {plain_fault(str(problem))}"
        raise BadInput(what, file=file, cure="docs/dialogue.md shows one") from None
    for domain, entities in rows.items():
        if domain not in ontology.domains:
            what = f"{domain!r} is not a domain of the ontology"
            raise BadInput(what, file=file, cure=suggest(domain, ontology.domains))
        slots = ontology.domains[domain].slots
        for number, row in enumerate(entities, start=1):
            for name, slot in slots.items():
                if slot.kind == "book":
                    continue
                text = row.get(name, "")
                where = f"row {number} of {domain!r}"
                if not text:
                    raise BadInput(f"{where} has no {name!r}", file=file, cure="add it")
                if slot.kind == "ask":
                    continue
                if "-" in text:
                    what = f"{where}: {text!r} contains a hyphen"
                    raise BadInput(
                        what, file=file, cure="states are split at hyphens: write it without"
                    )
                if text in UNSAID or _UNSHOWN.search(text) or not text.strip():
                    what = f"{where}: {text!r} cannot be the {name!r} of a state"
                    cure = "none and dontcare have a meaning of their own: write another word, on one line"
                    raise BadInput(what, file=file, cure=cure)
                if slot.values and text not in slot.values:
                    what = f"{where}: {text!r} is not a value of {name!r}"
                    raise BadInput(what, file=file, cure=suggest(text, slot.values))
        for name, slot in slots.items():
            names = [row[name] for row in entities] if slot.kind == "offer" else []
            if len(set(names)) < len(names):
                raise BadInput(
                    f"two rows of {domain!r} have the same {name!r}", file=file, cure="rename one"
                )
    return Entities(rows)


def complete_ontology(ontology: Ontology, entities: Entities) -> Ontology:
    """The ontology with the values of the table in slots that list none, and in `book` slots those of their sources."""
    domains = {}
    for name, domain in ontology.domains.items():
        rows = entities.rows.get(name, ())
        slots = {}
        for key, slot in domain.slots.items():
            slots[key] = slot
            if slot.kind in ("find", "offer") and not slot.values:
                values = tuple(dict.fromkeys(row[key] for row in rows))
                slots[key] = msgspec.structs.replace(slot, values=values)
        domains[name] = msgspec.structs.replace(domain, slots=slots)
    complete = msgspec.structs.replace(ontology, domains=domains)
    for domain in domains.values():
        for key, slot in domain.slots.items():
            sources = [complete.find_slot(source) for source in slot.sources]
            taken = [value for one in sources if one is not None for value in one.values]
            values = tuple(dict.fromkeys((*slot.values, *taken)))
            if slot.kind == "book" and values != slot.values:
                domain.slots[key] = msgspec.structs.replace(slot, values=values)
    return complete


def list_values(ontology: Ontology) -> dict[str, list[str]]:
    """The ontology as KLUE publishes it: the values of each `domain-slot`, after `none` and `dontcare`."""
    return {name: [*UNSAID, *slot.values] for name, slot in ontology.slots()}
