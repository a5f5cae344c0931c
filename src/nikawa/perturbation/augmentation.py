"""Training additions that teach word order and particles: so many rewritten examples of each kind, with a label each.

Yanaka, Mineshima (2022), section 5.2 and Table 18: scrambled examples keep their label, those with swapped or deleted
particles get a random one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.perturbation import Perturbation
from nikawa.perturbation.selection import family_of
from nikawa.records import Example

QUESTION = "label"


class _Candidate(NamedTuple):
    key: float
    place: int
    name: str
    effect: str
    child: Example


def draw_additions(
    runs: Iterable[tuple[Perturbation, Iterable[tuple[str, Example]]]],
    count: int,
    gold: str,
    seed: int,
) -> Iterator[Example]:
    """`count` examples of each kind of operation, its cases taken together and each parent once.

    Of what changes the meaning, only examples with a label: a similarity score is none, and none can be drawn for it.
    """
    kinds: dict[str, dict[tuple[str, ...], _Candidate]] = {}
    labels: set[str] = set()
    changing = False
    for perturbation, children in runs:
        kind = kinds.setdefault(family_of(perturbation.name), {})
        for place, (_, child) in enumerate(children):
            changing |= perturbation.effect != "keeps"
            if QUESTION in child.gold:
                labels.add(str(child.gold[QUESTION]))
            elif perturbation.effect != "keeps":
                continue
            found = _candidate(perturbation, child, place, seed)
            parent = child.origin.parents if child.origin else (child.id,)
            if parent not in kind or found.key < kind[parent].key:
                kind[parent] = found
    if changing:
        _check_labels(labels, gold)
    _check_counts(kinds, count)
    for kind in kinds.values():
        drawn = nsmallest(count, kind.values())
        for candidate in sorted(drawn, key=lambda c: (c.name, c.place)):
            yield _addition(candidate, sorted(labels), gold, seed)


def _random(*words: object) -> Random:
    return Random("/".join(map(str, words)))  # noqa: S311  # not for secrets


def _candidate(perturbation: Perturbation, child: Example, place: int, seed: int) -> _Candidate:
    key = _random(seed, "augment", perturbation.name, child.id).random()
    return _Candidate(key, place, perturbation.name, perturbation.effect, child)


def _check_labels(labels: set[str], gold: str) -> None:
    if not labels:
        raise BadInput(
            "the examples have no label to draw anew",
            cure="additions are for inference data with gold",
        )
    if gold == "neutral" and "neutral" not in labels:
        what = f"no example is neutral; the labels are {', '.join(sorted(labels))}"
        raise BadInput(what, cure="leave --augment-gold out")


def _check_counts(kinds: dict[str, dict[tuple[str, ...], _Candidate]], count: int) -> None:
    for name, kind in kinds.items():
        if len(kind) < count:
            what = (
                f"{count} additions of {name} are asked for, {len(kind)} examples can be rewritten"
            )
            raise BadInput(what, cure="ask for fewer, or say --assume-eligible")


def _addition(candidate: _Candidate, labels: list[str], gold: str, seed: int) -> Example:
    child, name = candidate.child, candidate.name
    answers: dict[str, Any] = child.gold
    if candidate.effect != "keeps":
        drawn = _random(seed, "label", name, child.id).choice(labels)
        # The other answers, such as relatedness, are not known of the changed text.
        answers = {QUESTION: gold if gold == "neutral" else drawn}
    origin = child.origin and replace(child.origin, gold="derived")
    meta = child.meta | {f"inherited_{question}": value for question, value in child.gold.items()}
    return replace(child, id=f"{child.id}~{name}", gold=answers, meta=meta, origin=origin)
