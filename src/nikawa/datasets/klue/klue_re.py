"""KLUE-RE: the relation between two marked entities of a sentence, one of 30.

Known problem: the published `end_idx` is inclusive; spans here end exclusively, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.datasets.base import Benchmark, RunProtocol, hidden_origin, report_examples
from nikawa.datasets.klue.shared import (
    CURE,
    examples_of_records,
    label_gold,
    make_card,
    read_array,
    read_document,
    record_error,
    sources,
)
from nikawa.errors import BadInput
from nikawa.records import Dataset, Example, Finding, Span, Task

NAME = "klue-re"
RELATION_LIST = "klue_benchmark/klue-re-v*/relation_list.json"
"""Where the list of relations lies below the repository folder."""
ORGANISATION = (
    "dissolved",
    "founded",
    "place_of_headquarters",
    "alternate_names",
    "member_of",
    "members",
    "political/religious_affiliation",
    "product",
    "founded_by",
    "top_members/employees",
    "number_of_employees/members",
)
PERSON = (
    "date_of_birth",
    "date_of_death",
    "place_of_birth",
    "place_of_death",
    "place_of_residence",
    "origin",
    "employee_of",
    "schools_attended",
    "alternate_names",
    "parents",
    "children",
    "siblings",
    "spouse",
    "other_family",
    "colleagues",
    "product",
    "religion",
    "title",
)
LABELS = (
    "no_relation",
    *(f"org:{name}" for name in ORGANISATION),
    *(f"per:{name}" for name in PERSON),
)
"""In the published order, on which the official scorer relies: no_relation first."""
SUBJECTS = ("PER", "ORG")
"""The types of a subject entity."""
SOURCES = sources(NAME, "json")


class Entity(msgspec.Struct):
    """One marked entity; `end_idx` is its last character."""

    word: str
    start_idx: int
    end_idx: int
    type: str


class Row(msgspec.Struct):
    """A record of the published file; test records have no label."""

    guid: str
    sentence: str
    subject_entity: Entity
    object_entity: Entity
    label: str | None = None
    source: str | None = None


class RelationList(msgspec.Struct, forbid_unknown_fields=True):
    """The file `relation_list.json`."""

    relations: list[str]


def read(path: Path) -> Iterator[Example]:
    """The sentences of one published file."""
    for number, row in read_array(path, Row):
        gold = label_gold(path, number, "relation", row.label, LABELS)
        inputs = {
            "text": row.sentence,
            "subject": _span(row.sentence, row.subject_entity, number, path),
            "object": _span(row.sentence, row.object_entity, number, path),
        }
        meta: dict[str, Any] = {
            "subject_type": row.subject_entity.type,
            "object_type": row.object_entity.type,
        }
        if row.source:
            meta["source"] = row.source
        yield Example(
            id=row.guid, inputs=inputs, gold=gold, meta=meta, origin=hidden_origin(NAME, gold)
        )


def _span(sentence: str, entity: Entity, number: int, path: Path) -> Span:
    if not 0 <= entity.start_idx <= entity.end_idx < len(sentence):
        place = f"{entity.start_idx} to {entity.end_idx}"
        raise record_error(
            path, number, f"entity {entity.word!r} at {place} is outside the sentence"
        )
    return Span(entity.start_idx, entity.end_idx + 1, entity.type)


def relations(path: Path) -> tuple[str, ...]:
    """The relations of a `relation_list.json`, in its order."""
    names = tuple(read_document(path, RelationList).relations)
    if len(set(names)) != len(names):
        raise BadInput("names a relation twice", file=path, cure=CURE)
    return names


def has_misplaced_entity(row: Row) -> bool:
    """Whether the word of an entity is not what the sentence holds at its place."""
    entities = (row.subject_entity, row.object_entity)
    return any(row.sentence[e.start_idx : e.end_idx + 1] != e.word for e in entities)


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Entities whose word is not at its place, subjects of another type, a relation list in another
    order.
    """
    misplaced = examples_of_records(SOURCES, folder, dataset, Row, has_misplaced_entity)
    for split, examples in dataset.splits.items():
        note = "the characters there are not its word"
        yield from report_examples("entity-not-at-place", dataset, split, misplaced[split], note)
        odd = [e for e in examples if e.inputs["subject"].label not in SUBJECTS]
        note = "the paper has PER and ORG subjects only"
        yield from report_examples("subject-type", dataset, split, odd, note)
    for path in sorted(folder.glob(RELATION_LIST)):
        if relations(path) != LABELS:
            note = "the relations differ from the 30 known, or in order"
            yield Finding(check="relation-list", where=path.name, count=1, note=note)


DATASET = Benchmark(
    name=NAME,
    language="ko",
    repository="klue",
    suite="klue",
    suite_place=5,
    # Labels of test are with the leaderboard: papers and model cards report dev.
    protocol=RunProtocol(reported_on="dev"),
    further_files=(RELATION_LIST,),
    card=make_card(
        name=NAME,
        title="KLUE-RE: Korean relation extraction (KLUE)",
        description="Sentences with a subject and an object entity and their relation: 18 of persons, 11 of organisations, or none.",
        labels="Chosen by workers for entity pairs drawn from a knowledge base or at random.",
        workers="3 a sentence out of 163 workers of DeepNatural who passed a pilot; their answers are not published",
        workers_are="none",
        source="WIKIPEDIA, WIKITREE and POLICY (news)",
        problems=("end_idx is the last character of an entity, not the one after it.",),
    ),
    tasks=(
        Task(
            name=NAME,
            dataset=NAME,
            kind="relation",
            question="relation",
            inputs=("text", "subject", "object"),
            labels=LABELS,
            metrics=("relation-micro-f1", "auprc"),
        ),
    ),
    sources=SOURCES,
    read=read,
    find_problems=find_problems,
    numbered_labels=True,
)
