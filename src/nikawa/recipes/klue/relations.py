"""Pairs of entities for KLUE-RE (KLUE 3.5.1, steps 2 to 4): which may be related, by which relations, and which are asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import convert, to_builtins
from msgspec.structs import replace

from nikawa.datasets.klue.klue_re import LABELS, SUBJECTS
from nikawa.errors import BadInput, suggest
from nikawa.io.lines import read_lines
from nikawa.recipes.decide import draw
from nikawa.recipes.klue.taggers import apart, given_spans, tagger_of
from nikawa.recipes.klue.texts import texts
from nikawa.recipes.recipe import Dropped, Inputs, Kept, Outcome
from nikawa.records import Example, Origin, Span

TYPES = ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
"""Types of entities: person, organisation, location, date and time, other proper nouns, other numerals (step 2)."""
NONE = LABELS[0]
_NAMES = ("alternate_names",)
_BY_OBJECT = {
    ("PER", "PER"): (
        "parents",
        "children",
        "siblings",
        "spouse",
        "other_family",
        "colleagues",
        *_NAMES,
    ),
    ("PER", "ORG"): ("employee_of", "schools_attended", "origin", "religion", "product"),
    ("PER", "LOC"): ("place_of_birth", "place_of_death", "place_of_residence", "origin"),
    ("PER", "DAT"): ("date_of_birth", "date_of_death"),
    ("PER", "POH"): ("title", "product", "religion", "origin", *_NAMES),
    ("PER", "NOH"): (),
    ("ORG", "PER"): ("founded_by", "top_members/employees", *_NAMES),
    ("ORG", "ORG"): (
        "member_of",
        "members",
        "founded_by",
        "political/religious_affiliation",
        "product",
        *_NAMES,
    ),
    ("ORG", "LOC"): ("place_of_headquarters", "member_of"),
    ("ORG", "DAT"): ("founded", "dissolved"),
    ("ORG", "POH"): ("product", "political/religious_affiliation", *_NAMES),
    ("ORG", "NOH"): ("number_of_employees/members",),
}


def candidates(subject: str, object_: str) -> tuple[str, ...]:
    """The relations that can hold between two types, shown first; none of them comes last."""
    return (*(f"{subject.lower()}:{name}" for name in _BY_OBJECT[subject, object_]), NONE)


class Pair(NamedTuple):
    """Two entities of a sentence, subject first."""

    sentence: Example
    subject: Span
    object: Span

    @property
    def id(self) -> str:
        """Sentence and places."""
        return f"{self.sentence.id}.{self.subject.start}.{self.object.start}"

    @property
    def names(self) -> tuple[str, str]:
        """The entities as written."""
        text = self.sentence.inputs["text"]
        return text[self.subject.start : self.subject.end], text[
            self.object.start : self.object.end
        ]


def detect(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Sentences with the entities a tagger finds, united with those their lines bring along."""
    find = tagger_of(inputs.file("tagger"), TYPES)
    sentences = list(inputs.examples("once"))
    found = find([sentence.inputs["text"] for sentence in sentences]) if sentences else []
    for sentence, spans in zip(sentences, found, strict=True):
        every = apart([*spans, *given_spans(sentence, TYPES)])
        meta = {
            **{k: v for k, v in sentence.meta.items() if k != "given"},
            "entities": to_builtins(every),
        }
        made = replace(sentence, meta=meta)
        if next(_pairs(made), None) is None:
            yield Dropped(made, "no person or organisation with another entity")
        else:
            yield Kept(made, f"{len(every)} entities")


def _pairs(sentence: Example) -> Iterator[Pair]:
    """All pairs of a person or organisation with another entity, written otherwise."""
    spans = convert(sentence.meta["entities"], list[Span])
    for subject in spans:
        for object_ in spans if subject.label in SUBJECTS else ():
            pair = Pair(sentence, subject, object_)
            if subject != object_ and pair.names[0] != pair.names[1]:
                yield pair


def take(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Sentences, each once."""
    yield from texts(inputs.file("sentences"), "klue-re", ("source",), config)


def read_triples(path: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Subject and object of a knowledge base to the relations between them."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, line in read_lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells):
            cure = "write subject<TAB>relation<TAB>object"
            raise BadInput("is no triple", file=path, line=number, cure=cure)
        if cells[1] not in LABELS:
            raise BadInput(
                f"{cells[1]!r} is no relation",
                file=path,
                line=number,
                cure=suggest(cells[1], LABELS),
            )
        held = found.get((cells[0], cells[2]), ())
        found[cells[0], cells[2]] = tuple(dict.fromkeys((*held, cells[1])))
    return found


def by_knowledge(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Pairs that the knowledge base holds, each two entities so many times at most."""
    triples = read_triples(inputs.file("triples"))
    found = [p for s in inputs.examples("detected") for p in _pairs(s) if p.names in triples]
    times: dict[tuple[str, str], int] = {}
    chosen = set()
    for pair in sorted(found, key=lambda pair: (draw(config.seed, "knowledge", pair.id), pair.id)):
        times[pair.names] = times.get(pair.names, 0) + 1
        if times[pair.names] <= config.co_occurrences:
            chosen.add(pair.id)
    for pair in found:
        made = asked_about(pair, "knowledge", triples[pair.names])
        if pair.id in chosen:
            yield Kept(made, "a pair of the knowledge base")
        else:
            yield Dropped(
                made,
                f"two entities together over {config.co_occurrences} times",
                " ".join(pair.names),
            )


def by_chance(inputs: Inputs, config: Any) -> Iterator[Outcome]:
    """Pairs drawn uniformly from all of a sentence, beside those the knowledge base gave."""
    known = {pair.id for pair in inputs.examples("knowledge")}
    for sentence in inputs.examples("detected"):
        pairs = sorted(
            _pairs(sentence), key=lambda pair: (draw(config.seed, "chance", pair.id), pair.id)
        )
        for pair in pairs[: config.uniform]:
            made = asked_about(pair, "uniform", ())
            if pair.id in known:
                yield Dropped(made, "the knowledge base gave it already")
            else:
                yield Kept(made, f"drawn from {len(pairs)} pairs of the sentence")


def asked_about(pair: Pair, pairing: str, known: Sequence[str]) -> Example:
    """A pair as workers see it: marked in the text, with the relations that fit its types first."""
    sentence, subject, object_ = pair
    meta: dict[str, Any] = {
        "subject_type": subject.label,
        "object_type": object_.label,
        "source": sentence.meta["source"],
        "pairing": pairing,
    }
    return Example(
        id=pair.id,
        inputs=shown(sentence.inputs["text"], subject, object_),
        meta={**meta, **({"known": list(known)} if known else {})},
        group=sentence.id,
        origin=Origin(recipe="klue-re", parents=(sentence.id,), step=pairing),
    )


def shown(text: str, subject: Span, object_: Span) -> dict[str, Any]:
    """The inputs of a pair for workers; `marked` and `candidates` are taken off again before release."""
    marked = text
    for span, name in sorted(((subject, "subj"), (object_, "obj")), key=lambda two: -two[0].start):
        marked = f"{marked[: span.start]}<{name}>{marked[span.start : span.end]}</{name}>{marked[span.end :]}"
    return {
        "text": text,
        "subject": subject,
        "object": object_,
        "marked": marked,
        "candidates": list(candidates(subject.label, object_.label)),
    }
