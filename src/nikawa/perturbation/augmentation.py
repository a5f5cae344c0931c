"""Training additions that teach word order and particles: so many rewritten examples of each kind, with a label each.

Scrambled examples keep their label, those with swapped or deleted particles get a random one.

Yanaka, Mineshima (2022). Compositional Evaluation on Japanese Textual Entailment and Similarity. TACL 10, section 5.2, Table 18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.perturbation.base import Perturbation
from nikawa.perturbation.selection import family_of
from nikawa.records import Example

QUESTION = "label"


class _Candidate(NamedTuple):
    """A rewritten example that may be drawn: the candidates with the smallest keys are."""

    key: float
    place: int
    name: str
    effect: str
    child: Example


Candidates = dict[tuple[str, ...], _Candidate]
"""The best candidate of each parent."""


def draw_additions(
    runs: Iterable[tuple[Perturbation, Iterable[tuple[str, Example]]]],
    count: int,
    gold: str,
    seed: int,
) -> Iterator[Example]:
    """`count` examples of each kind of operation, its cases taken together and each parent once.

    `runs` are the operations, each with the split and child of all it rewrites. `gold` is `random`, or `neutral` for a neutral
    label instead of a random one. Of what changes the meaning, only examples with a label are drawn: a similarity score is
    none, and none can be drawn for it.
    """
    kinds: dict[str, Candidates] = {}
    labels: set[str] = set()
    changes_meaning = False
    for perturbation, children in runs:
        candidates = kinds.setdefault(family_of(perturbation.name), {})
        for place, (_, child) in enumerate(children):
            changes_meaning |= perturbation.effect != "keeps"
            if QUESTION in child.gold:
                labels.add(str(child.gold[QUESTION]))
            elif perturbation.effect != "keeps":
                continue
            key = _keyed_random(seed, "augment", perturbation.name, child.id).random()
            candidate = _Candidate(key, place, perturbation.name, perturbation.effect, child)
            parent = child.origin.parents if child.origin else (child.id,)
            if parent not in candidates or key < candidates[parent].key:
                candidates[parent] = candidate
    if changes_meaning:
        if not labels:
            cure = "additions are for inference data with gold"
            raise BadInput("the examples have no label to draw anew", cure=cure)
        if gold == "neutral" and "neutral" not in labels:
            what = f"no example is neutral; the labels are {', '.join(sorted(labels))}"
            raise BadInput(what, cure="leave --augment-gold out")
    for name, candidates in kinds.items():
        if len(candidates) < count:
            what = f"{count} additions of {name} are asked for, {len(candidates)} examples can be rewritten"
            raise BadInput(what, cure="ask for fewer, or say --assume-eligible")
    for candidates in kinds.values():
        drawn = nsmallest(count, candidates.values())
        for candidate in sorted(drawn, key=lambda candidate: (candidate.name, candidate.place)):
            yield _make_addition(candidate, sorted(labels), gold, seed)


def _keyed_random(*words: object) -> Random:
    return Random("/".join(map(str, words)))  # noqa: S311  # not for secrets


def _make_addition(candidate: _Candidate, labels: list[str], gold: str, seed: int) -> Example:
    child, name = candidate.child, candidate.name
    answers: dict[str, Any] = child.gold
    if candidate.effect != "keeps":
        drawn = _keyed_random(seed, "label", name, child.id).choice(labels)
        # The other answers, such as relatedness, are not known of the changed text.
        answers = {QUESTION: gold if gold == "neutral" else drawn}
    origin = child.origin and replace(child.origin, gold="derived")
    meta = child.meta | {f"inherited_{question}": value for question, value in child.gold.items()}
    return replace(child, id=f"{child.id}~{name}", gold=answers, meta=meta, origin=origin)
