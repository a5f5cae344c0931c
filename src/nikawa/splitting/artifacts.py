"""Least hypothesis-only signal (KLUE-NLI, 3.3.1).

A model that sees the hypothesis alone gives each label a probability p. The distance of an example is the cross entropy
of the uniform distribution with it, −(1/K) Σ log p, least (log K) where the hypothesis says nothing. The sets of a
premise and its hypotheses with the least mean distance are for evaluation, parted by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Options,
    Parts,
    Sizes,
    Splitter,
    draw,
    evaluation,
    groups_of,
    learning,
    one_spelling,
)

LEAST = 1e-12
"""No probability counts as less: one zero would be an infinite distance."""


def least_artifact(examples: Sequence[Example], sizes: Sizes, options: Options) -> Parts:
    """The sets nearest to uniform for evaluation; sets stay whole."""
    if options.signal is None:
        raise BadInput("no hypothesis-only model is given", cure="pass one as Options(signal=…)")
    groups = premises(examples, options)
    distances = [distance(found) for found in options.signal(examples, groups)]
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    mean = {
        group: sum(distances[i] for i in places) / len(places) for group, places in members.items()
    }
    order = sorted(members, key=lambda g: (mean[g], draw(options.seed, g)))
    wanted = evaluation(sizes)
    chosen = _first(order, {g: len(places) for g, places in members.items()}, sum(wanted.values()))
    parts: Parts = {name: [] for name in sizes}
    for group in sorted(chosen, key=lambda g: draw(options.seed, g)):
        part = max(wanted, key=lambda p: wanted[p] - len(parts[p]))
        parts[part] += [examples[i] for i in members[group]]
    parts[learning(sizes)] = [
        e for group, e in zip(groups, examples, strict=True) if group not in chosen
    ]
    return parts


def premises(examples: Sequence[Example], options: Options) -> list[str]:
    """The set of each example: by the named fields, else its group, else its premise."""
    if options.fields or all(example.group is not None for example in examples):
        return groups_of(examples, options)
    return one_spelling([str(example.inputs.get("premise", example.id)) for example in examples])


def distance(probabilities: Mapping[str, float]) -> float:
    """Cross entropy of the uniform distribution with a predicted one."""
    return -sum(log(max(p, LEAST)) for p in probabilities.values()) / len(probabilities)


def _first(order: Sequence[str], sizes: Mapping[str, int], wanted: int) -> set[str]:
    """The first sets that together hold the wanted number, or as near as whole sets come from below."""
    chosen, total = set(), 0
    for group in (
        one for one in order if sizes[one] <= wanted
    ):  # one too large must not end the search
        if total + sizes[group] > wanted:
            break
        chosen.add(group)
        total += sizes[group]
    return chosen


SPLITTERS = (
    Splitter(
        "least-artifact",
        "premise sets whose hypotheses give the least away (KLUE-NLI)",
        least_artifact,
    ),
)
